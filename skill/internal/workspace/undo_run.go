package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"textskill/skill/internal/state"
	"textskill/skill/internal/workspace/tree"
)

// An undo is a change that is about to be undone. Its steps lead from what the change left
// to what was there before; the record that it makes is one like any other, so that it can be
// undone in the same way.
type undo struct {
	w     *Workspace
	h     *history
	c     *change
	by    *change // c, or what made it again after an undo, and so has what it took away
	all   *undone // with all that is undone now
	force bool
	first bool // a bare undo would undo it

	steps  []*undoStep
	left   []*UndoError                       // with force, why the others are not taken
	will   map[state.Name]state.State         // what steps so far will leave
	joined map[FileID]bool                    // what got another name
	beside func() map[state.Name][]undoneStep // see findBeside
}

func (w *Workspace) newUndo(c *change, all *undone, force bool) *undo {
	u := &undo{w: w, h: c.h, c: c, by: c, all: all, force: force, will: map[state.Name]state.State{}, joined: map[FileID]bool{}}
	if c.carrier != nil {
		u.by = c.carrier
	}
	u.beside = sync.OnceValue(u.findBeside)
	return u
}

// errNoEffect means that everything is already as the undo would make it.
var errNoEffect = errors.New("there is nothing to undo")

func (u *undo) id() string { return u.w.changeID(u.h, u.c.ID) }

// conflict returns the error for a name that is not as the change left it. force means that
// an undo with force goes on.
func (u *undo) conflict(name state.Name, force bool, format string, args ...any) error {
	return &UndoError{u.id(), u.h.path(name), fmt.Sprintf(format, args...), force && !u.force}
}

// run checks every step before it applies the first.
func (u *undo) run(ctx context.Context) (Undone, error) {
	if why := cmp.Or(u.c.Record().Note, u.c.Gone); why != "" {
		return Undone{}, u.conflict(u.c.main().Path, false, "was not kept: %s", why)
	}
	err := u.checkAll()
	if refused, ok := errors.AsType[*UndoError](err); ok && !u.force {
		forced := u.w.newUndo(u.c, u.all, true)
		if ferr := forced.checkAll(); ferr == nil && len(forced.steps) > 0 {
			refused.Force = true
		} else if refused.Force { // force would not help
			err = cmp.Or(ferr, err)
		}
	}
	if err != nil {
		return Undone{}, err
	}
	// An undo that was killed is completed, though nothing of it may be left to do.
	if (len(u.steps) == 0 || u.onlyFolders()) && !u.interrupted() {
		return Undone{}, errNoEffect
	}
	done := u.undone()
	if u.w.opts.DryRun || u.all.trial {
		return done, nil
	}
	if len(u.steps) == 0 {
		if killed := u.killedWithImages(); len(killed) > 0 {
			done.ID, done.Applied = u.w.changeID(u.h, killed[0].ID), true
			u.all.complete(killed)
			return done, nil
		}
	}
	planned := plan{root: u.h.root, Record: state.Record{Kind: string(Undo), Undoes: u.by.ID, Next: u.next()}}
	if u.c.Record().Kind == string(Undo) {
		planned.Kind = string(redo)
	}
	for _, s := range u.steps {
		planned.Steps = append(planned.Steps, s.record())
		planned.Bytes += s.there.Size
	}
	if err := u.w.endUndone(ctx, u.all, nil); err != nil { // or a kill leaves two that are about the same files
		return done, err
	}
	err = u.w.commit(ctx, &done.Change, planned, func(k *keeper) error {
		if err := k.Flush(); err != nil { // the images of the change become those of the undo
			return err
		}
		for i, s := range u.steps {
			k.step = i
			err := s.apply(ctx, k)
			if err == nil {
				continue
			}
			err = wrap("undo", u.h.path(s.path), err)
			if _, lerr := k.Images().Lstat(k.image()); i == 0 && (k.image() == "" || lerr != nil) {
				return err // nothing was done
			}
			return halfMade{fmt.Errorf("%w; a part of it is undone, and the next undo completes it", err)}
		}
		return nil
	})
	u.all.add(u, &done.Change, err == nil)
	if err == nil {
		u.all.complete(u.killedWithImages())
	}
	return done, err
}

// runAfter is run after those of later changes. In a dry run these changes are still there, and what is about
// the same files is not checked.
func (u *undo) runAfter(ctx context.Context, later []*change) (Undone, error) {
	if u.w.opts.DryRun && u.c.Record().Note+u.c.Gone == "" && slices.ContainsFunc(later, u.c.overlaps) {
		done := u.undone()
		done.Unchecked = true
		return done, nil
	}
	return u.run(ctx)
}

// killedWithImages returns the undos of the change that were killed and have images of what they took
// away, the last one first. An undo of such a record brings that back, once it counts as complete.
func (u *undo) killedWithImages() (list []*change) {
	for _, c := range u.c.seen {
		if !u.wasKilled(c) || c.undone {
			continue
		}
		images, err := u.h.openImages(c.ID)
		if err != nil {
			continue
		}
		if slices.ContainsFunc(c.Record().Steps, func(s state.Step) bool {
			now, err := stateAt(images.top, s.Image, -1)
			return s.Image != "" && err == nil && now.Kind != ""
		}) {
			list = append(list, c)
		}
		images.close()
	}
	return list
}

// undone describes the undo.
func (u *undo) undone() Undone {
	done := Undone{Of: u.id(), Left: u.c.Record().Left, Skipped: u.left, Change: Change{Kind: Undo, Path: u.h.path(u.c.main().Path)}}
	if k := Kind(u.c.Record().Kind); k == Run || k == Patch {
		files := map[state.Name]bool{} // of one that was replaced there may be two steps
		for _, s := range u.c.Record().Steps {
			files[s.Path] = true
		}
		done.More = len(files) - 1
	}
	for _, s := range u.steps {
		if s.apart {
			done.Apart++
		}
	}
	return done
}

// checkAll checks every step, and adds what is to be done. With force it leaves out what cannot be done, if
// that is not all. A move is left out whole.
func (u *undo) checkAll() error {
	at, n, failed := -1, 0, -1
	for _, s := range backwards(u.c.Record().Steps) {
		if s.index == failed {
			continue
		}
		if s.index != at {
			at, n = s.index, len(u.steps)
		}
		err := u.check(s)
		if _, ok := errors.AsType[*UndoError](err); err != nil && !ok {
			err = u.conflict(s.path, false, "%v", tree.Cause(err))
		}
		if err != nil && !u.force {
			return err
		}
		if err != nil {
			u.leave(s.path, n, err.(*UndoError))
			failed = at
		}
	}
	for _, b := range slices.Clone(u.steps) {
		if b.sharedWith != 0 && !slices.ContainsFunc(u.steps, func(s *undoStep) bool { return s.inPlace && s.there.Stamp.Ino == b.sharedWith }) {
			err := u.conflict(b.path, false, "has a saved version that something else has changed")
			if !u.force {
				return err
			}
			u.leave(b.path, len(u.steps), err.(*UndoError))
		}
	}
	if len(u.left) > 0 && len(u.steps) == 0 && !u.interrupted() {
		return u.left[0]
	}
	return nil
}

// leave takes out the steps from the n-th on, and all others of a name, which cannot be undone.
func (u *undo) leave(name state.Name, n int, why *UndoError) {
	kept := slices.DeleteFunc(u.steps[:n], func(s *undoStep) bool { return s.path == name })
	u.steps = nil
	clear(u.will)
	for _, s := range kept {
		u.add(s)
	}
	u.left = append(u.left, why)
}

// next returns the Next of the record: see [state.Store.Add]. Where not all after it is
// settled, that is the number before the record's own. What an undo of an undo makes again is
// to be found with it, and so settles nothing.
func (u *undo) next() int64 {
	if u.first && u.c.Record().Next > 0 && u.c.Record().Kind != string(Undo) && !u.c.undoneBelow() {
		return u.c.Record().Next
	}
	last := max(u.by.ID+1, u.all.last[u.h])
	if len(u.c.seen) > 0 {
		last = max(last, u.c.seen[0].ID)
	}
	return last
}

// undoneBelow reports whether one of the later records that are in effect is about an earlier
// change: an undo out of order, or what made its change again.
func (c *change) undoneBelow() bool {
	of := c.origins()
	return slices.ContainsFunc(c.seen, func(d *change) bool {
		return d.Undoes > 0 && d.applied() && !d.undone && of[d.ID] < c.ID
	})
}

// unfinished reports whether the change, or an undo of it, may have been interrupted.
func (u *undo) unfinished() bool { return u.c.End == "" || u.interrupted() }

// interrupted reports whether an undo of the change was not completed.
func (u *undo) interrupted() bool {
	return slices.ContainsFunc(u.c.seen, u.wasKilled)
}

// wasKilled reports whether a record is of an undo of the change that was not completed.
func (u *undo) wasKilled(c *change) bool { return c.Undoes == u.by.ID && c.End == "" }

// onlyFolders reports whether only the folders that were made for the change are left
// to undo, because a later change has replaced the rest.
func (u *undo) onlyFolders() bool {
	made := func(s state.Step) bool { return s.Before.Kind == "" && isEmptyFolder(s.After) }
	rest := slices.DeleteFunc(slices.Clone(u.c.Record().Steps), made)
	return len(rest) > 0 && len(rest) < len(u.c.Record().Steps) &&
		!slices.ContainsFunc(u.steps, func(s *undoStep) bool { return s.way != byPut || !isEmptyFolder(s.expect) }) &&
		slices.ContainsFunc(rest, func(s state.Step) bool { return u.laterChange(s) != nil })
}

// laterChange returns the last change in effect that is about the files of a step and was made
// since, nil if there is none.
func (u *undo) laterChange(at state.Step) *change {
	for _, c := range u.c.seen {
		if c.touches(at) && c.undoable() {
			return c
		}
	}
	return nil
}

// undone is what is made durable together after all was undone.
type undone struct {
	Change
	made   []*state.Change        // those of its records whose changes were made
	old    []*change              // undos that were killed, and are complete now
	paths  map[string]bool        // of the folders that were changed
	parted map[string]bool        // paths of files of their own that were made
	last   map[*history]int64     // number of the last record
	read   map[*history][]*change // see history
	trial  bool                   // nothing is undone: it is only asked what would be
}

func (all *undone) add(u *undo, c *Change, made bool) {
	all.Applied = all.Applied || c.Applied
	if n := len(c.open); n > 0 {
		all.last[u.h] = c.open[n-1].ID
	}
	all.open, all.files = append(all.open, c.open...), append(all.files, c.files...)
	if made {
		all.made = append(all.made, c.open...)
	}
	c.open, c.files = nil, nil
	for _, s := range u.steps {
		all.paths[filepath.Dir(u.h.path(s.path))] = true
		if made && parts(s.record()) {
			all.parted[u.h.path(s.path)] = true
		}
		if s.from != "" {
			all.paths[filepath.Dir(u.h.path(s.from))] = true
		}
	}
}

// complete adds undos that were killed to what is made durable.
func (all *undone) complete(list []*change) {
	for _, c := range list {
		all.Applied = true
		all.old = append(all.old, c)
		for _, s := range c.Record().Steps {
			all.paths[filepath.Dir(c.h.path(s.Path))] = true
		}
	}
}

// settleUndone is settle for several undos.
func (w *Workspace) settleUndone(ctx context.Context, all *undone) error {
	err := w.endUndone(ctx, all, all.open)
	return errors.Join(err, w.settle(&all.Change, nil))
}

// endUndone makes records durable and what was undone so far, and records then that it is complete:
// an undo that is only in the log would be in the way of those of earlier changes.
func (w *Workspace) endUndone(ctx context.Context, all *undone, records []*state.Change) error {
	const most = 64 // folders are flushed one by one; above, all that is on their file systems
	many := len(all.paths) > most
	for path := range all.paths {
		if p, ok := w.matchRoot(path); ok && !w.opts.NoSync && !many {
			if d, err := p.root.tree.OpenFolder(p.rel); err == nil {
				all.folders = append(all.folders, d)
			}
		}
	}
	made := Unflushed{records, all.folders, all.files, w.opts.NoSync}
	var err error
	if all.Applied {
		err = made.flush()
	}
	made.open, all.folders, all.files = nil, nil, nil
	made.close()
	if many && !w.opts.NoSync {
		for _, r := range w.roots {
			if d, oerr := r.tree.OpenFolder("."); oerr == nil {
				err = errors.Join(err, tree.Syncfs(d))
				d.Close()
			}
		}
	}
	for _, change := range all.made {
		if err == nil {
			err = change.End(context.WithoutCancel(ctx), state.Done)
		}
	}
	for _, c := range all.old {
		if err == nil {
			s, oerr := c.h.open()
			if err = oerr; err == nil {
				err = s.End(context.WithoutCancel(ctx), c.ID, state.Done)
			}
		}
	}
	all.made, all.old = nil, nil
	clear(all.paths)
	return err
}

// backwards returns the steps that lead back, the last one first. A move is two: what it
// moved goes back, and what it replaced appears again.
func backwards(steps []state.Step) (list []*undoStep) {
	for i, s := range slices.Backward(steps) {
		b := &undoStep{index: i, way: byPut, path: s.Path, expect: s.After, target: s.Before, patch: s.Patch, link: s.Link}
		switch {
		case s.From != "":
			list = append(list, &undoStep{index: i, way: byMove, path: s.From, from: s.Path, expect: s.After, target: s.Before})
			if b.expect = (state.State{}); s.Before.Kind == "" {
				continue
			}
		case s.Patch != nil:
			b.way = byPatch
		case isMode(s):
			b.way = byMode
		}
		list = append(list, b)
	}
	return list
}

// isMode reports whether a step changes nothing but permissions.
func isMode(s state.Step) bool {
	return s.Before.Kind != "" && s.Before.Kind == s.After.Kind && s.Image == "" && s.Patch == nil && s.Before.Sum == "" && s.After.Sum == "" && s.Before.Mode != s.After.Mode
}
