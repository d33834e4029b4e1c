package parser_test

import (
	"errors"
	"slices"
	"testing"

	"textskill/parser"
)

func TestDecodeJSON(t *testing.T) {
	keys := []string{"operation", "path", "content", "destination"}
	tests := []struct {
		text    string
		want    string
		repairs []string
	}{
		// strict JSON is not touched
		{`{"a":1}`, `{"a":1}`, nil},
		{" \r\n\t{ \"a\" : [ 1 , -0.5e+3, \"\\u00e9\\n\" ] }\n", `{ "a" : [ 1 , -0.5e+3, "\u00e9\n" ] }`, nil},
		{`"text"`, `"text"`, nil},
		{`null`, `null`, nil},
		{`[]`, `[]`, nil},
		{`{"a":"“x” 'y' <think> ` + "```" + `"}`, `{"a":"“x” 'y' <think> ` + "```" + `"}`, nil},
		{`{"a":1,"a":2}`, `{"a":1,"a":2}`, nil},

		// around the value
		{"```json\n{\"a\":1}\n```", `{"a":1}`, []string{"code fence removed"}},
		{"```\n\"x\"\n```\n", `"x"`, []string{"code fence removed"}},
		{"Sure! Here is the JSON:\n{\"a\":1}\nLet me know.", `{"a":1}`, []string{"prose removed"}},
		{"Here:\n```json\n{\"a\":1}\n```\nDone.", `{"a":1}`, []string{"code fence removed", "prose removed"}},
		{"<think>maybe {\"b\":2}</think>\n{\"a\":1}", `{"a":1}`, []string{"reasoning block removed"}},
		{"maybe {'b':2}</think>\n{\"a\":1}", `{"a":1}`, []string{"reasoning block removed"}},
		{"<thinking>\n</thinking>{\"a\":1}", `{"a":1}`, []string{"reasoning block removed"}},
		{"\ufeff{\"a\":1}", `{"a":1}`, []string{"byte order mark removed"}},
		{"As in [note] and {name}: {\"a\":1}", `{"a":1}`, []string{"prose removed"}},
		{"[None of these] [12:30] {\"a\":1}", `{"a":1}`, []string{"prose removed"}},
		{"{\"a\":1}\n<think>was it {?</think>", `{"a":1}`, []string{"reasoning block removed"}},
		{"if a < b then {\"a\":1}", `{"a":1}`, []string{"prose removed"}},
		{"{\"a\":1}\n{ \"a\": 1 }", `{ "a": 1 }`, []string{"repeated value removed"}},

		// in the value
		{`{"a":[1,2,],}`, `{"a":[1,2]}`, []string{"trailing comma removed"}},
		{"[1 , \n]", "[1  \n]", []string{"trailing comma removed"}},
		{`{operation: "x", path: null}`, `{"operation": "x", "path": null}`, []string{"bare key quoted"}},
		{`[None, True, False]`, `[null, true, false]`, []string{"Python literal replaced"}},
		{`{'a': 'say "hi"', "b": 'it\'s'}`, `{"a": "say \"hi\"", "b": "it's"}`, []string{"single quotes replaced"}},
		{`{“a”: “it's”, ‘b’: ‘"’}`, `{"a": "it's", "b": "\""}`, []string{"smart quotes replaced", "single quotes replaced"}},
		{"{\"a\":\"x\r\n\ty\x00\x1b\"}", `{"a":"x\r\n\ty\u0000\u001b"}`, []string{"control character escaped"}},
		{"\"{\n}\"", `"{\n}"`, []string{"control character escaped"}},
	}
	for _, tt := range tests {
		got, repairs, err := parser.DecodeJSON(tt.text, keys...)
		if err != nil || string(got) != tt.want || !slices.Equal(repairs, tt.repairs) {
			t.Errorf("DecodeJSON(%q)\n got %s %q %v\nwant %s %q", tt.text, got, repairs, err, tt.want, tt.repairs)
		}
	}
}

func TestDecodeJSONRefuses(t *testing.T) {
	tests := []struct {
		text string
		want error
	}{
		{"", parser.ErrNoJSON},
		{"I am sorry, I cannot.", parser.ErrNoJSON},
		{"see [below] and {name}", parser.ErrNoJSON},
		{`{"a":"hel`, parser.ErrTruncated},
		{`{"a":"x"`, parser.ErrTruncated},
		{`{"a":"x",  `, parser.ErrTruncated},
		{`{"a":`, parser.ErrTruncated},
		{`{"a":tru`, parser.ErrTruncated},
		{`{"a":-`, parser.ErrTruncated},
		{`{"a":"\`, parser.ErrTruncated},
		{`{"a":"\u00`, parser.ErrTruncated},
		{`{oper`, parser.ErrTruncated},
		{"```json\n{\"a\":\"x\n```", parser.ErrTruncated},
		{`"[1]`, parser.ErrTruncated},
		{`<think>{"a":1}`, parser.ErrTruncated},
		{`{"a":1} {"b":`, parser.ErrTruncated},
		{`{"a":1}{"b":2}`, parser.ErrSeveralValues},
		{`[1] {"b":2}`, parser.ErrSeveralValues},
		{`{'content': 'it's here'}`, parser.ErrSyntax},
		{`{"content":"print("hi")","destination":null}`, parser.ErrSyntax},
		{`{“a": "b”: 1}`, parser.ErrSyntax},
		{`{‘a’: ‘it's’}`, parser.ErrSyntax},
		{`{"a":"it\'s"}`, parser.ErrSyntax},
		{`{other: 1}`, parser.ErrSyntax},
		{`{other: {"path":"a"}}`, parser.ErrSyntax},
		{`{"path":"a"},"content":"b"}`, parser.ErrSyntax},
		{`{"path":"a"},"content":"b"`, parser.ErrSyntax},
		{`{"a":1}}`, parser.ErrSyntax},
		{`[{"a":bad},{"path":"x"}]`, parser.ErrSyntax},
		{`{"a":NaN}`, parser.ErrSyntax},
		{`{"a":01}`, parser.ErrSyntax},
		{`{"a":+1}`, parser.ErrSyntax},
		{`{"a":1,,}`, parser.ErrSyntax},
		{`{,}`, parser.ErrSyntax},
		{`{"a" 1}`, parser.ErrSyntax},
		{"{\"a\":\"\xff\"}", parser.ErrSyntax},
		{`{"a":"\x41"}`, parser.ErrSyntax},
	}
	for _, tt := range tests {
		got, _, err := parser.DecodeJSON(tt.text)
		if !errors.Is(err, tt.want) {
			t.Errorf("DecodeJSON(%q)\n got %s %v\nwant %v", tt.text, got, err, tt.want)
		}
	}
}
