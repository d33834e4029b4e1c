package page

import (
	"strings"
	"unicode/utf8"
)

// How much of a text is shown.
const (
	maxSentence = 1000      // bytes of a name or a sentence
	maxText     = 8 << 10   // bytes of words, arguments or results
	maxLines    = 200       // lines of words, arguments or results
	maxDiff     = 256 << 10 // bytes of a diff or a log
	maxDiffs    = 3000      // lines of a diff
)

// A long is a text that templates show in full. They cut a string after maxSentence bytes.
type long string

// An excerpt is the beginning of a text.
type excerpt struct {
	Text long
	Cut  bool // the text is longer
}

// cut returns the beginning of a text: at most so many bytes and lines.
func cut(text string, bytes, lines int) excerpt {
	head := text
	if len(head) > bytes {
		head = head[:bytes]
		for len(head) > 0 && !utf8.RuneStart(text[len(head)]) {
			head = head[:len(head)-1]
		}
	}
	for at, n := 0, 0; ; n++ {
		end := strings.IndexByte(head[at:], '\n')
		if end < 0 {
			break
		}
		if at += end + 1; n+1 == lines {
			head = head[:at]
			break
		}
	}
	return excerpt{long(head), len(head) < len(text)}
}

// line returns the first line of a text, and … in place of further lines.
func line(text string) string {
	text = strings.TrimSpace(text)
	if first, _, more := strings.Cut(text, "\n"); more {
		return strings.TrimSpace(first) + " …"
	}
	return text
}

// A folded text shows only its first line until the reader opens it. A short text is not folded.
type folded struct {
	excerpt
	First string // "" for a short text
	Lines int
	More  string // command that prints the whole text
}

func fold(text, more string) folded {
	f := folded{excerpt: cut(text, maxText, maxLines), More: more}
	f.Lines = strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1
	if len(f.Text) > 600 || f.Lines > 8 {
		f.First = line(text)
	}
	return f
}

// A diff is the beginning of a unified diff.
type diff struct {
	Label string
	Lines []diffLine
	Cut   bool
	More  string // command that prints the whole diff
}

type diffLine struct {
	Class string
	Text  long
}

// difference returns a diff of at most so many bytes and lines.
func difference(label, text, more string, bytes, lines int) *diff {
	d := &diff{Label: label, More: more}
	if strings.TrimSpace(text) == "" {
		return d
	}
	head := cut(text, bytes, lines)
	d.Cut = head.Cut
	for line := range strings.Lines(string(head.Text)) {
		class := ""
		switch {
		case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
			class = "head"
		case strings.HasPrefix(line, "@@"):
			class = "hunk"
		case strings.HasPrefix(line, "+"):
			class = "add"
		case strings.HasPrefix(line, "-"):
			class = "del"
		}
		d.Lines = append(d.Lines, diffLine{class, long(line)})
	}
	return d
}

// A block is a part of a model's text: a code block, or a line.
type block struct {
	Code  long
	Spans []span
}

// A span is a part of a line.
type span struct {
	Text       long
	Bold, Code bool
}

// marked finds the headings, code and bold words of a model's text. It ignores links and pictures,
// so that the page does not fetch them.
func marked(text long) (blocks []block) {
	fence := false
	for line := range strings.Lines(string(text)) {
		trimmed := strings.TrimSpace(line)
		title := strings.TrimLeft(trimmed, "#")
		switch marks := len(trimmed) - len(title); {
		case strings.HasPrefix(trimmed, "```"):
			if fence = !fence; fence {
				blocks = append(blocks, block{})
			}
		case fence:
			blocks[len(blocks)-1].Code += long(line)
		case 0 < marks && marks <= 6 && strings.HasPrefix(title, " "):
			blocks = append(blocks, block{Spans: []span{{Text: long(strings.TrimSpace(title)), Bold: true},
				{Text: "\n"}}})
		default:
			blocks = append(blocks, block{Spans: spans(line)})
		}
	}
	return blocks
}

// spans finds the code and bold words of a line.
func spans(line string) (list []span) {
	add := func(s span) {
		if s.Text != "" {
			list = append(list, s)
		}
	}
	for line != "" {
		i := strings.IndexAny(line, "`*")
		if i < 0 {
			break
		}
		mark := line[i : i+1]
		if strings.HasPrefix(line[i:], "**") {
			mark = "**"
		}
		inner, rest, closed := strings.Cut(line[i+len(mark):], mark)
		if mark == "*" || !closed || inner == "" || strings.TrimSpace(inner) != inner {
			add(span{Text: long(line[:i+len(mark)])})
			line = line[i+len(mark):]
			continue
		}
		add(span{Text: long(line[:i])})
		add(span{Text: long(inner), Code: mark == "`", Bold: mark == "**"})
		line = rest
	}
	add(span{Text: long(line)})
	return list
}
