package workspace

import (
	"cmp"
	"context"
	"iter"
	"path"
	"slices"
	"time"

	"textskill/skill/internal/state"
)

// A change is a record, with what later ones say of it.
type change struct {
	state.Entry
	h       *history
	undone  bool
	open    *change   // the undo or redo of it that was interrupted: what is there says what is in effect; or nil
	carrier *change   // what made it again after an undo, and so has what it took away
	seen    []*change // the later ones that were read, the last one first
}

// redo is the kind of the record of an undo that undoes an undo.
const redo Kind = "redo"

// applied reports whether the change was made, as far as is recorded. An undo, and the
// record of a command, count only when complete: the one can be made again, and the other
// lacks images.
func (c *change) applied() bool {
	return c.End != state.Void && !c.Damaged() && (c.Undoes == 0 && c.Record().Kind != string(Run) || c.End == state.Done)
}

// undoable reports whether an undo that names no change may undo this one.
func (c *change) undoable() bool {
	return c.applied() && (!c.undone || c.open != nil) && c.Undoes == 0 && !c.idle()
}

// undoableTo reports whether the change is to be undone where all is to be as it was after
// the change with the number n. The undo of an earlier change is, too.
func (c *change) undoableTo(n int64) bool {
	return c.undoable() || 0 < c.Undoes && c.Undoes <= n && c.applied() && !c.undone
}

// unkept reports whether nothing that a command changed was kept: at most its paths are known.
func (c *change) unkept() bool {
	return c.Record().Note != "" && !slices.ContainsFunc(c.Record().Steps, func(s state.Step) bool { return s.Before.Kind+s.After.Kind != "" })
}

// idle reports whether the change left all contents and permissions as they were.
func (c *change) idle() bool {
	return !c.unkept() && !slices.ContainsFunc(c.Record().Steps, func(s state.Step) bool {
		appended := s.Patch != nil && s.Patch.Sum != "" && s.Before.Size != s.After.Size
		return s.From != "" || s.Before.Mode != s.After.Mode || appended || s.Before.Kind != s.After.Kind || s.Before.Kind == kindLink ||
			s.Before.Sum == "" && !(s.Patch != nil && s.Patch.Sum != "") || s.Before.Sum != s.After.Sum
	})
}

// time returns when the change was made. Of a damaged one that is not known: it is the time of the next one.
func (c *change) time() time.Time {
	if n := len(c.seen); n > 0 && c.Damaged() {
		return c.seen[n-1].time()
	}
	return c.Record().Time
}

// main is the step by which the change is described.
func (c *change) main() state.Step {
	switch steps := c.Record().Steps; {
	case len(steps) == 0:
		return state.Step{}
	case c.Record().Kind == string(Undo): // the last one is undone first
		return steps[0]
	default:
		return steps[len(steps)-1]
	}
}

// overlaps reports whether two changes are about the same files, also those of two histories.
func (c *change) overlaps(d *change) bool {
	return slices.ContainsFunc(c.Record().Steps, func(s state.Step) bool {
		at := state.Step{Path: d.h.nameOf(c.h.path(s.Path))}
		if s.From != "" {
			at.From = d.h.nameOf(c.h.path(s.From))
		}
		return d.touches(at)
	})
}

func (c *change) touches(at state.Step) bool {
	return (c.mayName(at.Path) || c.mayName(at.From)) && slices.ContainsFunc(c.Record().Steps, func(s state.Step) bool {
		return overlap(s.Path, at.Path) || overlap(s.From, at.Path) || overlap(s.Path, at.From) || overlap(s.From, at.From)
	})
}

// mayName reports whether the change may be about a name, one above it or one in it. Where it is not, its
// record need not be decoded.
func (c *change) mayName(name state.Name) bool {
	if name == "" {
		return false
	}
	if c.MayHave(`"` + string(name)) {
		return true
	}
	for at := string(name); at != path.Dir(at); {
		if at = path.Dir(at); c.MayHave(`"` + at + `"`) {
			return true
		}
	}
	return false
}

// overlap reports whether one of two names is the other, or is in it.
func overlap(a, b state.Name) bool {
	if a == "" || b == "" {
		return false
	}
	_, below1 := below(string(a), string(b))
	_, below2 := below(string(b), string(a))
	return below1 || below2
}

// changes iterates over the changes of a history, the last one first. With jump, those are
// left out of which it is known that a bare undo has no business with them.
func (h *history) changes(ctx context.Context, jump bool) iter.Seq2[*change, error] {
	return func(yield func(*change, error) bool) {
		s, err := h.open()
		if noHistory(err) || h.off {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		r := reader{h: h, undoer: map[int64]*change{}, carrier: map[int64]*change{}, ended: map[int64]bool{}, open: map[int64]*change{}}
		for below, more := int64(0), true; more; {
			more = false
			for e, err := range s.Newest(ctx, below) {
				if err != nil {
					yield(nil, err)
					return
				}
				c := r.add(e)
				if !yield(c, nil) {
					return
				}
				settled := c.Undoes == 0 || c.End == state.Done && !c.undone && c.open == nil
				if !jump || !settled {
					continue
				}
				if next := c.Record().Next; 0 < next && next < c.ID-1 && !r.revived(next, c.ID) {
					below, more = next+1, true
					break
				}
			}
		}
	}
}

// A reader reads a history from its end.
type reader struct {
	h       *history
	seen    []*change
	undoer  map[int64]*change // by the ID of a change, the undo of it that is in effect
	carrier map[int64]*change // see change
	revives []int64           // the IDs of changes that later undos made again, and of undos that are undone
	ended   map[int64]bool    // by the ID of a change, whether a later undo of it is complete
	open    map[int64]*change // see change
}

func (r *reader) add(e state.Entry) *change {
	c := &change{Entry: e, h: r.h, open: r.open[e.ID], carrier: r.carrier[e.ID], seen: r.seen}
	by := r.undoer[c.ID]
	c.undone = by != nil
	switch {
	case c.Undoes == 0:
	case c.End == "" && !c.undone && !r.ended[c.Undoes]:
		r.open[c.Undoes] = c
	case c.open != nil:
		r.open[c.Undoes], r.carrier[c.Undoes] = c.open, cmp.Or(c.open.carrier, c.open)
	}
	if c.undone && c.Undoes > 0 {
		r.carrier[c.Undoes] = cmp.Or(by.carrier, by)
	}
	if c.Undoes > 0 && c.applied() && !c.undone && r.undoer[c.Undoes] == nil {
		r.undoer[c.Undoes] = c
	}
	r.ended[c.Undoes] = r.ended[c.Undoes] || c.End == state.Done
	if c.Undoes > 0 && (c.undone || c.open != nil || c.Record().Kind == string(redo)) {
		r.revives = append(r.revives, c.Undoes)
	}
	r.seen = append(r.seen, c)
	return c
}

// revived reports whether a change between two numbers may be in effect again, or the undo of
// one. What else was undone there is known only by reading all of it.
func (r *reader) revived(above, below int64) bool {
	return slices.ContainsFunc(r.revives, func(id int64) bool { return above < id && id < below })
}
