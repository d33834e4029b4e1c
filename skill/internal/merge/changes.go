package merge

import (
	"bytes"
	"math"
)

// A Change replaces the old lines [From, To) by the new lines [NewFrom, NewTo).
type Change struct{ From, To, NewFrom, NewTo int }

// Split returns the lines of a text. A last line without a line feed is a line too.
func Split(text []byte) [][]byte {
	lines := make([][]byte, 0, bytes.Count(text, []byte("\n"))+1)
	for line := range bytes.Lines(text) {
		lines = append(lines, line)
	}
	return lines
}

// Changes returns the changes from the old lines to the new lines, in order. At least one equal line
// is between two changes. A change that fits in several places is in the last of them, as in git.
// The changes are minimal, unless the texts differ very much.
func Changes(old, new [][]byte) []Change {
	head := 0
	for head < len(old) && head < len(new) && bytes.Equal(old[head], new[head]) {
		head++
	}
	tail := 0
	for tail < min(len(old), len(new))-head && bytes.Equal(old[len(old)-1-tail], new[len(new)-1-tail]) {
		tail++
	}
	d := differ{gone: make([]bool, len(old)), come: make([]bool, len(new))}
	d.number(old, new, head, tail)
	d.fore, d.back = make([]int, len(d.a)+len(d.b)+3), make([]int, len(d.a)+len(d.b)+3)
	d.most = min(256, 16+1<<26/(1+len(d.a)+len(d.b))) // keeps two texts of 2,000,000 lines under 2 s
	d.compare(0, len(d.a), 0, len(d.b))
	slide(old, d.gone, d.come)
	slide(new, d.come, d.gone)
	return d.changes()
}

// A differ compares two texts.
type differ struct {
	gone, come []bool // for each line of the old and the new text: it is in a change
	a, b       []int  // the lines between head and tail that occur in both texts; equal lines, equal numbers
	aAt, bAt   []int  // the indexes of these lines in their texts
	fore, back []int  // by diagonal: the furthest line of a on a path from the start, and from the end
	most       int    // how many differences middle tries before it accepts a path that may not be shortest
}

// number numbers the lines between head and tail in a and b. It marks lines that occur in only one
// of the texts as changed.
func (d *differ) number(old, new [][]byte, head, tail int) {
	old, new = old[:len(old)-tail], new[:len(new)-tail]
	type known struct {
		number int
		both   bool
	}
	table := make(map[string]*known, len(old)-head)
	for _, line := range old[head:] {
		if table[string(line)] == nil {
			table[string(line)] = &known{number: len(table)}
		}
	}
	for i, line := range new[head:] {
		k := table[string(line)]
		if k == nil {
			d.come[head+i] = true
			continue
		}
		k.both = true
		d.b, d.bAt = append(d.b, k.number), append(d.bAt, head+i)
	}
	for i, line := range old[head:] {
		k := table[string(line)]
		if !k.both {
			d.gone[head+i] = true
			continue
		}
		d.a, d.aAt = append(d.a, k.number), append(d.aAt, head+i)
	}
}

// compare marks the lines of a[i:j] and b[k:l] outside their longest common subsequence. It is the
// linear-space variant of Myers' algorithm.
func (d *differ) compare(i, j, k, l int) {
	for {
		for i < j && k < l && d.a[i] == d.b[k] {
			i, k = i+1, k+1
		}
		for i < j && k < l && d.a[j-1] == d.b[l-1] {
			j, l = j-1, l-1
		}
		if i == j || k == l {
			break
		}
		x, y := d.middle(i, j, k, l)
		d.compare(i, x, k, y)
		i, k = x, y
	}
	for ; i < j; i++ {
		d.gone[d.aAt[i]] = true
	}
	for ; k < l; k++ {
		d.come[d.bAt[k]] = true
	}
}

// A band holds the diagonals that the paths of one direction have reached.
type band struct {
	at       []int // by diagonal + zero: the furthest line of a
	zero     int
	min, max int
}

// widen adds a diagonal on each side, within [low, high]. outside is the value of a diagonal that
// no path has reached.
func (b *band) widen(low, high, outside int) {
	if b.min > low {
		b.min--
		b.at[b.zero+b.min-1] = outside
	} else {
		b.min++
	}
	if b.max < high {
		b.max++
		b.at[b.zero+b.max+1] = outside
	} else {
		b.max--
	}
}

func (b *band) has(diagonal int) bool { return b.min <= diagonal && diagonal <= b.max }

// middle returns a point between (i, k) and (j, l) on a shortest path, or on a good path if all
// paths are long.
func (d *differ) middle(i, j, k, l int) (x, y int) {
	zero := len(d.b) + 1
	fore := band{d.fore, zero, i - k, i - k}
	back := band{d.back, zero, j - l, j - l}
	fore.at[zero+i-k], back.at[zero+j-l] = i, j
	odd := (i-k-j+l)%2 != 0
	for cost := 1; ; cost++ {
		fore.widen(i-l, j-k, -1)
		for g := fore.max; g >= fore.min; g -= 2 {
			x := max(fore.at[zero+g-1]+1, fore.at[zero+g+1])
			for x < j && x-g < l && d.a[x] == d.b[x-g] {
				x++
			}
			fore.at[zero+g] = x
			if odd && back.has(g) && back.at[zero+g] <= x {
				return x, x - g
			}
		}
		back.widen(i-l, j-k, math.MaxInt)
		for g := back.max; g >= back.min; g -= 2 {
			x := min(back.at[zero+g-1], back.at[zero+g+1]-1)
			for x > i && x-g > k && d.a[x-1] == d.b[x-g-1] {
				x--
			}
			back.at[zero+g] = x
			if !odd && fore.has(g) && x <= fore.at[zero+g] {
				return x, x - g
			}
		}
		if cost >= d.most {
			return fore.furthest(j, l)
		}
	}
}

// furthest returns the furthest point that the paths from the start have reached.
func (b *band) furthest(j, l int) (x, y int) {
	best := -1
	for g := b.max; g >= b.min; g -= 2 {
		at := min(b.at[b.zero+g], j, l+g)
		if 2*at-g > best {
			best, x, y = 2*at-g, at, at-g
		}
	}
	return x, y
}

// changes returns the runs of marked lines as changes.
func (d *differ) changes() (list []Change) {
	for i, k := 0, 0; i < len(d.gone) || k < len(d.come); i, k = i+1, k+1 {
		c := Change{i, i, k, k}
		for c.To < len(d.gone) && d.gone[c.To] {
			c.To++
		}
		for c.NewTo < len(d.come) && d.come[c.NewTo] {
			c.NewTo++
		}
		if i, k = c.To, c.NewTo; c.To > c.From || c.NewTo > c.NewFrom {
			list = append(list, c)
		}
	}
	return list
}

// slide moves each run of marked lines to the last equivalent place, or to an equivalent place where
// the other text has marked lines too. Runs that meet become one run.
func slide(lines [][]byte, marked, others []bool) {
	g, o := firstRun(marked), firstRun(others)
	for {
		if g.start < g.end {
			first, met := g.settle(lines, &o)
			for met && g.end > first && o.start == o.end {
				g.up(lines)
				o.previous()
			}
		}
		if !g.next() {
			return
		}
		o.next()
	}
}

// A run is the marked lines [start, end) between two unmarked lines. It may be empty.
type run struct {
	marked     []bool
	start, end int
}

func firstRun(marked []bool) run {
	r := run{marked: marked}
	r.grow()
	return r
}

func (r *run) grow() {
	for r.end < len(r.marked) && r.marked[r.end] {
		r.end++
	}
}

func (r *run) next() bool {
	if r.end == len(r.marked) {
		return false
	}
	r.start, r.end = r.end+1, r.end+1
	r.grow()
	return true
}

func (r *run) previous() {
	r.end = r.start - 1
	r.start = r.end
	for r.start > 0 && r.marked[r.start-1] {
		r.start--
	}
}

// up moves the run up by a line, if that place is equivalent.
func (r *run) up(lines [][]byte) bool {
	if r.start == 0 || !bytes.Equal(lines[r.start-1], lines[r.end-1]) {
		return false
	}
	r.start, r.end = r.start-1, r.end-1
	r.marked[r.start], r.marked[r.end] = true, false
	for r.start > 0 && r.marked[r.start-1] {
		r.start--
	}
	return true
}

// down moves the run down by a line, if that place is equivalent.
func (r *run) down(lines [][]byte) bool {
	if r.end == len(lines) || !bytes.Equal(lines[r.start], lines[r.end]) {
		return false
	}
	r.marked[r.start], r.marked[r.end] = false, true
	r.start, r.end = r.start+1, r.end+1
	r.grow()
	return true
}

// settle moves the run down as far as possible. It returns the lowest end of all equivalent places,
// and whether the other text has marked lines at one of them. o is the run of the other text at
// the same place.
func (r *run) settle(lines [][]byte, o *run) (first int, met bool) {
	for {
		size := r.end - r.start
		for r.up(lines) {
			o.previous()
		}
		first, met = r.end, o.start < o.end
		for r.down(lines) {
			o.next()
			met = met || o.start < o.end
		}
		if r.end-r.start == size {
			return first, met
		}
	}
}
