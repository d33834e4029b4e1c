//go:build linux || darwin

package skill

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"textskill/skill/internal/workspace"
	"textskill/testdata/needs"
)

// waiting is shell code that waits for the file go.
const waiting = "while [ ! -e go ]; do sleep 0.01; done; "

// meanwhile runs shell code in x. Once that has created the file started, it calls other
// and then creates the file go.
func meanwhile(t *testing.T, x *Executor, line string, other func()) (e Executed) {
	t.Helper()
	needs.Shell(t)
	var run sync.WaitGroup
	run.Go(func() { e = shell(t, x, line) })
	defer run.Wait()
	for {
		if _, err := os.Stat(filepath.Join(x.Dir(), "started")); err == nil {
			break
		}
	}
	other()
	carried(t, x, WriteFile{Path: "go", Content: "go"})
	run.Wait()
	return e
}

func carried(t *testing.T, x *Executor, a Args) Result {
	t.Helper()
	r, err := x.Execute(t.Context(), &Session{}, a)
	if err != nil {
		t.Fatalf("%+v: %v", a, err)
	}
	return r
}

// TestTrackedOthers makes other calls while a command runs. Undo of the command keeps the changes of tools.
// Undo also takes the changes of another command of the same session.
func TestTrackedOthers(t *testing.T) {
	tests := map[string]struct {
		line string
		args []Args
		want string // the files after undo, with their contents
		left string // the files that the result reports as not undoable
	}{
		"elsewhere": {"echo x > mine; : > started; " + waiting + "echo y >> mine",
			[]Args{WriteFile{Path: "theirs", Content: "T"}}, "a=alpha go=go sub/b=beta theirs=T", ""},
		"in a folder of the command": {"mkdir -p d/e; echo x > d/e/mine; : > started; " + waiting +
			"echo y > d/mine",
			[]Args{WriteFile{Path: "d/theirs", Content: "T"}}, "a=alpha d/theirs=T go=go sub/b=beta", ""},
		"the same file, before": {"echo x > mine; : > started; " + waiting + "echo more >> a",
			[]Args{WriteFile{Path: "a", Content: "T"}}, "a=T go=go sub/b=beta", ""},
		"the same file, after": {"echo more >> a; : > started; " + waiting,
			[]Args{WriteFile{Path: "a", Content: "T"}}, "a=T go=go sub/b=beta", ""},
		"append": {"echo x > mine; : > started; " + waiting,
			[]Args{AppendFile{Path: "a", Content: "T"}}, "a=alphaT go=go sub/b=beta", ""},
		"delete and move": {"echo x > mine; : > started; " + waiting,
			[]Args{DeleteFile{Path: "a"}, MoveFile{Source: "sub", Dest: "moved"}}, "go=go moved/b=beta", ""},
		"in a folder that is removed": {": > started; " + waiting + "rm -r sub",
			[]Args{WriteFile{Path: "sub/b", Content: "T"}}, "a=alpha go=go sub/b=T", ""},
		"another command of the session": {"echo x > mine; : > started; " + waiting,
			[]Args{sh("echo T > theirs")}, "a=alpha go=go sub/b=beta", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir, map[string]string{"a": "alpha", "sub/b": "beta"})
			x := newExecutor(t, Config{Dir: dir, NoSync: true})
			e := meanwhile(t, x, tt.line, func() {
				for _, a := range tt.args {
					carried(t, x, a)
				}
			})
			if e.Undo != "" {
				undoes(t, x, e.Undo)
			}
			if got := listed(t, dir); got != tt.want {
				t.Errorf("there is %s, want %s", got, tt.want)
			}
			overlap := slices.ContainsFunc(e.NotUndoable,
				func(s string) bool { return strings.Contains(s, "at the same time") })
			named := slices.ContainsFunc(e.NotUndoable,
				func(s string) bool { return strings.HasPrefix(s, filepath.Join(dir, tt.left)+":") })
			if named != (tt.left != "") || len(e.NotUndoable) > 0 && !named && !overlap {
				t.Errorf("NotUndoable is %q, want %q", e.NotUndoable, tt.left)
			}
		})
	}
}

// listed returns the files of a directory with their contents, without line breaks.
func listed(t *testing.T, dir string) string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.Name() == workspace.StateDir {
			return filepath.SkipDir
		}
		if e.Type().IsRegular() {
			data, _ := os.ReadFile(name)
			rel, _ := filepath.Rel(dir, name)
			list = append(list, rel+"="+strings.ReplaceAll(string(data), "\n", ""))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// TestTrackedOverlap runs two commands at the same time. Each is a change with an ID.
func TestTrackedOverlap(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, map[string]string{"a": "alpha"})
	x, y := newExecutor(t, Config{Dir: dir, NoSync: true}), newExecutor(t, Config{Dir: dir, NoSync: true})
	var second Executed
	first := meanwhile(t, x, "echo 1 > one; : > started; "+waiting,
		func() { second = shell(t, y, "echo 2 > two") })
	if first.Undo == "" || second.Undo == "" || first.Undo == second.Undo {
		t.Errorf("the ids are %q and %q", first.Undo, second.Undo)
	}
	carried(t, x, Undo{Since: second.Undo})
	if got := listed(t, dir); !strings.HasPrefix(got, "a=alpha") || strings.Contains(got, "one=") ||
		strings.Contains(got, "two=") {
		t.Errorf("there is %s", got)
	}
}

// TestTrackedIgnored has two commands change the same file at once, which git ignores. Undo takes it
// back.
func TestTrackedIgnored(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, map[string]string{".gitignore": "*.log\nstarted\ngo\n", "a": "alpha"})
	x := newExecutor(t, Config{Dir: dir, NoSync: true})
	carried(t, x, WriteFile{Path: "a", Content: "new"})
	e := meanwhile(t, x, ": > started; "+waiting+"echo x >> a.log", func() { shell(t, x, "echo y >> a.log") })
	if e.Undo == "" {
		t.Errorf("the change has no ID: %q", e.NotUndoable)
	}
	for range 4 {
		x.Execute(t.Context(), &Session{}, Undo{})
	}
	if got, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(got) != "alpha" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestTrackedUnignored runs commands after which git no longer ignores what it did. Undo does not remove that, nor what is in
// a folder that was removed with it.
func TestTrackedUnignored(t *testing.T) {
	for _, line := range []string{
		"echo '*.log' > .gitignore; echo x >> a",
		"mkdir -p sub/.git; echo x >> a",
		"rm .gitignore; echo x > sub/secrets/new",
		"mkdir -p .git/info; echo '!secrets' > sub/.gitignore",
		"rm -r sub",
	} {
		dir := t.TempDir()
		fill(t, dir, map[string]string{".gitignore": "secrets/\n", "a": "alpha", "secrets/env": "KEY",
			"sub/secrets/env": "KEY", "sub/b": "beta"})
		x := newExecutor(t, Config{Dir: dir, NoSync: true})
		shell(t, x, line)
		after := listed(t, dir)
		carried(t, x, Undo{})
		now := listed(t, dir)
		for _, kept := range []string{"a=alpha", ".gitignore=secrets/", "sub/b=beta", "secrets/env=KEY"} {
			if !strings.Contains(now, kept) {
				t.Errorf("%q: undo left %s", line, now)
			}
		}
		if !strings.Contains(now, "sub/secrets/env=KEY") {
			t.Errorf("%q: undo left %s of %s", line, now, after)
		}
	}
}

// TestTrackedCaches runs a command that writes into caches of Python, as tests do. Undo passes
// over it, and of one that changes more it takes back the rest.
func TestTrackedCaches(t *testing.T) {
	const caches = "mkdir -p __pycache__ d/.pytest_cache; echo x >> __pycache__/a.pyc; echo x >> d/.pytest_cache/v"
	dir := t.TempDir()
	fill(t, dir, map[string]string{"a": "alpha", "d/b": "beta"})
	x := newExecutor(t, Config{Dir: dir, NoSync: true})
	for i := range 2 { // the second time no folder changes
		carried(t, x, WriteFile{Path: "a", Content: "new"})
		e := shell(t, x, caches)
		want := filepath.Join(x.Dir(), "__pycache__") + ": it is a cache, and undo leaves it as it is"
		if slices.Contains(e.NotUndoable, want) != (i == 0) {
			t.Errorf("NotUndoable is %q", e.NotUndoable)
		}
		carried(t, x, Undo{})
		if got, err := os.ReadFile(filepath.Join(dir, "a")); err != nil || string(got) != "alpha" {
			t.Errorf("%q, %v", got, err)
		}
	}
	shell(t, x, caches+"; echo more > a")
	carried(t, x, Undo{})
	if got, want := listed(t, dir), "__pycache__/a.pyc=xxx a=alpha d/.pytest_cache/v=xxx d/b=beta"; got != want {
		t.Errorf("there is %s, want %s", got, want)
	}
}

// TestTrackedOverlapTaken undoes a command all of whose changes were recorded at the end of another one.
func TestTrackedOverlapTaken(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, map[string]string{".gitignore": "started\n"})
	x := newExecutor(t, Config{Dir: dir, NoSync: true})
	var second Executed
	first := meanwhile(t, x, ": > started; while [ ! -e two ]; do sleep 0.01; done; echo 1 > one; "+
		waiting, func() {
		second = shell(t, x, "echo 2 > two; while [ ! -e one ]; do sleep 0.01; done")
	})
	if first.Undo == "" || first.Undo == second.Undo {
		t.Errorf("the ids are %q and %q", first.Undo, second.Undo)
	}
	undoes(t, x, first.Undo)
	if got := listed(t, dir); strings.Contains(got, "one=") || strings.Contains(got, "two=") {
		t.Errorf("there is %s", got)
	}
}

// TestTrackedAllowed checks that directories of --allow are reported as not tracked.
func TestTrackedAllowed(t *testing.T) {
	allowed, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	x := newExecutor(t, Config{Allow: []string{allowed}, NoSync: true})
	e := shell(t, x, "echo 1 > "+allowed+"/f; echo 2 > f")
	if want := []string{allowed + ": it is a folder of --allow"}; !slices.Equal(e.NotUndoable, want) ||
		e.Undo == "" {
		t.Errorf("undo %q leaves %q, want %q", e.Undo, e.NotUndoable, want)
	}
}

// TestTrackedPull undoes what a pull did to the files, also if the pull failed.
func TestTrackedPull(t *testing.T) {
	b := newGitBed(t)
	b.remote()
	b.fork()
	x := b.executor(Config{NoSync: true, Network: true})
	r, err := x.Execute(t.Context(), &Session{}, GitPull{Dir: "repo", Remote: "origin"})
	p, ok := r.(Pulled)
	if err == nil || !ok || p.Undo == "" || p.NotUndoable != nil {
		t.Fatalf("%+v, %v", r, err)
	}
	file := filepath.Join(b.dir, "repo/a.txt")
	if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), "<<<<<<<") {
		t.Fatalf("%q, %v", data, err)
	}
	undoes(t, x, p.Undo)
	if data, err := os.ReadFile(file); err != nil || string(data) != "ours\n" {
		t.Errorf("%q, %v", data, err)
	}
}
