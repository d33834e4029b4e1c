package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// UndoOptions say what to undo. The zero value undoes the last change that is in effect
// and is not an undo itself.
type UndoOptions struct {
	ID    string // undo this change, which may be an undo
	Since string // undo this change and all after it; not together with ID
	Force bool   // also if something else has changed the file since; that version is saved
}

// Undone is one change that was undone. Its ID is that of the undo.
type Undone struct {
	Change
	Of string // the ID of the change that was undone
}

// An UndoError reports that there is no such change to undo, or that it cannot be
// undone as things are.
type UndoError struct {
	ID     string // of the change; "" if none was named
	Path   string // absolute, of the file that is in the way; "" if none is
	Reason string
	Force  bool // [UndoOptions].Force would undo it
}

func (e *UndoError) Error() string {
	switch {
	case e.ID == "":
		return e.Reason
	case e.Path == "":
		return "change " + e.ID + " " + e.Reason
	}
	return "change " + e.ID + " cannot be undone: " + e.Path + " " + e.Reason
}

// Hint says what to do, "" if nothing helps.
func (e *UndoError) Hint() string {
	if !e.Force {
		return ""
	}
	return "use force to undo it anyway; the current version is saved first"
}

// Undo undoes changes, the last one first. Those that were undone before an error stay
// undone, and are returned with it. Errors are [*UndoError] or the workspace's own.
func (w *Workspace) Undo(ctx context.Context, o UndoOptions) ([]Undone, error) {
	if err := w.checkWritable(); err != nil {
		return nil, wrap("change", w.Dir(), err)
	}
	if len(w.journals) == 0 {
		return nil, &UndoError{Reason: "there is no journal, and so nothing to undo"}
	}
	h, err := w.lockAll(ctx)
	if err != nil {
		return nil, err
	}
	defer h.release()
	todo, err := w.selectChanges(ctx, o)
	if err != nil {
		return nil, err
	}
	var done []Undone
	for _, u := range todo {
		switch back, err := u.run(ctx); {
		case errors.Is(err, errNoEffect) && o.ID != "":
			return done, &UndoError{ID: o.ID, Reason: "is not in effect: there is nothing left of it to undo"}
		case errors.Is(err, errNoEffect):
		case err != nil:
			return done, err
		default:
			done = append(done, back)
			if o.ID == "" && o.Since == "" {
				return done, nil
			}
		}
	}
	if len(done) == 0 && o.Since == "" {
		return nil, &UndoError{Reason: "there is nothing to undo"}
	}
	return done, nil
}

// lockAll locks all roots exclusively.
func (w *Workspace) lockAll(ctx context.Context) (h *heldLocks, err error) {
	var all []location
	for _, r := range w.roots {
		all = append(all, location{r, "."})
	}
	err = retryBusy(func() error {
		h, err = w.lockRoots(ctx, true, all...)
		return err
	})
	return h, err
}

// An undo is a change that is about to be undone.
type undo struct {
	w     *Workspace
	j     *journal
	c     *change
	all   []*change // of the same journal
	force bool
	back  bool // from after to before; false for a change that is an undo
	steps []pathChange
}

// selectChanges returns the changes that o names, in the order in which they are undone.
func (w *Workspace) selectChanges(ctx context.Context, o UndoOptions) ([]*undo, error) {
	if o.ID == "" && o.Since == "" {
		return w.undoableChanges(ctx, o)
	}
	id := o.ID + o.Since
	j, n, ok := w.byID(id)
	if !ok || o.ID != "" && o.Since != "" {
		return nil, &UndoError{ID: id, Reason: "is not one of this workspace; history lists those that are"}
	}
	all, err := j.read(ctx)
	if err != nil {
		return nil, err
	}
	var todo []*undo
	for _, c := range slices.Backward(all) {
		switch {
		case c.ID < n || c.ID > n && o.ID != "":
		case o.ID != "" && (c.undone || !c.applied()):
			return nil, &UndoError{ID: id, Reason: "is not in effect: it was undone, or never made"}
		case o.ID == "" && (!c.undoable() || !w.holdsAll(j, c)):
		default:
			todo = append(todo, w.newUndo(j, c, all, o.Force))
		}
	}
	if !slices.ContainsFunc(all, func(c *change) bool { return c.ID == n }) {
		return nil, &UndoError{ID: id, Reason: "is not in the journal"}
	}
	return todo, nil
}

// undoableChanges returns the changes of all journals that are in effect and are not
// undos, the last one first.
func (w *Workspace) undoableChanges(ctx context.Context, o UndoOptions) ([]*undo, error) {
	var todo []*undo
	for _, j := range w.journals {
		all, err := j.read(ctx)
		if err != nil {
			return nil, err
		}
		for _, c := range all {
			if c.undoable() && w.holdsAll(j, c) {
				todo = append(todo, w.newUndo(j, c, all, o.Force))
			}
		}
	}
	slices.SortStableFunc(todo, func(a, b *undo) int {
		if a.j == b.j {
			return int(b.c.ID - a.c.ID)
		}
		return b.c.Time.Compare(a.c.Time)
	})
	return todo, nil
}

// holdsAll reports whether all of a change is inside w, which it need not be if the
// journal is another Workspace's.
func (w *Workspace) holdsAll(j *journal, c *change) bool {
	return !w.borrowed || !slices.ContainsFunc(c.Steps, func(s pathChange) bool {
		_, ok := w.matchRoot(j.path(s.Path))
		return !ok
	})
}

func (w *Workspace) newUndo(j *journal, c *change, all []*change, force bool) *undo {
	u := &undo{w: w, j: j, c: c, all: all, force: force, back: !c.Back}
	if i := slices.IndexFunc(all, func(p *change) bool { return p.ID == c.Parents }); i >= 0 && c.Undoes == 0 {
		u.steps = append(u.steps, all[i].Steps...)
	}
	u.steps = append(u.steps, c.Steps...)
	return u
}

// errNoEffect means that everything is already as the undo would make it.
var errNoEffect = errors.New("there is nothing to undo")

func (u *undo) id() string { return u.w.changeID(u.j, u.c.ID) }

func (u *undo) conflict(s pathChange, force bool, format string, args ...any) error {
	return &UndoError{u.id(), u.j.path(s.Path), fmt.Sprintf(format, args...), force}
}

// run checks every step before it applies the first.
func (u *undo) run(ctx context.Context) (Undone, error) {
	if u.c.Note != "" {
		return Undone{}, &UndoError{ID: u.id(), Path: u.j.path(u.mainStep().Path), Reason: "was not kept: " + u.c.Note}
	}
	err := u.j.acquire(ctx, false) // for the images
	if err != nil {
		return Undone{}, err
	}
	images := u.j.images
	images.users++
	u.j.release()
	defer u.j.releaseImages(images)
	var todo []*undoStep
	var bytes int64
	for i := range u.steps {
		b := &undoStep{undo: u, step: u.steps[i], images: images.folder}
		err := b.check()
		b.close() // apply opens it again: there may be more folders than a process may have descriptors
		if err != nil {
			return Undone{}, err
		}
		u.steps[i] = b.step
		if !b.unneeded {
			todo = append(todo, b)
			bytes += b.current.Size
		}
	}
	if len(todo) == 0 || u.onlyParentsLeft(todo) {
		return Undone{}, errNoEffect
	}
	if u.w.opts.DryRun {
		return Undone{Of: u.id(), Change: Change{Kind: Undo, Path: u.j.path(u.mainStep().Path)}}, nil
	}
	return u.apply(ctx, todo, bytes)
}

// onlyParentsLeft reports whether only the folders that were made for the change are left
// to undo, because a later change has replaced the rest.
func (u *undo) onlyParentsLeft(todo []*undoStep) bool {
	if u.c.Parents == 0 || slices.ContainsFunc(todo, func(b *undoStep) bool { return b.step.How != asFolder }) {
		return false
	}
	return slices.ContainsFunc(u.c.Steps, func(s pathChange) bool { return u.laterChange(s) != nil })
}

// mainStep is the step by which the change is described.
func (u *undo) mainStep() pathChange {
	if len(u.steps) == 0 {
		return pathChange{}
	}
	return u.steps[len(u.steps)-1]
}

// apply records the undo and applies its steps.
func (u *undo) apply(ctx context.Context, todo []*undoStep, bytes int64) (Undone, error) {
	r := record{Kind: Undo, Undoes: u.c.ID, Back: u.back, Bytes: bytes}
	for _, b := range todo {
		r.Steps = append(r.Steps, b.step)
	}
	r.Dialect, r.Tool = labelOf(ctx)
	images, err := u.j.begin(ctx, &r)
	if err != nil {
		return Undone{}, err
	}
	defer u.j.releaseImages(images)
	if u.back {
		slices.Reverse(todo)
	}
	for _, b := range todo {
		if err := b.apply(ctx); err != nil {
			return Undone{}, wrap("undo", u.j.path(b.step.Path), err)
		}
	}
	if err := u.j.mark(r.ID, markDone); err != nil {
		return Undone{}, err
	}
	done := Undone{Of: u.id(), Change: Change{Kind: Undo, Path: u.j.path(u.mainStep().Path), Applied: true, ID: u.w.changeID(u.j, r.ID)}}
	return done, nil
}
