package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"textskill/skill/internal/workspace/tree"
)

// MakeDir makes the folder abs and those above it; one that exists is success.
// Errors are *fs.PathError with Op "mkdir", or the workspace's own.
func (w *Workspace) MakeDir(ctx context.Context, abs string, dryRun bool) (Change, error) {
	c := Change{Kind: Mkdir, Path: abs}
	if info, err := w.Stat(abs, false); err == nil && info.IsLink() {
		if _, err := w.Stat(abs, true); err != nil { // a dangling link is not made true
			return c, wrap("mkdir", abs, tree.Cause(err))
		}
	}
	err := w.withLocation(request{abs, true, toChange}, func(p location) error {
		if err := w.checkWritable(); err != nil {
			return err
		}
		if dryRun || w.opts.DryRun {
			return previewDir(p)
		}
		if info, err := p.root.tree.Stat(p.rel); err == nil && info.IsDir() {
			return w.commit(ctx, &c, plan{}, func(*backup) error { return nil })
		}
		h, err := w.lockRoots(ctx, true, p)
		if err != nil {
			return err
		}
		defer h.release()
		return w.commit(ctx, &c, w.planFolders(p, false), func(*backup) error {
			_, err := w.makeFolders(p)
			return err
		})
	})
	if me, ok := err.(mkdirError); ok {
		err = me.error
	}
	return c, wrap("mkdir", abs, err)
}

// previewDir finds what stands in the way of a folder.
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
	err := w.withLocation(request{abs, false, toChange}, func(p location) error {
		if err := w.checkWritable(); err != nil {
			return err
		}
		info, err := p.root.tree.Stat(p.rel)
		if err != nil {
			return err
		}
		if err := checkRemove(info, o); err != nil {
			return err
		}
		if w.holdsRoot(p) {
			return syscall.EBUSY
		}
		if o.DryRun || w.opts.DryRun {
			return w.previewRemove(&c, p, info, o)
		}
		whole := info.IsDir() && o.Tree
		return w.inFolder(ctx, &c, p, scope{exclusive: whole}, func(d tree.Folder) error {
			info, err := d.Lstat(p.base())
			if err != nil {
				return err
			}
			if err := checkRemove(info, o); err != nil {
				return err
			}
			if info.IsDir() && o.Tree && !whole {
				return syscall.ELOOP // a folder came there: look again
			}
			if whole {
				if _, err := w.checkTree(p, removing); err != nil {
					return err
				}
			}
			return w.remove(ctx, &c, p, d, whole)
		})
	})
	return c, wrap(op, abs, err)
}

// remove removes what is at p, whose folder d is locked, or puts it by.
func (w *Workspace) remove(ctx context.Context, c *Change, p location, d tree.Folder, whole bool) error {
	info, err := d.Lstat(p.base())
	if err != nil {
		return err
	}
	planned, err := w.planRemove(p, d, info)
	if err != nil {
		return err
	}
	return w.commit(ctx, c, planned, func(k *backup) error {
		if k != nil && (whole || !info.IsDir()) {
			if done, err := k.move(d, p.base(), info); done || err != nil {
				return err
			}
		}
		if whole && info.IsDir() {
			return removeTree(d, p.base())
		}
		return d.Remove(p.base(), info.IsDir())
	})
}

func checkRemove(info Info, o RemoveOptions) error {
	switch {
	case info.IsDir() && !o.Folder && !o.Tree:
		return syscall.EISDIR
	case !info.IsDir() && o.Folder:
		return syscall.ENOTDIR
	}
	return nil
}

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

// purpose is what a whole tree is looked through for.
type purpose int

const (
	removing purpose = iota
	copying
)

// checkTree counts what is below p and refuses what the purpose may not touch, so
// that it is known before the first change.
func (w *Workspace) checkTree(p location, why purpose) (n int, err error) {
	d, err := p.root.tree.OpenFolder(p.rel)
	if err == syscall.ELOOP {
		return 0, err
	}
	var entries []Entry
	if err == nil {
		defer d.Close()
		entries, err = d.Entries()
	}
	if err != nil {
		return 0, &fs.PathError{Op: "scandir", Path: p.path(), Err: err}
	}
	if why == removing && len(entries) > 0 {
		if err := d.CheckWritable("."); err != nil {
			return 0, &fs.PathError{Op: "unlink", Path: p.path(), Err: err}
		}
	}
	for _, e := range entries {
		child := p.child(e.Name)
		switch {
		case e.Name == tempName, why == copying && Hidden(e.Name):
			continue
		case Hidden(e.Name):
			return 0, &DeniedError{child.path(), "it holds this program's own records"}
		case why == copying:
			if err := w.deniedName(e.Name, request{child.path(), false, toChange}); err != nil {
				return 0, err
			}
		}
		n++
		if e.Type != fs.ModeDir {
			continue
		}
		if err := checkMount(d, e.Name, why); err != nil {
			return 0, &fs.PathError{Op: "rmdir", Path: child.path(), Err: err}
		}
		m, err := w.checkTree(child, why)
		if err != nil {
			return 0, err
		}
		n += m
	}
	return n, nil
}

// checkMount refuses to remove a folder of d that is another file system's.
func checkMount(d tree.Folder, name string, why purpose) error {
	if why != removing {
		return nil
	}
	info, err := d.Lstat(name)
	if err == nil && info.ID.Dev != d.ID().Dev && info.ID != (FileID{}) {
		return syscall.EBUSY
	}
	return err
}

// removeTree removes name and what is in it. It leaves its folder in one step, so
// that no reader sees a part of it; what could not be removed comes back.
func removeTree(d tree.Folder, name string) error {
	if err := d.Rename(name, d, tempName, false); err != nil {
		return err
	}
	err := removeAll(d, tempName)
	if err != nil {
		d.Rename(tempName, d, name, false)
	}
	return err
}

// removeAll removes name from d with everything below it, never through a link.
func removeAll(d tree.Folder, name string) error {
	err := d.Remove(name, false)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	sub, serr := d.OpenFolder(name)
	if serr != nil {
		return err
	}
	entries, err := sub.Entries()
	for _, e := range entries {
		if err = removeAll(sub, e.Name); err != nil {
			break
		}
	}
	sub.Close()
	if err != nil {
		return err
	}
	return d.Remove(name, true)
}

// discard removes name from d: a file, or a tree whose folders may be read-only.
func discard(d tree.Folder, name string) {
	if removeAll(d, name) != nil {
		makeWritable(d, name)
		removeAll(d, name)
	}
}

// makeWritable makes the folder name and those below it writable for their owner.
func makeWritable(d tree.Folder, name string) {
	sub, err := d.OpenFolder(name)
	if err != nil {
		return
	}
	defer sub.Close()
	if f, err := sub.OpenFile(".", os.O_RDONLY, 0); err == nil {
		f.Chmod(0o700)
		f.Close()
	}
	entries, _ := sub.Entries()
	for _, e := range entries {
		if e.Type == fs.ModeDir {
			makeWritable(sub, e.Name)
		}
	}
}
