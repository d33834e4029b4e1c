//go:build linux || darwin

package skill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"textskill/skill/internal/process"
	"textskill/skill/internal/state"
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
			"echo x >> small; echo x > large; rm -f nothing", "large=x small=s", []string{"large: what it held was not kept"}, true},
		"a folder with too much": {map[string]string{"d/small": "s", "d/large": strings.Repeat("l", 20_000)}, 8 << 10,
			"rm -r d", "d/small=s", []string{"d/large: what it held was not kept"}, true},
		"ignored": {map[string]string{".gitignore": "*.log\nout/\n", "a.log": "log", "out/x": "x", "a": "alpha"}, 0,
			"echo more >> a.log; rm -r out; echo x > b.log; echo more >> a", ".gitignore=*.logout/ a.log=logmore a=alpha b.log=x",
			[]string{"a.log: git ignores it", "b.log: git ignores it", "out: git ignores it"}, false},
		"ignored from now on": {map[string]string{"d/a": "alpha", "b": "beta"}, 0,
			"echo d/ > .gitignore; echo b >> .gitignore; echo x >> d/a", "b=beta d/a=alpha", nil, false},
		"configuration": {map[string]string{"perstack.toml": "p", "a": "alpha"}, 0,
			"echo x >> a; echo x >> perstack.toml", "a=alpha perstack.toml=px", []string{"perstack.toml: it is kept from being changed"}, true},
		"git's settings": {map[string]string{".git/HEAD": "ref", ".git/config": "c", "a": "alpha"}, 0,
			"echo x >> a; echo y >> .git/config", ".git/HEAD=ref .git/config=cy a=alpha", []string{".git/config: git's own files are not kept"}, true},
		"a hook": {map[string]string{".git/hooks/old": "h", "a": "alpha"}, 0,
			"echo x >> a; echo y > .git/hooks/new", ".git/hooks/new=y .git/hooks/old=h a=alpha", []string{".git/hooks/new: git's own files are not kept"}, true},
		"a repository": {map[string]string{".git/HEAD": "ref", ".git/config": "c", ".git/hooks/h": "h", "a": "alpha"}, 0,
			"echo x >> a; rm -r .git", "a=alpha", []string{".git: git's own files are not kept"}, true},
		"a new repository": {map[string]string{"a": "alpha"}, 0,
			"echo x >> a; mkdir -p .git/hooks; echo c > .git/config; echo h > .git/hooks/h", ".git/config=c .git/hooks/h=h a=alpha", []string{".git: git's own files are not kept"}, true},
		"a folder with a repository": {map[string]string{"d/.git/HEAD": "ref", "d/.git/config": "c", "d/.git/hooks/h": "h", "d/a": "alpha"}, 0,
			"rm -r d", "d/a=alpha", []string{"d/.git: git's own files are not kept"}, true},
		"a new folder with a repository": {map[string]string{"a": "alpha"}, 0,
			"echo x >> a; mkdir -p d/.git; echo c > d/.git/config", "a=alpha", nil, false},
		"a link to a repository": {map[string]string{"d/.git": "gitdir: ../r", "d/a": "alpha"}, 0, "rm -r d", "d/.git=gitdir: ../r d/a=alpha", nil, false},
		"git's own":              {map[string]string{".git/HEAD": "ref", "a": "alpha"}, 0, "echo x >> a; echo x > .git/x", ".git/HEAD=ref .git/x=x a=alpha", nil, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir, tt.files)
			x := newExecutor(t, Config{Dir: dir, NoSync: true, SnapshotBytes: tt.limit})
			e := shell(t, x, tt.line)
			if config := filepath.Join(dir, "perstack.toml"); tt.files["perstack.toml"] != "" {
				list := carried(t, x, History{Path: config}).(Changes).List
				if len(list) != 1 || !strings.HasSuffix(list[0].String(), "changed besides: "+config+")") {
					t.Errorf("the history of %s is %v", config, list)
				}
			}
			diff := carried(t, x, Difference{ID: e.Undo}).Message()
			if says := strings.HasSuffix(diff, ", which undo leaves alone."); says != tt.counted {
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

// TestTrackedSeveralNames removes or replaces one name of a file. Undo makes it a name of the file
// again. Of a folder that was removed as a whole, it brings the content back in a file of its own,
// which the result says.
func TestTrackedSeveralNames(t *testing.T) {
	for _, line := range []string{"rm d/f", "echo new > t; mv t d/f", "ln -f other d/f", "rm d/f; mkdir d/f", "rm -r d", "rm -r d; echo x > d"} {
		dir := t.TempDir()
		fill(t, dir, map[string]string{"d/f": "linked", "other": "other"})
		if err := os.Link(filepath.Join(dir, "d/f"), filepath.Join(dir, "g")); err != nil {
			t.Fatal(err)
		}
		x := newExecutor(t, Config{Dir: dir, NoSync: true})
		e := shell(t, x, line)
		whole := strings.HasPrefix(line, "rm -r")
		if want := filepath.Join(dir, "d/f") + ": it was one of several names of a file"; whole && (len(e.NotUndoable) != 1 || !strings.HasPrefix(e.NotUndoable[0], want)) || !whole && e.NotUndoable != nil {
			t.Errorf("%q: NotUndoable is %q", line, e.NotUndoable)
		}
		after, id := listed(t, dir), e.Undo
		for i, want := range []string{"d/f=linked g=linked other=other", after, "d/f=linked g=linked other=other", after} {
			done, err := x.Execute(t.Context(), &Session{}, Undo{ID: id})
			if err != nil {
				t.Fatalf("%q: undo %d: %v", line, i, err)
			}
			id = done.(Reverted).Changes[0].ID
			if got := listed(t, dir); got != want {
				t.Fatalf("%q: after undo %d there is %s, want %s", line, i, got, want)
			}
			f, ferr := os.Stat(filepath.Join(dir, "d/f"))
			g, gerr := os.Stat(filepath.Join(dir, "g"))
			if i%2 == 0 && (ferr != nil || gerr != nil || os.SameFile(f, g) == whole) {
				t.Errorf("%q: after undo %d they are one file: %v, want %v; %v, %v", line, i, os.SameFile(f, g), !whole, ferr, gerr)
			}
		}
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

// TestTrackedOtherNameReplaced removes a name of a file whose other name then becomes that of
// another file with the same content. Undo does not join the two: what it writes after that to the
// one would be in the other, too.
func TestTrackedOtherNameReplaced(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "o")
	f, g := filepath.Join(dir, "f"), filepath.Join(dir, "g")
	fill(t, dir, map[string]string{"f": "old"})
	x := newExecutor(t, Config{Dir: dir, NoSync: true})
	err := os.Link(f, g)
	first := shell(t, x, "printf new > f")
	second := shell(t, x, "rm f")
	if err = errors.Join(err, os.WriteFile(outside, []byte("new"), 0o644), os.Remove(g), os.Link(outside, g)); err != nil {
		t.Fatal(err)
	}
	undoes(t, x, second.Undo)
	carried(t, x, Undo{ID: first.Undo, Force: true}) // g may have been f's other name still
	if data, err := os.ReadFile(outside); string(data) != "new" || err != nil {
		t.Errorf("outside there is %q, %v", data, err)
	}
	if got := listed(t, dir); got != "f=old g=new" {
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
	if len(e.NotUndoable) != 1 || !strings.HasPrefix(e.NotUndoable[0], filepath.Join(dir, "huge")+": it held 16777217 bytes") {
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

// TestTrackedPrunes checks that the kept content stays within its limit while files change.
func TestTrackedPrunes(t *testing.T) {
	dir := t.TempDir()
	x := newExecutor(t, Config{Dir: dir, NoSync: true, SnapshotBytes: 64 << 10})
	for i := range 30 {
		fill(t, dir, map[string]string{"a": strings.Repeat(fmt.Sprint(i%10), 9000+i), "b": fmt.Sprint(i)})
		e := shell(t, x, "echo x >> a")
		before := listed(t, dir)
		undoes(t, x, undoes(t, x, e.Undo))
		if got := listed(t, dir); got != before || e.NotUndoable != nil {
			t.Fatalf("%d: there is %.80s, want %.80s; NotUndoable is %q", i, got, before, e.NotUndoable)
		}
	}
	var size int64
	entries, err := os.ReadDir(historyOf(t, dir) + "/snapshot")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			size += (info.Size() + 4095) / 4096 * 4096
		}
	}
	if size > 80<<10 {
		t.Errorf("%d bytes are kept in %d files", size, len(entries))
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
		c, err := x.process.Track(t.Context(), "quick", func(context.Context) error {
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

// TestTrackedDamaged runs commands that damage the kept content. Undo restores nothing but
// original content, and writes nothing outside the workspace.
func TestTrackedDamaged(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	fill(t, dir, map[string]string{"a": "alpha", "b": "beta"})
	x := newExecutor(t, Config{Dir: dir, NoSync: true})
	history := historyOf(t, dir)
	e := meanwhile(t, x, ": > started; "+waiting+"rm a; echo c > c", func() {
		names, err := filepath.Glob(history + "/snapshot/" + strings.Repeat("?", 32))
		if err != nil || len(names) == 0 {
			t.Errorf("%q, %v", names, err)
		}
		for _, name := range names {
			fill(t, "", map[string]string{name: "evil"})
		}
	})
	if !strings.Contains(e.CannotUndo(), "a: what was kept of it is damaged") {
		t.Errorf("NotUndoable is %q", e.NotUndoable)
	}
	undoes(t, x, e.Undo)
	if got := listed(t, dir); got != "b=beta go=go" {
		t.Errorf("there is %s", got)
	}
	snapshot := history + "/snapshot"
	for i, damage := range []func() error{
		func() error { return os.WriteFile(snapshot+"/index", []byte("rubbish"), 0o600) },
		func() error { return os.RemoveAll(history) },
		func() error { return cmp.Or(os.RemoveAll(snapshot), os.Symlink(out, snapshot)) },
		func() error {
			return cmp.Or(os.Remove(snapshot), os.Mkdir(snapshot, 0o700), os.Symlink(out+"/x", snapshot+"/index"))
		},
	} {
		if err := damage(); err != nil {
			t.Fatal(err)
		}
		y := newExecutor(t, Config{Dir: dir, NoSync: true})
		e := shell(t, y, "echo x >> b")
		if e.Undo == "" && e.NotUndoable == nil {
			t.Errorf("after damage %d there is neither an id nor a reason", i)
		}
		if e.Undo != "" {
			undoes(t, y, e.Undo)
		}
		fill(t, dir, map[string]string{"b": "beta"})
	}
	if left, _ := os.ReadDir(out); len(left) > 0 {
		t.Errorf("the directory outside contains %v", left)
	}
}

// TestTrackedUnknown runs a command where what there was cannot be saved. Undo passes over it, and
// says so.
func TestTrackedUnknown(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	x := newExecutor(t, Config{Dir: dir, NoSync: true})
	if _, err := x.Execute(t.Context(), &Session{}, WriteFile{Path: "a", Content: "alpha"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(out, historyOf(t, dir)+"/snapshot"); err != nil {
		t.Fatal(err)
	}
	if e := shell(t, x, "echo x > b"); e.Undo != "" || !strings.HasPrefix(e.CannotUndo(), "nothing that it changed: ") {
		t.Errorf("it is undone by %q, NotUndoable is %q", e.Undo, e.NotUndoable)
	}
	done, err := x.Execute(t.Context(), &Session{}, Undo{})
	if err != nil {
		t.Fatal(err)
	}
	said := done.(Reverted).Message()
	if want := "; passed over: change 2 cannot be undone: " + dir + " was not kept: it is not known what the command changed: "; !strings.Contains(said, want) {
		t.Errorf("it says %q, want %q", said, want)
	}
	if got := listed(t, dir); got != "b=x" {
		t.Errorf("there is %s", got)
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
	p, err := state.Find(state.Options{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(p.Path, p.Key)
}
