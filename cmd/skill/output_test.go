package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"textskill/skill"
	"textskill/testdata/needs"
)

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

// TestPrintDiffInColours sends a terminal the control characters of colours and no others.
func TestPrintDiffInColours(t *testing.T) {
	diff := "--- a\n+++ a\n@@ -1 +1 @@\n-\x1b]0;owned\a\n+new"
	want := "--- a\n+++ a\n\x1b[36m@@ -1 +1 @@\x1b[0m\n\x1b[31m-\\u001b]0;owned\\u0007\x1b[0m\n\x1b[32m+new\x1b[0m\n"
	for _, tt := range []struct{ noColour, want string }{{"", want},
		{"1", "--- a\n+++ a\n@@ -1 +1 @@\n-\\u001b]0;owned\\u0007\n+new\n"}} {
		var out strings.Builder
		c := &cli{console: console{stdout: &output{w: &out, terminal: true}, getenv: func(name string) string {
			return map[string]string{"NO_COLOR": tt.noColour}[name]
		}}}
		if err := c.printDiff(diff); err != nil || out.String() != tt.want {
			t.Errorf("NO_COLOR=%s: %q, %v", tt.noColour, out.String(), err)
		}
	}
}

// TestPrintHistoryInColours shows a change that has no effect faint, and controls in names as text.
func TestPrintHistoryInColours(t *testing.T) {
	var out strings.Builder
	c := &cli{console: console{stdout: &output{w: &out, terminal: true}, getenv: func(string) string { return "" }}}
	changes := skill.Changes{List: slices.Grow(skill.Changes{}.List, 3)[:3]}
	changes.List[1].Undone, changes.List[2].Idle = true, true
	if err := c.printHistory("3  write /w/b\x1b[2J\n2  write a (undone)\n1  touch a\n[more]", "/w", changes); err != nil || out.String() != "3  write b\\u001b[2J\n\x1b[2m2  write a (undone)\x1b[0m\n\x1b[2m1  touch a\x1b[0m\n[more]\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// A long line of a list of changes is broken between words.
func TestFitted(t *testing.T) {
	line := "12  2026-11-26 03:30:13  run rm a.txt; echo x >b: b and 1 more (claude-code Bash, session s1, undone)"
	want := "12  2026-11-26 03:30:13  run rm a.txt; echo x >b: b and 1 more (claude-code\n    Bash, session s1, undone)"
	if got := fitted(line, 80); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := fitted("a "+strings.Repeat("b", 90), 80); got != "a\n    "+strings.Repeat("b", 90) {
		t.Errorf("a long word becomes %q", got)
	}
}

// TestPaged shows a long text by the pager, and a short one without it.
func TestPaged(t *testing.T) {
	needs.Program(t, "sh", "sed")
	for _, tt := range []struct {
		pager string
		lines int
		want  string // before each line
	}{{"sed s/^/paged:/", 30, "paged:"}, {"sed s/^/paged:/", 20, ""}, {"cat", 30, ""},
		{"no-such-pager", 30, ""}, {"head -n 0", 100000, "-"}} {
		file, err := os.Create(filepath.Join(t.TempDir(), "terminal"))
		if err != nil {
			t.Fatal(err)
		}
		c := &cli{console: console{stdout: &output{w: file, terminal: true}, getenv: func(name string) string {
			return map[string]string{"PAGER": tt.pager}[name]
		}}}
		err = c.paged(func(c *console) error {
			_, err := fmt.Fprint(c.stdout, strings.Repeat("a\x1bb\n", tt.lines))
			return err
		})
		file.Close()
		want := strings.Repeat(tt.want+"a\\u001bb\n", tt.lines)
		if tt.want == "-" {
			want = ""
		}
		got, _ := os.ReadFile(file.Name())
		if err != nil || string(got) != want {
			t.Errorf("PAGER=%s, %d lines: %v, %.100q", tt.pager, tt.lines, err, got)
		}
	}
}

// TestFailureDoesNotWaitForAReader asks for the failures of an output that nobody reads.
func TestFailureDoesNotWaitForAReader(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	o := newOutput(w)
	go o.Write([]byte("xy"))
	r.Read(make([]byte, 1)) // the other byte waits
	if err := o.failure(); err != nil {
		t.Error(err)
	}
}

// TestPrintLine prints a short and a long line, to a terminal visibly.
func TestPrintLine(t *testing.T) {
	for _, n := range []int{1, 64 << 10} {
		for terminal, want := range map[bool]string{false: "a\x1b", true: `a\u001b`} {
			var b strings.Builder
			if err := printLine(&output{w: &b, terminal: terminal}, strings.Repeat("a\x1b", n)); err != nil ||
				b.String() != strings.Repeat(want, n)+"\n" {
				t.Errorf("%d, terminal %t: %v, %.100q", n, terminal, err, b.String())
			}
		}
	}
}
