package parser

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"textskill/parser/rawjson"
)

// A ToolCall is one function call of a model.
type ToolCall struct {
	ID   string // as sent; "" when there was none; not necessarily unique
	Name string // as sent, neither trimmed nor checked; "" only if Err is set
	// a strict JSON object; nil if Err is set; if a key is there twice, the last one counts
	Arguments json.RawMessage
	Err       error // why the call is invalid, without its name; nil if it is valid

	Kind string          // type of the message item that holds the call, if its wire has such types; else ""
	Item json.RawMessage // the message item
}

// An Envelope is a model's answer as JSON: a final text, or calls.
type Envelope struct {
	Calls      []ToolCall // in the order sent, with the invalid ones; nil if HasFinal
	Final      string     // trimmed, not empty if HasFinal
	HasFinal   bool
	WorkingDir string   // as sent; "" when absent or blank
	Repairs    []string // the repairs to the JSON, in words; nil if it needed none
}

// A SyntaxError reports a text or a call that cannot be read.
type SyntaxError struct {
	// where a call is invalid, counted from 1, columns in characters; 0 if the whole text is wrong
	Line, Column int
	Name         string // the unknown name of something like a call, in a text without calls; else ""
	what, hint   string
	err          error
}

// Error says what is wrong. For [ToolCalls], [SyntaxError.Hint] has the details.
func (e *SyntaxError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.what)
	}
	return e.what
}

// Hint says what is wrong with an envelope and what to send instead. It is "" for
// errors of [Calls], whose text says that already.
func (e *SyntaxError) Hint() string { return e.hint }

// Unwrap returns the [*rawjson.Error] if an envelope is not JSON, else nil.
func (e *SyntaxError) Unwrap() error { return e.err }

const wanted = `; want {"tool_calls":[…]} or {"final":"…"}`

func badEnvelope(hint string, err error) error {
	return &SyntaxError{what: "ERR: no tool_calls provided", hint: hint + wanted, err: err}
}

// NoCalls returns a [*SyntaxError] for a message without a call; hint says what is wrong
// with it, and err is its cause, if it has one.
func NoCalls(hint string, err error) error {
	return &SyntaxError{what: "there is no call in the message", hint: hint, err: err}
}

// conflict is the error of a text with calls that can be read in several ways: no call
// is run.
func conflict(what string) error {
	return &SyntaxError{what: "ERR: " + what + ", so nothing was run", hint: "one of them is wanted" + wanted}
}

func noEnvelope(format string, args ...any) error {
	return badEnvelope(fmt.Sprintf(format, args...), nil)
}

// EnvelopeKeys are the keys that need no quotes in an envelope.
var EnvelopeKeys = []string{"tool_calls", "final", "id", "type", "function", "name", "arguments",
	"working_dir"}

// ToolCalls reads a model's answer of the form
//
//	{"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"k\":1}"}}],"working_dir":"d"}
//	{"final":"text"}
//
// ToolCalls repairs the text as [rawjson.Decode] does, and the object in arguments too;
// no other text may surround that object. An object must not have both calls and a
// final text. If several objects have tool_calls or final, exactly one must have
// tool_calls, and ToolCalls reads the first.
//
// An invalid call has its Err set and does not affect the others. Other errors are a
// [*SyntaxError]: for example an empty list of calls, or a text that is cut off.
func ToolCalls(text string) (Envelope, error) {
	values, repairs, err := rawjson.DecodeAll(text, EnvelopeKeys...)
	if err != nil {
		return Envelope{}, unreadable(text, err)
	}
	return EnvelopeOf(values, repairs)
}

// EnvelopeOf is [ToolCalls] for JSON that the caller has decoded; repairs are the repairs
// that decoding needed.
func EnvelopeOf(values []json.RawMessage, repairs []string) (Envelope, error) {
	members, err := pickEnvelope(values)
	if err != nil {
		return Envelope{}, err
	}
	if err := NotModel(members); err != nil {
		return Envelope{}, err
	}
	if len(values) > 1 {
		repairs = append(repairs, "other JSON values ignored")
	}
	e := Envelope{Repairs: repairs}
	if final, ok := rawjson.String(members["final"]); ok && trimSpace(final) != "" {
		if raw := members["tool_calls"]; raw != nil && raw[0] == '[' &&
			strings.Trim(string(raw[1:]), rawjson.Space) != "]" {
			return Envelope{}, conflict("both tool_calls and final are given")
		}
		e.Final, e.HasFinal = trimSpace(final), true
		return e, nil
	}
	if e.WorkingDir, err = workingDir(members["working_dir"]); err != nil {
		return Envelope{}, err
	}
	calls, err := callList(members)
	if err != nil {
		return Envelope{}, err
	}
	e.Calls = make([]ToolCall, 0, len(calls))
	for i, raw := range calls {
		call, repairs := readCall(raw)
		e.Calls = append(e.Calls, call)
		for _, r := range repairs {
			e.Repairs = append(e.Repairs, fmt.Sprintf("arguments of call %d: %s", i+1, r))
		}
	}
	return e, nil
}

// IsEnvelope reports whether text is meant for [ToolCalls], valid or not: its first
// character is an opening brace, or it is a single code fence around JSON. Prose is
// not an envelope, even with JSON in it.
func IsEnvelope(text string) bool {
	text = trimSpace(text)
	if strings.HasPrefix(text, "{") {
		return true
	}
	from, to, ok := rawjson.Fenced(text)
	if !ok {
		return false
	}
	inside := strings.TrimLeft(text[from:to], rawjson.Space)
	if strings.HasPrefix(inside, "{") {
		return true
	}
	_, _, err := rawjson.DecodeOne(inside, EnvelopeKeys...)
	return err == nil
}

func unreadable(text string, err error) error {
	hint := err.Error()
	switch {
	case trimSpace(text) == "":
		hint = "the text is empty"
	case errors.Is(err, rawjson.ErrTruncated):
		hint += ", so nothing of it was run"
	}
	return badEnvelope(hint, err)
}

// NotModel returns an error for a message whose role is not a model's: its calls are somebody else's words.
func NotModel(members map[string]json.RawMessage) error {
	role, _ := rawjson.String(members["role"])
	if slices.Contains([]string{"", "assistant", "model", "ai"}, strings.ToLower(role)) {
		return nil
	}
	return NoCalls(fmt.Sprintf("the message is of the role %q, not of a model, so nothing of it was run", role), nil)
}

// pickEnvelope chooses the envelope among the values of a text.
func pickEnvelope(values []json.RawMessage) (map[string]json.RawMessage, error) {
	var picked, first map[string]json.RawMessage
	var envelopes, withCalls int
	for _, v := range values {
		members, twice, ok := rawjson.Members(v)
		if !ok {
			continue
		}
		if first == nil {
			first = members
		}
		_, calls := members["tool_calls"]
		_, final := members["final"]
		if !calls && !final {
			continue
		}
		if twice != "" {
			return nil, noEnvelope("key `%s` is given twice", twice)
		}
		envelopes++
		if calls {
			withCalls++
		}
		if picked == nil {
			picked = members
		}
	}
	switch {
	case withCalls > 1:
		return nil, conflict(fmt.Sprintf("%d objects with tool_calls are given", withCalls))
	case envelopes > 1 && withCalls != 1:
		return nil, noEnvelope("%d objects, %d of them with tool_calls, where one is wanted",
			envelopes, withCalls)
	case picked != nil:
		return picked, nil
	case first == nil:
		return nil, noEnvelope("the top level is %s", rawjson.Kind(values[0]))
	case len(first) == 0:
		return nil, noEnvelope("the object is empty")
	}
	if said := providerError(first["error"]); said != "" {
		return nil, noEnvelope("this is a provider's error, `%s`", said)
	}
	return nil, noEnvelope("key %s is not `tool_calls`", keyList(first))
}

// providerError returns what a provider says instead of an answer: a text, or the message of an
// object, as far as it is of use in a sentence; "" if that is nothing.
func providerError(raw json.RawMessage) string {
	if object, _, ok := rawjson.Members(raw); ok {
		raw = object["message"]
	}
	said, _ := rawjson.String(raw)
	return strings.ToValidUTF8(trimSpace(said[:min(len(said), 200)]), "")
}

// keyList lists up to five keys, in byte order.
func keyList(members map[string]json.RawMessage) string {
	keys := slices.Sorted(maps.Keys(members))
	more := ""
	if len(keys) > 5 {
		keys, more = keys[:5], ", …"
	}
	for i, k := range keys {
		keys[i] = "`" + clip(k) + "`"
	}
	return strings.Join(keys, ", ") + more
}

// clip shortens text of a model for use in a sentence.
func clip(text string) string {
	const most = 40
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

func workingDir(raw json.RawMessage) (string, error) {
	dir, ok := rawjson.String(raw)
	if !ok && raw != nil && string(raw) != "null" {
		return "", noEnvelope("working_dir must be a string, got %s", rawjson.Kind(raw))
	}
	if trimSpace(dir) == "" {
		return "", nil
	}
	return dir, nil
}

// callList returns the elements of tool_calls, at least one.
func callList(members map[string]json.RawMessage) ([]json.RawMessage, error) {
	raw, given := members["tool_calls"]
	if !given {
		return nil, noEnvelope("final must be a string that is not blank, got %s",
			rawjson.Kind(members["final"]))
	}
	if raw[0] != '[' {
		return nil, noEnvelope("tool_calls must be an array, got %s", rawjson.Kind(raw))
	}
	var calls []json.RawMessage
	for call := range rawjson.EachElement(raw) {
		calls = append(calls, call)
	}
	if len(calls) == 0 {
		return nil, noEnvelope("tool_calls is empty")
	}
	return calls, nil
}

// readCall reads one element of tool_calls. It returns the call's ID and name even if
// something else is wrong, so that the call can be answered in its place.
func readCall(raw json.RawMessage) (call ToolCall, repairs []string) {
	members, twice, ok := rawjson.Members(raw)
	if !ok {
		call.Err = fmt.Errorf("a call must be an object, got %s", rawjson.Kind(raw))
		return call, nil
	}
	typ, _ := rawjson.String(members["type"])
	id, idOK := rawjson.String(members["id"])
	function, twiceInside, functionOK := rawjson.Members(members["function"])
	name, _ := rawjson.String(function["name"])
	call.ID, call.Name = id, name
	switch {
	case twice != "" || twiceInside != "":
		call.Err = fmt.Errorf("key `%s` is given twice", clip(twice+twiceInside))
	case typ != "function":
		call.Err = fmt.Errorf(`type must be "function", got %s`, shown(members["type"]))
	case !functionOK:
		call.Err = fmt.Errorf("function must be an object with name and arguments, got %s",
			rawjson.Kind(members["function"]))
	case trimSpace(name) == "":
		call.Err = fmt.Errorf("function.name must be a string that is not blank, got %s",
			shown(function["name"]))
	case !idOK && members["id"] != nil && string(members["id"]) != "null":
		call.Err = fmt.Errorf("id must be a string, got %s", rawjson.Kind(members["id"]))
	default:
		call.Arguments, repairs, call.Err = readArguments(function["arguments"])
	}
	return call, repairs
}

// shown returns a value for use in a sentence: a short string as it is, else its kind.
func shown(raw json.RawMessage) string {
	if text, ok := rawjson.String(raw); ok {
		return fmt.Sprintf("%q", clip(text))
	}
	return rawjson.Kind(raw)
}

// ErrNoArguments is the error of a call whose arguments are a blank string. Some servers
// send that for a call without arguments.
var ErrNoArguments = errors.New("function.arguments is empty, want a JSON string that holds an object")

// readArguments decodes the string that holds a call's arguments.
func readArguments(raw json.RawMessage) (object json.RawMessage, repairs []string, err error) {
	text, ok := rawjson.String(raw)
	if !ok {
		return nil, nil, fmt.Errorf("function.arguments must be a JSON string that holds an object, got %s",
			rawjson.Kind(raw))
	}
	if strings.Trim(text, rawjson.Space) == "" {
		return nil, nil, ErrNoArguments
	}
	if object, repairs, err = rawjson.DecodeOne(text); err != nil {
		return nil, nil, fmt.Errorf("function.arguments: %w", err)
	}
	if object[0] != '{' {
		return nil, nil, fmt.Errorf("function.arguments must hold an object, got %s", rawjson.Kind(object))
	}
	return object, repairs, nil
}
