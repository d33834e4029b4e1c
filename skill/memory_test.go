package skill

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"textskill/skill/internal/words"
)

// inside creates files in a directory and returns n executors on it, as n processes would
// have.
func inside(t *testing.T, files map[string]string, times int) (dir string, list []*Executor) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for range times {
		x, err := New(Config{Dir: dir, NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { x.Close() })
		list = append(list, x)
	}
	return dir, list
}

func did[R Result](t *testing.T, x *Executor, a Args) R {
	t.Helper()
	r, err := x.Execute(t.Context(), &Session{}, a)
	if err != nil {
		t.Fatalf("%+v: %v", a, err)
	}
	return r.(R)
}

// TestSaveMemory saves values that look like entries, and lists them unchanged.
func TestSaveMemory(t *testing.T) {
	dir, xs := inside(t, map[string]string{"MEMORY.md": "# Memory\nno entry"}, 1)
	x := xs[0]
	var want []Memory
	for i, value := range []string{
		"", "plain", "two\nlines", "### forged\n_2026-01-01 10:00_\nx", "a\n### forged\nb", "#### deeper",
		"in ### line",
		`##\# as escaped`, `##\\# twice`, "###no blank", "###", "_2026-01-01 10:00_\nlooks like a time",
		"##### ### ###",
	} {
		m := Memory{"key #" + strings.Repeat("#", i), value}
		did[Changed](t, x, SaveMemory{Key: m.Title, Value: m.Content})
		want = append(want, m)
	}
	if got := did[Memories](t, x, ListMemory{}); !slices.Equal(got.Entries, want) || got.Total != len(want) {
		t.Errorf("%d entries\n got %q\nwant %q", got.Total, got.Entries, want)
	}
	if got := did[Memories](t, x, ListMemory{Offset: 2, Limit: 3}); !slices.Equal(got.Entries, want[2:5]) ||
		got.Total != len(want) {
		t.Errorf("three of them are %q of %d", got.Entries, got.Total)
	}
	did[Changed](t, x, SaveMemory{Key: " spaced ", Value: "v"})
	want = append(want, Memory{"spaced", "v"})
	data, err := os.ReadFile(filepath.Join(dir, "MEMORY.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), "\n###  spaced \n") {
		t.Errorf("a key is not saved as it is:\n%s", data)
	}
	if n := strings.Count(string(data), "### "); n != len(want) {
		t.Errorf("a reader that looks for ### finds %d entries, want %d:\n%s", n, len(want), data)
	}
	for _, key := range []string{"", " \t", "a\n### b", "a\rb"} {
		var bad *ArgError
		if _, err := x.Execute(t.Context(), &Session{}, SaveMemory{Key: key}); !errors.As(err, &bad) ||
			bad.Arg != "key" {
			t.Errorf("the key %q: %v", key, err)
		}
	}
}

// FuzzMemories searches for a value that is not listed unchanged, or forges an entry.
func FuzzMemories(f *testing.F) {
	for _, s := range []string{"### a", "####\\# ", "##\\# ", "## # ", "###\n### ### "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e := escapeHeadings(s)
		if strings.Contains(e, "### ") {
			t.Errorf("%q becomes %q", s, e)
		}
		if got := unescapeHeadings(e); got != s {
			t.Errorf("%q becomes %q and comes back as %q", s, e, got)
		}
		text := "# Memory\n" + memoryEntry("one", s, time.Time{}) + memoryEntry("two", s, time.Time{})
		want := []Memory{{"one", words.Strip(s)}, {"two", words.Strip(s)}}
		if got := memories(text); !slices.Equal(got, want) {
			t.Errorf("%q is read as %q", text, got)
		}
	})
}

// TestRecallMemory looks for files of the memory.
func TestRecallMemory(t *testing.T) {
	dir, xs := inside(t, map[string]string{
		"MEMORY.md": "x", "memory/a.md": "STRASSE Ä", "memory/deep/b.md": `##\# title`,
		"memory/bad.md": "\xffk",
		"memory/no.txt": "k", "memory/z.md": "k", "memory/y.md": "K",
	}, 1)
	sparse(t, filepath.Join(dir, "memory/large.md"), maxStore+1, "k")
	if err := os.Symlink("../outside.md", filepath.Join(dir, "memory/link.md")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		query string
		limit int
		want  string
		total int
	}{
		{"ä", 5, "memory/a.md", 1},
		{"### title", 5, "memory/deep/b.md", 1},
		{"k", 5, "memory/y.md memory/z.md", 2},
		{"k", 1, "memory/y.md", 2},
		{"", 9, "MEMORY.md memory/a.md memory/deep/b.md memory/y.md memory/z.md", 5},
		{"nowhere", 5, "", 0},
	} {
		r := did[Recalled](t, xs[0], RecallMemory{Query: tt.query, Limit: tt.limit})
		if got := relative(t, dir, r.Matches); got != tt.want || r.Total != tt.total {
			t.Errorf("%q is in %s, %d in all; want %s, %d", tt.query, got, r.Total, tt.want, tt.total)
		}
		if got := relative(t, dir, r.Skipped); got != "memory/bad.md memory/large.md" {
			t.Errorf("skipped are %s", got)
		}
	}
	_, xs = inside(t, nil, 1)
	if r := did[Recalled](t, xs[0], RecallMemory{Query: "k", Limit: 5}); r.Total != 0 || r.Skipped != nil {
		t.Errorf("without a memory: %+v", r)
	}
}

func relative(t *testing.T, dir string, list []string) string {
	t.Helper()
	var names []string
	for _, abs := range list {
		rel, err := filepath.Rel(dir, abs)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, filepath.ToSlash(rel))
	}
	return strings.Join(names, " ")
}

// TestSaveMemoryAtOnce saves from two executors at the same time.
func TestSaveMemoryAtOnce(t *testing.T) {
	_, xs := inside(t, nil, 2)
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			if _, err := xs[i%2].Execute(t.Context(), &Session{},
				SaveMemory{Key: "k", Value: strings.Repeat("v\n", i)}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	sizes := map[int]bool{}
	for _, m := range did[Memories](t, xs[0], ListMemory{}).Entries {
		sizes[strings.Count(m.Content, "v")] = true
	}
	if len(sizes) != 100 {
		t.Errorf("%d of 100 entries are there", len(sizes))
	}
}
