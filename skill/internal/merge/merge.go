// Package merge compares and merges texts by whole lines.
//
// A line includes its line feed. So lines with different line ends are different, and each byte of
// a merged text comes from one of the given texts.
package merge

import (
	"bytes"
	"errors"
	"slices"
)

// MaxSize is the size limit of the texts that Text merges, in bytes.
const MaxSize = 4 << 20

// Text returns these errors.
var (
	ErrBinary = errors.New("a text with NUL bytes cannot be merged")
	ErrLarge  = errors.New("a text over 4 MiB cannot be merged")
)

// A Conflict is a place that both sides changed in different ways.
type Conflict struct {
	Line               int // the first line in ours, from 1; if Ours is empty, the line after the conflict
	Base, Ours, Theirs []byte
}

// Text merges the changes from base to ours and from base to theirs. As in git merge-file, changes
// that touch each other conflict, unless they are equal. At a conflict, merged has the lines of ours.
// The error is ErrBinary or ErrLarge if a text cannot be merged.
func Text(base, ours, theirs []byte) (merged []byte, conflicts []Conflict, err error) {
	return text(base, ours, theirs, false)
}

// Theirs is Text, but at a conflict, merged has the lines of theirs.
func Theirs(base, ours, theirs []byte) (merged []byte, conflicts []Conflict, err error) {
	return text(base, ours, theirs, true)
}

func text(base, ours, theirs []byte, take bool) (merged []byte, conflicts []Conflict, err error) {
	for _, text := range [][]byte{base, ours, theirs} {
		switch {
		case len(text) > MaxSize:
			return nil, nil, ErrLarge
		case bytes.IndexByte(text, 0) >= 0:
			return nil, nil, ErrBinary
		}
	}
	switch {
	case bytes.Equal(base, ours), bytes.Equal(ours, theirs):
		return slices.Clone(theirs), nil, nil
	case bytes.Equal(base, theirs):
		return slices.Clone(ours), nil, nil
	}
	b := Split(base)
	mine := side{lines: Split(ours)}
	mine.changes = Changes(b, mine.lines)
	other := side{lines: Split(theirs)}
	other.changes = Changes(b, other.lines)
	at := 0
	for len(mine.changes) > 0 || len(other.changes) > 0 {
		from, to := next(&mine, &other)
		merged = add(merged, b[at:from])
		at = to
		line := from + mine.moved + 1
		m, o := mine.take(from, to), other.take(from, to)
		switch old := b[from:to]; {
		case same(m, old), same(m, o):
			merged = add(merged, o)
		case same(o, old):
			merged = add(merged, m)
		default:
			chosen := m
			if take {
				chosen = o
			}
			merged = add(merged, chosen)
			conflicts = append(conflicts, Conflict{line, add(nil, old), add(nil, m), add(nil, o)})
		}
	}
	return add(merged, b[at:]), conflicts, nil
}

// A side is one of the two changed texts.
type side struct {
	lines   [][]byte
	changes []Change // from base, without those that are merged
	moved   int      // how many lines the merged changes added to base
}

// next returns the lines [from, to) of base that the first change and all changes touching it cover.
func next(a, b *side) (from, to int) {
	first := a
	if len(a.changes) == 0 || len(b.changes) > 0 && b.changes[0].From < a.changes[0].From {
		first = b
	}
	from, to = first.changes[0].From, first.changes[0].To
	i, j := 0, 0
	for {
		switch {
		case i < len(a.changes) && a.changes[i].From <= to:
			to = max(to, a.changes[i].To)
			i++
		case j < len(b.changes) && b.changes[j].From <= to:
			to = max(to, b.changes[j].To)
			j++
		default:
			return from, to
		}
	}
}

// take returns the lines of the side that replace the lines [from, to) of base, and removes the
// changes in this range.
func (s *side) take(from, to int) [][]byte {
	start := from + s.moved
	for len(s.changes) > 0 && s.changes[0].From <= to {
		c := s.changes[0]
		s.moved += (c.NewTo - c.NewFrom) - (c.To - c.From)
		s.changes = s.changes[1:]
	}
	return s.lines[start : to+s.moved]
}

func same(a, b [][]byte) bool { return slices.EqualFunc(a, b, bytes.Equal) }

// add appends lines to text.
func add(text []byte, lines [][]byte) []byte {
	for _, line := range lines {
		text = append(text, line...)
	}
	return text
}
