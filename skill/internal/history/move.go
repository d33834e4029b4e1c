package history

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"syscall"

	"textskill/skill/internal/workspace/tree"
)

// This file undoes moves: rule 11 of the package.

// isMovedWith reports whether two deltas are the two paths of one move.
func (d Delta) isMovedWith(o Delta) bool { return d.From != "" && o.Path == d.From || o.From == d.Path }

// movesAway reports whether the undo moves the file at the path of a delta elsewhere, although the path
// has the same state afterwards: for a whole folder, or for a file that was moved over a file with the
// same content.
func (p *planner) movesAway(d Delta) bool {
	return d.Before.Whole && !d.After.Whole || !d.After.Whole &&
		slices.ContainsFunc(p.after.Deltas, func(o Delta) bool { return o.Path == d.Path && o.From != "" })
}

// stopMoves turns a move whose source no longer exists into a restore from the blob.
func (p *planner) stopMoves() {
	for i := range p.Op.Deltas {
		d := &p.Op.Deltas[i]
		if d.From == "" {
			continue
		}
		if now, err := p.at(d.From); err == nil && now.Kind == absent {
			d.From = ""
		}
	}
}

// elsewhere reports whether another path of the undo has the content that d needs.
func (p *planner) elsewhere(d Delta) bool {
	return slices.ContainsFunc(p.Op.Deltas, func(o Delta) bool {
		return p.checkContent(o.Path, d.After) == nil
	})
}

// moveAll moves files back to their old paths: moves of a tool, and moves of a command whose content is
// not kept.
func (a *applier) moveAll() error {
	from := sources(a.op.Deltas)
	for i, d := range a.op.Deltas {
		j, ok := from[i]
		if !ok || a.done[i] {
			continue
		}
		moved, err := a.moveOne(d, a.op.Deltas[j])
		if err != nil {
			return a.stepError(i, err)
		}
		if moved {
			a.crash("moved")
			if a.moved == nil {
				a.moved = map[int]bool{}
			}
			a.moved[i] = true
			if d.After.hasNoSum() {
				a.begun = append(a.begun, a.op.Deltas[j].Path)
			}
			a.done[i], a.done[j] = d.After.Mode == a.op.Deltas[j].Before.Mode, a.op.Deltas[j].After.Kind == absent
		}
	}
	return nil
}

// sources returns which deltas are moves: from the number of the delta that gets the file to the number
// of the delta whose path has the file now.
func sources(deltas []Delta) map[int]int {
	byName, byIno := map[Name]int{}, map[uint64]int{}
	for i, d := range deltas {
		byName[d.Path] = i
		if isContent(d.Before) && d.Before.Ino != 0 && d.After.Ino != d.Before.Ino {
			byIno[d.Before.Ino] = i
		}
	}
	from := map[int]int{}
	for i, d := range deltas {
		if d.From != "" {
			if j, ok := byName[d.From]; ok {
				from[i] = j
			}
			continue
		}
		j, ok := byIno[d.After.Ino]
		if ok && i != j && d.Before.Kind == absent &&
			isContent(d.After) && deltas[j].Before.Same(d.After) {
			from[i] = j
		}
	}
	return from
}

// isContent reports whether an entry is a file, or a pipe, socket or device.
func isContent(e Entry) bool { return e.Kind == File || e.Kind == Other }

// moveOne moves the file or folder at the path of src to the path of d. If that is no longer possible,
// moved is false, and the content comes from a blob.
func (a *applier) moveOne(d, src Delta) (moved bool, err error) {
	now, err := a.at(src.Path, src.Before)
	if err != nil || !now.Same(src.Before) {
		return false, err
	}
	there, err := a.at(d.Path)
	if err != nil || there.Kind != absent &&
		!(there.Kind == Dir && d.Before.Kind == Dir && !d.Before.Whole) {
		return false, err
	}
	from, name, err := a.parent(src.Path)
	if err != nil {
		return false, err
	}
	defer from.Close()
	if info, err := from.Lstat(name); err != nil || info.Links > 1 && !info.IsDir() {
		return false, err
	}
	to, newName, err := a.makeParent(d.Path)
	if noFolder(err) { // another file has the folder's path, and a later step removes it
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer to.Close()
	a.touch(from)
	a.touch(to)
	if there.Kind == Dir { // removes only an empty folder
		to.Remove(newName, true)
	}
	return a.renameOrCopy(from, name, to, newName, now)
}

// renameOrCopy moves a file or folder, by a copy if it is on another file system. moved is false if
// somebody else has just taken it or its new name.
func (a *applier) renameOrCopy(from tree.Folder, name string, to tree.Folder, newName string,
	e Entry) (moved bool, err error) {
	err = from.Rename(name, to, newName, false)
	switch {
	case errors.Is(err, syscall.EXDEV):
		err = a.moveAcross(from, name, to, newName, e)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrExist):
		return false, nil
	}
	return err == nil, err
}

// moveAcross copies a file or folder to another file system, and removes it once the copy is durable.
func (a *applier) moveAcross(from tree.Folder, name string, to tree.Folder, newName string,
	e Entry) (err error) {
	Discard(to, TempName) // left by a killed process
	switch e.Kind {
	case Dir:
		err = copyTree(from, name, to, TempName, false)
	case Link:
		err = to.Symlink(string(e.Target), TempName)
	default:
		err = copyFile(from, name, to, TempName)
	}
	if err == nil {
		err = a.syncAll(to)
	}
	if err == nil {
		err = to.Rename(TempName, to, newName, false)
	}
	if err != nil {
		Discard(to, TempName)
		return err
	}
	if err := a.syncAll(to); err != nil {
		return err
	}
	if e.Kind != Dir {
		err = from.Remove(name, false)
	} else if err = RemoveTree(from, name); err != nil {
		err = cmp.Or(copyTree(to, newName, from, name, true), err)
	}
	if err != nil {
		Discard(to, newName)
	}
	return err
}

// contentToPut opens the new content of a file. After a move, another path of the op may hold that
// content.
func (a *applier) contentToPut(d *Delta) (*content, error) {
	c, err := a.contentOf(d.Path, d.After)
	if errors.Is(err, errGone) && d.Splice == nil {
		for _, o := range a.op.Deltas {
			if o.Path != d.Path && c == nil {
				c, _ = a.contentOf(o.Path, d.After)
			}
		}
	}
	if c == nil {
		return nil, cmp.Or(err, errGone)
	}
	return c, nil
}
