package process

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"textskill/skill/internal/workspace"
)

// What the logs of commands may take, in bytes.
const (
	maxLog  = 64 << 20  // one; what comes after is left out
	maxLogs = 256 << 20 // all; the oldest go
)

// maxLogCount is how many logs there may be.
const maxLogCount = 200

// logEnd tells these logs from others in [workspace.OutputDir].
const logEnd = ".run.log"

// outputLog keeps all that a command prints, both streams as they come: in memory
// while the answer may hold it too, then in a file.
type outputLog struct {
	x     *Runner
	limit int // bytes in memory

	mu   sync.Mutex
	held []byte   // of no use once there is a file
	f    *os.File // nil until there is too much to be held
	off  bool     // there can be no file
	name string   // where f is, absolute
	size int64    // bytes of f
	cut  int64    // bytes for which there was no room
}

func (l *outputLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.off:
	case l.f != nil:
		l.add(p)
	default:
		if l.held = append(l.held, p...); len(l.held) > l.limit {
			l.create()
		}
	}
	return len(p), nil
}

// create makes the file and puts there what was held.
func (l *outputLog) create() {
	held := l.held
	l.held, l.off = nil, true
	dir, err := l.x.ws.State(path.Base(workspace.OutputDir))
	if err != nil {
		return
	}
	defer dir.Close()
	pruneLogs(dir)
	name := time.Now().Format("20060102-150405-") + strings.ToLower(rand.Text()[:6]) + logEnd
	f, err := dir.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	l.f, l.off = f, false
	l.name = filepath.Join(l.x.ws.Dir(), filepath.FromSlash(workspace.OutputDir), name)
	l.add(held)
}

// add writes p to the file as far as there is room.
func (l *outputLog) add(p []byte) {
	n, _ := l.f.Write(p[:min(int64(len(p)), maxLog-l.size)])
	l.size += int64(n)
	l.cut += int64(len(p) - n)
}

// finish ends the log. It returns where all the output is, or as much of it as
// there was room for, if it is wanted; else nothing stays behind.
func (l *outputLog) finish(wanted bool) (name string, cut int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if wanted && l.f == nil && !l.off {
		l.create()
	}
	if l.f == nil {
		return "", 0
	}
	if l.cut > 0 {
		fmt.Fprintf(l.f, "\n[… %d bytes left out …]\n", l.cut)
	}
	l.f.Close()
	return l.name, l.cut
}

// pruneLogs removes the oldest logs of commands, until there is room for one more.
func pruneLogs(dir *os.Root) {
	entries, _ := fs.ReadDir(dir.FS(), ".")
	logs := make([]fs.FileInfo, 0, len(entries))
	total := int64(maxLog)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), logEnd) {
			logs = append(logs, info)
			total += info.Size()
		}
	}
	slices.SortFunc(logs, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for i, info := range logs {
		if total <= maxLogs && len(logs)-i < maxLogCount {
			return
		}
		if dir.Remove(info.Name()) == nil {
			total -= info.Size()
		}
	}
}
