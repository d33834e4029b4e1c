package skill

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"textskill/skill/internal/workspace"
)

// MoveFile renames a file, a folder, or a link itself. A file at the destination
// is replaced.
type MoveFile struct {
	Source, Dest string
	Into         bool // a folder at the destination receives the source under its name
	NoReplace    bool // the destination must not exist: EEXIST
	Parents      bool // create the folders above the destination
}

func (MoveFile) op() {}

func (x *Executor) moveFile(ctx context.Context, s *Session, a MoveFile) (Result, error) {
	from, to, err := x.paths(s, a.Source, a.Dest)
	if err != nil {
		return nil, err
	}
	o := workspace.MoveOptions{Parents: a.Parents, NoReplace: a.NoReplace}
	if a.Into && x.isFolder(to) && from != to {
		to, o.NoReplace = filepath.Join(to, filepath.Base(from)), true
	}
	c, err := x.ws.Move(ctx, from, to, o)
	if a.Into && o.NoReplace && errors.Is(err, syscall.EEXIST) {
		return nil, &ExistsError{to}
	}
	switch {
	case a.Into && errors.Is(err, syscall.ENOTDIR) && strings.HasPrefix(to, from+string(filepath.Separator)) && x.isFolder(from):
		return nil, &os.LinkError{Op: "rename", Old: from, New: to, Err: syscall.EINVAL} // whatever else is wrong with it
	case a.Into:
		err = x.blocked(from, to, err)
	}
	if err != nil {
		return nil, err
	}
	return Changed{Change: c}, nil
}

// blocked makes of an ENOTDIR that is not the source's what making the destination
// would meet: a file is in its place, or in the place of a folder above it.
func (x *Executor) blocked(from, to string, err error) error {
	var both *os.LinkError
	if !errors.Is(err, syscall.ENOTDIR) || !errors.As(err, &both) {
		return err
	}
	if _, serr := x.ws.Stat(from, false); serr != nil {
		return err
	}
	for _, name := range []string{to, filepath.Dir(to)} {
		if _, serr := x.ws.Stat(name, false); serr == nil {
			return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.EEXIST}
		}
	}
	return &fs.PathError{Op: "mkdir", Path: filepath.Dir(to), Err: syscall.ENOTDIR}
}

// An ExistsError reports that a folder already holds something of that name.
type ExistsError struct{ Path string }

func (e *ExistsError) Error() string { return e.Path + " already exists" }

// Is makes the error match EEXIST and [fs.ErrExist].
func (e *ExistsError) Is(target error) bool {
	return syscall.EEXIST.Is(target) || target == syscall.EEXIST
}

// isFolder tells whether abs is a folder, or a link to one.
func (x *Executor) isFolder(abs string) bool {
	info, err := x.ws.Stat(abs, true)
	return err == nil && info.IsDir()
}
