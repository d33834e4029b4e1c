package llmfallback

import (
	"fmt"
	"strings"
)

// Quoted texts of more than longQuote bytes stay on the machine.
const longQuote = 80

// A masked prompt is what leaves the machine: the first line of the prompt, with
// marks instead of the texts that stay.
type masked struct {
	wire   string
	prefix string   // marks are prefix + number from 1 + "]]"
	texts  []string // the texts that the marks stand for, unchanged
}

// mask hides everything after a word of class marker, every line after the first, fenced
// blocks and long quotes.
func mask(prompt string) masked {
	m := masked{prefix: "[[T"}
	for c := 'A'; strings.Contains(prompt, m.prefix); c++ {
		m.prefix += string(c)
	}
	var wire strings.Builder
	unclosed, from := "", 0
	hide := func(at, end int, text string) {
		m.texts = append(m.texts, text)
		wire.WriteString(prompt[from:at])
		fmt.Fprintf(&wire, "%s%d]]", m.prefix, len(m.texts))
		from = end
	}
	lineBegun := false
	for i := 0; i < len(prompt); {
		rest := prompt[i:]
		switch c := prompt[i]; {
		case c == '\n' && !lineBegun, c == ' ', c == '\t', c == '\r':
			i++
			continue
		case c == '\n':
			i = hideRest(prompt, i+1, hide)
			continue
		case strings.HasPrefix(rest, "```"):
			if n := strings.Index(rest[3:], "```"); n >= 0 {
				hide(i, i+n+6, rest[3:3+n])
				i += n + 6
				lineBegun = true
				continue
			}
		}
		lineBegun = true
		if w, ok := quote(prompt, i, &unclosed); ok {
			if len(w.text) > longQuote || strings.Contains(w.text, "\n") {
				hide(i, w.end, w.text)
			}
			i = w.end
			continue
		}
		end := i
		for end < len(prompt) && strings.IndexByte(" \t\r\n:", prompt[end]) < 0 {
			end++
		}
		word := prompt[i:end]
		i = max(end, i+1)
		if colon := skip(prompt, end, " \t"); colon < len(prompt) && prompt[colon] == ':' &&
			compiled().marks(word) {
			i = hideRest(prompt, colon+1, hide)
		}
	}
	wire.WriteString(prompt[from:])
	m.wire = wire.String()
	return m
}

// hideRest hides the prompt from i on, without the white space around it, and
// without a fence that holds all of it. It returns the end of the prompt.
func hideRest(prompt string, i int, hide func(at, end int, text string)) int {
	i = skip(prompt, i, " \t\r\n")
	text := strings.TrimRight(prompt[i:], " \t\r\n")
	if text == "" {
		return len(prompt)
	}
	inner, ok := unfenced(text)
	if !ok {
		inner = text
	}
	hide(i, i+len(text), inner)
	return len(prompt)
}

func skip(s string, i int, set string) int {
	for i < len(s) && strings.IndexByte(set, s[i]) >= 0 {
		i++
	}
	return i
}

// restore replaces the marks in s by the hidden texts. It returns how often each
// text was put in.
func (m masked) restore(s string) (text string, times []int) {
	times = make([]int, len(m.texts))
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, m.prefix)
		b.WriteString(before)
		if !found {
			return b.String(), times
		}
		digits, tail, closed := strings.Cut(after, "]]")
		n := 0
		if _, err := fmt.Sscanf(digits, "%d", &n); !closed || err != nil || fmt.Sprint(n) != digits ||
			n < 1 || n > len(m.texts) {
			b.WriteString(m.prefix)
			s = after
			continue
		}
		b.WriteString(m.texts[n-1])
		times[n-1]++
		s = tail
	}
}
