package search

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"textskill/skill/internal/workspace"
)

// grepped returns FILE:NUMBER:TEXT of what Grep finds, sorted.
func grepped(t *testing.T, w *workspace.Workspace, path, expr string, o WalkOptions) ([]string, Grepped) {
	t.Helper()
	p, err := Compile(expr, PatternOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var found []string
	sum, err := Grep(t.Context(), w, filepath.Join(w.Dir(), path), p, GrepOptions{WalkOptions: o},
		func(file string, lines []Line) {
			mu.Lock()
			defer mu.Unlock()
			for _, line := range lines {
				rel := strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(file, w.Dir())), "/")
				found = append(found, fmt.Sprintf("%s:%d:%s", rel, line.Number, line.Text))
			}
		})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found, sum
}

func TestGrep(t *testing.T) {
	each(t, func(t *testing.T, w *workspace.Workspace) {
		plant(t, w.Dir(), "a=needle\nno\nneedle 2", "d/b=x needle\r\n", "d/e/f=nothing", "bin=needle\x00",
			".git/config=needle", ".x=needle",
			"l -> a", "up -> ..", "dir -> d", "broken -> none", ".skill/journal=needle", "empty=",
			"ig/.gitignore=out", "ig/out=x", "ig/seen=x")
		if err := os.Symlink(filepath.Join(w.Dir(), "d/b"), filepath.Join(w.Dir(), "d/abs")); err != nil {
			t.Fatal(err)
		}
		const all = ".x:1:needle a:1:needle a:3:needle 2 d/abs:1:x needle\r d/b:1:x needle\r l:1:needle l:3:needle 2"
		for _, tt := range []struct {
			path, expr string
			o          WalkOptions
			want       string
			searched   int
			binary     int
		}{
			{"", "needle", WalkOptions{}, all, 10, 1},
			{"", "needle$", WalkOptions{}, strings.ReplaceAll(strings.ReplaceAll(all, " a:3:needle 2", ""),
				" l:3:needle 2", ""), 10, 1},
			{"", "needle", WalkOptions{Git: true}, ".git/config:1:needle " + all, 11, 1},
			{"d", "needle", WalkOptions{}, "d/abs:1:x needle\r d/b:1:x needle\r", 3, 0},
			{"a", "needle", WalkOptions{}, "a:1:needle a:3:needle 2", 1, 0},
			{"l", "needle", WalkOptions{}, "l:1:needle l:3:needle 2", 1, 0},
			{".git/config", "needle", WalkOptions{}, ".git/config:1:needle", 1, 0},
			{"bin", "needle", WalkOptions{}, "", 0, 1},
			{"empty", "^$", WalkOptions{}, "empty:1:", 1, 0},
			{"d/b", "^$", WalkOptions{}, "d/b:2:", 1, 0},
			{"", "zzz", WalkOptions{}, "", 10, 1},
			{"", "needle", WalkOptions{Ignore: true}, all, 9, 1},
			{"ig", "x", WalkOptions{Ignore: true}, "ig/seen:1:x", 2, 0},
			{"ig", "x", WalkOptions{}, "ig/out:1:x ig/seen:1:x", 3, 0},
		} {
			found, sum := grepped(t, w, tt.path, tt.expr, tt.o)
			if got := strings.Join(found, " "); got != tt.want {
				t.Errorf("%s in %s\n got %s\nwant %s", tt.expr, tt.path, got, tt.want)
			}
			if sum.Count != len(found) || sum.Searched != tt.searched || sum.Binary != tt.binary ||
				sum.Unreadable != 0 {
				t.Errorf("%s in %s: %+v", tt.expr, tt.path, sum)
			}
		}
		p, err := Compile("x", PatternOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"none", "up", "a/b", "broken", ".skill/journal", "../x"} {
			if _, err := Grep(t.Context(), w, filepath.Join(w.Dir(), path), p, GrepOptions{}, nil); err == nil {
				t.Errorf("%s is searched", path)
			}
		}
	})
}

// TestGrepTree searches many files, one of them large, and compares the result with a search line
// by line.
func TestGrepTree(t *testing.T) {
	each(t, func(t *testing.T, w *workspace.Workspace) {
		var want []string
		for i := range 500 {
			text := strings.Repeat(fmt.Sprintf("line of %d\n", i), i%40) + "x needle"
			if i == 77 {
				text = strings.Repeat("some text of a large file\n", 9<<20/26) + text
			}
			name := fmt.Sprintf("d%d/f%d", i%13, i)
			plant(t, w.Dir(), name+"="+text)
			want = append(want, fmt.Sprintf("%s:%d:x needle", name, strings.Count(text, "\n")+1))
		}
		slices.Sort(want)
		got, sum := grepped(t, w, "", "needle", WalkOptions{})
		if !slices.Equal(got, want) || sum != (Grepped{Count: 500, Searched: 500}) {
			t.Errorf("%d lines, %+v", len(got), sum)
		}
	})
}

func TestGrepCancelled(t *testing.T) {
	each(t, func(t *testing.T, w *workspace.Workspace) {
		for i := range 100 {
			plant(t, w.Dir(), fmt.Sprintf("d%d/f=needle", i))
		}
		p, err := Compile("needle", PatternOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		_, err = Grep(ctx, w, w.Dir(), p, GrepOptions{}, func(string, []Line) { cancel() })
		if err != context.Canceled {
			t.Error(err)
		}
	})
}

func TestAround(t *testing.T) {
	const text = "one\ntwo\r\n\nfour\nfive"
	for _, tt := range []struct {
		text, line string
		n          int
		before     []string
		after      []string
	}{
		{text, "one", 0, nil, nil},
		{text, "one", 1, nil, []string{"two\r"}},
		{text, "two\r", 5, []string{"one"}, []string{"", "four", "five"}},
		{text + "\n", "two\r", 5, []string{"one"}, []string{"", "four", "five", ""}},
		{text, "four", 2, []string{"two\r", ""}, []string{"five"}},
		{text, "five", 9, []string{"one", "two\r", "", "four"}, nil},
		{text + "\n", "five", 1, []string{"four"}, []string{""}},
		{"x", "x", 3, nil, nil},
	} {
		at := int64(strings.Index(tt.text, tt.line))
		before, after, err := Around(strings.NewReader(tt.text), at, len(tt.line), tt.n, 10)
		if !slices.Equal(before, tt.before) || !slices.Equal(after, tt.after) || err != nil {
			t.Errorf("%d around %q in %q: %q and %q, %v", tt.n, tt.line, tt.text, before, after, err)
		}
	}
	long := strings.Repeat("a", 30_000)
	far := long + "\n" + long + "\nx\n" + long + "\n" + strings.Repeat("b", 2*maxAround) + "\nend"
	before, after, err := Around(strings.NewReader(far), 60_002, 1, 3, 2)
	if strings.Join(before, " ") != "aa aa" || strings.Join(after, " ") != "aa" || err != nil {
		t.Errorf("%q and %q, %v", before, after, err)
	}
}
