package search

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"textskill/skill/internal/workspace"
)

// findNames returns the paths that a pattern finds, without the folder before them.
func findNames(t *testing.T, w *workspace.Workspace, dir, text string, o FindOptions) (string, Names) {
	t.Helper()
	g, err := ParseBraces(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	names, err := Find(t.Context(), w, filepath.Join(w.Dir(), dir), g, o)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return strings.ReplaceAll(strings.Join(names.Paths, " "), w.Dir()+"/", ""), names
}

func TestFind(t *testing.T) {
	each(t, func(t *testing.T, w *workspace.Workspace) {
		plant(t, w.Dir(), "a.go", "s/b.go", "s/t/c.go", "s/t/d.py", "l -> s", "s/m -> t", "s/loop -> ..",
			"gone -> nowhere", "f -> a.go", "o -> /etc", "s/.git/e.go")
		for _, tt := range []struct{ dir, text, want string }{
			{"", "*.go", "a.go s/b.go s/t/c.go"},
			{"", "{*.go,a*}", "a.go s/b.go s/t/c.go"},
			{"", "{s/*,l/*,l/t/*}.go", "l/b.go l/t/c.go s/b.go"},
			{"", "m/*.{go,py}", "s/m/c.go s/m/d.py"},
			{"", "l/m/*.go", "l/m/c.go"},
			{"", "l/**/*.go", "l/b.go l/t/c.go"},
			{"", "l/.git/*", "l/.git/e.go"},
			{"", "s/loop/s/loop/a.go", "s/loop/s/loop/a.go"},
			{"", "{l,gone,f,o}", "f l"}, // o leads outside and counts as dangling
			{"", "{l,gone,f,o,s}/", "l s"},
			{"", "[lgf]*", "f gone l s/loop"},
			{"l", "*.go", "l/b.go l/t/c.go"},
			{"s/m", "**/", "s/m"},
			{"s/m", "**", "s/m s/m/c.go s/m/d.py"},
			{"", "o/*", ""},
		} {
			if got, _ := findNames(t, w, tt.dir, tt.text, FindOptions{}); got != tt.want {
				t.Errorf("%s in %q\n got %s\nwant %s", tt.text, tt.dir, got, tt.want)
			}
		}
		if _, err := Find(t.Context(), w, filepath.Join(w.Dir(), "a.go"), Glob{}, FindOptions{}); err == nil {
			t.Error("a file is searched")
		}
	})
}

// TestFindLimit checks that the limit keeps the first paths in order.
func TestFindLimit(t *testing.T) {
	w := open(t, false)
	var want []string
	for i := range 3000 {
		name := fmt.Sprintf("d%d/f%04d", i%3, i)
		plant(t, w.Dir(), name)
		want = append(want, name)
	}
	slices.Sort(want)
	for _, limit := range []int{1, 10, 2999, 3000, 4000} {
		got, names := findNames(t, w, "", "f*", FindOptions{Limit: limit})
		n := min(limit, 3000)
		if got != strings.Join(want[:n], " ") || names.More != 3000-n {
			t.Errorf("limit %d: %d paths and %d more", limit, len(names.Paths), names.More)
		}
	}
}
