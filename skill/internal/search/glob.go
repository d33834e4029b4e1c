// Package search finds files in a workspace.
package search

import (
	"errors"
	"fmt"
	"strings"
)

// A Glob is a pattern of names below a folder. The zero Glob matches nothing.
type Glob struct{ patterns []pattern }

// pattern is one alternative of a Glob.
type pattern struct {
	parts []part
	dirs  bool // only folders match
	slash bool // the text ends with a slash
}

// part is one name of a pattern.
type part struct {
	text string
	kind kind
	tail string // of a wild text: the plain end that a name must have
	alt  string // text with each [ as a plain character; "" if text has no [
}

type kind int

const (
	plain kind = iota // the name itself
	wild              // * ? [...]
	deep              // **: this folder and all below it
)

const (
	maxGlob    = 4096 // bytes of a pattern
	maxChoices = 1000 // patterns that braces may expand to
)

// ParseGlob reads a pattern. It must be relative and must not climb with "..".
func ParseGlob(text string) (Glob, error) { return parseGlobs(text, []string{text}) }

// ParseBraces is ParseGlob for a pattern in which {a,b} means a or b. Braces nest. Braces without
// a comma or after a backslash are plain characters. A [ or { that is never closed is an error;
// ParseGlob takes it as a plain character. A final ** matches files too; in ParseGlob only folders.
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
		if n := len(p.parts); n > 0 && p.parts[n-1].kind == deep && !p.slash { // match files too
			any := part{text: "*", kind: wild}
			g.patterns = append(g.patterns, pattern{parts: append(p.parts[:n:n], any)})
		}
	}
	return g, err
}

// bareBraces removes the backslash before a brace or a comma.
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

// expandBraces returns the patterns that a pattern with braces expands to, in order.
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
			for i := len(commas) - 1; i > 0; i-- { // backwards: the loop above takes the last one next
				todo = append(todo, text[:start]+text[commas[i-1]+1:commas[i]]+text[end+1:])
			}
		}
		if len(done)+len(todo) > maxChoices {
			return nil, fmt.Errorf("stands for more than %d patterns", maxChoices)
		}
	}
	return done, nil
}

// neverClosed returns the first [ or { that is never closed, or "". The braces of text have
// been expanded.
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

// braces finds the first pair of braces. commas holds the offsets of the opening brace, of the
// commas and of the closing brace; end is 0 if there is no pair.
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

// choices returns the commas of [braces] for the brace at start, nil if it is never closed.
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

// Match reports whether the pattern matches a whole path. The path is relative and has slashes;
// "" is the folder itself. folder says whether it is the path of a folder.
func (g Glob) Match(path string, folder bool) bool {
	for _, p := range g.patterns {
		if (folder || !p.dirs) && matchParts(p.parts, path) {
			return true
		}
	}
	return false
}

// matchParts compares a path with parts name by name. If a part fails after a **, matchParts lets
// the last ** take one more name and retries. An earlier ** never needs a retry.
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
