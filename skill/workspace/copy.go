package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// CopyOptions say how a file or folder is copied.
type CopyOptions struct {
	Tree    bool // a folder with all that is in it too; else it is EISDIR
	Replace bool // a file at the destination is replaced; else it is EEXIST
	Parents bool // make the folders above the destination
	Times   bool // keep the times, as cp -p
	Follow  bool // links inside a tree become copies of what they lead to; else they stay links
	DryRun  bool // describe only
}

// ErrSameFile reports a copy of a file onto itself.
var ErrSameFile = errors.New("source and destination are the same file")

// Copy copies the file from to the name to, with its mode; links to either are
// followed. A tree appears whole or not at all. Errors are *os.LinkError with Op
// "copyfile" (one of them [ErrSameFile]), *fs.PathError with Op "mkdir", or the
// workspace's own.
func (w *Workspace) Copy(ctx context.Context, from, to string, o CopyOptions) (Change, error) {
	c := Change{Kind: Copy, From: from, Path: to}
	err := w.at(from, true, toRead, func(src place) error {
		return w.at(to, true, toChange, func(dst place) error {
			if err := w.changeable(); err != nil {
				return err
			}
			n, err := w.copyable(src, dst, o)
			if err != nil {
				return err
			}
			if o.DryRun || w.opts.DryRun {
				return w.previewCopy(&c, src, dst, n)
			}
			return w.inFolder(ctx, dst, o.Parents, func(d folder) error {
				from, err := src.root.tree.folder(src.parent().rel)
				if err != nil {
					return err
				}
				defer from.close()
				return w.commit(&c, func() error { return w.duplicate(ctx, from, src, d, dst, o) })
			})
		})
	})
	if me, ok := err.(mkdirError); ok {
		return c, &fs.PathError{Op: "mkdir", Path: filepath.Dir(to), Err: me.error}
	}
	return c, wrap2("copyfile", from, to, err)
}

// copyable finds what stands in the way of a copy, and counts what a tree holds.
func (w *Workspace) copyable(src, dst place, o CopyOptions) (n int, err error) {
	info, err := src.root.tree.stat(src.rel)
	switch {
	case err != nil:
		return 0, err
	case info.isLink():
		return 0, syscall.ELOOP
	case info.IsDir() && !o.Tree:
		return 0, syscall.EISDIR
	case !info.IsDir():
		if err := regular(info.Mode); err != nil {
			return 0, err
		}
	}
	there, err := dst.root.tree.stat(dst.rel)
	found, err := lookAt(there, err)
	switch {
	case err != nil:
		return 0, err
	case found && there.ID == info.ID && info.ID != (FileID{}):
		return 0, ErrSameFile
	case found && !o.Replace, found && info.IsDir():
		return 0, syscall.EEXIST
	case found && there.IsDir():
		return 0, syscall.EISDIR
	case found:
		if err := regular(there.Mode); err != nil {
			return 0, err
		}
	case !o.Parents:
		if _, err := dst.root.tree.stat(dst.parent().rel); err != nil {
			return 0, err
		}
	}
	if !info.IsDir() {
		return 0, nil
	}
	if _, inside := below("/"+src.rel, "/"+dst.rel); inside && src.root == dst.root || src.isRoot() && src.root == dst.root {
		return 0, syscall.EINVAL
	}
	return w.survey(src, copying)
}

func (w *Workspace) previewCopy(c *Change, src, dst place, n int) error {
	if n > 0 {
		c.Diff = fmt.Sprintf("%d files and folders in %s\n", n, c.From)
		return nil
	}
	after, err := src.root.tree.readFile(src.rel)
	if errors.Is(err, syscall.EISDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	before, err := dst.root.tree.readFile(dst.rel)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		before = append([]byte{}, before...)
	}
	c.Diff = Unified(c.Path, c.Path, before, append([]byte{}, after...))
	return nil
}

// duplicate copies src, which is in from, to dst in the locked folder to.
func (w *Workspace) duplicate(ctx context.Context, from folder, src place, to folder, dst place, o CopyOptions) error {
	info, err := from.lstat(src.base())
	if src.isRoot() {
		info, err = src.root.tree.stat(".")
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		return w.copyTree(ctx, src, to, dst, o)
	}
	if info.isLink() {
		target, err := from.readlink(src.base())
		if err != nil {
			return err
		}
		return to.symlink(target, dst.base())
	}
	f, err := from.openFile(src.base(), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err = regularInfo(f); err != nil {
		return err
	}
	old, err := target(to, dst.base(), !o.Replace)
	if err != nil {
		return err
	}
	return w.copyFile(f, info, to, dst.base(), old, o)
}

// copyFile makes name a copy of src. The mode is the source's also where a file
// is replaced.
func (w *Workspace) copyFile(src *os.File, info Info, to folder, name string, old *Info, o CopyOptions) error {
	if old != nil {
		old.Mode = info.Mode
	}
	err := w.replace(to, name, old, func(dst *os.File) error {
		_, err := io.Copy(dst, src)
		return err
	})
	if err != nil {
		return err
	}
	if old == nil || old.Links > 1 {
		f, err := to.openFile(name, os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := f.Chmod(info.Mode &^ fs.ModeType); err != nil {
			return cause(err)
		}
	}
	if o.Times {
		return to.chtimes(name, info)
	}
	return nil
}
