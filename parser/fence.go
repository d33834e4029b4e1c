package parser

import "strings"

// A Block is a fenced block at the beginning of a text.
type Block struct {
	Inside string // with the last line break
	After  string // the text after the block
	Line   int    // on which Inside begins, counted from 1
}

// Fenced returns the fenced block that a text begins with. A fence is a line of three or more ` or ~. A fence
// with an info string inside the block, such as ```js, begins a block within it. ok is
// false if the block has no end, or if another fence follows it: then either may be the end.
func Fenced(text string) (b Block, ok bool) {
	line, rest := cutLine(text)
	for b.Line = 2; rest != "" && trimSpace(line) == ""; b.Line++ {
		line, rest = cutLine(rest)
	}
	open, size, _ := fence(line)
	if size == 0 {
		return Block{}, false
	}
	start, depth := len(text)-len(rest), 1
	for depth > 0 {
		if rest == "" {
			return Block{}, false
		}
		b.Inside = text[start : len(text)-len(rest)]
		line, rest = cutLine(rest)
		switch mark, n, info := fence(line); {
		case n < size || mark != open:
		case info:
			depth++
		default:
			depth--
		}
	}
	b.After = rest
	for rest != "" {
		if line, rest = cutLine(rest); IsFence(line) {
			return Block{}, false
		}
	}
	return b, true
}

// IsFence reports whether a line begins or ends a fenced block.
func IsFence(line string) bool {
	_, n, _ := fence(line)
	return n > 0
}

// cutLine returns the first line of a text with its line break, and the rest.
func cutLine(text string) (line, rest string) {
	if end := strings.IndexByte(text, '\n'); end >= 0 {
		return text[:end+1], text[end+1:]
	}
	return text, ""
}

// fence returns the mark of a fence and how many times it has the mark, 0 for another line.
// info reports whether words follow.
func fence(line string) (mark byte, size int, info bool) {
	line = strings.TrimPrefix(line, "\ufeff")
	indent := 0
	for indent < len(line) && indent < 3 && line[indent] == ' ' {
		indent++
	}
	line = line[indent:]
	if line == "" || line[0] != '`' && line[0] != '~' {
		return 0, 0, false
	}
	for size < len(line) && line[size] == line[0] {
		size++
	}
	if words := trimSpace(line[size:]); size >= 3 && (line[0] == '~' || !strings.Contains(words, "`")) {
		return line[0], size, words != ""
	}
	return 0, 0, false
}
