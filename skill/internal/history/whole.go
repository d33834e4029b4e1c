package history

import (
	"cmp"
	"errors"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"

	"textskill/skill/internal/workspace/tree"
)

// A folder that a command made may hold more than its op names: git's objects, and folders that tools build again.
// This file undoes such a folder whole: rule 19 of the package.

// A made is a folder that the op to undo has made.
type made struct {
	folder Name
	inside map[Name]Delta // of the ops of the command, by path: what the change made in the folder
	stays  *ConflictError // why a part of what the change made stays
	more   bool           // it holds names that no op names
	since  Name           // a path in it that was added or changed since; "" without one
	git    bool           // such a path is in a repository's .git
	others map[Name]bool  // paths that other changes in force have changed

	began, ended int64 // of the command
}

// takeWhole plans to move the folders that the op made to the history. It returns the deltas for which that is not
// done: of folders whose names are all in the op, and of all other paths.
func (p *planner) takeWhole(deltas []Delta) ([]Delta, error) {
	folders := p.madeFolders(deltas)
	if len(folders) > 0 || slices.ContainsFunc(deltas, func(d Delta) bool { return d.Before.Whole }) {
		p.Op.Began, _ = p.stampOfNow()
	}
	for _, folder := range folders {
		inside := func(d Delta) bool { return isBelow(d.Path, folder) }
		if slices.ContainsFunc(deltas, func(d Delta) bool {
			return d.Path == folder && d.Before.Whole && d.Before.Ino == 0
		}) { // made again as a copy, whose listing is known
			deltas = slices.DeleteFunc(deltas, inside)
			continue
		}
		p.waitTick(p.Op.Began)
		m, err := p.look(folder)
		if err != nil || !m.more {
			continue
		}
		isRepository, least := false, Delta{Path: folder, Changed: math.MaxInt64}
		for name, d := range m.inside {
			_, _, git := gitPart(string(name))
			if isRepository = isRepository || git; d.Unsure || !least.Unsure && d.Changed < least.Changed {
				least = d
			}
		}
		kept := cmp.Or(p.keeps(least), m.stays) // for all paths
		takesAll := p.how.Perhaps || p.how.Force
		switch {
		case kept != nil, m.since != "" && !takesAll && !isRepository:
			continue
		case m.since == "":
			if err := p.whole(folder); err != nil {
				return nil, err
			}
		case takesAll && (p.how.Force || !m.git):
			parts, err := p.partsOf(m)
			if err != nil {
				return nil, err
			}
			deltas = slices.DeleteFunc(deltas, func(d Delta) bool {
				return slices.ContainsFunc(parts, func(part Name) bool { return d.Path == part || isBelow(d.Path, part) })
			})
			for i, d := range deltas { // of a redo
				if d.Before.Whole && (d.Path == folder || inside(d)) {
					deltas[i].Before = Entry{Kind: Dir, Mode: d.Before.Mode, Owner: d.Before.Owner}
				}
			}
			continue
		default:
			why := &ConflictError{ID: p.id(), Path: folder, Grade: Unproven, Force: m.git,
				Reason: "holds what was added or changed since: " + p.PathOf(m.since)}
			if m.git {
				why.Grade = ""
			}
			p.Kept = append(p.Kept, why)
		}
		deltas = slices.DeleteFunc(deltas, func(d Delta) bool { return d.Path == folder || inside(d) })
	}
	return deltas, nil
}

// whole plans to move a folder to the history.
func (p *planner) whole(folder Name) error {
	now, err := p.at(folder, Entry{Kind: Dir, Whole: true})
	if err != nil {
		return err
	}
	if info, err := p.statAt(folder); err == nil && info.ID.Dev != p.blobs.ID().Dev { // a copy has other inodes
		now, err = p.at(folder, Entry{Kind: Dir, Whole: true, Sum: "wanted"})
		if err != nil {
			return err
		}
		now.Ino = 0
	}
	p.Op.Deltas = append(p.Op.Deltas, Delta{Path: folder, Before: now.Keep()})
	return nil
}

// partsOf plans to move the folders in a made one that hold more than their op names, without what was added or
// changed since. It returns these folders, and those that stay because their names are not in the op.
func (p *planner) partsOf(m *made) (parts []Name, err error) {
	d, base, err := p.parent(m.folder)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	in, err := d.OpenFolder(base)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	entries, err := in.Entries()
	for _, e := range entries {
		if e.Type != fs.ModeDir || err != nil {
			continue
		}
		child, lerr := p.look(m.folder + "/" + Name(e.Name))
		_, named := m.inside[child.folder]
		switch {
		case lerr != nil:
			err = lerr
		case e.Name == ".git", child.since == "" && child.more:
			parts, err = append(parts, child.folder), p.whole(child.folder)
		case child.since != "" && named:
			more, merr := p.partsOf(child)
			parts, err = append(parts, more...), merr
		case child.since != "": // it stays
			parts = append(parts, child.folder)
		}
	}
	return parts, err
}

func isBelow(name, folder Name) bool { return strings.HasPrefix(string(name), string(folder)+"/") }

// change returns the op of the change that the undo takes back or makes again, nil if it is damaged.
func (p *planner) change() *Op {
	at, _ := p.log.find(p.after.ID)
	if at = p.log.origin(at); at.id == p.Of.ID {
		return p.Of
	}
	return p.log.op(at)
}

// madeFolders returns the outermost folders that the op to undo has made, and that are there.
func (p *planner) madeFolders(deltas []Delta) (list []Name) {
	if op := p.change(); op == nil || op.Kind != KindRun || op.Began == 0 || p.log.reverts(p.after.ID) {
		return nil
	}
	before := map[Name]bool{} // paths at which something was
	inodes, sources := map[uint64]bool{}, map[Name]bool{}
	for _, d := range deltas {
		sources[d.From] = true
		if before[d.Path] = d.After.Kind != absent; d.After.Ino != 0 {
			inodes[d.After.Ino] = true
		}
	}
	for _, d := range deltas {
		above, known := before[Name(path.Dir(string(d.Path)))]
		if d.After.Kind != absent || d.Before.Kind != Dir || known && !above {
			continue
		}
		movedIn := func(o Delta) bool {
			return (o.Path == d.Path || isBelow(o.Path, d.Path)) && (o.From != "" || inodes[o.Before.Ino] ||
				o.After.Kind != absent || sources[o.Path])
		}
		if !slices.ContainsFunc(deltas, movedIn) {
			list = append(list, d.Path)
		}
	}
	return list
}

// look finds what is in a folder that the op made.
func (p *planner) look(folder Name) (*made, error) {
	m := &made{folder: folder, inside: map[Name]Delta{}, others: map[Name]bool{}}
	change := p.change()
	m.began, m.ended = change.Began, change.Ended
	parts := p.Parts(change)
	for _, id := range slices.Backward(parts) {
		at, _ := p.log.find(id)
		op := p.log.op(at)
		if op == nil || id != change.ID && !p.InForce(id) {
			continue
		}
		m.ended = max(m.ended, op.Ended)
		for _, d := range op.Deltas {
			if d.Path == folder || isBelow(d.Path, folder) {
				m.inside[d.Path] = d
				if id != change.ID {
					m.stays = cmp.Or(m.stays, p.keepsOf(op, d))
				}
			}
		}
	}
	newer := map[Name]bool{} // paths that a newer op is about
	for at, op := range p.log.about(folder, slices.Min(parts)) {
		undo := p.log.reverts(at.id)
		if at.undoes != 0 && !undo || slices.Contains(parts, at.id) || !p.InForce(at.id) {
			continue
		}
		for _, d := range op.Deltas {
			switch {
			case !undo:
				m.others[d.Path] = m.others[d.Path] || !d.Before.equal(d.After)
			case !newer[d.Path] && d.After.Kind != absent && !d.After.equal(m.inside[d.Path].After):
				m.others[d.Path] = true // it was there before the command
			}
			newer[d.Path] = true
		}
	}
	d, base, err := p.parent(folder)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	in, err := d.OpenFolder(base)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return m, p.lookIn(m, folder, in)
}

// lookIn is look for the open folder at.
func (p *planner) lookIn(m *made, at Name, d tree.Folder) error {
	entries, err := d.Entries()
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := Name(path.Join(string(at), e.Name))
		if e.Name == TempName {
			continue
		}
		_, _, git := gitPart(string(at))
		if git && gitSkips(string(at), e.Name) && !strings.HasSuffix(e.Name, ".lock") {
			m.more = true // objects are git's own, and the refs that name them are in the op
			continue
		}
		info, err := d.Lstat(e.Name)
		if err != nil {
			return err
		}
		_, named := m.inside[name]
		m.more = m.more || !named
		if (m.since == "" || git && !m.git) && (m.others[name] || !p.isAsMade(m, name, info)) {
			m.since, m.git = cmp.Or(m.since, name), m.git || git
		}
		if !info.IsDir() {
			continue
		}
		in, err := d.OpenFolder(e.Name)
		if err != nil {
			return err
		}
		err = p.lookIn(m, name, in)
		in.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// isAsMade reports whether the command made a file, and nothing has changed it since.
func (p *planner) isAsMade(m *made, name Name, info tree.Info) bool {
	after := m.inside[name].After             // the zero Entry for a file that no op names
	shared := info.Links > 1 && !info.IsDir() // another name of an old file: only its content tells of changes
	changed := info.Changed
	if shared {
		changed = info.ModTime
	}
	if info.IsDir() || !shared {
		born := tree.Birth(p.PathOf(name), info.ID)
		if born.IsZero() {
			return false
		}
		if info.IsDir() { // its own times change with its entries
			changed = born
		}
		if born.UnixNano() < m.began {
			return false
		}
	}
	if after.Kind == absent {
		return changed.UnixNano() <= m.ended
	}
	if info.IsDir() || changed.UnixNano() <= m.ended {
		return bitsOf(info.Mode) == after.Mode || info.Mode.Type() == fs.ModeSymlink || after.Kind == Other
	}
	now, err := p.at(name, after)
	if err != nil {
		return false
	}
	_, same := p.lookedAt(Delta{Path: name, Before: after}, now)
	return same || now.equal(after)
}

// forgetMade removes from the op of a command what it says about folders inside a folder that the command made: an undo
// takes them with it.
func (op *Op) forgetMade() {
	made := map[Name]bool{}
	for _, d := range op.Deltas {
		made[d.Path] = d.Before.Kind == absent && d.After.Kind == Dir
	}
	inMade := func(name Name) bool { return made[Name(path.Dir(string(name)))] }
	op.NotSeen = slices.DeleteFunc(op.NotSeen, inMade)
	op.Left = slices.DeleteFunc(op.Left, func(l Left) bool {
		return inMade(l.Path) && (l.Why == rebuiltReason || l.Why == cacheReason)
	})
}

// moveFolder moves a folder. A user needs the right to change a folder that he moves elsewhere.
func moveFolder(from tree.Folder, name string, to tree.Folder, newName string) error {
	err := from.Rename(name, to, newName, false)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	info, serr := from.Lstat(name)
	if serr != nil || !info.IsDir() || bitsOf(info.Mode)&full == full || from.Chmod(name, modeOf(bitsOf(info.Mode)|full)) != nil {
		return err
	}
	if err = from.Rename(name, to, newName, false); err != nil {
		return errors.Join(err, from.Chmod(name, info.Mode))
	}
	return to.Chmod(newName, info.Mode)
}
