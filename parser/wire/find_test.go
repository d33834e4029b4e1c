package wire

import (
	"fmt"
	"strings"
	"testing"
)

// TestFind reads texts with thoughts, and with calls that are calls or are only spoken of.
func TestFind(t *testing.T) {
	known := func(name string) bool { return len(schemas(name)) > 0 }
	call := func(content string) string {
		return "<tool_call>\n" + `{"name": "write_file", "arguments": ` + arguments(content) + "}\n</tool_call>"
	}
	for _, tt := range []struct{ text, thought, rest, contents string }{
		{"It rains.", "", "It rains.", ""},
		{"<think>hm</think>It rains.", "hm", "It rains.", ""},
		{"<think>\nhm\n</think>\n\nIt rains.", "hm", "It rains.", ""},
		{"hm\n</think>\n\nIt rains.", "hm", "It rains.", ""},
		{"hm</think>It rains.", "hm", "It rains.", ""},
		{"<think>a</think><think>b</think>c", "ab", "c", ""},
		{"hm\n</think>\n\n" + call("x"), "hm", "", "x"},
		{"<think>hm</think> " + call("x"), "hm", "", "x"},
		{"Not " + call("y") + "\n</think>\n\n" + call("x"), "Not " + call("y"), "", "x"},
		{"So:\n" + call("y") + "\n</think>\n\n" + call("x"), "So:\n" + call("y"), "", "x"},
		{"<think>\n" + call("y") + "\n</think>\n", "\n" + call("y") + "\n", "", ""},
		{"I look.\n<think>\n" + call("y") + "\n</think>\n" + call("x"), "",
			"I look.\n<think>\n" + call("y") + "\n</think>", "x"},
		// tags that are spoken of
		{"To end its thoughts, the model writes </think> and then the answer.", "",
			"To end its thoughts, the model writes </think> and then the answer.", ""},
		{"Line\n**</think>** marks the end", "", "Line\n**</think>** marks the end", ""},
		{"```\n</think>\n```\nabc", "", "```\n</think>\n```\nabc", ""},
		{"a (</think>) b", "", "a (</think>) b", ""},
		{"- </think>\n- b", "", "- </think>\n- b", ""},
		{"The tag is </think>", "", "The tag is </think>", ""},
		{"<think> is the opening tag of the model's thoughts.", "", "<think> is the opening tag of the model's thoughts.", ""},
		{"<reasoning> begins and </reasoning> ends it.", "", "<reasoning> begins and </reasoning> ends it.", ""},
		// tags in a content
		{call("ends with </think>\n"), "", "", "ends with </think>\n"},
		{call("</think>\n") + "\n" + call("2"), "", "", "</think>\n|2"},
		{"<tool_call>\n<function=write_file>\n<parameter=path>\na\n</parameter>\n<parameter=content>\nI think.\n</think>\nx\n</parameter>\n</function>\n</tool_call>", "", "", "I think.\n</think>\nx"},
		// calls that are spoken of
		{"The log holds this line: `" + strings.ReplaceAll(call("x"), "\n", "") + "`. Shall I go on?", "", "*", ""},
		{"A sample:\n```\n" + call("x") + "\n```\nThat is it.", "", "*", ""},
		{"A sample:\n````md\n```\n" + call("x") + "\n```\n````\nThat is it.", "", "*", ""},
		{"It said:\n> " + call("x") + "\nSo it is.", "", "*", ""},
		{"A sample:\n\n    " + strings.ReplaceAll(call("x"), "\n", "\n    ") + "\n\nThat is it.", "", "*", ""},
		{"Write " + call("x") + " to call.", "", "*", ""},
		{"Write (" + call("x") + ")", "", "*", ""},
		{"- " + call("x"), "", "*", ""},
		{`Here is the result: {"name": "now", "parameters": {}} Would you like more?`, "", "*", ""},
		{"{\"name\": \"write_file\", \"parameters\": {\"content\": \"x\"}}\nWould you like more?", "", "*", ""},
		{"{\"name\": \"nope\", \"parameters\": {\"content\": \"x\"}}", "", "*", ""},
		{"see [write_file(content='x')] there", "", "*", ""},
		// calls
		{"```\n" + call("x") + "\n```", "", "```", "x"},
		{"I write.\n\n{\"name\": \"write_file\", \"parameters\": {\"content\": \"x\"}}", "", "I write.", "x"},
		{"I write.\n```json\n{\"name\": \"write_file\", \"parameters\": {\"content\": \"x\"}}\n```", "", "I write.", "x"},
		{"Let me see.[write_file(content='x')]", "", "Let me see.", "x"},
		{"Action: ```json\n[{\"tool_name\": \"write_file\", \"parameters\": {\"content\": \"x\"}}]\n```", "", "", "x"},
		{"I look.[TOOL_CALLS]write_file[ARGS]{\"content\":\"x\"}", "", "I look.", "x"},
		{"<pre>\nx\n</pre>\n" + call("x"), "", "<pre>\nx\n</pre>", "x"},
		{"I type cat <file>\n" + call("x"), "", "I type cat <file>", "x"},
		{"I type cat <file> and\n\nthen:\n" + call("</file>\n"), "", "I type cat <file> and\n\nthen:", "</file>\n"},
		{"<code> is for code.\n\n" + call("<code>x</code>\n"), "", "<code> is for code.", "<code>x</code>\n"},
		{"`<pre>` begins it.\n\n" + call("a\n</pre>\n"), "", "`<pre>` begins it.", "a\n</pre>\n"},
		// what has begun first is read to its end
		{`{"name": "write_file", "arguments": {"content": "say "hi"` + "\n" + call("y") + "\n" + `"}}`, "", "", "error"},
		{`{"name": "write_file", "arguments": ` + arguments(call("y")) + `}`, "", "", call("y")},
		{"write_file\n" + arguments(call("y")), "", "", call("y")},
	} {
		r := Find(tt.text, known, schemas)
		var contents []string
		for _, c := range r.Calls {
			content := split(c.Arguments).str("content")
			if c.Err != nil {
				content = "error"
			}
			contents = append(contents, content)
		}
		rest := strings.TrimSpace(r.Text)
		if tt.rest == "*" {
			tt.rest = tt.text
		}
		got := fmt.Sprintf("%q %q %q", r.Thought, rest, strings.Join(contents, "|"))
		want := fmt.Sprintf("%q %q %q", strings.TrimSpace(tt.thought), tt.rest, tt.contents)
		if got != want {
			t.Errorf("%q\n got %s\nwant %s", tt.text, got, want)
		}
	}
}

// TestNested has each format's call in the content of each other's.
func TestNested(t *testing.T) {
	known := func(name string) bool { return len(schemas(name)) > 0 }
	for _, outer := range All {
		if !outer.IsText() {
			continue
		}
		for _, inner := range All {
			sample := writers[inner.Name].write("x")
			for _, content := range []string{
				sample, "How to call:\n" + sample + "\nThe end.\n", sample + sample,
				"<think>\n" + sample + "\n</think>\n" + sample, "A\n\n" + sample + "\n\nB\n\n" + sample + "\n",
			} {
				text := writers[outer.Name].write(content)
				if by := writers[outer.Name]; by.escape != "" && strings.Contains(content, by.escape) {
					continue
				}
				r := Find(text, known, schemas)
				if len(r.Calls) != 1 || r.Calls[0].Err == nil && split(r.Calls[0].Arguments).str("content") != content {
					t.Errorf("%s in %s: read %d calls %q %v of\n%s", inner.Name, outer.Name, len(r.Calls), r.Calls, r.Calls, text)
				} else if r.Calls[0].Err != nil {
					t.Errorf("%s in %s: %v of\n%s", inner.Name, outer.Name, r.Calls[0].Err, text)
				}
			}
		}
	}
}

// TestEnds has contents with the end tags of their own format.
func TestEnds(t *testing.T) {
	known := func(name string) bool { return len(schemas(name)) > 0 }
	const refused = "cannot be told from the end of the call"
	for name, end := range map[string]string{
		"glm": "</arg_value>\n</tool_call>", "qwen3-coder": "</parameter>\n</function>\n</tool_call>",
		"minimax": "</parameter>\n</invoke>\n</minimax:tool_call>", "invoke": "</parameter>\n</invoke>",
		"dsml":     "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
		"seed-oss": "</parameter>\n</function>\n</seed:tool_call>",
	} {
		write := writers[name].write
		for _, content := range []string{"x\n" + end + "\nmore", end, "Close with\n" + end + "\nThe end.\n" + end} {
			r := Find(write(content), known, schemas)
			if len(r.Calls) != 1 || r.Calls[0].Err != nil || split(r.Calls[0].Arguments).str("content") != content {
				t.Errorf("%s: read %q of %q", name, r.Calls, content)
			}
		}
		two := write("x\n"+end+"\nmore") + "\n" + write("y")
		if r := Find(two, known, schemas); len(r.Calls) != 2 || r.Calls[0].Err != nil ||
			split(r.Calls[0].Arguments).str("content") != "x\n"+end+"\nmore" {
			t.Errorf("%s: read %q of %q", name, r.Calls, two)
		}
		tag, _, _ := strings.Cut(end, "\n")
		left := write("x") + "\nmore " + tag + " and more"
		if r := Find(left, known, schemas); len(r.Calls) != 1 || r.Calls[0].Err == nil ||
			!strings.Contains(r.Calls[0].Err.Error(), refused) {
			t.Errorf("%s: read %q of %q", name, r.Calls, left)
		}
		whole := write("A\n" + write("x") + "\nB")
		for i := range whole {
			for _, c := range Find(whole[:i], known, schemas).Calls {
				if c.Err == nil && split(c.Arguments).str("content") != "A\n"+write("x")+"\nB" {
					t.Errorf("%s: cut at %d of %q, read %q", name, i, whole, c)
				}
			}
		}
	}
}

// TestTypes has values of formats without types, under schemas.
func TestTypes(t *testing.T) {
	for _, tt := range []struct{ schema, text, want string }{
		{`{"type":"string"}`, "42", `"42"`}, {`{"type":"integer"}`, "42", `42`}, {`{"type":"integer"}`, "x", `"x"`},
		{`{"type":"string"}`, "null", `"null"`}, {`{"type":"boolean"}`, "True", `true`},
		{`{"anyOf":[{"type":"integer"},{"type":"null"}]}`, "42", `42`},
		{`{"anyOf":[{"type":"integer"},{"type":"null"}]}`, "null", `null`},
		{`{"anyOf":[{"type":"integer"},{"type":"null"}]}`, "None", `null`},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, "None", `null`},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, "none", `"none"`},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, "true", `"true"`},
		{`{"type":["string","null"]}`, "null", `null`}, {`{"type":["boolean","null"]}`, "true", `true`},
		{`{"type":"string","nullable":true}`, "null", `null`}, {`{"type":["string","integer"]}`, "4", `"4"`},
		{`{"anyOf":[{"type":"array"},{"type":"object"}]}`, `["a"]`, `["a"]`},
		{`{"anyOf":[{"type":"array"},{"type":"object"}]}`, `{'a':None}`, `{"a":null}`},
		{`{"oneOf":[{"type":"number"}]}`, "2.5", `2.5`}, {`{"type":"number"}`, "2", `2`},
		{`{"allOf":[{"type":"integer"},{"minimum":1}]}`, "2", `2`},
		{`{"enum":[1,2,3]}`, "2", `2`}, {`{"enum":["1","2"]}`, "2", `"2"`}, {`{"const":7}`, "7", `7`},
		{`{"$ref":"#/$defs/O"}`, `{"a":1}`, `{"a":1}`}, {`{"$ref":"#/$defs/S"}`, `{"a":1}`, `"{\"a\":1}"`},
		{`{}`, "42", `"42"`}, {`{"description":"any"}`, "null", `"null"`},
	} {
		schema := []byte(`{"type":"object","properties":{"k":` + tt.schema + `},"$defs":{"O":{"type":"object"},"S":{"type":"string"}}}`)
		tool := split(schema)
		got := written{key: "k", text: tt.text}.value(tool, tool.get("properties", "k"))
		if string(got) != tt.want {
			t.Errorf("%s under %s is %s, want %s", tt.text, tt.schema, got, tt.want)
		}
	}
}
