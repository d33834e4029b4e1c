package llmfallback

import (
	"encoding/json"
	"slices"
	"strings"
)

const (
	maxNameWords = 7    // of an unquoted name of several words
	maxPathBytes = 4096 // of a path
)

// A naming is what a slot is given, and the word after it.
type naming struct {
	text string
	end  int
}

// A kind of names says which texts may be one, in quotes and without; nil for no text. A single word
// that does not look like a path is not a name if it is in a list of never, or of lower without a capital.
type kind struct {
	quoted, plain func(text string) bool
	never, lower  []string
}

var kinds = map[string]kind{
	"file": {fileShaped, fileShaped, nil, nil}, "path": {slashed, slashed, nil, nil},
	"sure": {likePath, likePath, nil, nil}, "ignore": {isIgnore, isIgnore, nil, nil},
	"quoted": {anyName, nil, nil, nil}, "one": {oneName, nil, nil, nil},
	"title": {nil, isTitle, nil, nil}, "odd": {nil, isOdd, nil, nil},
	"given": {anyName, anyName, nil, nil}, "any": {anyName, anyName, []string{"pointing"}, nil},
	"newname": {anyName, anyName, nil, []string{"pointing", "topic", "timed", "vague"}},
	"before":  {anyName, anyName, []string{"pointing"}, []string{"vague", "ws"}},
	"stem":    {anyName, anyName, []string{"pointing"}, []string{"vague", "ws", "kind", "docn"}},
	"bare":    {nil, isWords, []string{"pointing", "topic", "timed"}, []string{"vague"}},
}

func anyName(string) bool       { return true }
func likePath(text string) bool { return fileShaped(text) || slashed(text) }
func isIgnore(text string) bool { return fileShaped(text) && strings.HasSuffix(text, "ignore") }
func isTitle(text string) bool  { return strings.Contains(text, " ") }
func isWords(text string) bool  { return !likePath(text) }
func oneName(text string) bool  { return likePath(text) || !isTitle(text) }
func isOdd(text string) bool {
	return !likePath(text) && !isTitle(text) && strings.ContainsAny(text, "-_0123456789")
}
func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// steps are the kinds of one word that is no name.
var steps = map[string]func(m *matcher, i int) bool{
	"word":    (*matcher).says,
	"loose":   func(m *matcher, i int) bool { return m.says(i) || m.is(i, "binds") && !m.is(i, "strict") },
	"purpose": func(m *matcher, i int) bool { return m.says(i) && !m.is(i, "timed") },
	"fact": func(m *matcher, i int) bool {
		orders := m.is(i, "deed", "dirn", "filen", "files", "here2") && !m.is(i-1, "det")
		return m.says(i) && !(orders && !strings.HasSuffix(m.word(i).lower, "ing")) || m.is(i, "facts")
	},
	"end":    func(m *matcher, i int) bool { return i+1 == len(m.list) && m.is(i, "dirn") },
	"number": func(m *matcher, i int) bool { return m.word(i).kind == plain && isNumber(m.word(i).text) },
	"adj": func(m *matcher, i int) bool {
		w := m.word(i)
		return w.kind == plain && w.text == w.lower &&
			pathBytes(w.text) && !m.looks(i) &&
			!m.is(i, "never", "pointing", "vague", "topic", "deed", "dirn", "filen", "binds")
	},
	"any-text": func(m *matcher, i int) bool { return m.word(i).kind == quoted },
	"text": func(m *matcher, i int) bool {
		w := m.word(i)
		return w.kind == quoted && (!fileShaped(w.text) || isTitle(w.text))
	},
}

// name reads a name of a kind at word i; the head of the grammar explains the kinds.
func (m *matcher) name(of string, i int) (naming, bool) {
	w := m.word(i)
	if fits := steps[of]; fits != nil {
		return naming{w.text, i + 1}, fits(m, i)
	}
	k, named := kinds[of]
	switch {
	case of == "none":
		return naming{"", i}, true
	case !named:
		return m.stretch(of, i)
	case w.kind == quoted:
		return naming{w.text, i + 1}, k.quoted != nil && quotedPath(w.text) && k.quoted(w.text)
	}
	text, end := m.title(i)
	fits := end >= 0 && k.plain != nil && k.plain(text)
	if !fits || !m.looks(i) && m.ordinary(text, i, end, k) {
		return naming{}, false
	}
	return naming{text, end}, true
}

// ordinary reports whether a text from word i to end, which does not look like a path,
// is no name of a kind.
func (m *matcher) ordinary(text string, i, end int, k kind) bool {
	w := m.word(i)
	listed := m.is(i, k.never...) || w.text == w.lower && m.is(i, k.lower...)
	return strings.Contains(text, "/") || end == i+1 && (listed || !letterOrDigit(text))
}

// stretch reads a text without quotes: an argument of echo, a sample, JSON, or the rest.
func (m *matcher) stretch(of string, i int) (naming, bool) {
	k, w := i, m.word(i)
	switch of {
	case "arg":
		if w.kind == quoted {
			return naming{w.text, i + 1}, true
		}
		for m.word(k).kind == plain && !strings.HasPrefix(m.word(k).text, ">") {
			k++
		}
	case "sample":
		for m.is(k, "samples") {
			k++
		}
	case "json":
		rest := strings.TrimSpace(m.prompt[w.start:])
		ok := w.kind == plain && strings.IndexByte("{[", w.text[0]) >= 0 && json.Valid([]byte(rest))
		return naming{rest, len(m.list)}, ok
	default:
		text, ok := m.rest(i, of == "line")
		return naming{text, len(m.list)}, ok
	}
	if k == i {
		return naming{}, false
	}
	return naming{m.prompt[w.start:m.list[k-1].end], k}, true
}

// word returns word i; beyond the end an empty mark.
func (m *matcher) word(i int) *word {
	if i < 0 || i >= len(m.list) {
		return &word{kind: mark, start: len(m.prompt), end: len(m.prompt)}
	}
	return &m.list[i]
}

// is reports whether word i is in one of the lists of words of the grammar.
func (m *matcher) is(i int, lists ...string) bool {
	w := m.word(i)
	return w.kind == plain &&
		slices.ContainsFunc(lists, func(list string) bool { return m.listed(list, w.number) })
}

// looks reports whether word i is a path by its looks.
func (m *matcher) looks(i int) bool {
	w := m.word(i)
	switch {
	case w.kind != plain || !pathBytes(w.text) || m.is(i, "never"):
		return false
	case slashed(w.text):
		return strings.IndexByte("./~", w.text[0]) >= 0 || strings.ContainsFunc(w.text, isLetter) &&
			!m.alternatives(w.lower)
	}
	return fileShaped(w.text) && !m.is(i, "pointing", "topic", "timed") &&
		(w.text != w.lower || !m.is(i, "vague"))
}

// alternatives reports whether a word is like files/directories.
func (m *matcher) alternatives(text string) bool {
	for part := range strings.SplitSeq(text, "/") {
		if n := m.grammar.words[part]; !m.listed("never", n) && !m.listed("pointing", n) &&
			!m.listed("vague", n) {
			return false
		}
	}
	return true
}

// title reads the name at word i: a word, or several that look like one name, each one space
// after the other. It returns -1 in the middle of such a name.
func (m *matcher) title(i int) (string, int) {
	w := m.word(i)
	if w.kind != plain || !pathBytes(w.text) ||
		m.is(i, "never") || i > 0 && m.pair(i-1) && !m.unpaired(i-1) {
		return "", -1
	}
	k := i + 1
	for k < i+maxNameWords && m.pair(k-1) && !(m.is(k, "dirn", "filen") && !fileShaped(m.word(k).text)) {
		k++
	}
	for k > i+1 && !letterOrDigit(m.word(k-1).text) {
		k--
	}
	return m.prompt[w.start:m.word(k-1).end], k
}

// unpaired reports whether the capital of word i says nothing: it begins a sentence, orders, or
// names a format: the PDF a.pdf.
func (m *matcher) unpaired(i int) bool {
	w, before := m.word(i), m.word(i-1)
	acronym := m.is(i, "kind", "docn") && len(w.text) <= 5 && strings.ToUpper(w.text) == w.text
	starts := i == 0 || before.kind == mark && strings.Contains(".!?:;,\n", before.text)
	return starts || acronym || m.is(i, "deed", "filen", "dirn")
}

// pair reports whether words i and i+1 can be parts of one name.
func (m *matcher) pair(i int) bool {
	a, b := m.word(i), m.word(i+1)
	return m.titled(i) && m.titled(i+1) &&
		!fileShaped(a.text) && b.start == a.end+1 &&
		m.prompt[a.end] == ' ' &&
		strings.IndexByte("/.~", b.text[0]) < 0
}

// titled reports whether a word can stand inside an unquoted name of several words: it begins
// with a capital or a digit, or is a path.
func (m *matcher) titled(i int) bool {
	w := m.word(i)
	switch {
	case w.kind != plain || m.is(i, "never"):
		return false
	case !pathBytes(w.text):
		return w.text == "-" || w.text == "&"
	}
	return 'A' <= w.text[0] && w.text[0] <= 'Z' ||
		'0' <= w.text[0] && w.text[0] <= '9' ||
		strings.Contains(w.text, "/")
}

// says reports whether word i can stand in a reason: it is no name, and binds no condition, no
// filter and no further request.
func (m *matcher) says(i int) bool {
	w := m.word(i)
	return w.kind == plain && w.lower != "" &&
		!m.looks(i) && !m.is(i, "binds") &&
		!strings.ContainsAny(w.text, "*$<>|&;{}[]=/:") && !strings.HasSuffix(w.lower, "n't")
}

// rest returns the rest of the prompt from word i on, if it is a text: without a fence around it,
// and not going on to ask for something else. A line must not leave open where it ends.
func (m *matcher) rest(i int, line bool) (string, bool) {
	for m.word(i).text == "\n" && !line {
		i++
	}
	w := m.word(i)
	text, ok := unfenced(strings.TrimRight(m.prompt[w.start:], " \t\r\n"))
	if !ok || w.text == "" || w.kind == quoted || strings.IndexByte("\"'", w.text[0]) >= 0 {
		return "", false
	}
	return text, !m.asksMore(i) && (!line || m.endsWithLine(i))
}

// endsWithLine reports whether a text without quotes surely ends with the line: it is
// all that follows, and no word of it may begin something else.
func (m *matcher) endsWithLine(i int) bool {
	w := m.word(i)
	if !m.whole || w.kind == mark || m.is(i, "describes") && w.text == w.lower {
		return false
	}
	for ; i < len(m.list); i++ {
		if w := m.word(i); w.lower == "" || w.text == "\n" || m.is(i, "ends-text") || m.looks(i) {
			return false
		}
	}
	return true
}

// asksMore reports whether the line goes on to ask for another operation: "… and then delete b.txt".
func (m *matcher) asksMore(i int) bool {
	for bound := false; i < len(m.list) && m.word(i).lower != "¶"; i++ {
		if bound && m.is(i, "deed", "more-of") {
			return true
		}
		bound = m.listed("joints", m.word(i).number)
	}
	return false
}

// unfenced takes off a fence that is around all of a text. It reports false for other back
// quotes at its beginning.
func unfenced(text string) (string, bool) {
	if !strings.HasPrefix(text, "`") {
		return text, true
	}
	_, body, _ := strings.Cut(text, "\n")
	body, closed := strings.CutSuffix(body, "```")
	return body, closed && strings.HasPrefix(text, "```") && !strings.Contains(body, "```")
}

// pathBytes reports whether s is made of what an unquoted path is made of.
func pathBytes(s string) bool {
	for i := range min(len(s), maxPathBytes+1) {
		drive := s[i] == ':' && i == 1 && isLetter(rune(s[0])) // D:/Work
		if !letter(s[i]) && strings.IndexByte("._-/~@+", s[i]) < 0 && !drive {
			return false
		}
	}
	fits := s != "" && len(s) <= maxPathBytes && strings.IndexByte("-@+", s[0]) < 0
	return fits && (!strings.Contains(s, "@") || strings.Contains(s, "/"))
}

// quotedPath reports whether the text between two quotes can be a path: one line, no pattern,
// no variable, no address.
func quotedPath(s string) bool {
	control := func(r rune) bool { return r < ' ' || r == 0x7f }
	if s == "" || len(s) > maxPathBytes || strings.TrimSpace(s) != s || strings.IndexByte(s, ':') > 1 {
		return false
	}
	return !strings.ContainsAny(s, "*?[]{}$<>|\"`\\;") && !strings.ContainsFunc(s, control)
}

// slashed reports whether a text is a path by its slashes.
func slashed(s string) bool {
	if s == "." || s == ".." || s == "./" || s == "/" {
		return true
	}
	return strings.Contains(s, "/") && !strings.Contains(s, "//") && strings.ContainsFunc(s, isLetter)
}

// fileShaped reports whether the last segment looks like a file: an extension, a dot file, or
// one of the names that files have without.
func fileShaped(s string) bool {
	base := s[strings.LastIndexByte(s, '/')+1:]
	low, lists := lower(base), compiled().lists
	dot := strings.LastIndexByte(base, '.')
	switch {
	case slices.Contains(lists["files-without"], low) || base != s &&
		slices.Contains(lists["files-in-folders"], low):
		return true
	case dot < 0 || len(base) > 255:
		return false
	case base == s && (slices.Contains(lists["no-files"], low) || slices.Contains(lists["sites"], low[dot:])):
		return false
	case dot == 0:
		return strings.ContainsFunc(base, isLetter)
	}
	end, odd := base[dot+1:], func(r rune) bool { return !isLetter(r) && (r < '0' || r > '9') }
	return len(end) < 12 && strings.ContainsFunc(end, isLetter) && !strings.ContainsFunc(end, odd)
}

func isLetter(r rune) bool { return 'a' <= r|0x20 && r|0x20 <= 'z' || r >= 0x80 }

func letterOrDigit(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool { return isLetter(c) || '0' <= c && c <= '9' })
}
