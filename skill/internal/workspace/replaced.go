package workspace

import (
	"errors"
	"fmt"
	"io/fs"

	"textskill/skill/internal/workspace/tree"
)

// ErrReplaced reports that another folder is at the path of one that is open.
var ErrReplaced = errors.New("was replaced by another folder")

// CheckReplaced fails if a folder of w was removed, or with [ErrReplaced] if something else
// is at its path. One that was renamed, with nothing in its place, can still be used.
func (w *Workspace) CheckReplaced() error {
	for _, r := range w.roots {
		id, err := tree.IDAt(r.dir)
		switch {
		case err == nil && id != r.id:
			return fmt.Errorf("the workspace %s %w; start skill again to use that", r.dir, ErrReplaced)
		case errors.Is(err, fs.ErrNotExist):
			if info, err := r.tree.Stat("."); err == nil && info.Links == 0 {
				return fmt.Errorf("the workspace %s was removed; make the folder again, or start skill with -C for another", r.dir)
			}
		}
	}
	return nil
}

// Reopen opens the folders that are at the paths of those of w by now. They must belong
// to the same users.
func (w *Workspace) Reopen() (*Workspace, error) {
	opts := w.opts
	opts.Dir, opts.Allow = w.roots[0].given, nil
	for _, r := range w.roots[1:] {
		opts.Allow = append(opts.Allow, r.given)
	}
	n, err := Open(opts)
	if err != nil {
		return nil, err
	}
	for i, r := range n.roots {
		was := w.roots[i]
		if r.dir != was.dir || tree.InfoOf(r.info).UID != tree.InfoOf(was.info).UID {
			n.Close()
			return nil, fmt.Errorf("another folder, %s, is at the path of the workspace %s, and it leads elsewhere or belongs to another user; start skill again to use it", r.dir, was.dir)
		}
	}
	return n, nil
}
