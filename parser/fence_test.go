package parser_test

import (
	"strings"
	"testing"

	"textskill/parser"
)

func TestFenced(t *testing.T) {
	tests := []struct {
		text, inside, after string
		ok                  bool
	}{
		{"```\nx\n```", "x\n", "", true},
		{"\n \n```text\nx\n\n```\n", "x\n\n", "", true},
		{"\ufeff~~~ any `info`\r\nx\r\n~~~\r\nSure!\r\n", "x\r\n", "Sure!\r\n", true},
		{"````\n```\nx\n```\n````", "```\nx\n```\n", "", true},
		{"```\nx\n```js\ny\n```\nz\n```", "x\n```js\ny\n```\nz\n", "", true},
		{"```\n~~~\nx\n```", "~~~\nx\n", "", true},
		{"```\nx\n    ```\n```", "x\n    ```\n", "", true},
		{"```\nx\n ``` \n", "x\n", "", true},
		{"```\n```", "", "", true},

		{"x", "", "", false},
		{"x\n```\ny\n```", "", "", false},
		{"```\nx", "", "", false},
		{"```", "", "", false},
		{"```js\nx\n```js\ny\n```", "", "", false},
		{"```\nx\n```\n```\ny\n```", "", "", false},
		{"```\nx\n```\ny\n```", "", "", false},
		{"``\nx\n``", "", "", false},
		{"```x```\ny\n```", "", "", false},
		{"", "", "", false},
	}
	for _, tt := range tests {
		b, ok := parser.Fenced(tt.text)
		if b.Inside != tt.inside || b.After != tt.after || ok != tt.ok {
			t.Errorf("Fenced(%q)\n got %+v %t\nwant %q %q %t", tt.text, b, ok, tt.inside, tt.after, tt.ok)
		}
		if lines := strings.SplitAfterN(tt.text, "\n", max(b.Line, 1)); ok && !strings.HasPrefix(lines[b.Line-1], b.Inside) {
			t.Errorf("Fenced(%q) begins on line %d", tt.text, b.Line)
		}
	}
}
