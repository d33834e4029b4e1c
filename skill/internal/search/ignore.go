package search

import (
	"bytes"
	"strings"
)

// rule is one line of a .gitignore. As in git it consists of bytes, in any encoding.
type rule struct {
	negated bool      // the line begins with !: a match is not ignored
	folders bool      // only folders match
	path    bool      // match the path below the rules' folder, not the last name
	literal string    // the beginning, without special characters
	suffix  string    // of a rule like *.o: the part after the *
	rest    wildcards // the pattern after literal; nil if nothing follows, or if suffix is set
}

// parseRules reads the lines of a .gitignore.
func parseRules(data []byte) (rules []rule) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	for line := range bytes.Lines(data) {
		text := strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")
		text, _, _ = strings.Cut(text, "\x00")
		if strings.HasPrefix(text, "#") {
			continue
		}
		if text = trimBlanks(text); text == "" {
			continue
		}
		if r, ok := parseRule(text); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

// trimBlanks removes the blanks at the end of a line, except escaped ones.
func trimBlanks(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			i++
		}
		end = min(i+1, len(line))
	}
	return line[:end]
}

// parseRule reads a rule; ok is false if nothing can match it.
func parseRule(text string) (r rule, ok bool) {
	text, r.negated = strings.CutPrefix(text, "!")
	text, r.folders = strings.CutSuffix(text, "/")
	if rest, ok := strings.CutPrefix(text, "**/"); ok && rest != "" && !strings.Contains(rest, "/") {
		text = rest
	}
	r.path = strings.Contains(text, "/")
	text = strings.TrimPrefix(text, "/")
	special := strings.IndexAny(text, `*?[\`)
	switch {
	case special < 0:
		r.literal = text
		return r, text != ""
	case !r.path && len(text) > 1 && text[0] == '*' && !strings.ContainsAny(text[1:], `*?[\`):
		r.suffix = text[1:]
		return r, true
	}
	r.literal = text[:special]
	r.rest, ok = parseWild(text[special:])
	return r, ok
}

// match reports whether a rule matches a name. below is the name's path in the folder of the
// rules.
func (r *rule) match(name, below []byte, folder bool) bool {
	if r.folders && !folder {
		return false
	}
	if r.path {
		name = below
	}
	if r.rest == nil && r.suffix == "" {
		return string(name) == r.literal
	}
	if r.rest == nil {
		return len(name) >= len(r.suffix) && string(name[len(name)-len(r.suffix):]) == r.suffix
	}
	return len(name) >= len(r.literal) && string(name[:len(r.literal)]) == r.literal &&
		r.rest.match(name[len(r.literal):])
}

// rules are the rules of one file. above holds the rules that apply if none of these matches.
type rules struct {
	above *rules
	skip  int // length of the path of the file's folder, with the final slash
	list  []rule

	names, paths, suffixes map[string][]int // rules by the name, the path or the .suffix that they match
	others                 []int            // all other rules
}

// fewRules is the largest number of rules that are tried one by one, without maps.
const fewRules = 8

// under returns the rules of a file with s above them.
func (s *rules) under(data []byte, skip int) *rules {
	if list := parseRules(data); len(list) > 0 {
		return newRules(s, skip, list)
	}
	return s
}

func newRules(above *rules, skip int, list []rule) *rules {
	s := &rules{above: above, skip: skip, list: list}
	if len(list) > fewRules {
		s.names, s.paths, s.suffixes = map[string][]int{}, map[string][]int{}, map[string][]int{}
	}
	for i, r := range list {
		switch {
		case s.names == nil, r.rest != nil, r.suffix != "" && r.suffix[0] != '.':
			s.others = append(s.others, i)
		case r.suffix != "":
			s.suffixes[r.suffix] = append(s.suffixes[r.suffix], i)
		case r.path:
			s.paths[r.literal] = append(s.paths[r.literal], i)
		default:
			s.names[r.literal] = append(s.names[r.literal], i)
		}
	}
	return s
}

// ignored reports whether the last rule that matches a path ignores it. It does not check the
// folders above the path.
func (s *rules) ignored(path []byte, name []byte, folder bool) bool {
	for ; s != nil; s = s.above {
		if last := s.last(name, path[s.skip:], folder); last >= 0 {
			return !s.list[last].negated
		}
	}
	return false
}

// last returns the index of the last rule that matches, -1 if no rule matches.
func (s *rules) last(name, below []byte, folder bool) int {
	last := -1
	if s.names != nil {
		last = max(s.lastOf(s.names[string(name)], folder), s.lastOf(s.paths[string(below)], folder))
		for i, b := range name {
			if b == '.' && len(s.suffixes) > 0 {
				last = max(last, s.lastOf(s.suffixes[string(name[i:])], folder))
			}
		}
	}
	for n := len(s.others) - 1; n >= 0 && s.others[n] > last; n-- {
		if s.list[s.others[n]].match(name, below, folder) {
			return s.others[n]
		}
	}
	return last
}

// lastOf returns the last of some rules that match a name. Rules for folders only match a folder. It returns -1
// if no rule matches.
func (s *rules) lastOf(some []int, folder bool) int {
	for n := len(some) - 1; n >= 0; n-- {
		if folder || !s.list[some[n]].folders {
			return some[n]
		}
	}
	return -1
}
