package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"textskill/skill/internal/history"
	"textskill/skill/internal/refusal"
	"textskill/skill/internal/workspace/tree"
)

// MakeDir makes the folder abs and the missing folders above it. It succeeds if the folder exists.
// Errors are *fs.PathError with Op "mkdir", or the workspace's own.
func (w *Workspace) MakeDir(ctx context.Context, abs string, dryRun bool) (Change, error) {
	c := Change{Kind: Mkdir, Path: abs}
	err := w.withLocation(request{abs, true, toChange}, func(p location) error {
		if err := cmp.Or(w.checkWritable(), w.checkDangling(abs, p)); err != nil {
			return err
		}
		if dryRun || w.opts.DryRun {
			return previewDir(p)
		}
		if info, err := p.root.tree.Stat(p.rel); err == nil && info.IsDir() {
			c.Applied = true
			return nil
		}
		return w.locked(ctx, &c, false, []location{p}, nil, func(l *heldLocks, _ []target) error {
			return w.commit(ctx, &c, l, w.planFolders(p), func(*history.Keeper) error {
				_, err := w.makeFolders(&c, p)
				return err
			})
		})
	})
	if me, ok := err.(mkdirError); ok {
		err = me.error
	}
	return c, wrap("mkdir", abs, err)
}

// checkDangling fails if MakeDir would make the target of a dangling link: if abs, or the lowest
// existing name above it, is such a link. p is the location of abs.
func (w *Workspace) checkDangling(abs string, p location) error {
	if p.path() == abs {
		return nil // no link was followed
	}
	for whole := abs; ; {
		info, err := w.Stat(abs, false)
		above := filepath.Dir(abs)
		switch {
		case errors.Is(err, fs.ErrNotExist) && above != abs:
			abs = above
		case err == nil && info.IsLink():
			_, err = w.Stat(abs, true)
			if errors.Is(err, syscall.ENOENT) && abs != whole {
				return &fs.PathError{Op: "mkdir", Path: abs, Err: syscall.ENOTDIR}
			}
			return tree.Cause(err)
		default:
			return nil
		}
	}
}

// previewDir returns the error that making the folder p would fail with.
func previewDir(p location) error {
	for at := p; ; at = at.parent() {
		info, err := p.root.tree.Stat(at.rel)
		switch {
		case err == nil && info.IsLink():
			return syscall.ELOOP
		case err == nil && info.IsDir() && at == p:
			return nil
		case err == nil && info.IsDir():
			d, err := at.root.tree.OpenFolder(at.rel)
			if err != nil {
				return err
			}
			defer d.Close()
			return d.CheckWritable(".")
		case err == nil && at == p:
			return syscall.EEXIST
		case err == nil:
			return syscall.ENOTDIR
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
}

// RemoveOptions say what may be removed.
type RemoveOptions struct {
	Folder bool // only an empty folder
	Tree   bool // a folder with everything in it, or a file
	DryRun bool // only describe the change
}

// Remove removes the file or link abs. A folder is EISDIR unless the options allow it. The
// workspace itself is EBUSY. Errors are *fs.PathError with Op "unlink" or "rmdir", or the
// workspace's own.
func (w *Workspace) Remove(ctx context.Context, abs string, o RemoveOptions) (Change, error) {
	c := Change{Kind: Delete, Path: abs}
	op := "unlink"
	if o.Folder {
		op = "rmdir"
	}
	err := w.withLocation(request{abs, false, toChange}, func(p location) error {
		if err := w.checkWritable(); err != nil {
			return err
		}
		info, err := p.root.tree.Stat(p.rel)
		if err == nil {
			err = checkRemove(info, o)
		}
		if err != nil {
			return err
		}
		if w.holdsRoot(p) {
			return syscall.EBUSY
		}
		if o.DryRun || w.opts.DryRun {
			return w.previewRemove(&c, p, info, o)
		}
		whole := info.IsDir() && o.Tree
		at := []location{p}
		return w.locked(ctx, &c, false, at, at, func(_ *heldLocks, s []target) error {
			return s[0].removeLocked(ctx, o, whole)
		})
	})
	return c, wrap(op, abs, err)
}

// removeLocked removes the path, if o still allows it. whole means that it was a folder before the lock was taken.
func (s target) removeLocked(ctx context.Context, o RemoveOptions, whole bool) error {
	info, err := s.d.Lstat(s.p.base())
	if err == nil {
		err = checkRemove(info, o)
	}
	if err != nil {
		return err
	}
	if info.IsDir() && o.Tree && !whole {
		return syscall.ELOOP // a folder has replaced the file: withLocation retries
	}
	if whole {
		if _, err := s.w.checkTree(s.p, removing); err != nil {
			return err
		}
	}
	return s.remove(ctx, info, whole)
}

// remove moves the path, which info describes, to the blobs, or removes it. With whole, it may be a folder that is not
// empty.
func (s target) remove(ctx context.Context, info Info, whole bool) error {
	whole = whole && info.IsDir()
	planned, err := s.w.planRemove(s.l, s.p, s.d, whole)
	if err != nil {
		return err
	}
	return s.w.commit(ctx, s.c, s.l, planned, func(k *history.Keeper) error {
		switch {
		case k != nil && (whole || !info.IsDir()):
			return k.Take(s.d, s.p.base())
		case whole:
			return history.RemoveTree(s.d, s.p.base())
		}
		return s.d.Remove(s.p.base(), info.IsDir())
	})
}

// checkRemove fails if o does not allow removing the file that info describes.
func checkRemove(info Info, o RemoveOptions) error {
	switch {
	case info.IsDir() && !o.Folder && !o.Tree:
		return syscall.EISDIR
	case !info.IsDir() && o.Folder:
		return syscall.ENOTDIR
	}
	return nil
}

// previewRemove describes the removal of p in c, and returns the error that the removal would fail
// with.
func (w *Workspace) previewRemove(c *Change, p location, info Info, o RemoveOptions) error {
	d, err := p.root.tree.OpenFolder(p.parent().rel)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.CheckWritable("."); err != nil {
		return err
	}
	switch {
	case info.IsDir() && !o.Tree:
		return checkEmpty(d, p.base())
	case info.IsDir():
		n, err := w.checkTree(p, removing)
		c.Diff = fmt.Sprintf("%d files and folders in %s\n", n, c.Path)
		return err
	case info.Mode.IsRegular() && info.Size > maxDiff:
		c.Diff = header(c.Path, "/dev/null") + largeSummary(info.Size, 0)
	case info.Mode.IsRegular():
		before, err := p.root.tree.ReadFile(p.rel, maxRead)
		if err != nil {
			return err
		}
		c.Diff = Unified(c.Path, c.Path, before, nil)
	}
	return nil
}

// A purpose says what the caller of checkTree will do with the tree.
type purpose int

const (
	removing purpose = iota
	copying
)

// checkTree counts the files and folders below p. It fails if one of them may not be removed or copied,
// so that the operation fails before its first change.
func (w *Workspace) checkTree(p location, why purpose) (n int, err error) {
	d, entries, err := openEntries(p)
	if err != nil {
		return 0, err
	}
	defer d.Close()
	if why == removing && len(entries) > 0 {
		if err := d.CheckWritable("."); err != nil {
			return 0, &fs.PathError{Op: "unlink", Path: p.path(), Err: err}
		}
	}
	for _, e := range entries {
		if e.Name == tempName || why == copying && Hidden(e.Name) {
			continue
		}
		child := p.child(e.Name)
		if err := w.checkEntry(d, child, e, why); err != nil {
			return 0, err
		}
		n++
		if e.Type != fs.ModeDir {
			continue
		}
		below, err := w.checkTree(child, why)
		if err != nil {
			return 0, err
		}
		n += below
	}
	return n, nil
}

// openEntries opens the folder p and reads its entries. ELOOP has no path, so that
// [Workspace.withLocation] can follow a link.
func openEntries(p location) (tree.Folder, []Entry, error) {
	d, err := p.root.tree.OpenFolder(p.rel)
	if err == syscall.ELOOP {
		return nil, nil, err
	}
	if err != nil {
		return nil, nil, &fs.PathError{Op: "scandir", Path: p.path(), Err: err}
	}
	entries, err := d.Entries()
	if err != nil {
		d.Close()
		return nil, nil, &fs.PathError{Op: "scandir", Path: p.path(), Err: err}
	}
	return d, entries, nil
}

// checkEntry fails if the entry e of d, at child, may not be removed or copied. A folder on another
// file system is a mount point and may not be removed.
func (w *Workspace) checkEntry(d tree.Folder, child location, e Entry, why purpose) error {
	switch {
	case Hidden(e.Name):
		return refusal.Denied(child.path(), ownRecords)
	case why == copying:
		return w.deniedName(child.parent().rel, e.Name, request{child.path(), false, toChange})
	case e.Type != fs.ModeDir:
		return nil
	}
	info, err := d.Lstat(e.Name)
	if err == nil && info.ID.Dev != d.ID().Dev && info.ID != (FileID{}) {
		err = syscall.EBUSY
	}
	if err != nil {
		return &fs.PathError{Op: "rmdir", Path: child.path(), Err: err}
	}
	return nil
}
