package workspace

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"syscall"

	"textskill/skill/internal/state"
	"textskill/skill/internal/workspace/tree"
)

// An undoStep leads back from what one step of a change left.
type undoStep struct {
	u            *undo
	index        int // of the step in the change
	way          way
	path, from   state.Name   // from is where a move takes what comes to path
	expect       state.State  // what the change left at path; of a move, at from
	target       state.State  // what is to be at path
	patch        *state.Patch // of the change
	link         state.Name   // another name of the target; of the undo of an undo, of what it left
	back         state.Patch  // that leads back
	there        state.State  // at path, now
	source       string       // name of the image that is the target; "" for none
	sourceRecord int64
	inPlace      bool   // the file of several names is written to, as the change did
	apart        bool   // the file had more names when the change was made
	sharedWith   uint64 // inode of the source, if another step is to write the target to it; or 0
}

// A way is how a step is taken back.
type way int

const (
	byPut way = iota
	byMove
	byPatch
	byMode
)

// record returns the step as it is recorded.
func (b *undoStep) record() state.Step {
	s := state.Step{Path: b.path, Before: b.there, After: b.target, Link: b.link}
	s.After.Stamp.CTime = 0 // it changes with the name
	if b.inPlace {
		keepNames(&s)
	} else if s.After.Stamp.Ino == s.Before.Stamp.Ino {
		s.After.Stamp.Ino = 0
	}
	switch b.way {
	case byPut:
		s.Keep = b.there.Kind != "" && !b.removesEmpty()
	case byMove:
		s.From, s.After = b.from, b.expect
	case byPatch:
		s.Patch = &b.back
		s.Keep = int64(len(b.back.Old)) < b.back.Length
	case byMode:
		s.Before, s.After = state.State{Kind: b.there.Kind, Mode: b.there.Mode}, state.State{Kind: b.there.Kind, Mode: b.target.Mode}
	}
	return s
}

// removesEmpty reports whether the step removes a folder that is empty by then.
func (b *undoStep) removesEmpty() bool { return b.target.Kind == "" && isEmptyFolder(b.there) }

// open opens the folder of a file that is named in a record. The name is not trusted: it
// fails if it leads out, through a link, or to something that is denied.
func (u *undo) open(name state.Name) (p location, d tree.Folder, err error) {
	return u.w.openRecorded(u.h, name)
}

func (w *Workspace) openRecorded(h *history, name state.Name) (p location, d tree.Folder, err error) {
	q := request{h.path(name), false, toChange}
	if p, err = w.locate(q); err != nil {
		return p, nil, err
	}
	if err = w.denied(p, q); err != nil {
		return p, nil, err
	}
	if p.isRoot() || w.holdsRoot(p) {
		return p, nil, syscall.EBUSY
	}
	d, err = p.root.tree.OpenFolder(p.parent().rel)
	return p, d, err
}

// look returns what will be at a name once the steps so far are taken. Its sum is taken if
// one of want has one.
func (u *undo) look(name state.Name, want ...state.State) (state.State, error) {
	for at := string(name); at != "." && at != "/" && at != ""; at = path.Dir(at) {
		s, ok := u.will[state.Name(at)]
		if ok && at == string(name) {
			return s, nil
		}
		if ok && isEmptyFolder(s) && at != path.Dir(string(name)) {
			return state.State{}, errNoFolder // it is in one that has to be made in another one
		}
		if ok {
			return state.State{}, nil // it is in a folder that comes or goes
		}
	}
	p, d, err := u.open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return state.State{}, errNoFolder
	case err == syscall.ELOOP:
		return state.State{}, u.conflict(name, false, "is now reached through a symbolic link")
	case err == syscall.ENOTDIR:
		return state.State{}, u.conflict(name, false, "is now below something that is not a folder")
	case err != nil:
		return state.State{}, err
	}
	defer d.Close()
	s, err := stateNow(d, p.base(), want...)
	return s, wrap("undo", p.path(), err)
}

// errNoFolder means that the folder of a name does not exist.
var errNoFolder = errors.New("is in a folder that no longer exists")

// stateNow returns the state of what is at name, with its sum if one of want has one. A
// file whose stamp is that of one of want need not be read for it.
func stateNow(d tree.Folder, name string, want ...state.State) (state.State, error) {
	s, err := stateAt(d, name, -1)
	if err != nil {
		return s, err
	}
	for _, x := range want {
		if x.Kind == s.Kind && x.Sum != "" && s.Kind == kindFile && x.Stamp == s.Stamp {
			s.Sum = x.Sum
			return s, nil
		}
	}
	if slices.ContainsFunc(want, func(x state.State) bool { return x.Kind == s.Kind && x.Sum != "" }) {
		return stateAt(d, name, allBytes)
	}
	return s, nil
}

// check adds the step to those that are to be taken, if there is anything to do, and fails
// with an [*UndoError] if that would lose something.
func (u *undo) check(b *undoStep) (err error) {
	b.u = u
	if b.way == byMove {
		return u.checkMove(b)
	}
	b.there, err = u.look(b.path, b.expect, b.target)
	if err == errNoFolder {
		switch {
		case b.target.Kind == "" || b.way == byMode:
			return nil
		case !u.force:
			return u.conflict(b.path, true, "%v", err)
		}
		err = u.makeFolders(path.Dir(string(b.path)))
	}
	if err != nil {
		return err
	}
	switch b.way {
	case byPatch:
		return u.checkPatch(b)
	case byMode:
		return u.checkMode(b)
	}
	return u.checkPut(b)
}

// add adds a step that is to be taken.
func (u *undo) add(b *undoStep) {
	u.steps = append(u.steps, b)
	switch b.way {
	case byPut:
		u.will[b.path] = b.target
	case byMove:
		u.will[b.path], u.will[b.from] = b.expect, state.State{}
	}
}

func (u *undo) checkPut(b *undoStep) error {
	if b.target.Kind == "" && isEmptyFolder(b.expect) {
		return u.checkFolder(b)
	}
	if u.isAsBefore(b) {
		return nil
	}
	if same(b.there, b.target) || isEmptyFolder(b.target) && b.there.Kind == kindFolder && b.expect.Kind != kindFolder {
		u.dropLink(b)
		if b.there.Kind == kindFile && b.expect.Kind == kindFile && b.there.Mode == b.expect.Mode {
			b.way = byMode
			return u.checkMode(b)
		}
		return nil
	}
	if !same(b.there, b.expect) {
		beside, first := u.undoneBeside(b)
		if first {
			return nil
		}
		if !beside && !u.force && !u.torn(b) && !u.madeAgain(b) {
			return u.changedSince(b.path, b.there, b.expect)
		}
	}
	if err := u.checkNames(b); err != nil {
		return err
	}
	if err := u.findSource(b); err != nil {
		return err
	}
	u.add(b)
	return nil
}

// madeAgain reports whether a file is as it was before a forced undo, which was undone. A folder that an undo brought
// back empty is the same while it is empty: later undos may have removed it and made it again.
func (u *undo) madeAgain(b *undoStep) bool {
	if u.c.Undoes > 0 && b.expect.Kind == kindFolder && b.expect.Sum == "" {
		return b.there.Kind == kindFolder && u.empties(b.path)
	}
	return u.by != u.c && slices.ContainsFunc(u.by.Record().Steps, func(s state.Step) bool { return s.Path == b.path && same(b.there, s.After) })
}

// checkFolder checks a step that removes a folder which was made.
func (u *undo) checkFolder(b *undoStep) error {
	reason := ""
	switch {
	case b.there.Kind == "":
		return nil
	case b.there.Kind != kindFolder:
		reason = "is no longer a folder"
	case !isEmptyFolder(b.there) && !u.empties(b.path):
		reason = "is no longer empty"
	}
	if reason != "" {
		if u.c.Record().Kind == string(Mkdir) || u.c.Record().Kind == string(Undo) {
			return u.conflict(b.path, false, "%s", reason)
		}
		return nil // the folder was only made for the change, and may stay
	}
	b.there.Sum = emptySum
	u.add(b)
	return nil
}

// empties reports whether the steps so far take away all that is in a folder.
func (u *undo) empties(name state.Name) bool {
	p, d, err := u.open(name)
	if err != nil {
		return false
	}
	defer d.Close()
	in, err := d.OpenFolder(p.base())
	if err != nil {
		return false
	}
	defer in.Close()
	entries, err := in.Entries()
	return err == nil && !slices.ContainsFunc(entries, func(e Entry) bool {
		s, ok := u.will[state.Name(path.Join(string(name), e.Name))]
		return e.Name != tempName && (!ok || s.Kind != "")
	})
}

// torn reports whether a file was being overwritten in place when that was interrupted.
func (u *undo) torn(b *undoStep) bool {
	return b.there.Kind == kindFile && u.unfinished() && b.target.Kind == kindFile && b.there.Stamp.Ino == b.target.Stamp.Ino
}

// changedSince returns the error for a file that is not as the change left it.
func (u *undo) changedSince(name state.Name, there, expect state.State) error {
	if c := u.laterChange(state.Step{Path: name}); c != nil {
		return u.conflict(name, true, "was changed since by change %s", u.w.changeID(u.h, c.ID))
	}
	switch {
	case expect.Kind == "":
		return u.conflict(name, true, "exists again: something else created it")
	case there.Kind == "":
		return u.conflict(name, true, "no longer exists: something else removed it")
	}
	return u.conflict(name, true, "was changed since by something else")
}

// findSource finds the image that is the target: of the change, of what made it again, or of
// an undo of it that was interrupted while two files changed places.
func (u *undo) findSource(b *undoStep) error {
	if b.target.Kind == "" || isEmptyFolder(b.target) {
		return nil
	}
	reason, written := "has no saved version", state.State{}
	for _, c := range u.holders() {
		for i, s := range c.Record().Steps {
			if s.Path != b.path || s.Image == "" || c == u.c && i != b.index {
				continue
			}
			reason = "has no saved version any more"
			images, err := u.h.openImages(c.ID)
			if err != nil {
				return err
			}
			has, err := stateNow(images.top, s.Image, b.target)
			if has.Kind == kindFolder && has.Sum == "" && err == nil { // to know later whether it was changed
				has, err = stateAt(images.top, s.Image, allBytes)
			}
			known := has.Kind == kindFolder && b.target.Kind == kindFolder && (b.target.Sum == "" || u.writesBelow(images.top, s.Image))
			images.close()
			switch {
			case err != nil:
				return err
			case has.Kind != "" && same(has, b.target), known:
				b.source, b.sourceRecord = s.Image, c.ID
				if b.target.Sum == "" && has.Kind == kindFolder && !isEmptyFolder(has) {
					b.target.Sum = has.Sum
				}
				return nil
			case has.Kind == kindFile && u.writesTo(has.Stamp.Ino, b.target):
				b.source, b.sourceRecord, b.sharedWith = s.Image, c.ID, has.Stamp.Ino
				return nil
			case has.Kind == b.target.Kind && (has.Kind == kindFolder || has.Kind == kindFile && has.Stamp.Ino == b.target.Stamp.Ino) && b.source == "":
				b.source, b.sourceRecord, written = s.Image, c.ID, has
			case has.Kind != "":
				reason = "has a saved version that something else has changed"
			}
		}
	}
	if written.Kind == "" {
		return u.conflict(b.path, false, "%s", reason)
	}
	if b.target = written; u.force {
		return nil
	}
	return u.conflict(b.path, true, "has a saved version that was written to since, as under another name (hard link) or by a program that had it open: with force it comes back as it is now")
}

// writesTo reports whether the change wrote to a file in place, and so its undo is to write s to it.
func (u *undo) writesTo(ino uint64, s state.State) bool {
	return slices.ContainsFunc(u.c.Record().Steps, func(c state.Step) bool {
		return c.After.Links > 1 && c.After.Stamp.Ino == ino && c.Before.Stamp.Ino == ino && same(c.Before, s)
	})
}

// holders returns the records that may have what the change took away, the last one first:
// one that made it again has only the files that it put back.
func (u *undo) holders() []*change {
	list, undoes := []*change{u.c}, map[int64]bool{}
	for _, c := range slices.Backward(u.c.seen) {
		switch {
		case c.Undoes == 0:
		case undoes[c.Undoes]:
			list = append(list, c)
		case slices.ContainsFunc(list, func(d *change) bool { return d.ID == c.Undoes }):
			undoes[c.ID] = true
			if u.wasKilled(c) {
				list = append(list, c)
			}
		}
	}
	slices.Reverse(list)
	return list
}

// dropLink removes an image that is a second name of its file: the change was interrupted before it replaced that.
func (u *undo) dropLink(b *undoStep) {
	if b.index >= len(u.c.Record().Steps) || u.c.Record().Steps[b.index].Image == "" || b.there.Kind == "" || u.all.trial || u.w.opts.DryRun {
		return
	}
	images, err := u.h.openImages(u.c.ID)
	if err != nil {
		return
	}
	defer images.close()
	name := u.c.Record().Steps[b.index].Image
	if info, err := images.top.Lstat(name); err == nil && info.ID.Ino == b.there.Stamp.Ino && info.Links > 1 {
		images.top.Remove(name, false)
	}
}

func (u *undo) checkMode(b *undoStep) error {
	switch {
	case b.there.Kind != b.expect.Kind && u.force:
		return nil
	case b.there.Kind != b.expect.Kind:
		return u.changedSince(b.path, b.there, b.expect)
	case b.there.Mode == b.target.Mode:
		return nil
	case b.there.Mode != b.expect.Mode && !u.force:
		return u.conflict(b.path, true, "has other permissions now")
	}
	mode := b.target.Mode
	b.target = b.there
	b.target.Mode = mode
	u.add(b)
	return nil
}
