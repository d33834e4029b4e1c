package workspace

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

// MoveOptions say how a file or folder is moved. The zero value replaces a file
// at the destination, and an empty folder by a folder, as rename(2) does.
type MoveOptions struct {
	Parents   bool // make the folders above the destination
	NoReplace bool // fail with EEXIST where there is something
	DryRun    bool // describe only
}

// Move renames from, or a link itself, to the name to. Between file systems it
// copies and removes. Neither may be the workspace itself: EBUSY. Errors are
// *os.LinkError with Op "rename", *fs.PathError with Op "mkdir", or the
// workspace's own.
func (w *Workspace) Move(ctx context.Context, from, to string, o MoveOptions) (Change, error) {
	c := Change{Kind: Move, From: from, Path: to}
	err := w.at(from, false, toChange, func(src place) error {
		return w.at(to, false, toChange, func(dst place) error {
			if err := w.changeable(); err != nil {
				return err
			}
			if src.isRoot() || dst.isRoot() {
				return syscall.EBUSY
			}
			info, err := movable(src, dst, o)
			if err != nil {
				return err
			}
			if o.DryRun || w.opts.DryRun {
				return nil
			}
			return w.move(ctx, &c, src, dst, info, o)
		})
	})
	if me, ok := err.(mkdirError); ok {
		return c, &fs.PathError{Op: "mkdir", Path: filepath.Dir(to), Err: me.error}
	}
	return c, wrap2("rename", from, to, err)
}

// movable finds what stands in the way of a move before anything is made for it.
func movable(src, dst place, o MoveOptions) (Info, error) {
	info, err := src.root.tree.stat(src.rel)
	if err != nil {
		return info, err
	}
	there, err := dst.root.tree.stat(dst.rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if !o.Parents {
			_, err = dst.root.tree.stat(dst.parent().rel)
		} else {
			err = nil
		}
	case err != nil:
	case o.NoReplace:
		err = syscall.EEXIST
	case there.IsDir() && !info.IsDir():
		err = syscall.EISDIR
	case !there.IsDir() && info.IsDir():
		err = syscall.ENOTDIR
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return info, err
	}
	if info.IsDir() && src.root == dst.root && strings.HasPrefix(dst.rel, src.rel+"/") {
		return info, syscall.EINVAL
	}
	return info, err
}

func (w *Workspace) move(ctx context.Context, c *Change, src, dst place, info Info, o MoveOptions) error {
	h, err := w.lockRoots(ctx, info.IsDir(), src, dst)
	if err != nil {
		return err
	}
	defer h.release()
	var made []place
	if o.Parents {
		if made, err = w.makeFolders(dst.parent()); err != nil {
			return err
		}
	}
	from, to, err := h.lockFolders(ctx, src, dst)
	if err == nil {
		sweep(to)
		err = w.commit(c, func() error {
			err := from.rename(src.base(), to, dst.base(), !o.NoReplace)
			if errors.Is(err, syscall.EXDEV) {
				return w.moveAcross(ctx, from, to, src, dst, info)
			}
			return err
		})
	}
	if err != nil {
		removeFolders(made)
	}
	return err
}

// moveAcross copies to the other file system, then removes.
func (w *Workspace) moveAcross(ctx context.Context, from, to folder, src, dst place, info Info) error {
	if err := w.duplicate(ctx, from, src, to, dst, CopyOptions{Times: true, Replace: true}); err != nil {
		return err
	}
	if info.IsDir() {
		return removeTree(from, src.base())
	}
	return from.remove(src.base(), false)
}

// lockFolders locks the folders of two places, in the order of their numbers.
func (h *held) lockFolders(ctx context.Context, a, b place) (fa, fb folder, err error) {
	idA, err := a.root.tree.stat(path.Dir(a.rel))
	if err != nil {
		return nil, nil, err
	}
	idB, err := b.root.tree.stat(path.Dir(b.rel))
	if err != nil {
		return nil, nil, err
	}
	if byID(idA.ID, idB.ID) > 0 {
		fb, fa, err = h.lockFolders(ctx, b, a)
		return fa, fb, err
	}
	if fa, err = h.lockFolder(ctx, a); err != nil {
		return nil, nil, err
	}
	fb, err = h.lockFolder(ctx, b)
	return fa, fb, err
}
