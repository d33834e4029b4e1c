package search

import (
	"math"
	"math/bits"
)

// vector looks for several literals at once, 32 places of a text at a time, by up to three
// bytes of each. A mask holds a bit for each of eight groups of literals.
type vector struct {
	fold   bool
	masks  [2 * vectorSize][16]byte // of each byte in turn: by its lower four bits, then by its upper four
	groups [8][]clue
}

func newVector(set []string, fold bool) *vector {
	v := &vector{fold: fold}
	for i, s := range set {
		at, _ := rarestGrams(s, min(vectorSize, len(s)), 1)
		group := i % len(v.groups)
		v.groups[group] = append(v.groups[group], clue{s, at})
		for n := range vectorSize {
			if at+n < len(s) {
				v.add(n, s[at+n], 1<<group)
			} else {
				v.addAll(n, 1<<group)
			}
		}
	}
	return v
}

// vectorSize is how many bytes of a literal are looked for.
const vectorSize = 3

// costOfVector estimates what it takes per byte of a text, in nanoseconds, to look for
// all of set. It is infinite where the processor cannot do it.
func costOfVector(set []string) float64 {
	if !hasVector {
		return math.Inf(1)
	}
	cost := 0.08
	for _, s := range set {
		_, share := rarestGrams(s, min(vectorSize, len(s)), 1)
		cost += 20 * share
	}
	return cost
}

// add lets the byte b through for a group, in the place n.
func (v *vector) add(n int, b, group byte) {
	v.masks[2*n][b&15] |= group
	v.masks[2*n+1][b>>4] |= group
	if v.fold && 'a' <= b && b <= 'z' {
		v.masks[2*n+1][(b-'a'+'A')>>4] |= group
	}
}

// addAll lets every byte through for a group, in the place n, which is after a short literal.
func (v *vector) addAll(n int, group byte) {
	for i := range 16 {
		v.masks[2*n][i] |= group
		v.masks[2*n+1][i] |= group
	}
}

// seek is [grams.seek].
func (v *vector) seek(buf []byte, from int) int {
	for i := from; i < len(buf); i++ {
		if n := len(buf) - (vectorSize - 1) - i; n >= 32 {
			i += skipVector(&buf[i], n, &v.masks)
		}
		groups := byte(0xff)
		for n, b := range buf[i:min(i+vectorSize, len(buf))] {
			groups &= v.masks[2*n][b&15] & v.masks[2*n+1][b>>4]
		}
		for ; groups != 0; groups &= groups - 1 {
			if at := verify(v.groups[bits.TrailingZeros8(groups)], buf, from, i, v.fold); at != none {
				return at
			}
		}
	}
	return none
}
