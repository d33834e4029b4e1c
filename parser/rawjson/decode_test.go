package rawjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"textskill/parser/rawjson"
)

func TestDecode(t *testing.T) {
	keys := []string{"operation", "path", "content", "destination"}
	tests := []struct {
		text    string
		want    string
		repairs []string
	}{
		// strict JSON is not touched
		{`{"a":1}`, `{"a":1}`, nil},
		{" \r\n\t{ \"a\" : [ 1 , -0.5e+3, \"\\u00e9\\n\" ] }\n",
			`{ "a" : [ 1 , -0.5e+3, "\u00e9\n" ] }`, nil},
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
		{`{'a': 'say "hi"', "b": 'it\'s'}`, `{"a": "say \"hi\"", "b": "it's"}`,
			[]string{"single quotes replaced"}},
		{`{“a”: “it's”, ‘b’: ‘"’}`, `{"a": "it's", "b": "\""}`,
			[]string{"smart quotes replaced", "single quotes replaced"}},
		{"{\"a\":\"x\r\n\ty\x00\x1b\"}", `{"a":"x\r\n\ty\u0000\u001b"}`,
			[]string{"control character escaped"}},
		{"\"{\n}\"", `"{\n}"`, []string{"control character escaped"}},
	}
	for _, tt := range tests {
		got, repairs, err := rawjson.Decode(tt.text, keys...)
		if err != nil || string(got) != tt.want || !slices.Equal(repairs, tt.repairs) {
			t.Errorf("Decode(%q)\n got %s %q %v\nwant %s %q", tt.text, got, repairs, err, tt.want, tt.repairs)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	tests := []struct {
		text string
		want error
	}{
		{"", rawjson.ErrNoJSON},
		{"I am sorry, I cannot.", rawjson.ErrNoJSON},
		{"see [below] and {name}", rawjson.ErrNoJSON},
		{`{"a":"hel`, rawjson.ErrTruncated},
		{`{"a":"x"`, rawjson.ErrTruncated},
		{`{"a":"x",  `, rawjson.ErrTruncated},
		{`{"a":`, rawjson.ErrTruncated},
		{`{"a":tru`, rawjson.ErrTruncated},
		{`{"a":-`, rawjson.ErrTruncated},
		{`{"a":"\`, rawjson.ErrTruncated},
		{`{"a":"\u00`, rawjson.ErrTruncated},
		{`{oper`, rawjson.ErrTruncated},
		{"```json\n{\"a\":\"x\n```", rawjson.ErrTruncated},
		{`"[1]`, rawjson.ErrTruncated},
		{`<think>{"a":1}`, rawjson.ErrTruncated},
		{`{"a":1} {"b":`, rawjson.ErrTruncated},
		{`{"a":1}{"b":2}`, rawjson.ErrSeveralValues},
		{`[1] {"b":2}`, rawjson.ErrSeveralValues},
		{`{'content': 'it's here'}`, rawjson.ErrSyntax},
		{`{"content":"print("hi")","destination":null}`, rawjson.ErrSyntax},
		{`{“a": "b”: 1}`, rawjson.ErrSyntax},
		{`{‘a’: ‘it's’}`, rawjson.ErrSyntax},
		{`{"a":"it\'s"}`, rawjson.ErrSyntax},
		{`{other: 1}`, rawjson.ErrSyntax},
		{`{other: {"path":"a"}}`, rawjson.ErrSyntax},
		{`{"path":"a"},"content":"b"}`, rawjson.ErrSyntax},
		{`{"path":"a"},"content":"b"`, rawjson.ErrSyntax},
		{`{"a":1}}`, rawjson.ErrSyntax},
		{`[{"a":bad},{"path":"x"}]`, rawjson.ErrSyntax},
		{`{"a":NaN}`, rawjson.ErrSyntax},
		{`{"a":01}`, rawjson.ErrSyntax},
		{`{"a":+1}`, rawjson.ErrSyntax},
		{`{"a":1,,}`, rawjson.ErrSyntax},
		{`{,}`, rawjson.ErrSyntax},
		{`{"a" 1}`, rawjson.ErrSyntax},
		{"{\"a\":\"\xff\"}", rawjson.ErrSyntax},
		{`{"a":"\x41"}`, rawjson.ErrSyntax},
	}
	for _, tt := range tests {
		got, _, err := rawjson.Decode(tt.text)
		if !errors.Is(err, tt.want) {
			t.Errorf("Decode(%q)\n got %s %v\nwant %v", tt.text, got, err, tt.want)
		}
	}
}

// Every proper prefix of a document is cut off, whatever it holds until there.
func TestDecodeNeverCompletes(t *testing.T) {
	for _, text := range []string{
		`{"a":["x\\\u00e9",-1.5e+3,true,null,{}],"b":{"c":"d, }"}}`,
		`{'a':['it\'s',None,True,],"b":“c”,d:1}`,
	} {
		for n := 1; n < len(text); n++ {
			if value, _, err := rawjson.Decode(text[:n], "d"); err == nil {
				t.Errorf("Decode(%q) = %s", text[:n], value)
			}
		}
		if _, _, err := rawjson.Decode(text, "d"); err != nil {
			t.Errorf("Decode(%q): %v", text, err)
		}
	}
}

func TestDecodeBounds(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`[{"a":`, n/2) + "1" + strings.Repeat("}]", n/2) }
	tests := []struct {
		text string
		want error
	}{
		{nested(512), nil},
		{nested(514), rawjson.ErrTooDeep},
		{strings.Repeat("[", 1<<20), rawjson.ErrTooDeep},
		{strings.Repeat("[]", 512), rawjson.ErrSeveralValues},
		{strings.Repeat(" ", 64<<20) + "1", rawjson.ErrTooLarge},
	}
	for _, tt := range tests {
		value, _, err := rawjson.Decode(tt.text)
		if !errors.Is(err, tt.want) || err == nil && string(value) != tt.text {
			t.Errorf("Decode(%.20q…) = %.20s… %v, want %v", tt.text, value, err, tt.want)
		}
	}
}

// An error says where and what, in words for the one who wrote the text.
func TestError(t *testing.T) {
	tests := []struct {
		text   string
		offset int
		want   string
	}{
		{"I cannot.", 0, "no JSON value in the text"},
		{`{"a":"x`, 7, "the JSON is cut off before its end (byte 7)"},
		{"ok <think> {", 12, "the JSON is cut off before its end (byte 12): <think> has no end"},
		{`{"a":"b"c"}`, 8, `the JSON is not valid and has no single repair (byte 8): unexpected 'c' where ',' or '}' must stand; a quote inside a string is written \"`},
		{`["b"c"]`, 4, `the JSON is not valid and has no single repair (byte 4): unexpected 'c' where ',' or ']' must stand; a quote inside a string is written \"`},
		{`{"a"b":1}`, 4, `the JSON is not valid and has no single repair (byte 4): unexpected 'b' where ':' must follow a key; a quote inside a string is written \"`},
		{`{b:"x"}`, 1, `the JSON is not valid and has no single repair (byte 1): unexpected 'b' where a key in double quotes must stand`},
		{`["\d"]`, 3, `the JSON is not valid and has no single repair (byte 3): unexpected 'd' after a backslash in a string; a backslash itself is written \\`},
		{`["\u00g0"]`, 6, `the JSON is not valid and has no single repair (byte 6): unexpected 'g' in \u, which four hexadecimal digits must follow`},
		{"[\"\xe9\"]", 2, "the JSON is not valid and has no single repair (byte 2): byte 0xe9 in a string is not UTF-8"},
		{`["a",-x,"b"]`, 6, `the JSON is not valid and has no single repair (byte 6): unexpected 'x' where a digit must stand`},
		{`{"a":1}]`, 7, `the JSON is not valid and has no single repair (byte 7): unexpected ']' outside any value`},
		{`{"a":1},`, 7, `the JSON is not valid and has no single repair (byte 7): unexpected ',' after the value`},
		{`{"a":1} {"b":2}`, 8, "several different JSON values where one is wanted (byte 8)"},
	}
	for _, tt := range tests {
		_, _, err := rawjson.Decode(tt.text)
		wrong, ok := errors.AsType[*rawjson.Error](err)
		if !ok || wrong.Offset != tt.offset || err.Error() != tt.want {
			t.Errorf("Decode(%q)\n got %v\nwant %s", tt.text, err, tt.want)
		}
	}
}

// What Members returns shares memory with its argument, but appending to a value
// must not overwrite the next.
func TestMembersAreClipped(t *testing.T) {
	object := json.RawMessage(`{"a":1,"b":2}`)
	members, _, _ := rawjson.Members(object)
	if _ = append(members["a"], "xxxx"...); string(object) != `{"a":1,"b":2}` {
		t.Errorf("the object is now %s", object)
	}
}

func TestMembers(t *testing.T) {
	tests := []struct {
		object string
		want   string
		twice  string
		ok     bool
	}{
		{`{}`, `map[]`, "", true},
		{`{"a": 1 , "A":{"a":2,"a":3}}`, `map[A:{"a":2,"a":3} a:1]`, "", true},
		{`{"a":1,"\u0061":[2]}`, `map[a:[2]]`, "a", true},
		{`[1]`, `map[]`, "", false},
		{`{'a':1}`, `map[]`, "", false},
		{`{"a":1}{}`, `map[]`, "", false},
		{``, `map[]`, "", false},
	}
	for _, tt := range tests {
		members, twice, ok := rawjson.Members(json.RawMessage(tt.object))
		if got := fmt.Sprintf("%s", members); got != tt.want || twice != tt.twice || ok != tt.ok {
			t.Errorf("Members(%s)\n got %s %q %t\nwant %s %q %t", tt.object, got, twice, ok, tt.want,
				tt.twice, tt.ok)
		}
	}
}
