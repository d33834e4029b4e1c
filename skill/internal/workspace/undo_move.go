package workspace

import (
	"cmp"
	"path"
	"slices"

	"textskill/skill/internal/state"
)

func (u *undo) checkMove(b *undoStep) error {
	was, err := u.look(b.from, b.expect, b.target)
	if err == nil || err == errNoFolder {
		b.there, err = u.look(b.path, b.expect)
		if err == errNoFolder && u.force {
			err = u.makeFolders(path.Dir(string(b.path)))
		}
	}
	if err == errNoFolder {
		return u.conflict(b.path, true, "cannot be moved back: it %v", err)
	}
	if err != nil {
		return err
	}
	moved := func(s state.State) bool {
		return s.Kind == b.expect.Kind && (s.Kind == kindFolder || same(s, b.expect))
	}
	replaced, back := b.target, int64(0)
	if !moved(was) {
		back = u.broughtBack(b.from, was)
	}
	switch {
	case moved(b.there) && (was.Kind == "" || same(was, replaced) || isEmptyFolder(replaced) && was.Kind == kindFolder):
		u.will[b.from] = was
		return nil
	case was.Kind == "":
		return u.conflict(b.from, false, "no longer exists: something else removed it")
	case u.unfinished() && moved(was) && u.sameContent(b.path, b.from): // it was copied, and not removed yet
		u.add(&undoStep{u: u, path: b.from, there: was})
		return nil
	case back > 0:
		return u.conflict(b.from, false, "is what change %s brought back, the undo of an earlier change; undo %[1]s first", u.w.changeID(u.h, back))
	case b.there.Kind != "" && !u.force:
		return u.conflict(b.path, true, "exists again, and would be lost")
	case !moved(was) && !u.force:
		return u.changedSince(b.from, was, b.expect)
	case b.there.Kind != "":
		u.add(&undoStep{u: u, path: b.path, there: b.there})
		b.there = state.State{}
	}
	b.expect = was
	u.add(b)
	return nil
}

// makeFolders adds steps that make a folder and those above it.
func (u *undo) makeFolders(name string) error {
	s, err := u.look(state.Name(name))
	if err == errNoFolder {
		if err = u.makeFolders(path.Dir(name)); err != nil {
			return err
		}
	}
	if err == nil && s.Kind == "" {
		u.add(&undoStep{u: u, path: state.Name(name), target: madeFolder(0o777)})
	}
	return err
}

// broughtBack returns the number of the undo of an earlier change that put at a name what is there; 0 if none did.
func (u *undo) broughtBack(name state.Name, is state.State) int64 {
	i := slices.IndexFunc(u.c.seen, func(c *change) bool { return !c.undone && c.touches(state.Step{Path: name}) && c.applied() })
	if i < 0 {
		return 0
	}
	last := u.c.seen[i]
	put := slices.ContainsFunc(last.Record().Steps, func(s state.Step) bool { return s.Path == name && same(is, s.After) })
	if !put || last.Record().Kind != string(Undo) || u.c.origins()[last.ID] >= u.c.ID {
		return 0
	}
	return last.ID
}

// origins returns, by the number of each later undo, that of the change which it is about: directly, or as the
// undo of an undo.
func (c *change) origins() map[int64]int64 {
	of := map[int64]int64{}
	for _, d := range slices.Backward(c.seen) { // the oldest first
		if d.Undoes > 0 {
			of[d.ID] = cmp.Or(of[d.Undoes], d.Undoes)
		}
	}
	return of
}

// sameContent reports whether there are two copies of the same.
func (u *undo) sameContent(a, b state.Name) bool {
	var states [2]state.State
	for i, name := range []state.Name{a, b} {
		p, d, err := u.open(name)
		if err != nil {
			return false
		}
		states[i], err = stateAt(d, p.base(), allBytes)
		d.Close()
		if err != nil {
			return false
		}
	}
	return same(states[0], states[1])
}
