package process

import (
	"bytes"
	"os"
	"slices"
	"strings"
)

const redacted = "[redacted]"

// secretValues returns the values of the variables that hold credentials, except short ones.
func (x *Runner) secretValues() (values []string) {
	for _, set := range os.Environ() {
		if name, value, _ := strings.Cut(set, "="); len(value) >= minSecret && x.isSecret(name, value) {
			values = append(values, value)
		}
	}
	return values
}

// minSecret is the fewest bytes of a value that is taken out of text.
const minSecret = 8

// A hider passes a stream on without secrets, also where a write ends within one.
type hider struct {
	secrets []string
	pass    func([]byte)
	held    []byte // the end of what was written, with which a secret may begin
}

func (h *hider) write(p []byte) {
	if len(h.secrets) == 0 {
		h.pass(p)
		return
	}
	h.flow(append(h.held, p...), false)
}

// end passes on what is held.
func (h *hider) end() { h.flow(h.held, true) }

// flow passes on a text but for an end with which a secret may begin, if it is not the last one.
func (h *hider) flow(text []byte, last bool) {
	var out []byte
	from, next := 0, make([]int, len(h.secrets)) // where each is found
	for i := range next {
		next[i] = -1
	}
	for {
		at, length := len(text), 0
		for i, s := range h.secrets {
			if next[i] < from {
				next[i] = len(text)
				if n := bytes.Index(text[from:], []byte(s)); n >= 0 {
					next[i] = from + n
				}
			}
			if next[i] < at || length > 0 && next[i] == at && len(s) > length {
				at, length = next[i], len(s)
			}
		}
		longer := func(s string) bool { return len(s) > len(text)-at && strings.HasPrefix(s, string(text[at:])) }
		if length == 0 || !last && slices.ContainsFunc(h.secrets, longer) {
			break
		}
		out = append(append(out, text[from:at]...), redacted...)
		from = at + length
	}
	keep := 0
	for _, s := range h.secrets {
		if !last {
			keep = max(keep, overlap(text[from:], s))
		}
	}
	h.held = slices.Clone(text[len(text)-keep:])
	if out = append(out, text[from:len(text)-keep]...); len(out) > 0 {
		h.pass(out)
	}
}

// overlap returns how many bytes at the end of a text begin a secret, but not all of it.
func overlap(text []byte, secret string) int {
	for n := min(len(text), len(secret)-1); n > 0; n-- {
		if string(text[len(text)-n:]) == secret[:n] {
			return n
		}
	}
	return 0
}
