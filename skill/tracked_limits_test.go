//go:build linux || darwin

package skill

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"textskill/skill/internal/history"
	"textskill/skill/internal/process"
	"textskill/skill/internal/workspace"
)

// TestTrackedLimits changes files whose content is not kept, beside others. The result
// names the former, and undo restores the latter.
func TestTrackedLimits(t *testing.T) {
	tests := map[string]struct {
		files   map[string]string
		limit   int64
		line    string
		want    string
		left    []string
		counted bool
	}{
		"the budget": {map[string]string{"small": "s", "large": strings.Repeat("l", 20_000)}, 8 << 10,
			"echo x >> small; echo x > large; rm -f nothing", "large=x small=s",
			[]string{"large: what it held was not kept"}, true},
		"a folder with too much": {map[string]string{"d/small": "s",
			"d/large": strings.Repeat("l", 20_000)}, 8 << 10,
			"rm -r d", "d/small=s", []string{"d/large: what it held was not kept"}, true},
		"ignored": {map[string]string{".gitignore": "*.log\nout/\nnode_modules/\n", "a.log": "log",
			"out/x": "x", "node_modules/m": "m", "a": "alpha"}, 0,
			"echo more >> a.log; rm -r out node_modules; echo x > b.log; echo more >> a",
			".gitignore=*.logout/node_modules/ a.log=log a=alpha out/x=x",
			[]string{"node_modules: git ignores it and a tool builds it again"}, true},
		"ignored from now on": {map[string]string{"d/a": "alpha", "b": "beta"}, 0,
			"echo d/ > .gitignore; echo b >> .gitignore; echo x >> d/a", "b=beta d/a=alpha", nil, false},
		"configuration": {map[string]string{"perstack.toml": "p", "a": "alpha"}, 0,
			"echo x >> a; echo x >> perstack.toml", "a=alpha perstack.toml=p",
			[]string{"perstack.toml: can make other programs run code"}, false},
		"git's settings": {map[string]string{".git/HEAD": "ref", ".git/config": "c", "a": "alpha"}, 0,
			"echo x >> a; echo y >> .git/config", ".git/HEAD=ref .git/config=c a=alpha",
			[]string{".git/config: can make other programs run code"}, false},
		"a hook": {map[string]string{".git/hooks/old": "h", "a": "alpha"}, 0,
			"echo x >> a; echo y > .git/hooks/new", ".git/hooks/old=h a=alpha",
			[]string{".git/hooks/new: can make other programs run code"}, false},
		"a repository": {map[string]string{".git/HEAD": "ref", ".git/config": "c", ".git/hooks/h": "h",
			"a": "alpha"}, 0,
			"echo x >> a; rm -r .git", ".git/HEAD=ref .git/config=c .git/hooks/h=h a=alpha",
			[]string{".git/config: can make other programs run code",
				".git/hooks: can make other programs run code",
				".git/hooks/h: can make other programs run code"}, false},
		"a new repository": {map[string]string{"a": "alpha"}, 0,
			"echo x >> a; mkdir -p .git/hooks; echo c > .git/config; echo h > .git/hooks/h", "a=alpha",
			[]string{".git/config: can make other programs run code", ".git/hooks: can make other programs run code", ".git/hooks/h: can make other programs run code"}, false},
		"a folder with a repository": {map[string]string{"d/.git/HEAD": "ref", "d/.git/config": "c",
			"d/a": "alpha"}, 0,
			"rm -r d", "d/.git/HEAD=ref d/.git/config=c d/a=alpha",
			[]string{"d/.git/config: can make other programs run code"}, false},
		"a new folder with a repository": {map[string]string{"a": "alpha"}, 0,
			"echo x >> a; mkdir -p d/.git; echo c > d/.git/config", "a=alpha",
			[]string{"d/.git/config: can make other programs run code"}, false},
		"a link to a repository": {map[string]string{"d/.git": "gitdir: ../r", "d/a": "alpha"}, 0, "rm -r d",
			"d/.git=gitdir: ../r d/a=alpha", nil, false},
		"git's own": {map[string]string{".git/HEAD": "ref", "a": "alpha"}, 0,
			"echo x >> a; echo x > .git/HEAD", ".git/HEAD=ref a=alpha", nil, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir, tt.files)
			x := newExecutor(t, Config{Dir: dir, NoSync: true, SnapshotBytes: tt.limit, AllowConfig: true})
			e := shell(t, x, tt.line)
			if config := filepath.Join(dir, "perstack.toml"); tt.files["perstack.toml"] != "" {
				list := carried(t, x, History{Path: config}).(Changes).List
				if len(list) != 1 || !strings.HasSuffix(list[0].String(), "can make programs run code: "+
					config+")") {
					t.Errorf("the history of %s is %v", config, list)
				}
			}
			diff := carried(t, x, Difference{ID: e.Undo}).Message()
			if says := strings.Contains(diff, ", which undo leaves alone: "); says != tt.counted {
				t.Error(diff)
			}
			done, err := x.Execute(t.Context(), &Session{}, Undo{ID: e.Undo})
			if err != nil {
				t.Fatal(err)
			}
			said := done.(Reverted).Message()
			if says := strings.Contains(said, "1 other file that it changed stays as it is"); says != tt.counted {
				t.Error(said)
			}
			if got := listed(t, dir); got != tt.want {
				t.Errorf("there is %s, want %s", got, tt.want)
			}
			if len(e.NotUndoable) != len(tt.left) {
				t.Fatalf("NotUndoable is %q, want %q", e.NotUndoable, tt.left)
			}
			for i, left := range tt.left {
				if !strings.HasPrefix(e.NotUndoable[i], filepath.Join(dir, left)) {
					t.Errorf("NotUndoable is %q, want %q", e.NotUndoable[i], left)
				}
			}
		})
	}
}

// TestTrackedOtherNameChanged removes a name of a file that is changed after that. Undo brings
// the content back in a file of its own, and leaves the other name as it is.
func TestTrackedOtherNameChanged(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, map[string]string{"f": "linked"})
	if err := os.Link(filepath.Join(dir, "f"), filepath.Join(dir, "g")); err != nil {
		t.Fatal(err)
	}
	x := newExecutor(t, Config{Dir: dir, NoSync: true})
	e := shell(t, x, "rm f")
	fill(t, dir, map[string]string{"g": "changed"})
	undoes(t, x, e.Undo)
	if got := listed(t, dir); got != "f=linked g=changed" {
		t.Errorf("undone, there is %s", got)
	}
}

// TestTrackedLinkedOver puts a second name of a file in the place of another file. The undo leaves
// the file under its first name as it is.
func TestTrackedLinkedOver(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, map[string]string{"f": "first", "g": "second"})
	x := newExecutor(t, Config{Dir: dir, NoSync: true})
	e := shell(t, x, "ln -f g f")
	for _, want := range []string{"f=first g=second", "f=second g=second", "f=first g=second"} {
		done, err := x.Execute(t.Context(), &Session{}, Undo{ID: e.Undo})
		if err != nil {
			t.Fatal(err)
		}
		if got := listed(t, dir); got != want {
			t.Fatalf("undone, there is %s, want %s", got, want)
		}
		change := done.(Reverted).Changes[0]
		if e.Undo = change.ID; change.More != 0 {
			t.Errorf("undone, %d more files are named", change.More)
		}
	}
}

// TestTrackedHuge changes a file that is too large to be kept, and creates another one.
func TestTrackedHuge(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, map[string]string{"huge": "", "a": "alpha"})
	if err := os.Truncate(filepath.Join(dir, "huge"), workspace.MaxKept+1); err != nil {
		t.Fatal(err)
	}
	x := newExecutor(t, Config{Dir: dir, NoSync: true})
	e := shell(t, x, "echo more >> huge; chmod 600 a")
	if len(e.NotUndoable) != 1 ||
		!strings.HasPrefix(e.NotUndoable[0], filepath.Join(dir, "huge")+": it held 16777217 bytes") {
		t.Errorf("NotUndoable is %q", e.NotUndoable)
	}
	if e = shell(t, x, "chmod 600 huge; cp huge other"); e.NotUndoable != nil {
		t.Errorf("NotUndoable is %q", e.NotUndoable)
	}
	undoes(t, x, e.Undo)
	if _, err := os.Stat(filepath.Join(dir, "other")); err == nil {
		t.Error("the copy is there")
	}
	if info, err := os.Stat(filepath.Join(dir, "huge")); err != nil || info.Mode().Perm() == 0o600 {
		t.Errorf("huge is %v, %v", info.Mode(), err)
	}
}

// TestTrackedQuick changes files so fast that their modification times may be equal.
func TestTrackedQuick(t *testing.T) {
	dir := t.TempDir()
	x := newExecutor(t, Config{Dir: dir, NoSync: true})
	file := filepath.Join(dir, "a")
	for i := range 60 {
		fill(t, dir, map[string]string{"a": fmt.Sprintf("before %02d", i)})
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		c, err := x.process.Track(t.Context(), "quick", func(*process.Runner) error {
			f, err := os.OpenFile(file, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			if _, err := fmt.Fprintf(f, "after! %02d", i); err != nil {
				return err
			}
			return os.Chtimes(file, info.ModTime(), info.ModTime())
		})
		if err != nil || c.Undo == "" {
			t.Fatalf("%d: %+v, %v", i, c, err)
		}
		undoes(t, x, c.Undo)
		if got := listed(t, dir); got != fmt.Sprintf("a=before %02d", i) {
			t.Fatalf("%d: there is %s", i, got)
		}
	}
}

// TestTrackedNarrow runs commands in a part of the workspace.
func TestTrackedNarrow(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, map[string]string{"a": "alpha", "sub/b": "beta"})
	whole := newExecutor(t, Config{Dir: dir, NoSync: true})
	part, err := whole.Narrow([]string{filepath.Join(dir, "sub")})
	if err != nil {
		t.Fatal(err)
	}
	defer part.Close()
	e := shell(t, part, "echo more >> b; echo n > n")
	f := shell(t, whole, "echo more >> a")
	undoes(t, part, e.Undo)
	undoes(t, whole, f.Undo)
	if got := listed(t, dir); got != "a=alpha sub/b=beta" {
		t.Errorf("there is %s", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "sub/.skill")); err == nil {
		t.Error("the narrowed workspace has its own state directory")
	}
}

// TestTrackedFails runs a program that fails, one that is stopped, and one that does not
// exist.
func TestTrackedFails(t *testing.T) {
	dir := t.TempDir()
	x := newExecutor(t, Config{Dir: dir, NoSync: true})
	failed := mustExec(t, x, sh("echo 1 > one; exit 3"))
	stopped := timedOut(t, x, sh("echo 2 > two; echo written; sleep 60"))
	if !failed.Failed() || !stopped.TimedOut || failed.Undo == "" || stopped.Undo == "" {
		t.Fatalf("%+v, %+v", failed, stopped)
	}
	if _, err := x.Execute(t.Context(), &Session{}, Exec{Command: "no-such-program"}); !process.IsSpawnError(err) {
		t.Error(err)
	}
	undoes(t, x, stopped.Undo)
	undoes(t, x, failed.Undo)
	if got := listed(t, dir); got != "" {
		t.Errorf("there is %s", got)
	}
}

// historyOf returns the folder of a workspace's history.
func historyOf(t *testing.T, dir string) string {
	t.Helper()
	p, err := history.Find(history.Options{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(p.Path, p.Key)
}
