// Package search finds files in a workspace.
package search

import (
	"errors"
	"fmt"
	"strings"
)

// A Glob is a pattern of names below a folder. The zero Glob matches nothing.
type Glob struct{ patterns []pattern }

// pattern is one of those that a Glob is any of.
type pattern struct {
	parts []part
	dirs  bool // only folders match
	slash bool // it ends with a slash
}

// part is one name of a pattern.
type part struct {
	text string
	kind kind
	tail string // what a name ends in that a wild text matches
	alt  string // text with its brackets as letters, if it has some
}

type kind int

const (
	plain kind = iota // the name itself
	wild              // * ? [...]
	deep              // **: this folder and all below it
)

const (
	maxGlob    = 4096 // bytes of a pattern
	maxChoices = 1000 // patterns that one with braces stands for
)

// ParseGlob reads a pattern. It must be relative and must not climb with "..".
func ParseGlob(text string) (Glob, error) { return parseGlobs(text, []string{text}) }

// ParseBraces is ParseGlob for a pattern in which {a,b} stands for a or b. Braces nest; those
// without a comma stand for themselves too, and so do those after a backslash. A [ or { that is
// never closed, which in the patterns of ParseGlob stands for itself, is an error. A ** at the
// end is all files and folders, in ParseGlob only the folders.
func ParseBraces(text string) (Glob, error) {
	choices, err := expandBraces(text)
	if err != nil {
		return Glob{}, err
	}
	for i, c := range choices {
		if open := neverClosed(c); open != "" {
			return Glob{}, fmt.Errorf("holds a %s that is never closed; the character itself is [%s]",
				open, open)
		}
		choices[i] = bareBraces.Replace(c)
	}
	g, err := parseGlobs(text, choices)
	for _, p := range g.patterns {
		if n := len(p.parts); n > 0 && p.parts[n-1].kind == deep && !p.slash { // and the files
			any := part{text: "*", kind: wild}
			g.patterns = append(g.patterns, pattern{parts: append(p.parts[:n:n], any)})
		}
	}
	return g, err
}

// bareBraces takes away the backslash before a brace or a comma.
var bareBraces = strings.NewReplacer(`\\`, `\\`, `\{`, "{", `\}`, "}", `\,`, ",")

func parseGlobs(text string, choices []string) (g Glob, err error) {
	if len(text) > maxGlob {
		return Glob{}, fmt.Errorf("is longer than %d bytes", maxGlob)
	}
	for _, text := range choices {
		p, err := parsePattern(text)
		if err != nil {
			return Glob{}, err
		}
		g.patterns = append(g.patterns, p)
	}
	return g, nil
}

func parsePattern(text string) (pattern, error) {
	if strings.HasPrefix(text, "/") {
		return pattern{}, errors.New("is absolute; name the folder with path, and what is below it with pattern")
	}
	var p pattern
	for name := range strings.SplitSeq(text, "/") {
		switch {
		case name == "" || name == ".":
		case name == "..":
			return pattern{}, errors.New(`holds "..", and only names below the path are found`)
		case name == "**":
			p.parts = append(p.parts, part{text: name, kind: deep})
		case strings.Contains(name, "**"):
			return pattern{}, errors.New("holds ** beside other characters; it stands alone between slashes")
		case strings.ContainsAny(name, "*?["):
			one := part{text: name, kind: wild, tail: name[strings.LastIndexAny(name, `*?[]\`)+1:]}
			if strings.Contains(name, "[") {
				one.alt = strings.ReplaceAll(strings.ReplaceAll(name, `\[`, "["), "[", `\[`)
			}
			p.parts = append(p.parts, one)
		default:
			p.parts = append(p.parts, part{text: name})
		}
	}
	n := len(p.parts)
	p.slash = strings.HasSuffix(text, "/")
	p.dirs = n == 0 || p.slash || p.parts[n-1].kind == deep
	return p, nil
}

// expandBraces returns what a pattern with braces stands for.
func expandBraces(text string) ([]string, error) {
	if len(text) > maxGlob {
		return nil, fmt.Errorf("is longer than %d bytes", maxGlob)
	}
	done, todo := []string{}, []string{text}
	for len(todo) > 0 {
		text, todo = todo[len(todo)-1], todo[:len(todo)-1]
		start, end, commas := braces(text)
		if end == 0 {
			done = append(done, text)
		} else {
			if len(commas) == 2 {
				todo = append(todo, text[:start]+`\{`+text[start+1:end]+`\}`+text[end+1:])
			}
			for i := len(commas) - 1; i > 0; i-- { // the first choice is to be the next
				todo = append(todo, text[:start]+text[commas[i-1]+1:commas[i]]+text[end+1:])
			}
		}
		if len(done)+len(todo) > maxChoices {
			return nil, fmt.Errorf("stands for more than %d patterns", maxChoices)
		}
	}
	return done, nil
}

// neverClosed returns the first [ or { that opens neither a class nor, in a pattern whose
// braces are expanded, choices; "" for none.
func neverClosed(text string) string {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '[':
			end := classEnd(text[i:])
			if end == 0 {
				return "["
			}
			i += end
		case '{':
			return "{"
		}
	}
	return ""
}

// braces finds the first pair of braces, no matter what is in them, and where its
// choices end: the opening brace, the commas and the closing one.
func braces(text string) (start, end int, commas []int) {
	for start = 0; start < len(text); start++ {
		switch text[start] {
		case '\\':
			start++
			continue
		case '[':
			start += classEnd(text[start:])
			continue
		}
		if text[start] != '{' {
			continue
		}
		if commas = choices(text, start); commas != nil {
			return start, commas[len(commas)-1], commas
		}
	}
	return 0, 0, nil
}

func choices(text string, start int) []int {
	commas, depth := []int{start}, 0
	for i := start; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '[':
			i += classEnd(text[i:])
		case '{':
			depth++
		case ',':
			if depth == 1 {
				commas = append(commas, i)
			}
		case '}':
			if depth--; depth == 0 {
				return append(commas, i)
			}
		}
	}
	return nil
}

// Match reports whether the pattern matches a whole path, which is relative and has
// slashes: "" for the folder itself. folder says what it is the path of.
func (g Glob) Match(path string, folder bool) bool {
	for _, p := range g.patterns {
		if (folder || !p.dirs) && matchParts(p.parts, path) {
			return true
		}
	}
	return false
}

// matchParts compares a path with parts name by name. A part that fails after a ** is
// tried again from the next name on; one before the last ** need not be.
func matchParts(parts []part, path string) bool {
	at, retryAt, retryPath := 0, -1, ""
	for {
		name, rest, _ := strings.Cut(path, "/")
		switch {
		case at < len(parts) && parts[at].kind == deep:
			at++
			retryAt, retryPath = at, path
			continue
		case at == len(parts) && path == "":
			return true
		case at < len(parts) && path != "" && parts[at].match(name):
			at, path = at+1, rest
			continue
		case retryAt < 0 || retryPath == "":
			return false
		}
		var more bool
		if _, path, more = strings.Cut(retryPath, "/"); !more && retryAt < len(parts) {
			return false
		}
		at, retryPath = retryAt, path
	}
}

// match compares a name with a part that is not deep.
func (p *part) match(name string) bool {
	switch {
	case p.kind == plain:
		return name == p.text
	case !strings.HasSuffix(name, p.tail):
		return false
	}
	return len(p.text) == len(p.tail)+1 &&
		p.text[0] == '*' || Match(p.text, name) || p.alt != "" &&
		Match(p.alt, name)
}
