package state

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"textskill/skill/internal/workspace/tree"
)

// Locks are advisory, and each is held twice: by a semaphore among the goroutines of
// this Store, which keeps their order, and by flock on a file of the store against
// other processes. The kernel gives that back with the process, and commands do not
// reach the files.

// A BusyError reports that a lock was held by others for as long as it was waited for.
type BusyError struct {
	What    string // "the workspace", "a folder", "the log of changes"
	PID     int    // a process that holds the lock; 0 where the system does not say
	Command string // its command line; "" where it cannot be seen
	err     error  // of the context; nil if the time was over
}

func (e *BusyError) Error() string {
	by := "another process"
	switch {
	case e.PID == os.Getpid():
		by = "another change of this process"
	case e.PID > 0 && e.Command != "":
		by = fmt.Sprintf("process %d (%s)", e.PID, e.Command)
	case e.PID > 0:
		by = fmt.Sprintf("process %d", e.PID)
	}
	return e.What + " is in use by " + by + "; try again, or end it"
}

// Unwrap returns the context's error where that ended the wait.
func (e *BusyError) Unwrap() error { return e.err }

// stripes is how many lock files folders share. Two folders have the same one so
// seldom that it costs less than files that somebody would have to remove.
const stripes = 256

func stripe(id tree.FileID) string {
	var buf [48]byte
	h := fnv.New32a()
	h.Write(strconv.AppendUint(append(strconv.AppendUint(buf[:0], id.Dev, 10), '-'), id.Ino, 10))
	return hex.EncodeToString([]byte{byte(h.Sum32() % stripes)})
}

// A Lock is a lock of the root, and of folders in it. Release gives it back.
type Lock struct {
	s    *Store
	held []*lockFile
	root bool // alone
}

// Lock locks the root: alone, for what concerns a whole tree or the root itself, or
// shared with others who change single folders. Several Stores are locked in the same
// order everywhere. Errors are [*BusyError], which wraps that of ctx, or the system's.
func (s *Store) Lock(ctx context.Context, alone bool) (*Lock, error) {
	l := &Lock{s: s, root: alone}
	if err := l.take(ctx, s.dir.Load(), "the workspace", "root", alone); err != nil {
		return nil, err
	}
	return l, nil
}

// Folders locks folders alone, also against other histories in the same place, whose root may
// be above or below this one's. It is called once, with all of them, which it sorts, and for
// one Store of a place; a Lock that has the root alone has no need of it.
func (l *Lock) Folders(ctx context.Context, ids ...tree.FileID) error {
	var names []string
	for _, id := range ids {
		names = append(names, stripe(id))
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if err := l.take(ctx, l.s.all.Load(), "a folder", name, true); err != nil {
			return err
		}
	}
	return nil
}

func (l *Lock) take(ctx context.Context, dir *os.Root, what, name string, alone bool) error {
	f, err := l.s.locks.open(dir, name)
	if err != nil {
		return named(dir.Name(), err)
	}
	if err := f.lock(ctx, what, alone, l.s.o.LockWait); err != nil {
		l.s.locks.leave(f)
		return err
	}
	l.held = append(l.held, f)
	return nil
}

// Release gives the locks back. It may be called again.
func (l *Lock) Release() {
	for i, f := range slices.Backward(l.held) {
		f.unlock(i > 0 || l.root)
		l.s.locks.leave(f)
	}
	l.held = nil
}

// pollAlone waits for the lock of a file.
func pollAlone(ctx context.Context, what string, f *os.File, patience time.Duration) error {
	return poll(ctx, what, f, true, patience, func() (bool, error) { return tree.TryLock(int(f.Fd()), true) })
}

// poll waits for a lock of a file, which try takes if it is free. Who shares it lets
// those go first who want it alone, but not for longer than a second.
func poll(ctx context.Context, what string, f *os.File, alone bool, patience time.Duration, try func() (bool, error)) error {
	fd := int(f.Fd())
	if alone || !tree.Waiting(fd) {
		if ok, err := try(); ok || err != nil {
			return err
		}
	}
	if alone {
		tree.SetWaiting(fd, true)
		defer tree.SetWaiting(fd, false)
	}
	start := time.Now()
	for wait := 20 * time.Microsecond; ; wait = min(wait*3/2, 2*time.Millisecond) {
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		if alone || time.Since(start) > time.Second || !tree.Waiting(fd) {
			if ok, err := try(); ok || err != nil {
				return err
			}
		}
		if ctx.Err() != nil || time.Since(start) > patience {
			e := &BusyError{What: what, err: ctx.Err()}
			if pids := holders(f); len(pids) > 0 {
				e.PID, e.Command = pids[0], commandOf(pids[0])
			}
			return e
		}
	}
}

// A lockFile is one of the files in the folder locks.
type lockFile struct {
	name  string
	file  *os.File
	users int // that hold the lock or wait for it; guarded by the table

	sem    *semaphore.Weighted
	mu     sync.Mutex
	shared int // holders in this Store that share the flock
}

// weightAlone is the weight of a lock that is held alone; a shared one weighs 1.
const weightAlone = 1 << 30

func weight(alone bool) int64 {
	if alone {
		return weightAlone
	}
	return 1
}

func (f *lockFile) lock(ctx context.Context, what string, alone bool, patience time.Duration) error {
	if !f.sem.TryAcquire(weight(alone)) {
		wait, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if f.sem.Acquire(wait, weight(alone)) != nil {
			return &BusyError{What: what, PID: os.Getpid(), err: ctx.Err()}
		}
	}
	err := poll(ctx, what, f.file, alone, patience, func() (bool, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		ok, err := !alone && f.shared > 0, error(nil)
		if !ok {
			ok, err = tree.TryLock(int(f.file.Fd()), alone)
		}
		if ok && !alone {
			f.shared++
		}
		return ok, err
	})
	if err != nil {
		f.sem.Release(weight(alone))
	}
	return err
}

func (f *lockFile) unlock(alone bool) {
	f.mu.Lock()
	if !alone {
		f.shared--
	}
	if f.shared == 0 {
		tree.Unlock(int(f.file.Fd()))
	}
	f.mu.Unlock()
	f.sem.Release(weight(alone))
}

// lockTable holds the lock files that are in use, and some that were.
type lockTable struct {
	mu     sync.Mutex
	byName map[string]*lockFile
}

// maxIdle is how many lock files stay open at the most that nobody uses.
const maxIdle = 32

func (t *lockTable) open(dir *os.Root, name string) (*lockFile, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.byName[name]
	if f == nil || f.users == 0 && removed(f.file) {
		file, err := openLock(dir, name)
		if err != nil {
			return nil, err
		}
		if f != nil {
			f.file.Close()
		}
		if t.byName == nil {
			t.byName = map[string]*lockFile{}
		}
		f = &lockFile{name: name, file: file, sem: semaphore.NewWeighted(weightAlone)}
		t.byName[name] = f
	}
	f.users++
	return f, nil
}

func openLock(dir *os.Root, name string) (*os.File, error) {
	f, err := dir.OpenFile(locksName+"/"+name, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if err := dir.Mkdir(locksName, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		return dir.OpenFile(locksName+"/"+name, os.O_RDWR|os.O_CREATE, 0o600)
	}
	return f, err
}

func (t *lockTable) leave(f *lockFile) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f.users--; f.users == 0 && len(t.byName) > maxIdle {
		delete(t.byName, f.name)
		f.file.Close()
	}
}

func (t *lockTable) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.byName {
		f.file.Close()
	}
	t.byName = nil
}
