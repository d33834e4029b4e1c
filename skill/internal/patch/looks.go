package patch

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A look is a way to compare lines, the strictest first.
type look int

const (
	exact look = iota
	endBlanks
	indented
	typography
	notFitting
)

// A fit is how the old lines of a hunk fit the lines of a file.
type fit struct {
	look   look
	note   string // in which way it is loose; "" if it is exact
	indent func(string) (string, bool)
}

// shift gives a new line the indentation of the file; false if it cannot.
func (f fit) shift(text string) (string, bool) {
	if f.indent == nil || strings.TrimSpace(text) == "" {
		return text, true
	}
	blanks := indentation(text)
	moved, ok := f.indent(blanks)
	return moved + text[len(blanks):], ok
}

// fitOf returns the strictest way in which old lines fit, if that is best or stricter.
func fitOf(old []string, lines []line, best look) fit {
	worst := exact
	for i, s := range old {
		if worst = max(worst, lookOf(s, lines[i].text)); worst > best {
			return fit{look: notFitting}
		}
	}
	switch worst {
	case endBlanks:
		return fit{look: endBlanks, note: "blanks at line ends"}
	case indented:
		return shiftOf(old, lines)
	case typography:
		for i, s := range old {
			if indentation(s) != indentation(lines[i].text) {
				return fit{look: notFitting}
			}
		}
		return fit{look: typography, note: "quotes, dashes, blanks or composed letters"}
	}
	return fit{look: worst}
}

// lookOf returns the strictest look in which two lines are the same.
func lookOf(a, b string) look {
	switch {
	case a == b:
		return exact
	case strings.TrimRightFunc(a, unicode.IsSpace) == strings.TrimRightFunc(b, unicode.IsSpace):
		return endBlanks
	case strings.TrimSpace(a) == strings.TrimSpace(b):
		return indented
	case plain(a) == plain(b):
		return typography
	}
	return notFitting
}

func indentation(s string) string { return s[:len(s)-len(strings.TrimLeft(s, " \t"))] }

// widths are how many blanks of the patch may be how many of the file.
var widths = [][2]int{{2, 4}, {4, 2}, {1, 2}, {1, 4}, {4, 8}, {8, 4}, {2, 8}, {2, 3}, {3, 4}, {4, 3}, {3, 2}}

// shiftOf returns the one way that turns the indentation of all old lines into that of the file.
func shiftOf(old []string, lines []line) fit {
	var pairs [][2]string
	for i, s := range old {
		if strings.TrimSpace(s) != "" {
			pairs = append(pairs, [2]string{indentation(s), indentation(lines[i].text)})
		}
	}
	for _, way := range ways(pairs) {
		fits := true
		for _, p := range pairs {
			got, ok := way.indent(p[0])
			fits = fits && ok && got == p[1]
		}
		if fits {
			return way
		}
	}
	return fit{look: notFitting}
}

// ways returns the shifts that may turn the first of each pair into the second.
func ways(pairs [][2]string) (list []fit) {
	add := func(note string, indent func(string) (string, bool)) {
		list = append(list, fit{indented, "the indentation: " + note, indent})
	}
	for _, p := range pairs {
		from, to := p[0], p[1]
		if more, ok := strings.CutSuffix(to, from); ok && more != "" {
			add(blanks(more)+" more before each line",
				func(s string) (string, bool) { return more + s, true })
		}
		if less, ok := strings.CutSuffix(from, to); ok && less != "" {
			add(blanks(less)+" fewer before each line",
				func(s string) (string, bool) { return strings.CutPrefix(s, less) })
		}
	}
	for _, n := range []int{1, 2, 3, 4, 8} {
		add(fmt.Sprintf("%d blanks of the patch are a tab of the file", n), ratio(" ", n, "\t", 1))
		add(fmt.Sprintf("a tab of the patch is %d blanks of the file", n), ratio("\t", 1, " ", n))
	}
	for _, w := range widths {
		add(fmt.Sprintf("%d blanks of the patch are %d of the file", w[0], w[1]), ratio(" ", w[0], " ", w[1]))
	}
	return list
}

// ratio returns a function that makes n times to of each m times from.
func ratio(from string, m int, to string, n int) func(string) (string, bool) {
	return func(s string) (string, bool) {
		if strings.Trim(s, from) != "" || len(s)%m != 0 {
			return "", false
		}
		return strings.Repeat(to, len(s)/m*n), true
	}
}

func blanks(s string) string {
	unit := "blank"
	if strings.Trim(s, "\t") == "" {
		unit = "tab"
	}
	if len(s) > 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", len(s), unit)
}

// key is the same for lines that are the same in any look.
func key(s string) string { return strings.TrimSpace(plain(s)) }

// plain is a line without blanks at its end, and with the quotation marks, dashes, blanks and
// letters that a keyboard has.
func plain(s string) string {
	s = strings.TrimRightFunc(s, unicode.IsSpace)
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return strings.TrimRightFunc(norm.NFC.String(strings.Map(keyboard, s)), unicode.IsSpace)
		}
	}
	return s
}

func keyboard(r rune) rune {
	if unicode.Is(unicode.Zs, r) {
		return ' '
	}
	return Straight(r)
}

// Compose returns a text with its letters composed, as in NFC.
func Compose(s string) string { return norm.NFC.String(s) }

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
