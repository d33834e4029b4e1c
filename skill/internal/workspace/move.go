package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"textskill/skill/internal/history"
	"textskill/skill/internal/workspace/tree"
)

// MoveOptions say how a file or folder is moved. The zero value replaces a file at the
// destination, or with a folder an empty folder, as rename(2) does.
type MoveOptions struct {
	Parents   bool // make the missing folders above the destination
	NoReplace bool // fail with EEXIST if the destination exists
	DryRun    bool // only describe the change
}

// Move renames the file, folder or link from to the path to. Between file systems it copies and
// removes. Moving or replacing the workspace itself is EBUSY. Errors are *os.LinkError with Op
// "rename", *fs.PathError with Op "mkdir", or the workspace's own.
func (w *Workspace) Move(ctx context.Context, from, to string, o MoveOptions) (Change, error) {
	c := Change{Kind: Move, From: from, Path: to}
	err := w.withLocations(request{from, false, toChange}, request{to, false, toChange},
		func(src, dst location) error {
			if err := w.checkWritable(); err != nil {
				return err
			}
			info, err := w.checkMove(src, dst, o)
			if err != nil {
				return err
			}
			if o.DryRun || w.opts.DryRun {
				return previewMove(src, dst, o)
			}
			m := &move{w: w, src: src, dst: dst, info: info, o: o}
			return m.try(ctx, &c)
		})
	return c, wrap2("rename", from, to, err)
}

// checkMove describes src, and returns the error that moving it to dst would fail with, as far as it
// is known before folders are made.
func (w *Workspace) checkMove(src, dst location, o MoveOptions) (Info, error) {
	info, err := src.root.tree.Stat(src.rel)
	if err != nil && err != syscall.ELOOP && !o.Parents {
		err = cmp.Or(folderError(src), folderError(dst), err)
	}
	if err != nil {
		return info, err
	}
	there, found, err := moveTarget(dst, o.Parents)
	_, inside := below(src.path(), dst.path())
	_, above := below(dst.path(), src.path())
	switch {
	case err != nil:
		return info, err
	case w.holdsRoot(src) || w.holdsRoot(dst):
		return info, syscall.EBUSY
	case found && o.NoReplace:
		return info, syscall.EEXIST
	case inside && info.IsDir() && src != dst:
		return info, syscall.EINVAL
	case above && src != dst:
		return info, syscall.ENOTEMPTY
	case found && there.IsDir() && !info.IsDir():
		return info, syscall.EISDIR
	case found && !there.IsDir() && info.IsDir():
		return info, syscall.ENOTDIR
	}
	return info, nil
}

// moveTarget describes the file at dst. If dst does not exist, its parent folder must exist, except
// with parents.
func moveTarget(dst location, parents bool) (there Info, found bool, err error) {
	there, err = dst.root.tree.Stat(dst.rel)
	found = err == nil
	switch {
	case errors.Is(err, fs.ErrNotExist) && parents:
		err = nil
	case errors.Is(err, fs.ErrNotExist):
		_, err = dst.root.tree.Stat(dst.parent().rel)
	case err == syscall.ENOTDIR && parents:
		err = mkdirFailed(previewDir(dst.parent()))
	}
	return there, found, err
}

// folderError returns an error if the folder above p does not exist or is not a folder. A move checks
// both folders before their entries.
func folderError(p location) error {
	info, err := p.root.tree.Stat(p.parent().rel)
	switch {
	case err == nil && info.IsLink():
		return syscall.ELOOP
	case err == nil && !info.IsDir():
		return syscall.ENOTDIR
	}
	return err
}

// previewMove returns further errors that the move would fail with.
func previewMove(src, dst location, o MoveOptions) error {
	from, err := src.root.tree.OpenFolder(src.parent().rel)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := from.CheckWritable("."); err != nil {
		return err
	}
	to, err := dst.root.tree.OpenFolder(dst.parent().rel)
	if o.Parents && missingFolder(err) {
		return mkdirFailed(previewDir(dst.parent()))
	}
	if err != nil {
		return err
	}
	defer to.Close()
	if src != dst {
		if err := checkEmpty(to, dst.base()); err != nil {
			return err
		}
	}
	return to.CheckWritable(".")
}

// checkEmpty fails with ENOTEMPTY if name is a folder with something in it.
func checkEmpty(in tree.Folder, name string) error {
	d, err := in.OpenFolder(name)
	if err != nil {
		return nil // not a folder, or not readable
	}
	defer d.Close()
	if entries, err := d.Entries(); err == nil && len(entries) > 0 {
		return syscall.ENOTEMPTY
	}
	return nil
}

// A move is the state of one Move.
type move struct {
	w        *Workspace
	src, dst location
	info     Info // of src
	o        MoveOptions
}

// try locks both folders and moves.
func (m *move) try(ctx context.Context, c *Change) error {
	both := []location{m.src, m.dst}
	return m.w.locked(ctx, c, m.o.Parents, both, both, func(_ *heldLocks, s []target) error {
		return m.moveLocked(ctx, s[0], s[1])
	})
}

// moveLocked moves between two locked folders.
func (m *move) moveLocked(ctx context.Context, src, dst target) error {
	from, to := src.d, dst.d
	now, err := from.Lstat(m.src.base())
	if err == nil && now.IsDir() != m.info.IsDir() {
		err = syscall.ELOOP // src was replaced: withLocations retries
	}
	if err != nil {
		return err
	}
	if !m.o.NoReplace && m.sameFile(now, to) { // rename(2) would keep both names
		return src.remove(ctx, now, false)
	}
	planned, err := m.w.planMove(src.l, m.src, m.dst, from, to)
	if err != nil {
		return err
	}
	return m.w.commit(ctx, src.c, src.l, planned, func(k *history.Keeper) error {
		if k != nil && !m.o.NoReplace {
			if err := k.Save(to, m.dst.base()); err != nil {
				return err
			}
		}
		return m.rename(ctx, k, from, to)
	})
}

func (m *move) rename(ctx context.Context, k *history.Keeper, from, to tree.Folder) error {
	err := from.Rename(m.src.base(), to, m.dst.base(), !m.o.NoReplace)
	if errors.Is(err, syscall.EXDEV) {
		return m.across(ctx, k, from, to)
	}
	return err
}

// sameFile reports whether the destination is another hard link to the source, which info describes.
// It is false for names that differ only in case: a system that ignores case has only one such name.
func (m *move) sameFile(info Info, to tree.Folder) bool {
	if info.IsDir() || info.Links < 2 || strings.EqualFold(m.src.base(), m.dst.base()) {
		return false
	}
	existing, err := to.Lstat(m.dst.base())
	return err == nil && existing.ID == info.ID
}

// across moves to another file system: it copies, makes the copy durable, and removes the source.
func (m *move) across(ctx context.Context, k *history.Keeper, from, to tree.Folder) (err error) {
	if err := from.CheckWritable("."); err != nil {
		return err
	}
	name, newName := m.src.base(), m.dst.base()
	switch {
	case m.info.IsDir():
		if _, err := m.w.checkTree(m.src, removing); err != nil {
			return err
		}
		o := CopyOptions{Times: true, Replace: !m.o.NoReplace, moving: true}
		err = m.w.copyTree(ctx, m.src, to, m.dst, o, renameOnly)
	case m.info.IsLink():
		err = m.w.copyInto(from, name, to, newName, !m.o.NoReplace)
	default:
		err = m.w.copyAcross(from, name, to, newName, m.o)
	}
	if err != nil {
		return err
	}
	if err = m.w.flushNames(k, to); err == nil {
		err = removeSource(from, name, m.info)
	}
	if err == nil {
		return nil
	}
	return m.w.restoreSource(ctx, err, m.src, from, m.dst, to)
}

// renameOnly is a commit that records nothing.
func renameOnly(appear func() error) error { return appear() }

// removeSource removes a file or folder after it was copied. It may be missing already.
func removeSource(from tree.Folder, name string, info Info) error {
	remove := func() error { return from.Remove(name, false) }
	if info.IsDir() {
		remove = func() error { return history.RemoveTree(from, name) }
	}
	if err := remove(); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// restoreSource restores the removed files of the folder src from its complete copy dst, removes the copy,
// and returns failed, the error that ended the removal.
func (w *Workspace) restoreSource(ctx context.Context, failed error, src location, from tree.Folder,
	dst location, to tree.Folder) error {
	info, err := to.Lstat(dst.base())
	if err == nil && info.IsDir() {
		o := CopyOptions{Times: true, moving: true, missing: true}
		err = w.fillTree(context.WithoutCancel(ctx), dst, from, src, o)
	}
	if err == nil {
		_, err = from.Lstat(src.base())
	}
	if err != nil { // err is not wrapped, so that nobody retries
		return fmt.Errorf("%w; what of it was removed cannot be put back (%v), and %s holds all of it",
			failed, err, dst.path())
	}
	if !info.IsDir() {
		return failed
	}
	if err := removeSource(to, dst.base(), info); err != nil {
		return fmt.Errorf("%w; the copy in %s cannot be removed either (%v)", failed, dst.path(), err)
	}
	return failed
}

// copyAcross copies a file to another folder, with its owner, permissions, attributes and times.
func (w *Workspace) copyAcross(from tree.Folder, name string, to tree.Folder, newName string,
	o MoveOptions) error {
	src, info, err := tree.RegularFile(from.OpenFile(name, os.O_RDONLY, 0))
	if err != nil {
		return err
	}
	defer src.Close()
	old, err := describeFile(to, newName, o.NoReplace)
	if err != nil {
		return err
	}
	n, err := createFile(to, true, fill{write: func(dst *os.File) error {
		return tree.CopyContent(dst, src, info.Size)
	}})
	if err != nil {
		return err
	}
	defer n.close()
	if !tree.CopyMetadata(n.File, from, name, info) {
		if err := n.File.Chmod(info.Mode.Perm()); err != nil {
			return tree.Cause(err)
		}
	}
	if err := w.flush(n.File); err != nil {
		return tree.Cause(err)
	}
	if err := n.Put(newName, old, nil, w.opts.NoSync); err != nil {
		return err
	}
	to.Chtimes(newName, info)
	return nil
}
