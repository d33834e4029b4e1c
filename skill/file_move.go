package skill

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"textskill/skill/workspace"
)

// MoveFile renames a file, a folder, or a link itself. A file at the destination
// is replaced.
type MoveFile struct {
	Source, Dest string
	Into         bool // a folder at the destination receives the source under its name
	NoReplace    bool // the destination must not exist: EEXIST
	Parents      bool // create the folders above the destination
}

func (MoveFile) op() string { return "MoveFile" }

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
	var renaming *os.LinkError
	switch {
	case a.Into && o.NoReplace && errors.Is(err, syscall.EEXIST):
		return nil, &ExistsError{to}
	case a.Into && errors.Is(err, syscall.ENOTDIR) && errors.As(err, &renaming) && x.isFolder(from):
		return nil, &fs.PathError{Op: "mkdir", Path: to, Err: syscall.EEXIST} // a folder takes no file's place
	}
	if err != nil {
		return nil, err
	}
	return Changed{Change: c}, nil
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
