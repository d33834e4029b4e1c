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

	ID      string // what [Workspace.Undo] takes the change back by; "" where it is not in a journal
	NotKept string // why it cannot be undone although there is a journal; "" if it can

	parents int64 // the record of the folders that were made for it
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

// commit is the one way to change something: what d says is recorded, and then apply
// does it. What it takes away goes to kept, which is nil where nothing is to be kept.
func (w *Workspace) commit(ctx context.Context, c *Change, d plan, apply func(kept *backup) error) error {
	j := w.journal(d.root)
	if j == nil {
		if err := apply(nil); err != nil {
			return err
		}
		c.Applied = true
		return nil
	}
	r := record{Kind: c.Kind, Steps: d.steps, Part: d.part, Parents: c.parents, Bytes: d.bytes, Note: d.notUndoable, Command: d.command}
	r.Dialect, r.Tool = labelOf(ctx)
	images, err := j.begin(ctx, &r)
	if ctx.Err() != nil && err != nil {
		return err
	}
	var k *backup
	if err != nil {
		r.Note = "the journal cannot be written: " + err.Error()
	} else {
		defer j.releaseImages(images)
	}
	if r.Note == "" {
		k = &backup{images.folder, r.Steps}
	}
	if aerr := apply(k); aerr != nil {
		if err == nil {
			j.mark(r.ID, markVoid)
		}
		return aerr
	}
	if err == nil {
		c.ID = w.changeID(j, r.ID)
		if d.markDone {
			j.mark(r.ID, markDone)
		}
	}
	c.Applied, c.NotKept = true, r.Note
	return nil
}

type labelKey struct{}

type label struct{ dialect, tool string }

// WithLabel returns a context under which changes are recorded as those of a tool of
// a dialect.
func WithLabel(ctx context.Context, dialect, tool string) context.Context {
	return context.WithValue(ctx, labelKey{}, label{dialect, tool})
}

func labelOf(ctx context.Context) (dialect, tool string) {
	l, _ := ctx.Value(labelKey{}).(label)
	return l.dialect, l.tool
}

// checkWritable fails where the workspace is opened for reading only.
func (w *Workspace) checkWritable() error {
	if w.opts.ReadOnly {
		return syscall.EROFS
	}
	return nil
}

// scope is what a change locks besides the folder that it is made in.
type scope struct {
	parents   bool      // make the folders above
	exclusive bool      // nobody else changes anything meanwhile
	source    *location // read from, where it has to stay as it is
}

// inFolder runs do with the folder of p locked. Folders are made alone, so that
// nobody takes them away again; if do fails, they go.
func (w *Workspace) inFolder(ctx context.Context, c *Change, p location, s scope, do func(d tree.Folder) error) error {
	err := retryBusy(func() error { return w.tryInFolder(ctx, c, p, s, do) })
	if s.parents && !s.exclusive && missingFolder(err) {
		s.exclusive = true
		err = retryBusy(func() error { return w.tryInFolder(ctx, c, p, s, do) })
	}
	return err
}

// missingFolder tells whether making the folders above may help, or says what is
// in their way.
func missingFolder(err error) bool { return errors.Is(err, fs.ErrNotExist) || err == syscall.ENOTDIR }

func (w *Workspace) tryInFolder(ctx context.Context, c *Change, p location, s scope, do func(d tree.Folder) error) error {
	places := []location{p}
	if s.source != nil {
		places = append(places, *s.source)
	}
	h, err := w.lockRoots(ctx, s.exclusive, places...)
	if err != nil {
		return err
	}
	defer h.release()
	unmake := func() {}
	if s.parents && s.exclusive {
		if unmake, err = w.makeParents(ctx, c, p.parent()); err != nil {
			return err
		}
	}
	d, err := h.lockFolder(ctx, p)
	if err == nil {
		removeLeftover(d)
		err = do(d)
	}
	if err != nil {
		unmake()
	}
	return err
}

// makeParents makes p and the folders above it for c, which is recorded next. unmake
// takes them away again.
func (w *Workspace) makeParents(ctx context.Context, c *Change, p location) (unmake func(), err error) {
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

// removeLeftover removes what a killed process left in a folder that is now locked.
func removeLeftover(d tree.Folder) {
	if err := d.Remove(tempName, false); err != nil && !errors.Is(err, fs.ErrNotExist) {
		discard(d, tempName)
	}
}

// makeFolders makes p and the folders above it, and returns those that it made,
// the outermost first. On an error none are left.
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
		return made, nil // somebody else did, at the same time
	case err != nil:
		removeFolders(made)
		return nil, mkdirFailed(err)
	}
	return append(made, p), nil
}

// mkdirError marks an error that comes from making a folder on the way.
type mkdirError struct{ error }

// mkdirFailed marks err, except where it means that a link is to be followed.
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

// existing describes what a change of p meets: found is false where nothing is
// there. A link is ELOOP, for [Workspace.at] to follow.
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
