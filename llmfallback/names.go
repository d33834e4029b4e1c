package llmfallback

import (
	"slices"
	"strings"
)

const (
	maxNameWords = 7    // of an unquoted name of several words
	maxPathBytes = 4096 // of a path
)

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

// proseEndings are those of files that hold what is said, rather than code for it.
var proseEndings = [...]string{".txt", ".md", ".log"}

// pathBytes reports whether s is made of what an unquoted path is made of.
func pathBytes(s string) bool {
	if len(s) > maxPathBytes {
		return false
	}
	for i := range len(s) {
		c := s[i]
		drive := c == ':' && i == 1 && isLetter(rune(s[0])) // D:/Work
		if !letter(c) && strings.IndexByte("._-/~@+", c) < 0 && !drive {
			return false
		}
	}
	return s != "" && s[0] != '-' && s[0] != '@' && s[0] != '+' && (!strings.Contains(s, "@") || strings.Contains(s, "/"))
}

// quotedPath reports whether the text between two quotes can be a path:
// one line, no pattern, no variable, no address.
func quotedPath(s string) bool {
	return s != "" && len(s) <= maxPathBytes && strings.TrimSpace(s) == s && !strings.ContainsAny(s, "*?[]{}$<>|\"`\\;") &&
		!strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) && strings.IndexByte(s, ':') < 2
}

// slashed reports whether an unquoted word is a path by its slashes.
// Alternatives like files/directories are none.
func slashed(s string) bool {
	if s == "." || s == ".." {
		return true
	}
	if !strings.Contains(s, "/") || !pathBytes(s) || strings.Contains(s, "//") {
		return false
	}
	for segment := range strings.SplitSeq(s, "/") {
		if lexicon()[segment]&(function|pointing|vague) == 0 {
			return true
		}
	}
	return false
}

// fileShaped reports whether the last segment looks like a file: an extension,
// a dot file, or one of the names that files have without.
func fileShaped(s string) bool {
	base := s[strings.LastIndexByte(s, '/')+1:]
	low := lower(base)
	if slices.Contains(knownFiles[:], low) || base != s && slices.Contains(filesInFolders[:], low) {
		return true
	}
	dot := strings.LastIndexByte(base, '.')
	switch {
	case dot < 0 || len(base) > 255 || lexicon()[low]&function != 0:
		return false
	case dot == 0:
		return len(base) > 1 && strings.ContainsFunc(base, isLetter)
	case len(base)-dot > 12 || !extension(base[dot+1:]):
		return false
	}
	return base != s || !slices.Contains(hostEndings[:], low[dot:])
}

// extension reports whether s is letters and digits, with a letter among them.
func extension(s string) bool {
	return strings.ContainsFunc(s, isLetter) && !strings.ContainsFunc(s, func(r rune) bool { return !isLetter(r) && (r < '0' || r > '9') })
}

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || r >= 0x80 }

// given reports whether an unquoted word can be a name after "called".
func (w *word) given() bool {
	return w.kind == plain && w.class&function == 0 && pathBytes(w.text) && !strings.Contains(w.text, "/") &&
		letterOrDigit(w.text)
}

// follows reports whether an unquoted word can be the name after "folder".
func (w *word) follows() bool { return w.given() && w.class&pointing == 0 }

// precedes reports whether an unquoted word can be the name before "folder".
func (w *word) precedes() bool {
	return w.follows() && (w.class&vague == 0 || w.text != w.lower)
}

// bare reports whether an unquoted word can be a name by its place alone.
func (w *word) bare() bool { return w.precedes() && w.class&(topic|timed) == 0 }

// path reports whether an unquoted word is a path by its looks.
func (w *word) path() bool {
	return w.kind == plain && w.class&function == 0 && (slashed(w.text) && (strings.IndexByte("./~", w.text[0]) >= 0 || strings.ContainsFunc(w.text, isLetter)) || pathBytes(w.text) && fileShaped(w.text) && w.bare())
}

// titled reports whether a word can stand inside an unquoted name of several
// words: it begins with a capital or a digit, or is a path.
func (w *word) titled() bool {
	if w.kind != plain || w.class&function != 0 {
		return false
	}
	if !pathBytes(w.text) {
		return w.text == "-" || w.text == "&"
	}
	return 'A' <= w.text[0] && w.text[0] <= 'Z' || '0' <= w.text[0] && w.text[0] <= '9' || strings.Contains(w.text, "/")
}

// title reads the longest name at i: a word, or several that look like one
// name, each one space after the other. A file's extension ends it.
func (r *reader) title(i int) (string, int) {
	w := r.word(i)
	if w.kind != plain || !pathBytes(w.text) || w.class&function != 0 {
		return "", -1
	}
	k := i + 1
	if w.titled() && !fileShaped(w.text) {
		for k < i+maxNameWords && r.titledPair(k-1) {
			if k++; fileShaped(r.word(k - 1).text) {
				break
			}
		}
		for k > i+1 && !letterOrDigit(r.word(k-1).text) {
			k--
		}
	}
	return r.prompt[w.start:r.word(k-1).end], k
}

func letterOrDigit(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool { return isLetter(c) || '0' <= c && c <= '9' })
}

// titledPair reports whether words i and i+1 can be parts of one name.
func (r *reader) titledPair(i int) bool {
	a, b := r.word(i), r.word(i+1)
	return a.titled() && b.titled() && b.start == a.end+1 && r.prompt[a.end] == ' ' && strings.IndexByte("/.~", b.text[0]) < 0
}

// acronym reports whether word i names a format in capitals: the PDF a.pdf.
func (r *reader) acronym(i int) bool {
	w := r.word(i)
	return r.is(i, kindNoun|topic|docNoun) && len(w.text) <= 5 && strings.ToUpper(w.text) == w.text
}
