package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"textskill/testdata/needs"
)

// In a linked worktree and in a submodule git reads the repository that it shares, and a command that would change it is told what
// allows that. A file .git that a command could have written opens nothing.
func TestLinkedWorktree(t *testing.T) {
	needs.Program(t, "git")
	viewedRunner(t, Config{}) // skips where there are no views
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", t.TempDir())
	for _, line := range []string{"git init -q main", "git -C main -c user.name=a -c user.email=b commit -q --allow-empty -m first",
		"git -C main worktree add -q ../linked", "git init -q lib; git -C lib -c user.name=a -c user.email=b commit -q --allow-empty -m lib",
		"git -C main -c protocol.file.allow=always submodule add -q ../lib sub; mkdir -p crafted; echo gitdir: ../main/.git/modules/sub > crafted/.git", "mkdir -p secret/worktrees/x other/w/worktrees/x; echo s > secret/key",
		"echo gitdir: $PWD/secret/worktrees/x > other/.git; echo $PWD/elsewhere/.git > secret/worktrees/x/gitdir",
		"mkdir own; echo gitdir: $PWD/own/w/worktrees/x > own/.git; mkdir -p own/w/worktrees/x; echo $PWD/own/.git > own/w/worktrees/x/gitdir; echo $PWD/secret > own/w/worktrees/x/commondir"} {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = top
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
	}
	run := func(dir, script string) Executed {
		x := newRunner(t, filepath.Join(top, dir), Config{Helper: self(t)})
		return mustExec(t, x, sh(script))
	}
	if got := run("linked", "git status -s && git log --format=%s"); string(got.Stdout) != "first\n" {
		t.Errorf("%s%s %q", got.Stdout, got.Stderr, got.Hints)
	}
	got := run("linked", "echo 2 > a; git add a && git -c user.name=a -c user.email=b commit -qm 2")
	if hints := strings.Join(got.Hints, "\n"); !got.Failed() || !strings.Contains(hints, "--allow "+top+"/main/.git lets them") {
		t.Errorf("%s%s %q", got.Stdout, got.Stderr, got.Hints)
	}
	if hints := strings.Join(got.Hints, "\n"); strings.Contains(hints, "--allow-config") {
		t.Errorf("%q", got.Hints)
	}
	if got := run("main/sub", "git status -s && git log --format=%s"); string(got.Stdout) != "lib\n" {
		t.Errorf("%s%s %q", got.Stdout, got.Stderr, got.Hints)
	}
	got = run("main/sub", "git -c user.name=a -c user.email=b commit --allow-empty -qm 2")
	if hints := strings.Join(got.Hints, "\n"); !got.Failed() || !strings.Contains(hints, "--allow "+top+"/main/.git/modules/sub lets them") {
		t.Errorf("%s%s %q", got.Stdout, got.Stderr, got.Hints)
	}
	if got := run("crafted", "cat ../main/.git/modules/sub/config"); !got.Failed() {
		t.Errorf("crafted: %s", got.Stdout)
	}
	for _, dir := range []string{"other", "own"} {
		if got := run(dir, "cat ../secret/key"); !got.Failed() {
			t.Errorf("%s: %s", dir, got.Stdout)
		}
	}
	if _, err := os.Stat(top + "/main/.git/index.lock"); err == nil {
		t.Error("a lock is left")
	}
}
