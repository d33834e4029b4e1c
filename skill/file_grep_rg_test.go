package skill

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// asRipgrep are the atoms of random patterns. cr says that it matches the CR of a CRLF, which here
// is a character of its line, and for rg it is not.
var asRipgrep = []struct {
	text string
	cr   bool
}{
	{text: "a"}, {text: "b"}, {text: "é"}, {".", true}, {text: "[a-c]"}, {"[^a]", true}, {text: "a*"},
	{text: "(a|bc)"}, {text: "b+?"},
	{text: "x{2}"}, {"^", true}, {text: "$"}, {text: " "}, {text: "(?i:B)"}, {text: `\x{65E5}`}, {text: `\.`},
	{text: `\w`}, {text: `\d`},
	{text: `\b`}, {`\s`, true}, {text: `\pL`}, {text: `[[:upper:]]`}, {`\W`, true}, {text: `\S`},
}

// TestGrepAsRipgrep finds the same lines as rg in random trees, for random patterns.
func TestGrepAsRipgrep(t *testing.T) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		t.Skip("needs rg, to compare with: install ripgrep")
	}
	x, top := open(t)
	rng := rand.New(rand.NewPCG(11, 12))
	found := 0
	for i := range often(30, 300) {
		dir, end := filepath.Join(top, fmt.Sprint(i)), []string{"\n", "\r\n"}[i%4/3]
		for n := range 1 + rng.IntN(6) {
			at := filepath.Join(dir, []string{"a", "d/b", "d/e/c", ".h", "f g", "é"}[n])
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(at, randomContent(rng, end), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for range 4 {
			pattern := ""
			for range 1 + rng.IntN(4) {
				if atom := asRipgrep[rng.IntN(len(asRipgrep))]; end == "\n" || !atom.cr {
					pattern += atom.text
				}
			}
			if pattern == "" || strings.Contains(pattern, "$^") { // which for rg is no empty line
				continue
			}
			got, want := linesFound(t, x, dir, pattern), linesOfRipgrep(t, rg, dir, pattern, end == "\r\n")
			if found += len(want); !slices.Equal(got, want) {
				t.Errorf("tree %d, %s\n got %q\nwant %q\n%s", i, pattern, got, want, show(dir))
			}
		}
	}
	if found < often(100, 1000) {
		t.Errorf("only %d lines were found", found)
	}
}

// randomContent returns a file: mostly text, or UTF-16, or binary.
func randomContent(rng *rand.Rand, end string) []byte {
	// and no combining marks: they are letters for rg, and not for Python
	words := []string{"a", "b", "ab", "bc", "xx", "é", "É", "B", "日本", ".", " ", "\t", "1", "_", "-"}
	text := ""
	for range rng.IntN(12) {
		for range rng.IntN(5) {
			text += words[rng.IntN(len(words))]
		}
		text += end
	}
	if rng.IntN(3) == 0 {
		text = strings.TrimSuffix(text, end)
	}
	switch rng.IntN(12) {
	case 0:
		return []byte("\ufeff" + text)
	case 1:
		return utf16le("\ufeff" + text)
	case 2:
		return []byte("\x00" + text)
	}
	return []byte(text)
}

func utf16le(text string) (out []byte) {
	for _, r := range text {
		out = append(out, byte(r), byte(r>>8))
	}
	return out
}

// linesFound returns what Grep finds, as FILE:LINE.
func linesFound(t *testing.T, x *Executor, dir, pattern string) (list []string) {
	t.Helper()
	for _, m := range grepIn(t, x, Grep{Path: dir, Pattern: pattern, NoLast: true, Limit: 100_000}).Matches {
		rel, err := filepath.Rel(dir, m.File)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%s:%d", filepath.ToSlash(rel), m.Line))
	}
	slices.Sort(list)
	return list
}

// linesOfRipgrep returns what rg finds in files that it does not call binary.
func linesOfRipgrep(t *testing.T, rg, dir, pattern string, crlf bool) (list []string) {
	t.Helper()
	args := []string{"--no-config", "--json", "--hidden", "--no-ignore", "-e", pattern, "."}
	if crlf {
		args = append([]string{"--crlf"}, args...)
	}
	c := exec.Command(rg, args...)
	c.Dir = dir
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if c.ProcessState.ExitCode() > 1 {
		t.Fatalf("rg %s: %v\n%s", pattern, err, said.Bytes())
	}
	var file []string
	for line := range bytes.Lines(out) {
		var event struct {
			Type string
			Data struct {
				Path   struct{ Text string }
				Line   int  `json:"line_number"`
				Binary *int `json:"binary_offset"`
			}
		}
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatal(err)
		}
		switch event.Type {
		case "match":
			file = append(file, fmt.Sprintf("%s:%d", strings.TrimPrefix(event.Data.Path.Text, "./"),
				event.Data.Line))
		case "end":
			if event.Data.Binary == nil {
				list = append(list, file...)
			}
			file = nil
		}
	}
	slices.Sort(list)
	return list
}

// show returns what the files of a folder hold.
func show(dir string) string {
	var b strings.Builder
	_ = filepath.WalkDir(dir, func(p string, _ os.DirEntry, _ error) error {
		if data, err := os.ReadFile(p); err == nil {
			fmt.Fprintf(&b, "%s %q\n", p, data)
		}
		return nil
	})
	return b.String()
}
