package search

import (
	"bytes"
	"regexp/syntax"
	"unicode/utf8"
)

// dfa judges text, line by line, with an automaton whose states are made when
// they are first needed. It is for one goroutine. Its answer for a line is what
// package regexp says of the line, or of the line without the CR at its end.
type dfa struct {
	prog  *syntax.Prog
	words bool // the pattern asks for word boundaries

	bounds []rune     // the first rune of each class except LF and wide bytes
	class  [256]uint8 // of each byte; wide for one that begins or continues a longer rune

	stride int     // classes
	moves  []int32 // from state + class to a state, which is the index of its row
	states []state // by row / stride
	rows   map[string]int32
	size   int // bytes that the states take
	start  int32
	within [2]int32 // where a search begins within a line: after a letter of a word if that is 1
	reach  reach

	made   int  // states since the automaton was last empty
	bytes  int  // judged meanwhile
	thrash bool // states are made about as fast as bytes are judged
}

// The first two rows stand for something other than a state.
const (
	unknown = 0 // not made yet, or the byte begins a longer rune
	matched = 1 // times the stride: the line matches
)

// The first two classes are not of runes.
const (
	lineEnd = 0
	wide    = 1
)

// maxStates is how many bytes the states of one automaton take at the most.
const maxStates = 4 << 20

// state is where the program may stand between two runes.
type state struct {
	insts []uint32 // sorted
	flags uint8
}

const (
	begin     = 1 << iota // at the beginning of the line
	afterWord             // after a letter of a word
	beforeCR              // after a CR, and the line without it matches
)

// find returns how far it had to read to know that a line matches, at its LF at
// the latest, -1 if none does. The text begins with a line. The last line needs no
// LF, and a final LF does not begin another. ok is false where the automaton cannot
// tell: at is then in the line in question.
func (d *dfa) find(text []byte) (at int, ok bool) { return d.run(text, d.start) }

// findFrom is find for one line, in which no match begins before from. It may be
// within a rune.
func (d *dfa) findFrom(line []byte, from int) (at int, ok bool) {
	for n := 1; n < utf8.UTFMax && from > 0 && !utf8.RuneStart(line[from]); n++ {
		from--
	}
	if from == 0 {
		return d.run(line, d.start)
	}
	after := 0
	if d.words {
		if r, _ := utf8.DecodeLastRune(line[:from]); isWord(r) {
			after = 1
		}
	}
	return d.run(line[from:], d.within[after])
}

// run is find from the state at row s.
func (d *dfa) run(text []byte, s int32) (at int, ok bool) {
	if d.thrash {
		return 0, false
	}
	from := 0
	moves, class := d.moves, &d.class
	limit := int32(matched * d.stride)
	for i := 0; i < len(text); {
		next := moves[s+int32(class[text[i]])]
		size := 1
		if next <= limit {
			if next == unknown {
				next, size = d.slow(s, text[i:])
				moves = d.moves
				d.bytes += i - from
				from = i
				if d.thrash {
					return i, false
				}
			}
			if next == limit {
				return i, true
			}
		}
		s = next
		i += size
	}
	d.bytes += len(text) - from
	if len(text) > 0 && text[len(text)-1] == '\n' {
		return -1, true
	}
	switch next := d.move(s, lineEnd); {
	case d.thrash:
		return len(text), false
	case next == limit:
		return len(text), true
	}
	return -1, true
}

// slow returns where the first rune of text leads from s, and its bytes.
func (d *dfa) slow(s int32, text []byte) (next int32, size int) {
	if b := text[0]; b < utf8.RuneSelf {
		return d.move(s, int(d.class[b])), 1
	}
	r, size := utf8.DecodeRune(text)
	return d.move(s, d.classOfRune(r)), size
}

// lineAround returns the line of text that at is in, or the line that ends at this LF.
func lineAround(text []byte, at int) (start, end int) {
	start = bytes.LastIndexByte(text[:at], '\n') + 1
	if end = bytes.IndexByte(text[at:], '\n'); end < 0 {
		return start, len(text)
	}
	return start, at + end
}
