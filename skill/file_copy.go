package skill

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"

	"textskill/skill/internal/workspace"
)

// CopyFile copies a file with its mode, following links. A file at the destination is
// replaced. It returns a [Changed].
type CopyFile struct {
	Source, Dest string
	// also copy a directory with everything in it, following links where they can be; then Dest
	// must not exist
	Tree      bool
	Into      bool // if Dest is a directory, copy a file into it under its own name
	Parents   bool // create the directories above Dest
	Times     bool // keep the modification times
	NoReplace bool // Dest must not exist, otherwise EEXIST
	If        Condition
	SameOK    bool // copying a file onto itself succeeds and changes nothing, instead of [ErrSameFile]
}

func (CopyFile) op() {}

func (x *Executor) CopyFile(ctx context.Context, s *Session, a CopyFile) (Changed, error) {
	from, to, err := x.paths(s, a.Source, a.Dest)
	if err != nil {
		return Changed{}, err
	}
	if a.Into && x.isFolder(to) && !x.isFolder(from) {
		to = filepath.Join(to, filepath.Base(from))
	}
	if !a.NoReplace {
		if _, err := x.checkWhole(ctx, s, to, a.If, verb{"not overwritten", "copy"}, false); err != nil {
			return Changed{}, err
		}
	}
	c, err := x.ws.Copy(ctx, from, to, workspace.CopyOptions{
		Tree: a.Tree, Follow: a.Tree, Replace: !a.NoReplace, Parents: a.Parents, Times: a.Times,
	})
	if a.SameOK && errors.Is(err, workspace.ErrSameFile) {
		c.Applied = !x.cfg.DryRun
		return Changed{Change: c}, nil
	}
	if err == nil && c.Applied {
		x.moved(s, from, to, true)
	}
	if a.Into {
		err = x.destinationError(from, to, err)
	}
	if errors.Is(err, ErrSameFile) && x.isFolder(from) {
		return Changed{}, &fs.PathError{Op: "mkdir", Path: to, Err: syscall.EEXIST}
	}
	return Changed{Change: c}, err
}
