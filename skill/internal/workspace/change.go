package workspace

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"syscall"

	"textskill/skill/internal/workspace/tree"
)

// A Change describes what an operation does to the workspace. It is complete
// before anything is touched.
type Change struct {
	Kind    Kind
	Path    string // absolute: what is written, made, moved to or removed
	From    string // absolute: the source of a copy or a move
	Diff    string // unified; only of a change that was not applied
	Applied bool   // false in a dry run

	ID      string // for [Workspace.Undo]; "" if the change is not in a journal
	NotKept string // why the change cannot be undone although there is a journal; "" if it can

	parents int64 // ID of the record of the folders that were made for it, 0 if none were
}

// Kind is what a Change does. It is printed after "would": "would write P".
type Kind string

// The kinds of change.
const (
	Write  Kind = "write"
	Append Kind = "append to"
	Edit   Kind = "edit"
	Copy   Kind = "copy"
	Move   Kind = "move"
	Delete Kind = "delete"
	Mkdir  Kind = "create directory"
	Undo   Kind = "undo"
	Run    Kind = "run" // what a command changed, see [Snapshot.Record]
)

// String says what an unapplied change would have done.
func (c Change) String() string {
	if c.From != "" {
		return "would " + string(c.Kind) + " " + c.From + " to " + c.Path
	}
	return "would " + string(c.Kind) + " " + c.Path
}

// commit is the one way to change something: it records planned in the journal, calls
// apply to make the change, and completes c. What the change takes away goes into the
// backup, which is nil if nothing is to be kept. A journal that cannot be written does
// not stop the change, but is reported in c.NotKept.
func (w *Workspace) commit(ctx context.Context, c *Change, planned plan, apply func(*backup) error) error {
	j := w.journal(planned.root)
	if j == nil {
		if err := apply(nil); err != nil {
			return err
		}
		c.Applied = true
		return nil
	}
	r := record{Kind: c.Kind, Steps: planned.steps, Part: planned.part, Parents: c.parents, Bytes: planned.bytes, Note: planned.notUndoable, Command: planned.command}
	r.Dialect, r.Tool = labelOf(ctx)
	images, err := j.begin(ctx, &r)
	if ctx.Err() != nil && err != nil {
		return err
	}
	var b *backup
	if err != nil {
		r.Note = "the journal cannot be written: " + err.Error()
	} else {
		defer j.releaseImages(images)
	}
	if r.Note == "" {
		b = &backup{images.folder, r.Steps}
	}
	if aerr := apply(b); aerr != nil {
		if err == nil {
			j.mark(r.ID, markVoid)
		}
		return aerr
	}
	if err == nil {
		c.ID = w.changeID(j, r.ID)
		if planned.markDone {
			j.mark(r.ID, markDone)
		}
	}
	c.Applied, c.NotKept = true, r.Note
	return nil
}

type labelKey struct{}

type label struct{ dialect, tool string }

// WithLabel returns a context under which changes are recorded with the dialect and
// tool that made them.
func WithLabel(ctx context.Context, dialect, tool string) context.Context {
	return context.WithValue(ctx, labelKey{}, label{dialect, tool})
}

func labelOf(ctx context.Context) (dialect, tool string) {
	l, _ := ctx.Value(labelKey{}).(label)
	return l.dialect, l.tool
}

// checkWritable fails with EROFS if the workspace is opened read-only.
func (w *Workspace) checkWritable() error {
	if w.opts.ReadOnly {
		return syscall.EROFS
	}
	return nil
}

// A scope is what a change locks besides the folder that it is made in.
type scope struct {
	parents   bool      // make the folders above
	exclusive bool      // lock the roots exclusively: nobody else changes anything meanwhile
	source    *location // lock the root of this one as well; nil for none
}

// inFolder calls do with the folder of p locked. Folders above p are made under
// exclusive locks, so that nobody removes them before do is called; if do fails, they
// are removed.
func (w *Workspace) inFolder(ctx context.Context, c *Change, p location, s scope, do func(d tree.Folder) error) error {
	err := retryBusy(func() error { return w.tryInFolder(ctx, c, p, s, do) })
	if s.parents && !s.exclusive && missingFolder(err) {
		s.exclusive = true
		err = retryBusy(func() error { return w.tryInFolder(ctx, c, p, s, do) })
	}
	return err
}

// missingFolder reports whether an operation failed for want of a folder above, or
// because something else has the place of one.
func missingFolder(err error) bool { return errors.Is(err, fs.ErrNotExist) || err == syscall.ENOTDIR }

func (w *Workspace) tryInFolder(ctx context.Context, c *Change, p location, s scope, do func(d tree.Folder) error) error {
	locked := []location{p}
	if s.source != nil {
		locked = append(locked, *s.source)
	}
	h, err := w.lockRoots(ctx, s.exclusive, locked...)
	if err != nil {
		return err
	}
	defer h.release()
	removeParents := func() {}
	if s.parents && s.exclusive {
		if removeParents, err = w.makeParents(ctx, c, p.parent()); err != nil {
			return err
		}
	}
	d, err := h.lockFolder(ctx, p)
	if err == nil {
		removeLeftover(d)
		err = do(d)
	}
	if err != nil {
		removeParents()
	}
	return err
}

// makeParents makes p and the folders above it for c, which is recorded next. The
// function that it returns removes them again.
func (w *Workspace) makeParents(ctx context.Context, c *Change, p location) (removeParents func(), err error) {
	var made []location
	part := Change{Kind: Mkdir, Path: p.path()}
	err = w.commit(ctx, &part, w.planFolders(p, true), func(*backup) error {
		made, err = w.makeFolders(p)
		return err
	})
	j, id, _ := w.byID(part.ID)
	c.parents = id
	return func() {
		removeFolders(made)
		if c.parents = 0; j != nil {
			j.mark(id, markVoid)
		}
	}, err
}

// removeLeftover removes the temporary file or tree that a killed process left in d,
// which is locked.
func removeLeftover(d tree.Folder) {
	if err := d.Remove(tempName, false); err != nil && !errors.Is(err, fs.ErrNotExist) {
		discard(d, tempName)
	}
}

// makeFolders makes p and the folders above it, and returns those that did not exist,
// the outermost first. If it fails, it leaves none of them.
func (w *Workspace) makeFolders(p location) (made []location, err error) {
	info, err := p.root.tree.Stat(p.rel)
	switch {
	case err == nil && info.IsLink():
		return nil, syscall.ELOOP
	case err == nil && info.IsDir():
		return nil, nil
	case err == nil:
		return nil, mkdirError{syscall.EEXIST}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, mkdirFailed(err)
	}
	made, err = w.makeFolders(p.parent())
	if err != nil {
		return nil, err
	}
	d, err := p.root.tree.OpenFolder(p.parent().rel)
	if err == nil {
		err = d.Mkdir(p.base(), 0o777)
		d.Close()
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return made, nil // somebody else made it at the same time
	case err != nil:
		removeFolders(made)
		return nil, mkdirFailed(err)
	}
	return append(made, p), nil
}

// A mkdirError is an error from making a folder above the file that an operation is
// about: it is reported as one of mkdir.
type mkdirError struct{ error }

// mkdirFailed wraps err, but not ELOOP: that lets [Workspace.withLocation] follow a link.
func mkdirFailed(err error) error {
	if err == nil || err == syscall.ELOOP {
		return err
	}
	return mkdirError{err}
}

func removeFolders(made []location) {
	for i := len(made) - 1; i >= 0; i-- {
		if d, err := made[i].root.tree.OpenFolder(path.Dir(made[i].rel)); err == nil {
			d.Remove(made[i].base(), true)
			d.Close()
		}
	}
}

// wrapMkdir is wrap for an operation that makes the folders above abs.
func wrapMkdir(op, abs, dir string, err error) error {
	if me, ok := err.(mkdirError); ok {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: me.error}
	}
	return wrap(op, abs, err)
}

// existing takes the results of a Stat and reports whether something exists. A link is
// ELOOP, for [Workspace.withLocation] to follow.
func existing(info Info, err error) (found bool, _ error) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case info.IsLink():
		return false, syscall.ELOOP
	}
	return true, nil
}
