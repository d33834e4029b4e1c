package llmfallback

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// rules holds the grammar of requests in plain words; its head explains the notation.
//
//go:embed grammar.txt
var rules string

// A grammar holds rules by their number, and numbers by what they number.
type grammar struct {
	rules [][][]item     // by number; each way is items in a row
	heads []string       // the name of each rule
	named map[string]int // the number of each rule
	words map[string]int // the number of each word, from 1
	lists map[string][]string
}

// An item is one of some words, a rule, or a name of a kind; slot binds what it reads.
type item struct {
	words          set
	rule           int // -1 if the item is no rule
	slot, kind     string
	optional, many bool
}

// A set has the numbers of words.
type set []uint64

func (s set) has(n int) bool { return n/64 < len(s) && s[n/64]&(1<<(n%64)) != 0 }

func (s *set) add(n int) {
	for len(*s) <= n/64 {
		*s = append(*s, 0)
	}
	(*s)[n/64] |= 1 << (n % 64)
}

var compiled = sync.OnceValue(func() *grammar { return compile(rules, func(string) bool { return true }) })

// compile reads a grammar. Words that keep does not keep are left out, and with them the ways
// that need one.
func compile(text string, keep func(word string) bool) *grammar {
	g := &grammar{named: map[string]int{}, words: map[string]int{}, lists: map[string][]string{}}
	for line := range strings.Lines(strings.NewReplacer("\n  |", "|", "\n  ", " ").Replace(text)) {
		name, body, isRule := strings.Cut(line, " = ")
		if list, words, ok := strings.Cut(line, " : "); ok && !isRule {
			g.lists[list] = strings.Fields(words)
		}
		if !isRule || strings.HasPrefix(line, "#") {
			continue
		}
		n := g.rule(name)
		for way := range strings.SplitSeq(body, " / ") {
			var items []item
			possible := true
			for field := range strings.FieldsSeq(way) {
				it := g.item(field, keep)
				items, possible = append(items, it), possible &&
					(it.optional || it.rule >= 0 || it.kind != "" || it.words != nil)
			}
			if possible {
				g.rules[n] = append(g.rules[n], items)
			}
		}
	}
	return g
}

func (g *grammar) rule(name string) int {
	n, ok := g.named[name]
	if !ok {
		n = len(g.rules)
		g.named[name], g.rules, g.heads = n, append(g.rules, nil), append(g.heads, name)
	}
	return n
}

func (g *grammar) item(field string, keep func(string) bool) item {
	it := item{rule: -1}
	if len(field) > 1 {
		field, it.optional = strings.CutSuffix(field, "?")
		field, it.many = strings.CutSuffix(field, "*")
		it.optional = it.optional || it.many
	}
	slot, rule, isRule := strings.Cut(field, "@")
	switch {
	case isRule:
		it.slot, it.rule = slot, g.rule(rule)
	case len(field) > 1 && field[0] == '$':
		it.slot, it.kind, _ = strings.Cut(field[1:], ":")
		it.kind = cmp.Or(it.kind, "none")
	default:
		for w := range strings.SplitSeq(field, "|") {
			if g.words[w] == 0 {
				g.words[w] = len(g.words) + 1
			}
			if keep(w) {
				it.words.add(g.words[w])
			}
		}
	}
	return it
}

// listed reports whether a rule that is a list of words has a word.
func (g *grammar) listed(list string, number int) bool {
	return g.rules[g.named[list]][0][0].words.has(number)
}

// marks reports whether a text starts after a word and a colon.
func (g *grammar) marks(word string) bool { return g.listed("marker", g.words[lower(word)]) }

// A binding is what a slot was given: a text, or what was bound within. Bindings form a list,
// the last one first; one without a slot stands for the list within.
type binding struct {
	slot, text     string
	way            int // of the rule of an operation, from 1
	within, before *binding
}

// each calls f with the bindings of b, those within slots left out.
func (b *binding) each(f func(*binding)) {
	for ; b != nil; b = b.before {
		if b.slot == "" {
			b.within.each(f)
		} else {
			f(b)
		}
	}
}

func (b *binding) equal(c *binding) bool {
	for ; b != c; b, c = b.before, c.before {
		if b == nil || c == nil || b.slot != c.slot ||
			b.text != c.text || !b.within.equal(c.within) {
			return false
		}
	}
	return true
}

// A reading is one way to read the words from somewhere to end.
type reading struct {
	end   int
	bound *binding
}

// maxReadings bounds the ways in which a rule reads the words from one place, and maxSteps the
// work on one prompt.
const (
	maxReadings = 200
	maxSteps    = 60_000
)

// A matcher finds the readings of one prompt.
type matcher struct {
	*grammar
	words
	memo  [][][]reading // by word and rule
	done  [][]bool
	steps int
	lost  bool     // there was too much to do
	far   progress // the farthest
}

// A progress is how far an operation was read: from which word, up to which.
type progress struct {
	rule, from, to int
	bound          *binding
}

// read returns the ways in which a rule can be read at word i.
func (m *matcher) read(rule, i int) []reading {
	if m.memo[i] == nil {
		m.memo[i], m.done[i] = make([][]reading, len(m.rules)), make([]bool, len(m.rules))
	}
	if m.done[i][rule] {
		return m.memo[i][rule]
	}
	m.done[i][rule] = true
	op, does := strings.CutPrefix(m.heads[rule], "op:")
	var all []reading
	for n, items := range m.rules[rule] {
		states := []reading{{i, nil}}
		for k := 0; k < len(items) && len(states) > 0; k++ {
			states = m.along(items[k], states)
			for _, r := range states {
				if does && r.end > m.far.to {
					m.far = progress{rule, i, r.end, r.bound}
				}
			}
		}
		for _, r := range states {
			if does {
				r.bound = &binding{slot: "op", text: op, way: n + 1, before: r.bound}
			}
			all = m.add(all, r)
		}
	}
	m.memo[i][rule] = all
	return all
}

// along returns the ways in which an item can be read after each of some states.
func (m *matcher) along(it item, states []reading) (next []reading) {
	if it.optional {
		next = slices.Clone(states)
	}
	for k := 0; k < len(states); k++ {
		for _, r := range m.after(states[k], it) {
			if it.many && r.end > states[k].end {
				states = m.add(states, r)
			}
			next = m.add(next, r)
		}
	}
	return next
}

// after returns the ways in which an item can be read after s.
func (m *matcher) after(s reading, it item) (all []reading) {
	if m.steps++; m.steps > maxSteps {
		m.lost = true
		return nil
	}
	switch {
	case it.rule >= 0:
		for _, r := range m.read(it.rule, s.end) {
			if r.bound == nil && it.slot == "" {
				r.bound = s.bound
			} else {
				r.bound = &binding{slot: it.slot, within: r.bound, before: s.bound}
			}
			all = append(all, r)
		}
	case it.kind != "":
		if n, ok := m.name(it.kind, s.end); ok && it.slot == "_" {
			return []reading{{n.end, s.bound}}
		} else if ok {
			return []reading{{n.end, &binding{slot: it.slot, text: n.text, before: s.bound}}}
		}
	case s.end < len(m.list) && it.words.has(m.list[s.end].number):
		return []reading{{s.end + 1, s.bound}}
	}
	return all
}

// add adds a reading that is new.
func (m *matcher) add(all []reading, r reading) []reading {
	switch {
	case slices.ContainsFunc(all, func(o reading) bool { return o.end == r.end && o.bound.equal(r.bound) }):
		return all
	case len(all) >= maxReadings:
		m.lost = true
		return all
	}
	return append(all, r)
}
