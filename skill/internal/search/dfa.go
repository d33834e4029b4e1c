package search

import (
	"bytes"
	"regexp/syntax"
	"unicode/utf8"
)

// dfa matches text line by line. It builds its states when they are first needed. Only one
// goroutine may use it. A line matches if package regexp matches it with or without its final CR.
type dfa struct {
	prog  *syntax.Prog
	words bool // the pattern has word boundaries

	bounds []rune     // the first rune of each class except lineEnd and wide
	class  [256]uint8 // by byte; wide for every byte of a rune that is not ASCII

	stride int              // number of classes, the length of a row
	moves  []int32          // moves[row+class] is the row of the next state
	states []state          // by row / stride
	rows   map[string]int32 // by the key of a state
	size   int              // bytes of memory that the states use
	start  int32            // the row to start with at the beginning of a line
	within [2]int32         // the rows to start with inside a line: 1 after a letter of a word, else 0
	reach  reach

	made   int  // states built since empty was last called
	bytes  int  // bytes matched since then
	thrash bool // too few bytes per new state: the automaton gives up
}

// The first two rows are not states.
const (
	unknown = 0 // the next state is not built yet, or the byte begins a longer rune
	matched = 1 // the line matches; the row is matched * stride
)

// The first two classes are not sets of runes.
const (
	lineEnd = 0
	wide    = 1
)

// maxStates limits the memory of one automaton's states, in bytes.
const maxStates = 4 << 20

// state is a set of instructions that the program may be at between two runes.
type state struct {
	insts []uint32 // sorted
	flags uint8
}

const (
	begin     = 1 << iota // at the beginning of the line
	afterWord             // after a letter of a word
	beforeCR              // after a CR, and the line matches without the CR
)

// find returns an offset in the first line that matches, at most that of its LF; -1 if no line
// matches. text begins at the start of a line. The last line needs no LF, and a final LF begins
// no further line. If ok is false, the automaton gave up in the line that at is in.
func (d *dfa) find(text []byte) (at int, ok bool) { return d.run(text, d.start) }

// findFrom is find for one line in which no match begins before from. from may be inside a rune.
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

// run is find, starting with the state at row s.
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

// slow returns the row that follows s after the first rune of text, and the size of that rune.
func (d *dfa) slow(s int32, text []byte) (next int32, size int) {
	if b := text[0]; b < utf8.RuneSelf {
		return d.move(s, int(d.class[b])), 1
	}
	r, size := utf8.DecodeRune(text)
	return d.move(s, d.classOfRune(r)), size
}

// lineAround returns the bounds of the line that holds at, without its LF. An LF belongs to the line
// that it ends.
func lineAround(text []byte, at int) (start, end int) {
	start = bytes.LastIndexByte(text[:at], '\n') + 1
	if end = bytes.IndexByte(text[at:], '\n'); end < 0 {
		return start, len(text)
	}
	return start, at + end
}
