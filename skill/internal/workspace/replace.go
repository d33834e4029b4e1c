package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"textskill/skill/internal/history"
	"textskill/skill/internal/workspace/tree"
)

// replace gives the file p the content that write produces; its folder d is open. old
// describes the file that exists, with the mode that the new one is to have; it is nil
// if none may exist. ready is a file that was written before the lock; it is used if nothing
// has changed since, and may be nil.
//
// The content is written to a new file, which then replaces the old one in one step.
// The old file is overwritten in place instead if it has several links, an owner or
// attributes that the new file cannot be given, if its folder cannot be written, or if
// something is mounted on it.
func (w *Workspace) replace(ctx context.Context, c *Change, l *heldLocks, p location, d tree.Folder,
	old *Info, write fill, splice *Splice, ready *newFile) error {
	n := ready
	if !n.fitsNow(d, old) {
		var err error
		n, err = w.draft(p, d, old, write, splice)
		if old != nil && n == nil && cannotCreate(err) {
			return w.overwriteFrom(ctx, c, l, p, d, write)
		}
		if err != nil {
			return err
		}
		defer n.close()
	}
	if n.misfit {
		return w.overwrite(ctx, c, l, p, d, n)
	}
	n.dir = d
	planned, err := w.planReplace(l, p, d, n)
	if err != nil {
		return err
	}
	err = w.commit(ctx, c, l, planned,
		func(k *history.Keeper) error { return n.install(p.base(), old != nil, k) })
	if old != nil && errors.Is(err, syscall.EBUSY) {
		return w.overwrite(ctx, c, l, p, d, n)
	}
	return err
}

// draft writes a new file for p, in d, which is to replace old. It is nil if
// no file can be made there. splice is what it replaces in the old one, nil if that is all.
func (w *Workspace) draft(p location, d tree.Folder, old *Info, write fill, splice *Splice) (n *newFile,
	err error) {
	if n, err = createFile(d, old != nil, write); err != nil {
		return n, err
	}
	n.old = old
	var was tree.File
	var info Info
	if old != nil {
		if was, info, err = d.OpenContent(p.base()); err == nil {
			defer was.Close()
		}
		n.misfit = old.Links > 1 || !tree.CopyMetadataFrom(n.file, was, *old)
	}
	err = nil
	if !n.misfit {
		err = w.flush(n.file)
	}
	if err == nil && w.recorder(p.root) != nil {
		n.describeOld(was, info, splice)
		err = w.describeNew(n, splice)
	}
	if err != nil {
		n.close()
	}
	return n, tree.Cause(err)
}

// prepare is draft before the folder of p is locked. It returns nil where that cannot be
// done, or fails: then it is done with the lock.
func (w *Workspace) prepare(p location, draft func(d tree.Folder, old *Info) (*newFile, error)) *newFile {
	d, err := p.root.tree.OpenFolder(p.parent().rel)
	if err != nil {
		return nil
	}
	defer d.Close()
	old, err := lookAt(d, p.base(), false)
	if err != nil || !p.root.makesUnnamed(d) {
		return nil
	}
	n, err := draft(d, old)
	if err != nil {
		return nil
	}
	return n
}

// makesUnnamed reports whether files without a name can be made in d, as far as is known
// from others in the root.
func (r *root) makesUnnamed(d tree.Folder) bool {
	r.once.Do(func() {
		if f, err := d.CreateUnnamed(0o600); err == nil {
			r.unnamed = true
			f.Close()
		}
	})
	return r.unnamed && d.ID().Dev == r.id.Dev
}

// fitsNow reports whether a file that was prepared for d may replace the file that old
// describes.
func (n *newFile) fitsNow(d tree.Folder, old *Info) bool {
	switch {
	case n == nil || n.named || n.dir.ID() != d.ID() || (n.old == nil) != (old == nil):
		return false
	case old == nil:
		return true
	}
	return sameStamp(*n.old, *old)
}

// sameStamp reports whether a file has not changed between two descriptions of it.
func sameStamp(a, b Info) bool {
	return a.ID == b.ID && a.Size == b.Size && a.ModTime.Equal(b.ModTime) && a.Changed.Equal(b.Changed)
}

// A newFile is a file that is written before it gets its name.
type newFile struct {
	file  *os.File
	dir   tree.Folder
	named bool   // it has the temporary name
	data  []byte // its content, where that is in memory; else nil

	old    *Info           // what it is to replace, nil for nothing
	misfit bool            // the old file must be overwritten
	before history.Entry   // what that is; the zero Entry if it is not known yet
	after  history.Entry   // what it is
	splice *history.Splice // how the old content becomes this one; nil if that is not recorded
}

// createFile creates a file in d and calls write to fill it. Where the system has unnamed files it makes
// one, so that a killed process leaves nothing. With private, only this
// user may read one that has a name until its mode is set. The newFile is nil if no file
// could be created.
func createFile(d tree.Folder, private bool, write fill) (*newFile, error) {
	perm := fs.FileMode(0o666)
	if private {
		perm = 0o600
	}
	n := &newFile{dir: d, data: write.data}
	var err error
	if n.file, err = d.CreateUnnamed(0o666); err != nil { // others cannot open it
		n.file, err = d.OpenFile(tempName, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
		n.named = true
	}
	if err != nil {
		return nil, err
	}
	if err = write.write(n.file); err != nil {
		n.close()
		return n, tree.Cause(err)
	}
	return n, nil
}

// close closes the file, and removes it unless it was installed. A nil newFile has nothing to close.
func (n *newFile) close() {
	if n == nil {
		return
	}
	n.file.Close()
	if n.named {
		n.dir.Remove(tempName, false)
	}
}

// cannotCreate reports whether err means that no file can be created in a folder.
func cannotCreate(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// install gives a finished file its name. With replace, the file of that name goes to the keeper, or
// is removed if that is nil.
func (n *newFile) install(name string, replace bool, k *history.Keeper) error {
	if !replace {
		return n.installNew(name)
	}
	if k != nil && n.named {
		if err := k.Save(n.dir, name); err != nil {
			return err
		}
	} else if k != nil {
		if done, err := k.Exchange(n.file, n.dir, name, *n.old); done || err != nil {
			return err
		}
	}
	if err := n.giveTempName(); err != nil {
		return err
	}
	if err := n.exchange(name); err == nil || !errors.Is(err, errors.ErrUnsupported) &&
		!errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return n.rename(name, true)
}

// installNew gives a finished file a name that no file has.
func (n *newFile) installNew(name string) error {
	if n.named {
		return n.rename(name, false)
	}
	return n.dir.LinkUnnamed(n.file, name)
}

// giveTempName gives the file the temporary name, unless it has it already.
func (n *newFile) giveTempName() error {
	if n.named {
		return nil
	}
	err := n.dir.LinkUnnamed(n.file, tempName)
	n.named = err == nil
	return err
}

func (n *newFile) rename(name string, replace bool) error {
	err := n.dir.Rename(tempName, n.dir, name, replace)
	n.named = err != nil
	return err
}

// exchange swaps the file with the one called name, which it removes. ext4 writes a file
// to the disk when it replaces another by rename, but not here: to replace a file of
// 64 KiB takes 45 µs instead of 200.
func (n *newFile) exchange(name string) error {
	if err := n.dir.Exchange(tempName, n.dir, name); err != nil {
		return err
	}
	err := n.dir.Remove(tempName, false)
	if err != nil && n.dir.Exchange(tempName, n.dir, name) != nil {
		n.named = false // the old file now has the temporary name: the next change removes it
	}
	n.named = n.named && err != nil
	return err
}

// flush makes the content of f durable, unless the workspace is opened with NoSync.
func (w *Workspace) flush(f *os.File) error {
	if w.opts.NoSync {
		return nil
	}
	return tree.Datasync(f)
}

// overwriteFrom is overwrite with what write produces. That goes into a private file
// outside first, so that a write that fails changes nothing.
func (w *Workspace) overwriteFrom(ctx context.Context, c *Change, l *heldLocks, p location, d tree.Folder,
	write fill) error {
	f, err := os.CreateTemp("", "skill-*")
	if err != nil {
		return err
	}
	defer f.Close()
	defer os.Remove(f.Name())
	if err := write.write(f); err != nil {
		return tree.Cause(err)
	}
	return w.overwrite(ctx, c, l, p, d, &newFile{file: f, misfit: true})
}

// overwrite replaces the content of the file p with that of n, in place.
func (w *Workspace) overwrite(ctx context.Context, c *Change, l *heldLocks, p location, d tree.Folder,
	n *newFile) error {
	n.misfit = true
	if w.recorder(p.root) != nil && n.after.Kind == "" {
		if err := w.describeNew(n, nil); err != nil {
			return err
		}
	}
	planned, err := w.planReplace(l, p, d, n)
	if err != nil {
		return err
	}
	return w.commit(ctx, c, l, planned, func(k *history.Keeper) error {
		if k != nil {
			if err := k.Copy(d, p.base()); err != nil {
				return err
			}
		}
		return history.Overwrite(n.file, d, p.base(), w.opts.NoSync)
	})
}
