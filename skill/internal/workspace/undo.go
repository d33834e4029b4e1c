package workspace

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

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
	Force bool     // also if something else has changed the file since, which is saved; what cannot be undone is skipped
}

// Undone is one change that was undone. Its ID is that of the undo.
type Undone struct {
	Change
	Of        string       // the ID of the change that was undone
	More      int          // files, besides Path, of a run or a patch
	Apart     int          // files that had more names (hard links) when they were changed: what is there now under the others is not undone
	Left      int          // files that a run changed besides, which stay as they are
	Skipped   []*UndoError // with Force, why files of the change were not undone
	Passed    []error      // why later changes were skipped: they cannot be undone, or are not in effect
	Unchecked bool         // in a dry run: a later change that is undone first is about the same files
}

// An UndoError reports that there is no such change to undo, or that it cannot be
// undone as things are.
type UndoError struct {
	ID     string // of the change; "" if none was named
	Path   string // absolute, of the file that is in the way; "" if none is
	Reason string
	Force  bool // [UndoOptions].Force would undo it, or pass over it
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
	return "force: true goes on anyway: what it replaces is saved first, and what cannot be undone is skipped"
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
		w.recordKilled(ctx)
		l, err := w.lockAll(ctx)
		if err != nil {
			return nil, err
		}
		defer l.release()
	}
	all := &undone{paths: map[string]bool{}, parted: map[string]bool{}, last: map[*history]int64{}}
	defer func() {
		if serr := w.settleUndone(ctx, all); err == nil {
			err = serr
		}
	}()
	done, err = w.undoAs(ctx, all, o)
	if no, ok := err.(*UndoError); ok && no.Force {
		if err := w.settleUndone(ctx, all); err != nil { // only complete undos are seen
			return done, err
		}
		o.Force = true
		if _, ferr := w.undoAs(ctx, &undone{trial: true, parted: all.parted, last: all.last}, o); ferr != nil {
			err = ferr // force would not help
		}
	}
	if _, refused := err.(*UndoError); refused && len(done) > 0 && !w.opts.DryRun {
		err = &PartlyUndoneError{Done: done, Left: []error{err}}
	}
	return done, err
}

func (w *Workspace) undoAs(ctx context.Context, all *undone, o UndoOptions) (done []Undone, err error) {
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
	const most = 200 // bytes
	if len(id) > most {
		id = strings.ToValidUTF8(id[:most], "") + "…"
	}
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
// cannot be undone are passed over, unless the next one that can is about the same files: that
// needs force.
func (w *Workspace) undoLast(ctx context.Context, all *undone, force bool) ([]Undone, error) {
	type refusal struct {
		*change
		why error
	}
	var refused []refusal
	var passed []error
	for c, err := range w.changes(ctx, true, func(c *change) bool { return (c.undoable() || c.applied() && !c.undone && c.idle()) && w.holdsAll(c) }) {
		if err != nil {
			return nil, err
		}
		if c.idle() { // or one would wonder why not this one was undone
			passed = append(passed, &UndoError{ID: w.changeID(c.h, c.ID), Reason: "left everything as it was"})
			continue
		}
		for _, p := range refused {
			if p.h == c.h && p.overlaps(c) && !force && c.Record().Note+c.Gone == "" {
				return nil, &UndoError{ID: w.changeID(c.h, c.ID), Path: c.h.path(c.main().Path), Force: true,
					Reason: "was changed since, and " + p.why.Error()}
			}
		}
		u := w.newUndo(c, all, force)
		u.first = len(refused) == 0
		done, err := u.run(ctx)
		no, ok := errors.AsType[*UndoError](err)
		switch {
		case errors.Is(err, errNoEffect):
			passed = append(passed, w.notInEffect(ctx, c))
		case ok && !no.Force:
			passed = append(passed, err)
			if !c.unkept() || c.Record().Left > 0 { // else git ignores what it changed, or nothing is known of it
				refused = append(refused, refusal{c, err})
			}
		case err != nil:
			return nil, err
		default:
			done.Passed = passed
			return []Undone{done}, nil
		}
	}
	if err := firstRefusal(passed); err != nil {
		return nil, err
	}
	return nil, &UndoError{Reason: "there is nothing to undo"}
}

// firstRefusal returns the first error for a change that is in effect; nil if there is none.
func firstRefusal(passed []error) error {
	for _, err := range passed {
		if no, ok := errors.AsType[*UndoError](err); ok && no.Path != "" {
			return err
		}
	}
	return nil
}

// notInEffect returns the error for a change that needs no undo. Where it is certain that it
// was never made, that is recorded.
func (w *Workspace) notInEffect(ctx context.Context, c *change) error {
	id := w.changeID(c.h, c.ID)
	if !w.unmade(c) {
		return &UndoError{ID: id, Reason: "is not in effect: everything is as it was before"}
	}
	if s, err := c.h.open(); err == nil && !w.opts.DryRun {
		s.End(context.WithoutCancel(ctx), c.ID, state.Void)
	}
	return &UndoError{ID: id, Reason: "was never made: its process was ended before"}
}

// unmade reports whether a change was recorded and certainly not made: all that it was to
// change is still the same, by its stamp. What is written in place is recorded as complete: if it
// was not, and of an append the file has no byte, a power cut has left the record alone.
func (w *Workspace) unmade(c *change) bool {
	if c.End != "" || c.Undoes > 0 || len(c.Record().Steps) == 0 {
		return false
	}
	proof := false
	for _, s := range c.Record().Steps {
		name, was := s.Path, s.Before
		if s.From != "" {
			name, was = s.From, s.After
		}
		p, d, err := w.openRecorded(c.h, name)
		if err != nil {
			return false
		}
		now, err := stateAt(d, p.base(), -1)
		d.Close()
		lost := s.Patch != nil && s.Patch.Sum != "" && now.Stamp.Ino == was.Stamp.Ino && now.Size == was.Size
		if err != nil || now.Kind != was.Kind || was.Kind != "" && (was.Stamp.Ino == 0 || now.Stamp != was.Stamp && !lost) {
			return false
		}
		proof = proof || was.Kind != ""
	}
	return proof
}

// changes iterates over those changes of all histories that are wanted, the last one first.
func (w *Workspace) changes(ctx context.Context, jump bool, wanted func(*change) bool) iter.Seq2[*change, error] {
	return func(yield func(*change, error) bool) {
		var next []*change
		var more []func() (*change, error, bool)
		for _, h := range w.histories {
			pull, stop := iter.Pull2(h.changes(ctx, jump))
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
					} else if wanted(c) {
						next[i] = c
					}
				}
				if next[i] != nil && (latest < 0 || next[i].time().After(next[latest].time())) {
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
		case c.Damaged():
			return nil, &UndoError{ID: id, Reason: "has a damaged record"}
		case c.undone && c.open == nil || !c.applied():
			return nil, &UndoError{ID: id, Reason: "is not in effect: it was undone, or never made"}
		case !w.holdsAll(c):
			return nil, unknown(id)
		}
		u := w.newUndo(c, all, force)
		u.first = first
		done, err := u.run(ctx)
		if errors.Is(err, errNoEffect) {
			return nil, w.notInEffect(ctx, c)
		}
		if err != nil {
			return nil, err
		}
		return []Undone{done}, nil
	}
	return nil, notRecorded(id)
}

func notRecorded(id string) error {
	return &UndoError{ID: id, Reason: "is not in the history; history lists those that are"}
}

// undoSince undoes the change that is named and all after it, in all histories. If it is an
// undo, that makes what was undone since again. With force it passes over those that cannot be
// undone.
func (w *Workspace) undoSince(ctx context.Context, all *undone, id string, force bool) (done []Undone, err error) {
	todo, isUndo, err := w.since(ctx, id)
	if err != nil {
		return nil, err
	}
	var passed []error
	var made []*change
	for _, c := range todo {
		var back Undone
		if c.Damaged() {
			err = &UndoError{ID: w.changeID(c.h, c.ID), Reason: "has a damaged record, and so what it did is not known"}
		} else {
			u := w.newUndo(c, all, force)
			u.first = !isUndo
			back, err = u.runAfter(ctx, made)
		}
		no, ok := errors.AsType[*UndoError](err)
		switch {
		case errors.Is(err, errNoEffect):
			passed = append(passed, w.notInEffect(ctx, c))
		case ok && (force || c.unkept()):
			passed = append(passed, err)
		case ok:
			no.Force = true // which passes it over
			return done, no
		case err != nil:
			return done, err
		default:
			done, made = append(done, back), append(made, c)
			c.undone = back.Applied // and so is not what is in the way of an earlier one
		}
	}
	if n := len(done); n > 0 {
		done[n-1].Passed = passed
		return done, nil
	}
	return nil, firstRefusal(passed)
}

// since returns the change that is named and those after it, in all histories, of which an
// undo may have something to do, the last one first, and whether the one that is named is an
// undo.
func (w *Workspace) since(ctx context.Context, id string) (todo []*change, isUndo bool, err error) {
	h, n, ok := w.byID(id)
	if !ok {
		return nil, false, unknown(id)
	}
	undoable := func(c *change) bool {
		return c.Damaged() || (c.undoable() || c.h == h && c.undoableTo(n-1)) && w.holdsAll(c)
	}
	for c, err := range w.changes(ctx, false, func(c *change) bool { return undoable(c) || c.h == h && c.ID <= n }) {
		switch {
		case err != nil:
			return nil, false, err
		case c.h == h && c.ID < n:
			return nil, false, notRecorded(id)
		}
		if undoable(c) {
			todo = append(todo, c)
		}
		if c.h != h || c.ID > n {
			continue
		}
		if isUndo = c.Undoes > 0; !isUndo {
			todo = slices.DeleteFunc(todo, func(c *change) bool { return c.Undoes > 0 })
		}
		return todo, isUndo, nil
	}
	return nil, false, notRecorded(id)
}

// holdsAll reports whether all of a change is inside w, which it need not be if the
// history is another Workspace's.
func (w *Workspace) holdsAll(c *change) bool {
	return !w.borrowed || !slices.ContainsFunc(c.Record().Steps, func(s state.Step) bool {
		_, ok := w.matchRoot(c.h.path(s.Path))
		return !ok
	})
}
