package parser_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"textskill/parser"
	"textskill/parser/rawjson"
)

// offered are the names that the tests' calls may have.
func offered(name string) bool {
	switch name {
	case "read", "write", "grep", "run", "test", "delete", "search", "memory_list":
		return true
	}
	return false
}

// written is a list of calls in one line: NAME#ID{…}, or NAME!ERROR.
func written(calls []parser.ToolCall) string {
	var b strings.Builder
	for i, c := range calls {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(c.Name)
		if c.ID != "" {
			b.WriteString("#" + c.ID)
		}
		b.Write(c.Arguments)
		if c.Err != nil {
			b.WriteString("!" + strings.TrimSuffix(c.Err.Error(), "; nothing from there on was read"))
		}
	}
	return b.String()
}

func checkCalls(t *testing.T, tests []struct{ text, want string }) {
	t.Helper()
	for _, tt := range tests {
		calls, _, err := parser.Calls(tt.text, offered)
		got := written(calls)
		if err != nil {
			got += "error: " + strings.TrimSuffix(err.Error(),
				"; a call is written name(key: 'text', key: 1) at the beginning of a line")
		}
		if got != tt.want {
			t.Errorf("Calls(%s)\n got %s\nwant %s", tt.text, got, tt.want)
		}
	}
}

// TestCallsExamples reads the manual's example of every tool.
func TestCallsExamples(t *testing.T) {
	data, err := os.ReadFile("../testdata/conformance/stack-call-examples.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	if len(lines) != 38 {
		t.Fatalf("%d examples, want 38", len(lines))
	}
	for _, line := range lines {
		var row struct {
			Text, Name string
			Arguments  json.RawMessage
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatal(err)
		}
		calls, _, err := parser.Calls(row.Text, func(name string) bool { return name == row.Name })
		var want bytes.Buffer
		json.Compact(&want, row.Arguments)
		if err != nil || len(calls) != 1 ||
			calls[0].Name != row.Name || calls[0].Err != nil ||
			string(calls[0].Arguments) != want.String() {
			t.Errorf("Calls(%s)\n got %s, %v\nwant %s%s", row.Text, written(calls), err, row.Name, &want)
		}
	}
}

func TestCallsValues(t *testing.T) {
	checkCalls(t, []struct{ text, want string }{
		{`read(path: 'a', limit: 1)`, `read{"path":"a","limit":1}`},
		{`read(path='a', limit = 1)`, `read{"path":"a","limit":1}`},
		{`read( "path" : "a" , 'limit':1,)`, `read{"path":"a","limit":1}`},
		{"read(\n\tpath: 'a',\r\n\tlimit: 1,\n)", `read{"path":"a","limit":1}`},
		{`memory_list()`, `memory_list{}`},
		{`memory_list( )`, `memory_list{}`},
		{`read({"path": "a", limit: 1})`, `read{"path":"a","limit":1}`},

		// Strings.
		{`run(command: 'a, b) c] d} "e"')`, `run{"command":"a, b) c] d} \"e\""}`},
		{`run(command: "it's")`, `run{"command":"it's"}`},
		{`run(command: 'it\'s "x"')`, `run{"command":"it's \"x\""}`},
		{`run(command: "say \"x\" it\'s")`, `run{"command":"say \"x\" it's"}`},
		{`run(command: '')`, `run{"command":""}`},
		{`run(command: 'a\nb\tc\r\\n')`, `run{"command":"a\nb\tc\r\\n"}`},
		{`run(command: '\u00e9\ud83d\ude00\u12')`, `run{"command":"\u00e9\ud83d\ude00\\u12"}`},
		{`grep(pattern: '\d+\s\.\b\/\0\x41')`, `grep{"pattern":"\\d+\\s\\.\\b\\/\\0\\x41"}`},
		{`grep(pattern: 'def\\s+\\w+')`, `grep{"pattern":"def\\s+\\w+"}`},
		{`grep(pattern: r'\d\n\'"', path: r"C:\dir\\")`,
			`grep{"pattern":"\\d\\n\\'\"","path":"C:\\dir\\\\"}`},
		{`read(path: 'C:\\dir\\', limit: 1)`, `read{"path":"C:\\dir\\","limit":1}`},
		{"write(content: 'one\ntwo\r\n\tthree\x00')", `write{"content":"one\ntwo\r\n\tthree\u0000"}`},
		{`write(content: """it's "two"` + "\n" + `lines\n""", path: '''a''')`,
			`write{"content":"it's \"two\"\nlines\n","path":"a"}`},
		{`write(content: 'é 😀 </tool_call> read(path: "x")')`,
			`write{"content":"é 😀 </tool_call> read(path: \"x\")"}`},
		{"write(content: '```\nread(path: \"x\")\n```')",
			"write{\"content\":\"```\\nread(path: \\\"x\\\")\\n```\"}"},

		// Numbers and words.
		{`run(a: -1, b: 2.50, c: -3e+10, d: 12345678901234567890, e: 0)`,
			`run{"a":-1,"b":2.50,"c":-3e+10,"d":12345678901234567890,"e":0}`},
		{`run(a: true, b: False, c: null, d: None, e: True, f: false)`,
			`run{"a":true,"b":false,"c":null,"d":null,"e":true,"f":false}`},
		{`run(from: 'a', class: 1, true: 2, None=3, r: 4)`,
			`run{"from":"a","class":1,"true":2,"None":3,"r":4}`},

		// Arrays, objects, tuples.
		{`search(exclude: ['a]', "b,", ['c', []], {}])`, `search{"exclude":["a]","b,",["c",[]],{}]}`},
		{`search(exclude: ['a', 'b',], env: {A: 'x', "B": {c: [1,],},})`,
			`search{"exclude":["a","b"],"env":{"A":"x","B":{"c":[1]}}}`},
		{`search(a: ('x', 1), b: ('y',), c: ('z'), d: (), e: ((1), (2,)))`,
			`search{"a":["x",1],"b":["y"],"c":"z","d":[],"e":[1,[2]]}`},
	})
}

func TestCallsPlaces(t *testing.T) {
	checkCalls(t, []struct{ text, want string }{
		// Several calls, with what stands around them.
		{"read(path: 'a')\nread(path: 'b')", `read{"path":"a"} read{"path":"b"}`},
		{"read(path: 'a') read(path: 'b'); read(path: 'c'), memory_list() read(path: 'd')read(path: 'e')",
			`read{"path":"a"} read{"path":"b"} read{"path":"c"} memory_list{} read{"path":"d"} read{"path":"e"}`},
		{"[read(path: 'a'), memory_list()]", `read{"path":"a"} memory_list{}`},
		{"I look first.\n\n```\nread(path: 'a')\n```\nThen I search:\n~~~python\n  grep(path='.', pattern='x')\n~~~\nDone.",
			`read{"path":"a"} grep{"path":".","pattern":"x"}`},
		{"```tool_code\nread(path='a')\n```", `read{"path":"a"}`},
		{"Sure: read(path: 'a')", `read{"path":"a"}`},
		{"Sure! `read(path: 'a')`.", `read{"path":"a"}`},
		{"1. read(path: 'a')\n2) read(path: 'b')\n- **read(path: 'c')**\n> read(path: 'd')",
			`read{"path":"a"} read{"path":"b"} read{"path":"c"} read{"path":"d"}`},
		{"<pre>\nTo read:\nread(path: 'a')\n</pre>\nread(path: 'b')", `read{"path":"b"}`},
		{"<document>\n{\"name\": \"read\", \"arguments\": {}}\n</document>\nread(path: 'b')", `read{"path":"b"}`},
		{"> {\"name\": \"read\", \"arguments\": {}}\n\nread(path: 'b')", `read{"path":"b"}`},
		{"    <tool_call>{\"name\": \"read\", \"arguments\": {}}</tool_call>\nread(path: 'b')", `read{"path":"b"}`},
		{"```\n<tool_call>{\"name\": \"read\", \"arguments\": {}}</tool_call>\n```\nread(path: 'b')", `read{"path":"b"}`},
		{"```\n<tool_call>{\"name\": \"read\", \"arguments\": {}}</tool_call>\n```", `read{}`},
		{"{\"type\": \"human\", \"tool_calls\": [{\"name\": \"read\", \"args\": {}}]}\nread(path: 'b')", `read{"path":"b"}`},
		{"{\"role\": \"user\", \"tool_calls\": [{\"name\": \"read\", \"args\": {}}]}\nread(path: 'b')", `read{"path":"b"}`},
		{"I use <pre> here.\nread(path: 'b')", `read{"path":"b"}`},
		{"\ufeffread(path: 'a')", `read{"path":"a"}`},
		{"<think>read(path: 'a')\nread('</think>read(path: 'b')", `read{"path":"b"}`},
		{"read(path: 'a')\nthat was it</think>\nread(path: 'b')", `read{"path":"b"}`},
		{"Sure! `read(path: 'a')`. Then the rest.\nread(path: 'b'), as said",
			`read{"path":"a"} read{"path":"b"}`},
		{"test() # all\nmemory_list();test() // too", `test{} memory_list{} test{}`},

		// A call that is only mentioned is not carried out.
		{"use read(…) first", `error: there is no call in the text`},
		{"read(…) and read(2) and read(path) and read(path, limit) and test(s) read a file",
			`error: there is no call in the text`},
		{"test() runs the tests", `error: there is no call in the text`},
		{"Do not use delete(path: 'a', force: true) here",
			`error: delete on line 1, column 12 stands within a sentence, so it was not run`},
		{"`delete(path: 'a')` would remove it",
			`error: delete on line 1, column 2 stands within a sentence, so it was not run`},
		{"delete(path: 'a') would remove it",
			`error: delete on line 1, column 1 stands within a sentence, so it was not run`},
		{"Shall I?\n`delete(path: 'a')`?\nread(path: 'b')？\nread(path: 'c')؟",
			`error: delete on line 2, column 2 stands within a sentence, so it was not run`},
		{"- `delete(path: 'a')` - removes it\nread(path: 'b')", `read{"path":"b"}`},
		{"<!-- delete(path: 'a') -->",
			`error: delete on line 1, column 6 stands within a sentence, so it was not run`},
		{"read(path: 'a') and read(path: 'b')",
			`error: read on line 1, column 1 stands within a sentence, so it was not run`},
		{`So: {"name": "delete", "arguments": {"path": "a"}} Shall I?`, `error: there is no call in the text`},
		{`So: {"name": "delete", "arguments": {"path": "a"}}`, `delete{"path": "a"}`},
		{"e.g. delete(path: 'a')",
			`error: delete on line 1, column 6 stands within a sentence, so it was not run`},
		{"x\n  def read(path: str, limit=1):",
			`error: read on line 2, column 7 stands within a sentence, so it was not run`},
		{"func read(path: 'a')", `error: read on line 1, column 6 stands within a sentence, so it was not run`},
		{"os.read(path: 'a')", `error: read on line 1, column 4 stands within a sentence, so it was not run`},
		{"x = read(path: 'a')", `error: read on line 1, column 5 stands within a sentence, so it was not run`},
		{"# read(path: 'a')\n// read(path: 'b')\n\"read(path: 'c')\"",
			`error: read on line 1, column 3 stands within a sentence, so it was not run`},
		{"thread(path: 'a')\nread_all(path: 'a')\nliréread(path: 'a')",
			`error: there is no call in the text`},
		{"read (path: 'a')\nread[path: 'a']\nread",
			`error: read on line 1, column 1 has a blank before its bracket, so it was not run`},
		{"read[path: 'a']\nread (see above)\nread", `error: there is no call in the text`},
		{"read(path == 'a')\nread(std::path)", `error: there is no call in the text`},
		{"remove(path: 'a')\nREAD(path: 'a')", `error: there is no call in the text`},
		{"", `error: the text is empty`},
		{" \n", `error: the text is empty`},
	})
}

func TestCallsForms(t *testing.T) {
	checkCalls(t, []struct{ text, want string }{
		{`{"tool":"read","params":{"path":"a"},"id":"call_1"}`, `read#call_1{"path":"a"}`},
		{`{"name":"read","arguments":{"path":"a"}}{"name":"nosuch","arguments":"{\"x\":1}"}`,
			`read{"path":"a"} nosuch{"x":1}`},
		{`{'name': 'read', parameters: {'path': 'a',}}`, `read{"path": "a"}`},
		{`[{"name":"read","input":{"path":"a"}},{"tool":"memory_list"}]`, `read{"path":"a"} memory_list{}`},
		{`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}},{"id":"2","type":"function","function":{"name":"run","arguments":{"command":"b"}}}]}`,
			`read#1{"path":"a"} run#2{"command":"b"}`},
		{`{"type":"function","id":"7","function":{"name":"read","arguments":"{}"}}`, `read#7{}`},
		{"Sure:\n```json\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n```\nand\nread(path: 'b')",
			`read{"path": "a"} read{"path":"b"}`},
		{"<tool_call>\n<name>read</name>\n<args>\n{\"path\": \"a\"}\n</args>\n</tool_call><tool_call>\n<name> memory_list </name><args></args></tool_call>\ntext",
			`read{"path": "a"} memory_list{}`},
		{"<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>\n<tool_call>{\"name\":\"run\",\"arguments\":\"{\\\"command\\\":\\\"b\\\"}\"}",
			`read{"path": "a"} run{"command":"b"}`},
		{"<tool_call>read(path: 'a')</tool_call>", `read{"path":"a"}`},
		{"The log holds `<tool_call>{\"name\":\"run\",\"arguments\":{}}</tool_call>`.\n<tool_call>{\"name\":\"read\",\"arguments\":{}}</tool_call>",
			`read{}`},
		{"| hermes | <tool_call>{\"name\":\"run\",\"arguments\":{}}</tool_call> |\nread(path: 'a')", `read{"path":"a"}`},
		{"I read it.<tool_call>{\"name\":\"read\",\"arguments\":{}}</tool_call>", `read{}`},

		// Calls of a wrong shape.
		{`{"tool_calls":[1,{"name":"read","arguments":"["},{"name":"read","arguments":[]},{"name":"read","params":{},"args":{}},{"name":"read","name":"run","args":{}}]}`,
			`!a call must be an object with name and arguments read!the arguments: the JSON is cut off before its end (byte 1) ` +
				`read!the arguments must be an object, got an array read!params and args are both given run!key ` + "`name`" + ` is given twice`},
		{`{"tool":"run","command":"b"}`,
			"run!`command` stands beside the name; arguments stand in an object under `arguments`"},
		{`<tool_call>{"name":"run","command":"b"}`,
			`!line 1, column 12: want {"name":…,"arguments":{…}} in <tool_call>`},
		{`{"tool":"write","params":{"content":"cut`,
			"write!line 1, column 41: the JSON is cut off before its end"},
		{"{\"tool\":\"write\",\"params\":{\"content\":\"a \"b\"\nrun(command: 'x')\n\"}}",
			`write!line 1, column 41: unexpected 'b' where ',' or '}' must stand; a quote inside a string is written \"`},
		{`<tool_call>{"x":1}</tool_call>`,
			`!line 1, column 12: want {"name":…,"arguments":{…}} in <tool_call>`},
		{`<tool_call>{"name":"read","arguments":{}} and`,
			`read!line 1, column 43: found 'a', want </tool_call>`},
		{`<tool_call><name>read</name><args>{"path":"a"`,
			`read!line 1, column 46: the JSON is cut off before its end`},
		{`<tool_call><name>read`, `!line 1, column 18: <name> has no end`},
		{"memory_list()\n<think>read(path: 'a')",
			`memory_list{} !line 2, column 1: the reasoning block that begins here has no end`},

		// JSON that is no call.
		{`{"name":"Ann","age":3}`, `error: there is no call in the text`},
		{"```json\n{\n  \"name\": \"run\",\n  \"version\": \"1.0.0\"\n}\n```",
			`error: there is no call in the text`},
		{`{"name":"run","type":"module"}`, `error: there is no call in the text`},
		{`[{"name":"read","age":3},{"name":"run","age":4}]`, `error: there is no call in the text`},
		{`{"type":"function","function":{"name":"read","description":"Read.","parameters":{"type":"object"}}}`, `error: there is no call in the text`},
		{"{\"note\":\"x\\nread(path: 'a')\",\"list\":[\n{\"tool\":\"read\",\"params\":{}}]}",
			`error: there is no call in the text`},
		{`it answers {"tool":"read","params":{}} then`, `error: there is no call in the text`},
		{`{"final":"done"}`, `error: there is no call in the text`},
	})
}

func TestCallsBroken(t *testing.T) {
	deep := strings.Repeat("[", 600)
	checkCalls(t, []struct{ text, want string }{
		{`read(path: 'a`, `read!line 1, column 12: the string that begins here has no end, want '`},
		{`read(path: 'C:\dir\')`, `read!line 1, column 12: the string that begins here has no end, want '`},
		{`read(path: 'a\`, `read!line 1, column 12: the string that begins here has no end, want '`},
		{`read(path: """a"")`, `read!line 1, column 12: the string that begins here has no end, want """`},
		{`read(path: 'a'`, `read!line 1, column 15: the text ends, want ',' or ')' after the value; a quote inside a string is written \' or \"`},
		{`read(path: `, `read!line 1, column 12: the text ends, want a value; a text stands in quotes`},
		{`read(path`, `read!line 1, column 10: the text ends, want ':' after the key; an argument is written key: value`},
		{`read(`, `read!line 1, column 6: the text ends, want a key or ')'`},
		{`read(path: 'a',`, `read!line 1, column 16: the text ends, want a key or ')'`},
		{"read(path 'a')\nmemory_list()",
			`read!line 1, column 11: found '\'', want ':' after the key; an argument is written key: value`},
		{`read('a.txt')`, `read!line 1, column 13: found ')', want ':' after the key; an argument is written key: value`},
		{`read(path: a.txt)`, `read!line 1, column 12: found 'a', want a value; a text stands in quotes`},
		{`read(path: /a)`, `read!line 1, column 12: found '/', want a value; a text stands in quotes`},
		{`read(path: 'a' limit: 1)`,
			`read!line 1, column 16: found 'l', want ',' or ')' after the value; a quote inside a string is written \' or \"`},
		{`read(path: 'a',, limit: 1)`, `read!line 1, column 16: found ',', want a key or ')'`},
		{`read(limit: 007)`, `read!line 1, column 14: found '0', want the end of the number, which is written like -1.5e3`},
		{`read(limit: 1_000)`, `read!line 1, column 14: found '_', want the end of the number, which is written like -1.5e3`},
		{`read(limit: -)`, `read!line 1, column 14: found ')', want a digit`},
		{`read(a: [1})`, `read!line 1, column 11: found '}', want ',' or ']' after the value; a quote inside a string is written \' or \"`},
		{`read({"path": "a"}, 1)`, `read!line 1, column 19: found ',', want ')' after the object`},
		{"read(a: 'é\xff')", `read!line 1, column 11: byte 0xff in a string is not UTF-8`},
		{`read(a: ` + deep, `read!line 1, column 521: nested deeper than 512 levels`},

		// Calls before a broken one stand; what follows it may be a part of it.
		{"read(path: 'a')\nwrite(content: 'it's\nrun(command: \"rm\")\n')\nread(path: 'b')",
			`read{"path":"a"} write!line 2, column 20: found 's', want ',' or ')' after the value; a quote inside a string is written \' or \"`},
	})
}

// TestNoCalls asks for the name that was not known.
func TestNoCalls(t *testing.T) {
	for text, want := range map[string]string{"raed(path: 'a')": "raed", "use raed(path: 'a')": "",
		"raed(…)": "", "x": ""} {
		_, _, err := parser.Calls(text, offered)
		none, ok := errors.AsType[*parser.SyntaxError](err)
		if !ok || none.Name != want {
			t.Errorf("Calls(%s) = %+v, want the name %q", text, err, want)
		}
	}
}

func TestCallsLimits(t *testing.T) {
	for _, text := range []string{strings.Repeat("test()\n", 10_001), strings.Repeat(" ", 64<<20+1)} {
		calls, _, err := parser.Calls(text, offered)
		if !errors.Is(err, rawjson.ErrTooLarge) || calls != nil {
			t.Errorf("%d calls, %v; want none and ErrTooLarge", len(calls), err)
		}
	}
}

// printed writes a decoded JSON value in the syntax of calls; i varies the quotes.
func printed(v any, i int) string {
	switch v := v.(type) {
	case string:
		q := []string{"'", `"`, `"""`, "'''"}[i%4]
		v = strings.ReplaceAll(v, `\`, `\\`)
		return q + strings.ReplaceAll(v, q[:1], `\`+q[:1]) + q
	case []any:
		var b strings.Builder
		for _, e := range v {
			b.WriteString(printed(e, i+1) + ",")
		}
		return []string{"[" + b.String() + "]", "(" + b.String() + ")"}[i%2]
	case map[string]any:
		return "{" + pairs(v, i) + "}"
	case nil:
		return []string{"None", "null"}[i%2]
	}
	return fmt.Sprint(v)
}

func pairs(object map[string]any, i int) string {
	var b strings.Builder
	for k, v := range object {
		fmt.Fprintf(&b, "%s%s %s,\n", printed(k, i), []string{":", " ="}[i%2], printed(v, i+1))
	}
	return b.String()
}

// FuzzCalls reads a text, and what it reads must survive being printed as a call.
func FuzzCalls(f *testing.F) {
	for _, text := range append(hostile, hostileCalls...) {
		f.Add(text, 0)
	}
	f.Add(`read(path: 'a\\"\'\u00e9', n: [-1.50, (None,), {"k": True}])`+"\ntest()", 1)
	f.Add("<tool_call><name>read</name><args>{\"path\":\"a\"}</args></tool_call>\n{\"tool\":\"read\",\"params\":{\"a\":1e5}}", 2)
	f.Fuzz(func(t *testing.T, text string, i int) {
		calls, _, err := parser.Calls(text, offered)
		if (err == nil) != (len(calls) > 0) {
			t.Fatalf("Calls(%q) = %d calls, %v", text, len(calls), err)
		}
		for n, call := range calls {
			if call.Err != nil {
				if broken, ok := errors.AsType[*parser.SyntaxError](call.Err); ok &&
					(n+1 < len(calls) || broken.Line > 1+strings.Count(text, "\n")) {
					t.Errorf("Calls(%q): call %d of %d: %v", text, n+1, len(calls), broken)
				}
				continue
			}
			want := decoded(t, call.Arguments)
			again, _, err := parser.Calls("read("+pairs(want, i&0xff)+")", offered)
			if err != nil || len(again) != 1 || again[0].Err != nil {
				t.Fatalf("%s printed is %q: %v, %v", call.Arguments, pairs(want, i&0xff), written(again), err)
			}
			if got := decoded(t, again[0].Arguments); !reflect.DeepEqual(got, want) {
				t.Errorf("%s came back as %s", call.Arguments, again[0].Arguments)
			}
		}
	})
}

func decoded(t *testing.T, object json.RawMessage) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil || v == nil {
		t.Fatalf("%q is no object: %v", object, err)
	}
	return v
}

// TestCallAtEscapes reads the escapes of Python and JSON. A backslash before another character stands for itself.
func TestCallAtEscapes(t *testing.T) {
	text := `f(a='\f\b\x1b\x0\u00e9\U0001F600\d\n', b=[{'c': "\v\a"}])`
	want := "{\"a\":\"\\f\\b\\u001b\\\\x0\\u00e9😀\\\\d\\n\",\"b\":[{\"c\":\"\\u000b\\u0007\"}]}"
	call, end, err := parser.CallAt(text, 0)
	if err != nil || end != len(text) || string(call.Arguments) != want {
		t.Errorf("%s, %d, %v; want %s", call.Arguments, end, err, want)
	}
}
