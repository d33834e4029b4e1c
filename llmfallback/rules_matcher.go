package llmfallback

import "slices"

// maxSteps bounds the search of one prompt; a request that people write takes a few hundred.
const maxSteps = 20000

// A matcher walks the rules over one prompt.
type matcher struct {
	prompt string
	words  []word
	whole  bool // words are all of the prompt
	fields [fieldCount]capture
	steps  int
	found  []Extraction // distinct readings
	lang   *language
}

// A capture is what a slot took.
type capture struct {
	text string
	set  bool
}

// A frame is where a phrase returns to.
type frame struct {
	next *state
	up   *frame
}

// walk tries state s at word i, depth first.
func (m *matcher) walk(s *state, i int, up *frame) {
	m.steps++
	if m.steps > maxSteps || len(m.found) > 1 {
		return
	}
	switch {
	case s.rule != nil:
		m.accept(s.rule, i)
	case s.call != nil:
		m.walk(s.call, i, &frame{s.next[0], up})
	case s.slot != nil:
		m.fill(s, i, up)
	case s.words != nil:
		if i < len(m.words) && slices.Contains(s.words, m.words[i].id) {
			m.walk(s.next[0], i+1, up)
		}
	case len(s.next) == 0:
		m.walk(up.next, i, up.up)
	default:
		for _, n := range s.next {
			m.walk(n, i, up)
		}
	}
}

// fill tries every text that the slot of s accepts. A field is filled once.
func (m *matcher) fill(s *state, i int, up *frame) {
	if m.fields[s.field].set {
		return
	}
	s.slot(m, i, func(text string, next int) {
		m.fields[s.field] = capture{text: text, set: true}
		m.walk(s.next[0], next, up)
		m.fields[s.field] = capture{}
	})
}

// accept adds a reading when nothing but courtesies, or a purpose where the
// operation bears one, follows word i.
func (m *matcher) accept(r *rule, i int) {
	if !m.ends(r, i) {
		return
	}
	e, ok := m.reading(r)
	if ok && !slices.Contains(m.found, e) {
		m.found = append(m.found, e)
	}
}
