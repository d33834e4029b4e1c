package history

import (
	"fmt"
	"slices"
)

// Whoever writes to a file in place may give it its old modification time back, but not its old change time. So an op
// notes the change times of files that only their size and modification time describe: rule 22 of the package.

// hasNoSum reports whether only the size and the times of a file are known.
func (e Entry) hasNoSum() bool { return e.Kind == File && e.Sum == "" }

// noteTime notes the change time of a file, if a window of the look moved it.
func (r *recorder) noteTime(name string, was, now *item) {
	if isFile(now) && now.entry().hasNoSum() && (was == nil || was.changed != now.changed) {
		r.op.note(Name(name), now.changed)
	}
}

func (op *Op) note(name Name, changed int64) {
	if op.Times == nil {
		op.Times = map[Name]int64{}
	}
	op.Times[name] = changed
}

// noteTimes notes the change times of the files that the last op left, and of those in also. Renames and new
// permissions move them.
func (t *Tx) noteTimes(op *Op, also []Name) {
	if op.ID != t.log.last() || op.isCommands() {
		return
	}
	before := len(op.Times)
	for _, d := range op.Deltas {
		if d.After.hasNoSum() && !d.Added {
			also = append(also, d.Path)
		}
	}
	t.noteNow(op, also)
	if len(op.Times) > before {
		t.log.add(op) // in place of the op without times, which says the same of an undo
	}
}

// noteBack notes the change times of files that the steps of a void op moved and moved back.
func (t *Tx) noteBack(names []Name) {
	op := &Op{Quiet: true}
	t.noteNow(op, names)
	if len(op.Times) > 0 {
		t.addMade(op)
	}
}

// noteNow has an op note the change times that files have now.
func (t *Tx) noteNow(op *Op, names []Name) {
	for _, name := range names {
		if changed := t.changeTime(name); changed != 0 {
			op.note(name, changed)
		}
	}
}

// timeOf returns the change time that the newest op about a file without a sum noted, 0 if no op did. by is an op of
// another owner that moved the time after the op to undo.
func (p *planner) timeOf(name Name) (changed int64, by *Op) {
	isIt := func(d Delta) bool { return d.Path == name }
	for at := range p.log.newest() {
		if at.id < p.after.ID {
			break
		}
		if p.log.isVoid(at.id) || !at.mayBeAbout(name) {
			continue
		}
		op := p.log.op(at)
		if op == nil {
			break
		}
		moved, noted := op.Times[name]
		if changed == 0 && !noted && slices.ContainsFunc(op.Deltas, isIt) {
			break // it was recorded without times
		}
		if changed == 0 {
			changed = moved
		}
		if noted && p.InForce(at.id) && at.id != p.after.ID && op.Kind == KindRun && !p.isMine(op) {
			by = op
		}
	}
	return changed, by
}

// isMine reports whether the owners of an op are those whose changes are undone.
func (p *planner) isMine(op *Op) bool {
	for _, o := range op.Owners {
		if (p.how.With == nil || !p.how.With(o)) && !o.SameOwner(p.Of.FirstTold()) {
			return false
		}
	}
	return true
}

// keepTouched takes the files out of the undo that only their size and times describe, and that something may have
// changed since. It remembers the change times of the others.
func (p *planner) keepTouched() {
	p.times = map[Name]int64{}
	from := sources(p.Op.Deltas)
	moves := map[int]bool{}
	for to, at := range from { // the file stays the same
		moves[to], moves[at] = true, true
	}
	deltas := p.Op.Deltas[:0:0]
	for i, d := range p.Op.Deltas {
		if d.Before.hasNoSum() && !d.Added && !moves[i] && d.From == "" && !d.Before.Same(d.After) {
			if kept := p.touched(d.Path); kept != nil && !p.how.Perhaps && !p.how.Force {
				p.Kept = append(p.Kept, kept)
				continue
			}
		}
		deltas = append(deltas, d)
	}
	p.Op.Deltas = deltas
}

// touched returns why a file without a sum may have changed since the op, nil if it has not.
func (p *planner) touched(name Name) *ConflictError {
	info, err := p.statAt(name)
	noted, by := p.timeOf(name)
	switch {
	case err != nil || noted == 0:
		return nil
	case by != nil:
		return &ConflictError{ID: p.id(), Path: name, Grade: Unproven,
			Reason: fmt.Sprintf("may have been changed since by change %d", by.ID)}
	case info.Changed.UnixNano() != noted:
		return &ConflictError{ID: p.id(), Path: name, Grade: Unproven,
			Reason: "may have been changed since: something wrote to it, or gave it other attributes"}
	}
	if info.Links == 1 { // else the undo of another name moves the time
		p.times[name] = noted
	}
	return nil
}

// unmoved returns the files without a sum whose change time the op to undo noted, and which have not changed since: an
// undo of other names of a file moves its time.
func (p *planner) unmoved() (list []Name) {
	for name := range p.after.Times {
		if noted, _ := p.timeOf(name); noted != 0 && p.changeTime(name) == noted {
			list = append(list, name)
		}
	}
	return list
}

// changeTime returns the change time of a file, 0 without a file.
func (s *Store) changeTime(name Name) int64 {
	info, err := s.statAt(name)
	if err != nil || !info.Mode.IsRegular() {
		return 0
	}
	return info.Changed.UnixNano()
}

// isTouched reports whether a file without a sum changed after the undo was planned.
func (a *applier) isTouched(name Name) bool {
	noted := a.times[name]
	if noted == 0 {
		return false
	}
	info, err := a.statAt(name)
	return err == nil && info.Changed.UnixNano() != noted
}
