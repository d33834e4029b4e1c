//go:build linux || darwin

package skill

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"textskill/skill/internal/process"
	"textskill/testdata/needs"
)

// movable makes a workspace with what no snapshot keeps: a large file, what git ignores, a repository, a
// pipe, and a cache.
func movable(t *testing.T) (*Executor, string) {
	dir := t.TempDir()
	fill(t, dir, map[string]string{
		"big": strings.Repeat("large ", 20_000), "a": "alpha", "old/in/f": "f",
		"old/in/big": strings.Repeat("other ", 20_000), "twice/big": strings.Repeat("twice ", 20_000),
		".gitignore": "node_modules\n*.log\n", "app/i.js": "let i\n", "app/node_modules/x/y": "y",
		"app/lib/l.js": "let l\n", "app/out.log": "log",
		"repo/.git/config": "[core]\n", "repo/.git/HEAD": "ref", "repo/.git/hooks/h": "h", "repo/r": "r",
		"repo/d/s": "s",
		"py/p.py":  "p", "py/__pycache__/p.pyc": "pyc", "other/o": "o", ".git/HEAD": "ref",
		".git/config": "[core]\n",
	})
	err := errors.Join(syscall.Mkfifo(filepath.Join(dir, "old/pipe"), 0o600),
		os.Link(filepath.Join(dir, "twice/big"), filepath.Join(dir, "twice/2")))
	if err != nil {
		t.Fatal(err)
	}
	return newExecutor(t, Config{Dir: dir, NoSync: true, SnapshotBytes: 100 << 10, AllowConfig: true}), dir
}

// TestTrackedMoved moves what no snapshot keeps. Undo leaves it, the answer to the command says so, nothing
// of it is lost, and the redo makes what the command made.
func TestTrackedMoved(t *testing.T) {
	needs.InMemory(t)
	for line, stays := range map[string]string{
		"mv big huge":                                              "huge",
		"mv big huge; echo more >> huge":                           "huge",
		"mkdir data; mv big data/; chmod 600 data/big":             "data/big",
		"mv big other/huge; echo new > big":                        "other/huge",
		"mv big a":                                                 "a",
		"mv big t; mv old/in/big big; mv t old/in/big":             "big",
		"mv repo fork; echo more >> fork/r; rm -r fork/d":          "fork/.git",
		"mkdir -p n/e; mv repo n/e/repo; echo x > n/e/repo/.git/i": "n/e/repo/.git",
		"mv repo fork; mkdir repo; echo x > repo/r":                "fork/.git",
		"rm a; mkdir a; mv repo a/repo":                            "a",
		"mv app web; mkdir app; mv web/i.js app/":                  "web/out.log",
		"mkdir new; mv app/node_modules new/":                      "new/node_modules",
		"mv app/node_modules new; echo x > new/z":                  "new",
		"mv old n; mv n/in/big n/":                                 "n/big",
		"mv old/in aaa; mv old/pipe zoo; rm -r old; echo x > old":  "zoo",
		"mv py pkg":                        "pkg/__pycache__",
		"mv .git .git.bak":                 ".git.bak",
		"mv app t; mv repo app; mv t repo": "repo/node_modules",
		"mkdir -p sub/repo; echo repo >> sub/.gitignore; mv repo s2": "s2/.git",
		"mv twice once":             "once/big",
		"mv twice/big t1; rm a":     "t1",
		"ln big twice/3; mv big t2": "t2",
	} {
		t.Run(line, func(t *testing.T) {
			x, dir := movable(t)
			e := shell(t, x, line)
			if e.Undo == "" && !strings.Contains(e.CannotUndo(), filepath.Join(dir, stays)+": ") {
				t.Errorf("NotUndoable is %q, want %s in it", e.NotUndoable, stays)
			}
			after := pictured(t, dir)
			redo := ""
			if e.Undo != "" {
				redo = undoes(t, x, e.Undo)
			}
			now := pictured(t, dir)
			for _, content := range []string{"large large ", "other other ", "twice twice ",
				`/y -rw-r--r-- "y"`, `/HEAD -rw-r--r-- "ref"`, `out.log -rw-r--r-- "log"`,
				`/h -rw-r--r-- "h"`, `p.pyc -rw-r--r-- "pyc"`, " prw"} {
				if !strings.Contains(now, content) {
					t.Errorf("undo lost %q of\n%s", content, now)
				}
			}
			if redo == "" {
				return
			}
			undoes(t, x, redo)
			if now := pictured(t, dir); now != after {
				t.Errorf("redo left\n%s\nwant\n%s", now, after)
			}
		})
	}
}

// TestTrackedNotMoved makes what may get the number of something that was removed.
func TestTrackedNotMoved(t *testing.T) {
	x, dir := movable(t)
	e := shell(t, x, "rm -r app/node_modules big; mkdir new n2; echo x > new/x; echo y > y")
	undoes(t, x, e.Undo)
	if now := pictured(t, dir); strings.Contains(now, "new") || strings.Contains(now, "n2") ||
		strings.Contains(now, `y -rw-r--r-- "y\n"`) {
		t.Errorf("undo left\n%s", now)
	}
}

// TestTrackedMovedByOther has another call move what no snapshot keeps while a command runs. The command's answer
// does not name it, and the move can be undone.
func TestTrackedMovedByOther(t *testing.T) {
	for from, to := range map[string]string{"big": "other/huge", "repo": "fork", "app": "web"} {
		x, dir := movable(t)
		before := pictured(t, dir)
		c, err := x.process.Track(t.Context(), "quick", func(*process.Runner) error {
			carried(t, x, MoveFile{Source: from, Dest: to})
			return nil
		})
		if err != nil || c.Undo != "" || c.NotUndoable != nil {
			t.Errorf("%s: %+v, %v", from, c, err)
		}
		undone := carried(t, x, Undo{}).(Reverted)
		if now := pictured(t, dir); now != before || undone.Changes[0].Passed != nil {
			t.Errorf("%s: %s left\n%s\nwant\n%s", from, undone.Message(), now, before)
		}
	}
}
