package main

import "testing"

func TestVisibleControls(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"plain é 世界 👩‍💻\n\ttab\r\n", "plain é 世界 👩‍💻\n\ttab\r\n"},
		{"", ""},
		{"\x1b[31m\x07\x00\x08", `\u001b[31m\u0007\u0000\u0008`},
		{"a\rb\r", `a\u000db\u000d`},
		{"\x7f \u009b2J \u0085", `\u007f \u009b2J \u0085`},
		{"\x9b2J \xff\xc3", `\x9b2J \xff\xc3`},
		{"\u202egpj.exe \u2066 \u200f", `\u202egpj.exe \u2066 \u200f`},
	} {
		if got := string(visibleControls([]byte(tt.text))); got != tt.want {
			t.Errorf("visibleControls(%q)\n got %s\nwant %s", tt.text, got, tt.want)
		}
	}
}
