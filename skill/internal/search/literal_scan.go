package search

import (
	"bytes"
	"math"
	"slices"
)

// cursor is how far a buffer has been searched for one literal. It looks for the
// rarest byte of it: the one that is known to be so, until more was seen.
type cursor struct {
	text   string // in lower case where fold is set
	fold   bool   // also in upper case
	shares []int  // how common each byte of text is, in 65536ths
	at     int    // of the rarest byte
	bytes  [2]byte
	seen   int    // bytes that were searched for this one
	met    int    // and how often it was there, without the rest of the literal
	found  int    // the next occurrence
	stops  [2]int // the next of each byte
}

func newCursor(text string, fold bool) cursor {
	c := cursor{text: text, fold: fold, shares: make([]int, len(text))}
	for i := range text {
		c.shares[i] = int(commonness[text[i]])
	}
	c.choose()
	return c
}

// choose makes the rarest byte the one to look for.
func (c *cursor) choose() {
	c.at = slices.Index(c.shares, slices.Min(c.shares))
	b := c.text[c.at]
	c.bytes = [2]byte{b, b}
	if c.fold && 'a' <= b && b <= 'z' {
		c.bytes[1] = b - 'a' + 'A'
	}
	c.seen, c.met = 0, 0
}

// none is an offset past every buffer.
const none = math.MaxInt

// enough is how many bytes tell how common one of them is in these files.
const enough = 64 << 10

// reset makes the cursor ready for another buffer.
func (c *cursor) reset() {
	c.found, c.stops = -1, [2]int{-1, -1}
	if c.seen < enough {
		return
	}
	share := c.met * 65536 / c.seen
	for i, b := range []byte(c.text) {
		if b == c.text[c.at] {
			c.shares[i] = share
		}
	}
	c.choose()
}

// seek returns where the needle stands first at or after from, which never is
// less than before.
func (c *cursor) seek(buf []byte, from int) int {
	if c.found >= from {
		return c.found
	}
	if c.fold {
		c.found = c.either(buf, from)
	} else {
		c.found = c.exact(buf, from)
	}
	return c.found
}

func (c *cursor) exact(buf []byte, from int) int {
	first, last := from+c.at, len(buf)-len(c.text)+c.at // where the byte may stand
	for i := first; i <= last; i++ {
		j := bytes.IndexByte(buf[i:last+1], c.bytes[0])
		if j < 0 {
			break
		}
		i += j
		if start := i - c.at; string(buf[start:start+len(c.text)]) == c.text {
			c.seen += i - first
			return start
		}
		c.met++
	}
	c.seen += max(0, last-first)
	return none
}

func (c *cursor) either(buf []byte, from int) int {
	first, last := from+c.at, len(buf)-len(c.text)+c.at
	for i := first; i <= last; i++ {
		for k, b := range c.bytes {
			if c.stops[k] < i {
				c.stops[k] = none
				if j := bytes.IndexByte(buf[i:last+1], b); j >= 0 {
					c.stops[k] = i + j
				}
			}
			if c.bytes[1] == c.bytes[0] {
				c.stops[1] = c.stops[0]
				break
			}
		}
		if i = min(c.stops[0], c.stops[1]); i > last {
			break
		}
		if start := i - c.at; equalFold(buf[start:start+len(c.text)], c.text) {
			c.seen += i - first
			return start
		}
		c.met++
	}
	c.seen += max(0, last-first)
	return none
}

// equalFold compares b with a text of ASCII in lower case.
func equalFold(b []byte, lower string) bool {
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
