package workspace

import "strings"

// concurrentChanges is what changes in the journal did while a program ran, by name.
type concurrentChanges map[string]*concurrentChange

// A concurrentChange is what a change left at a name.
type concurrentChange struct {
	after      fileState
	tail       bool // only the size is known
	recursive  bool // it is about all that is below, too
	anyContent bool // a folder as it came, whatever is in it

	checked, holds bool // it was looked whether it is so still, and is
}

// findConcurrent reads what was recorded since the snapshot.
func (r *recorder) findConcurrent() error {
	r.concurrent = concurrentChanges{}
	last, err := r.j.lastID(r.ctx)
	if err != nil || last == r.since {
		return err
	}
	all, err := r.j.read(r.ctx)
	if err != nil {
		return err
	}
	for _, c := range all {
		if c.ID <= r.since || c.void {
			continue
		}
		r.otherCommand = r.otherCommand || c.Kind == Run
		for _, s := range c.Steps {
			r.concurrent.add(s, c.Back)
		}
	}
	return nil
}

func (t concurrentChanges) add(s pathChange, back bool) {
	before, after := s.Before, s.After
	if back {
		before, after = after, before
	}
	if s.How == asMode { // to be taken back twice does no harm
		return
	}
	tree := s.How != asFolder && (before.Type == "folder" || after.Type == "folder")
	if s.How != byMove {
		t[s.Path] = &concurrentChange{after: after, tail: s.How == byAppend, recursive: tree, anyContent: s.How == asFolder}
		return
	}
	moved := s.After
	at, from := &concurrentChange{after: moved, recursive: tree, anyContent: true}, &concurrentChange{recursive: tree}
	if back {
		at, from = &concurrentChange{after: s.Before, recursive: tree}, &concurrentChange{after: moved, recursive: tree, anyContent: true}
	}
	t[s.Path], t[s.From] = at, from
}

// at returns the claim on a name, or on a folder above it, nil if there is none.
func (t concurrentChanges) at(name string) *concurrentChange {
	c, _ := t.find(name)
	return c
}

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

// below tells whether something in a folder is theirs.
func (t concurrentChanges) below(folder string) bool {
	for name := range t {
		if strings.HasPrefix(name, folder+"/") {
			return true
		}
	}
	return false
}

// byCommand tells whether the program changed something, as far as can be told. What
// another change did is that one's; where both did something, it is left alone.
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
	if !c.holds {
		r.skip(d.path, "another call changed it meanwhile")
	}
	return false, nil
}

// holdsWith tells whether what is there now is what the change left.
func (c *concurrentChange) holdsWith(now fileState) bool {
	switch {
	case c.tail:
		return now.Type == "file" && now.Size == c.after.Size
	case c.anyContent && now.Type == "folder":
		return c.after.Type == "folder"
	}
	return now.sameContent(c.after)
}
