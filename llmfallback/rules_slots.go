package llmfallback

import (
	"encoding/json"
	"strings"
)

// A slot offers take every text that it accepts at word i, with the word that follows.
type slot func(m *matcher, i int, take func(text string, next int))

const (
	maxNameWords   = 7    // of an unquoted name of several words
	maxReasonWords = 8    // of a reason in the middle of a request
	maxPathBytes   = 4096 // of a path; what is longer is none
)

// slotNamed returns the slot of that name in a pattern, nil when there is none.
func slotNamed(name string) slot {
	switch name {
	case "file": // a file by its looks
		return func(m *matcher, i int, take func(string, int)) {
			m.single(i, take, quotedFile, func(s string) bool { return fileShaped(s) && (slashed(s) || bareName(s)) })
			m.several(i, take, fileShaped)
		}
	case "thing": // a file that the pattern vouches for: quoted, or with a slash, or by its looks
		return func(m *matcher, i int, take func(string, int)) {
			m.single(i, take, oneName, func(s string) bool {
				return slashed(s) && !strings.HasSuffix(s, "/") && !strings.HasSuffix(s, ".") || fileShaped(s) && bareName(s)
			})
			m.several(i, take, fileShaped)
		}
	case "filename": // a file's name after "called"
		return func(m *matcher, i int, take func(string, int)) {
			m.single(i, take, anything, func(s string) bool { return slashed(s) && !strings.HasSuffix(s, "/") || givenName(s) })
			m.several(i, take, fileShaped)
		}
	case "doomed": // one file to delete: a single word or a quote, with an extension
		return func(m *matcher, i int, take func(string, int)) {
			m.single(i, take, fileShaped, func(s string) bool { return fileShaped(s) && (slashed(s) || bareName(s)) })
		}
	case "dir": // a folder before the noun that says so
		return func(m *matcher, i int, take func(string, int)) {
			m.single(i, take, anything, func(s string) bool { return slashed(s) || adjacentName(s) })
			m.several(i, take, anything)
		}
	case "noted": // a folder behind that noun
		return func(m *matcher, i int, take func(string, int)) {
			m.single(i, take, anything, func(s string) bool { return slashed(s) || followingName(s) })
			m.several(i, take, anything)
		}
	case "made": // a folder to be made, behind that noun
		return func(m *matcher, i int, take func(string, int)) {
			m.single(i, take, anything, func(s string) bool { return slashed(s) || madeName(s) })
			m.several(i, take, anything)
		}
	case "folder": // a folder's name after "called"
		return func(m *matcher, i int, take func(string, int)) {
			m.single(i, take, anything, func(s string) bool { return slashed(s) || givenName(s) })
			m.several(i, take, anything)
		}
	case "place": // a folder that nothing but its place in the sentence says is one
		return func(m *matcher, i int, take func(string, int)) {
			m.single(i, take, notFile, func(s string) bool { return !fileShaped(s) && (slashed(s) || bareName(s)) })
		}
	case "tree": // a folder by its slashes
		return func(m *matcher, i int, take func(string, int)) {
			m.single(i, take, func(s string) bool { return !fileShaped(s) && strings.Contains(s, "/") },
				func(s string) bool {
					return !fileShaped(s) && slashed(s) && (s[0] == '.' || strings.ContainsFunc(s, isLetter))
				})
		}
	case "path": // quoted or by its slashes, whatever it ends in
		return func(m *matcher, i int, take func(string, int)) { m.single(i, take, anything, slashed) }
	case "goal": // where something goes: a path, or one word
		return func(m *matcher, i int, take func(string, int)) {
			m.single(i, take, anything, func(s string) bool { return slashed(s) || bareName(s) })
			m.several(i, take, fileShaped)
		}
	case "title": // a new name, which may be several words that look like one
		return func(m *matcher, i int, take func(string, int)) {
			m.single(i, take, anything, func(s string) bool { return slashed(s) || bareName(s) })
			m.several(i, take, anything)
		}
	case "reason": // what something is for, in passing
		return func(m *matcher, i int, take func(string, int)) {
			for j := i + 2; j <= i+maxReasonWords && j < len(m.words); j++ {
				if reason("createDirectory", m.words[i:j]) {
					take("", j)
				}
			}
		}
	case "text": // a quoted text
		return func(m *matcher, i int, take func(string, int)) {
			if i < len(m.words) && m.words[i].kind == quoted {
				take(m.words[i].text, i+1)
			}
		}
	case "word":
		return func(m *matcher, i int, take func(string, int)) {
			if i < len(m.words) && m.words[i].kind == plain && bareName(m.words[i].text) {
				take(m.words[i].text, i+1)
			}
		}
	case "prose": // a quoted text that is no path
		return func(m *matcher, i int, take func(string, int)) {
			if i < len(m.words) && m.words[i].kind == quoted && !fileShaped(m.words[i].text) {
				take(m.words[i].text, i+1)
			}
		}
	case "json": // a JSON object or array that ends the prompt
		return func(m *matcher, i int, take func(string, int)) {
			if i < len(m.words) && m.words[i].kind == plain && strings.IndexByte("{[", m.words[i].text[0]) >= 0 {
				if rest := strings.TrimSpace(m.prompt[m.words[i].start:]); json.Valid([]byte(rest)) {
					take(rest, m.end())
				}
			}
		}
	case "literal":
		return literal
	case "saying":
		return saying
	}
	return nil
}

func anything(string) bool  { return true }
func notFile(s string) bool { return !fileShaped(s) }

// oneName tells a quoted name from a quoted phrase.
func oneName(s string) bool {
	return fileShaped(s) || !strings.Contains(s, " ") || strings.Contains(s, "/")
}

// single takes word i when it is quoted and inQuotes accepts its text, or when
// it stands bare and so accepts it.
func (m *matcher) single(i int, take func(string, int), inQuotes, unquoted func(string) bool) {
	if i >= len(m.words) || len(m.words[i].text) > maxPathBytes {
		return
	}
	w := &m.words[i]
	switch {
	case w.kind == quoted && quotedPath(w.text) && inQuotes(w.text),
		w.kind == plain && pathBytes(w.text) && !functionWords()[w.lower] && unquoted(w.text):
		take(w.text, i+1)
	}
}

// several takes an unquoted name of two words or more, each of which stands one
// space after the other and looks like part of a name: Night Shift.md.
func (m *matcher) several(i int, take func(string, int), accept func(string) bool) {
	for j := i; j < len(m.words) && j < i+maxNameWords; j++ {
		w := &m.words[j]
		if w.kind != plain || len(w.text) > maxPathBytes || !titled(w.text) || functionWords()[w.lower] ||
			j > i && (w.start != m.words[j-1].end+1 || m.prompt[w.start-1] != ' ' || strings.IndexByte("/.~", w.text[0]) >= 0) {
			return
		}
		if text := m.prompt[m.words[i].start:w.end]; j > i && accept(text) {
			take(text, j+1)
		}
	}
}

// literal takes all that is left of the prompt as it stands: what follows a
// colon. A fence around it is taken off.
func literal(m *matcher, i int, take func(string, int)) {
	for i < len(m.words) && m.words[i].text == "\n" {
		i++
	}
	if i >= len(m.words) || m.words[i].kind == quoted {
		return
	}
	rest := strings.TrimRight(m.prompt[m.words[i].start:], " \t\r\n")
	if m.asksMore(i) || strings.IndexByte("\"'`", rest[0]) >= 0 && !strings.HasPrefix(rest, "```") {
		return
	}
	if strings.HasPrefix(rest, "```") {
		_, body, ok := strings.Cut(rest, "\n")
		body, closed := strings.CutSuffix(body, "```")
		if !ok || !closed || strings.Contains(body, "```") {
			return
		}
		rest = body
	}
	take(rest, m.end())
}

// saying takes the rest of a single line after "with the text" and its like,
// unless it describes a text rather than being one.
func saying(m *matcher, i int, take func(string, int)) {
	if i >= len(m.words) || !m.whole || m.words[i].kind == mark || describing()[m.words[i].text] {
		return
	}
	for _, w := range m.words[i:] {
		if w.kind == quoted || len(w.text) > maxPathBytes || w.text == "\n" || w.lower == "and" || w.kind == plain && fileShaped(w.text) {
			return
		}
	}
	literal(m, i, take)
}

// describing are words that begin a description of a text. A capital makes
// them the beginning of a text, so they are compared as they stand.
var describing = wordSet(`
about of from for that describing explaining as in to and my our your the a an some this these those all any
like similar based such what which whatever how it same including containing listing summarizing i we you
today's current or with both every each one two three random dummy default appropriate relevant is was
explained shown below above file folder directory you'd on by at copied taken separated provided given inside
summary suitable placeholder
`)

// asksMore reports whether the line goes on to ask for another operation:
// "… and then delete b.txt".
func (m *matcher) asksMore(i int) bool {
	bound := false // a connecting word stands before this one
	for _, w := range m.words[i:] {
		switch w.lower {
		case "¶":
			return false
		case "and", "then", "also", ",", ".", ";", "!", "afterwards", "finally", "next", "please":
			bound = true
		default:
			if bound && verbs()[w.lower] {
				return true
			}
			bound = false
		}
	}
	return false
}

// verbs name operations, and what people ask for beside them.
var verbs = wordSet(`
read open show display print view list create make write save append add delete remove erase copy duplicate
move rename mkdir rm mv cp run execute send update replace put check find search commit push overwrite edit
readfile writefile appendfile deletefile createdirectory listdirectory fileexists copyfile movefile insert
count sort compress zip
`)

// end is the position behind a content that took all of the prompt.
func (m *matcher) end() int { return maxWords + 1 }
