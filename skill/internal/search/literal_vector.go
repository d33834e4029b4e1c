package search

import (
	"math"
	"math/bits"
)

// vector searches for several literals at once, at 32 offsets of a text in parallel. It compares
// three bytes of each literal. A mask has a bit for each of eight groups of literals.
type vector struct {
	fold   bool
	masks  [2 * vectorSize][16]byte // two for each of the three bytes: by its lower, then its upper four bits
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

// vectorSize is how many bytes of a literal are compared.
const vectorSize = 3

// costOfVector estimates the nanoseconds per byte of text to search for all strings of set. It is
// infinite if the processor lacks the instructions.
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

// add makes b one of the bytes that match a group at place n.
func (v *vector) add(n int, b, group byte) {
	v.masks[2*n][b&15] |= group
	v.masks[2*n+1][b>>4] |= group
	if v.fold && 'a' <= b && b <= 'z' {
		v.masks[2*n+1][(b-'a'+'A')>>4] |= group
	}
}

// addAll makes all bytes match a group at place n, which is after the end of a short literal.
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
