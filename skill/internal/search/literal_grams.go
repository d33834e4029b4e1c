package search

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// grams searches for several literals at once by their grams: substrings of two to four bytes.
// It has step consecutive grams of each literal. So it suffices to look at every step-th byte of
// a text: one of these bytes begins a gram of the literal.
type grams struct {
	fold  bool
	size  int    // bytes of a gram
	mask  uint32 // for the low size bytes
	step  int
	list  [1 << gramBits]uint8 // by hash of a gram: an index of clues, 0 for no gram
	clues [][]clue
}

// clue is a literal that a gram may be part of.
type clue struct {
	text string
	at   int // offset of the gram in text
}

const (
	gramBits = 14
	maxStep  = 8
	maxGrams = 250
)

func hash(gram uint32) uint32 { return gram * 0x9E3779B1 >> (32 - gramBits) }

// newGrams returns nil if it is faster to search for each literal separately.
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

// bestGrams returns the size and step of the grams with the least cost per byte. The size is 0 if a
// literal is too short.
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

// rarestGrams returns the offset of the n consecutive grams of s that are the least common
// together, and their share of all grams in a text.
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

// costOfBytes estimates the nanoseconds per byte of text to search for each literal by its rarest
// byte.
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

// chance estimates how often s occurs per byte of text. The factors 0.25 and 4 allow for letters
// that often occur together.
func chance(s string) float64 {
	share := 0.25
	for i := range len(s) {
		share *= min(1, 4*float64(commonness[s[i]])/65536)
	}
	return share
}

// spellings returns the gram of a short text in lower case; with fold, in all mixtures of case.
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

// seek returns the offset of a literal in the first line at or after from that contains one, or
// [none].
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

// load returns the four bytes at offset i of the buffer that begins at first. The caller ensures
// that i is in range: a check for each load would take longer than the rest of the search.
func load(first unsafe.Pointer, i int) uint32 {
	return binary.LittleEndian.Uint32((*[4]byte)(unsafe.Add(first, i))[:])
}

// verify returns the offset of a literal of clues whose gram is at i, if it begins at or after
// from; else [none].
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
