package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"textskill/skill/internal/workspace/tree"
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
	err := w.at2(wanted{from, false, toChange}, wanted{to, false, toChange}, func(src, dst place) error {
		if err := w.changeable(); err != nil {
			return err
		}
		if w.holds(src) || w.holds(dst) {
			return syscall.EBUSY
		}
		info, err := movable(src, dst, o)
		if err != nil {
			return err
		}
		if o.DryRun || w.opts.DryRun {
			return previewMove(src, dst, o)
		}
		m := &move{w, src, dst, info, o}
		alone := info.IsDir()
		err = patiently(func() error { return m.run(ctx, &c, alone) })
		if o.Parents && !alone && lacksFolder(err) {
			err = patiently(func() error { return m.run(ctx, &c, true) })
		}
		return err
	})
	return c, wrap2("rename", from, to, err)
}

// movable finds what stands in the way of a move before anything is made for it.
func movable(src, dst place, o MoveOptions) (Info, error) {
	info, err := src.root.tree.Stat(src.rel)
	if err != nil {
		return info, err
	}
	there, err := dst.root.tree.Stat(dst.rel)
	found := err == nil
	switch {
	case errors.Is(err, fs.ErrNotExist) && o.Parents:
		err = nil
	case errors.Is(err, fs.ErrNotExist):
		_, err = dst.root.tree.Stat(dst.parent().rel)
	case err == syscall.ENOTDIR && o.Parents:
		err = madeError(previewDir(dst.parent()))
	}
	_, inside := below(src.path(), dst.path())
	_, above := below(dst.path(), src.path())
	switch {
	case err != nil:
		return info, err
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

// previewMove finds what else would stand in the way.
func previewMove(src, dst place, o MoveOptions) error {
	from, err := src.root.tree.OpenFolder(src.parent().rel)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := from.CheckWritable("."); err != nil {
		return err
	}
	to, err := dst.root.tree.OpenFolder(dst.parent().rel)
	if o.Parents && lacksFolder(err) {
		return madeError(previewDir(dst.parent()))
	}
	if err != nil {
		return err
	}
	defer to.Close()
	if src != dst {
		if err := emptyFolder(to, dst.base()); err != nil {
			return err
		}
	}
	return to.CheckWritable(".")
}

// emptyFolder fails where name is a folder that holds something.
func emptyFolder(in tree.Folder, name string) error {
	d, err := in.OpenFolder(name)
	if err != nil {
		return nil // no folder, or one whose content is not to be seen
	}
	defer d.Close()
	if entries, err := d.Entries(); err == nil && len(entries) > 0 {
		return syscall.ENOTEMPTY
	}
	return nil
}

// move is one move under way.
type move struct {
	w        *Workspace
	src, dst place
	info     Info // of what is moved
	o        MoveOptions
}

// run locks and moves. Folders are made only alone, as in inFolder.
func (m *move) run(ctx context.Context, c *Change, alone bool) error {
	h, err := m.w.lockRoots(ctx, alone, m.src, m.dst)
	if err != nil {
		return err
	}
	defer h.release()
	unmake := func() {}
	if m.o.Parents && alone {
		if unmake, err = m.w.makeParents(ctx, c, m.dst.parent()); err != nil {
			return err
		}
	}
	from, to, err := h.lockFolders(ctx, m.src, m.dst)
	if err == nil {
		sweep(from)
		sweep(to)
		err = m.locked(ctx, c, from, to)
	}
	if err != nil {
		unmake()
	}
	return err
}

// locked moves between two locked folders.
func (m *move) locked(ctx context.Context, c *Change, from, to tree.Folder) error {
	now, err := from.Lstat(m.src.base())
	if err == nil && now.IsDir() != m.info.IsDir() {
		err = syscall.ELOOP // something else came there: look again
	}
	if err != nil {
		return err
	}
	there, err := to.Lstat(m.dst.base())
	twin := err == nil && now.Links > 1 && there.ID == now.ID && !now.IsDir() && !strings.EqualFold(m.src.base(), m.dst.base())
	if twin && !m.o.NoReplace { // rename would leave both names of the one file
		return m.w.remove(ctx, c, m.src, from, false)
	}
	dr, err := m.w.draftMove(m.src, m.dst, from, to)
	if err != nil {
		return err
	}
	return m.w.commit(ctx, c, dr, func(k *kept) error {
		if k != nil && !m.o.NoReplace && dr.steps[0].Before.Is != "" {
			if err := k.take(to, m.dst.base()); err != nil {
				return err
			}
		}
		err := from.Rename(m.src.base(), to, m.dst.base(), !m.o.NoReplace)
		if errors.Is(err, syscall.EXDEV) {
			err = m.across(ctx, from, to)
		}
		if err != nil && k != nil {
			k.drop()
		}
		return err
	})
}

// across copies to the other file system, then removes.
func (m *move) across(ctx context.Context, from, to tree.Folder) error {
	if err := from.CheckWritable("."); err != nil {
		return err
	}
	name, newName := m.src.base(), m.dst.base()
	switch {
	case m.info.IsDir():
		if _, err := m.w.survey(m.src, removing); err != nil {
			return err
		}
		err := m.w.copyTree(ctx, m.src, to, m.dst, CopyOptions{Times: true, Replace: !m.o.NoReplace, moving: true},
			func(appear func() error) error { return appear() })
		if err != nil {
			return err
		}
		return removeTree(from, name)
	case m.info.IsLink():
		if err := relink(from, name, to, newName, m.o); err != nil {
			return err
		}
	default:
		if err := m.w.carry(from, name, to, newName, m.o); err != nil {
			return err
		}
	}
	return from.Remove(name, false)
}

// relink makes the symbolic link name of from anew in to.
func relink(from tree.Folder, name string, to tree.Folder, newName string, o MoveOptions) error {
	target, err := from.Readlink(name)
	if err != nil {
		return err
	}
	if err := to.Symlink(target, tempName); err != nil {
		return err
	}
	err = to.Rename(tempName, to, newName, !o.NoReplace)
	if err != nil {
		to.Remove(tempName, false)
	}
	return err
}

// carry makes the file name of from anew in to, with all that belongs to it.
func (w *Workspace) carry(from tree.Folder, name string, to tree.Folder, newName string, o MoveOptions) error {
	src, info, err := tree.RegularFile(from.OpenFile(name, os.O_RDONLY, 0))
	if err != nil {
		return err
	}
	defer src.Close()
	n, err := create(to, true, func(dst *os.File) error {
		_, err := io.Copy(dst, src)
		return err
	})
	if err != nil {
		return err
	}
	defer n.close()
	if !tree.CopyMetadata(n.file, from, name, info) {
		if err := n.file.Chmod(info.Mode.Perm()); err != nil {
			return tree.Cause(err)
		}
	}
	if err := w.flush(n.file); err != nil {
		return tree.Cause(err)
	}
	if err := n.install(newName, !o.NoReplace, nil); err != nil {
		return err
	}
	to.Chtimes(newName, info)
	return nil
}
