package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"syscall"

	"textskill/skill/internal/history"
	"textskill/skill/internal/workspace/tree"
)

// A FileChange is what [Workspace.ChangeFiles] does with one file.
type FileChange struct {
	Path   string      // absolute; a link in the last part is followed, unless the file is removed
	Before []byte      // the current content; nil if there is no file
	After  []byte      // the new content; nil to remove the file
	Mode   fs.FileMode // permissions of a new file; 0 for the default
}

// maxBatch is the largest number of files that [Workspace.ChangeFiles] changes at once.
const maxBatch = 200

// ChangeFiles changes several files as one change: all of them or, if it fails, none. It makes the
// missing folders above new files. It calls compute with the workspace locked, and again if another
// program changed one of the files meanwhile. It returns an error of compute unchanged. Other errors
// are as for [Workspace.WriteFile] and [Workspace.Remove].
func (w *Workspace) ChangeFiles(ctx context.Context, compute func() ([]FileChange, error)) (c Change,
	err error) {
	var refused error // from compute
	for n := 0; n == 0 || errors.Is(err, history.ErrChanged) && n < 100; n++ {
		c = Change{Kind: Patch, Path: w.Dir()}
		err = w.changeFiles(ctx, &c, func() (list []FileChange, err error) {
			list, refused = compute()
			return list, refused
		})
	}
	if refused != nil {
		return c, refused
	}
	return c, wrap("open", c.Path, err)
}

func (w *Workspace) changeFiles(ctx context.Context, c *Change, compute func() ([]FileChange, error)) error {
	if err := w.checkWritable(); err != nil {
		return err
	}
	b := &batch{w: w, c: c}
	defer b.close()
	if w.opts.DryRun {
		if err := b.gather(compute); err != nil {
			return err
		}
		for _, f := range b.files {
			c.Diff += Unified(f.abs, f.abs, f.Before, f.After)
		}
		return nil
	}
	l, err := w.lockJournals(ctx, w.journals)
	if err != nil {
		return err
	}
	err = func() error {
		defer l.release()
		if err := b.gather(compute); err != nil {
			return err
		}
		if err := b.open(l); err != nil {
			return err
		}
		return b.apply(ctx, l)
	}()
	if serr := w.settle(c, l); err == nil {
		err = serr
	}
	return err
}

// A batch is a set of files that ChangeFiles changes together.
type batch struct {
	w       *Workspace
	c       *Change
	files   []*batchFile
	folders []location // folders to make, the outermost first
}

// A batchFile is one file of a batch.
type batchFile struct {
	FileChange
	abs   string
	p     location
	old   *Info       // nil if the file does not exist
	d     tree.Folder // the folder that holds the file; nil until it exists
	ready *newFile    // holds the new content; nil until it is written, and for a file to remove
	delta int         // index of the file's delta in the op
	done  bool
}

func (b *batch) close() {
	for _, f := range b.files {
		f.ready.close()
	}
}

// gather calls compute, locates the files, and checks that each can be changed.
func (b *batch) gather(compute func() ([]FileChange, error)) error {
	list, err := compute()
	if err != nil {
		return err
	}
	if len(list) > maxBatch {
		return fmt.Errorf("%d files are more than the %d that are changed at once", len(list), maxBatch)
	}
	at := map[location]bool{}
	for _, ch := range list {
		f := &batchFile{FileChange: ch, abs: ch.Path}
		b.c.Path = ch.Path
		err := b.w.withLocation(request{ch.Path, ch.After != nil, toChange}, func(p location) error {
			f.p = p
			return b.check(f)
		})
		if err != nil {
			op := "open"
			if ch.After == nil {
				op = "unlink"
			}
			return wrapMkdir(op, ch.Path, path.Dir(ch.Path), err)
		}
		switch {
		case at[f.p]:
			return fmt.Errorf("%s is named twice, or once and once more through a link", ch.Path)
		case b.otherName(f) != "":
			return fmt.Errorf("%s and %s are names of one file (hard links); change it under one of them",
				b.otherName(f), ch.Path)
		case len(b.files) > 0 && b.files[0].p.root != f.p.root:
			return fmt.Errorf("%s and %s are in folders that have separate histories; change them by two calls", b.files[0].abs, ch.Path)
		}
		at[f.p] = true
		b.files = append(b.files, f)
	}
	return nil
}

// otherName returns the path of another file of the batch that is a hard link to f, or "".
func (b *batch) otherName(f *batchFile) string {
	for _, g := range b.files {
		if f.After != nil && g.After != nil &&
			f.old != nil && g.old != nil && f.old.Links > 1 &&
			f.old.ID == g.old.ID {
			return g.abs
		}
	}
	return ""
}

// check sets f.old, and returns the error that changing the file would fail with.
func (b *batch) check(f *batchFile) error {
	if f.p.isRoot() {
		return syscall.EISDIR
	}
	f.old = nil
	d, err := f.p.root.tree.OpenFolder(f.p.parent().rel)
	if f.Before == nil && missingFolder(err) {
		return mkdirFailed(previewDir(f.p.parent()))
	}
	if err != nil {
		return err
	}
	defer d.Close()
	if f.After == nil {
		info, err := d.Lstat(f.p.base())
		if err == nil && !info.IsLink() {
			err = tree.CheckRegular(info.Mode)
		}
		f.old = &info
		return cmp.Or(err, d.CheckWritable("."))
	}
	old, err := existingFile(d, f.p.base(), f.Before == nil)
	switch {
	case err != nil:
		return err
	case old == nil && f.Before != nil:
		return syscall.ENOENT
	case old == nil:
		return d.CheckWritable(".")
	}
	f.old = old
	return nil
}

// open opens the existing folders and writes the new files in them, if the file system has unnamed
// files. So a full disk fails before the first change.
func (b *batch) open(l *heldLocks) error {
	for _, f := range b.files {
		if _, err := f.p.root.tree.Stat(f.p.parent().rel); err != nil {
			b.planParents(f.p.parent())
			continue
		}
		d, err := l.openFolders(f.p)
		if err != nil {
			return err
		}
		f.d = d[0]
		l.removeLeftover(f.d)
		if f.After != nil && f.p.root.makesUnnamed(f.d) {
			if err := b.draft(f); err != nil {
				return wrap("open", f.abs, err)
			}
		}
	}
	return nil
}

// planParents adds p and the folders above it to b.folders, as far as they are missing.
func (b *batch) planParents(p location) {
	if _, err := p.root.tree.Stat(p.rel); err == nil || slices.Contains(b.folders, p) {
		return
	}
	b.planParents(p.parent())
	b.folders = append(b.folders, p)
}

// draft writes the new content of f to a new file, f.ready.
func (b *batch) draft(f *batchFile) (err error) {
	f.ready, err = createFile(f.d, f.old != nil || f.Mode != 0, allOf(f.After))
	if err != nil {
		f.ready = nil
		return err
	}
	f.ready.old = f.old
	switch {
	case f.old != nil:
		f.ready.InPlace = f.old.Links > 1 || !tree.CopyMetadata(f.ready.File, f.d, f.p.base(), *f.old)
	case f.Mode != 0:
		err = f.ready.File.Chmod(f.Mode)
	}
	if err == nil {
		err = b.w.flush(f.ready.File)
	}
	return tree.Cause(err)
}

// plan returns the op to record for the batch.
func (b *batch) plan(l *heldLocks) (plan, error) {
	if len(b.files) == 0 {
		return plan{}, nil
	}
	root := b.files[0].p.root
	j := b.w.recorder(root)
	if j == nil {
		return plan{}, nil
	}
	planned := plan{root: root, steps: len(b.folders) + len(b.files)}
	for _, p := range b.folders {
		planned.Deltas = append(planned.Deltas, history.Delta{Path: j.name(p), After: madeFolder})
	}
	for _, f := range b.files {
		d := history.Delta{Path: j.name(f.p)}
		if f.old != nil {
			var note string
			var err error
			d.InPlace = f.After != nil && f.old.Links > 1
			d.Torn = d.InPlace || f.ready != nil && f.ready.InPlace
			if d.Before, note, err = j.describeTaken(l, f.p, f.d, d.Torn, false); err != nil {
				return plan{}, err
			}
			planned.Note += note
		}
		if f.After != nil {
			d.After = history.Entry{Kind: history.File, Mode: uint32(cmp.Or(f.Mode, 0o644))}.Holds(f.After)
			if f.ready != nil {
				info, err := tree.StatRegular(f.ready.File)
				if err != nil {
					return plan{}, err
				}
				d.After = history.EntryOf(info).Holds(f.After)
			}
			if f.old != nil {
				d.After.Mode = d.Before.Mode
			}
		}
		f.delta = len(planned.Deltas)
		planned.Deltas = append(planned.Deltas, d)
	}
	return planned, nil
}

// apply changes the files. After an error it restores the files that it changed.
func (b *batch) apply(ctx context.Context, l *heldLocks) error {
	planned, err := b.plan(l)
	if err != nil {
		return err
	}
	return b.w.commit(ctx, b.c, l, planned, func(k *history.Keeper) error {
		var made []location
		undo := func(err error) error {
			if k == nil { // without a record, commit cannot roll back
				b.restore(made)
			}
			return err
		}
		for _, p := range b.folders {
			folders, err := b.w.makeFolders(b.c, p)
			if made = append(made, folders...); err != nil {
				return undo(wrapMkdir("mkdir", p.path(), p.path(), err))
			}
		}
		for _, f := range b.files {
			if err := b.change(ctx, l, k, f); err != nil {
				f.ready.close() // frees the temporary name
				f.ready = nil
				return undo(err)
			}
			f.done = true
		}
		return nil
	})
}

// restore restores the changed files when nothing is recorded.
func (b *batch) restore(made []location) {
	for _, f := range slices.Backward(b.files) {
		if !f.done {
			continue
		}
		if f.old == nil {
			f.d.Remove(f.p.base(), false)
			continue
		}
		old, err := createFile(f.d, true, allOf(f.Before))
		if err != nil {
			continue
		}
		if now, err := f.d.Lstat(f.p.base()); err == nil && f.After != nil {
			old.InPlace = true
			old.Put(f.p.base(), &now, nil, b.w.opts.NoSync)
		} else if f.After == nil && old.Chmod(f.old.Mode.Perm()) == nil {
			old.Put(f.p.base(), nil, nil, b.w.opts.NoSync)
		}
		old.close()
	}
	removeFolders(made)
}

// change changes one file.
func (b *batch) change(ctx context.Context, l *heldLocks, k *history.Keeper, f *batchFile) (err error) {
	defer func() {
		if !errors.Is(err, history.ErrChanged) {
			err = wrap("open", f.abs, err)
		}
	}()
	if k != nil {
		k.Delta = f.delta
	}
	if f.d == nil {
		if f.d, err = f.p.root.tree.OpenFolder(f.p.parent().rel); err != nil {
			return err
		}
		b.c.folders = append(b.c.folders, f.d)
	}
	if f.After == nil {
		if k == nil {
			return f.d.Remove(f.p.base(), false)
		}
		return k.Take(f.d, f.p.base())
	}
	if f.ready == nil {
		if err := l.aloneFor(ctx, f.p.root, f.d); err != nil {
			return err
		}
		if err := b.draft(f); err != nil {
			return err
		}
	}
	f.ready.Alone = func() error { return l.alone(ctx) }
	err = f.ready.Put(f.p.base(), f.old, k, b.w.opts.NoSync)
	if f.old != nil && errors.Is(err, syscall.EBUSY) { // a mount point
		f.ready.InPlace = true
		err = f.ready.Put(f.p.base(), f.old, k, b.w.opts.NoSync)
	}
	return err
}
