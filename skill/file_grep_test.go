package skill

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"textskill/skill/internal/search"
)

func grepIn(t *testing.T, x *Executor, a Grep) Grepped {
	t.Helper()
	r, err := x.Execute(t.Context(), &Session{}, a)
	if err != nil {
		t.Fatalf("%+v: %v", a, err)
	}
	return r.(Grepped)
}

func TestGrep(t *testing.T) {
	x, dir := open(t)
	for name, text := range map[string]string{
		"s/m.py":  "import os\n\ndef main():\n    x = 1\n    return x\n\ndef helper(a):\n    return a\n",
		"s/n.txt": "def not python\n",
		"crlf":    "one\r\nTWO\r\n",
	} {
		abs := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(abs), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(abs, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		args Grep
		want string
	}{
		{Grep{Path: "s", Pattern: `def\s+\w+`},
			`s/m.py:3 "def main():" s/m.py:7 "def helper(a):" s/n.txt:1 "def not python"`},
		{Grep{Path: "s/m.py", Pattern: "return x", Context: 2},
			`s/m.py:5 "    return x" 3 ["def main():" "    x = 1" "    return x" "" "def helper(a):"]`},
		{Grep{Path: "s/m.py", Pattern: "import", Context: 1}, `s/m.py:1 "import os" 1 ["import os" ""]`},
		{Grep{Path: "s/n.txt", Pattern: "def", Context: 50},
			`s/n.txt:1 "def not python" 1 ["def not python" ""]`},
		{Grep{Path: "s/n.txt", Pattern: "^$"}, `s/n.txt:2 ""`},
		{Grep{Path: "s/n.txt", Pattern: "^$", NoLast: true}, ""},
		{Grep{Path: "s/n.txt", Pattern: "def", Context: 50, NoLast: true},
			`s/n.txt:1 "def not python" 1 ["def not python"]`},
		{Grep{Path: "s/n.txt", Pattern: "pyt", MaxLine: 5, Excerpt: true}, `s/n.txt:1 " pyth"`},
		{Grep{Path: "s", Pattern: "main()", Literal: true}, `s/m.py:3 "def main():"`},
		{Grep{Path: ".", Pattern: "two$", FoldCase: true}, `crlf:2 "TWO\r"`},
		{Grep{Path: "s", Pattern: "def", MaxLine: 5, Limit: 1}, `s/m.py:3 "def m" and 2 more`},
		{Grep{Path: "s", Pattern: "zzz"}, ""},
		{Grep{Path: "s", Pattern: `a\nb`}, ""},
	} {
		g := grepIn(t, x, tt.args)
		var got []string
		for _, m := range g.Matches {
			name, err := filepath.Rel(dir, m.File)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%s:%d %q", filepath.ToSlash(name), m.Line, m.Text))
			if m.Context != nil {
				got = append(got, fmt.Sprintf("%d %q", m.From, m.Context))
			}
		}
		if g.More > 0 {
			got = append(got, fmt.Sprintf("and %d more", g.More))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%+v\n got %s\nwant %s", tt.args, strings.Join(got, " "), tt.want)
		}
	}
}

func TestGrepRefuses(t *testing.T) {
	x, dir := open(t)
	plant(t, dir, "f", "out -> /etc")
	for _, tt := range []struct {
		args Grep
		want string
	}{
		{Grep{Path: "f", Pattern: "foo(?=baz)"},
			"pattern is not a regular expression in RE2 syntax: invalid or unsupported Perl syntax: (?= (there is no lookaround)"},
		{Grep{Path: "f", Pattern: "x", Context: -1}, "context is less than 0"},
		{Grep{Path: "f", Pattern: "x", Limit: -1}, "limit is less than 0"},
		{Grep{Path: "none", Pattern: "x"}, "stat " + filepath.Join(dir, "none") +
			": no such file or directory"},
		{Grep{Path: "out", Pattern: "x"}, filepath.Join(dir, "out") + " is outside the workspace " + dir},
		{Grep{Path: "../x", Pattern: "x"}, filepath.Join(filepath.Dir(dir), "x") +
			" is outside the workspace " + dir},
	} {
		if r, err := x.Execute(t.Context(), &Session{}, tt.args); err == nil || err.Error() != tt.want {
			t.Errorf("%+v: %v, %v, want %s", tt.args, r, err, tt.want)
		}
	}
}

func TestGrepMessage(t *testing.T) {
	x, dir := open(t)
	plant(t, dir, "a", ".git/", "out", "sub/", "link -> sub")
	for name, text := range map[string]string{".gitignore": "out\n", "sub/a": "x\nx\n", "bin": "x\x00"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		args Grep
		want string
	}{
		{Grep{Path: ".", Pattern: "x"}, "2 matching lines in 4 files of " + dir +
			"; not searched: 1 binary, 1 .git, 1 linked folder"},
		{Grep{Path: ".", Pattern: "x", Limit: 1, SkipIgnored: true}, "2 matching lines in 3 files of " + dir +
			"; 1 is given: ask for a larger limit or in a smaller folder; not searched: 1 binary, 1 ignored by git, 1 .git, 1 linked folder"},
		{Grep{Path: "sub/a", Pattern: "^$"}, "1 matching line in 1 file of " + filepath.Join(dir, "sub/a")},
	} {
		if got := grepIn(t, x, tt.args).Message(); got != tt.want {
			t.Errorf("%+v\n got %s\nwant %s", tt.args, got, tt.want)
		}
	}
}

// TestGrepKeepsTheFirst adds matches in random order and expects the first ones.
func TestGrepKeepsTheFirst(t *testing.T) {
	x, dir := open(t)
	for i := range 300 {
		text := strings.Repeat("needle\n", 1+i%7)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%03d", i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	all := grepIn(t, x, Grep{Path: ".", Pattern: "needle", Limit: 1 << 30})
	if len(all.Matches) != 1197 || all.More != 0 || all.Searched != 300 {
		t.Fatalf("%d matches, %d more, %d files", len(all.Matches), all.More, all.Searched)
	}
	same := func(a, b Match) bool { return a.File == b.File && a.Line == b.Line && a.Text == b.Text }
	if !slices.IsSortedFunc(all.Matches, func(a, b Match) int { return strings.Compare(a.File, b.File) }) {
		t.Error("they are not in order")
	}
	for _, limit := range []int{1, 2, 10, 100, 1000, 1196, 1197} {
		some := grepIn(t, x, Grep{Path: ".", Pattern: "needle", Limit: limit})
		if !slices.EqualFunc(some.Matches, all.Matches[:limit], same) || some.More != 1197-limit {
			t.Errorf("limit %d: %d matches, %d more", limit, len(some.Matches), some.More)
		}
	}
	size := all.Matches[0].bytes()
	f := &firstMatches{limit: 1000, room: 10*size + size/2, maxLine: 100}
	for i := 99; i >= 0; i-- {
		f.add(fmt.Sprintf("%s/f%03d", dir, i), []search.Line{{Number: 1, Text: []byte("needle")}})
	}
	if got := f.sorted(); len(got) != 10 || got[9].File != filepath.Join(dir, "f009") {
		t.Errorf("in the room of 10: %d, up to %s", len(got), got[len(got)-1].File)
	}
}
