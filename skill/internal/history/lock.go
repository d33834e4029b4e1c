package history

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// A BusyError reports that another process or goroutine holds the lock for too long.
type BusyError struct {
	What    string // "the workspace"
	PID     int    // a process that holds the lock; 0 if the system does not say
	Command string // its command line; "" if it is not visible
	err     error  // the context's error; nil after LockWait
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

// Unwrap returns the context's error if the context ended the wait, else nil.
func (e *BusyError) Unwrap() error { return e.err }

const lockedWhat = "the workspace"

// enter takes the lock against other goroutines and processes, and reads their new ops from the log.
func (s *Store) enter(ctx context.Context) error {
	select {
	case s.busy <- struct{}{}:
	default:
		wait, cancel := context.WithTimeout(ctx, s.o.LockWait)
		defer cancel()
		select {
		case s.busy <- struct{}{}:
		case <-wait.Done():
			return &BusyError{What: lockedWhat, PID: os.Getpid(), err: ctx.Err()}
		}
	}
	err := s.entered(ctx)
	if err != nil {
		s.leave()
	}
	return err
}

func (s *Store) entered(ctx context.Context) error {
	if s.shut {
		return fs.ErrClosed
	}
	for range 10 {
		if err := s.poll(ctx); err != nil {
			return err
		}
		if !removed(s.lock) {
			err := s.log.read(!s.o.ReadOnly)
			if err == nil {
				s.checkMount()
			}
			return err
		}
		if s.o.ReadOnly {
			return fs.ErrNotExist
		}
		if err := s.begin(); err != nil {
			s.shut = true
			return err
		}
	}
	return errors.New("the history in " + s.Path() + " is removed again and again")
}

// begin opens a new history after somebody has removed the old one.
func (s *Store) begin() error {
	s.swap.Lock()
	defer s.swap.Unlock()
	s.lock.Close()
	s.log.close()
	s.blobs.close()
	if s.running != nil {
		s.running.Close()
	}
	s.lock, s.log, s.blobs, s.running, s.index = nil, nil, nil, nil, nil
	s.mountChecked = false
	return s.open()
}

// leave releases the lock.
func (s *Store) leave() {
	s.shutIndex()
	if s.lock != nil {
		tree.Unlock(int(s.lock.Fd()))
	}
	<-s.busy
}

// poll waits for the lock against other processes.
func (s *Store) poll(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	fd := int(s.lock.Fd())
	start := time.Now()
	for wait := 20 * time.Microsecond; ; wait = min(wait*3/2, 2*time.Millisecond) {
		if ok, err := tree.TryLock(fd, true); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		if ctx.Err() != nil || time.Since(start) > s.o.LockWait {
			return Busy(ctx, lockedWhat, fd)
		}
	}
}

// Busy returns the error that other processes hold the flock of a file or folder.
func Busy(ctx context.Context, what string, fd int) *BusyError {
	e := &BusyError{What: what, err: ctx.Err()}
	if pids := holders(fd); len(pids) > 0 {
		e.PID, e.Command = pids[0], commandOf(pids[0])
	}
	return e
}

// The lock file holds the number of the last op that is complete: made, or rolled back.

// clean returns the number in the lock file.
func (s *Store) clean() int64 {
	var data [8]byte
	if n, _ := s.lock.ReadAt(data[:], 0); n < len(data) {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(data[:]))
}

func (s *Store) setClean(id int64) {
	if s.clean() != id {
		s.lock.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(id)), 0)
	}
}
