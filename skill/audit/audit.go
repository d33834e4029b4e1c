// Package audit logs tool calls, reads included. A [Log] appends a line of JSON for each call to
// a file. Several processes may write to the file at the same time.
package audit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"textskill/parser/rawjson"
	"textskill/skill"
)

// The default limits of a Log.
const (
	DefaultMaxBytes = 16 << 20
	DefaultKeep     = 8
)

// A Log appends lines to a file. When the file has MaxBytes, the Log adds the time to its name
// and starts a new file. A Log is safe for concurrent use.
type Log struct {
	Redact   func(json.RawMessage) json.RawMessage // removes secrets from a line; may be nil
	MaxBytes int64                                 // of a file; 0 means 16 MiB
	Keep     int                                   // number of old files to keep; 0 means 8

	name  string
	mu    sync.Mutex
	short bool // the last line is incomplete
}

// A line is a line of the file.
type line struct {
	Time      string         `json:"time"` // when the call began
	PID       int            `json:"pid"`
	Dialect   string         `json:"dialect"`
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments,omitempty"`
	OK        bool           `json:"ok"`
	Error     string         `json:"error,omitempty"`
	Undo      string         `json:"undo,omitempty"` // ID of the change
	Ms        float64        `json:"ms"`
}

// maxError is how many bytes of an error's first line are logged. Further lines may be the
// contents of a file.
const maxError = 4096

// Open opens a log. It creates a missing file that only this user can read.
func Open(name string) (*Log, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(name); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		return nil, fmt.Errorf("%s is a named pipe, and opening it waits for a reader; name a file", name)
	}
	l := &Log{name: name}
	f, err := l.open()
	if err != nil {
		return nil, err
	}
	return l, f.Close()
}

func (l *Log) open() (*os.File, error) {
	return os.OpenFile(l.name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
}

// Add appends a call in one write, so that lines of other processes do not interrupt its line. The
// line survives the end of this process.
func (l *Log) Add(c skill.Call) error {
	failure, _, _ := strings.Cut(c.Failure, "\n")
	failure = strings.ToValidUTF8(failure[:min(len(failure), maxError)], "")
	text := rawjson.Encode(line{
		Time: c.Began.UTC().Format("2006-01-02T15:04:05.000Z"), PID: os.Getpid(), Dialect: c.Dialect,
		Tool: c.Tool, Arguments: c.Arguments,
		OK: c.Failure == "", Error: failure, Undo: c.Undo, Ms: float64(c.Took.Microseconds()) / 1000,
	})
	if l.Redact != nil {
		text = l.Redact(text)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.rotate()
	f, failed := l.open()
	if failed != nil {
		return errors.Join(err, failed)
	}
	if l.short {
		text = append([]byte{'\n'}, text...)
	}
	n, failed := f.Write(append(text, '\n'))
	l.short = failed != nil && (n > 0 || l.short)
	return errors.Join(err, failed, f.Close())
}

// rotate renames a full file. Two processes may rename at once, so the new name has the process
// ID, and no process overwrites a file of another.
func (l *Log) rotate() error {
	info, err := os.Stat(l.name)
	if err != nil || info.Size() < cmp.Or(l.MaxBytes, DefaultMaxBytes) {
		return nil // open reports an error
	}
	aside := fmt.Sprintf("%s.%s-%d", l.name, time.Now().UTC().Format("20060102T150405.000000000"),
		os.Getpid())
	if err := os.Rename(l.name, aside); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return l.prune()
}

// prune removes the oldest renamed files.
func (l *Log) prune() error {
	old, err := filepath.Glob(globbed(l.name) + ".[0-9]*T*-*")
	if err != nil {
		return err
	}
	slices.Sort(old)
	for _, name := range old[:max(len(old)-cmp.Or(l.Keep, DefaultKeep), 0)] {
		if gone := os.Remove(name); !errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// globbed returns a pattern that matches only this name.
func globbed(name string) string {
	var pattern []rune
	for _, r := range name {
		if slices.Contains([]rune(`*?[\`), r) && filepath.Separator != '\\' {
			pattern = append(pattern, '\\')
		}
		pattern = append(pattern, r)
	}
	return string(pattern)
}
