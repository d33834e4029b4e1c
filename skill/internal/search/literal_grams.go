package search

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// grams looks for several literals at once, by the stretches of two to four bytes
// that are in them. Whichever literal stands in a text, every step bytes there is
// such a stretch of it, so that only every so many bytes of the text are looked at.
type grams struct {
	fold  bool
	size  int // bytes of a gram
	mask  uint32
	step  int
	list  [1 << gramBits]uint8 // by hash: which of clues; 0 for none
	clues [][]clue
}

// clue is what a gram may be part of.
type clue struct {
	text string
	at   int // of the gram in it
}

const (
	gramBits = 14
	maxStep  = 8
	maxGrams = 250
)

func hash(gram uint32) uint32 { return gram * 0x9E3779B1 >> (32 - gramBits) }

// newGrams returns nil where it is faster to look for each literal by itself.
func newGrams(set []string, fold bool) *grams {
	size, step, cost := bestGrams(set, fold)
	if size == 0 || cost > costOfBytes(set, fold) {
		return nil
	}
	g := &grams{fold: fold, size: size, mask: uint32(1<<(8*size) - 1), step: step, clues: make([][]clue, 1)}
	for _, s := range set {
		first, _ := rarestGrams(s, size, step)
		for at := first; at < first+step; at++ {
			for _, gram := range spellings(s[at:at+size], fold) {
				g.add(gram, clue{s, at})
			}
		}
	}
	return g
}

// bestGrams returns the size of the grams that are found at the least cost, and the
// step; 0 if there are none.
func bestGrams(set []string, fold bool) (size, step int, cost float64) {
	shortest := math.MaxInt
	for _, s := range set {
		shortest = min(shortest, len(s))
	}
	cost = math.Inf(1)
	for n := 2; n <= 4; n++ {
		cases := 1
		if fold {
			cases = 1 << n
		}
		most := min(shortest-n+1, maxStep, maxGrams/cases/len(set))
		if most < 1 {
			break
		}
		sum, counted := 0.0, map[string]bool{}
		for _, s := range set {
			first, _ := rarestGrams(s, n, most)
			for at := first; at < first+most; at++ {
				if gram := s[at : at+n]; !counted[gram] {
					counted[gram] = true
					sum += chance(gram)
				}
			}
		}
		if perByte := (1.0 + 10*sum) / float64(most); perByte < cost {
			size, step, cost = n, most, perByte
		}
	}
	return size, step, cost
}

// rarestGrams returns where n grams of s begin that are less common together than
// others, and how many of all grams those are.
func rarestGrams(s string, size, n int) (at int, share float64) {
	for i := 0; i+n+size-1 <= len(s); i++ {
		sum := 0.0
		for j := i; j < i+n; j++ {
			sum += chance(s[j : j+size])
		}
		if i == 0 || sum < share {
			at, share = i, sum
		}
	}
	return at, share
}

// costOfBytes estimates what it takes per byte of a text, in nanoseconds, to look
// for each literal by its rarest byte.
func costOfBytes(set []string, fold bool) (sum float64) {
	for _, s := range set {
		_, how := rarest(s)
		sum += 0.04 + 30*float64(how)/65536
		if fold {
			sum += 0.04
		}
	}
	return sum
}

// chance estimates how often s stands in a text by the number of its bytes. Letters
// go together more often than each by itself would have it.
func chance(s string) float64 {
	share := 0.25
	for i := range len(s) {
		share *= min(1, 4*float64(commonness[s[i]])/65536)
	}
	return share
}

// spellings returns the grams of a text in lower case.
func spellings(lower string, fold bool) []uint32 {
	all := []uint32{0}
	for i := range len(lower) {
		b := uint32(lower[i])
		for j, gram := range all {
			all[j] = gram | b<<(8*i)
			if fold && 'a' <= b && b <= 'z' {
				all = append(all, gram|(b-'a'+'A')<<(8*i))
			}
		}
	}
	return all
}

func (g *grams) add(gram uint32, c clue) {
	slot := &g.list[hash(gram)]
	if *slot == 0 {
		*slot = uint8(len(g.clues))
		g.clues = append(g.clues, nil)
	}
	g.clues[*slot] = append(g.clues[*slot], c)
}

// seek returns where a literal stands in the first line at or after from that has
// one; or nothing.
func (g *grams) seek(buf []byte, from int) int {
	i, step, mask := from, g.step, g.mask
	if from >= len(buf) {
		return none
	}
	first, list := unsafe.Pointer(&buf[0]), &g.list
	for end := len(buf) - 3*step - 4; i <= end; i += 4 * step {
		one := list[hash(load(first, i)&mask)]
		two := list[hash(load(first, i+step)&mask)]
		three := list[hash(load(first, i+2*step)&mask)]
		four := list[hash(load(first, i+3*step)&mask)]
		if one|two|three|four == 0 {
			continue
		}
		for j, slot := range [4]uint8{one, two, three, four} {
			if slot != 0 {
				if at := verify(g.clues[slot], buf, from, i+j*step, g.fold); at != none {
					return at
				}
			}
		}
	}
	for ; i+g.size <= len(buf); i += step {
		var last [4]byte
		copy(last[:], buf[i:])
		if at := verify(g.clues[g.list[hash(binary.LittleEndian.Uint32(last[:])&mask)]], buf, from, i,
			g.fold); at != none {
			return at
		}
	}
	return none
}

// load returns the four bytes at i. That they are in the buffer which begins at first
// is up to the caller: to check it for each would take longer than all the rest.
func load(first unsafe.Pointer, i int) uint32 {
	return binary.LittleEndian.Uint32((*[4]byte)(unsafe.Add(first, i))[:])
}

// verify returns where one of the literals stands, at or after from, that clues says to be
// there because of the gram at i.
func verify(clues []clue, buf []byte, from, i int, fold bool) int {
	for _, c := range clues {
		start := i - c.at
		if start < from || start+len(c.text) > len(buf) {
			continue
		}
		text := buf[start : start+len(c.text)]
		if string(text) == c.text || fold && equalFold(text, c.text) {
			return start
		}
	}
	return none
}
