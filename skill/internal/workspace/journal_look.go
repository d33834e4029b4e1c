package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"

	"textskill/skill/internal/workspace/tree"
)

// A stepBack is a step that is about to be taken back, or once more.
type stepBack struct {
	*undo
	step   step
	images tree.Folder

	place   place
	folder  tree.Folder // of place, open in look and take; nil if it is not there
	there   state       // at place
	goal    state
	nothing bool // nothing is to be done
}

func (b *stepBack) close() {
	if b.folder != nil {
		b.folder.Close()
		b.folder = nil
	}
}

// open finds a name of the journal anew. What leads out, through a link or to what
// is denied is refused.
func (b *stepBack) open(name string) (p place, d tree.Folder, err error) {
	q := wanted{b.j.path(name), false, toChange}
	if p, err = b.w.place(q); err != nil {
		return p, nil, err
	}
	if err = b.w.denied(p, q); err != nil {
		return p, nil, err
	}
	if p.isRoot() || b.w.holds(p) {
		return p, nil, syscall.EBUSY
	}
	d, err = p.root.tree.OpenFolder(p.parent().rel)
	return p, d, err
}

// look finds out what the step has to do, and refuses where it cannot.
func (b *stepBack) look() (err error) {
	want := b.step.After
	if b.goal = b.step.Before; !b.back {
		want, b.goal = b.goal, want
	}
	b.place, b.folder, err = b.open(b.step.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && (b.goal.Is == "" || b.step.How == asFolder):
	case errors.Is(err, fs.ErrNotExist):
		if !b.madeByUs(path.Dir(b.step.Path)) {
			return b.conflict(b.step, false, "has no folder any more")
		}
	case err == syscall.ELOOP:
		return b.conflict(b.step, false, "is reached through a link now")
	case err == syscall.ENOTDIR:
		return b.conflict(b.step, false, "is below something that is no folder now")
	case err != nil:
		return err
	default:
		if b.there, err = stateAt(b.folder, b.place.base()); err != nil {
			return wrap("undo", b.place.path(), err)
		}
	}
	switch b.step.How {
	case byTail:
		return b.lookTail()
	case byMove:
		return b.lookMove(want)
	case asFolder:
		return b.lookFolder()
	case asMode:
		return b.lookMode(want)
	}
	return b.lookSwap(want)
}

// madeByUs tells whether an earlier step makes the folder.
func (b *stepBack) madeByUs(folder string) bool {
	return slices.ContainsFunc(b.steps, func(s step) bool {
		goal := s.Before
		if !b.back {
			goal = s.After
		}
		return s.How == asFolder && s.Path == folder && goal.Is == "folder"
	})
}

func (b *stepBack) lookSwap(want state) error {
	if b.there.is(b.goal) {
		b.nothing = true
		return nil
	}
	if b.there.Is == "" && b.step.Image != "" { // it was interrupted while two changed places
		if has, err := stateAt(b.images, b.step.Image+spareEnd); err == nil && has.Is != "" && has.is(b.goal) {
			b.step.Image += spareEnd
			return nil
		}
	}
	torn := b.step.How == inPlace && b.there.Is == "file" && b.interrupted()
	if !b.there.is(want) && !torn {
		if !b.force {
			return b.changed(want)
		}
		if b.back {
			b.step.After = b.there
		} else {
			b.step.Before = b.there
		}
	}
	return b.hasImage(b.goal)
}

// changed says what is not as the change left it.
func (b *stepBack) changed(want state) error {
	if c := b.later(b.step); c != nil {
		return b.conflict(b.step, true, "was changed since by change %s", b.w.changeID(b.j, c.ID))
	}
	switch {
	case want.Is == "":
		return b.conflict(b.step, true, "is there again, made by something else")
	case b.there.Is == "":
		return b.conflict(b.step, true, "is gone, removed by something else")
	}
	return b.conflict(b.step, true, "was changed since by something else")
}

// later returns the last change in effect that has done something to the file of a
// step since, nil if there is none.
func (u *undo) later(at step) *change {
	touches := func(s step) bool {
		return overlap(s.Path, at.Path) || overlap(s.From, at.Path) || overlap(s.Path, at.From) || overlap(s.From, at.From)
	}
	for _, c := range slices.Backward(u.all) {
		if c.ID > u.c.ID && c.made() && !c.undone && (c.Undoes == 0 || u.origin(c) < u.origin(u.c)) && slices.ContainsFunc(c.Steps, touches) {
			return c
		}
	}
	return nil
}

// interrupted tells whether the change, or an undo of it, was not completed.
func (u *undo) interrupted() bool {
	return !u.c.done || slices.ContainsFunc(u.all, func(c *change) bool {
		return c.Undoes > 0 && !c.done && !c.void && u.origin(c) == u.origin(u.c)
	})
}

// overlap tells whether one of two names is the other or lies in it.
func overlap(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	_, below1 := below(a, b)
	_, below2 := below(b, a)
	return below1 || below2
}

// origin follows undos of undos to the change that they are about.
func (u *undo) origin(c *change) int64 {
	id := c.ID
	for _, earlier := range slices.Backward(u.all) {
		if earlier.ID == id && earlier.Undoes > 0 {
			id = earlier.Undoes
		}
	}
	return id
}

// hasImage makes sure that the image holds what is to be put back.
func (b *stepBack) hasImage(goal state) error {
	if goal.Is == "" || goal.Is == "folder" && goal.Print == emptyTree {
		return nil
	}
	if b.step.Image == "" {
		return b.conflict(b.step, false, "is not kept as it was")
	}
	has, err := stateAt(b.images, b.step.Image)
	if err != nil {
		return err
	}
	switch {
	case has.Is == "":
		return b.conflict(b.step, false, "is not kept any more as it was")
	case !has.is(goal):
		return b.conflict(b.step, false, "is kept, but the copy was changed by something else")
	}
	return nil
}

func (b *stepBack) lookMode(want state) error {
	switch {
	case b.there.Is != want.Is:
		return b.changed(want)
	case b.there.Mode == b.goal.Mode:
		b.nothing = true
	case b.there.Mode != want.Mode && !b.force:
		return b.conflict(b.step, true, "has other permissions now")
	case b.there.Mode != want.Mode && b.back:
		b.step.After.Mode = b.there.Mode
	case b.there.Mode != want.Mode:
		b.step.Before.Mode = b.there.Mode
	}
	return nil
}

func (b *stepBack) lookFolder() error {
	reason := ""
	switch {
	case b.there.Is == b.goal.Is:
		b.nothing = true
	case b.there.Is != "" && b.there.Is != "folder":
		reason = "is no folder any more"
	case b.there.Is == "folder" && b.there.Print != emptyTree && !b.onlyOurs():
		reason = "holds something now"
	}
	if reason == "" {
		return nil
	}
	if b.c.Kind != Mkdir { // it was only made for the change, and may stay
		b.nothing = true
		return nil
	}
	return b.conflict(b.step, false, "%s", reason)
}

// onlyOurs tells whether nothing is in the folder but those that go with it.
func (b *stepBack) onlyOurs() bool {
	d, err := b.folder.OpenFolder(b.place.base())
	if err != nil {
		return false
	}
	defer d.Close()
	entries, err := d.Entries()
	return err == nil && !slices.ContainsFunc(entries, func(e Entry) bool {
		return e.Name != tempName && !slices.ContainsFunc(b.steps, func(s step) bool { return s.Path == path.Join(b.step.Path, e.Name) })
	})
}

func (b *stepBack) lookMove(want state) error {
	from, d, err := b.open(b.step.From)
	if err != nil {
		return b.conflict(step{Path: b.step.From}, false, "cannot be put back: %v", err)
	}
	defer d.Close()
	was, err := stateAt(d, from.base())
	if err != nil {
		return err
	}
	moved := func(s state) bool { return s.Is == b.step.After.Is && (s.Is == "folder" || s.is(b.step.After)) }
	at, elsewhere := b.there, was
	if !b.back {
		at, elsewhere = was, b.there
	}
	switch {
	case b.back && moved(was) && b.there.is(b.step.Before), !b.back && moved(b.there) && was.Is == "":
		b.nothing = true
		return nil
	case b.back && moved(was) && b.there.Is == "" && b.later(b.step) == nil: // it was interrupted here
	case b.back && elsewhere.Is != "":
		return b.conflict(step{Path: b.step.From}, false, "is there again, and would be lost")
	case !b.back && !elsewhere.is(b.step.Before):
		return b.changed(want)
	case at.Is == "" || !moved(at) && !b.force:
		return b.changed(want)
	}
	if b.back {
		return b.hasImage(b.step.Before)
	}
	return nil
}

func (b *stepBack) lookTail() error {
	before, after := b.step.Before.Size, b.step.After.Size
	if b.there.Is != "file" {
		return b.changed(b.step.After)
	}
	if !b.back {
		if b.there.Size == after {
			b.nothing = true
			return nil
		}
		if b.there.Size != before {
			return b.conflict(b.step, false, "has another end now")
		}
		has, err := stateAt(b.images, b.step.Image)
		if err == nil && has.Print != b.step.After.Print {
			err = b.conflict(b.step, false, "is not kept any more as it was")
		}
		return err
	}
	switch size := b.there.Size; {
	case size == before:
		b.nothing = true
		return nil
	case size > before && size < after && b.interrupted():
		return nil
	case size != after:
		return b.conflict(b.step, false, "has another end now, and what was added cannot be told from it")
	}
	f, err := b.folder.OpenFile(b.place.base(), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	tail := make([]byte, after-before)
	if _, err := f.ReadAt(tail, before); err != nil && err != io.EOF {
		return tree.Cause(err)
	}
	if bytesPrint(tail) != b.step.After.Print {
		return b.conflict(b.step, false, "has another end now, and what was added cannot be told from it")
	}
	return nil
}
