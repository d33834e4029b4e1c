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
