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

// replace gives the file the content that write produces. old describes the
// existing file, with the mode that the new file will get; nil means that no file may exist. ready is a
// new file that was written before the lock was taken. replace uses it if the old file has not changed
// since; it may be nil.
//
// replace writes the content to a new file, which then replaces the old file atomically. It overwrites
// the old file in place if that file has several hard links, if the new file cannot get its owner or
// attributes, if the folder is not writable, or if something is mounted on the file.
func (s target) replace(ctx context.Context, old *Info, write fill, splice *Splice, ready *newFile) error {
	n := ready
	if !n.fitsNow(s.d, old) {
		if err := s.l.aloneFor(ctx, s.p.root, s.d); err != nil {
			return err
		}
		var err error
		n, err = s.w.draft(s.p, s.d, old, write, splice)
		if old != nil && n == nil && cannotCreate(err) {
			return s.overwriteFrom(ctx, write, old)
		}
		if err != nil {
			return err
		}
		defer n.close()
	}
	if n.InPlace {
		return s.overwrite(ctx, n)
	}
	n.Dir, n.Alone = s.d, func() error { return s.l.alone(ctx) }
	planned, err := s.w.planReplace(s.l, s.p, s.d, n)
	if err != nil {
		return err
	}
	err = s.w.commit(ctx, s.c, s.l, planned,
		func(k *history.Keeper) error { return n.Put(s.p.base(), old, k, s.w.opts.NoSync) })
	if old != nil && errors.Is(err, syscall.EBUSY) {
		return s.overwrite(ctx, n)
	}
	return err
}

// draft writes a new file for p, in d, that will replace old. splice is the edit that produced the
// content, nil if the content is all new. The newFile is nil if no file can be created in d.
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
		n.InPlace = old.Links > 1 || !tree.CopyMetadataFrom(n.File, was, *old)
	}
	err = nil
	if !n.InPlace {
		err = w.flush(n.File)
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

// prepare calls draft before the folder of p is locked. It returns nil if that is impossible or fails;
// the caller then drafts with the lock.
func (w *Workspace) prepare(p location, draft func(d tree.Folder, old *Info) (*newFile, error)) *newFile {
	d, err := p.root.tree.OpenFolder(p.parent().rel)
	if err != nil {
		return nil
	}
	defer d.Close()
	old, err := describeFile(d, p.base(), false)
	if err != nil || !p.root.makesUnnamed(d) {
		return nil
	}
	n, err := draft(d, old)
	if err != nil {
		return nil
	}
	return n
}

// makesUnnamed reports whether d probably supports unnamed files. The first call for a root tries it.
func (r *root) makesUnnamed(d tree.Folder) bool {
	r.once.Do(func() {
		if f, err := d.CreateUnnamed(0o600); err == nil {
			r.unnamed = true
			f.Close()
		}
	})
	return r.unnamed && d.ID().Dev == r.id.Dev
}

// fitsNow reports whether n was prepared for d and for the file that old describes, which has not
// changed since.
func (n *newFile) fitsNow(d tree.Folder, old *Info) bool {
	switch {
	case n == nil || n.Named() || n.Dir.ID() != d.ID() || (n.old == nil) != (old == nil):
		return false
	case old == nil:
		return true
	}
	return sameStamp(*n.old, *old)
}

// sameStamp reports whether a and b describe the same, unchanged file.
func sameStamp(a, b Info) bool {
	return a.ID == b.ID && a.Size == b.Size && a.ModTime.Equal(b.ModTime) && a.Changed.Equal(b.Changed)
}

// A newFile is a [history.NewFile] with the descriptions that the record needs.
type newFile struct {
	*history.NewFile
	data []byte // the content, if it is in memory; else nil

	old    *Info           // the file to replace; nil for a new name
	before history.Entry   // describes the old file; zero if it is not known yet
	after  history.Entry   // describes the new file
	splice *history.Splice // the edit from the old content to the new; nil if it is not recorded
}

// createFile creates a file in d and calls write to fill it. The newFile is nil if no file could be created.
func createFile(d tree.Folder, private bool, write fill) (*newFile, error) {
	f, err := history.Create(d, private)
	if err != nil {
		return nil, err
	}
	n := &newFile{NewFile: f, data: write.data}
	if err = write.write(f.File); err != nil {
		n.close()
		return n, tree.Cause(err)
	}
	return n, nil
}

// close is [history.NewFile.Close]. It does nothing for a nil newFile.
func (n *newFile) close() {
	if n != nil {
		n.Close()
	}
}

// cannotCreate reports whether err means that no file can be created in a folder.
func cannotCreate(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// flush makes the content of f durable, unless the workspace is opened with NoSync.
func (w *Workspace) flush(f *os.File) error {
	if w.opts.NoSync {
		return nil
	}
	return tree.Datasync(f)
}

// overwriteFrom is overwrite with the content that write produces. It first writes to a private
// temporary file outside, so that a failed write changes nothing.
func (s target) overwriteFrom(ctx context.Context, write fill, old *Info) error {
	f, err := tree.CreateTemp()
	if err != nil {
		return err
	}
	defer f.Close()
	defer os.Remove(f.Name())
	if err := write.write(f); err != nil {
		return tree.Cause(err)
	}
	return s.overwrite(ctx, &newFile{NewFile: &history.NewFile{File: f}, old: old})
}

// overwrite replaces the content of the file with the content of n, in place.
func (s target) overwrite(ctx context.Context, n *newFile) error {
	n.Dir, n.InPlace, n.Alone = s.d, true, func() error { return s.l.alone(ctx) }
	if s.w.recorder(s.p.root) != nil && n.after.Kind == "" {
		if err := s.w.describeNew(n, nil); err != nil {
			return err
		}
	}
	planned, err := s.w.planReplace(s.l, s.p, s.d, n)
	if err != nil {
		return err
	}
	return s.w.commit(ctx, s.c, s.l, planned, func(k *history.Keeper) error {
		return n.Put(s.p.base(), n.old, k, s.w.opts.NoSync)
	})
}
