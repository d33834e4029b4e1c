package llmfallback

import (
	"strings"
	"testing"
)

func TestMask(t *testing.T) {
	long := strings.Repeat("long ", 20)
	tests := []struct {
		prompt, wire string
		texts        []string
	}{
		{"create a.txt with content hello", "create a.txt with content hello", nil},
		{"create a.txt content: hello there", "create a.txt content: [[T1]]", []string{"hello there"}},
		{"create a.txt CONTENT :\n  two\n lines \n", "create a.txt CONTENT :\n  [[T1]] \n",
			[]string{"two\n lines"}},
		{"create a.txt with the following text: x", "create a.txt with the following text: [[T1]]",
			[]string{"x"}},
		{"save it to a.txt\r\none\r\ntwo\r\n", "save it to a.txt\r\n[[T1]]\r\n", []string{"one\r\ntwo"}},
		{"\n\nread a.txt\n\n", "\n\nread a.txt\n\n", nil},
		{"put ```x``` in a.txt", "put [[T1]] in a.txt", []string{"x"}},
		{"put in a.py\n```py\nprint(1)\n```\n", "put in a.py\n[[T1]]\n", []string{"print(1)\n"}},
		{"put in a.py\n```py\nx\n```\nand\n```\ny\n```", "put in a.py\n[[T1]]",
			[]string{"```py\nx\n```\nand\n```\ny\n```"}},
		{"write \"" + long + "\" to \"a.txt\"", "write [[T1]] to \"a.txt\"", []string{long}},
		{"write \"" + long + "\" to a.txt\nbye", "write [[T1]] to a.txt\n[[T2]]", []string{long, "bye"}},
		{"write \"a\nb\" to a.txt", "write [[T1]] to a.txt", []string{"a\nb"}},
		{"what is [[T1]] content: x", "what is [[T1]] content: [[TA1]]", []string{"x"}},
		{"discontent: a", "discontent: a", nil},
		{"content:", "content:", nil},
	}
	for _, tt := range tests {
		m := mask(tt.prompt)
		if m.wire != tt.wire || strings.Join(m.texts, "|") != strings.Join(tt.texts, "|") {
			t.Errorf("%q\n got %q %q\nwant %q %q", tt.prompt, m.wire, m.texts, tt.wire, tt.texts)
		}
	}
}

func TestRestore(t *testing.T) {
	m := mask("x content: [[T1]] $1 \\n")
	for s, want := range map[string]string{
		"":                  "",
		"[[TA1]]":           "[[T1]] $1 \\n",
		"a[[TA1]]b[[TA1]]":  "a[[T1]] $1 \\nb[[T1]] $1 \\n",
		"[[TA2]] [[TA0]]":   "[[TA2]] [[TA0]]",
		"[[TA01]] [[TA1":    "[[TA01]] [[TA1",
		"[[TA-1]] [[TA 1]]": "[[TA-1]] [[TA 1]]",
	} {
		if got, _ := m.restore(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

// Hidden text comes back byte for byte, and the rest of the prompt is sent
// as it stands.
func FuzzMask(f *testing.F) {
	for _, seed := range []string{"a content: b", "a\nb", "```\nx\n```", "[[T1]]\n[[TA",
		"\"" + strings.Repeat("q", 99) + "\" x", "'a\nb' ```c", "\xff\nß"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		m := mask(prompt)
		back, times := m.restore(m.wire)
		for i, n := range times {
			if n != 1 {
				t.Fatalf("%q: text %d stands %d times in %q", prompt, i+1, n, m.wire)
			}
		}
		// A fence around a text, or the quotes, do not come back.
		at := 0
		for _, text := range m.texts {
			n := strings.Index(prompt[at:], text)
			if n < 0 {
				t.Fatalf("%q: %q is not part of it", prompt, text)
			}
			at += n + len(text)
		}
		if len(m.texts) == 0 && back != prompt {
			t.Fatalf("%q is sent as %q", prompt, back)
		}
		if _, rest, _ := strings.Cut(strings.TrimLeft(m.wire, " \t\r\n"), "\n"); strings.TrimSpace(rest) != "" &&
			!strings.HasPrefix(strings.TrimSpace(rest), m.prefix) {
			t.Fatalf("%q: a later line leaves in %q", prompt, m.wire)
		}
		answer := "x" + m.prefix + "1]]y"
		if got, _ := m.restore(answer); len(m.texts) > 0 && got != "x"+m.texts[0]+"y" {
			t.Fatalf("%q: %q", prompt, got)
		}
	})
}
