package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"textskill/skill/internal/history"
	"textskill/skill/internal/workspace/tree"
)

// CopyOptions say how a file or folder is copied.
type CopyOptions struct {
	Tree    bool // copy a folder with everything in it; else a folder is EISDIR
	Replace bool // replace a file at the destination; else it is EEXIST
	Parents bool // make the missing folders above the destination
	Times   bool // keep the times
	Follow  bool // copy the targets of the links in a tree, if they can be followed; else copy the links
	DryRun  bool // only describe the change

	moving  bool   // the caller then removes the source: keep owners and attributes, copy every name
	missing bool   // copy only names that do not exist at the destination
	temp    string // name of the copy until it is complete; "" means tempName
}

// ErrSameFile reports a copy of a file onto itself.
var ErrSameFile = errors.New("source and destination are the same file")

// Copy copies the file from to the path to. It copies the permissions, unless it overwrites a file in
// place. It follows links in both paths. A copied tree appears completely or not at all, without this
// program's own records. Errors are *os.LinkError with Op "copyfile" (also for [ErrSameFile]),
// *fs.PathError with Op "mkdir", or the workspace's own.
func (w *Workspace) Copy(ctx context.Context, from, to string, o CopyOptions) (Change, error) {
	c := Change{Kind: Copy, From: from, Path: to}
	err := w.withLocations(request{from, true, toRead}, request{to, true, toChange},
		func(src, dst location) error {
			if err := w.checkWritable(); err != nil {
				return err
			}
			info, err := w.checkCopy(src, dst, o)
			if err != nil {
				return err
			}
			if o.DryRun || w.opts.DryRun {
				return w.previewCopy(&c, src, dst, info, o)
			}
			at := []location{dst}
			locked := at
			if info.IsDir() {
				locked = append(locked, src)
			}
			return w.locked(ctx, &c, o.Parents, locked, at, func(l *heldLocks, s []target) error {
				d := s[0].d
				if !info.IsDir() {
					return s[0].copyFile(ctx, src, o)
				}
				if _, err := w.checkTree(src, copying); err != nil {
					return err
				}
				return w.copyTree(ctx, src, d, dst, o, func(rename func() error) error {
					return w.commit(ctx, &c, l, w.planTree(dst, d),
						func(*history.Keeper) error { return rename() })
				})
			})
		})
	return c, wrap2("copyfile", from, to, err)
}

// checkCopy describes src, and returns the error that copying it to dst would fail with.
func (w *Workspace) checkCopy(src, dst location, o CopyOptions) (Info, error) {
	info, err := src.root.tree.Stat(src.rel)
	if err == nil && info.IsLink() {
		err = syscall.ELOOP
	}
	if err != nil {
		return info, err
	}
	there, err := dst.root.tree.Stat(dst.rel)
	found, err := existing(there, err)
	if err == nil && !found && !o.Parents {
		_, err = dst.root.tree.Stat(dst.parent().rel)
	}
	if err == nil && !info.IsDir() {
		err = tree.CheckRegular(info.Mode)
	}
	switch {
	case err != nil:
		return info, err
	case info.IsDir() && !o.Tree:
		return info, syscall.EISDIR
	case found && there.ID == info.ID && info.ID != (FileID{}):
		return info, ErrSameFile
	case found && !o.Replace, found && info.IsDir():
		return info, syscall.EEXIST
	case found:
		return info, tree.CheckRegular(there.Mode)
	}
	if _, inside := below(src.path(), dst.path()); inside && info.IsDir() {
		return info, syscall.EINVAL
	}
	return info, nil
}

// previewCopy describes the copy in c, and returns further errors that the copy would fail with.
func (w *Workspace) previewCopy(c *Change, src, dst location, info Info, o CopyOptions) error {
	d, old, err := previewTarget(dst, WriteOptions{Parents: o.Parents, NoReplace: !o.Replace})
	if err != nil {
		return err
	}
	if d != nil {
		defer d.Close()
	}
	if info.IsDir() {
		n, err := w.checkTree(src, copying)
		c.Diff = fmt.Sprintf("%d files and folders in %s\n", n, c.From)
		return err
	}
	if info.Size > maxDiff {
		c.Diff = header(c.Path, c.Path) + fmt.Sprintf("Large file: %d bytes\n", info.Size)
		return nil
	}
	data, err := src.root.tree.ReadFile(src.rel, maxRead)
	if err == nil {
		c.Diff, err = writeDiff(c.Path, d, dst.base(), old, data)
	}
	return err
}

// copyFile copies the file src to the target.
func (s target) copyFile(ctx context.Context, src location, o CopyOptions) error {
	f, info, err := tree.RegularFile(src.root.tree.Open(src.rel, os.O_RDONLY))
	if err != nil {
		return err
	}
	defer f.Close()
	old, err := existingFile(s.d, s.p.base(), !o.Replace)
	if err != nil {
		return err
	}
	if old != nil {
		old.Mode = info.Mode.Perm()
	}
	err = s.replace(ctx, old, fill{write: func(new *os.File) error {
		if old == nil {
			if err := new.Chmod(info.Mode.Perm()); err != nil {
				return err
			}
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		return tree.CopyContent(new, f, info.Size)
	}}, nil, nil)
	if err == nil && o.Times {
		s.d.Chtimes(s.p.base(), info) // fails for another user's file that was overwritten in place
	}
	return err
}
