package skill

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// plant creates files; a name that ends in / is a directory, and "a -> b" a link.
func plant(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		name, target, link := strings.Cut(name, " -> ")
		abs := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(abs), 0o755)
		switch {
		case err != nil:
		case link:
			err = os.Symlink(target, abs)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(abs, 0o755)
		default:
			err = os.WriteFile(abs, nil, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// find returns the matches of a pattern as relative paths, separated by spaces.
func find(t *testing.T, x *Executor, pattern string) string {
	t.Helper()
	r, err := x.Execute(t.Context(), &Session{}, Find{Path: ".", Pattern: pattern, Limit: 1000})
	if err != nil {
		t.Fatalf("%s: %v", pattern, err)
	}
	names := r.(Found).Matches
	for i, abs := range names {
		names[i], err = filepath.Rel(x.Dir(), abs)
		if err != nil {
			t.Fatal(err)
		}
	}
	return strings.Join(names, " ")
}

func TestFind(t *testing.T) {
	x, dir := open(t)
	plant(t, dir, "a.go", ".hidden.go", "b.txt", "src/a.go", "src/deep/a.go", "src/deep/x.txt", "empty/",
		"to-src -> src", "to-file -> b.txt", "broken -> nowhere", "out -> /etc", ".skill/journal")
	for _, tt := range []struct{ pattern, want string }{
		{"*.go", ".hidden.go a.go src/a.go src/deep/a.go"},
		{"a.go", "a.go src/a.go src/deep/a.go"},
		{"src/*.go", "src/a.go"},
		{"src/**/*.go", "src/a.go src/deep/a.go"},
		{"**/deep/*", "src/deep/a.go src/deep/x.txt"},
		{"deep", "src/deep"},
		{"deep/", "src/deep"},
		{"a.go/", ""},
		{"**/", ". empty src src/deep"},
		{"", ". empty src src/deep"},
		{".", ". empty src src/deep"},
		{"src/**/", "src src/deep"},
		{"to-*", "to-file to-src"},
		// a link that is named is followed, one on the way of ** is not
		{"to-src/*", "to-src/a.go to-src/deep"},
		{"to-*/", "to-src"},
		{"broke*", "broken"}, // a link to nothing matches a pattern, but not its name
		{"broken", ""},
		{"out/*", ""},
		{"*journal*", ""},
		{".skill/*", ""},
		{"[ab].*", "a.go b.txt src/a.go src/deep/a.go"},
		{"*.{go,txt}", ""},
		{"nothing", ""},
	} {
		if got := find(t, x, tt.pattern); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.pattern, got, tt.want)
		}
	}
}

// TestFindLeavesOut checks what Find skips, and that it reports it.
func TestFindLeavesOut(t *testing.T) {
	x, dir := open(t)
	plant(t, dir, "a.py", "b.txt", "src/c.py", "src/gen/d.py", "build/e.py", "src/build/f.py", "link -> src",
		".git/config", ".git/hooks/g.py", "sub/.git/config", ".gitignore")
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("gen\n/b.txt\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		find    Find
		want    string
		message string
	}{
		{Find{Pattern: "*.py"}, "a.py build/e.py src/build/f.py src/c.py src/gen/d.py",
			"5 matches below $; not searched: 2 .git, 1 linked folder"},
		{Find{Pattern: "*.py", Exclude: []string{"build"}}, "a.py src/c.py src/gen/d.py",
			"3 matches below $; not searched: 2 excluded, 2 .git, 1 linked folder"},
		{Find{Pattern: "*.py", Exclude: []string{"build/*", "[ac].*"}}, "src/build/f.py src/gen/d.py",
			"2 matches below $; not searched: 3 excluded, 2 .git, 1 linked folder"},
		{Find{Pattern: "*.py", Exclude: []string{"src/{gen,build}"}}, "a.py build/e.py src/c.py",
			"3 matches below $; not searched: 2 excluded, 2 .git, 1 linked folder"},
		{Find{Pattern: "*.py", Exclude: []string{"**/build/**", "s"}}, "a.py src/c.py src/gen/d.py",
			"3 matches below $; not searched: 2 excluded, 2 .git, 1 linked folder"},
		{Find{Pattern: "link/**/*.py", Exclude: []string{"build", "c.py"}}, "link/gen/d.py", ""},
		{Find{Pattern: "*.py", Exclude: []string{"*"}}, "",
			"0 matches below $; not searched: 7 excluded, 1 .git"},
		{Find{Pattern: "*.py", Exclude: []string{""}}, "a.py build/e.py src/build/f.py src/c.py src/gen/d.py",
			"5 matches below $; not searched: 2 .git, 1 linked folder"},
		{Find{Pattern: "*.[tp][xy]*", SkipIgnored: true}, "a.py build/e.py src/build/f.py src/c.py",
			"4 matches below $; not searched: 2 ignored by git, 2 .git, 1 linked folder"},
		{Find{Pattern: "*", Limit: 3}, ".gitignore a.py b.txt",
			"13 matches below $; not searched: 2 .git, 1 linked folder"},
		{Find{Pattern: "{a,c}.p{y,yc}", Braces: true}, "a.py src/c.py",
			"2 matches below $; not searched: 2 .git, 1 linked folder"},
		{Find{Pattern: "{a,c}.py"}, "", "0 matches below $; not searched: 2 .git, 1 linked folder"},
		{Find{Pattern: "config"}, "", "0 matches below $; not searched: 2 .git, 1 linked folder"},
		{Find{Pattern: ".git/config"}, ".git/config sub/.git/config",
			"2 matches below $; not searched: 1 linked folder"},
		{Find{Pattern: "*.py", Path: ".git"}, ".git/hooks/g.py", "1 match below $/.git"},
		{Find{Pattern: ".g*"}, ".gitignore", "1 match below $; not searched: 2 .git, 1 linked folder"},
	} {
		if tt.find.Path == "" {
			tt.find.Path = "."
		}
		r, err := x.Execute(t.Context(), &Session{}, tt.find)
		if err != nil {
			t.Errorf("%+v: %v", tt.find, err)
			continue
		}
		got := strings.ReplaceAll(strings.Join(r.(Found).Matches, " "), dir+"/", "")
		if got != tt.want {
			t.Errorf("%+v\n got %s\nwant %s", tt.find, got, tt.want)
		}
		if message := strings.ReplaceAll(r.Message(), dir, "$"); message != tt.message && tt.message != "" {
			t.Errorf("%+v: %s, want %s", tt.find, message, tt.message)
		}
	}
	for arg, find := range map[string]Find{
		"pattern": {Path: ".", Pattern: "/b"},
		"exclude": {Path: ".", Pattern: "a", Exclude: []string{"../x"}},
	} {
		var wrong *ArgError
		if _, err := x.Execute(t.Context(), &Session{}, find); !errors.As(err, &wrong) || wrong.Arg != arg {
			t.Errorf("%+v: %v", find, err)
		}
	}
}

// TestFindLikeRegexp compares Find with package regexp on random trees.
func TestFindLikeRegexp(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	parts := []string{"a", "b", "*", "?", "a*", "*b", "[ab]", "[!a]", "a.b", "**"}
	asRegexp := strings.NewReplacer("**/", "(.+/)?", "*", "[^/]*", "?", "[^/]", "[!", "[^/", ".", `\.`)
	for range 10 {
		x, dir := open(t)
		for range 25 {
			name := ""
			for range 1 + rng.IntN(4) {
				name += "/" + []string{"a", "b", "ab", "a.b", ".a", "c"}[rng.IntN(6)]
			}
			if os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755) == nil && rng.IntN(2) == 0 {
				os.WriteFile(filepath.Join(dir, name), nil, 0o644) // may be a folder already
			}
		}
		for range 25 {
			pattern := parts[rng.IntN(len(parts)-1)] // not ** at the end, which is there any file too
			for range rng.IntN(3) {
				pattern = parts[rng.IntN(len(parts))] + "/" + pattern
			}
			whole := regexp.MustCompile("^(.+/)?" + asRegexp.Replace(pattern) + "$")
			var want []string
			for _, name := range planted(t, dir) {
				if whole.MatchString(name) && name != "." {
					want = append(want, name)
				}
			}
			slices.Sort(want)
			if got := find(t, x, pattern); got != strings.Join(want, " ") {
				t.Fatalf("%s in %s\n got %s\nwant %s", pattern, planted(t, dir), got, strings.Join(want, " "))
			}
		}
	}
}

func planted(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		names = append(names, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestFindLimit checks how many matches beyond the limit are counted.
func TestFindLimit(t *testing.T) {
	x, dir := open(t)
	for i := range 150 {
		plant(t, dir, fmt.Sprintf("f%03d", i))
	}
	for _, tt := range []struct{ limit, matches, more int }{{0, 100, 50}, {149, 149, 1}, {150, 150, 0},
		{1000, 150, 0}} {
		r, err := x.Execute(t.Context(), &Session{}, Find{Path: ".", Pattern: "f*", Limit: tt.limit})
		if err != nil {
			t.Fatal(err)
		}
		if f := r.(Found); len(f.Matches) != tt.matches || f.More != tt.more ||
			f.Matches[0] != filepath.Join(dir, "f000") {
			t.Errorf("with limit %d: %d matches from %s and %d more", tt.limit, len(f.Matches),
				f.Matches[0], f.More)
		}
	}
}
