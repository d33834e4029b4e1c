package wire

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"textskill/parser"
)

// Harmony is the format of gpt-oss: a call is a message to a function. The recipient is
// the id.
var Harmony = &Wire{
	Name:   "harmony",
	Doc:    "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>",
	marker: matcher(`(?m)(?:(?:<\|start\|>[^<\n]*)?<\|channel\|>[^<\n]* |<\|start\|>[^<\n]* |\b)to=[^<\s]+[^<]*(?:<\|channel\|>[^<]*)?(?:<\|constrain\|>[^<]*)?<\|message\|>\s*(?:[^<\s]|\z)`),
	read:   readHarmony,
	text: each("", "<|start|>ID to=assistant<|channel|>commentary<|message|>TEXT<|end|>",
		"<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|constrain|>", "<|call|>", "<|return|>"),
}

const (
	harmonyMessage = "<|message|>"
	harmonyStart   = "<|start|>"
)

var harmonyHeader = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`<\|channel\|>|\bto=`) })

var harmonyEnds = []string{"<|call|>", "<|end|>", "<|return|>"}

// readHarmony reads the messages of a text. Those to nobody are analysis, or the final
// text.
func readHarmony(text string, tools Schemas) (parser.Envelope, error) {
	s := &scanner{format: format{open: harmonyMessage, end: harmonyEnds[0]}, text: text, tools: tools,
		found: map[string]int{}}
	var m message
	passed := &stretches{text: text, endless: map[string]bool{}}
	header := ""
	find := func(from int) int {
		s.pos = from
		at := s.find(harmonyMessage)
		if at == len(text) {
			return at
		}
		header = text[max(from, at-4*maxName):at]
		if i := strings.LastIndex(header, harmonyStart); i >= 0 {
			header = header[i:]
		} else if m := harmonyHeader().FindStringIndex(header); m != nil {
			header = header[m[0]:]
		}
		return at - len(header)
	}
	for {
		at, thought := passed.opening(s.pos, format{}, tools, find)
		if thought > 0 {
			return parser.Envelope{}, errThought(thought)
		}
		if at == len(text) {
			break
		}
		s.pos = at + len(header) + len(harmonyMessage)
		_, recipient, ok := strings.Cut(" "+header, " to=")
		if !ok {
			m.pass(s, header)
			continue
		}
		c := parser.ToolCall{ID: recipient[:strings.IndexAny(recipient+" ", "< \t\n")]}
		c.Name = strings.TrimPrefix(c.ID, "functions.")
		calls, err := s.arguments(c)
		if s.space(); err == nil && !slices.ContainsFunc(harmonyEnds, s.skip) && s.pos < len(s.text) {
			err = fmt.Errorf("want %s after the arguments", harmonyEnds[0])
		}
		c = calls[0]
		if err != nil {
			c.Arguments, c.Err = nil, err
			if !s.resume() {
				if s.find(harmonyMessage) < len(text) {
					c.Err = fmt.Errorf("%w; nothing from there on was read", err)
				}
				m.Calls = append(m.Calls, c)
				break
			}
		}
		if m.Calls = append(m.Calls, c); len(m.Calls) > maxCalls {
			return parser.Envelope{},
				parser.NoCalls(fmt.Sprintf("the text has more than %d calls", maxCalls), nil)
		}
	}
	if len(m.Calls) == 0 && m.said == nil {
		return parser.Envelope{}, parser.NoCalls("a call is a message to=functions.NAME<|message|>{…}", nil)
	}
	return m.finish()
}

// pass skips the content of a message that is not a call.
func (m *message) pass(s *scanner, header string) {
	start := s.pos
	end := len(s.text)
	for _, token := range append(harmonyEnds, harmonyStart) {
		end = min(end, s.find(token))
	}
	if strings.Contains(header, "<|channel|>final") {
		m.said = append(m.said, s.text[start:end])
	}
	s.pos = end
}

// resume goes after the end of a message that cannot be read, if the rest of the text is
// messages and nothing else.
func (s *scanner) resume() bool {
	end := s.find(harmonyEnds[0])
	if end == len(s.text) {
		return false
	}
	rest := s.text[end+len(harmonyEnds[0]):]
	for _, part := range strings.SplitAfter(rest, harmonyEnds[0]) {
		part = strings.TrimSpace(part)
		if part != "" && !strings.HasPrefix(part, harmonyStart) && !strings.HasPrefix(part, "<|channel|>") {
			return false
		}
	}
	s.pos = end + len(harmonyEnds[0])
	return true
}
