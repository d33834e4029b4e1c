package wire

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"textskill/parser"
	"textskill/parser/rawjson"
)

// An end tag in a value looks like the end of the value. If the text shows that one was not, by an
// end tag that is left over or a call that does not end in its value, all readings of the frames are
// tried. The one that leaves nothing over counts, and none counts if there are more.

// errEnd is the error of calls that can be read in several ways, or in none.
func (s *scanner) errEnd() error {
	return fmt.Errorf("a value holds %s, which cannot be told from the end of the call; write it with another tool, or in parts", s.end)
}

// maxWork bounds the readings that are tried: the bytes that are looked at.
const maxWork = 8 << 20

// An endings tries all readings of the frames of a text.
type endings struct {
	*scanner
	work   int
	ways   int
	calls  []parser.ToolCall // of the reading under way
	result []parser.ToolCall // of the first that was found
}

// resolve reads the frames from a position on again, all of them.
func (s *scanner) resolve(from int) {
	e := endings{scanner: &scanner{format: s.format, text: s.text, tools: s.tools, found: map[string]int{},
		passed: &stretches{text: s.text, endless: map[string]bool{}}, marks: s.marks}}
	e.frames(from)
	switch {
	case e.ways == 1 && e.work < maxWork:
		s.Calls = e.result
		return
	case !s.doubt:
		return
	}
	c := s.Calls[0]
	c.Arguments, c.Err = nil, fmt.Errorf("%w; nothing from there on was read", s.errEnd())
	s.Calls = []parser.ToolCall{c}
}

// at goes to a position, which may be before the current one.
func (e *endings) at(pos int) {
	e.pos, e.thought = pos, 0
	clear(e.found)
}

// frames reads from a position between frames to the end of the text.
func (e *endings) frames(pos int) {
	e.at(pos)
	open := e.opening()
	e.work += open - pos + 64
	switch {
	case e.work > maxWork:
		return
	case e.thought > 0 || strings.Contains(e.text[pos:open], e.tag.close):
		return
	case open == len(e.text):
		if e.ways++; e.ways == 1 {
			e.result = slices.Clone(e.calls)
		}
		return
	}
	e.pos = open + len(e.open)
	if c, err := e.head(); err == nil && c.Name != "" {
		e.arguments(c, nil, e.pos)
	}
}

// arguments reads arguments from a position on, behind some of the call, and what follows the call.
func (e *endings) arguments(c parser.ToolCall, list []written, pos int) {
	e.at(pos)
	if e.space(); strings.HasPrefix(e.text[e.pos:], cmp.Or(e.last, e.end)) || e.pos == len(e.text) {
		if e.skip(e.last) && e.close() {
			c.Arguments, c.Err = e.object(c.Name, list)
			e.calls = append(e.calls, c)
			e.frames(e.pos)
			e.calls = e.calls[:len(e.calls)-1]
		}
		return
	}
	if !e.skip(e.tag.open) {
		return
	}
	w, err := e.newKey(c, list)
	if err != nil {
		return
	}
	begin := e.pos
	inside := e.events(begin, begin)
	for end := begin; e.work < maxWork && e.ways < 2; {
		i := strings.Index(e.text[end:], e.tag.close)
		if i < 0 {
			return
		}
		at := end + i
		inside.to(at)
		end = at + len(e.tag.close)
		next := strings.TrimLeft(e.text[end:min(len(e.text), end+maxName)], rawjson.Space)
		e.work += i + 64
		if inside.open == 0 && (next == "" || strings.HasPrefix(next, e.tag.open) ||
			strings.HasPrefix(next, cmp.Or(e.last, e.end))) {
			w.text = e.text[begin:at]
			all := append(list[:len(list):len(list)], w)
			e.arguments(c, all, end)
			// an argument that the tool still lacks is not part of the value
			if e.at(end); strings.HasPrefix(next, e.tag.open) {
				e.space()
				e.skip(e.tag.open)
				if _, err := e.newKey(c, all); err == nil {
					return
				}
			}
		}
	}
}

// newKey reads the key of an argument that the tool has and the call has not yet.
func (e *endings) newKey(c parser.ToolCall, list []written) (written, error) {
	w, err := e.key()
	properties := split(e.tools(c.Name)).get("properties").members
	given := slices.ContainsFunc(list, func(other written) bool { return other.key == w.key })
	if err == nil && (given || len(properties) > 0 && properties[w.key] == nil) {
		err = fmt.Errorf("%s is no further argument of %s", w.key, c.Name)
	}
	return w, err
}

// A mark is where a call with arguments begins, or a call ends.
type mark struct {
	at   int
	open bool
}

// An inside counts the calls that begin in a value and do not end in it.
type inside struct {
	open  int
	marks []mark // from the end of what was counted on
}

// events counts the calls that begin in a part of the text and do not end in it.
func (s *scanner) events(from, to int) *inside {
	if s.marks == nil {
		s.mark()
	}
	i, _ := slices.BinarySearchFunc(s.marks, from, func(m mark, at int) int { return m.at - at })
	in := &inside{marks: s.marks[i:]}
	in.to(to)
	return in
}

// mark finds the marks of the text.
func (s *scanner) mark() {
	after := regexp.QuoteMeta(s.after)
	if s.keep {
		after = ""
	}
	begun := regexp.MustCompile(regexp.QuoteMeta(s.open) + `\s*` + regexp.QuoteMeta(s.before) +
		`[^<>{}\[\]"\n]{1,200}` + after + `\s*` + regexp.QuoteMeta(s.tag.open))
	s.marks = []mark{}
	for _, m := range begun.FindAllStringIndex(s.text, -1) {
		s.marks = append(s.marks, mark{m[0], true})
	}
	for pos := 0; ; {
		i := strings.Index(s.text[pos:], s.end)
		if i < 0 {
			break
		}
		s.marks = append(s.marks, mark{pos + i, false})
		pos += i + len(s.end)
	}
	slices.SortFunc(s.marks, func(a, b mark) int { return a.at - b.at })
}

// to goes on to a position.
func (in *inside) to(pos int) {
	for ; len(in.marks) > 0 && in.marks[0].at < pos; in.marks = in.marks[1:] {
		if in.marks[0].open {
			in.open++
		} else {
			in.open = max(in.open-1, 0)
		}
	}
}
