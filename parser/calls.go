package parser

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"textskill/parser/rawjson"
)

// maxCalls is the most calls of a text; a text with more is refused whole.
const maxCalls = 10_000

// maxMarks is how many bytes of marks and white space may stand before a call on its
// line. It keeps the search backwards linear in texts that repeat such marks.
const maxMarks = 256

// Calls reads the calls in a model's text, in order. A call of a known name is written
//
//	name(key: 'text', key = 1, key: [true, None, {k: "v"}])
//
// and a call of any name as JSON or in tags:
//
//	{"tool":"name","params":{…},"id":"1"}    {"name":"name","arguments":{…}}    {"tool_calls":[…]}
//	<tool_call>{"name":"name","arguments":{…}}</tool_call>
//	<tool_call><name>name</name><args>{…}</args></tool_call>
//
// A call begins its line, after list markers or quote signs at most, or follows a full
// stop, a colon or another call. Prose and code fences may surround calls. Calls skips
// calls inside a sentence, names without arguments such as read(…), JSON values that
// are not calls, <think> blocks and samples such as <pre>. It returns a [Mention] of text that looks like a
// call, so that the caller can say that it was not carried out.
//
// A string has one or three quotes, single or double, at each end. Its escapes are
// \\ \' \" \n \r \t and \uXXXX; any other backslash is an ordinary character, and so
// are all in r'…'. Keys keep their order and numbers their digits. A tuple becomes
// an array.
//
// After an invalid call, or a reasoning block without an end, Calls reads nothing more,
// because the rest may be part of the call. The Err of this last call is a
// [*SyntaxError]. A text without any call is a [*SyntaxError] too. More than 64 MiB
// or 10,000 calls are a [*rawjson.Error] with [rawjson.ErrTooLarge].
func Calls(text string, known func(name string) bool) ([]ToolCall, []Mention, error) {
	if len(text) > rawjson.MaxBytes {
		return nil, nil, &rawjson.Error{Offset: rawjson.MaxBytes, Err: rawjson.ErrTooLarge}
	}
	r := &callReader{text: strings.TrimPrefix(text, "\ufeff"), known: known}
	for r.pos < len(r.text) {
		name, err := r.next()
		switch {
		case err != nil:
			return append(r.calls, ToolCall{Name: name, Err: err}), r.mentions, nil
		case len(r.calls) > maxCalls:
			return nil, nil, &rawjson.Error{Offset: r.pos,
				Reason: fmt.Sprintf("more than %d calls", maxCalls), Err: rawjson.ErrTooLarge}
		}
	}
	if len(r.calls) == 0 {
		return nil, r.mentions, r.none()
	}
	return r.calls, r.mentions, nil
}

// A Mention is text that looks like a call but does not run: inside a sentence, in a
// reasoning block, in a list of other things, or with an unknown name.
type Mention struct {
	Name         string
	Line, Column int    // counted from 1
	Reason       string // why it does not run, worded to follow the name; "" if the name is unknown
	Before       int    // number of calls before it
	Keyed        bool   // its arguments begin with a key, as in name(key: …)
	weak         bool   // without an argument, or JSON: not what a text without any call was about
}

// String says where the mention is and why it is not a call.
func (m Mention) String() string {
	return fmt.Sprintf("%s on line %d, column %d %s, so it was not run",
		cmp.Or(m.Name, "what looks like a call"), m.Line, m.Column, cmp.Or(m.Reason, "is not a tool"))
}

// maxMentions is the most mentions that are returned of a text.
const maxMentions = 100

// A callReader reads a text from left to right.
type callReader struct {
	text  string
	pos   int
	known func(name string) bool
	calls []ToolCall
	at    []int // where each call begins
	free  int   // where the last call ended; another may begin there
	// a bracket is never closed, so no further one is decoded: each would cost the rest of the text
	flat  bool
	out   []byte // the JSON of the arguments being read
	depth int
	wide  bool // strings have the escapes of Python and JSON, as Stack's calls do not

	mentions []Mention

	samples Samples
	fenced  int // where the code fence ends that the text around makes a sample
}

// next reads a call or skips what is not one. An error is a [*SyntaxError] in the
// call of that name.
func (r *callReader) next() (name string, err error) {
	c, size := utf8.DecodeRuneInString(r.text[r.pos:])
	switch {
	case c == '<':
		return r.tag()
	case c == '{' || c == '[':
		return r.bracket()
	case inWord(c):
		return r.word()
	case c == '`' || c == '~':
		end, size := r.samples.Fence(r.text, r.pos)
		if end > 0 && (trimSpace(r.text[:r.pos]) != "" || trimSpace(r.text[end:]) != "") {
			r.fenced = end
		}
		r.pos += size
		return "", nil
	}
	r.pos += size
	return "", nil
}

func inWord(c rune) bool { return c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) }

// word reads the call that begins with the word at pos, or skips the word.
func (r *callReader) word() (name string, err error) {
	start := r.pos
	end := strings.IndexFunc(r.text[start:], func(c rune) bool { return !inWord(c) })
	if end < 0 {
		r.pos = len(r.text)
		return "", nil
	}
	r.pos += end
	name = r.text[start:r.pos]
	if r.text[r.pos] != '(' {
		r.apart(name, start)
		return "", nil
	}
	r.pos++
	inside := r.pos
	known, stands, begins := r.known(name), r.stands(start), r.begins()
	keyed := r.peek() == ':'
	r.pos = inside
	switch {
	case !begins:
		return "", nil
	case stands && !known:
		r.mentioned(name, start, "").Keyed = keyed
		return "", nil
	case !stands:
		if known || keyed || r.known(strings.ToLower(name)) {
			r.mentioned(name, start, inSentence).weak = !known
		}
		return "", nil
	}
	arguments, err := r.arguments()
	if err != nil {
		return name, err
	}
	if empty := string(arguments) == "{}"; empty && !r.alone() || !empty && r.goesOn() {
		r.mentioned(name, start, inSentence).weak = empty
		return "", nil
	}
	r.add(start, ToolCall{Name: name, Arguments: arguments})
	return "", nil
}

// apart records a known name that a blank parts from the arguments of a call.
func (r *callReader) apart(name string, start int) {
	end := r.pos
	defer func() { r.pos = end }()
	blanks := len(r.text[end:]) - len(strings.TrimLeft(r.text[end:], " \t"))
	if r.pos += blanks; blanks == 0 || r.peek() != '(' || !r.known(name) || !r.stands(start) {
		return
	}
	r.pos++
	if r.begins() && (r.peek() == ':' || r.peek() == '=') {
		r.mentioned(name, start, afterBlank)
	}
}

// Why a mention is not a call.
const (
	afterBlank  = "has a blank before its bracket"
	inSentence  = "stands within a sentence"
	inReasoning = "is in a reasoning block"
	inSample    = "is in a sample"
	inList      = "is in a list of other things"
)

// mentioned records what looks like a call.
func (r *callReader) mentioned(name string, at int, reason string) *Mention {
	m := Mention{Name: name, Reason: reason, Before: len(r.calls)}
	if len(r.mentions) == maxMentions {
		return &m
	}
	m.Line, m.Column = r.position(at)
	r.mentions = append(r.mentions, m)
	return &r.mentions[len(r.mentions)-1]
}

// add adds calls that begin at a position and end at pos.
func (r *callReader) add(at int, calls ...ToolCall) {
	for _, c := range calls {
		r.calls = append(r.calls, c)
		r.at = append(r.at, at)
	}
	r.free = r.pos
}

// stands reports whether a call may begin at a position: only marks of lists, quotes,
// code or emphasis are between it and the beginning of its line, the end of a
// sentence, or the end of the last call.
func (r *callReader) stands(at int) bool {
	first := max(r.free, at-maxMarks)
	for apart := false; at > first; {
		before := r.text[r.free:at]
		c, size := utf8.DecodeLastRuneInString(before)
		switch {
		case c == '\n', strings.ContainsRune("。！？：；", c):
			return true
		case apart && strings.ContainsRune(".!?:;", c):
			return !strings.HasSuffix(before, "e.g.") && !strings.HasSuffix(before, "i.e.")
		case apart && c == ')':
			return len(before) > 1 && unicode.IsDigit(rune(before[len(before)-2]))
		case c == ' ' || c == '\t' || c == '\r' || c == '`':
			apart = true
		case !strings.ContainsRune("*->+•[,;", c):
			return false
		}
		at -= size
	}
	return at == r.free
}

// begins reports whether arguments follow an opening bracket: a key and its sign or a
// string, a string, an object, the closing bracket, or the end of the text.
func (r *callReader) begins() bool {
	r.space()
	c := r.peek()
	if r.pos == len(r.text) || c == ')' || c == '{' || isQuote(c) {
		return true
	}
	if r.identifier() == "" {
		return false
	}
	r.space()
	after := r.text[r.pos:]
	if after == "" || isQuote(after[0]) {
		return true
	}
	return (after[0] == ':' || after[0] == '=') && !strings.HasPrefix(after, "==") &&
		!strings.HasPrefix(after, "::")
}

// alone reports whether no sentence goes on at pos, after a call without arguments.
func (r *callReader) alone() bool {
	after := strings.TrimLeft(r.text[r.pos:], " \t\r`.]*")
	if after == "" || strings.IndexByte("\n,;#/<", after[0]) >= 0 {
		return true
	}
	return r.callsKnown(after)
}

// callsKnown reports whether text begins with a known name and a bracket.
func (r *callReader) callsKnown(text string) bool {
	name, _, call := strings.Cut(text[:min(len(text), 64)], "(")
	return call && r.known(name)
}

// goesOn reports whether a sentence goes on at pos, after a call with arguments.
func (r *callReader) goesOn() bool {
	after := strings.TrimLeft(r.text[r.pos:], " \t\r`]*")
	c, _ := utf8.DecodeRuneInString(after)
	return (unicode.IsLetter(c) || unicode.IsDigit(c) || strings.ContainsRune("-–—(=→?？؟", c)) &&
		!r.callsKnown(after)
}

func (r *callReader) none() error {
	e := &SyntaxError{what: "there is no call in the text"}
	if trimSpace(r.text) == "" {
		e.what = "the text is empty"
	}
	for _, m := range r.mentions {
		if m.weak {
			continue
		}
		if m.Reason != "" {
			e.Name, e.what = "", m.String()
			break
		}
		e.Name = cmp.Or(e.Name, m.Name)
	}
	e.what += "; a call is written name(key: 'text', key: 1) at the beginning of a line"
	return e
}

// position returns the line and column of a place, counted from 1.
func (r *callReader) position(at int) (line, column int) {
	before := r.text[:at]
	begin := strings.LastIndexByte(before, '\n') + 1
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[begin:]) + 1
}

// fail returns an error in a call that cannot be read from a position on.
func (r *callReader) fail(at int, format string, args ...any) error {
	e := &SyntaxError{what: fmt.Sprintf(format, args...) + "; nothing from there on was read"}
	e.Line, e.Column = r.position(at)
	return e
}

// want returns the error for what stands at pos in place of something else.
func (r *callReader) want(what string) error {
	if r.pos >= len(r.text) {
		return r.fail(r.pos, "the text ends, want %s", what)
	}
	c, _ := utf8.DecodeRuneInString(r.text[r.pos:])
	return r.fail(r.pos, "found %q, want %s", c, what)
}
