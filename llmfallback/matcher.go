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
	rules [][]sequence
	heads []string            // the name of each rule
	named map[string]int      // the number of each rule
	words map[string]int      // the number of each word, from 1
	lists map[string][]string // words that what a model proposes is compared with
}

// A sequence is one way to say something. It can begin with the words of first, and with any
// word if it is open.
type sequence struct {
	items []item
	first set
	open  bool
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

// compile reads a grammar. Words that keep does not keep are left out, and with them the
// sequences that need one.
func compile(text string, keep func(word string) bool) *grammar {
	g := &grammar{named: map[string]int{}, words: map[string]int{}, lists: map[string][]string{}}
	for line := range strings.Lines(strings.NewReplacer("\n  |", "|", "\n  ", " ").Replace(text)) {
		if name, list, ok := strings.Cut(line, " : "); ok && !strings.Contains(line, " = ") {
			g.lists[name] = strings.Fields(list)
			continue
		}
		name, body, ok := strings.Cut(line, " = ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		n := g.rule(strings.TrimSpace(name))
		for way := range strings.SplitSeq(body, " / ") {
			if s, ok := g.sequence(strings.Fields(way), keep); ok {
				g.rules[n] = append(g.rules[n], s)
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for n := range g.rules {
			for i := range g.rules[n] {
				changed = g.begin(&g.rules[n][i]) || changed
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

func (g *grammar) sequence(fields []string, keep func(string) bool) (s sequence, ok bool) {
	for _, field := range fields {
		it := item{rule: -1}
		if len(field) > 1 {
			field, it.optional = strings.CutSuffix(field, "?")
			field, it.many = strings.CutSuffix(field, "*")
		}
		slot, rule, bound := strings.Cut(field, "@")
		switch {
		case bound:
			it.slot, it.rule = slot, g.rule(rule)
		case len(field) > 1 && field[0] == '$':
			it.slot, it.kind, _ = strings.Cut(field[1:], ":")
			it.kind = cmp.Or(it.kind, "none")
		default:
			for w := range strings.SplitSeq(field, "|") {
				if !keep(w) {
					continue
				}
				if g.words[w] == 0 {
					g.words[w] = len(g.words) + 1
				}
				it.words.add(g.words[w])
			}
			if it.words == nil && !it.optional && !it.many {
				return s, false
			}
		}
		s.items = append(s.items, it)
	}
	return s, len(s.items) > 0
}

// begin adds to what s can begin with what is known by now. It reports whether that was new.
func (g *grammar) begin(s *sequence) (changed bool) {
	for _, it := range s.items {
		switch {
		case s.open:
			return changed
		case it.rule >= 0:
			empty := false
			for i := range g.rules[it.rule] {
				of := &g.rules[it.rule][i]
				empty = empty || of.open
				changed = s.first.merge(of.first) || changed
			}
			if empty {
				s.open = true
				return true
			}
		case it.kind != "":
			s.open = true
			return true
		default:
			changed = s.first.merge(it.words) || changed
		}
		if !it.optional && !it.many {
			return changed
		}
	}
	s.open = true
	return true
}

func (s *set) merge(more set) (changed bool) {
	for i, bits := range more {
		if i >= len(*s) {
			*s = append(*s, 0)
		}
		changed = changed || (*s)[i]|bits != (*s)[i]
		(*s)[i] |= bits
	}
	return changed
}

// A binding is what a slot was given: a text, or what was bound within. Bindings form a list,
// the last one first; one without a slot stands for the list within.
type binding struct {
	slot, text string
	quoted     bool
	way        int // of the rule of an operation, from 1
	within     *binding
	before     *binding
}

// each calls f with the bindings of b, those of slots within slots left out.
func (b *binding) each(f func(*binding)) {
	for ; b != nil; b = b.before {
		if b.slot == "" {
			b.within.each(f)
		} else {
			f(b)
		}
	}
}

// A reading is one way to read the words from somewhere to end.
type reading struct {
	end   int
	bound *binding
}

// maxReadings bounds the ways in which a rule reads the words from one place, and maxSteps
// the work on one prompt.
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
	lost  bool // there was too much to do
	far   progress
}

// A progress is how far an operation was read: up to which word, and what was to come then.
type progress struct {
	rule, from, to int
	bound          *binding
	next           item
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
	word := 0
	if i < len(m.list) {
		word = m.list[i].number
	}
	var all []reading
	op, does := strings.CutPrefix(m.heads[rule], "op:")
	for n := range m.rules[rule] {
		if s := &m.rules[rule][n]; s.open || s.first.has(word) {
			for _, r := range m.along(rule, s.items, i) {
				if does {
					r.bound = &binding{slot: "op", text: op, way: n + 1, before: r.bound}
				}
				all = m.add(all, r)
			}
		}
	}
	m.memo[i][rule] = all
	return all
}

// along returns the ways in which items can be read one after the other at word i.
func (m *matcher) along(rule int, items []item, i int) []reading {
	states := []reading{{i, nil}}
	for _, it := range items {
		var next []reading
		if it.optional || it.many {
			next = slices.Clone(states)
		}
		for k := 0; k < len(states); k++ {
			s := states[k]
			for _, r := range m.item(it, s) {
				if it.many && len(states) < maxReadings && r.end > s.end {
					states = m.add(states, r)
				}
				next = m.add(next, r)
				if r.end > m.far.to && strings.HasPrefix(m.heads[rule], "op:") {
					m.far = progress{rule, i, r.end, r.bound, it}
				}
			}
		}
		if states = next; len(states) == 0 {
			return nil
		}
	}
	return states
}

// item returns the ways in which an item can be read after s.
func (m *matcher) item(it item, s reading) (all []reading) {
	if m.steps++; m.steps > maxSteps {
		m.lost = true
		return nil
	}
	switch {
	case it.rule >= 0:
		slot := it.slot
		for _, r := range m.read(it.rule, s.end) {
			if r.bound != nil || slot != "" {
				r.bound = &binding{slot: slot, within: r.bound, before: s.bound}
			} else {
				r.bound = s.bound
			}
			all = append(all, r)
		}
	case it.kind != "":
		n, ok := m.name(it.kind, s.end)
		if ok && it.slot == "_" {
			all = append(all, reading{n.end, s.bound})
		} else if ok {
			all = append(all, reading{n.end, &binding{slot: it.slot, text: n.text, quoted: n.quoted, before: s.bound}})
		}
	case s.end < len(m.list) && it.words.has(m.list[s.end].number):
		all = append(all, reading{s.end + 1, s.bound})
	}
	return all
}

// add adds a reading that is new.
func (m *matcher) add(all []reading, r reading) []reading {
	if slices.ContainsFunc(all, func(o reading) bool { return o.end == r.end && o.bound.equal(r.bound) }) {
		return all
	}
	if len(all) >= maxReadings {
		m.lost = true
		return all
	}
	return append(all, r)
}

func (b *binding) equal(c *binding) bool {
	for ; b != c; b, c = b.before, c.before {
		if b == nil || c == nil || b.slot != c.slot || b.text != c.text || b.quoted != c.quoted || !b.within.equal(c.within) {
			return false
		}
	}
	return true
}

// marks reports whether a text starts after a word and a colon.
func (g *grammar) marks(word string) bool { return g.listed("marker", g.words[lower(word)]) }

// listed reports whether a list of the grammar has a word.
func (g *grammar) listed(list string, number int) bool {
	return g.rules[g.named[list]][0].first.has(number)
}
