package search

import (
	"bytes"
	"math"
	"slices"
)

// cursor searches buffers for one literal by its rarest byte. At first commonness decides which
// byte is the rarest, later the bytes of the searched buffers do.
type cursor struct {
	text   string  // in lower case if fold is set
	fold   bool    // ignore case
	shares []int   // how common each byte of text is, in 65536ths
	at     int     // offset of the rarest byte in text
	bytes  [2]byte // the rarest byte in both cases
	seen   int     // bytes of text that were searched for the rarest byte
	misses int     // how often it occurred without the rest of the literal
	found  int     // offset of the next occurrence of the literal
	stops  [2]int  // offset of the next occurrence of each of bytes
}

func newCursor(text string, fold bool) cursor {
	c := cursor{text: text, fold: fold, shares: make([]int, len(text))}
	for i := range text {
		c.shares[i] = int(commonness[text[i]])
	}
	c.choose()
	return c
}

// choose selects the rarest byte of the literal.
func (c *cursor) choose() {
	c.at = slices.Index(c.shares, slices.Min(c.shares))
	b := c.text[c.at]
	c.bytes = [2]byte{b, b}
	if c.fold && 'a' <= b && b <= 'z' {
		c.bytes[1] = b - 'a' + 'A'
	}
	c.seen, c.misses = 0, 0
}

// none is the offset of a literal that was not found. It is beyond every buffer.
const none = math.MaxInt

// minSeen is how many searched bytes suffice to estimate how common a byte is in these files.
const minSeen = 64 << 10

// reset prepares the cursor for another buffer.
func (c *cursor) reset() {
	c.found, c.stops = -1, [2]int{-1, -1}
	if c.seen < minSeen {
		return
	}
	share := c.misses * 65536 / c.seen
	for i, b := range []byte(c.text) {
		if b == c.text[c.at] {
			c.shares[i] = share
		}
	}
	c.choose()
}

// seek returns the offset of the first occurrence of the literal at or after from, or [none].
// from must not decrease between calls.
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
	first, last := from+c.at, len(buf)-len(c.text)+c.at // where the rarest byte may be
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
		c.misses++
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
		c.misses++
	}
	c.seen += max(0, last-first)
	return none
}

// equalFold compares b with an ASCII text in lower case, ignoring case.
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
