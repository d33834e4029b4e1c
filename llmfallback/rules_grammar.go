package llmfallback

import (
	"fmt"
	"slices"
	"strings"
)

// A field is what a slot of a pattern fills.
type field uint8

const (
	pathField    field = iota
	baseField          // the folder that path lies in
	destField          // the destination as it was named
	intoField          // the folder that takes path under its own name
	newNameField       // a new last name for path
	contentField
	kindField   // what kind of files are asked for
	reasonField // not looked at
	fieldCount
)

var fieldNames = [fieldCount]string{"path", "base", "dest", "into", "newname", "content", "kind", "reason"}

// A state is a node of a compiled pattern: it consumes a word, fills a slot,
// calls a phrase, or forks. What follows is in next; the last state of a
// pattern or phrase has none.
type state struct {
	next  []*state
	words []int // vocabulary ids, one of which must stand here
	slot  slot  // nil unless the state is a slot, which fills field
	field field
	call  *state // first state of a phrase
	rule  *rule  // the rule that ends here
}

// A rule is one way to ask for an operation. Its pattern is written in words:
//
//	word     the word itself, in lower case, or a punctuation mark
//	[a b]    a b, or nothing
//	(a|b c)  one of these
//	$name    the phrase of that name; $name:base with its @ replaced by base
//	<f:s>    a slot: field f is filled by what slot s accepts
//
// A rule matches only if it explains the whole request, see [matcher.accept].
type rule struct {
	op      string
	pattern string
	empty   bool // with no content slot the content is the empty text, not missing
	start   *state
}

// A grammar is a compiled table of rules.
type grammar struct {
	vocabulary map[string]int // from 1
	phrases    map[string]string
	compiled   map[string]*state // phrases, each once
	rules      []rule
}

// compile panics on a mistake in the tables, which a test finds.
func compile(phrases map[string]string, rules []rule) *grammar {
	g := &grammar{vocabulary: map[string]int{}, phrases: phrases, compiled: map[string]*state{}, rules: slices.Clone(rules)}
	for i := range g.rules {
		r := &g.rules[i]
		r.start = g.sequence(r.pattern, &state{rule: r})
	}
	return g
}

func (g *grammar) id(word string) int {
	id, ok := g.vocabulary[word]
	if !ok {
		id = len(g.vocabulary) + 1
		g.vocabulary[word] = id
	}
	return id
}

// sequence compiles a pattern that continues at next, from its last item back.
func (g *grammar) sequence(pattern string, next *state) *state {
	items := items(pattern)
	for _, item := range slices.Backward(items) {
		next = g.item(item, next)
	}
	return next
}

func (g *grammar) item(item string, next *state) *state {
	switch item[0] {
	case '[':
		return g.choice(append(branches(item), ""), next)
	case '(':
		return g.choice(branches(item), next)
	case '$':
		s, ok := g.compiled[item]
		if !ok {
			s = g.sequence(g.phrase(item[1:]), &state{})
			g.compiled[item] = s
		}
		return &state{next: []*state{next}, call: s}
	case '<':
		name, kind, _ := strings.Cut(strings.Trim(item, "<>"), ":")
		f := slices.Index(fieldNames[:], name)
		accepts := slotNamed(kind)
		if f < 0 || accepts == nil {
			panic(fmt.Sprintf("llmfallback: no slot %s", item))
		}
		return &state{next: []*state{next}, field: field(f), slot: accepts}
	}
	return &state{next: []*state{next}, words: []int{g.id(item)}}
}

// choice compiles alternatives. Those of one word share one state.
func (g *grammar) choice(branches []string, next *state) *state {
	fork := &state{}
	one := &state{next: []*state{next}}
	for _, b := range branches {
		switch {
		case b == "":
			fork.next = append(fork.next, next)
		case !strings.ContainsAny(b, " $<[("):
			one.words = append(one.words, g.id(b))
		default:
			fork.next = append(fork.next, g.sequence(b, next))
		}
	}
	if one.words != nil {
		slices.Sort(one.words)
		fork.next = append(fork.next, one)
	}
	if len(fork.next) == 1 {
		return fork.next[0]
	}
	return fork
}

func (g *grammar) phrase(name string) string {
	name, arg, _ := strings.Cut(name, ":")
	text, ok := g.phrases[name]
	if !ok {
		panic("llmfallback: no phrase $" + name)
	}
	return strings.ReplaceAll(text, "@", arg)
}

// items cuts a pattern at its top-level spaces.
func items(pattern string) (list []string) {
	depth, from := 0, 0
	for i := 0; i <= len(pattern); i++ {
		switch {
		case i == len(pattern) || depth == 0 && (pattern[i] == ' ' || pattern[i] == '\n' || pattern[i] == '\t'):
			if i > from {
				list = append(list, pattern[from:i])
			}
			from = i + 1
		case pattern[i] == '[' || pattern[i] == '(':
			depth++
		case pattern[i] == ']' || pattern[i] == ')':
			depth--
		}
	}
	if depth != 0 {
		panic("llmfallback: brackets do not match in " + pattern)
	}
	return list
}

// branches cuts a bracketed item at its top-level bars.
func branches(item string) (list []string) {
	body := item[1 : len(item)-1]
	depth, from := 0, 0
	for i := 0; i <= len(body); i++ {
		switch {
		case i == len(body) || depth == 0 && body[i] == '|':
			list = append(list, strings.TrimSpace(body[from:i]))
			from = i + 1
		case body[i] == '[' || body[i] == '(':
			depth++
		case body[i] == ']' || body[i] == ')':
			depth--
		}
	}
	return list
}
