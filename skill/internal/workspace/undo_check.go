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

// An undoStep is one step of a change that is about to be undone, or made again.
type undoStep struct {
	*undo
	step   pathChange
	images tree.Folder

	location location
	folder   tree.Folder // of location, open during check and apply; nil if there is none
	current  fileState   // at location
	target   fileState   // that it is to have
	unneeded bool        // it has that already
}

func (b *undoStep) close() {
	if b.folder != nil {
		b.folder.Close()
		b.folder = nil
	}
}

// open opens the folder of a file named in the journal. The name is not trusted: it fails
// if it leads out, through a link, or to something that is denied.
func (b *undoStep) open(name string) (p location, d tree.Folder, err error) {
	q := request{b.j.path(name), false, toChange}
	if p, err = b.w.locate(q); err != nil {
		return p, nil, err
	}
	if err = b.w.denied(p, q); err != nil {
		return p, nil, err
	}
	if p.isRoot() || b.w.holdsRoot(p) {
		return p, nil, syscall.EBUSY
	}
	d, err = p.root.tree.OpenFolder(p.parent().rel)
	return p, d, err
}

// check finds out what apply has to do, and fails with an [*UndoError] if that would
// lose something.
func (b *undoStep) check() (err error) {
	want := b.step.After
	if b.target = b.step.Before; !b.back {
		want, b.target = b.target, want
	}
	b.location, b.folder, err = b.open(b.step.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && (b.target.Type == "" || b.step.How == asFolder):
	case errors.Is(err, fs.ErrNotExist):
		if !b.madeByStep(path.Dir(b.step.Path)) {
			return b.conflict(b.step, false, "is in a folder that no longer exists")
		}
	case err == syscall.ELOOP:
		return b.conflict(b.step, false, "is now reached through a symbolic link")
	case err == syscall.ENOTDIR:
		return b.conflict(b.step, false, "is now below something that is not a folder")
	case err != nil:
		return err
	default:
		if b.current, err = stateAt(b.folder, b.location.base()); err != nil {
			return wrap("undo", b.location.path(), err)
		}
	}
	switch b.step.How {
	case byAppend:
		return b.checkAppend()
	case byMove:
		return b.checkMove(want)
	case asFolder:
		return b.checkFolder()
	case asMode:
		return b.checkMode(want)
	}
	return b.checkSwap(want)
}

// madeByStep reports whether an earlier step makes the folder.
func (b *undoStep) madeByStep(folder string) bool {
	return slices.ContainsFunc(b.steps, func(s pathChange) bool {
		goal := s.Before
		if !b.back {
			goal = s.After
		}
		return s.How == asFolder && s.Path == folder && goal.Type == "folder"
	})
}

func (b *undoStep) checkSwap(want fileState) error {
	if b.current.sameContent(b.target) {
		b.unneeded = true
		return nil
	}
	if b.current.Type == "" && b.step.Image != "" { // it was interrupted while two changed places
		if has, err := stateAt(b.images, b.step.Image+spareEnd); err == nil && has.Type != "" && has.sameContent(b.target) {
			b.step.Image += spareEnd
			return nil
		}
	}
	torn := b.step.How == inPlace && b.current.Type == "file" && b.interrupted()
	if !b.current.sameContent(want) && !torn {
		if !b.force {
			return b.changedSince(want)
		}
		if b.back {
			b.step.After = b.current
		} else {
			b.step.Before = b.current
		}
	}
	return b.checkImage(b.target)
}

// changedSince returns the error for a file that is not as the change left it.
func (b *undoStep) changedSince(want fileState) error {
	if c := b.laterChange(b.step); c != nil {
		return b.conflict(b.step, true, "was changed since by change %s", b.w.changeID(b.j, c.ID))
	}
	switch {
	case want.Type == "":
		return b.conflict(b.step, true, "exists again: something else created it")
	case b.current.Type == "":
		return b.conflict(b.step, true, "no longer exists: something else removed it")
	}
	return b.conflict(b.step, true, "was changed since by something else")
}

// laterChange returns the last change in effect that has changed the file of a step since,
// nil if there is none.
func (u *undo) laterChange(at pathChange) *change {
	touches := func(s pathChange) bool {
		return overlap(s.Path, at.Path) || overlap(s.From, at.Path) || overlap(s.Path, at.From) || overlap(s.From, at.From)
	}
	for _, c := range slices.Backward(u.all) {
		if c.ID > u.c.ID && c.applied() && !c.undone && (c.Undoes == 0 || u.origin(c) < u.origin(u.c)) && slices.ContainsFunc(c.Steps, touches) {
			return c
		}
	}
	return nil
}

// interrupted reports whether the change, or an undo of it, was not completed.
func (u *undo) interrupted() bool {
	return !u.c.done || slices.ContainsFunc(u.all, func(c *change) bool {
		return c.Undoes > 0 && !c.done && !c.void && u.origin(c) == u.origin(u.c)
	})
}

// overlap reports whether one of two names is the other, or is in it.
func overlap(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	_, below1 := below(a, b)
	_, below2 := below(b, a)
	return below1 || below2
}

// origin returns the ID of the change that c undoes, or makes again, through any number
// of undos; the ID of c if it is not an undo.
func (u *undo) origin(c *change) int64 {
	id := c.ID
	for _, earlier := range slices.Backward(u.all) {
		if earlier.ID == id && earlier.Undoes > 0 {
			id = earlier.Undoes
		}
	}
	return id
}

// checkImage fails unless the image is what is to be restored.
func (b *undoStep) checkImage(goal fileState) error {
	if goal.Type == "" || goal.Type == "folder" && goal.Digest == emptyTreeDigest {
		return nil
	}
	if b.step.Image == "" {
		return b.conflict(b.step, false, "has no saved version")
	}
	has, err := stateAt(b.images, b.step.Image)
	if err != nil {
		return err
	}
	switch {
	case has.Type == "":
		return b.conflict(b.step, false, "has no saved version any more")
	case !has.sameContent(goal):
		return b.conflict(b.step, false, "has a saved version that something else has changed")
	}
	return nil
}

func (b *undoStep) checkMode(want fileState) error {
	switch {
	case b.current.Type != want.Type:
		return b.changedSince(want)
	case b.current.Mode == b.target.Mode:
		b.unneeded = true
	case b.current.Mode != want.Mode && !b.force:
		return b.conflict(b.step, true, "has other permissions now")
	case b.current.Mode != want.Mode && b.back:
		b.step.After.Mode = b.current.Mode
	case b.current.Mode != want.Mode:
		b.step.Before.Mode = b.current.Mode
	}
	return nil
}

func (b *undoStep) checkFolder() error {
	reason := ""
	switch {
	case b.current.Type == b.target.Type:
		b.unneeded = true
	case b.current.Type != "" && b.current.Type != "folder":
		reason = "is no longer a folder"
	case b.current.Type == "folder" && b.current.Digest != emptyTreeDigest && !b.holdsOnlySteps():
		reason = "is no longer empty"
	}
	if reason == "" {
		return nil
	}
	if b.c.Kind != Mkdir { // the folder was only made for the change, and may stay
		b.unneeded = true
		return nil
	}
	return b.conflict(b.step, false, "%s", reason)
}

// holdsOnlySteps reports whether the folder holds only what other steps remove.
func (b *undoStep) holdsOnlySteps() bool {
	d, err := b.folder.OpenFolder(b.location.base())
	if err != nil {
		return false
	}
	defer d.Close()
	entries, err := d.Entries()
	return err == nil && !slices.ContainsFunc(entries, func(e Entry) bool {
		return e.Name != tempName && !slices.ContainsFunc(b.steps, func(s pathChange) bool { return s.Path == path.Join(b.step.Path, e.Name) })
	})
}

func (b *undoStep) checkMove(want fileState) error {
	from, d, err := b.open(b.step.From)
	if err != nil {
		return b.conflict(pathChange{Path: b.step.From}, false, "cannot be moved back: %v", err)
	}
	defer d.Close()
	was, err := stateAt(d, from.base())
	if err != nil {
		return err
	}
	moved := func(s fileState) bool {
		return s.Type == b.step.After.Type && (s.Type == "folder" || s.sameContent(b.step.After))
	}
	at, elsewhere := b.current, was
	if !b.back {
		at, elsewhere = was, b.current
	}
	switch {
	case b.back && moved(was) && b.current.sameContent(b.step.Before), !b.back && moved(b.current) && was.Type == "":
		b.unneeded = true
		return nil
	case b.back && moved(was) && b.current.Type == "" && b.laterChange(b.step) == nil: // it was interrupted here
	case b.back && elsewhere.Type != "":
		return b.conflict(pathChange{Path: b.step.From}, false, "exists again, and would be lost")
	case !b.back && !elsewhere.sameContent(b.step.Before):
		return b.changedSince(want)
	case at.Type == "" || !moved(at) && !b.force:
		return b.changedSince(want)
	}
	if b.back {
		return b.checkImage(b.step.Before)
	}
	return nil
}

func (b *undoStep) checkAppend() error {
	before, after := b.step.Before.Size, b.step.After.Size
	if b.current.Type != "file" {
		return b.changedSince(b.step.After)
	}
	if !b.back {
		if b.current.Size == after {
			b.unneeded = true
			return nil
		}
		if b.current.Size != before {
			return b.conflict(b.step, false, "has another size now")
		}
		has, err := stateAt(b.images, b.step.Image)
		if err == nil && has.Digest != b.step.After.Digest {
			err = b.conflict(b.step, false, "has no saved version any more")
		}
		return err
	}
	switch size := b.current.Size; {
	case size == before:
		b.unneeded = true
		return nil
	case size > before && size < after && b.interrupted():
		return nil
	case size != after:
		return b.conflict(b.step, false, "was changed since at its end, where the change had appended")
	}
	f, err := b.folder.OpenFile(b.location.base(), os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	tail := make([]byte, after-before)
	if _, err := f.ReadAt(tail, before); err != nil && err != io.EOF {
		return tree.Cause(err)
	}
	if digest(tail) != b.step.After.Digest {
		return b.conflict(b.step, false, "was changed since at its end, where the change had appended")
	}
	return nil
}
