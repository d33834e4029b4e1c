package llmfallback

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// english is the grammar of requests, compiled when it is first needed.
var english = sync.OnceValue(compileEnglish)

func compileEnglish() *language {
	all := map[string]string{}
	for _, table := range [][][2]string{phrases[:], queryPhrases[:], changePhrases[:]} {
		for _, p := range table {
			all[p[0]] = p[1]
		}
	}
	l := &language{grammar: compile(all, append(queries[:len(queries):len(queries)], changes...))}
	l.opening = l.courtesy(openings)
	l.closing = l.courtesy(closings)
	l.closingOf = map[string]*state{}
	for _, c := range closingsOf {
		l.closingOf[c[0]] = l.courtesy(c[1])
	}
	return l
}

// A language is a grammar and what may stand around a request.
type language struct {
	*grammar
	opening, closing *state
	closingOf        map[string]*state
}

func (l *language) courtesy(pattern string) *state {
	return l.sequence(pattern, &state{})
}

// understand reads a request by the rules. It reports false unless exactly one
// reading explains every word of the prompt.
func understand(prompt string) (Extraction, bool) {
	m := newMatcher(prompt, english())
	start := m.opened(0)
	if start < len(m.words) {
		if e, ok := command(prompt[m.words[start].start:]); ok {
			return e, true
		}
	}
	m.try(start, true)
	if i := m.preamble(); i > start {
		m.try(m.opened(i), false)
	}
	if len(m.found) != 1 || m.steps > maxSteps {
		return Extraction{}, false
	}
	return m.found[0], true
}

func newMatcher(prompt string, l *language) *matcher {
	words, whole := split(prompt)
	for i := range words {
		if words[i].kind != quoted {
			words[i].id = l.vocabulary[words[i].lower]
		}
	}
	return &matcher{prompt: prompt, words: words, whole: whole, lang: l}
}

// try walks every rule from word i; those that delete only where that is allowed.
func (m *matcher) try(i int, deletes bool) {
	for j := range m.lang.rules {
		if r := &m.lang.rules[j]; deletes || r.op != "deleteFile" {
			m.walk(r.start, i, nil)
		}
	}
}

// opened returns the first word of the request itself, from word from on,
// behind please and the like. There reads is read, and after "would you mind" so is reading.
func (m *matcher) opened(from int) int {
	i, mind := from, false
	for i < len(m.words) {
		next := m.longest(m.lang.opening, i)
		if next < 0 {
			if i > from && m.words[i].kind == mark && strings.Contains(",!.-¶", m.words[i].lower) ||
				m.words[i].lower == "¶" {
				i++
				continue
			}
			break
		}
		mind = m.words[next-1].lower == "mind"
		i = next
	}
	if i < len(m.words) && m.words[i].kind == plain {
		if verb := verbForm(m.words[i].lower); verb != "" && mind == strings.HasSuffix(m.words[i].lower, "ing") {
			m.words[i].id = m.lang.vocabulary[verb]
		}
	}
	return i
}

// verbForm returns the plain form of a verb in -ing or -s that requests begin
// with, "" for any other word.
func verbForm(w string) string {
	stem, gerund := strings.CutSuffix(w, "ing")
	if !gerund {
		stem = strings.TrimSuffix(w, "s")
		if stem == w {
			return ""
		}
	}
	candidates := []string{stem, stem + "e", strings.TrimSuffix(stem, "e"), strings.TrimSuffix(stem, "ie") + "y"}
	if n := len(stem); n > 2 && stem[n-1] == stem[n-2] { // putting
		candidates = append(candidates, stem[:n-1])
	}
	for _, verb := range candidates {
		if verbs()[verb] {
			return verb
		}
	}
	return ""
}

// longest returns the word behind the longest match of s at i, or -1.
func (m *matcher) longest(s *state, i int) int {
	m.steps++
	switch {
	case s.words != nil:
		if i < len(m.words) && slices.Contains(s.words, m.words[i].id) {
			return m.longest(s.next[0], i+1)
		}
		return -1
	case len(s.next) == 0:
		return i
	}
	best := -1
	for _, n := range s.next {
		best = max(best, m.longest(n, i))
	}
	return best
}

// ends reports whether a request for op may end at word i: courtesies follow,
// or what the operation does anyway, or a purpose.
func (m *matcher) ends(r *rule, i int) bool {
	if i == m.end() {
		return true
	}
	for i < len(m.words) {
		next := m.longest(m.lang.closing, i)
		if s := m.lang.closingOf[r.op]; s != nil {
			next = max(next, m.longest(s, i))
		}
		if next <= i {
			return m.whole && !r.empty && r.op != "deleteFile" && m.purpose(r.op, i)
		}
		i = next
	}
	return m.whole
}

// reading turns what the slots took into an extraction. It reports false where
// the parts do not fit each other.
func (m *matcher) reading(r *rule) (Extraction, bool) {
	f := func(at field) string { return m.fields[at].text }
	e := Extraction{Operation: r.op, Path: f(pathField), Content: f(contentField), HasContent: m.fields[contentField].set || r.empty}
	if e.Path == "" && r.op != "listDirectory" {
		return e, false
	}
	// "the report files in Reports" are all of them
	if kind := lower(f(kindField)); kind != "" && !strings.HasPrefix(lower(path.Base(e.Path)), strings.TrimSuffix(kind, "s")) {
		return e, false
	}
	if base := f(baseField); base != "" && r.op != "listDirectory" || base != "" && e.Path != "" {
		if rooted(e.Path) || strings.HasPrefix(e.Path, strings.TrimSuffix(base, "/")+"/") {
			return e, false
		}
		e.Path = join(base, e.Path)
	}
	if e.Path == "" {
		e.Path = "."
	}
	if r.op != "copyFile" && r.op != "moveFile" {
		return e, true
	}
	name := path.Base(e.Path)
	switch dest, into, newName := f(destField), f(intoField), f(newNameField); {
	case into != "" && newName != "":
		e.Destination = join(into, newName)
		return e, !strings.Contains(newName, "/")
	case into != "":
		e.Destination = join(into, name)
	case newName != "" && !strings.Contains(newName, "/"):
		e.Destination = join(strings.TrimSuffix(e.Path, name), newName)
	case newName != "":
		e.Destination = newName
	case strings.HasSuffix(dest, "/"), dest == ".":
		e.Destination = join(dest, name)
	case dest != "":
		e.Destination = dest
	default:
		e.Destination = name
	}
	return e, e.Destination != e.Path
}

func rooted(p string) bool { return strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") }

// join puts name below dir; the current folder is left out.
func join(dir, name string) string {
	if dir == "" || dir == "." || dir == "./" {
		return name
	}
	return strings.TrimSuffix(dir, "/") + "/" + name
}
