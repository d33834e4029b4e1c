package search

import (
	"bytes"
	"math"
)

// needle is one literal and how it is looked for: by its rarest byte.
type needle struct {
	text  string // in lower case where fold is set
	at    int    // of the rarest byte
	bytes [2]byte
	fold  bool // also in upper case; the rarest byte in both where they differ
}

func newNeedle(text string, fold bool) needle {
	at, _ := rarest(text)
	b := text[at]
	n := needle{text: text, at: at, bytes: [2]byte{b, b}, fold: fold}
	if fold && 'a' <= b && b <= 'z' {
		n.bytes[1] = b - 'a' + 'A'
	}
	return n
}

// cursor is how far a buffer has been searched for one needle.
type cursor struct {
	needle
	found int    // the next occurrence
	stops [2]int // the next of each byte
}

// none is behind every buffer.
const none = math.MaxInt

// reset makes the cursor ready for another buffer.
func (c *cursor) reset() { c.found, c.stops = -1, [2]int{-1, -1} }

// seek returns where the needle stands first at or behind from, which never is
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
	last := len(buf) - len(c.text) + c.at // where the byte may stand at the latest
	for i := from + c.at; i <= last; i++ {
		j := bytes.IndexByte(buf[i:last+1], c.bytes[0])
		if j < 0 {
			break
		}
		i += j
		if start := i - c.at; string(buf[start:start+len(c.text)]) == c.text {
			return start
		}
	}
	return none
}

func (c *cursor) either(buf []byte, from int) int {
	last := len(buf) - len(c.text) + c.at
	for i := from + c.at; i <= last; i++ {
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
			return start
		}
	}
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
