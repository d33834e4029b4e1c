package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// UndoOptions say what is taken back. The zero value takes back the last change that
// is in effect and is no undo itself.
type UndoOptions struct {
	ID    string // this change; an undo is taken back, too
	Since string // this change and all that came after it
	Force bool   // also where something else has changed the file since; what is there is kept
}

// Undone is one change that was taken back. Its ID is that of the undo.
type Undone struct {
	Change
	Of string // the change that is taken back
}

// A NoChangeError reports that there is no such change to take back.
type NoChangeError struct {
	ID     string // "" where none was named
	Reason string
}

func (e *NoChangeError) Error() string {
	if e.ID == "" {
		return e.Reason
	}
	return "change " + e.ID + " " + e.Reason
}

// A ConflictError reports that a change cannot be taken back as things are.
type ConflictError struct {
	ID     string
	Path   string // absolute
	Reason string
	Force  bool // it can be, if that is what is wanted
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("change %s cannot be undone: %s %s", e.ID, e.Path, e.Reason)
}

// Hint says what would help.
func (e *ConflictError) Hint() string {
	if !e.Force {
		return ""
	}
	return "with force it is undone all the same, and what is there now is kept as a change of its own"
}

// Undo takes changes back, the last one first. What was taken back before an error
// stays so and is returned with it. Errors are [*NoChangeError], [*ConflictError], or
// the workspace's own.
func (w *Workspace) Undo(ctx context.Context, o UndoOptions) ([]Undone, error) {
	if err := w.checkWritable(); err != nil {
		return nil, wrap("change", w.Dir(), err)
	}
	if len(w.journals) == 0 {
		return nil, &NoChangeError{Reason: "there is no journal, and nothing to undo"}
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
			return done, &NoChangeError{o.ID, "is not in effect: there is nothing to undo of it"}
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
		return nil, &NoChangeError{Reason: "there is nothing to undo"}
	}
	return done, nil
}

// lockAll locks every root against everybody else.
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

// undo is one change that is about to be taken back.
type undo struct {
	w     *Workspace
	j     *journal
	c     *change
	all   []*change // of the same journal
	force bool
	back  bool // from after to before
	steps []pathChange
}

// selectChanges returns what the options name, in the order in which it goes.
func (w *Workspace) selectChanges(ctx context.Context, o UndoOptions) ([]*undo, error) {
	if o.ID == "" && o.Since == "" {
		return w.undoableChanges(ctx, o)
	}
	id := o.ID + o.Since
	j, n, ok := w.byID(id)
	if !ok || o.ID != "" && o.Since != "" {
		return nil, &NoChangeError{id, "is not one of this workspace; its changes are listed as its history"}
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
			return nil, &NoChangeError{id, "is not in effect: it was undone, or never made"}
		case o.ID == "" && (!c.undoable() || !w.holdsAll(j, c)):
		default:
			todo = append(todo, w.newUndo(j, c, all, o.Force))
		}
	}
	if !slices.ContainsFunc(all, func(c *change) bool { return c.ID == n }) {
		return nil, &NoChangeError{id, "is not in the journal"}
	}
	return todo, nil
}

// undoableChanges returns what is in effect and no undo, of all journals, the last one first.
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

// holdsAll tells whether all of a change is inside, as it need not be where the journal
// is another Workspace's.
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

// errNoEffect means that what is there is what would be put back.
var errNoEffect = errors.New("there is nothing to undo")

func (u *undo) id() string { return u.w.changeID(u.j, u.c.ID) }

func (u *undo) conflict(s pathChange, force bool, format string, args ...any) error {
	return &ConflictError{u.id(), u.j.path(s.Path), fmt.Sprintf(format, args...), force}
}

// run looks at every step before it takes the first.
func (u *undo) run(ctx context.Context) (Undone, error) {
	if u.c.Note != "" {
		return Undone{}, &ConflictError{ID: u.id(), Path: u.j.path(u.mainStep().Path), Reason: "was not kept: " + u.c.Note}
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
		b.close() // take opens it again: there may be more folders than a process has descriptors
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

// onlyParentsLeft tells whether nothing is left of the change but the folders that were made
// for it, because of a later change.
func (u *undo) onlyParentsLeft(todo []*undoStep) bool {
	if u.c.Parents == 0 || slices.ContainsFunc(todo, func(b *undoStep) bool { return b.step.How != asFolder }) {
		return false
	}
	return slices.ContainsFunc(u.c.Steps, func(s pathChange) bool { return u.laterChange(s) != nil })
}

// mainStep is what the change is told by.
func (u *undo) mainStep() pathChange {
	if len(u.steps) == 0 {
		return pathChange{}
	}
	return u.steps[len(u.steps)-1]
}

// apply records the undo and takes its steps.
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
