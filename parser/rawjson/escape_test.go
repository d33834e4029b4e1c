package rawjson

import (
	"encoding/base64"
	"os/exec"
	"strings"
	"testing"

	"textskill/testdata/needs"
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

func TestEncodeStrings(t *testing.T) {
	for _, tt := range jsonStrings {
		if got := string(Encode(WellFormed(tt.in))); got != tt.want {
			t.Errorf("Encode(%q)\n got %s\nwant %s", tt.in, got, tt.want)
		}
	}
}

// TestEncodeStringsOfNode asks node what it prints.
func TestEncodeStringsOfNode(t *testing.T) {
	needs.Program(t, "node")
	var input strings.Builder
	for _, tt := range jsonStrings {
		input.WriteString(base64.StdEncoding.EncodeToString([]byte(tt.in)) + "\n")
	}
	cmd := exec.CommandContext(t.Context(), "node", "-e", `
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

func TestEncodeValues(t *testing.T) {
	for _, tt := range []struct {
		in   any
		want string
	}{
		{[]string{}, `[]`},
		{[]string{"a", "b c"}, `["a","b c"]`},
		{map[string]any{"b": 1, "a": nil, "c": true}, `{"a":null,"b":1,"c":true}`},
		{struct {
			Content string `json:"content"`
			Undo    string `json:"-"`
		}{"a\n", "2"}, `{"content":"a\n"}`},
	} {
		if got := string(Encode(tt.in)); got != tt.want {
			t.Errorf("Encode(%v)\n got %s\nwant %s", tt.in, got, tt.want)
		}
	}
}

// TestStringOfBytes prints what is no UTF-8 and came from no JSON.
func TestStringOfBytes(t *testing.T) {
	for in, want := range map[string]string{
		"a\xffb": "\"a\ufffdb\"", "\xe2\x82": "\"\ufffd\"", "\xf0\x9f\x98\n": "\"\ufffd\\n\"",
		"\xc3\xa9\xc3": "\"é\ufffd\"", "\xed\x9f\xbf": "\"\ud7ff\"",
	} {
		if got := string(AppendString(nil, in)); got != want {
			t.Errorf("%q is printed %s, want %s", in, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for _, tt := range []struct {
		in   float64
		want string
	}{{0, "0"}, {5, "5"}, {-2, "-2"}, {0.5, "0.5"}, {1e20, "100000000000000000000"}, {1e21, "1e+21"},
		{1e-6, "0.000001"}, {1e-7, "1e-7"}, {1e308, "1e+308"}} {
		if got := Number(tt.in); got != tt.want {
			t.Errorf("Number(%g) is %s, want %s", tt.in, got, tt.want)
		}
	}
	negative := 0.0
	if got := Number(-negative); got != "0" {
		t.Errorf("Number(-0) is %s", got)
	}
}

// TestWriteText cuts texts into pieces at every place of a character.
func TestWriteText(t *testing.T) {
	for _, part := range []string{"", "a", "\x00\b\n\x1f\x7f", `"\</a>&`, "\u2028\ufffd", "aä€😀"} {
		for n := range 7 {
			s := strings.Repeat("x", n) + strings.Repeat(part, 400)
			var b strings.Builder
			WriteText(&b, s)
			if want := string(AppendText(nil, s)); b.String() != want || TextSize(s) < len(want) {
				t.Errorf("%d and %q: %.100q of at most %d bytes, want %.100q", n, part, b.String(),
					TextSize(s), want)
			}
		}
	}
}
