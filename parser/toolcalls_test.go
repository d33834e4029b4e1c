package parser_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"textskill/parser"
	"textskill/parser/rawjson"
)

// oneCall is an envelope of one call of f with these arguments, as a JSON value.
func oneCall(arguments string) string {
	return `{"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":` +
		arguments + `}}]}`
}

func TestToolCalls(t *testing.T) {
	call := parser.ToolCall{ID: "c", Name: "f", Arguments: json.RawMessage(`{"k":1}`)}
	good := oneCall(`"{\"k\":1}"`)
	tests := []struct {
		text string
		want parser.Envelope
	}{
		{good, parser.Envelope{Calls: []parser.ToolCall{call}}},
		{`{"working_dir":"d","tool_calls":` + good[len(`{"tool_calls":`):],
			parser.Envelope{Calls: []parser.ToolCall{call}, WorkingDir: "d"}},
		{`{"working_dir":" \t","tool_calls":` + good[len(`{"tool_calls":`):],
			parser.Envelope{Calls: []parser.ToolCall{call}}},
		{`{"working_dir":null,"tool_calls":` + good[len(`{"tool_calls":`):],
			parser.Envelope{Calls: []parser.ToolCall{call}}},

		// a final text
		{`{"final":" done\n"}`, parser.Envelope{Final: "done", HasFinal: true}},
		{`{"final":"done","working_dir":"d","tool_calls":[]}`,
			parser.Envelope{Final: "done", HasFinal: true}},
		{`{"final":" ","tool_calls":` + good[len(`{"tool_calls":`):],
			parser.Envelope{Calls: []parser.ToolCall{call}}},
		{`{"final":null,"tool_calls":` + good[len(`{"tool_calls":`):],
			parser.Envelope{Calls: []parser.ToolCall{call}}},

		// what models put around it and in it
		{"```json\n" + good + "\n```",
			parser.Envelope{Calls: []parser.ToolCall{call}, Repairs: []string{"code fence removed"}}},
		{"<think>{</think>I will look [1].\n" + good, parser.Envelope{Calls: []parser.ToolCall{call},
			Repairs: []string{"reasoning block removed", "prose removed", "other JSON values ignored"}}},
		{`{final: 'yes',}`, parser.Envelope{Final: "yes", HasFinal: true,
			Repairs: []string{"bare key quoted", "single quotes replaced", "trailing comma removed"}}},
		{oneCall(`"{'k':1,}"`), parser.Envelope{Calls: []parser.ToolCall{call},
			Repairs: []string{"arguments of call 1: single quotes replaced",
				"arguments of call 1: trailing comma removed"}}},
		{strings.Replace(oneCall(`"{\"k\":\"a\nb\"}"`), `"c"`, `null`, 1), parser.Envelope{
			Calls:   []parser.ToolCall{{Name: "f", Arguments: json.RawMessage(`{"k":"a\nb"}`)}},
			Repairs: []string{"arguments of call 1: control character escaped"},
		}},

		// several objects
		{good + `{"final":"x"}`, parser.Envelope{Calls: []parser.ToolCall{call},
			Repairs: []string{"other JSON values ignored"}}},
		{`{"final":"x"}` + good, parser.Envelope{Final: "x", HasFinal: true,
			Repairs: []string{"other JSON values ignored"}}},
		{`{"plan":[1]}` + good, parser.Envelope{Calls: []parser.ToolCall{call},
			Repairs: []string{"other JSON values ignored"}}},
	}
	for _, tt := range tests {
		got, err := parser.ToolCalls(tt.text)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("ToolCalls(%q)\n got %+v %v\nwant %+v", tt.text, got, err, tt.want)
		}
	}
}

func TestToolCallsWrongCall(t *testing.T) {
	const notObject = "function.arguments must hold an object, got "
	tests := []struct{ call, want string }{
		{`"read_file"`, "a call must be an object, got a string"},
		{`null`, "a call must be an object, got null"},
		{`{"type":"read_file","path":"a.txt"}`, `type must be "function", got "read_file"`},
		{`{"function":{"name":"f","arguments":"{}"}}`, `type must be "function", got nothing`},
		{`{"type":"function"}`, "function must be an object with name and arguments, got nothing"},
		{`{"type":"function","function":{}}`,
			"function.name must be a string that is not blank, got nothing"},
		{`{"type":"function","function":{"name":" ","arguments":"{}"}}`,
			`function.name must be a string that is not blank, got " "`},
		{`{"type":"function","function":{"name":5,"arguments":"{}"}}`,
			"function.name must be a string that is not blank, got a number"},
		{`{"id":5,"type":"function","function":{"name":"f","arguments":"{}"}}`,
			"id must be a string, got a number"},
		{`{"type":"function","function":{"name":"f","name":"g","arguments":"{}"}}`,
			"key `name` is given twice"},
		{`{"type":"x","type":"function","function":{"name":"f","arguments":"{}"}}`,
			"key `type` is given twice"},
		{`{"type":"function","function":{"name":"f"}}`,
			"function.arguments must be a JSON string that holds an object, got nothing"},
		{`{"type":"function","function":{"name":"f","arguments":{"path":"a"}}}`,
			"function.arguments must be a JSON string that holds an object, got an object"},
		{`{"type":"function","function":{"name":"f","arguments":" "}}`,
			"function.arguments is empty, want a JSON string that holds an object"},
		{`{"type":"function","function":{"name":"f","arguments":"null"}}`, notObject + "null"},
		{`{"type":"function","function":{"name":"f","arguments":"[1]"}}`, notObject + "an array"},
		{`{"type":"function","function":{"name":"f","arguments":"\"a\""}}`, notObject + "a string"},
		{`{"type":"function","function":{"name":"f","arguments":"5"}}`, notObject + "a number"},
		{`{"type":"function","function":{"name":"f","arguments":"true"}}`, notObject + "a boolean"},
		{`{"type":"function","function":{"name":"f","arguments":"{\"a\":1"}}`,
			"function.arguments: the JSON is cut off before its end (byte 6)"},
		{`{"type":"function","function":{"name":"f","arguments":"{\"a\":NaN}"}}`,
			"function.arguments: the JSON is not valid and has no single repair (byte 5): unexpected 'N' where a value must stand"},
		{`{"type":"function","function":{"name":"f","arguments":"\ufeff{}"}}`,
			"function.arguments: the JSON is not valid and has no single repair (byte 0): unexpected '\\ufeff' where a value must stand"},
		{`{"type":"function","function":{"name":"f","arguments":"see {}"}}`,
			"function.arguments: the JSON is not valid and has no single repair (byte 0): unexpected 's' where a value must stand"},
		{"{\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"```\\n{}\\n```\"}}",
			"function.arguments: the JSON is not valid and has no single repair (byte 0): unexpected '`' where a value must stand"},
	}
	for _, tt := range tests {
		e, err := parser.ToolCalls(`{"tool_calls":[` + tt.call +
			`,{"type":"function","function":{"name":"f","arguments":"{}"}}]}`)
		if err != nil || len(e.Calls) != 2 {
			t.Errorf("%s: %+v %v, want two calls", tt.call, e, err)
			continue
		}
		if bad := e.Calls[0]; bad.Err == nil || bad.Err.Error() != tt.want || bad.Arguments != nil {
			t.Errorf("%s\n got %v %s\nwant %s", tt.call, bad.Err, bad.Arguments, tt.want)
		}
		if e.Calls[1].Err != nil {
			t.Errorf("%s: the call after it has %v", tt.call, e.Calls[1].Err)
		}
	}
}

func TestToolCallsWrongEnvelope(t *testing.T) {
	const shape = `; want {"tool_calls":[…]} or {"final":"…"}`
	good := oneCall(`"{}"`)
	tests := []struct {
		text, hint string
		cause      error
	}{
		{"", "the text is empty", rawjson.ErrNoJSON},
		{" \ufeff\n", "the text is empty", rawjson.ErrNoJSON},
		{"please read a.txt", "no JSON value in the text", rawjson.ErrNoJSON},
		{good[:len(good)-3], "the JSON is cut off before its end (byte 83), so nothing of it was run",
			rawjson.ErrTruncated},
		{good + good[:20], "the JSON is cut off before its end (byte 106), so nothing of it was run",
			rawjson.ErrTruncated},
		{"[" + good + "]", "the top level is an array", nil},
		{"5", "the top level is a number", nil},
		{"{}", "the object is empty", nil},
		{`{"ops":[]}`, "key `ops` is not `tool_calls`", nil},
		{`{"f":1,"e":1,"d":1,"c":1,"b":1,"a":1}`, "key `a`, `b`, `c`, `d`, `e`, … is not `tool_calls`", nil},
		{`{"` + strings.Repeat("é", 40) + `":1}`, "key `" + strings.Repeat("é", 20) +
			"…` is not `tool_calls`", nil},
		{`{"error":{"message":"Rate limit reached","code":429}}`,
			"this is a provider's error, `Rate limit reached`", nil},
		{`{"type":"error","error":"no such model"}`, "this is a provider's error, `no such model`", nil},
		{`{"error":{"code":429}}`, "key `error` is not `tool_calls`", nil},
		{`{"Tool_Calls":[1]}`, "key `Tool_Calls` is not `tool_calls`", nil},
		{`{"tool_calls":[]}`, "tool_calls is empty", nil},
		{`{"final":"x","tool_calls":[{}]}`, "one of them is wanted", nil},
		{`{"tool_calls":null}`, "tool_calls must be an array, got null", nil},
		{`{"tool_calls":{}}`, "tool_calls must be an array, got an object", nil},
		{`{"final":" "}`, "final must be a string that is not blank, got a string", nil},
		{`{"final":5}`, "final must be a string that is not blank, got a number", nil},
		{`{"working_dir":5,` + good[1:], "working_dir must be a string, got a number", nil},
		{`{"tool_calls":[1],"tool_calls":[2]}`, "key `tool_calls` is given twice", nil},
		{good + good, "one of them is wanted", nil},
		{`{"final":"a"}{"final":"b"}`, "2 objects, 0 of them with tool_calls, where one is wanted", nil},
	}
	for _, tt := range tests {
		e, err := parser.ToolCalls(tt.text)
		wrong, ok := errors.AsType[*parser.SyntaxError](err)
		said := map[string]string{
			`{"final":"x","tool_calls":[{}]}`: "ERR: both tool_calls and final are given, so nothing was run",
			good + good:                       "ERR: 2 objects with tool_calls are given, so nothing was run",
		}
		if !ok || err.Error() != cmp.Or(said[tt.text], "ERR: no tool_calls provided") {
			t.Errorf("ToolCalls(%q) = %+v %v", tt.text, e, err)
			continue
		}
		if wrong.Hint() != tt.hint+shape || !errors.Is(err, tt.cause) && tt.cause != nil {
			t.Errorf("ToolCalls(%q)\n got %s, %v\nwant %s, %v", tt.text, wrong.Hint(), wrong.Unwrap(),
				tt.hint+shape, tt.cause)
		}
	}
}

func TestIsEnvelope(t *testing.T) {
	tests := []struct {
		text string
		want bool
	}{
		{`{"tool_calls":[]}`, true},
		{"\ufeff \u00a0\n{", true},
		{"```json\n{\"final\":\"x\"}\n```\n", true},
		{"```\n{\"tool_calls\":[\n```", true},
		{"```\n[1,]\n```", true},
		{"", false},
		{"[1]", false},
		{"readFile a", false},
		{"Here: {\"final\":\"x\"}", false},
		{"```json\n{}\n``` done", false},
		{"```\necho {}\n```", false},
		{"```{}```", false},
		{"writeFile a.txt {\"tool_calls\":[]}", false},
	}
	for _, tt := range tests {
		if got := parser.IsEnvelope(tt.text); got != tt.want {
			t.Errorf("IsEnvelope(%q) = %t", tt.text, got)
		}
	}
}
