package process

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"textskill/skill/internal/history"
)

// Limits of the logs of commands. The oldest logs are removed first.
const (
	maxLog      = 64 << 20  // bytes of one log: its first and its last half; what lies between is left out
	maxLogs     = 256 << 20 // bytes of all logs
	maxLogCount = 200
)

// logSuffix distinguishes these logs from other files in [history.Output].
const logSuffix = ".run.log"

// An outputLog keeps the whole output of a command, both streams interleaved: in memory
// up to limit, then in a file.
type outputLog struct {
	x     *Runner
	limit int // bytes in memory

	mu   sync.Mutex
	held []byte   // the output so far; nil once there is a file
	f    *os.File // nil until limit is exceeded
	off  bool     // the file could not be created
	name string   // absolute path of f
	size int64    // bytes that came for f
	hide hider    // takes secrets out of what comes for f
}

func (l *outputLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.off:
	case l.f != nil:
		l.hide.write(p)
	default:
		if l.held = append(l.held, p...); len(l.held) > l.limit {
			l.create()
		}
	}
	return len(p), nil
}

// create creates the file and moves the held output to it.
func (l *outputLog) create() {
	held := l.held
	l.held, l.off = nil, true
	dir, err := l.x.ws.State(history.Output)
	if err != nil {
		return
	}
	defer dir.Close()
	pruneLogs(dir)
	name := time.Now().Format("20060102-150405-") + strings.ToLower(rand.Text()[:6]) + logSuffix
	f, err := dir.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return
	}
	l.f, l.off = f, false
	l.name = filepath.Join(l.x.ws.OutputDir(), name)
	l.hide = hider{secrets: l.x.secretValues(), pass: l.add}
	l.hide.write(held)
}

// add writes p to the file: the first half of maxLog in order, and what follows in a ring.
func (l *outputLog) add(p []byte) {
	const half = maxLog / 2
	for len(p) > 0 {
		at := l.size
		if at >= half {
			at = half + (l.size-half)%half
		}
		n := min(int64(len(p)), half-at%half)
		l.f.WriteAt(p[:n], at) // a full disk leaves a hole
		l.size += n
		p = p[n:]
	}
}

// unroll puts the ring of the file in order, after a line that says how many bytes are left out. It
// returns that number.
func (l *outputLog) unroll() (cut int64) {
	const half = maxLog / 2
	if cut = l.size - maxLog; cut <= 0 {
		return 0
	}
	text := fmt.Appendf(nil, "\n[… %d bytes left out …]\n", cut)
	oldest := half + cut%half
	// behind the ring
	err := errors.Join(l.copy(maxLog, oldest, maxLog-oldest), l.copy(2*maxLog-oldest, half, oldest-half))
	if err == nil {
		_, err = l.f.WriteAt(text, half)
	}
	if err == nil {
		err = l.copy(half+int64(len(text)), maxLog, half)
	}
	if err != nil { // the disk is full
		l.f.Truncate(half)
		return l.size - half
	}
	l.f.Truncate(maxLog + int64(len(text)))
	return cut
}

// copy copies n bytes of the file from one offset to another, a few at a time.
func (l *outputLog) copy(to, from, n int64) error {
	_, err := io.Copy(io.NewOffsetWriter(l.f, to), io.NewSectionReader(l.f, from, n))
	return err
}

// finish closes the log, and returns its path and how many bytes it lacks. If there is
// no file yet, it creates one only if required is set, and otherwise returns "".
func (l *outputLog) finish(required bool) (name string, cut int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if required && l.f == nil && !l.off {
		l.create()
	}
	if l.f == nil {
		return "", 0
	}
	defer l.f.Close()
	l.hide.end()
	return l.name, l.unroll()
}

// pruneLogs removes the oldest logs of commands until there is room for one more.
func pruneLogs(dir *os.Root) {
	entries, _ := fs.ReadDir(dir.FS(), ".")
	logs := make([]fs.FileInfo, 0, len(entries))
	total := int64(maxLog)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), logSuffix) {
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
