package dialect

import (
	"encoding/base64"
	"os/exec"
	"strings"
	"testing"
)

// jsonStrings are bytes and what node prints of them, read as UTF-8.
var jsonStrings = []struct{ in, want string }{
	{"", `""`},
	{"plain", `"plain"`},
	{`say "hi" \ /`, `"say \"hi\" \\ /"`},
	{"<a href='x'>&amp;</a>", `"<a href='x'>&amp;</a>"`},
	{"\x00\x01\b\t\n\v\f\r\x1f\x7f", `"\u0000\u0001\b\t\n\u000b\f\r\u001f` + "\x7f\""},
	{"\u0080\u00a0\u2028\u2029\ufeff\ufffd", "\"\u0080\u00a0\u2028\u2029\ufeff\ufffd\""},
	{`\u2028 \\u2029`, `"\\u2028 \\\\u2029"`},
	{"zu\u0308rich 日本 😀", "\"zu\u0308rich 日本 😀\""},
	{"\xff\xfe", "\"\ufffd\ufffd\""},
	{"caf\xe9", "\"caf\ufffd\""},
	{"\xe2\x82", "\"\ufffd\""},
	{"\xe2\x82x\xe2", "\"\ufffdx\ufffd\""},
	{"\xf0\x9f\x98x\xf0\x9f", "\"\ufffdx\ufffd\""},
	{"\xed\xa0\x80\xc0\xaf", "\"\ufffd\ufffd\ufffd\ufffd\ufffd\""},
	{"\xf4\x90\x80\xe0\x80\xf5", "\"\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\""},
}

func TestJSONStrings(t *testing.T) {
	for _, tt := range jsonStrings {
		if got := string(JSON(wellFormed(tt.in))); got != tt.want {
			t.Errorf("JSON(%q)\n got %s\nwant %s", tt.in, got, tt.want)
		}
	}
}

// TestJSONStringsOfNode asks node, where there is one, what it prints.
func TestJSONStringsOfNode(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Log("there is no node here; the table stands alone")
		return
	}
	var input strings.Builder
	for _, tt := range jsonStrings {
		input.WriteString(base64.StdEncoding.EncodeToString([]byte(tt.in)) + "\n")
	}
	cmd := exec.CommandContext(t.Context(), node, "-e", `
		for (const line of require('fs').readFileSync(0, 'latin1').split('\n').slice(0, -1))
			console.log(JSON.stringify(Buffer.from(line, 'base64').toString('utf8')))`)
	cmd.Stdin = strings.NewReader(input.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(jsonStrings) {
		t.Fatalf("node printed %d lines, want %d", len(lines), len(jsonStrings))
	}
	for i, tt := range jsonStrings {
		if lines[i] != tt.want {
			t.Errorf("node prints of %q\n got %s\nwant %s", tt.in, lines[i], tt.want)
		}
	}
}

func TestJSONValues(t *testing.T) {
	for _, tt := range []struct {
		in   any
		want string
	}{
		{[]string{}, `[]`},
		{[]string{"a", "b c"}, `["a","b c"]`},
		{map[string]any{"b": 1, "a": nil, "c": true}, `{"a":null,"b":1,"c":true}`},
		{Message{Role: "tool", ToolCallID: "1", Content: "a\n", Undo: "2"}, `{"role":"tool","tool_call_id":"1","content":"a\n"}`},
	} {
		if got := string(JSON(tt.in)); got != tt.want {
			t.Errorf("JSON(%v)\n got %s\nwant %s", tt.in, got, tt.want)
		}
	}
}
