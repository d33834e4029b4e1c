// Package trial runs a program on a copy-on-write view of a folder, and makes its changes later.
//
// The rules:
//
//  1. A trial is an overlay: its lower layer is the folder, and its upper layer is in a folder of the
//     trial. The program and all that it starts see the overlay at the path of the folder. Nothing
//     in the folder changes.
//  2. The upper layer is the change. Nobody looks at the folder before or after the program. A name of
//     the upper layer that has the content and the mode of the folder's is not a change.
//  3. A trial is kept only if the folder still is as the program saw it: each path that the trial
//     changes had not changed since the trial began, and is the same file now. Otherwise the path is a
//     conflict, and nothing is made.
//  4. Trials end 24 hours after they began. The oldest end first if all together exceed 4 GiB.
package trial

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Limits of all trials of a folder.
const (
	maxAge   = 24 * time.Hour
	maxBytes = 4 << 30
)

// A Trial is a program that has run on a view of a folder.
type Trial struct {
	ID      string // "t7"
	Command string
	Began   time.Time
	Exit    int
	Changes []Change // sorted by path

	dir string // its folder
}

// A Change is a path that a trial changes.
type Change struct {
	Path   string // relative to the folder, with slashes
	Before State  // in the folder
	After  State  // in the trial
}

// Verb says what a trial does with the path.
func (c Change) Verb() string {
	switch {
	case !c.Before.Exists:
		return "added"
	case !c.After.Exists:
		return "removed"
	}
	return "changed"
}

// A State describes a file. The zero State describes a missing file.
type State struct {
	Mode    fs.FileMode `json:",omitempty"`
	Size    int64       `json:",omitempty"`
	Inode   uint64      `json:",omitempty"`
	Changed int64       `json:",omitempty"` // the time of its last change, in nanoseconds
	Exists  bool        `json:",omitempty"`
}

// A ConflictError lists the paths that others changed since a trial began.
type ConflictError struct {
	ID    string
	Paths []string
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s cannot be kept: changed by others since it began: %s", e.ID, strings.Join(e.Paths, ", "))
}

// recordName is the file of a trial's folder that describes it.
const recordName = "trial.json"

// lastName is the file in the folder of trials with the number of the last one: no ID comes twice.
const lastName = "last"

// New makes the folder of a trial in a folder of trials.
func New(trials, command string) (*Trial, error) {
	list, err := List(trials)
	if err != nil {
		return nil, err
	}
	text, _ := os.ReadFile(filepath.Join(trials, lastName))
	last, _ := strconv.Atoi(string(text))
	expire(list)
	for {
		last++
		t := &Trial{ID: fmt.Sprintf("t%d", last), Command: command}
		t.dir = filepath.Join(trials, t.ID)
		err := os.Mkdir(t.dir, 0o700)
		if errors.Is(err, fs.ErrExist) { // another process made it
			continue
		}
		err = cmp.Or(err, os.WriteFile(filepath.Join(trials, lastName), []byte(strconv.Itoa(last)), 0o600))
		for _, name := range []string{"upper", "work", "state"} {
			err = cmp.Or(err, os.Mkdir(filepath.Join(t.dir, name), 0o700))
		}
		return t, err
	}
}

// List returns the trials of a folder of trials, the oldest first.
func List(trials string) (list []*Trial, err error) {
	entries, err := os.ReadDir(trials)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if t, err := Open(trials, e.Name()); err == nil {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *Trial) int { return a.Began.Compare(b.Began) })
	return list, nil
}

// Open returns a trial. The error is fs.ErrNotExist if no trial has that ID.
func Open(trials, id string) (*Trial, error) {
	if n, err := strconv.Atoi(strings.TrimPrefix(id, "t")); err != nil || id != fmt.Sprintf("t%d", n) {
		return nil, fs.ErrNotExist
	}
	t := &Trial{dir: filepath.Join(trials, id)}
	data, err := os.ReadFile(filepath.Join(t.dir, recordName))
	if err == nil {
		err = json.Unmarshal(data, t)
	}
	return t, err
}

// save records a trial that has ended.
func (t *Trial) save() error {
	data, err := json.Marshal(t)
	if err == nil {
		err = os.WriteFile(filepath.Join(t.dir, recordName), data, 0o600)
	}
	return err
}

// expire drops trials that are old, or exceed the limit together.
func expire(list []*Trial) {
	total := int64(0)
	for i, t := range slices.Backward(list) {
		total += t.Bytes()
		if time.Since(t.Began) > maxAge || total > maxBytes && i < len(list)-1 {
			t.Drop()
		}
	}
}

// Bytes returns how many bytes the changed files of a trial have.
func (t *Trial) Bytes() (total int64) {
	for _, c := range t.Changes {
		total += c.After.Size
	}
	return total
}

// Drop forgets a trial.
func (t *Trial) Drop() error { return removeAll(t.dir) }

// removeAll removes a folder in which a command may have made folders without permissions.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// Contents returns what a changed path holds in a folder and in a trial, nil for no regular file.
func (t *Trial) Contents(folder string, c Change) (before, after []byte, err error) {
	if c.Before.Mode.IsRegular() && c.Before.Exists {
		if before, err = os.ReadFile(filepath.Join(folder, c.Path)); err != nil {
			return nil, nil, err
		}
		before = append([]byte{}, before...)
	}
	if c.After.Mode.IsRegular() && c.After.Exists {
		if after, err = readUpper(filepath.Join(t.upper(), c.Path)); err != nil {
			return nil, nil, err
		}
		after = append([]byte{}, after...)
	}
	return before, after, nil
}

func (t *Trial) upper() string { return filepath.Join(t.dir, "upper") }

// State returns the folder in which the program may keep what ends with the trial.
func (t *Trial) State() string { return filepath.Join(t.dir, "state") }
