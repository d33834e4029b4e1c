package search

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"textskill/skill/internal/workspace"
	"textskill/testdata/needs"
)

// repository makes an empty git repository in a folder.
func repository(t *testing.T, dir string) {
	t.Helper()
	plant(t, dir, ".git/HEAD=ref: refs/heads/main\n", ".git/objects/", ".git/refs/", ".git/info/exclude")
}

// gitHome points git's user configuration to an empty folder.
func gitHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_CONFIG_GLOBAL", "") // so that the test restores it
	os.Unsetenv("GIT_CONFIG_GLOBAL")
	return home
}

// git runs git in a folder and returns the names that it prints, sorted.
func git(t *testing.T, dir, stdin string, args ...string) []string {
	t.Helper()
	needs.Program(t, "git")
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code > 1 || err != nil && code < 0 {
		t.Fatalf("git %s in %s: %v\n%s", args, dir, err, errs.Bytes())
	}
	names := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	slices.Sort(names)
	return slices.DeleteFunc(names, func(s string) bool { return s == "" })
}

// TestIgnoreLikeGit compares walks of random trees with random rules to the files that git does not
// ignore.
func TestIgnoreLikeGit(t *testing.T) {
	needs.InMemory(t)
	home := gitHome(t)
	plant(t, home, ".gitconfig=[core]\n\texcludesFile = ~/mine # ours\n")
	rng := rand.New(rand.NewPCG(7, 8))
	w := open(t, false)
	ignored := 0
	for i := range 1000 / needs.Step(3) {
		dir := filepath.Join(w.Dir(), fmt.Sprint(i))
		repository(t, dir)
		plant(t, home, "mine="+randomRules(rng, 1))
		plant(t, dir, ".git/info/exclude="+randomRules(rng, 1))
		all := randomTree(t, rng, dir)
		var want []string
		if i%2 == 0 {
			want = git(t, dir, "", "ls-files", "-o", "-z", "--exclude-standard")
		} else {
			out := git(t, dir, strings.Join(all, "\x00"), "check-ignore", "-z", "--stdin", "--no-index")
			want = slices.DeleteFunc(slices.Clone(all),
				func(name string) bool { return slices.Contains(out, name) })
		}
		got := visited(t, w, dir, i%2 == 0)
		ignored += len(all) - len(got)
		if !slices.Equal(got, want) {
			t.Fatalf("tree %d\n got %q\nwant %q\n%s", i, got, want, describe(t, dir, home))
		}
		if len(all) == 0 {
			continue
		}
		sub := all[rng.IntN(len(all))]
		if fi, err := os.Lstat(filepath.Join(dir, sub)); err == nil && fi.IsDir() &&
			slices.Contains(got, sub) {
			if got, want := visited(t, w, filepath.Join(dir, sub), i%2 == 0), below(want, sub); !slices.Equal(got, want) {
				t.Fatalf("tree %d from %s\n got %q\nwant %q\n%s", i, sub, got, want, describe(t, dir, home))
			}
		}
	}
	if ignored < 1000/needs.Step(3) {
		t.Errorf("only %d names were ignored", ignored)
	}
}

// visited returns the names that a walk with Ignore visits.
func visited(t *testing.T, w *workspace.Workspace, dir string, files bool) []string {
	t.Helper()
	paths, _ := walked(t, w, dir, WalkOptions{Ignore: true})
	if files {
		paths = slices.DeleteFunc(paths, func(p string) bool { return strings.HasSuffix(p, "/") })
	}
	for i := range paths {
		paths[i] = strings.TrimSuffix(paths[i], "/")
	}
	slices.Sort(paths)
	return paths
}

// randomTree makes files, folders and .gitignore files and returns their names.
func randomTree(t *testing.T, rng *rand.Rand, dir string) []string {
	t.Helper()
	letters := []string{"a", "b", "ab", "aab", "a.b", ".a", "a b", "a ", "é", "[a]", "#a", "!a", "a\\b",
		"{a,b}", "B", "1", "-", "a*", "x\ty"}
	dirs := []string{""}
	for range 4 + rng.IntN(12) {
		name := dirs[rng.IntN(len(dirs))] + letters[rng.IntN(len(letters))]
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			continue
		}
		switch rng.IntN(9) {
		case 0, 1, 2:
			dirs = append(dirs, name+"/")
			plant(t, dir, name+"/")
		case 3:
			plant(t, dir, name+" -> "+letters[rng.IntN(len(letters))])
		default:
			plant(t, dir, name)
		}
	}
	for _, d := range dirs {
		if rng.IntN(3) > 0 {
			rules := filepath.Join(dir, d, ".gitignore")
			if err := os.WriteFile(rules, []byte(randomRules(rng, []int{3, 3, 25}[rng.IntN(3)])), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return everything(t, dir)
}

func everything(t *testing.T, dir string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(abs string, d fs.DirEntry, err error) error {
		if d.Name() == ".git" {
			return fs.SkipDir
		}
		if abs != dir {
			all = append(all, strings.TrimPrefix(abs, dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// randomRules returns random lines of a .gitignore.
func randomRules(rng *rand.Rand, most int) string {
	atoms := []string{"a", "a", "b", "b", "*", "*", "?", "**", "/", "/", "/**", "**/", "***/", ".", "é",
		"[ab]", "[!a]", "[^b]", "[a-c]", "[[:alpha:]]", "[[:punct:]1]",
		"[é]", "[]a]", "[", "]", "[a-", `\`, `\a`, `\*`, `\[`, `[\]a]`, "!", "#", " ", `\ `, "\t", "\r",
		"{a,b}", "-", "B", "1", "[!-]", "[[:nope:]]", "[[:a]", `\/`}
	var b strings.Builder
	for range rng.IntN(most + 1) {
		if rng.IntN(4) == 0 {
			b.WriteByte('!')
		}
		for range 1 + rng.IntN(5) {
			b.WriteString(atoms[rng.IntN(len(atoms))])
		}
		if rng.IntN(4) == 0 {
			b.WriteByte('/')
		}
		if rng.IntN(12) > 0 {
			b.WriteString("\n")
		}
	}
	return b.String()
}

// describe shows all rules of a folder.
func describe(t *testing.T, dir, home string) string {
	t.Helper()
	var b strings.Builder
	for _, name := range append(everything(t, dir), ".git/info/exclude", home+"/mine") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if data, err := os.ReadFile(name); err == nil && len(data) > 0 {
			fmt.Fprintf(&b, "%s: %q\n", name, data)
		}
	}
	return b.String()
}
