package process

import (
	"errors"
	"io/fs"
	"syscall"

	"textskill/skill/internal/refusal"
)

// A Dir is a folder inside the workspace, held open for a command to run in.
type Dir struct {
	Path   string // absolute, without links
	Handle string // a name for the folder itself, whatever comes to be at Path
	close  func()
}

// Close releases the folder. It may be called on the zero Dir.
func (d Dir) Close() {
	if d.close != nil {
		d.close()
	}
}

// OpenDir opens the folder that name leads to, from base where it is relative. What
// is wrong with it is an
// *fs.PathError with Op "chdir", or the workspace's own error.
func (x *Runner) OpenDir(base, name string) (Dir, error) {
	abs := x.ws.Abs(base, name)
	if err := refusal.CheckPath("dir", name, abs); err != nil {
		return Dir{}, err
	}
	path, err := x.ws.Real(base, name, true)
	if err != nil {
		return Dir{}, chdirError(abs, err)
	}
	info, err := x.ws.Stat(path, true)
	if err != nil {
		return Dir{}, chdirError(path, err)
	}
	if !info.IsDir() {
		return Dir{}, chdirError(path, syscall.ENOTDIR)
	}
	handle, release, err := holdDir(path, info.ID)
	if err != nil {
		return Dir{}, chdirError(path, err)
	}
	return Dir{path, handle, release}, nil
}

// chdirError names the system call that an error of the system would have come
// from; the workspace's errors stay.
func chdirError(path string, err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return &fs.PathError{Op: "chdir", Path: path, Err: errno}
	}
	return err
}
