package patch

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"textskill/testdata/needs"
)

// TestDiffsOfGit makes diffs of random edits by git. They lead to the edited text; on a text
// that somebody else has edited besides, they keep all the lines of both, or are refused.
func TestDiffsOfGit(t *testing.T) {
	needs.Program(t, "git")
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	n := 0
	fresh := func() string { n++; return fmt.Sprintf("%snew %d\n", strings.Repeat(" ", r.IntN(4)), n) }
	edited := func(lines []string) []string {
		lines = slices.Clone(lines)
		for range 1 + r.IntN(4) {
			from := r.IntN(len(lines) + 1)
			with := make([]string, r.IntN(3))
			for i := range with {
				with[i] = fresh()
			}
			lines = slices.Replace(lines, from, min(len(lines), from+r.IntN(3)), with...)
		}
		return lines
	}
	words := []string{"{\n", "}\n", "\n", "  return x\n", "end\n", "x = 1\n"}
	applied, refused := 0, 0
	for range 300 {
		var lines []string
		for range 1 + r.IntN(60) {
			if r.IntN(2) == 0 {
				lines = append(lines, words[r.IntN(len(words))])
			} else {
				lines = append(lines, fresh())
			}
		}
		theirs := edited(lines)
		before, after := strings.Join(lines, ""), strings.Join(theirs, "")
		for name, text := range map[string]string{"a": before, "b": after} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c := exec.Command("git", "diff", "--no-index", "a", "b")
		c.Dir = dir
		out, _ := c.Output() // it ends with 1 where there is a difference
		if len(out) == 0 {
			continue
		}
		sections, err := Parse(string(out))
		if err != nil || len(sections) != 1 {
			t.Fatalf("%v of\n%s", err, out)
		}
		if got, notes, err := Apply(before, sections[0].Hunks); got != after || len(notes) > 0 || err != nil {
			t.Fatalf("%v %q of\n%s\nto\n%s\n got %q\nwant %q", err, notes, out, before, got, after)
		}
		ours := edited(lines)
		got, _, err := Apply(strings.Join(ours, ""), sections[0].Hunks)
		if err != nil {
			refused++
			continue
		}
		applied++
		for _, line := range ours { // a new line is there once
			if strings.Contains(line, "new") && !slices.Contains(lines, line) &&
				strings.Count(got, line) != 1 {
				t.Errorf("%q is lost of\n%s\nto\n%s\n got %q", line, out, strings.Join(ours, ""), got)
			}
		}
		for _, line := range theirs {
			if strings.Contains(line, "new") && !slices.Contains(lines, line) && strings.Count(got, line) != 1 {
				t.Errorf("%q did not come of\n%s\nto\n%s\n got %q", line, out, strings.Join(ours, ""), got)
			}
		}
	}
	t.Logf("on other texts %d applied, %d refused", applied, refused)
}

// FuzzApply holds a patch to what it says: a text changes by the lines of its hunks only.
func FuzzApply(f *testing.F) {
	f.Add("a\nb\n", "*** Begin Patch\n*** Update File: a\n@@\n-a\n+c\n*** End Patch")
	f.Add("  a\n  b", "--- a\n+++ a\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n")
	f.Add("x\r\n", "*** Begin Patch\n*** Update File: a\n@@ x\n+y\n*** End of File\n*** End Patch\n")
	f.Fuzz(func(t *testing.T, text, patch string) {
		sections, err := Parse(patch)
		if err != nil {
			return
		}
		for _, s := range sections {
			after, _, err := Apply(text, s.Hunks)
			if err != nil {
				continue
			}
			want := len(split(strings.TrimPrefix(text, "\ufeff")))
			for _, h := range s.Hunks {
				for _, l := range h.Lines {
					switch l.Mark {
					case '+':
						want++
					case '-':
						want--
					}
				}
			}
			if got := len(split(strings.TrimPrefix(after, "\ufeff"))); got > want || got < want-len(s.Hunks) {
				t.Errorf("%q of %q has %d lines, not %d", after, text, got, want)
			}
		}
	})
}

// TestManyHunks applies a patch with very many hunks.
func TestManyHunks(t *testing.T) {
	var text, want, patch bytes.Buffer
	patch.WriteString("*** Begin Patch\n*** Update File: a\n")
	for i := range 50_000 {
		fmt.Fprintf(&text, "line %d\n}\n", i)
		fmt.Fprintf(&want, "Line %d\n}\n", i)
		fmt.Fprintf(&patch, "@@\n-line %d\n+Line %d\n }\n", i, i)
	}
	patch.WriteString("*** End Patch\n")
	start := time.Now()
	sections, err := Parse(patch.String())
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := Apply(text.String(), sections[0].Hunks)
	if took := time.Since(start); err != nil || got != want.String() || took > 20*time.Second {
		t.Errorf("%v after %v, %d bytes", err, took, len(got))
	}
}

// TestAround has what models put around a patch.
func TestAround(t *testing.T) {
	const text = "*** Begin Patch\n*** Update File: a\n@@\n-  one\n+  two\n \n*** End Patch"
	want, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	indented := "  " + strings.ReplaceAll(strings.ReplaceAll(text, "\n \n", "\n\n"), "\n", "\n  ")
	for _, around := range []string{
		`"` + text + `"`, "'" + text + "'", "`" + text + "`", "\"\"\"" + text + "\"\"\"\n",
		"\"" + text + "\n\"", strconv.Quote(text),
		indented, "Here:\n\n" + indented + "\nDone.", "    ```\n" + indented + "\n    ```",
		strings.ReplaceAll(indented, "  ", "\t"),
	} {
		if got, err := Parse(around); err != nil || len(got) != 1 || got[0].Path != "a" ||
			len(got[0].Hunks) != 1 || got[0].Hunks[0].Lines[0].Text == "" {
			t.Errorf("%q: %+v, %v, want %+v", around, got, err, want)
		}
	}
	for _, whole := range []string{" *** Begin Patch\n*** Add File: a\n+  *** x\n*** End Patch", text} {
		if got := unwrapped(whole); got != whole {
			t.Errorf("%q became %q", whole, got)
		}
	}
}
