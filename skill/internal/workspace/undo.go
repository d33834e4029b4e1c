package workspace

import (
	"context"
	"errors"
	"iter"
	"slices"

	"textskill/skill/internal/state"
)

// UndoOptions say what to undo. The zero value undoes the last change that is in effect
// and is not an undo itself.
type UndoOptions struct {
	ID    string   // undo this change, which may be an undo
	Since string   // undo this change and all after it; not together with ID
	Run   string   // undo the changes of this run of an expert, and no others; see [WithRun]
	After []string // with Run, only those after this [Workspace.Position]
	Whole bool     // with Run, undo nothing if one of them cannot be undone
	Force bool     // also if something else has changed the file since; that version is saved
}

// Undone is one change that was undone. Its ID is that of the undo.
type Undone struct {
	Change
	Of     string  // the ID of the change that was undone
	Passed []error // later changes that cannot be undone, and that this one does not depend on
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
func (w *Workspace) Undo(ctx context.Context, o UndoOptions) (done []Undone, err error) {
	if err := w.checkWritable(); err != nil {
		return nil, wrap("change", w.Dir(), err)
	}
	if w.histories[0].off {
		return nil, &UndoError{Reason: "there is no journal, and so nothing to undo"}
	}
	if !w.opts.DryRun {
		l, err := w.lockAll(ctx)
		if err != nil {
			return nil, err
		}
		defer l.release()
	}
	all := &undone{paths: map[string]bool{}, last: map[*history]int64{}}
	defer func() {
		if serr := w.settleUndone(all); err == nil {
			err = serr
		}
	}()
	switch {
	case o.Run != "":
		return w.undoRun(ctx, all, o)
	case o.ID == "" && o.Since == "":
		return w.undoLast(ctx, all, o.Force)
	case o.ID != "" && o.Since != "":
		return nil, unknown(o.ID)
	case o.ID != "":
		return w.undoOne(ctx, all, o.ID, o.Force)
	}
	return w.undoSince(ctx, all, o.Since, o.Force)
}

func unknown(id string) error {
	return &UndoError{ID: id, Reason: "is not one of this workspace; history lists those that are"}
}

// lockAll locks all roots exclusively.
func (w *Workspace) lockAll(ctx context.Context) (*heldLocks, error) {
	var all []location
	for _, r := range w.roots {
		all = append(all, location{r, "."})
	}
	return w.lockRoots(ctx, true, all...)
}

// undoLast undoes the last change that is in effect and is not an undo itself. Those that
// cannot be undone are passed over, unless the next one that can is about the same files.
func (w *Workspace) undoLast(ctx context.Context, all *undone, force bool) ([]Undone, error) {
	var passed []*change
	var errs []error
	for c, err := range w.undoable(ctx) {
		if err != nil {
			return nil, err
		}
		for i, p := range passed {
			if p.h == c.h && p.overlaps(c) {
				return nil, errs[i]
			}
		}
		u := w.newUndo(c, all, force)
		u.first = len(passed) == 0
		done, err := u.run(ctx)
		refused, ok := errors.AsType[*UndoError](err)
		switch {
		case errors.Is(err, errNoEffect):
		case ok && !refused.Force:
			passed, errs = append(passed, c), append(errs, err)
		case err != nil:
			return nil, err
		default:
			done.Passed = errs
			return []Undone{done}, nil
		}
	}
	if len(errs) > 0 {
		return nil, errs[0]
	}
	return nil, &UndoError{Reason: "there is nothing to undo"}
}

// undoable iterates over the changes of all histories that are in effect and are not undos,
// the last one first.
func (w *Workspace) undoable(ctx context.Context) iter.Seq2[*change, error] {
	return func(yield func(*change, error) bool) {
		var next []*change
		var more []func() (*change, error, bool)
		for _, h := range w.histories {
			pull, stop := iter.Pull2(h.changes(ctx, true))
			defer stop()
			more, next = append(more, pull), append(next, nil)
		}
		for {
			latest := -1
			for i, pull := range more {
				for next[i] == nil && pull != nil {
					c, err, ok := pull()
					if err != nil {
						yield(nil, err)
						return
					}
					if !ok {
						more[i], pull = nil, nil
					} else if c.undoable() && w.holdsAll(c) {
						next[i] = c
					}
				}
				if next[i] != nil && (latest < 0 || next[i].Time.After(next[latest].Time)) {
					latest = i
				}
			}
			if latest < 0 || !yield(next[latest], nil) {
				return
			}
			next[latest] = nil
		}
	}
}

// undoOne undoes the change that is named.
func (w *Workspace) undoOne(ctx context.Context, all *undone, id string, force bool) ([]Undone, error) {
	h, n, ok := w.byID(id)
	if !ok {
		return nil, unknown(id)
	}
	first := true
	for c, err := range h.changes(ctx, false) {
		switch {
		case err != nil:
			return nil, err
		case c.ID < n:
			return nil, notRecorded(id)
		case c.ID > n:
			first = first && !c.undoable()
			continue
		case c.Damaged:
			return nil, &UndoError{ID: id, Reason: "has a damaged record"}
		case c.undone || !c.applied():
			return nil, &UndoError{ID: id, Reason: "is not in effect: it was undone, or never made"}
		case !w.holdsAll(c):
			return nil, unknown(id)
		}
		u := w.newUndo(c, all, force)
		u.first = first
		done, err := u.run(ctx)
		if errors.Is(err, errNoEffect) {
			return nil, &UndoError{ID: id, Reason: "is not in effect: there is nothing left of it to undo"}
		}
		if err != nil {
			return nil, err
		}
		return []Undone{done}, nil
	}
	return nil, notRecorded(id)
}

func notRecorded(id string) error { return &UndoError{ID: id, Reason: "is not in the journal"} }

// undoSince undoes the change that is named and all after it. If it is an undo, that makes
// what was undone since again.
func (w *Workspace) undoSince(ctx context.Context, all *undone, id string, force bool) (done []Undone, err error) {
	h, n, ok := w.byID(id)
	if !ok {
		return nil, unknown(id)
	}
	var todo []*change
	found, isUndo := false, false
	for c, err := range h.changes(ctx, false) {
		if err != nil {
			return nil, err
		}
		if c.ID < n {
			break
		}
		if c.Damaged {
			return nil, &UndoError{ID: w.changeID(h, c.ID), Reason: "has a damaged record, and so what it did is not known"}
		}
		if c.ID == n {
			found, isUndo = true, c.Undoes > 0
		}
		if c.undoableTo(n-1) && w.holdsAll(c) {
			todo = append(todo, c)
		}
	}
	if !found {
		return nil, notRecorded(id)
	}
	if !isUndo {
		todo = slices.DeleteFunc(todo, func(c *change) bool { return c.Undoes > 0 })
	}
	for _, c := range todo {
		u := w.newUndo(c, all, force)
		u.first = !isUndo
		back, err := u.run(ctx)
		if errors.Is(err, errNoEffect) {
			continue
		}
		if err != nil {
			return done, err
		}
		done = append(done, back)
	}
	return done, nil
}

// holdsAll reports whether all of a change is inside w, which it need not be if the
// history is another Workspace's.
func (w *Workspace) holdsAll(c *change) bool {
	return !w.borrowed || !slices.ContainsFunc(c.Steps, func(s state.Step) bool {
		_, ok := w.matchRoot(c.h.path(s.Path))
		return !ok
	})
}

// A change is a record, with what later ones say of it.
type change struct {
	state.Entry
	h       *history
	undone  bool
	carrier *change   // what made it again after an undo, and so has what it took away
	seen    []*change // the later ones that were read, the last one first
}

// redo is the kind of the record of an undo that undoes an undo.
const redo Kind = "redo"

// applied reports whether the change was made, as far as is recorded. An undo, and the
// record of a command, count only when complete: the one can be made again, and the other
// lacks images.
func (c *change) applied() bool {
	return c.End != state.Void && !c.Damaged && (c.Undoes == 0 && c.Kind != string(Run) || c.End == state.Done)
}

// undoable reports whether an undo that names no change may undo this one.
func (c *change) undoable() bool {
	return c.applied() && !c.undone && c.Undoes == 0 && !c.idle()
}

// undoableTo reports whether the change is to be undone where all is to be as it was after
// the change with the number n. The undo of an earlier change is, too.
func (c *change) undoableTo(n int64) bool {
	return c.undoable() || 0 < c.Undoes && c.Undoes <= n && c.applied() && !c.undone
}

// idle reports whether the change left all contents as they were.
func (c *change) idle() bool {
	return !slices.ContainsFunc(c.Steps, func(s state.Step) bool {
		appended := s.Patch != nil && s.Patch.Sum != "" && s.Before.Size != s.After.Size
		return s.From != "" || isMode(s) || appended || s.Before.Kind != s.After.Kind || s.Before.Kind == kindLink ||
			s.Before.Sum == "" && !(s.Patch != nil && s.Patch.Sum != "") || s.Before.Sum != s.After.Sum
	})
}

// main is the step by which the change is described.
func (c *change) main() state.Step {
	switch {
	case len(c.Steps) == 0:
		return state.Step{}
	case c.Kind == string(Undo): // the last one is undone first
		return c.Steps[0]
	}
	return c.Steps[len(c.Steps)-1]
}

// overlaps reports whether two changes are about the same files.
func (c *change) overlaps(d *change) bool {
	return slices.ContainsFunc(c.Steps, func(s state.Step) bool { return d.touches(s) })
}

func (c *change) touches(at state.Step) bool {
	return slices.ContainsFunc(c.Steps, func(s state.Step) bool {
		return overlap(s.Path, at.Path) || overlap(s.From, at.Path) || overlap(s.Path, at.From) || overlap(s.From, at.From)
	})
}

// overlap reports whether one of two names is the other, or is in it.
func overlap(a, b state.Name) bool {
	if a == "" || b == "" {
		return false
	}
	_, below1 := below(string(a), string(b))
	_, below2 := below(string(b), string(a))
	return below1 || below2
}

// changes iterates over the changes of a history, the last one first. With jump, those are
// left out of which it is known that a bare undo has no business with them.
func (h *history) changes(ctx context.Context, jump bool) iter.Seq2[*change, error] {
	return func(yield func(*change, error) bool) {
		s, err := h.open()
		if noHistory(err) || h.off {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		r := reader{h: h, undoer: map[int64]*change{}, carrier: map[int64]*change{}}
		for below, more := int64(0), true; more; {
			more = false
			for e, err := range s.Newest(ctx, below) {
				if err != nil {
					yield(nil, err)
					return
				}
				c := r.add(e)
				if !yield(c, nil) {
					return
				}
				settled := c.Undoes == 0 || c.End == state.Done && !c.undone
				if jump && settled && c.Next > 0 && c.Next < c.ID-1 {
					below, more = c.Next+1, true
					break
				}
			}
		}
	}
}

// A reader reads a history from its end.
type reader struct {
	h       *history
	seen    []*change
	undoer  map[int64]*change // by the ID of a change, the undo of it that is in effect
	carrier map[int64]*change // see change
}

func (r *reader) add(e state.Entry) *change {
	c := &change{Entry: e, h: r.h, carrier: r.carrier[e.ID], seen: r.seen}
	by := r.undoer[c.ID]
	c.undone = by != nil
	if c.undone && c.Undoes > 0 {
		if by.carrier != nil {
			by = by.carrier
		}
		r.carrier[c.Undoes] = by
	}
	if c.Undoes > 0 && c.applied() && !c.undone && r.undoer[c.Undoes] == nil {
		r.undoer[c.Undoes] = c
	}
	r.seen = append(r.seen, c)
	return c
}
