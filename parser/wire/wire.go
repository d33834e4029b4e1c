// Package wire reads the tool calls in messages of providers and in texts of models, and
// writes the answers in the same format.
//
// A wire is a row of [All], one for each format. [Of] recognizes JSON formats by their
// shape. [OfText] recognizes the text formats of models by a marker, and [Find] also by the name
// of a tool. No wire knows a tool by name: the caller describes tools as [Schemas].
//
// A [Part] is one part of a message of Anthropic, Google or the Responses. A program that reads
// their streams joins the pieces into parts, and writes them back with [Wire.Turn].
package wire

import (
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"textskill/parser"
	"textskill/parser/rawjson"
)

// A Wire is the form of one provider's or model's calls, answers and definitions.
type Wire struct {
	Name string // as in --wire
	Doc  string // one line: an example of a call

	family *Wire // the first of the wires that a name stands for; nil if this is it

	// recognizes a JSON value; nil if its shape is not certain, and for wires of text
	shape func(v value) bool
	// where calls begin in a text, -1 if they do not; nil for wires of JSON, and where no marker is certain
	marker func(text string) (at int)

	// how calls are written in a text, which begins with one; nil for wires of JSON, and for those that read alone knows
	format func(text string) format
	read   func(text string, tools Schemas) (parser.Envelope, error)
	later  revision
	// under which a request has what list returns; "" for wires of text
	key  string
	list func(answers []Answer) []any          // the answers, for a JSON document
	text func(answers []Answer) string         // the answers, of a wire of text
	turn func(role string, parts []Part) []any // see [Wire.Turn]; nil for most
	// the definitions for a request; nil if the wire has no form of its own
	define func(tools []Tool) any
}

// All lists the wires, in the order in which they may claim a text.
var All = []*Wire{OpenAI, Responses, LangChain, AISDK, Anthropic, AgentEvents, Gemini, Ollama,
	Hermes, Seed, Qwen, GLM, Mistral, Mistral11, DeepSeek, DeepSeek31, DSML, Kimi, Granite, Llama, Functionary,
	MiniMax, Invoke, ReAct, Harmony,
	Nemotron, Jamba, InternLM, CommandR, Phi, LFM2, Gemma, FuncGem, ToolCode}

// Named returns the wire of a name, nil for none.
func Named(name string) *Wire {
	for _, w := range All {
		if w.Name == name {
			return w
		}
	}
	return nil
}

// Names lists the names of the wires that keep reports true for.
func Names(keep func(w *Wire) bool) (names []string) {
	for _, w := range All {
		if keep(w) {
			names = append(names, w.Name)
		}
	}
	return names
}

// Of returns the wire of a text that is one JSON value, alone or in a code fence, if
// the shape of the value is certain; else nil.
func Of(text string) *Wire {
	raw, ok := whole(text)
	if !ok {
		raw, ok = eventLines(text)
	}
	if !ok {
		return nil
	}
	v := split(raw)
	for _, w := range All {
		if w.shape != nil && w.shape(v) {
			return w
		}
	}
	return nil
}

// For returns the wire that reads a text: w, or another of the same models whose marker
// the text has.
func (w *Wire) For(text string) *Wire {
	for _, other := range slices.Concat(kin, All) {
		if other.family == w && (w.marker == nil || w.marker(text) < 0) && other.marker(text) >= 0 {
			return other
		}
	}
	return w
}

// whole returns the one object or array that a text is, alone or in a code fence.
func whole(text string) (json.RawMessage, bool) {
	text = strings.TrimPrefix(strings.Trim(text, rawjson.Space), "\ufeff")
	if from, to, ok := rawjson.Fenced(text); ok {
		text = strings.Trim(text[from:to], rawjson.Space)
	}
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return nil, false
	}
	raw, _, err := rawjson.DecodeOne(text, parser.EnvelopeKeys...)
	return raw, err == nil
}

// IsText reports whether calls stand in a model's text. Such a text must be read for
// calls only where its sender asked for that.
func (w *Wire) IsText() bool { return w.answers() != nil }

// answers returns how the answers are written in a text, as the family writes them if the wire has no
// form of its own; nil for wires of JSON.
func (w *Wire) answers() func(answers []Answer) string {
	if w.text == nil && w.family != nil {
		return w.family.text
	}
	return w.text
}

// formatOf returns the format of the calls of a text, none if read alone knows it.
func (w *Wire) formatOf(text string) (f format) {
	if w.format != nil {
		f = w.format(text)
	}
	return f
}

// calls reads a text from its first call on, or a message.
func (w *Wire) calls(text string, tools Schemas) (parser.Envelope, error) {
	if w.read != nil {
		return w.read(text, tools)
	}
	e, err := w.format(text).read(text, tools)
	if w.later.marker != nil && w.later.marker(text) >= 0 {
		for i := range e.Calls {
			e.Calls[i].Item = json.RawMessage(revised)
		}
	}
	return e, err
}

// Defines reports whether the wire has a form of its own for definitions.
func (w *Wire) Defines() bool { return w.define != nil }

// Read reads the calls, or the final text. A call of the wrong form has its Err set and
// does not affect the others. Any other error is a [*parser.SyntaxError] or a
// [*rawjson.Error].
func (w *Wire) Read(text string, tools Schemas) (parser.Envelope, error) {
	for {
		e, err := w.calls(text, tools)
		thought, ok := err.(errThought)
		if !ok {
			return e, err
		}
		text = text[thought:]
	}
}

// Answer returns what the next request has after the message with the calls. The answers
// are in the order of the calls. With more, a JSON document has further members, which are
// not for the provider; a text never has.
func (w *Wire) Answer(answers []Answer, more map[string]any) string {
	if w.IsText() {
		if len(answers) > 0 && string(answers[0].Call.Item) == revised {
			return w.later.text(answers)
		}
		return w.answers()(answers)
	}
	short, mark := slices.Clone(answers), rand.Text()
	size := 0
	for i, a := range answers {
		if len(a.Text) >= long {
			short[i].Text = mark
			size += rawjson.TextSize(a.Text)
		}
	}
	document := map[string]any{w.key: w.list(short)}
	maps.Copy(document, more)
	rest := string(rawjson.Encode(document))
	if size == 0 {
		return rest
	}
	var b strings.Builder
	b.Grow(len(rest) + size)
	for _, a := range answers {
		if len(a.Text) >= long {
			before, after, _ := strings.Cut(rest, mark)
			b.WriteString(before)
			rawjson.WriteText(&b, a.Text)
			rest = after
		}
	}
	b.WriteString(rest)
	return b.String()
}

// Results returns the answers as elements of the conversation in a request, for a wire of JSON.
func (w *Wire) Results(answers []Answer) []any { return w.list(answers) }

// long is the size of a text that is not given to encoding/json, which makes four copies
// of it. Until the document is put together, a mark that nobody knows stands for it.
const long = 64 << 10

// Definitions returns the tools as the field "tools" of a request has them, as JSON. The
// wire must be one that [Wire.Defines].
func (w *Wire) Definitions(tools []Tool) json.RawMessage { return rawjson.Encode(w.define(tools)) }

// An Answer is the answer to one call.
type Answer struct {
	Call   parser.ToolCall
	Text   string // UTF-8
	Failed bool
	// members of the answer to a call of a [parser.ToolCall].Kind, instead of Text; nil if Text is all
	Object json.RawMessage
	Media  []Media // what the model is shown besides

	Undo, NotKept string // for who sent the calls, where the wire has room for it; "" is nothing
}

// Media is a picture or a PDF.
type Media struct {
	Type string // such as "image/png"
	Name string // of the file, without its folder
	Data []byte
}

// withoutMedia is the text of an answer on a wire that cannot show some of what comes with it.
func (a Answer) withoutMedia(shows func(m Media) bool) string {
	text := a.Text
	for _, m := range a.Media {
		if !shows(m) {
			text += "\n(" + m.Type + " cannot be shown to this model.)"
		}
	}
	return text
}

// A Tool is what a model is told about a tool.
type Tool struct {
	Name, Doc string
	Schema    json.RawMessage // JSON Schema of the arguments: an object with properties
}

// Schemas returns the JSON Schema of a tool's arguments, nil if there is no such tool.
type Schemas func(name string) json.RawMessage
