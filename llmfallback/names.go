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

// word returns word i; beyond the end an empty mark.
func (m *matcher) word(i int) *word {
	if i < 0 || i >= len(m.list) {
		return &noWord
	}
	return &m.list[i]
}

var noWord = word{kind: mark}

// is reports whether word i is in one of the lists of words of the grammar.
func (m *matcher) is(i int, lists ...string) bool {
	w := m.word(i)
	return w.kind == plain && slices.ContainsFunc(lists, func(list string) bool { return m.listed(list, w.number) })
}

// A name is what a slot is given, and the word after it.
type naming struct {
	text   string
	quoted bool
	end    int
}

// name reads a name of a kind at word i; the head of the grammar explains the kinds.
func (m *matcher) name(kind string, i int) (naming, bool) {
	w := m.word(i)
	switch kind {
	case "none":
		return naming{"", false, i}, true
	case "word":
		return naming{"", false, i + 1}, m.says(i)
	case "loose":
		return naming{"", false, i + 1}, w.kind == plain && (m.says(i) || m.is(i, "binds") && !m.is(i, "strict"))
	case "end":
		return naming{w.text, false, i + 1}, i+1 == len(m.list) && m.is(i, "dirn")
	case "fact":
		return naming{"", false, i + 1}, m.says(i) && (!m.is(i, "deed", "dirn", "filen", "files", "here2") || m.is(i-1, "det") || strings.HasSuffix(w.lower, "ing")) || m.is(i, "facts")
	case "purpose":
		return naming{"", false, i + 1}, m.says(i) && !m.is(i, "timed")
	case "adj":
		return naming{w.lower, false, i + 1}, w.kind == plain && w.text == w.lower && pathBytes(w.text) && !m.looks(i) &&
			!m.is(i, "never", "pointing", "vague", "topic", "deed", "dirn", "filen", "binds")
	case "text":
		return naming{w.text, true, i + 1}, w.kind == quoted && (!fileShaped(w.text) || strings.Contains(w.text, " "))
	case "arg":
		k := i
		for w.kind != quoted && m.word(k).kind == plain && !strings.HasPrefix(m.word(k).text, ">") && k < len(m.list) {
			k++
		}
		if k > i {
			return naming{m.prompt[w.start:m.word(k-1).end], false, k}, true
		}
		return naming{w.text, true, i + 1}, w.kind == quoted
	case "any-text":
		return naming{w.text, true, i + 1}, w.kind == quoted
	case "json":
		rest := strings.TrimSpace(m.prompt[min(w.start, len(m.prompt)):])
		ok := w.kind == plain && i < len(m.list) && strings.IndexByte("{[", rest[0]) >= 0 && json.Valid([]byte(rest))
		return naming{rest, false, len(m.list)}, ok
	case "rest", "line":
		text, ok := m.rest(i, kind == "line")
		return naming{text, false, len(m.list)}, ok
	case "number":
		return naming{w.text, false, i + 1}, w.kind == plain && strings.Trim(w.text, "0123456789") == ""
	case "sample":
		k := i
		for m.is(k, "samples") {
			k++
		}
		return naming{m.prompt[min(w.start, len(m.prompt)):max(m.word(k-1).end, min(w.start, len(m.prompt)))], false, k}, k > i
	}
	if w.kind == quoted {
		return naming{w.text, true, i + 1}, quotedPath(w.text) && m.fits(kind, w.text, true)
	}
	text, end := m.title(i)
	if end < 0 {
		return naming{}, false
	}
	ok := m.fits(kind, text, false) && !(strings.Contains(text, "/") && !m.looks(i))
	if end == i+1 && !m.looks(i) { // a word by itself
		capital := w.text != w.lower
		switch kind {
		case "given":
			ok = ok && letterOrDigit(text)
		case "any":
			ok = ok && letterOrDigit(text) && !m.is(i, "pointing")
		case "before":
			ok = ok && letterOrDigit(text) && !m.is(i, "pointing") && (capital || !m.is(i, "vague", "ws"))
		case "newname":
			ok = ok && letterOrDigit(text) && (capital || !m.is(i, "pointing", "topic", "timed", "vague"))
		case "stem":
			ok = ok && letterOrDigit(text) && !m.is(i, "pointing") && (capital || !m.is(i, "vague", "ws", "kind", "docn"))
		case "bare":
			ok = ok && letterOrDigit(text) && !m.is(i, "pointing", "topic", "timed") && (capital || !m.is(i, "vague"))
		}
	}
	return naming{text, false, end}, ok
}

// fits reports whether a text can be a name of a kind by its looks.
func (m *matcher) fits(kind, text string, inQuotes bool) bool {
	shaped, path := fileShaped(text), slashed(text)
	blank := strings.Contains(text, " ")
	switch kind {
	case "file":
		return shaped
	case "sure":
		return shaped || path
	case "path":
		return path
	case "ignore":
		return shaped && strings.HasSuffix(text, "ignore")
	case "odd": // no word
		return !inQuotes && !shaped && !path && !blank && strings.ContainsAny(text, "-_0123456789")
	case "bare":
		return !inQuotes && !shaped && !path
	case "quoted":
		return inQuotes && (shaped || path || !blank || len(strings.Fields(text)) <= maxNameWords)
	case "one": // a name in quotes rather than a phrase
		return inQuotes && (shaped || path || !blank)
	case "title":
		return blank && !inQuotes
	}
	return true
}

// looks reports whether word i is a path by its looks.
func (m *matcher) looks(i int) bool {
	w := m.word(i)
	if w.kind != plain || !pathBytes(w.text) || m.is(i, "never") {
		return false
	}
	if slashed(w.text) {
		return strings.IndexByte("./~", w.text[0]) >= 0 || strings.ContainsFunc(w.text, isLetter) && !m.alternatives(w.text)
	}
	return fileShaped(w.text) && !m.is(i, "pointing", "topic", "timed") && (w.text != w.lower || !m.is(i, "vague"))
}

// alternatives reports whether a word is like files/directories.
func (m *matcher) alternatives(text string) bool {
	for part := range strings.SplitSeq(lower(text), "/") {
		if n := m.grammar.words[part]; n == 0 || !(m.listed("never", n) || m.listed("pointing", n) || m.listed("vague", n)) {
			return false
		}
	}
	return true
}

// title reads the name at word i: a word, or several that look like one name, each one space
// after the other. It returns -1 in the middle of such a name.
func (m *matcher) title(i int) (string, int) {
	w := m.word(i)
	if w.kind != plain || !pathBytes(w.text) || m.is(i, "never") {
		return "", -1
	}
	if i > 0 && m.pair(i-1) && !m.starts(i-1) && !m.is(i-1, "deed", "filen", "dirn") && !m.acronym(i-1) {
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

// starts reports whether word i begins a sentence, so that its capital says nothing.
func (m *matcher) starts(i int) bool {
	return i == 0 || m.word(i-1).kind == mark && strings.Contains(".!?:;,\n", m.word(i-1).text)
}

// acronym reports whether word i names a format in capitals: the PDF a.pdf.
func (m *matcher) acronym(i int) bool {
	w := m.word(i)
	return m.is(i, "kind", "docn") && len(w.text) <= 5 && strings.ToUpper(w.text) == w.text
}

// pair reports whether words i and i+1 can be parts of one name.
func (m *matcher) pair(i int) bool {
	a, b := m.word(i), m.word(i+1)
	return m.titled(i) && m.titled(i+1) && !fileShaped(a.text) && b.start == a.end+1 && m.prompt[a.end] == ' ' && strings.IndexByte("/.~", b.text[0]) < 0
}

// titled reports whether a word can stand inside an unquoted name of several words: it begins
// with a capital or a digit, or is a path.
func (m *matcher) titled(i int) bool {
	w := m.word(i)
	if w.kind != plain || m.is(i, "never") {
		return false
	}
	if !pathBytes(w.text) {
		return w.text == "-" || w.text == "&"
	}
	return 'A' <= w.text[0] && w.text[0] <= 'Z' || '0' <= w.text[0] && w.text[0] <= '9' || strings.Contains(w.text, "/")
}

// says reports whether word i can stand in a reason: it is no name, and binds no condition, no
// filter and no further request.
func (m *matcher) says(i int) bool {
	w := m.word(i)
	return w.kind == plain && w.lower != "" && !m.looks(i) && !strings.ContainsAny(w.text, "*$<>|&;{}[]=/:") && !m.is(i, "binds") &&
		!strings.HasSuffix(w.lower, "n't")
}

// rest returns the rest of the prompt from word i on, if it is a text: without a fence around it,
// and not going on to ask for something else. A line must not leave open where it ends.
func (m *matcher) rest(i int, line bool) (string, bool) {
	for m.word(i).text == "\n" && !line {
		i++
	}
	w := m.word(i)
	if w.text == "" || w.kind == quoted || strings.IndexByte("\"'", w.text[0]) >= 0 {
		return "", false
	}
	text, ok := unfenced(strings.TrimRight(m.prompt[w.start:], " \t\r\n"))
	if !ok || m.asksMore(i) {
		return "", false
	}
	if line {
		if !m.whole || w.kind == mark || m.is(i, "describes") && w.text == w.lower {
			return "", false
		}
		for j := i; j < len(m.list); j++ {
			if w := m.word(j); w.kind == quoted || w.lower == "" || w.text == "\n" || m.is(j, "ends-text") || m.looks(j) {
				return "", false
			}
		}
	}
	return text, true
}

// asksMore reports whether the line goes on to ask for another operation: "… and then delete b.txt".
func (m *matcher) asksMore(i int) bool {
	bound := false // a connecting word stands before this one
	for ; i < len(m.list); i++ {
		switch w := m.word(i); w.lower {
		case "¶":
			return false
		case "and", "then", "also", ",", ".", ";", "!", "afterwards", "finally", "next", "please":
			bound = true
		default:
			if bound && (m.is(i, "deed") || w.lower == "thanks" || w.lower == "thank" || w.lower == "let") {
				return true
			}
			bound = false
		}
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

// knownFiles are file names that have no extension.
var knownFiles = [...]string{
	"makefile", "dockerfile", "containerfile", "jenkinsfile", "pipfile", "procfile", "gemfile", "rakefile", "brewfile", "podfile",
	"vagrantfile", "justfile", "readme", "license", "licence", "changelog", "contributing", "codeowners",
	"fstab", "crontab", "sudoers", "passwd", "known_hosts", "authorized_keys", "id_rsa",
}

// filesInFolders are such names that are ordinary words when they stand alone.
var filesInFolders = [...]string{"hosts", "group", "authors", "notice", "copying", "todo", "version", "profile"}

// hostEndings make a bare word with a point a site rather than a file.
var hostEndings = [...]string{".com", ".org", ".net", ".edu", ".gov"}

// pathBytes reports whether s is made of what an unquoted path is made of.
func pathBytes(s string) bool {
	if len(s) > maxPathBytes {
		return false
	}
	for i := range len(s) {
		drive := s[i] == ':' && i == 1 && isLetter(rune(s[0])) // D:/Work
		if !letter(s[i]) && strings.IndexByte("._-/~@+", s[i]) < 0 && !drive {
			return false
		}
	}
	return s != "" && strings.IndexByte("-@+", s[0]) < 0 && (!strings.Contains(s, "@") || strings.Contains(s, "/"))
}

// quotedPath reports whether the text between two quotes can be a path: one line, no pattern,
// no variable, no address.
func quotedPath(s string) bool {
	return s != "" && len(s) <= maxPathBytes && strings.TrimSpace(s) == s && !strings.ContainsAny(s, "*?[]{}$<>|\"`\\;") &&
		!strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) && strings.IndexByte(s, ':') < 2
}

// slashed reports whether a text is a path by its slashes.
func slashed(s string) bool {
	return s == "." || s == ".." || strings.Contains(s, "/") && !strings.Contains(s, "//") && strings.ContainsFunc(s, isLetter) || s == "./" || s == "/"
}

// fileShaped reports whether the last segment looks like a file: an extension, a dot file, or
// one of the names that files have without.
func fileShaped(s string) bool {
	base := s[strings.LastIndexByte(s, '/')+1:]
	low := lower(base)
	if slices.Contains(knownFiles[:], low) || base != s && slices.Contains(filesInFolders[:], low) {
		return true
	}
	dot := strings.LastIndexByte(base, '.')
	switch {
	case dot < 0 || len(base) > 255:
		return false
	case dot == 0:
		return len(base) > 1 && strings.ContainsFunc(base, isLetter)
	case len(base)-dot > 12 || !extension(base[dot+1:]):
		return false
	}
	return base != s || !slices.Contains(hostEndings[:], low[dot:]) && low != "e.g" && low != "i.e" && low != "a.m" && low != "p.m"
}

// extension reports whether s is letters and digits, with a letter among them.
func extension(s string) bool {
	return strings.ContainsFunc(s, isLetter) && !strings.ContainsFunc(s, func(r rune) bool { return !isLetter(r) && (r < '0' || r > '9') })
}

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r >= 0x80 }

func letterOrDigit(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool { return isLetter(c) || '0' <= c && c <= '9' })
}
