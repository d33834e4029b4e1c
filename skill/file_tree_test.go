package skill

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func listTree(t *testing.T, x *Executor, a ListTree) TreeListed {
	t.Helper()
	r, err := x.Execute(t.Context(), &Session{}, a)
	if err != nil {
		t.Fatalf("%+v: %v", a, err)
	}
	return r.(TreeListed)
}

// outline returns a tree as one line: directories end in /, with their entries in brackets.
func outline(t *Tree) string {
	var parts []string
	for _, e := range t.Entries {
		part := e.Name
		if e.Folder {
			part += "/"
		}
		if e.Denied {
			part += "!"
		}
		if len(e.Entries) > 0 {
			part += "(" + outline(e) + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}

func TestListTree(t *testing.T) {
	x, dir := open(t)
	plant(t, dir, "b.txt", "A.txt", "dir/x", "dir/in/y", "Zoo/", "link -> dir", "file -> b.txt",
		"broken -> nowhere", "out -> /etc", "loop -> .", ".skill/journal")
	for _, tt := range []struct {
		depth int
		want  string
	}{
		{0, "dir/ link/ loop/ Zoo/ A.txt b.txt broken file out"},
		{1, "dir/ link/ loop/ Zoo/ A.txt b.txt broken file out"},
		{2, "dir/(in/ x) link/(in/ x) loop/(dir/ link/ loop/ Zoo/ A.txt b.txt broken file out) Zoo/ A.txt b.txt broken file out"},
	} {
		got := listTree(t, x, ListTree{Path: ".", Depth: tt.depth})
		if outline(got.Tree) != tt.want || got.Path != dir || got.Cut {
			t.Errorf("depth %d of %s\n got %s %t\nwant %s", tt.depth, got.Path, outline(got.Tree),
				got.Cut, tt.want)
		}
	}
	if got := listTree(t, x, ListTree{Path: "dir", Depth: 9}); outline(got.Tree) != "in/(y) x" {
		t.Errorf("got %s", outline(got.Tree))
	}
}

// TestListTreeGit checks that .git is listed only if Path is in it.
func TestListTreeGit(t *testing.T) {
	x, dir := open(t)
	plant(t, dir, "a", ".git/refs/heads/main", "sub/.git")
	for path, want := range map[string]string{".": ".git/ sub/(.git) a", ".git": "refs/(heads/(main))",
		".git/refs": "heads/(main)"} {
		if got := listTree(t, x, ListTree{Path: path, Depth: 9}); outline(got.Tree) != want {
			t.Errorf("%s: %s, want %s", path, outline(got.Tree), want)
		}
	}
}

// TestListTreeLimit checks the limit for large trees, and for those that a link makes endless.
func TestListTreeLimit(t *testing.T) {
	x, dir := open(t)
	plant(t, dir, "a/1", "a/2", "b/3", "loop -> .")
	for _, tt := range []struct {
		limit int
		want  string
		cut   bool
	}{
		{2, "a/ b/", true},
		{3, "a/ b/ loop/", true},
		{5, "a/(1 2) b/ loop/", true},
		{6, "a/(1 2) b/(3) loop/", true},
	} {
		got := listTree(t, x, ListTree{Path: ".", Depth: 2, Limit: tt.limit})
		if outline(got.Tree) != tt.want || got.Cut != tt.cut {
			t.Errorf("limit %d\n got %s %t\nwant %s %t", tt.limit, outline(got.Tree), got.Cut,
				tt.want, tt.cut)
		}
	}
	if got := listTree(t, x, ListTree{Path: "loop", Depth: 1000, Limit: 100}); !got.Cut {
		t.Error("an endless tree is not cut")
	}
	for i := range 20 {
		plant(t, dir, fmt.Sprintf("wide/%d", i))
	}
	if got := listTree(t, x, ListTree{Path: "wide", Limit: 20}); got.Cut || len(got.Tree.Entries) != 20 {
		t.Errorf("a folder of the limit's size: %d entries, cut %t", len(got.Tree.Entries), got.Cut)
	}
}

// TestListTreeCounts lists without what git ignores: links are named and not followed, and
// what is below the levels that are listed is counted only where it is little.
func TestListTreeCounts(t *testing.T) {
	x, dir := open(t)
	plant(t, dir, "a/b/c", "link -> a", "file -> a/b/c", ".gitignore")
	if err := os.WriteFile(filepath.Join(dir, "a/b/c"), []byte("12345"), 0o644); err != nil {
		t.Fatal(err)
	}
	a := ListTree{Path: ".", Depth: 1, SkipIgnored: true}
	got := listTree(t, x, a)
	if outline(got.Tree) != "a/ link/ .gitignore file" || !got.Tree.Entries[1].Link ||
		got.Tree.Entries[3].Size != 5 {
		t.Errorf("got %s, %+v", outline(got.Tree), got.Tree.Entries[1])
	}
	if got.Files != 4 || got.Folders != 2 || got.Uncounted {
		t.Errorf("%+v", got)
	}
	for i := range maxCounted {
		plant(t, dir, fmt.Sprintf("a/b/%d/x", i))
	}
	if got = listTree(t, x, a); got.Files != 3 || got.Folders != 1 || !got.Uncounted {
		t.Errorf("%+v", got)
	}
	a.Depth = 4
	if got = listTree(t, x, a); got.Files != 4+maxCounted || got.Folders != 2+maxCounted || got.Uncounted {
		t.Errorf("%+v", got)
	}
}
