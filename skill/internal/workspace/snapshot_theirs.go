package workspace

import "strings"

// theirs is what changes in the journal did while a program ran, by name.
type theirs map[string]*claim

// A claim is what a change left at a name.
type claim struct {
	after state
	tail  bool // only the size is known
	tree  bool // it is about all that is below, too
	loose bool // a folder as it came, whatever is in it

	judged, holds bool // it was looked whether it is so still, and is
}

// findTheirs reads what was recorded since the snapshot.
func (r *recorder) findTheirs() error {
	r.theirs = theirs{}
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
		r.ran = r.ran || c.Kind == Run
		for _, s := range c.Steps {
			r.theirs.note(s, c.Back)
		}
	}
	return nil
}

func (t theirs) note(s step, back bool) {
	before, after := s.Before, s.After
	if back {
		before, after = after, before
	}
	if s.How == asMode { // to be taken back twice does no harm
		return
	}
	tree := s.How != asFolder && (before.Is == "folder" || after.Is == "folder")
	if s.How != byMove {
		t[s.Path] = &claim{after: after, tail: s.How == byTail, tree: tree, loose: s.How == asFolder}
		return
	}
	moved := s.After
	at, from := &claim{after: moved, tree: tree, loose: true}, &claim{tree: tree}
	if back {
		at, from = &claim{after: s.Before, tree: tree}, &claim{after: moved, tree: tree, loose: true}
	}
	t[s.Path], t[s.From] = at, from
}

// at returns the claim on a name, or on a folder above it, nil if there is none.
func (t theirs) at(name string) *claim {
	c, _ := t.find(name)
	return c
}

func (t theirs) find(name string) (c *claim, where string) {
	if c := t[name]; c != nil {
		return c, name
	}
	for i := strings.LastIndexByte(name, '/'); i > 0; i = strings.LastIndexByte(name[:i], '/') {
		if c := t[name[:i]]; c != nil && c.tree {
			return c, name[:i]
		}
	}
	return nil, ""
}

// below tells whether something in a folder is theirs.
func (t theirs) below(folder string) bool {
	for name := range t {
		if strings.HasPrefix(name, folder+"/") {
			return true
		}
	}
	return false
}

// mine tells whether the program changed something, as far as can be told. What
// another change did is that one's; where both did something, it is left alone.
func (r *recorder) mine(d diff) (bool, error) {
	c, where := r.theirs.find(d.path)
	if c == nil {
		return true, nil
	}
	if !c.judged {
		now, err := r.now(where)
		if err != nil {
			return false, err
		}
		c.judged, c.holds = true, c.left(now)
	}
	if !c.holds {
		r.leave(d.path, "another call changed it meanwhile")
	}
	return false, nil
}

// left tells whether what is there now is what the change left.
func (c *claim) left(now state) bool {
	switch {
	case c.tail:
		return now.Is == "file" && now.Size == c.after.Size
	case c.loose && now.Is == "folder":
		return c.after.Is == "folder"
	}
	return now.is(c.after)
}
