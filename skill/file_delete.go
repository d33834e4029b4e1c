package skill

import (
	"context"
	"errors"
	"io/fs"

	"textskill/skill/internal/workspace"
)

// DeleteFile removes a file, or a link itself. The workspace is never removed.
type DeleteFile struct {
	Path      string
	Folder    bool // an empty folder, and nothing else: ENOTEMPTY, ENOTDIR
	Tree      bool // a folder too, with all that is in it; else it is EISDIR
	MissingOK bool // what is not there counts as removed: Changed.Applied is false
	DryRun    bool // describe the change only
}

func (DeleteFile) op() {}

func (x *Executor) deleteFile(ctx context.Context, s *Session, a DeleteFile) (Result, error) {
	abs, err := x.path(s, "path", a.Path)
	if err != nil {
		return nil, err
	}
	c, err := x.ws.Remove(ctx, abs, workspace.RemoveOptions{Folder: a.Folder, Tree: a.Tree, DryRun: a.DryRun})
	if err != nil && !(a.MissingOK && errors.Is(err, fs.ErrNotExist)) {
		return nil, err
	}
	return Changed{Change: c}, nil
}
