package dialect

import (
	"strings"
	"testing"
)

func TestShownText(t *testing.T) {
	bar := strings.Repeat("downloading 10%\rdownloading 20%\r", 500) + "done\x1b[K\n"
	for _, tt := range []struct{ text, want string }{
		{"plain\r\ntext\n", "plain\r\ntext\n"},
		{"\x1b[31mred\x1b[0m\x1b[K and \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x1b]0;title\atext\x1b(B\n",
			"red and link text\n"},
		{"10%\r20%\r100%\n", "100%\n"},
		{"long line\rshort\n", "shortline\n"}, // as the terminal shows it
		{"long line\r\x1b[Kshort\n", "short\n"},
		{"long line\x1b[2K\rshort\n", "short\n"},
		{bar, "done\n"},
		{"ab\b\bcd\n", "cd\n"},
		{"a 1\nb 1\n\x1b[2Aa 2\nb 2\nc\n", "a 2\nb 2\nc\n"},
		{"a\nb\x1b[1A\x1b[J\n", "a\n"},
		{"gone\x1b[2J\x1b[Hhere", "here"},
		{"x\x1b[3Cy\x1b[1GX\n", "X   y\n"},
		{"\x1b[?25lhidden\x1b[?25h\r\n", "hidden\n"},
		{"\x1b[999999999Cx", strings.Repeat(" ", 1000) + "x"},
		{"é\r\xff\x1b", "\ufffd"},
		{"\x1b[31", ""},
		{"\x1b[2é", "é"},
		{"\x1b", ""},
		{"a\rb\r", "b"},
	} {
		if got := shownText(tt.text); got != tt.want {
			t.Errorf("%q\n got %q\nwant %q", tt.text, got, tt.want)
		}
	}
}

func FuzzShownText(f *testing.F) {
	f.Add("a\x1b[2A\x1b[K\rb\b\x1b]0;t\a\x1b[5G\x1b[1J")
	f.Fuzz(func(t *testing.T, text string) {
		if got := shownText(text); strings.ContainsAny(got, "\x1b\b") {
			t.Errorf("%q shows %q", text, got)
		}
	})
}
