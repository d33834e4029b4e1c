package skill

import (
	"errors"
	"io/fs"
	"syscall"
)

// runDir is a folder inside the workspace, held for a command to run in.
type runDir struct {
	path   string // absolute, without links
	handle string // a name for the folder itself, whatever comes to be at path
	close  func()
}

// Close lets go of the folder. It may be called on the zero runDir.
func (d runDir) Close() {
	if d.close != nil {
		d.close()
	}
}

// openDir finds the folder that name leads to. What is wrong with it is an
// *fs.PathError with Op "chdir", or the workspace's own error.
func (x *Executor) openDir(s *Session, name string) (runDir, error) {
	if _, err := x.path(s, "dir", name); err != nil {
		return runDir{}, err
	}
	path, err := x.Real(s, name, true)
	if err != nil {
		return runDir{}, chdirError(x.ws.Abs(s.Dir, name), err)
	}
	info, err := x.ws.Stat(path, true)
	if err != nil {
		return runDir{}, chdirError(path, err)
	}
	if !info.IsDir() {
		return runDir{}, chdirError(path, syscall.ENOTDIR)
	}
	handle, release, err := holdDir(path, info.ID)
	if err != nil {
		return runDir{}, chdirError(path, err)
	}
	return runDir{path, handle, release}, nil
}

// chdirError names the system call that an error of the system would have come
// from; the workspace's errors stay.
func chdirError(path string, err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return &fs.PathError{Op: "chdir", Path: path, Err: errno}
	}
	return err
}
