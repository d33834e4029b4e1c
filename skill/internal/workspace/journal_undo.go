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
	if err := w.changeable(); err != nil {
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
	todo, err := w.wantedBack(ctx, o)
	if err != nil {
		return nil, err
	}
	var done []Undone
	for _, u := range todo {
		switch back, err := u.run(ctx); {
		case errors.Is(err, errNothing) && o.ID != "":
			return done, &NoChangeError{o.ID, "is not in effect: there is nothing to undo of it"}
		case errors.Is(err, errNothing):
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
func (w *Workspace) lockAll(ctx context.Context) (h *held, err error) {
	var all []place
	for _, r := range w.roots {
		all = append(all, place{r, "."})
	}
	err = patiently(func() error {
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
	steps []step
}

// wantedBack returns what the options name, in the order in which it goes.
func (w *Workspace) wantedBack(ctx context.Context, o UndoOptions) ([]*undo, error) {
	if o.ID == "" && o.Since == "" {
		return w.latest(ctx, o)
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
		case o.ID != "" && (c.undone || !c.made()):
			return nil, &NoChangeError{id, "is not in effect: it was undone, or never made"}
		case o.ID == "" && (!c.standing() || !w.reaches(j, c)):
		default:
			todo = append(todo, w.newUndo(j, c, all, o.Force))
		}
	}
	if !slices.ContainsFunc(all, func(c *change) bool { return c.ID == n }) {
		return nil, &NoChangeError{id, "is not in the journal"}
	}
	return todo, nil
}

// latest returns what is in effect and no undo, of all journals, the last one first.
func (w *Workspace) latest(ctx context.Context, o UndoOptions) ([]*undo, error) {
	var todo []*undo
	for _, j := range w.journals {
		all, err := j.read(ctx)
		if err != nil {
			return nil, err
		}
		for _, c := range all {
			if c.standing() && w.reaches(j, c) {
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

// reaches tells whether all of a change is inside, as it need not be where the journal
// is another Workspace's.
func (w *Workspace) reaches(j *journal, c *change) bool {
	return !w.borrowed || !slices.ContainsFunc(c.Steps, func(s step) bool {
		_, ok := w.spelled(j.path(s.Path))
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

// errNothing means that what is there is what would be put back.
var errNothing = errors.New("there is nothing to undo")

func (u *undo) id() string { return u.w.changeID(u.j, u.c.ID) }

func (u *undo) conflict(s step, force bool, format string, args ...any) error {
	return &ConflictError{u.id(), u.j.path(s.Path), fmt.Sprintf(format, args...), force}
}

// run looks at every step before it takes the first.
func (u *undo) run(ctx context.Context) (Undone, error) {
	if u.c.Note != "" {
		return Undone{}, &ConflictError{ID: u.id(), Path: u.j.path(u.mainStep().Path), Reason: "was not kept: " + u.c.Note}
	}
	err := u.j.enter(ctx, false) // for the images
	if err != nil {
		return Undone{}, err
	}
	images := u.j.images
	images.users++
	u.j.leave()
	defer u.j.letGo(images)
	var todo []*stepBack
	var bytes int64
	for i := range u.steps {
		b := &stepBack{undo: u, step: u.steps[i], images: images.folder}
		err := b.look()
		b.close() // take opens it again: there may be more folders than a process has descriptors
		if err != nil {
			return Undone{}, err
		}
		u.steps[i] = b.step
		if !b.nothing {
			todo = append(todo, b)
			bytes += b.there.Size
		}
	}
	if len(todo) == 0 || u.mainGone(todo) {
		return Undone{}, errNothing
	}
	if u.w.opts.DryRun {
		return Undone{Of: u.id(), Change: Change{Kind: Undo, Path: u.j.path(u.mainStep().Path)}}, nil
	}
	return u.take(ctx, todo, bytes)
}

// mainGone tells whether nothing is left of the change but the folders that were made
// for it, because of a later change.
func (u *undo) mainGone(todo []*stepBack) bool {
	if u.c.Parents == 0 || slices.ContainsFunc(todo, func(b *stepBack) bool { return b.step.How != asFolder }) {
		return false
	}
	return slices.ContainsFunc(u.c.Steps, func(s step) bool { return u.later(s) != nil })
}

// mainStep is what the change is told by.
func (u *undo) mainStep() step {
	if len(u.steps) == 0 {
		return step{}
	}
	return u.steps[len(u.steps)-1]
}

// take records the undo and takes its steps.
func (u *undo) take(ctx context.Context, todo []*stepBack, bytes int64) (Undone, error) {
	r := record{Kind: Undo, Undoes: u.c.ID, Back: u.back, Bytes: bytes}
	for _, b := range todo {
		r.Steps = append(r.Steps, b.step)
	}
	r.Dialect, r.Tool = labelOf(ctx)
	images, err := u.j.begin(ctx, &r)
	if err != nil {
		return Undone{}, err
	}
	defer u.j.letGo(images)
	if u.back {
		slices.Reverse(todo)
	}
	for _, b := range todo {
		if err := b.take(ctx); err != nil {
			return Undone{}, wrap("undo", u.j.path(b.step.Path), err)
		}
	}
	if err := u.j.mark(r.ID, markDone); err != nil {
		return Undone{}, err
	}
	done := Undone{Of: u.id(), Change: Change{Kind: Undo, Path: u.j.path(u.mainStep().Path), Applied: true, ID: u.w.changeID(u.j, r.ID)}}
	return done, nil
}
