//go:build linux || darwin

package skill

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"textskill/skill/internal/workspace"
	"textskill/testdata/needs"
)

// shell runs shell code, which must succeed, and returns the result.
func shell(t *testing.T, x *Executor, line string) Executed {
	t.Helper()
	needs.Shell(t)
	r, err := x.Execute(t.Context(), &Session{}, Exec{Command: "/bin/sh", Args: []string{"-c", line}})
	if err != nil {
		t.Fatal(err)
	}
	e := r.(Executed)
	if e.ExitCode != 0 {
		t.Fatalf("%q exited with %d: %s", line, e.ExitCode, e.Stderr)
	}
	return e
}

// undoes undoes a change and returns the id of the undo.
func undoes(t *testing.T, x *Executor, id string) string {
	t.Helper()
	r, err := x.Execute(t.Context(), &Session{}, Undo{ID: id})
	if err != nil {
		t.Fatalf("undo %s: %v", id, err)
	}
	return r.(Reverted).UndoID()
}

// pictured returns a description of all files in a directory, without .skill: their types,
// permissions, contents and link targets.
func pictured(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() == workspace.StateDir {
			return fs.SkipDir
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		line := fmt.Sprintf("%s %v", rel, info.Mode())
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %q", data)
		case info.Mode().Type() == fs.ModeSymlink:
			target, _ := os.Readlink(name)
			line += " -> " + target
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// fill creates files with the given contents.
func fill(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		plant(t, dir, name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTrackedOneByOne runs one command at a time: undo restores the state before it, and
// undoing that the state after it.
func TestTrackedOneByOne(t *testing.T) {
	tests := map[string]string{
		"create":                  "echo new > new",
		"create in a new folder":  "mkdir -p n/e/w; echo new > n/e/w/f; ln -s f n/e/w/l",
		"an empty folder":         "mkdir -m 700 n",
		"write":                   "echo more > a",
		"append":                  "echo more >> sub/b",
		"truncate":                ": > a",
		"delete":                  "rm a",
		"delete a tree":           "rm -r sub",
		"permissions of a file":   "chmod 600 a",
		"permissions of a folder": "chmod 700 sub",
		"both":                    "echo more >> a; chmod 755 a",
		"rename":                  "mv a z",
		"rename a tree":           "mv sub other",
		"rename over":             "mv a sub/b",
		"exchange":                "mv a t; mv sub/b a; mv t sub/b",
		"file to link":            "ln -sf sub/b a",
		"link to file":            "rm link; echo x > link",
		"link elsewhere":          "ln -sfn sub link",
		"file to folder":          "rm a; mkdir a; echo in > a/in",
		"folder to file":          "rm -r sub; echo file > sub",
		"folder to link":          "mv sub gone; ln -s gone sub",
		"touched":                 "touch a; echo x > x",
		"same content":            "cat sub/b > t; cat t > sub/b; rm t; echo x > x",
		"same size and time":      "touch -r a t; printf 'OTHER CONTENT' | head -c 6 > a; touch -r t a; rm t",
		"hard linked":             "echo changed > hard1",
		"a pipe":                  "mkfifo p",
		"an odd name":             "echo x > \"$(printf 'a\\nb \\\\ \\377c')\"",
		"empty to full":           "echo x > empty",
		"deep":                    "echo x > sub/deep/er/f; rm sub/deep/er/g; mkdir sub/deep/h",
	}
	for name, line := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir, map[string]string{"a": "alpha\n", "sub/b": "beta\n", "sub/deep/er/f": "f",
				"sub/deep/er/g": "g", "empty": "", "hard1": "hard"})
			os.Symlink("a", filepath.Join(dir, "link"))
			os.Link(filepath.Join(dir, "hard1"), filepath.Join(dir, "hard2"))
			x := newExecutor(t, Config{Dir: dir, NoSync: true})
			before := pictured(t, dir)
			e := shell(t, x, line)
			after := pictured(t, dir)
			if e.Undo == "" || e.NotUndoable != nil {
				t.Fatalf("undo is %q, NotUndoable is %q", e.Undo, e.NotUndoable)
			}
			redo := undoes(t, x, e.Undo)
			if now := pictured(t, dir); now != before {
				t.Errorf("undo left\n%s\nwant\n%s", now, before)
			}
			again := undoes(t, x, redo)
			if now := pictured(t, dir); now != after {
				t.Errorf("redo left\n%s\nwant\n%s", now, after)
			}
			undoes(t, x, again)
			if now := pictured(t, dir); now != before {
				t.Errorf("the second undo left\n%s\nwant\n%s", now, before)
			}
		})
	}
}

// TestTrackedNothing runs commands without any change that is recorded.
func TestTrackedNothing(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, map[string]string{"a": "alpha", ".git/HEAD": "ref"})
	x := newExecutor(t, Config{Dir: dir, NoSync: true})
	for _, line := range []string{"true", "cat a", "touch a", "echo x > t; rm t"} {
		if e := shell(t, x, line); e.Undo != "" || e.NotUndoable != nil {
			t.Errorf("%q is undone by %q, NotUndoable is %q", line, e.Undo, e.NotUndoable)
		}
	}
	for range 10 { // the times of what was written just now do not tell whether it was written again
		shell(t, x, "echo x > .git/config; echo x > perstack.toml")
		if e := shell(t, x, "true"); e.NotUndoable != nil {
			t.Errorf("after a change of settings a command that does nothing has left %q", e.NotUndoable)
		}
	}
	none := newExecutor(t, Config{Dir: dir, NoSync: true, Journal: workspace.Journal{Off: true}})
	off := newExecutor(t, Config{Dir: dir, NoSync: true, SnapshotBytes: -1})
	for _, x := range []*Executor{none, off} {
		if e := shell(t, x, "echo x >> a"); e.Undo != "" || e.NotUndoable != nil {
			t.Errorf("it is undone by %q, NotUndoable is %q", e.Undo, e.NotUndoable)
		}
	}
}

// randomScript returns n lines of shell code; most change something.
func randomScript(rng *rand.Rand, n int) string {
	name := func() string {
		parts := make([]string, 1+rng.IntN(3))
		for i := range parts {
			parts[i] = string(rune('a' + rng.IntN(4)))
		}
		return strings.Join(parts, "/")
	}
	lines := []string{"exec 2>/dev/null"}
	for range n {
		p, q := name(), name()
		lines = append(lines, []string{
			"mkdir -p " + p, "mkdir -p $(dirname " + p + ") && echo " + q + " > " + p, "echo more >> " + p,
			"rm -rf " + p,
			"mv " + p + " " + q, "mv -T " + p + " " + q, "cp -r " + p + " " + q,
			"chmod 7" + fmt.Sprint(rng.IntN(8)) + "0 " + p, "ln -s " + q + " " + p,
			"ln -sfn " + q + " " + p, "true > " + p, "rm -f " + p + " && mkdir " + p, "rmdir " + p,
		}[rng.IntN(13)])
	}
	return strings.Join(append(lines, "true"), "\n")
}

// TestTrackedRandom runs scripts of many changes on random trees, with one executor and
// with a new one for each command.
func TestTrackedRandom(t *testing.T) {
	needs.InMemory(t)
	for seed := range uint64(12 / needs.Step(3)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 7))
			dir := t.TempDir()
			var x *Executor
			open := func() {
				if x == nil || seed%2 == 0 {
					x = newExecutor(t, Config{Dir: dir, NoSync: true})
				}
			}
			type taken struct{ before, id string }
			var changes []taken
			for range 8 {
				open()
				before := pictured(t, dir)
				e := shell(t, x, randomScript(rng, 25))
				after := pictured(t, dir)
				if e.NotUndoable != nil {
					t.Fatalf("NotUndoable is %q", e.NotUndoable)
				}
				if e.Undo == "" {
					if before != after {
						t.Fatalf("nothing is recorded of\n%s\nthat became\n%s", before, after)
					}
					continue
				}
				redo := undoes(t, x, e.Undo)
				if now := pictured(t, dir); now != before {
					t.Fatalf("undo left\n%s\nwant\n%s", now, before)
				}
				changes = append(changes, taken{before, undoes(t, x, redo)})
				if now := pictured(t, dir); now != after {
					t.Fatalf("redo left\n%s\nwant\n%s", now, after)
				}
			}
			for _, c := range slices.Backward(changes) {
				open()
				undoes(t, x, c.id)
				if now := pictured(t, dir); now != c.before {
					t.Fatalf("undo left\n%s\nwant\n%s", now, c.before)
				}
			}
		})
	}
}

// TestTrackedTimes checks the modification times of files that undo restores. They are new, so that tools
// build again what they made of the files.
func TestTrackedTimes(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, map[string]string{"a": "alpha", "sub/b": "beta"})
	old := time.Date(2020, 1, 2, 3, 4, 5, 678, time.UTC)
	for _, name := range []string{"a", "sub/b"} {
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	x := newExecutor(t, Config{Dir: dir, NoSync: true})
	id := shell(t, x, "rm a; rm -r sub").Undo
	changed := time.Now().Add(-time.Second)
	undoes(t, x, id)
	for _, name := range []string{"a", "sub/b"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.ModTime().Before(changed) {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}
