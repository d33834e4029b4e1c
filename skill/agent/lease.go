package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"textskill/parser/rawjson"
	"textskill/skill"
)

// leaseFile is the name of the file that the owner of a run locks.
const leaseFile = "lease.json"

// A lease makes this process the owner of a run. The system's lock on its file decides
// and ends with the process. Where the system has no such locks, what the file says
// decides, and [Config.TakeOver] sets it aside.
type lease struct{ file *os.File }

// An owner is what the file of a lease says of the process that holds it.
type owner struct {
	PID   int    `json:"pid,omitempty"` // 0 if nobody owns the run
	Host  string `json:"host,omitempty"`
	Since int64  `json:"since,omitempty"` // milliseconds since 1970
}

// leasePatience is how long a lease is waited for: the system may take some
// milliseconds to end a process that was killed.
const leasePatience = 200 * time.Millisecond

// lease makes this process the owner of the run until close.
func (s *store) lease(ctx context.Context, takeOver bool) error {
	if s.x == nil {
		return nil
	}
	name := path.Join(runsDir, s.run, leaseFile)
	_, err := s.x.Execute(ctx, &skill.Session{}, skill.WriteFile{Path: name, Parents: true, NoReplace: true})
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	file, err := openLease(s.x, s.run, os.O_RDWR)
	if err != nil {
		return err
	}
	locked, err := waitLock(ctx, file)
	before := readOwner(file)
	unsupported := errors.Is(err, errors.ErrUnsupported)
	switch {
	case err != nil && !unsupported:
	case unsupported && before.PID != 0 && !takeOver:
		err = fmt.Errorf("the run %s belongs to %s; if that process has ended, write take-over = true in skill.toml", s.run, before)
	case !unsupported && !locked:
		err = fmt.Errorf("the run %s is in use by %s; wait until it has ended, or end it", s.run, before)
	default:
		host, _ := os.Hostname()
		err = writeOwner(file, owner{os.Getpid(), host, time.Now().UnixMilli()})
	}
	if err != nil {
		file.Close()
		return err
	}
	s.held = &lease{file}
	return nil
}

// openLease opens the file of a run's lease.
func openLease(x *skill.Executor, run string, flag int) (*os.File, error) {
	name := path.Join(runsDir, run, leaseFile)
	root, err := os.OpenRoot(x.Dir())
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, fmt.Errorf("%s is not a regular file", name))
	}
	return root.OpenFile(name, flag, 0)
}

// Owned reports whether a process works on a run.
func (r Records) Owned(runID string) bool {
	if checkRunID(runID) != nil {
		return false
	}
	file, err := openLease(r.Executor, runID, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer file.Close()
	free, err := tryLock(file, true)
	if err != nil {
		return readOwner(file).PID != 0
	}
	return !free
}

// Hold makes this process the owner of a run until release, so that nobody continues it
// meanwhile. A run without records has no owner.
func (r Records) Hold(ctx context.Context, runID string) (release func(), err error) {
	if err := checkRunID(runID); err != nil {
		return nil, err
	}
	s, err := openStore(ctx, r.Executor, runID)
	if err == nil && s.exists(ctx) {
		if err = s.lease(ctx, false); err != nil {
			s.close()
		}
	}
	if err != nil {
		return nil, err
	}
	return s.close, nil
}

// release gives the lease back. The file stays: a process that has it open could
// otherwise lock a file that the next one does not see.
func (l *lease) release() {
	if l == nil {
		return
	}
	writeOwner(l.file, owner{})
	l.file.Close()
}

// waitLock locks a file for this process alone. It reports false if another process
// keeps the lock.
func waitLock(ctx context.Context, file *os.File) (bool, error) {
	for end := time.Now().Add(leasePatience); ; {
		locked, err := tryLock(file, false)
		if locked || err != nil || time.Now().After(end) {
			return locked, err
		}
		if err := sleep(ctx, 5*time.Millisecond); err != nil {
			return false, err
		}
	}
}

func readOwner(file *os.File) (o owner) {
	data, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<12))
	if err != nil || json.Unmarshal(data, &o) != nil {
		return owner{}
	}
	return o
}

func writeOwner(file *os.File, o owner) error {
	data := rawjson.Encode(o)
	if _, err := file.WriteAt(data, 0); err != nil {
		return err
	}
	return file.Truncate(int64(len(data)))
}

func (o owner) String() string {
	if o.PID == 0 {
		return "another process"
	}
	return fmt.Sprintf("process %d on %s since %s", o.PID, o.Host,
		time.UnixMilli(o.Since).Format(time.DateTime))
}
