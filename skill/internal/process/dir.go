package process

import (
	"errors"
	"io/fs"
	"syscall"

	"textskill/skill/internal/refusal"
)

// A Dir is an open directory inside the workspace, in which a command can run.
type Dir struct {
	Path   string // absolute, without symbolic links
	Handle string // a name that leads to this directory even if Path is replaced
	close  func()
}

// Close closes the directory. It may be called on the zero Dir.
func (d Dir) Close() {
	if d.close != nil {
		d.close()
	}
}

// OpenDir opens the directory name; a relative name starts at base. Its errors are
// an *fs.PathError with Op "chdir" or the errors of package workspace.
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
	handle, release, err := openDirHandle(path, info.ID)
	if err != nil {
		return Dir{}, chdirError(path, err)
	}
	return Dir{path, handle, release}, nil
}

// chdirError turns a system error into an *fs.PathError with Op "chdir". Other errors
// are returned as they are.
func chdirError(path string, err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return &fs.PathError{Op: "chdir", Path: path, Err: errno}
	}
	return err
}
