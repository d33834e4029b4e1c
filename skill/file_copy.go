package skill

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"textskill/skill/internal/workspace"
)

// CopyFile copies a file with its mode, following links. A file at the
// destination is replaced.
type CopyFile struct {
	Source, Dest string
	Tree         bool // a folder too, with all that is in it, links followed; the destination must not exist
	Into         bool // a folder at the destination receives a file under its name
	Parents      bool // create the folders above the destination
	Times        bool // keep the times
	SameOK       bool // a copy onto itself changes nothing and succeeds; else it is [ErrSameFile]
}

func (CopyFile) op() {}

func (x *Executor) copyFile(ctx context.Context, s *Session, a CopyFile) (Result, error) {
	from, to, err := x.paths(s, a.Source, a.Dest)
	if err != nil {
		return nil, err
	}
	if a.Into && x.isFolder(to) && !x.isFolder(from) {
		to = filepath.Join(to, filepath.Base(from))
	}
	c, err := x.ws.Copy(ctx, from, to, workspace.CopyOptions{
		Tree: a.Tree, Follow: a.Tree, Replace: true, Parents: a.Parents, Times: a.Times,
	})
	if a.SameOK && errors.Is(err, workspace.ErrSameFile) {
		c.Applied = !x.cfg.DryRun
		return Changed{Change: c}, nil
	}
	if a.Into {
		err = x.blocked(from, to, err)
	}
	if errors.Is(err, ErrSameFile) && x.isFolder(from) {
		return nil, &fs.PathError{Op: "mkdir", Path: to, Err: syscall.EEXIST}
	}
	if err != nil {
		return nil, err
	}
	return Changed{Change: c}, nil
}
