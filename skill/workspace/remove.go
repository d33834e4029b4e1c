package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// MakeDir makes the folder abs and those above it; one that exists is success.
// Errors are *fs.PathError with Op "mkdir", or the workspace's own.
func (w *Workspace) MakeDir(ctx context.Context, abs string, dryRun bool) (Change, error) {
	c := Change{Kind: Mkdir, Path: abs}
	if info, err := w.Stat(abs, false); err == nil && info.isLink() {
		if _, err := w.Stat(abs, true); err != nil { // a dangling link is not made true
			return c, wrap("mkdir", abs, cause(err))
		}
	}
	err := w.at(abs, true, toChange, func(p place) error {
		if err := w.changeable(); err != nil {
			return err
		}
		if dryRun || w.opts.DryRun {
			return w.previewDir(p)
		}
		h, err := w.lockRoots(ctx, false, p)
		if err != nil {
			return err
		}
		defer h.release()
		return w.commit(&c, func() error {
			_, err := w.makeFolders(p)
			return err
		})
	})
	var me mkdirError
	if errors.As(err, &me) {
		err = me.error
	}
	return c, wrap("mkdir", abs, err)
}

// previewDir finds what stands in the way of a folder.
func (w *Workspace) previewDir(p place) error {
	for at := p; ; at = at.parent() {
		info, err := p.root.tree.stat(at.rel)
		switch {
		case err == nil && info.isLink():
			return syscall.ELOOP
		case err == nil && info.IsDir():
			return nil
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
	Folder bool // an empty folder, and nothing else
	Tree   bool // a folder with all that is in it, or a file
	DryRun bool // describe only
}

// Remove removes the file abs, or a link itself. A folder is EISDIR unless the
// options say otherwise. The workspace is never removed: EBUSY. Errors are
// *fs.PathError with Op "unlink" or "rmdir", or the workspace's own.
func (w *Workspace) Remove(ctx context.Context, abs string, o RemoveOptions) (Change, error) {
	c := Change{Kind: Delete, Path: abs}
	op := "unlink"
	if o.Folder {
		op = "rmdir"
	}
	err := w.at(abs, false, toChange, func(p place) error {
		if err := w.changeable(); err != nil {
			return err
		}
		if p.isRoot() {
			if o.Folder || o.Tree {
				return syscall.EBUSY
			}
			return syscall.EISDIR
		}
		info, err := p.root.tree.stat(p.rel)
		if err != nil {
			return err
		}
		if err := removable(info, o); err != nil {
			return err
		}
		if o.DryRun || w.opts.DryRun {
			return w.previewRemove(&c, p, info)
		}
		return w.inFolder(ctx, p, false, func(d folder) error {
			info, err := d.lstat(p.base())
			if err != nil {
				return err
			}
			if err := removable(info, o); err != nil {
				return err
			}
			if !info.IsDir() || o.Folder {
				return w.commit(&c, func() error { return d.remove(p.base(), info.IsDir()) })
			}
			if _, err := w.survey(p, removing); err != nil {
				return err
			}
			return w.commit(&c, func() error { return removeTree(d, p.base()) })
		})
	})
	return c, wrap(op, abs, err)
}

func removable(info Info, o RemoveOptions) error {
	switch {
	case info.IsDir() && !o.Folder && !o.Tree:
		return syscall.EISDIR
	case !info.IsDir() && o.Folder:
		return syscall.ENOTDIR
	}
	return nil
}

func (w *Workspace) previewRemove(c *Change, p place, info Info) error {
	if !info.IsDir() {
		if info.Mode.IsRegular() && info.Size <= maxDiff {
			before, err := p.root.tree.readFile(p.rel)
			if err != nil {
				return err
			}
			c.Diff = Unified(c.Path, c.Path, append([]byte{}, before...), nil)
		}
		return nil
	}
	n, err := w.survey(p, removing)
	c.Diff = fmt.Sprintf("%d files and folders in %s\n", n, c.Path)
	return err
}

// purpose is what a whole tree is looked through for.
type purpose int

const (
	removing purpose = iota
	copying
)

// survey counts what is below p and refuses what the purpose may not touch, so
// that it is known before the first change.
func (w *Workspace) survey(p place, why purpose) (n int, err error) {
	d, err := p.root.tree.folder(p.rel)
	if err != nil {
		return 0, err
	}
	defer d.close()
	if d.handle() == nil {
		return 0, &fs.PathError{Op: "scandir", Path: p.path(), Err: syscall.EACCES}
	}
	if why == removing {
		if err := d.writable("."); err != nil {
			return 0, &fs.PathError{Op: "unlink", Path: p.path(), Err: err}
		}
	}
	entries, err := d.handle().ReadDir(-1)
	if err != nil {
		return 0, cause(err)
	}
	for _, e := range entries {
		child := p.child(e.Name())
		if Hidden(e.Name()) && e.Name() != tempName {
			return 0, &DeniedError{child.path(), "it holds this program's own records"}
		}
		if why == copying {
			if err := w.denied(place{p.root, e.Name()}, child.path(), toChange); err != nil {
				return 0, err
			}
		}
		n++
		if !e.IsDir() {
			continue
		}
		m, err := w.survey(child, why)
		if err != nil {
			return 0, err
		}
		n += m
	}
	return n, nil
}

// removeTree removes name and what is in it. It leaves its folder in one step, so
// that no reader sees a part of it; where that fails it stays.
func removeTree(d folder, name string) error {
	if err := d.rename(name, d, tempName, false); err != nil {
		return err
	}
	return removeAll(d, tempName)
}

// removeAll removes name from d with everything below it, never through a link.
func removeAll(d folder, name string) error {
	err := d.remove(name, false)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	sub, serr := d.folder(name)
	if serr != nil {
		return err
	}
	var names []string
	if err = syscall.EACCES; sub.handle() != nil {
		names, err = sub.handle().Readdirnames(-1)
	}
	if err == nil {
		for _, n := range names {
			if err = removeAll(sub, n); err != nil {
				break
			}
		}
	}
	sub.close()
	if err != nil {
		return cause(err)
	}
	return d.remove(name, true)
}
