package wire

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"textskill/parser"
	"textskill/parser/rawjson"
)

// A model's text is read from its left, by one rule: a thought, a code fence or a call that has
// begun is read to its end before anything in it is looked at. A closing thought tag that nothing
// opened ends a thought that the prompt began.

// thoughtTags are around what models write of their thoughts into a text. Some templates write the
// first tag into the prompt, so that only the last one is in the text.
var thoughtTags = []thoughtTag{
	{"<think>", "</think>", true}, {"<thinking>", "</thinking>", true}, {"[THINK]", "[/THINK]", true},
	{"<|START_THINKING|>", "<|END_THINKING|>", true}, {"<seed:think>", "</seed:think>", true},
	{"◁think▷", "◁/think▷", true}, {"<ifm|think>", "</ifm|think>", true}, {"<mm:think>", "</mm:think>", true},
	{"<thought>", "</thought>", false}, {"<reasoning>", "</reasoning>", false}, {"<|channel>thought", "<channel|>", false},
	{"<|channel|>analysis<|message|>", "<|end|>", false},
}

type thoughtTag struct {
	first, last string
	lone        bool // the last may be there alone
}

// A stretch is a part of a text in which nothing is a call. A thought whose first tag is in the
// prompt has its last tag alone.
type stretch struct {
	at, end       int // the tag of a thought that is lone, or all of the stretch
	thought, lone bool
	inside        string // the thought
}

// stretches finds the stretches of a text from left to right.
type stretches struct {
	text    string
	endless map[string]bool // the beginnings that no later end belongs to
	samples parser.Samples
	work    int // of looking for ends of quoted calls that have none
}

// next returns the first stretch that begins in a part of the text; without one, at is to.
func (s *stretches) next(from, to int) stretch {
	text := s.text
	for at := from; at < to; at++ {
		c := text[at]
		if c != '`' && c != '~' && c != '<' && c != '[' && c != "◁"[0] {
			continue
		}
		if c == '`' || c == '~' {
			end, size := s.samples.Fence(text, at)
			if end > 0 && (strings.TrimSpace(text[from:at]) != "" || strings.TrimSpace(text[end:]) != "") {
				return stretch{at: at, end: end}
			}
			at += size - 1
			continue
		}
		if end := s.samples.Element(text, at); end > 0 {
			return stretch{at: at, end: end}
		}
		for _, t := range thoughtTags {
			switch {
			case t.lone && strings.HasPrefix(text[at:], t.last):
				if end := at + len(t.last); endsThought(text, at, end) {
					return stretch{at: at, end: end, thought: true, lone: true}
				}
			case strings.HasPrefix(text[at:], t.first) && !s.endless[t.first] && begins(text, at):
				begin := at + len(t.first)
				if end, size := thoughtEnd(text, begin, t.last); end >= 0 {
					return stretch{at: at, end: end + size, thought: true, inside: text[begin:end]}
				}
				s.endless[t.first] = true
			}
		}
	}
	return stretch{at: to}
}

// thoughtEnd returns where a thought ends that begins at a position, and the size of its last tag;
// -1 if the first tag is only spoken of. A thought without an end is all of the text.
func thoughtEnd(text string, from int, last string) (end, size int) {
	open := parser.IsTag(text[from:])
	for pos := from; ; {
		i := strings.Index(text[pos:], last)
		switch {
		case i < 0 && open:
			return len(text), 0
		case i < 0:
			return -1, 0
		}
		at := pos + i
		if pos = at + len(last); !parser.IsQuoted(text[:at]) && (open || parser.IsTag(text[pos:])) {
			return at, len(last)
		}
	}
}

// endsThought reports whether a closing tag that nothing opened ends a thought: the answer follows
// it, and no sentence or list speaks of it.
func endsThought(text string, at, end int) bool {
	before := text[max(0, at-maxName):at]
	marks := strings.TrimSpace(before[strings.LastIndexByte(before, '\n')+1:])
	return !parser.IsQuoted(text[:at]) && parser.IsTag(text[end:]) && strings.TrimSpace(text[end:]) != "" &&
		(marks == "" || strings.ContainsFunc(marks, unicode.IsLetter) || strings.HasSuffix(marks, ">"))
}

// opensQuote reports whether a text ends with a mark that begins a quotation or a code span.
func opensQuote(text string) bool {
	line := text[strings.LastIndexByte(text, '\n')+1:]
	c, _ := utf8.DecodeLastRuneInString(line)
	return line != "" && strings.ContainsRune("`\"“«„", c) && strings.Count(line, string(c))%2 == 1 && strings.Trim(line, "` ") != ""
}

// begins reports whether a call or a thought may begin at a position: it begins its line, or
// directly follows words or a token, as templates write it. It does not in quotations, in indented
// samples and within sentences.
func begins(text string, at int) bool {
	before := text[max(0, at-maxName):at]
	if strings.HasSuffix(strings.TrimRight(before, rawjson.Space), ">") {
		at -= len(wrapper().FindString(before))
		before = text[max(0, at-maxName):at]
	}
	line := before[strings.LastIndexByte(before, '\n')+1:]
	marks := strings.TrimSpace(line)
	switch {
	case at < maxName && strings.TrimSpace(before) == "":
		return true
	case strings.HasPrefix(strings.ReplaceAll(line, "\t", "    "), "    "), strings.HasPrefix(marks+" ", "> "):
		return false
	case marks == "":
		return !opensQuote(strings.TrimRight(before, rawjson.Space))
	case strings.Trim(marks, ">") == "":
		return false
	case slices.ContainsFunc(thoughtTags, func(t thoughtTag) bool { return strings.HasSuffix(marks, t.last) }):
		return true
	}
	c, _ := utf8.DecodeLastRuneInString(before)
	return !opensQuote(before) && !unicode.IsSpace(c) && !parser.IsQuoted(before) && !strings.ContainsRune("([{<=*_~|/\\", c)
}

// wrapper matches tokens around some calls, before the first of them.
var wrapper = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:to=[\w.-]+<\|message\|>)?(?:(?:<\|open\|>tools<\|sep\|>|\]<\]minimax\[>\[<tool_call>|<[^<>/\s]*(?:call|tools)[^<>/\s]*>)\s*)+\z`)
})

// opening returns where the next call of a format begins that a function finds, the end of the text for none. It
// passes over thoughts, samples and quotations, up to a thought that ends alone, whose end it returns.
func (s *stretches) opening(pos int, f format, tools Schemas, find func(from int) int) (at, thought int) {
	for next := pos; ; {
		at := find(next)
		switch passed := s.next(next, at); {
		case passed.lone:
			return len(s.text), passed.end
		case passed.at < at:
			next = passed.end
		case at < len(s.text) && at != next && !begins(s.text, at):
			next = s.quoteEnd(f, at, tools)
		default:
			return at, 0
		}
	}
}

// quoteEnd returns where calls end that are only quoted at a position: behind their last frame if they have a
// format and are whole, else where their code span or line ends.
func (s *stretches) quoteEnd(f format, at int, tools Schemas) int {
	text, end := s.text, at+1
	if f.open != "" && s.work < maxWork/8 {
		frames := &scanner{format: f, text: text, pos: at, tools: tools, found: map[string]int{}}
		frames.pos = frames.find(f.open)
		if whole := frames.wholeFrames(); whole > 0 {
			return whole
		}
		s.work += len(text) - at
	}
	if i := strings.IndexByte(text[end:], '`'); i >= 0 && strings.HasSuffix(text[:at], "`") {
		return end + i
	}
	if i := strings.IndexByte(text[end:], '\n'); i >= 0 {
		return end + i
	}
	return len(text)
}

// A Reading is what a text of a model holds.
type Reading struct {
	parser.Envelope
	Wire    *Wire  // of the calls; nil for none
	Thought string // the thoughts before the text
	Rest    string // without these thoughts
	Text    string // up to the first call
}

// errThought is the error of calls that a thought holds: it ends at this position of the text.
type errThought int

func (errThought) Error() string { return "the calls are in a thought" }

// read reads a text whose calls some finders find.
func read(text string, finders []finder, known func(name string) bool, tools Schemas) (r Reading, err error) {
	s := search{text: text, finders: finders, known: known}
	passed := &stretches{text: text, endless: map[string]bool{}}
	from := 0 // where the thoughts end
	for pos := 0; ; {
		w, at := s.next(pos, from)
		found := passed.next(pos, at)
		if found.at < at {
			beginning := strings.TrimSpace(text[from:found.at]) == ""
			if found.lone {
				found.inside = text[from:found.at]
			}
			if pos = found.end; found.lone || found.thought && beginning {
				r.Thought += strings.TrimSpace(found.inside)
				from = pos
			}
			continue
		}
		if w != nil && !begins(text, at) {
			pos = passed.quoteEnd(w.formatOf(text[at:]), at, tools)
			continue
		}
		r.Rest = strings.TrimLeft(text[from:], rawjson.Space)
		if r.Text = r.Rest; w == nil {
			return r, nil
		}
		e, err := w.calls(text[at:], tools)
		if thought, ok := err.(errThought); ok {
			inside := text[from : at+int(thought)]
			for _, t := range thoughtTags {
				inside = strings.TrimSuffix(inside, t.last)
			}
			r.Thought += strings.TrimSpace(inside)
			from = at + int(thought)
			pos = from
			continue
		}
		if r.Envelope = e; err == nil {
			r.Wire, r.Text = w, strings.TrimLeft(text[from:at], rawjson.Space)
		}
		return r, err
	}
}

// A search finds calls from left to right.
type search struct {
	text    string
	finders []finder
	known   func(name string) bool
	found   []place // by each finder
}

type place struct {
	wire *Wire // nil for none
	at   int
}

// next returns the wire of the call that begins first from a position on, and where; nil and the
// end of the text for none. The thoughts end at begin. Each finder looks at each part of the text
// once.
func (s *search) next(pos, begin int) (*Wire, int) {
	if s.found == nil {
		s.found = slices.Repeat([]place{{at: -1}}, len(s.finders))
	}
	first := place{at: len(s.text)}
	for i, f := range s.finders {
		p := &s.found[i]
		if f.begin || p.at < pos {
			*p = place{at: len(s.text) + 1}
			w, at := (*Wire)(nil), 0
			if !f.begin || pos == begin {
				w, at = f.find(s.text[pos:], s.known)
			}
			if w != nil {
				*p = place{w, len(s.text) - len(strings.TrimLeft(s.text[pos+at:], rawjson.Space))}
			}
		}
		if p.at < first.at {
			first = *p
		}
	}
	return first.wire, first.at
}
