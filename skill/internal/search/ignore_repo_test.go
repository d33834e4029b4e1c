package search

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"textskill/skill/internal/workspace"
	"textskill/testdata/needs"
)

// TestIgnoreSources checks which files of rules apply.
func TestIgnoreSources(t *testing.T) {
	for _, tt := range []struct {
		name  string
		plant []string // "home/" is the user's folder, "ws/" the workspace
		dir   string   // the folder that is walked
		want  string
	}{
		{"no repository", []string{"ws/.gitignore=a", "ws/a", "ws/d/a", "ws/d/b"}, "", ".gitignore d/ d/b"},
		{"no repository, from below",
			[]string{"ws/.gitignore=/d/a\nb", "ws/d/a", "ws/d/b", "ws/d/c"}, "d", "c"},
		{"a folder that is itself ignored", []string{"ws/.gitignore=d\n*.o", "ws/d/a", "ws/d/a.o"}, "d", "a"},
		{"a repository inside goes by its own",
			[]string{"ws/.git/HEAD", "ws/.gitignore=a\nb", "ws/sub/.git/HEAD", "ws/sub/.gitignore=c",
				"ws/sub/.git/info/exclude=d", "ws/a", "ws/sub/a", "ws/sub/c", "ws/sub/d"}, "",
			".gitignore sub/ sub/.gitignore sub/a"},
		{"above the repository nothing counts", []string{"ws/.gitignore=a", "ws/sub/.git/HEAD", "ws/sub/d/a"},
			"sub/d", "a"},
		{"the user's, by default", []string{"home/.config/git/ignore=a", "ws/a", "ws/b"}, "", "b"},
		{"the user's, named", []string{"home/.gitconfig=[Core]\n excludesfile=\"~/my rules\" ; c",
			"home/my rules=a", "home/.config/git/ignore=b", "ws/a", "ws/b"}, "", "b"},
		{"the user's, named twice", []string{"home/.config/git/config=[core]\nexcludesFile=~/x",
			"home/.gitconfig=[core] \n\texcludesFile = ~/y", "home/x=a", "home/y=b", "ws/a",
			"ws/b"}, "", "a"},
		{"the user's, none", []string{"home/.gitconfig=[core]\nexcludesFile=\n", "home/.config/git/ignore=a",
			"ws/a"}, "", "a"},
		{"the user's, included", []string{"home/.gitconfig=[include]\n\tpath = git/more\n[core]\n\texcludesFile = ~/x\n[Include]\n\tpath = ~/last\n", "home/git/more=[core]\nexcludesFile=~/y",
			"home/last=[include]\npath=last\n", "home/x=a", "home/y=b", "ws/a", "ws/b"}, "", "b"},
		{"anchored at the repository", []string{"home/.config/git/ignore=/a", "ws/sub/.git/HEAD", "ws/sub/a",
			"ws/sub/d/a", "ws/a"}, "sub", "d/ d/a"},
		{"the repository's, inside", []string{"ws/.git/config=[core]\nexcludesFile = lists/mine",
			"ws/lists/mine=a", "home/.config/git/ignore=b", "ws/a", "ws/b"}, "", "b lists/ lists/mine"},
		{"the repository's, outside", []string{"ws/.git/config=[core]\nexcludesFile = ../home/x", "home/x=a",
			"ws/a"}, "", "a"},
		{"a .git that leads on", []string{"ws/main/.git/worktrees/w/commondir=../..\n",
			"ws/main/.git/info/exclude=a", "ws/tree/.git=gitdir: ../main/.git/worktrees/w\n",
			"ws/tree/a", "ws/tree/b"}, "tree", "b"},
		{"a .git that leads out", []string{"home/info/exclude=a", "ws/.git=gitdir: ../home\n",
			"ws/a"}, "", "a"},
		{"a link is no file of rules", []string{"ws/.gitignore -> rules", "ws/rules=a", "ws/a"}, "",
			".gitignore a rules"},
		{"a folder is none", []string{"ws/.gitignore/x", "ws/a"}, "", ".gitignore/ .gitignore/x a"},
		{"last line wins", []string{"ws/.gitignore=*\n!b\n!d/\n", "ws/a", "ws/b", "ws/d/b", "ws/d/c"},
			"", "b d/ d/b"},
		{"above the workspace", []string{".git/HEAD", ".gitignore=a\n/ws/b\n", ".git/info/exclude=c",
			"ws/.gitignore=d", "ws/a", "ws/b", "ws/c", "ws/d", "ws/e/b", "ws/e/a"}, "",
			".gitignore e/ e/b"},
		{"above the workspace, from below", []string{".git/HEAD", ".gitignore=a\n/ws/e/b\n",
			"ws/.gitignore=c", "ws/e/a", "ws/e/b", "ws/e/c", "ws/e/d"}, "e", "d"},
		{"above, where the workspace is ignored", []string{".git/HEAD", ".gitignore=*", "ws/a"}, "", "a"},
		{"above, where the workspace is a repository",
			[]string{".git/HEAD", ".gitignore=a", "ws/.git/HEAD", "ws/a"}, "", "a"},
		{"what is in an ignored folder stays there", []string{"ws/.gitignore=d/\n!d/a\n", "ws/d/a"},
			"", ".gitignore"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home := gitHome(t)
			base := t.TempDir()
			plant(t, base, "ws/")
			for _, name := range tt.plant {
				if rest, ok := strings.CutPrefix(name, "home/"); ok {
					plant(t, home, rest)
				}
				plant(t, base, name)
			}
			w, err := workspace.Open(workspace.Options{Dir: filepath.Join(base, "ws")})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			got, _ := walked(t, w, filepath.Join(w.Dir(), tt.dir), WalkOptions{Ignore: true})
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got %s\nwant %s", strings.Join(got, " "), tt.want)
			}
		})
	}
}

// TestTracked compares a walk with git ls-files in a repository with tracked files that rules match.
// It walks from the top of the repository, and from a workspace below it.
func TestTracked(t *testing.T) {
	needs.InMemory(t)
	home := gitHome(t)
	plant(t, home, "mine=")
	rng := rand.New(rand.NewPCG(3, 4))
	kept := 0
	for i := range 300 / needs.Step(3) {
		dir := t.TempDir()
		git(t, dir, "", "init", "-q")
		all := randomTree(t, rng, dir)
		args := []string{"update-index", "--add", "--"}
		for _, name := range all {
			if fi, err := os.Lstat(filepath.Join(dir, name)); err == nil && fi.Mode().IsRegular() &&
				rng.IntN(3) == 0 {
				args = append(args, name)
			}
		}
		git(t, dir, "", args...)
		git(t, dir, "", "update-index", "--index-version", []string{"2", "4"}[i%2])
		want := slices.Compact(git(t, dir, "", "ls-files", "-co", "-z", "--exclude-standard"))
		untracked := git(t, dir, "", "ls-files", "-o", "-z", "--exclude-standard")
		kept += len(want) - len(untracked)
		ignored := git(t, dir, strings.Join(all, "\x00"), "check-ignore", "-z", "--stdin", "--no-index")
		for _, sub := range append([]string{""}, all...) {
			fi, err := os.Stat(filepath.Join(dir, sub))
			if err != nil || !fi.IsDir() || slices.Contains(ignored, sub) {
				continue
			}
			w, err := workspace.Open(workspace.Options{Dir: filepath.Join(dir, sub)})
			if err != nil {
				t.Fatal(err)
			}
			if w.Dir() == filepath.Join(dir, sub) { // not the target of a link
				if got, want := visited(t, w, w.Dir(), true), below(want, sub); !slices.Equal(got, want) {
					t.Fatalf("tree %d from %q\n got %q\nwant %q\n%s", i, sub, got, want,
						describe(t, dir, home))
				}
			}
			w.Close()
		}
	}
	if kept < 500/needs.Step(3) {
		t.Errorf("git tracked only %d files", kept)
	}
}

// below returns the names below a folder, relative to it.
func below(names []string, folder string) (list []string) {
	for _, name := range names {
		if rest, ok := strings.CutPrefix(name, folder+"/"); ok || folder == "" {
			list = append(list, cmp.Or(rest, name))
		}
	}
	return list
}

// TestIgnoreGlobalConfig checks that GIT_CONFIG_GLOBAL replaces the user's configuration.
func TestIgnoreGlobalConfig(t *testing.T) {
	home := gitHome(t)
	plant(t, home, ".gitconfig=[core]\n\texcludesFile = ~/mine\n", "mine=a",
		"other=[core]\n\texcludesFile = ~/theirs\n", "theirs=b")
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, "other"))
	w := open(t, false)
	repository(t, w.Dir())
	plant(t, w.Dir(), "a", "b")
	if got := visited(t, w, w.Dir(), true); !slices.Equal(got, []string{"a"}) {
		t.Errorf("got %q, want a", got)
	}
}

// TestIgnoreLarge finds the .gitignore in a folder of thousands of names.
func TestIgnoreLarge(t *testing.T) {
	gitHome(t)
	each(t, func(t *testing.T, w *workspace.Workspace) {
		for i := range 1200 {
			plant(t, w.Dir(), fmt.Sprintf("keep%04d", i),
				fmt.Sprintf("drop%04d%s", i, strings.Repeat("x", 30)))
		}
		plant(t, w.Dir(), ".gitignore=drop*", ".git/info/exclude=.gitignore")
		got, sum := walked(t, w, w.Dir(), WalkOptions{Ignore: true})
		if len(got) != 1200 || got[0] != "keep0000" || sum.Ignored != 1201 {
			t.Errorf("%d names from %s, %d ignored", len(got), got[0], sum.Ignored)
		}
	})
}

// TestConfig compares config with the output of git config.
func TestConfig(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"[core]\nexcludesFile = a b  \n", "a b"},
		{"[core] excludesfile=a;c", "a"},
		{"[CORE]\n\tEXCLUDESFILE = \"a ; b \" # c\n", "a ; b "},
		{"[core]\nexcludesFile = a\\\nb\n", "ab"},
		{"[core]\nexcludesFile = \"a\\\"b\\\\c\\tz\"\r\n", "a\"b\\c\tz"},
		{"; [core]\n[user]\nexcludesFile = no\n[core]\nexcludesFile = yes\n", "yes"},
		{"[core]\nbare\nexcludesFile = a\n[core \"x\"]\nexcludesFile = b", "a"},
		{"\ufeff[core]\nexcludesFile = a\nexcludesFile = b", "b"},
		{"[x][core]excludesFile = a", "a"},
		{"[x \"]\\\"\"][core]\nexcludesFile = a", "a"},
		{"[core]\nexcludesFile = \\\r\na", "a"},
		{"[core", ""},
		{"[core \"", ""},
		{"[", ""},
		{"excludesFile", ""},
	} {
		if got, _ := excludesFile(func(string, int64) []byte { return []byte(tt.text) }, "/config"); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

func FuzzIgnore(f *testing.F) {
	f.Add("a/**/[!b]*\n!/c\\ /", "a/x/y")
	f.Add("***/[[:alpha:]-]?", "b/a-")
	f.Fuzz(func(t *testing.T, text, path string) {
		parsed := (*rules)(nil).under([]byte(text), 0)
		name := path[strings.LastIndexByte(path, '/')+1:]
		parsed.ignored([]byte(path), []byte(name), true)
		excludesFile(func(string, int64) []byte { return []byte(text) }, "/config")
		escaped := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
		if strings.ContainsAny(path, "\x00\n\r") || strings.Trim(path, "/ \t") != path || path == "" ||
			strings.Contains(path, "//") || path != filepath.Clean(path) {
			return
		}
		if !(*rules)(nil).under([]byte("/"+escaped), 0).ignored([]byte(path), []byte(name), false) {
			t.Errorf("/%s does not match %q", escaped, path)
		}
	})
}
