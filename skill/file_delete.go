package skill

import (
	"context"
	"errors"
	"io/fs"

	"textskill/skill/internal/workspace"
)

// DeleteFile removes a file, or a link itself, but never the workspace. It returns a
// [Changed].
type DeleteFile struct {
	Path      string
	Folder    bool // remove only an empty directory; otherwise ENOTEMPTY or ENOTDIR
	Tree      bool // also remove a directory with everything in it, instead of EISDIR
	MissingOK bool // a missing file is no error: Changed.Applied is false
	DryRun    bool // only describe the change
	If        Condition
}

func (DeleteFile) op() {}

func (x *Executor) DeleteFile(ctx context.Context, s *Session, a DeleteFile) (Changed, error) {
	abs, err := x.path(s, "path", a.Path)
	if err != nil {
		return Changed{}, err
	}
	if !a.DryRun {
		if _, err := x.checkWhole(ctx, s, abs, a.If, verb{"not deleted", "delete"}, true); err != nil {
			return Changed{}, err
		}
		if err := x.checkBelow(ctx, s, abs, a.If, verb{"nothing was deleted", "delete"}); err != nil {
			return Changed{}, err
		}
	}
	c, err := x.ws.Remove(ctx, abs, workspace.RemoveOptions{Folder: a.Folder, Tree: a.Tree, DryRun: a.DryRun})
	if err != nil && !(a.MissingOK && errors.Is(err, fs.ErrNotExist)) {
		return Changed{}, err
	}
	return Changed{Change: c}, nil
}
