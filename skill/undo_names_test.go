//go:build linux || darwin

package skill

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// linkedTo links names of a workspace, "new old …", where "/" is a folder beside it. A new name that
// is taken is replaced.
func linkedTo(t *testing.T, dir, outside string, names ...string) {
	t.Helper()
	for i := 0; i < len(names); i += 2 {
		path := func(name string) string {
			if rest, ok := strings.CutPrefix(name, "/"); ok {
				return filepath.Join(outside, rest)
			}
			return filepath.Join(dir, name)
		}
		os.Remove(path(names[i]))
		if err := os.Link(path(names[i+1]), path(names[i])); err != nil {
			t.Fatal(err)
		}
	}
}

// An undo never writes into a file that the change did not write to, though it has its name or its
// content by now: that may be outside of the workspace.
func TestUndoWritesIntoNoOtherFile(t *testing.T) {
	large := strings.Repeat("x", 2<<20)
	for name, tt := range map[string]struct {
		before  []string // links before the change
		change  func(t *testing.T, x *Executor)
		after   []string // links that somebody makes after it
		refused bool     // without force
		want    string
	}{
		"a file": {nil, overwrite, []string{"/o", "f"}, false, "f=one"},
		"a link to another file of the same content":                {nil, overwrite, []string{"f", "/two"}, false, "f=one"},
		"a file of a command":                                       {nil, byShell, []string{"/o", "f"}, false, "f=one"},
		"a link, and a file of a command":                           {nil, byShell, []string{"f", "/two"}, false, "f=one"},
		"an append":                                                 {nil, appended, []string{"/o", "f"}, false, "f=one"},
		"an append, and a link":                                     {nil, appended, []string{"f", "/onetwo"}, false, "f=one"},
		"a patch":                                                   {nil, edited, []string{"f", "/twox"}, false, "f=onex"},
		"two names, and one more":                                   {[]string{"g", "f"}, overwrite, []string{"/o", "f"}, true, "f=one g=two"},
		"two names, and one more of a command":                      {[]string{"g", "f"}, byShell, []string{"/o", "f"}, true, "f=one g=two"},
		"two names, and a link":                                     {[]string{"g", "f"}, overwrite, []string{"f", "/two"}, true, "f=one g=two"},
		"two names, and both a link":                                {[]string{"g", "f"}, overwrite, []string{"f", "/two", "g", "f"}, true, "f=one g=two"},
		"an append to two names, and a link":                        {[]string{"g", "f"}, appended, []string{"f", "/onetwo"}, true, "f=one g=onetwo"},
		"two names, of which one is gone":                           {[]string{"g", "f"}, overwrite, []string{"g", "/two"}, false, "f=one g=two"},
		"two names, one of them outside, to which the change wrote": {[]string{"/o", "f"}, overwrite, nil, false, "f=one /o=one"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, outside := t.TempDir(), t.TempDir()
			is := "one"
			if strings.Contains(name, "patch") {
				is += large
			}
			fill(t, dir, map[string]string{"f": is})
			fill(t, outside, map[string]string{"two": "two", "onetwo": "onetwo", "twox": "two" + large})
			linkedTo(t, dir, outside, tt.before...)
			x := newExecutor(t, Config{Dir: dir, NoSync: true})
			tt.change(t, x)
			linkedTo(t, dir, outside, tt.after...)
			there := strings.ReplaceAll(listed(t, outside), large, "x")
			changed := listed(t, dir)
			_, err := x.Execute(t.Context(), &Session{}, Undo{})
			if no, ok := errors.AsType[*UndoError](err); tt.refused && !(ok && no.Force) || !tt.refused && err != nil {
				t.Fatal(err)
			}
			if tt.refused {
				if _, err = x.Execute(t.Context(), &Session{}, Undo{Force: true}); err != nil {
					t.Fatal(err)
				}
			}
			inside, of, _ := strings.Cut(tt.want, " /o=")
			if got := strings.ReplaceAll(listed(t, dir), large, "x"); got != inside {
				t.Errorf("undone there is %s, want %s", got, inside)
			}
			if of != "" {
				there = strings.Replace(there, "o=two", "o="+of, 1)
			}
			if got := strings.ReplaceAll(listed(t, outside), large, "x"); got != there {
				t.Errorf("outside there is %s, want %s", got, there)
			}
			done, err := x.Execute(t.Context(), &Session{}, History{})
			if err != nil {
				t.Fatal(err)
			}
			undoes(t, x, done.(Changes).List[0].ID)
			if got := listed(t, dir); got != changed {
				t.Errorf("made again there is %s, want %s", got, changed)
			}
		})
	}
}

func overwrite(t *testing.T, x *Executor) {
	carried(t, x, WriteFile{Path: "f", Content: "two"})
}

func appended(t *testing.T, x *Executor) {
	carried(t, x, AppendFile{Path: "f", Content: "two"})
}

func edited(t *testing.T, x *Executor) {
	carried(t, x, EditFile{Path: "f", Old: "one", New: "two"})
}

func byShell(t *testing.T, x *Executor) { shell(t, x, "printf two > f") }

// A command removes or changes all names of a file. Undo brings it back under all of them, so that
// the undo of an earlier change is in all of them, too; and a redo makes what there was of it.
func TestUndoJoinsNames(t *testing.T) {
	for _, line := range []string{
		"ln f a", "ln f a; rm g", "printf t > f; ln f a; rm g", "printf t > g; ln g n; rm f", "cp f t; mv t f", "cp f t; chmod 600 t; mv t f", "cp f t; mv t f; cp g t; mv t g",
		"cp f t; ln -f t f; ln -f t g; rm t", "cp other t; ln -f t other", "rm g; chmod 600 f", "touch f; rm g", "printf two > f; rm g", "printf six > f; rm g", "printf six > g; rm f d/f", "printf six > f; cp f t; mv t g", "cp f t; touch f; mv t g", "cp f t; mv t f; rm g; chmod 600 d/f", "rm f g", "rm f g d/f", "rm -r d", "rm f; printf t > g", "rm f d/f; mkdir f", "printf t > new; ln -f new f; ln -f new g; ln -f new d/f",
		"printf t > other; ln -f other a", "printf t > other; ln other new", "printf t > f; ln f a", "printf t > f; ln -f f other", "ln -f f other; printf t > other",
	} {
		t.Run(line, func(t *testing.T) {
			dir := t.TempDir()
			fill(t, dir, map[string]string{"f": "one", "other": "other", "d/x": "x"})
			links := []string{"g", "f", "d/f", "f"}
			switch line {
			case "rm f g", "rm f; printf t > g":
				links = links[:2]
			case "rm -r d":
				links = []string{"d/f", "f", "d/g", "f"}
			}
			linkedTo(t, dir, "", links...)
			if line == "rm -r d" {
				os.Remove(filepath.Join(dir, "f"))
			}
			x := newExecutor(t, Config{Dir: dir, NoSync: true})
			states := []string{namesIn(t, dir)}
			ids := []string{}
			for _, l := range []string{"for f in f d/f; do if [ -e $f ]; then printf two > $f; fi; done", line} {
				e := shell(t, x, l)
				if e.NotUndoable != nil {
					t.Errorf("NotUndoable is %q", e.NotUndoable)
				}
				ids, states = append(ids, e.Undo), append(states, namesIn(t, dir))
			}
			for range 2 {
				for i := 1; i >= 0; i-- {
					ids[i] = undoes(t, x, ids[i])
					if got := namesIn(t, dir); got != states[i] {
						t.Fatalf("undone there is\n%s\nwant\n%s", got, states[i])
					}
				}
				for i := range 2 {
					ids[i] = undoes(t, x, ids[i])
					if got := namesIn(t, dir); got != states[i+1] {
						t.Fatalf("made again there is\n%s\nwant\n%s", got, states[i+1])
					}
				}
			}
		})
	}
}

// A file of the same content that a command has put in the place of one of several names has
// lost its other name since: it is not taken for the file that was there before.
func TestUndoOfReplacedName(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, map[string]string{"f": "one", "copy": "one"})
	linkedTo(t, dir, "", "g", "f")
	x := newExecutor(t, Config{Dir: dir, NoSync: true})
	id := shell(t, x, "ln -f copy f").Undo
	if err := os.Remove(filepath.Join(dir, "copy")); err != nil {
		t.Fatal(err)
	}
	parted := namesIn(t, dir)
	for range 2 {
		id = undoes(t, x, id)
		if got := namesIn(t, dir); got != "/f=one (file 0)\n/g=one (file 0)" {
			t.Fatalf("undone there is\n%s", got)
		}
		id = undoes(t, x, id)
		if got := namesIn(t, dir); got != parted {
			t.Errorf("made again there is\n%s\nwant\n%s", got, parted)
		}
	}
}

// Of a folder that was removed undo makes a file of its own of one that had a name elsewhere. An
// earlier change to both names is then not undone in one of them only without a word.
func TestUndoOfPartedNames(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, map[string]string{"f": "one", "d/x": "x"})
	linkedTo(t, dir, "", "d/f", "f")
	x := newExecutor(t, Config{Dir: dir, NoSync: true})
	first := shell(t, x, "printf two > f")
	undoes(t, x, shell(t, x, "rm -r d").Undo)
	_, err := x.Execute(t.Context(), &Session{}, Undo{ID: first.Undo})
	if no, ok := errors.AsType[*UndoError](err); !ok || !no.Force {
		t.Errorf("%v", err)
	}
	carried(t, x, Undo{ID: first.Undo, Force: true})
	if got := listed(t, dir); got != "d/f=one d/x=x f=two" {
		t.Errorf("there is %s", got)
	}
}

// Where somebody has replaced a name of a file that was changed under several, its undo says that it
// leaves that one.
func TestUndoTellsOfNamesThatAreOthersNow(t *testing.T) {
	for _, links := range [][]string{{"b", "a"}, {"b", "a", "c", "a"}} {
		dir, outside := t.TempDir(), t.TempDir()
		fill(t, dir, map[string]string{"a": "w"})
		fill(t, outside, map[string]string{"wz": "wz"})
		linkedTo(t, dir, outside, links...)
		x := newExecutor(t, Config{Dir: dir, NoSync: true})
		first := shell(t, x, "printf z >> a")
		linkedTo(t, dir, outside, "b", "/wz")
		done, err := x.Execute(t.Context(), &Session{}, Undo{})
		if err != nil || !strings.HasSuffix(done.Message(), "; 1 file had more names (hard links) then, and what is there now under the others stays as it is") {
			t.Fatalf("%v, %v", done, err)
		}
		if got := listed(t, dir); !strings.HasPrefix(got, "a=w b=wz") || strings.Contains(got, "c=wz") {
			t.Errorf("there is %s", got)
		}
		again := carried(t, x, Undo{ID: done.(Reverted).UndoID()})
		linkedTo(t, dir, outside, "b", "a")
		last := carried(t, x, Undo{ID: first.Undo})
		for _, r := range []Result{again, last} {
			if strings.Contains(r.Message(), "names") {
				t.Error(r.Message())
			}
		}
		if got := listed(t, dir); !strings.HasPrefix(got, "a=w b=w") || strings.Contains(got, "z") {
			t.Errorf("there is %s", got)
		}
	}
}

// Of a folder that a command moved undo makes files of their own. The undo of an earlier change to one
// of several names says that it leaves those, though the history has the names that the command gave.
func TestUndoTellsOfNamesInMovedFolder(t *testing.T) {
	for _, links := range [][]string{{"k/a", "d"}, {"k/a", "d", "z", "d"}} {
		for _, line := range []string{"mv k m", "mv d n; mv k m", "mv d n"} {
			dir := t.TempDir()
			fill(t, dir, map[string]string{"d": "one", "k/x": "x"})
			linkedTo(t, dir, "", links...)
			start := namesIn(t, dir)
			x := newExecutor(t, Config{Dir: dir, NoSync: true})
			carried(t, x, WriteFile{Path: "d", Content: "two"})
			shell(t, x, line)
			carried(t, x, Undo{})
			done := carried(t, x, Undo{})
			if told := strings.Contains(done.Message(), "had more names"); told != (namesIn(t, dir) != start) {
				t.Errorf("%q, %s: %s\n%s", links, line, done.Message(), namesIn(t, dir))
			}
		}
	}
}

// A name of a file with several ones is taken away, and something else writes to another. With force
// the name is of that file again.
func TestUndoOfNameOfChangedFile(t *testing.T) {
	for _, change := range []Args{DeleteFile{Path: "a"}, MoveFile{Source: "k", Dest: "a"}} {
		dir := t.TempDir()
		fill(t, dir, map[string]string{"a": "w", "k": "k"})
		linkedTo(t, dir, "", "b", "a")
		x := newExecutor(t, Config{Dir: dir, NoSync: true})
		carried(t, x, change)
		if err := os.WriteFile(filepath.Join(dir, "b"), []byte("theirs"), 0o644); err != nil {
			t.Fatal(err)
		}
		changed := namesIn(t, dir)
		_, err := x.Execute(t.Context(), &Session{}, Undo{})
		if no, ok := errors.AsType[*UndoError](err); !ok || !no.Force {
			t.Fatalf("%v", err)
		}
		done := carried(t, x, Undo{Force: true})
		if got, want := namesIn(t, dir), "/a=theirs (file 0)\n/b=theirs (file 0)\n/k=k (file 1)"; got != want {
			t.Errorf("undone there is\n%s\nwant\n%s", got, want)
		}
		undoes(t, x, done.(Reverted).UndoID())
		if got := namesIn(t, dir); got != changed {
			t.Errorf("made again there is\n%s\nwant\n%s", got, changed)
		}
	}
}

// namesIn lists files with their contents; a file with several names has the first.
func namesIn(t *testing.T, dir string) string {
	t.Helper()
	var list []string
	var seen []os.FileInfo
	err := filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		info, serr := os.Stat(name)
		if err = errors.Join(err, serr); err != nil || info.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		i := slices.IndexFunc(seen, func(o os.FileInfo) bool { return os.SameFile(o, info) })
		if i < 0 {
			i, seen = len(seen), append(seen, info)
		}
		list = append(list, fmt.Sprintf("%s=%s (file %d)", strings.TrimPrefix(name, dir), data, i))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, "\n")
}

// Names of a file may also be outside of the workspace ("/…"), or those under which the history keeps
// what an operation took away. A command changes what is left of it: the undo of each change finds
// what it needs, and so does a redo.
func TestUndoOfNamesThatAreNotSeen(t *testing.T) {
	remove := func(name string) func(*testing.T, *Executor) {
		return func(t *testing.T, x *Executor) { carried(t, x, DeleteFile{Path: name}) }
	}
	move := func(name string) func(*testing.T, *Executor) {
		return func(t *testing.T, x *Executor) { carried(t, x, MoveFile{Source: name, Dest: "b"}) }
	}
	run := func(line string) func(*testing.T, *Executor) {
		return func(t *testing.T, x *Executor) { shell(t, x, line) }
	}
	for name, tt := range map[string]struct {
		links   []string
		changes []func(*testing.T, *Executor)
		undone  []string // after each undo
	}{
		"a new name": {[]string{"b", "a"}, []func(*testing.T, *Executor){remove("a"), run("echo c7 > b; ln b c")},
			[]string{"b=w k=k", "a=w b=w k=k"}},
		"a new name before it": {[]string{"n", "a", "b", "a"}, []func(*testing.T, *Executor){remove("n"), remove("a"), run("echo c7 > b; ln b a")},
			[]string{"b=w k=k", "a=w b=w k=k", "a=w b=w k=k n=w"}},
		"a new name of a file that was moved": {[]string{"b", "a"}, []func(*testing.T, *Executor){move("a"), run("echo c7 > b; ln b c")},
			[]string{"b=w k=k", "a=w b=w k=k"}},
		"a name in the place of a file": {[]string{"b", "a"}, []func(*testing.T, *Executor){remove("a"), run("echo c7 > b; ln -f b k")},
			[]string{"b=w k=k", "a=w b=w k=k"}},
		"a new name, and one less": {[]string{"b", "a", "g", "a"}, []func(*testing.T, *Executor){remove("a"), run("echo c7 > b; ln b c; rm g")},
			[]string{"b=w g=w k=k", "a=w b=w g=w k=k"}},
		"a file in its place": {[]string{"b", "a"}, []func(*testing.T, *Executor){move("k"), run("echo q >> a"), run("printf v > t; mv t a")},
			[]string{"a=wq b=k", "a=w b=k"}},
		"a file in its place, and the other removed": {[]string{"b", "a"}, []func(*testing.T, *Executor){remove("b"), run("echo q >> a"), run("printf v > t; mv t a")},
			[]string{"a=wq k=k", "a=w k=k"}},
		"a link outside, and a file in its place": {[]string{"/o", "a"}, []func(*testing.T, *Executor){run("echo q >> a"), run("rm a; echo r > a")},
			[]string{"a=wq k=k", "a=w k=k"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, outside := t.TempDir(), t.TempDir()
			fill(t, dir, map[string]string{"a": "w", "k": "k"})
			linkedTo(t, dir, outside, tt.links...)
			x := newExecutor(t, Config{Dir: dir, NoSync: true})
			for _, change := range tt.changes {
				change(t, x)
			}
			there, out := namesIn(t, dir), listed(t, outside)
			for i, want := range tt.undone {
				done, err := x.Execute(t.Context(), &Session{}, Undo{})
				if err != nil {
					t.Fatal(err)
				}
				if got := listed(t, dir); got != want {
					t.Fatalf("undone there is %q, want %q", got, want)
				}
				if i > 0 {
					continue
				}
				undoes(t, x, done.(Reverted).UndoID())
				if got := namesIn(t, dir); got != there {
					t.Fatalf("made again there is\n%s\nwant\n%s", got, there)
				}
				carried(t, x, Undo{})
			}
			if got := listed(t, outside); got != out {
				t.Errorf("outside there is %q, want %q", got, out)
			}
		})
	}
}

// An undo of several changes goes on where its first made a file of its own of a name.
func TestUndoSinceOfPartedName(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	fill(t, dir, map[string]string{"a": "w"})
	linkedTo(t, dir, outside, "/o", "a")
	x := newExecutor(t, Config{Dir: dir, NoSync: true})
	first := shell(t, x, "echo q >> a")
	shell(t, x, "rm a; echo r > a")
	carried(t, x, Undo{Since: first.Undo})
	if got := listed(t, dir) + " " + listed(t, outside); got != "a=w o=wq" {
		t.Errorf("there is %s", got)
	}
}

// A name outside of the workspace that a command made is not written to, also if the history has one.
func TestUndoOfNewNameOutside(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	fill(t, dir, map[string]string{"a": "w"})
	linkedTo(t, dir, outside, "b", "a", "g", "a")
	x := newExecutor(t, Config{Dir: dir, NoSync: true})
	carried(t, x, DeleteFile{Path: "a"})
	shell(t, x, "echo c7 > b; rm g; ln b '"+outside+"/o'")
	carried(t, x, Undo{})
	if got := listed(t, dir) + " " + listed(t, outside); got != "b=w g=w o=c7" {
		t.Errorf("there is %s", got)
	}
}

// A command copies a folder by hard links, and writes to a file of both: its undo writes to what it has
// taken away, too. With force it is made again, and so is what only the copy has.
func TestRedoOfCopyByLinks(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, map[string]string{"d/b": "two"})
	x := newExecutor(t, Config{Dir: dir, NoSync: true})
	id := undoes(t, x, shell(t, x, "printf one > d/b; mkdir n; ln d/b n/b; echo unique > n/new").Undo)
	_, err := x.Execute(t.Context(), &Session{}, Undo{ID: id})
	if no, ok := errors.AsType[*UndoError](err); err != nil && (!ok || !no.Force) {
		t.Fatal(err)
	}
	if err != nil {
		do[Reverted](t, x, Undo{ID: id, Force: true})
	}
	if got := namesIn(t, dir); got != "/d/b=one (file 0)\n/n/b=one (file 0)\n/n/new=unique\n (file 1)" {
		t.Errorf("there is\n%s", got)
	}
}

// A forced undo replaces an empty folder that somebody made meanwhile: its own undo brings that back.
func TestUndoOfForcedFolder(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, map[string]string{"k/a": "one"})
	x := newExecutor(t, Config{Dir: dir, NoSync: true})
	shell(t, x, "mv k m")
	if err := os.Mkdir(filepath.Join(dir, "k"), 0o755); err != nil {
		t.Fatal(err)
	}
	moved := namesIn(t, dir)
	id := do[Reverted](t, x, Undo{Force: true}).Changes[0].ID
	for _, want := range []string{moved, "/k/a=one (file 0)", moved} {
		id = undoes(t, x, id)
		if got := namesIn(t, dir); got != want {
			t.Errorf("there is\n%s\nwant\n%s", got, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "k")); err != nil {
		t.Error(err)
	}
}
