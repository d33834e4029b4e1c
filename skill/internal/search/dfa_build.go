package search

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

func newDFA(prog *syntax.Prog) *dfa {
	d := &dfa{prog: prog}
	d.classify()
	d.reach = reach{seen: make([]bool, len(prog.Inst))}
	d.empty()
	return d
}

// classify divides the runes into classes. No instruction distinguishes two runes of a class.
func (d *dfa) classify() {
	cut := []rune{0, '\n', '\n' + 1, '\r', '\r' + 1, 0x80}
	for _, inst := range d.prog.Inst {
		switch inst.Op {
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0 {
				d.words = true
			}
		case syntax.InstRune, syntax.InstRune1:
			cut = append(cut, edges(&inst)...)
		}
	}
	if d.words {
		cut = append(cut, wordEdges()...)
	}
	slices.Sort(cut)
	d.bounds = slices.Compact(cut)
	d.stride = len(d.bounds) + 2
	for b := range d.class {
		d.class[b] = wide
		if b < 0x80 {
			d.class[b] = uint8(d.classOfRune(rune(b)))
		}
	}
	d.class['\n'] = lineEnd
}

// edges returns the first rune of each range that an instruction matches, and the rune after the range.
func edges(inst *syntax.Inst) (cut []rune) {
	if len(inst.Rune) == 1 {
		r := inst.Rune[0]
		cut = append(cut, r, r+1)
		if syntax.Flags(inst.Arg)&syntax.FoldCase != 0 {
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				cut = append(cut, f, f+1)
			}
		}
		return cut
	}
	for i := 0; i < len(inst.Rune); i += 2 {
		cut = append(cut, inst.Rune[i], inst.Rune[i+1]+1)
	}
	return cut
}

func (d *dfa) classOfRune(r rune) int {
	i, found := slices.BinarySearch(d.bounds, r)
	if !found {
		i--
	}
	return i + 2
}

// empty drops all states but those that a search starts with.
func (d *dfa) empty() {
	d.moves = append(d.moves[:0], make([]int32, 2*d.stride)...)
	d.states = append(d.states[:0], state{}, state{})
	d.rows = map[string]int32{}
	d.size, d.made, d.bytes = 0, 0, 0
	d.start, d.within = d.row(nil, begin), [2]int32{d.row(nil, 0), d.row(nil, afterWord)}
}

// row returns the row of a state, and adds the state if it is new.
func (d *dfa) row(insts []uint32, flags uint8) int32 {
	key := make([]byte, 0, 1+4*len(insts))
	key = append(key, flags)
	for _, pc := range insts {
		key = binary.NativeEndian.AppendUint32(key, pc)
	}
	if at, ok := d.rows[string(key)]; ok {
		return at
	}
	at := int32(len(d.moves))
	d.moves = append(d.moves, make([]int32, d.stride)...)
	d.states = append(d.states, state{slices.Clone(insts), flags})
	d.rows[string(key)] = at
	d.size += 4*d.stride + 8*len(insts) + 128
	d.made++
	return at
}

// move returns the row that follows the state at row from after class, and caches it. Above
// maxStates it drops all other states first.
func (d *dfa) move(from int32, class int) int32 {
	if next := d.moves[int(from)+class]; next != unknown {
		return next
	}
	if d.size > maxStates {
		if d.thrash = d.bytes < 20*d.made; d.thrash {
			return unknown
		}
		old := d.states[int(from)/d.stride]
		d.empty()
		from = d.row(old.insts, old.flags)
	}
	next := d.step(d.states[int(from)/d.stride], class)
	d.moves[int(from)+class] = next
	return next
}

func (d *dfa) step(s state, class int) int32 {
	r := rune(-1)
	if class != lineEnd {
		r = d.bounds[class-2]
	}
	if d.follow(s, r) || class == lineEnd && s.flags&beforeCR != 0 {
		return int32(matched * d.stride)
	}
	if class == lineEnd {
		return d.start
	}
	next := d.after(r)
	if r == '\r' && d.follow(s, -1) {
		next.flags |= beforeCR
	}
	return d.row(next.insts, next.flags)
}

// after returns the state after the rune r, which follows the instructions in d.reach that match r.
func (d *dfa) after(r rune) (s state) {
	for _, pc := range d.reach.list {
		if inst := &d.prog.Inst[pc]; inst.MatchRune(r) {
			s.insts = append(s.insts, inst.Out)
		}
	}
	slices.Sort(s.insts)
	s.insts = slices.Compact(s.insts)
	if d.words && isWord(r) {
		s.flags |= afterWord
	}
	return s
}

// simulate matches one line without caching states.
func (d *dfa) simulate(line []byte) bool {
	s := state{flags: begin}
	for len(line) > 0 {
		r, size := utf8.DecodeRune(line)
		if d.follow(s, r) {
			return true
		}
		s, line = d.after(r), line[size:]
	}
	return d.follow(s, -1)
}

// reach is the set of instructions that a state reaches before the next rune.
type reach struct {
	seen  []bool   // by instruction
	stack []uint32 // instructions to follow
	all   []uint32 // instructions in seen
	list  []uint32 // instructions that match a rune
}

// follow fills d.reach with the instructions that s reaches without consuming a rune. next is the
// rune that follows, or -1 at the end of the line. It reports whether the program matches here.
func (d *dfa) follow(s state, next rune) bool {
	before := rune(' ')
	switch {
	case s.flags&begin != 0:
		before = -1
	case s.flags&afterWord != 0:
		before = 'a'
	}
	if r := next; r >= utf8.RuneSelf { // package syntax knows only ASCII words
		if next = ' '; isWord(r) {
			next = 'a'
		}
	}
	given := syntax.EmptyOpContext(before, next)
	q := &d.reach
	for _, pc := range q.all {
		q.seen[pc] = false
	}
	q.all, q.list = q.all[:0], q.list[:0]
	q.stack = append(append(q.stack[:0], s.insts...), uint32(d.prog.Start))
	for len(q.stack) > 0 {
		pc := q.stack[len(q.stack)-1]
		q.stack = q.stack[:len(q.stack)-1]
		if q.seen[pc] {
			continue
		}
		q.seen[pc] = true
		q.all = append(q.all, pc)
		switch inst := &d.prog.Inst[pc]; inst.Op {
		case syntax.InstMatch:
			return true
		case syntax.InstAlt, syntax.InstAltMatch:
			q.stack = append(q.stack, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			q.stack = append(q.stack, inst.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^given == 0 {
				q.stack = append(q.stack, inst.Out)
			}
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			q.list = append(q.list, pc)
		}
	}
	return false
}
