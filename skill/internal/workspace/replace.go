package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"textskill/skill/internal/workspace/tree"
)

// replace gives the file p the content that write produces; its folder d is locked. old
// describes the file that exists, with the mode that the new one is to have; it is nil
// if none may exist. ready is a file that was written before the lock; it is used if nothing
// has changed since, and may be nil.
//
// The content is written to a new file, which then replaces the old one in one step.
// The old file is overwritten in place instead if it has several links, an owner or
// attributes that the new file cannot be given, if its folder cannot be written, or if
// something is mounted on it.
func (w *Workspace) replace(ctx context.Context, c *Change, p location, d tree.Folder, old *Info, write fill, splice *Splice, ready *newFile) error {
	n := ready
	if !n.fitsNow(d, old) {
		var err error
		n, err = w.draft(p, d, old, write, splice)
		if old != nil && n == nil && cannotCreate(err) {
			return w.overwriteFrom(ctx, c, p, d, write)
		}
		if err != nil {
			return err
		}
		defer n.close()
	}
	if n.misfit {
		return w.overwrite(ctx, c, p, d, n)
	}
	n.dir = d
	err := w.commit(ctx, c, n.planned, func(k *keeper) error { return n.install(p.base(), old != nil, k) })
	if old != nil && errors.Is(err, syscall.EBUSY) {
		return w.overwrite(ctx, c, p, d, n)
	}
	return err
}

// draft writes a new file for p, in d, and plans to replace the old one with it. It is nil if
// no file can be made there. splice is what it replaces in the old one, nil if that is all.
func (w *Workspace) draft(p location, d tree.Folder, old *Info, write fill, splice *Splice) (n *newFile, err error) {
	patch := w.patchOf(p, d, splice)
	if n, err = createFile(d, old != nil, write); err != nil {
		return n, err
	}
	n.old = old
	var was oldFile
	if old != nil {
		if was.File, was.info, err = d.OpenContent(p.base()); err == nil {
			defer was.Close()
		}
		if old.Links > 1 || !tree.CopyMetadataFrom(n.file, was.File, *old) {
			n.misfit = true
			return n, nil
		}
	}
	if err = w.flush(n.file); err == nil {
		n.planned, err = w.planReplace(p, d, n, was, patch)
	}
	if err != nil {
		n.close()
	}
	return n, tree.Cause(err)
}

// An oldFile is a file that is about to be replaced, as it was opened; the zero oldFile is
// none, or not open.
type oldFile struct {
	tree.File
	info Info
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
	return stampFrom(*n.old) == stampFrom(*old) && n.old.ID == old.ID
}

// A newFile is a file that is written before it gets its name.
type newFile struct {
	file  *os.File
	dir   tree.Folder
	named bool   // it has the temporary name
	data  []byte // its content, where that is in memory; else nil

	old     *Info // what it is to replace, nil for nothing
	misfit  bool  // the old file must be overwritten
	planned plan
}

// createFile creates a file in d and calls write to fill it: an unnamed file where the
// system has those, of which a killed process leaves nothing. With private, only this
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

// close closes the file, and removes it unless it was installed. A nil newFile is none.
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

// install gives a finished file its name. With replace, the file of that name goes to the keeper, or is removed if that is nil or has only a part of it to keep.
func (n *newFile) install(name string, replace bool, k *keeper) error {
	if !replace {
		return n.installNew(name)
	}
	switch {
	case k == nil:
	case k.Steps[k.step].Patch != nil:
		if err := n.keepPart(name, k); err != nil {
			return err
		}
		k = nil
	default:
		if done, err := k.exchange(n, name, *n.old); done || err != nil {
			return err
		}
	}
	if err := n.giveTempName(); err != nil {
		return err
	}
	if k == nil {
		if err := n.exchange(name); err == nil || !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return n.rename(name, true)
}

// keepPart keeps the bytes that a patch replaces, unless the record has them.
func (n *newFile) keepPart(name string, k *keeper) error {
	patch := k.Steps[k.step].Patch
	if k.image() == "" {
		return nil
	}
	f, err := n.dir.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return k.Copy(k.step, f, patch.Offset, patch.Length)
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
func (w *Workspace) overwriteFrom(ctx context.Context, c *Change, p location, d tree.Folder, write fill) error {
	f, err := os.CreateTemp("", "skill-*")
	if err != nil {
		return err
	}
	defer f.Close()
	defer os.Remove(f.Name())
	if err := write.write(f); err != nil {
		return tree.Cause(err)
	}
	return w.overwrite(ctx, c, p, d, &newFile{file: f, misfit: true})
}

// overwrite replaces the content of the file p with that of n, in place.
func (w *Workspace) overwrite(ctx context.Context, c *Change, p location, d tree.Folder, n *newFile) error {
	n.misfit = true
	planned, err := w.planReplace(p, d, n, oldFile{}, nil)
	if err != nil {
		return err
	}
	return w.commit(ctx, c, planned, func(k *keeper) error {
		if k != nil {
			if err := k.copy(d, p.base()); err != nil {
				return err
			}
		}
		return w.overwriteBytes(n.file, d, p.base())
	})
}

// overwriteBytes replaces the content of the file name with that of full. It reserves the
// room first, where the system can, so that a full disk changes nothing.
func (w *Workspace) overwriteBytes(full *os.File, d tree.Folder, name string) error {
	dst, old, err := tree.RegularFile(d.OpenFile(name, os.O_WRONLY, 0))
	if err != nil {
		return err
	}
	defer dst.Close()
	size, err := full.Seek(0, io.SeekEnd)
	if err != nil {
		return tree.Cause(err)
	}
	if err := tree.Reserve(dst, size); err != nil {
		dst.Truncate(old.Size)
		d.Chtimes(name, old)
		return err
	}
	if _, err := full.Seek(0, io.SeekStart); err != nil {
		return tree.Cause(err)
	}
	if _, err := io.Copy(dst, full); err != nil {
		return tree.Cause(err)
	}
	if err := dst.Truncate(size); err != nil {
		return tree.Cause(err)
	}
	return tree.Cause(w.flush(dst))
}
