package search

import "strings"

// wildcards is a git pattern: a sequence of elements.
type wildcards []element

// element matches one or more bytes of a path.
type element struct {
	kind   elementKind
	letter byte       // for the kind letter
	set    *[4]uint64 // for oneOf: a bit for each byte
}

type elementKind uint8

const (
	letter   elementKind = iota
	oneOf                // [...]: a byte of the set
	anyOne               // ?: a byte that is not a slash
	star                 // *: any bytes except a slash
	deepStar             // **: any bytes
	dirs                 // **/: nothing, or any bytes and a slash
)

// parseWild reads a pattern; ok is false if nothing can match it.
func parseWild(text string) (w wildcards, ok bool) {
	for i := 0; i < len(text); {
		switch text[i] {
		case '*':
			end := i
			for end < len(text) && text[end] == '*' {
				end++
			}
			e := element{kind: star}
			if end-i > 1 && (i == 0 || text[i-1] == '/') {
				e.kind = starsBefore(text[end:])
			}
			if i = end; e.kind == dirs {
				i++
			}
			w = append(w, e)
			continue
		case '?':
			w = append(w, element{kind: anyOne})
		case '[':
			set, end := parseSet(text[i:])
			if end == 0 {
				return nil, false
			}
			w = append(w, element{kind: oneOf, set: set})
			i += end
		case '\\':
			if i++; i == len(text) {
				return nil, false
			}
			fallthrough
		default:
			w = append(w, element{kind: letter, letter: text[i]})
		}
		i++
	}
	return w, true
}

// starsBefore returns the kind of a ** that the rest of a pattern follows.
func starsBefore(rest string) elementKind {
	switch {
	case rest == "", strings.HasPrefix(rest, `\/`):
		return deepStar
	case rest[0] == '/':
		return dirs
	}
	return star
}

// parseSet parses the class at the start of text and returns the offset of its ]. The offset is 0
// if there is no ] or if a [:name:] in the class is unknown.
func parseSet(text string) (set *[4]uint64, end int) {
	set = new([4]uint64)
	i, negated := 1, false
	if i < len(text) && (text[i] == '!' || text[i] == '^') {
		i, negated = i+1, true
	}
	from := -1 // the character before a possible -, -1 if no range can start there
	for first := true; i < len(text) && (first || text[i] != ']'); first = false {
		c, isRange := text[i], false
		switch {
		case c == '-' && from > 0 && i+1 < len(text) && text[i+1] != ']':
			i++
			c, isRange = text[i], true
		case c == '[' && i+1 < len(text) && text[i+1] == ':':
			named, n := parseNamed(text[i:], set)
			if n < 0 {
				return nil, 0
			}
			if named {
				i, from = i+n, -1
				continue
			}
		}
		if text[i] == '\\' {
			if i++; i == len(text) {
				return nil, 0
			}
			c = text[i]
		}
		if isRange {
			for b := from; b <= int(c); b++ {
				add(set, byte(b))
			}
			from = -1
		} else {
			add(set, c)
			from = int(c)
		}
		i++
	}
	if i >= len(text) {
		return nil, 0
	}
	if negated {
		for n := range set {
			set[n] = ^set[n]
		}
	}
	set['/'/64] &^= 1 << ('/' % 64)
	return set, i
}

func add(set *[4]uint64, b byte) { set[b/64] |= 1 << (b % 64) }

// classes are the named sets of ASCII characters.
var classes = map[string]func(b byte) bool{
	"alnum":  func(b byte) bool { return isAlpha(b) || isDigit(b) },
	"alpha":  isAlpha,
	"blank":  func(b byte) bool { return b == ' ' || b == '\t' },
	"cntrl":  func(b byte) bool { return b < ' ' || b == 127 },
	"digit":  isDigit,
	"graph":  func(b byte) bool { return b > ' ' && b < 127 },
	"lower":  func(b byte) bool { return 'a' <= b && b <= 'z' },
	"print":  func(b byte) bool { return b >= ' ' && b < 127 },
	"punct":  func(b byte) bool { return b > ' ' && b < 127 && !isAlpha(b) && !isDigit(b) },
	"space":  func(b byte) bool { return b == ' ' || '\t' <= b && b <= '\r' },
	"upper":  func(b byte) bool { return 'A' <= b && b <= 'Z' },
	"xdigit": func(b byte) bool { return isDigit(b) || 'a' <= b|0x20 && b|0x20 <= 'f' },
}

func isAlpha(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' }
func isDigit(b byte) bool { return '0' <= b && b <= '9' }

// parseNamed adds the [:name:] at the start of text to set and returns its length n. named is
// false if the next ] has no colon before it. A negative n means that the pattern matches nothing.
func parseNamed(text string, set *[4]uint64) (named bool, n int) {
	end := strings.IndexByte(text[2:], ']')
	if end < 0 {
		return false, -1
	}
	name, ok := strings.CutSuffix(text[2:2+end], ":")
	if !ok {
		return false, 0
	}
	class := classes[name]
	if class == nil {
		return false, -1
	}
	for b := range 128 {
		if class(byte(b)) {
			add(set, byte(b))
		}
	}
	return true, 2 + end + 1
}

// match compares a pattern with all of text. After a mismatch it lets the last star take one more
// byte and retries. Earlier stars need no retry: a * ends at a slash, and for the elements between
// two ** the first match is the best.
func (w wildcards) match(text []byte) bool {
	at, t := 0, 0
	var near, far retry // where to retry for the last *, and for the last **
	for {
		if at < len(w) && w[at].kind >= star {
			if w[at].kind == star {
				near = retry{at + 1, t, true}
			} else {
				near, far = retry{}, retry{at + 1, t, true}
			}
			at++
			continue
		}
		if at == len(w) && t == len(text) ||
			at == len(w) && at > 0 && w[at-1].kind == deepStar {
			return true
		}
		if at < len(w) && t < len(text) && w[at].matchByte(text[t]) {
			at, t = at+1, t+1
			continue
		}
		switch {
		case near.set && near.t < len(text) && text[near.t] != '/':
			near.t++
			at, t = near.at, near.t
		case far.set && far.more(w, text):
			near = retry{}
			at, t = far.at, far.t
		default:
			return false
		}
	}
}

// retry is the position after a star, to go back to after a mismatch.
type retry struct {
	at, t int // in the pattern and in the text
	set   bool
}

// more lets the ** take one more byte, or a **/ the bytes up to the next slash. It returns false
// at the end of text.
func (r *retry) more(w wildcards, text []byte) bool {
	if w[r.at-1].kind == deepStar {
		r.t++
		return r.t <= len(text)
	}
	for r.t < len(text) {
		if r.t++; text[r.t-1] == '/' {
			return true
		}
	}
	return false
}

// matchByte reports whether an element that matches one byte matches b.
func (e *element) matchByte(b byte) bool {
	switch e.kind {
	case letter:
		return b == e.letter
	case oneOf:
		return e.set[b/64]&(1<<(b%64)) != 0
	}
	return b != '/'
}
