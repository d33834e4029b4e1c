package workspace

import (
	"context"
	"slices"
	"strings"
	"time"

	"textskill/skill/internal/state"
)

// concurrentChanges are the changes in the journal since a snapshot, by path: what they
// did is not the program's doing.
type concurrentChanges map[string]*concurrentChange

// A concurrentChange is what a change left at a path.
type concurrentChange struct {
	before     state.State // of the first one of those that followed each other
	after      state.State
	tail       bool // only the size of after is known
	recursive  bool // it is also about everything below the path
	anyContent bool // after is a folder, whatever is in it
	command    bool // only commands changed it, or others while these ran

	checked, holds bool // whether the path is still in that state was checked, and it is
}

// findConcurrent reads what was recorded since the snapshot.
func (r *recorder) findConcurrent() error {
	r.concurrent = concurrentChanges{}
	last, err := r.h.lastID(r.ctx)
	if err != nil || last == r.since {
		return err
	}
	var all []*change
	for c, err := range r.h.changes(r.ctx, false) {
		if err != nil {
			return err
		}
		if c.ID <= r.since {
			break
		}
		if c.End != state.Void {
			all = append(all, c)
		}
	}
	for _, c := range slices.Backward(all) {
		command := c.Record().Kind == string(Run)
		r.otherCommand = r.otherCommand || command
		for _, s := range c.Record().Steps {
			r.concurrent.add(s, command)
		}
	}
	return nil
}

func (t concurrentChanges) add(s state.Step, command bool) {
	made := s.Before.Kind == "" && isEmptyFolder(s.After)
	tree := !made && (s.Before.Kind == kindFolder || s.After.Kind == kindFolder)
	first := s.Before
	if last, where := t.find(string(s.Path)); last != nil {
		command = command && last.command
		if where == string(s.Path) && same(last.after, s.Before) {
			first = last.before
		}
	}
	if tree && !command {
		t.byOthers(string(s.Path))
		t.byOthers(string(s.From))
	}
	switch {
	case isMode(s): // to undo it twice does no harm
	case s.From != "":
		t[string(s.Path)], t[string(s.From)] = &concurrentChange{after: s.After, recursive: tree, anyContent: true}, &concurrentChange{recursive: tree}
	default:
		t[string(s.Path)] = &concurrentChange{before: first, after: s.After, tail: s.Patch != nil && s.Patch.Sum != "", recursive: tree, anyContent: made, command: command}
	}
}

// byOthers says that not only commands changed what is in a folder.
func (t concurrentChanges) byOthers(folder string) {
	for name, c := range t {
		c.command = c.command && (folder == "" || !strings.HasPrefix(name, folder+"/"))
	}
}

func (t concurrentChanges) has(name string) bool {
	c, _ := t.find(name)
	return c != nil
}

// find returns the change of a path, or a recursive one of a folder above it, and where that
// is; nil if there is none.
func (t concurrentChanges) find(name string) (c *concurrentChange, where string) {
	if c := t[name]; c != nil {
		return c, name
	}
	for i := strings.LastIndexByte(name, '/'); i > 0; i = strings.LastIndexByte(name[:i], '/') {
		if c := t[name[:i]]; c != nil && c.recursive {
			return c, name[:i]
		}
	}
	return nil, ""
}

// below reports whether something in a folder was changed.
func (t concurrentChanges) below(folder string) bool {
	for name := range t {
		if strings.HasPrefix(name, folder+"/") {
			return true
		}
	}
	return false
}

// byCommand reports whether d is to be recorded as the program's doing: not if a concurrent
// change did it. What both changed is left as it is, but where the other is a command that ended
// first: what it found half written, as it began or as it ended, may be this one's.
func (r *recorder) byCommand(d diff) (bool, error) {
	c, where := r.concurrent.find(d.path)
	if c == nil {
		return true, nil
	}
	if !c.checked {
		now, err := r.now(where)
		if err != nil {
			return false, err
		}
		c.checked, c.holds = true, c.holdsWith(now)
	}
	if c.command && where == d.path && !(c.holds && c.from(d.before)) {
		return true, nil
	}
	if !c.holds && !r.ignored(d) {
		r.skip(d.path, "another call changed it meanwhile")
	}
	return false, nil
}

// holdsWith reports whether now is the state in which the change left the path.
func (c *concurrentChange) holdsWith(now state.State) bool {
	switch {
	case c.tail:
		return now.Kind == "file" && now.Size == c.after.Size
	case c.anyContent && now.Kind == "folder":
		return c.after.Kind == "folder"
	}
	return same(now, c.after)
}

// from reports whether what the change found at the path is what the snapshot has, as far as that is known.
func (c *concurrentChange) from(e *entry) bool {
	switch e.is() {
	case 0:
		return c.before.Kind == ""
	case aFile:
		return e.digest == "" || c.before.Kind == kindFile && e.holds(c.before.Sum)
	case aLink:
		return c.before.Kind == kindLink && string(c.before.Target) == e.digest
	}
	return true
}

// An undoneStep is what the undo of a command left at a path.
type undoneStep struct {
	began time.Time // when the command was
	left  state.State
}

// undoneBeside reports whether the undo of a command that ran at the same time as the one that is undone
// has left the path as it is, and whether that one began first. Each of two such commands may have what the
// other changed, half or whole: what was there before the first of them is to be there at last.
func (u *undo) undoneBeside(b *undoStep) (found, first bool) {
	for _, s := range u.beside()[b.path] {
		there, err := b.there, error(nil)
		if there.Sum == "" && s.left.Sum != "" && there.Kind == s.left.Kind { // it was not wanted so far
			there, err = u.look(b.path, s.left)
		}
		if err == nil && same(there, s.left) {
			return true, !s.began.After(u.c.Record().Began)
		}
	}
	return false, false
}

// findBeside returns what the undos of commands left that ran at the same time as the one that is undone
// now; of each path, what was before the first of them first.
func (u *undo) findBeside() map[state.Name][]undoneStep {
	this, list := u.c.Record(), map[state.Name][]undoneStep{}
	if this.Kind != string(Run) || this.Began.IsZero() {
		return nil
	}
	others := u.c.seen
	n := len(others)
	gap := n > 0 && others[0].ID-u.c.ID > int64(n) // a bare undo left some out
	if gap || this.Since < u.c.ID-1 {
		others = slices.Clone(others)
		for _, c := range u.all.history(u.h) {
			if c.ID <= this.Since {
				break
			}
			if gap || c.ID < u.c.ID { // of the others more is known
				others = append(others, c)
			}
		}
	}
	for _, c := range others {
		if !c.undone {
			continue // without decoding it
		}
		r := c.Record()
		if r.Kind != string(Run) || r.Began.IsZero() || r.Since >= u.c.ID || !r.Began.Before(this.Time) {
			continue
		}
		for i, s := range r.Steps {
			if again := i > 0 && r.Steps[i-1].Path == s.Path; !again && !isMode(s) { // undone, the first of two steps is the last
				list[s.Path] = append(list[s.Path], undoneStep{r.Began, s.Before})
			}
		}
	}
	for _, steps := range list {
		slices.SortStableFunc(steps, func(a, b undoneStep) int { return a.began.Compare(b.began) })
	}
	return list
}

// history returns the changes of a history as they are before those of all, the last one first. It is read once.
func (all *undone) history(h *history) []*change {
	if all.read[h] == nil {
		var list []*change
		for c, err := range h.changes(context.Background(), false) {
			if err != nil {
				break
			}
			list = append(list, c)
		}
		all.read = map[*history][]*change{h: list}
	}
	return all.read[h]
}
