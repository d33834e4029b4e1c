package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// A Change describes what an operation does to the workspace. It is complete
// before anything is touched.
type Change struct {
	Kind    Kind
	Path    string // absolute: what is written, made, moved to or removed
	From    string // absolute: the source of a copy or a move
	Diff    string // unified; only of a change that was not applied
	Applied bool   // false in a dry run
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
)

// String says what an unapplied change would have done.
func (c Change) String() string {
	if c.From != "" {
		return "would " + string(c.Kind) + " " + c.From + " to " + c.Path
	}
	return "would " + string(c.Kind) + " " + c.Path
}

// commit is the one way to change something: c says what, apply does it.
// Whatever has to be recorded of a change is recorded here, before apply.
func (w *Workspace) commit(c *Change, apply func() error) error {
	if err := apply(); err != nil {
		return err
	}
	c.Applied = true
	return nil
}

// changeable fails where the workspace is opened for reading only.
func (w *Workspace) changeable() error {
	if w.opts.ReadOnly {
		return syscall.EROFS
	}
	return nil
}

// scope is what a change locks besides the folder that it is made in.
type scope struct {
	parents bool   // make the folders above
	alone   bool   // nobody else changes anything meanwhile
	source  *place // read from, where it has to stay as it is
}

// inFolder runs do with the folder of p locked. Folders are made alone, so that
// nobody takes them away again; if do fails, they go.
func (w *Workspace) inFolder(ctx context.Context, p place, s scope, do func(d folder) error) error {
	err := patiently(func() error { return w.tryInFolder(ctx, p, s, do) })
	if s.parents && !s.alone && lacksFolder(err) {
		s.alone = true
		err = patiently(func() error { return w.tryInFolder(ctx, p, s, do) })
	}
	return err
}

// lacksFolder tells whether making the folders above may help, or says what is
// in their way.
func lacksFolder(err error) bool { return errors.Is(err, fs.ErrNotExist) || err == syscall.ENOTDIR }

func (w *Workspace) tryInFolder(ctx context.Context, p place, s scope, do func(d folder) error) error {
	places := []place{p}
	if s.source != nil {
		places = append(places, *s.source)
	}
	h, err := w.lockRoots(ctx, s.alone, places...)
	if err != nil {
		return err
	}
	defer h.release()
	var made []place
	if s.parents && s.alone {
		if made, err = w.makeFolders(p.parent()); err != nil {
			return err
		}
	}
	d, err := h.lockFolder(ctx, p)
	if err == nil {
		sweep(d)
		err = do(d)
	}
	if err != nil {
		removeFolders(made)
	}
	return err
}

// sweep removes what a killed process left in a folder that is now locked.
func sweep(d folder) {
	if err := d.remove(tempName, false); err != nil && !errors.Is(err, fs.ErrNotExist) {
		discard(d)
	}
}

// makeFolders makes p and the folders above it, and returns those that it made,
// the outermost first. On an error none are left.
func (w *Workspace) makeFolders(p place) (made []place, err error) {
	info, err := p.root.tree.stat(p.rel)
	switch {
	case err == nil && info.isLink():
		return nil, syscall.ELOOP
	case err == nil && info.IsDir():
		return nil, nil
	case err == nil:
		return nil, mkdirError{syscall.EEXIST}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, madeError(err)
	}
	made, err = w.makeFolders(p.parent())
	if err != nil {
		return nil, err
	}
	d, err := p.root.tree.folder(p.parent().rel)
	if err == nil {
		err = d.mkdir(p.base(), 0o777)
		d.close()
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return made, nil // somebody else did, at the same time
	case err != nil:
		removeFolders(made)
		return nil, madeError(err)
	}
	return append(made, p), nil
}

// mkdirError marks an error that comes from making a folder on the way.
type mkdirError struct{ error }

// madeError marks err, except where it means that a link is to be followed.
func madeError(err error) error {
	if err == nil || err == syscall.ELOOP {
		return err
	}
	return mkdirError{err}
}

func removeFolders(made []place) {
	for i := len(made) - 1; i >= 0; i-- {
		if d, err := made[i].root.tree.folder(path.Dir(made[i].rel)); err == nil {
			d.remove(made[i].base(), true)
			d.close()
		}
	}
}

// wrapMade is wrap for an operation that makes the folders above abs.
func wrapMade(op, abs, dir string, err error) error {
	if me, ok := err.(mkdirError); ok {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: me.error}
	}
	return wrap(op, abs, err)
}

// lookAt describes what a change of p meets: found is false where nothing is
// there. A link is ELOOP, for [Workspace.at] to follow.
func lookAt(info Info, err error) (found bool, _ error) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case info.isLink():
		return false, syscall.ELOOP
	}
	return true, nil
}

// cause takes package os's wrapping off: whoever asked knows the name.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	return err
}
