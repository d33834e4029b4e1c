package patch

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// A Miss is a hunk whose old lines are not in the file.
type Miss struct {
	Line   int    // of the patch, from 1: where the hunk begins
	Wanted string // the line that was looked for
}

// Apply returns the text after the hunks were applied to it, in their order. Lines that match
// only in other white space or in other quotation marks and dashes than the patch has stay as
// they are; new lines get the line ends of those around them.
func Apply(text string, hunks []Hunk) (string, *Miss) {
	mark := ""
	if rest, ok := strings.CutPrefix(text, "\ufeff"); ok {
		mark, text = "\ufeff", rest
	}
	t := &target{lines: split(text)}
	var edits []edit
	for _, h := range hunks {
		e, miss := t.place(h)
		if miss != nil {
			return "", miss
		}
		edits = append(edits, e)
	}
	return mark + t.join(edits), nil
}

// A target is a text that is patched.
type target struct {
	lines []line
	at    int // lines before it are done
	moved int // how far hunks so far were from where they were thought to be
}

type line struct{ text, end string }

// split returns the lines of a text with their ends.
func split(text string) (lines []line) {
	for l := range strings.Lines(text) {
		body := strings.TrimSuffix(l, "\n")
		if crlf := strings.TrimSuffix(body, "\r"); len(body) < len(l) && len(crlf) < len(body) {
			body = crlf
		}
		lines = append(lines, line{body, l[len(body):]})
	}
	return lines
}

// An edit is a hunk at its place.
type edit struct {
	at    int
	lines []Line
}

// place finds where a hunk belongs.
func (t *target) place(h Hunk) (edit, *Miss) {
	for _, anchor := range h.Anchors {
		i := t.find([]string{anchor}, -1, false)
		if i < 0 && h.At > 0 {
			continue // git prints there what may be above an earlier hunk
		}
		if i < 0 {
			return edit{}, &Miss{h.Line, anchor}
		}
		t.at = i + 1
	}
	lines := h.Lines
	old := oldLines(lines)
	if len(old) == 0 {
		i := len(t.lines)
		if h.At > 0 {
			i = max(t.at, min(i, h.At-1+t.moved))
		}
		t.at = i
		return edit{i, lines}, nil
	}
	i := t.find(old, h.At-1, h.End)
	if last := lines[len(lines)-1]; i < 0 && last.Mark == ' ' && last.Text == "" && len(old) > 1 {
		lines, old = lines[:len(lines)-1], old[:len(old)-1] // a blank line too many at the end
		i = t.find(old, h.At-1, h.End)
	}
	if i < 0 {
		return edit{}, &Miss{h.Line, t.missed(old)}
	}
	if h.At > 0 {
		t.moved = i - (h.At - 1)
	}
	t.at = i + len(old)
	return edit{i, lines}, nil
}

func oldLines(lines []Line) (old []string) {
	for _, l := range lines {
		if l.Mark != '+' {
			old = append(old, l.Text)
		}
	}
	return old
}

// looks are the ways to compare lines, the strictest first.
var looks = []func(string) string{
	func(s string) string { return s },
	func(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) },
	strings.TrimSpace,
	plain,
}

// find returns the index of the first line of old, -1 if old is not in what is left. Of
// several places it returns the one nearest to near, or with near below 0 the first; with end
// the one at the end of the file comes first.
func (t *target) find(old []string, near int, end bool) int {
	if len(old) > len(t.lines)-t.at {
		return -1
	}
	if near >= 0 {
		near = max(0, near+t.moved)
	}
	for _, look := range looks {
		want := make([]string, len(old))
		for i, s := range old {
			want[i] = look(s)
		}
		matches := func(i int) bool {
			for j, s := range want {
				if look(t.lines[i+j].text) != s {
					return false
				}
			}
			return true
		}
		last, best := len(t.lines)-len(old), -1
		if end && matches(last) {
			return last
		}
		for i := t.at; i <= last; i++ {
			if (best < 0 || distance(i, near) < distance(best, near)) && matches(i) {
				if best = i; near < 0 {
					return i
				}
			}
		}
		if best >= 0 {
			return best
		}
	}
	return -1
}

func distance(a, b int) int { return max(a-b, b-a) }

// missed returns the first of the lines that is in no place of the file, or else the first.
func (t *target) missed(old []string) string {
	for _, want := range old {
		if !slices.ContainsFunc(t.lines[t.at:], func(l line) bool { return plain(l.text) == plain(want) }) {
			return want
		}
	}
	return old[0]
}

// plain is a line without white space at its ends, and with the quotation marks, dashes and
// blanks that a keyboard has.
func plain(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.Is(unicode.Zs, r) {
			return ' '
		}
		return Straight(r)
	}, s))
}

// Straight returns the quote or dash of ASCII that a typographic one stands for.
func Straight(r rune) rune {
	switch r {
	case '\u2018', '\u2019', '\u201a', '\u201b':
		return '\''
	case '\u201c', '\u201d', '\u201e', '\u201f':
		return '"'
	case '\u2010', '\u2011', '\u2012', '\u2013', '\u2014', '\u2015', '\u2212':
		return '-'
	}
	return r
}

// join returns the text with the edits made.
func (t *target) join(edits []edit) string {
	usual := "\n"
	if len(t.lines) > 0 {
		usual = cmp.Or(t.lines[0].end, "\n")
	}
	var out []line
	at := 0
	for _, e := range edits {
		out = append(out, t.lines[at:e.at]...)
		at = e.at
		for _, l := range e.lines {
			switch l.Mark {
			case '-':
				at++
			case ' ':
				out = append(out, t.lines[at])
				at++
			default:
				out = append(out, line{l.Text, t.lineEnd(at, l.Bare, usual)})
			}
		}
	}
	out = append(out, t.lines[at:]...)
	var b strings.Builder
	for i, l := range out {
		b.WriteString(l.text)
		if l.end == "" && i < len(out)-1 {
			l.end = usual
		}
		b.WriteString(l.end)
	}
	return b.String()
}

// lineEnd is the end of a new line that comes before the line at.
func (t *target) lineEnd(at int, bare bool, usual string) string {
	switch {
	case bare:
		return ""
	case at > 0:
		return cmp.Or(t.lines[at-1].end, usual)
	}
	return usual
}
