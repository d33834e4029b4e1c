package history

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"textskill/skill/internal/workspace/tree"
	"textskill/testdata/needs"
)

// walkOf returns a Walker of a folder.
func walkOf(dir string) Walker {
	return func(_ context.Context, visit func(int, Visited) error) error {
		return filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			rel, _ := filepath.Rel(dir, p)
			if err != nil || rel == "." {
				return err
			}
			folder := strings.TrimPrefix(filepath.Dir(rel), ".")
			return visit(0, Visited{Folder: folder, Name: []byte(d.Name()), File: infoOf{d}})
		})
	}
}

type infoOf struct{ fs.DirEntry }

func (i infoOf) Stat() (tree.Info, error) {
	info, err := i.Info()
	if err != nil {
		return tree.Info{}, err
	}
	return tree.InfoOf(info), nil
}

// treeOf describes the files in a folder: kinds, permissions and contents.
func treeOf(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %v", strings.TrimPrefix(p, dir), info.Mode())
		if info.Mode().IsRegular() {
			data, _ := os.ReadFile(p)
			fmt.Fprintf(&b, " %.60q %d", data, len(data))
		}
		target, _ := os.Readlink(p)
		fmt.Fprintln(&b, target)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// commands are commands that change the files that fill makes.
var commands = map[string]func(in func(string) string){
	"contents": func(in func(string) string) {
		os.WriteFile(in("a"), []byte("new a"), 0o644)
		os.WriteFile(in("d/a"), []byte("new d/a"), 0o600)
		os.Chmod(in("d/b"), 0o755)
	},
	"removals": func(in func(string) string) {
		os.RemoveAll(in("d"))
		os.Remove(in("link"))
	},
	"creations": func(in func(string) string) {
		os.MkdirAll(in("x/y/z"), 0o700)
		os.WriteFile(in("x/y/z/f"), []byte("f"), 0o644)
		os.Symlink("a", in("x/l"))
	},
	"kinds": func(in func(string) string) {
		os.RemoveAll(in("d"))
		os.WriteFile(in("d"), []byte("a file"), 0o644)
		os.Remove(in("a"))
		os.MkdirAll(in("a/b"), 0o755)
		os.Remove(in("link"))
		os.WriteFile(in("link"), []byte("no link"), 0o644)
	},
	"moves": func(in func(string) string) {
		os.Rename(in("a"), in("b"))
		os.Rename(in("d"), in("e"))
	},
	"swaps": func(in func(string) string) {
		os.Rename(in("a"), in("t"))
		os.Rename(in("d/a"), in("a"))
		os.Rename(in("t"), in("d/a"))
	},
	"read-only": func(in func(string) string) {
		os.Chmod(in("shut"), 0o755)
		os.Chmod(in("shut/in"), 0o755)
		os.Remove(in("shut/in/f"))
		os.WriteFile(in("shut/in/new"), []byte("new"), 0o444)
		os.WriteFile(in("shut/f"), []byte("new f"), 0o444)
		os.Rename(in("shut/m"), in("d/m"))
		os.Mkdir(in("shut/made"), 0o755)
		os.WriteFile(in("shut/made/f"), []byte("made"), 0o444)
		os.Chmod(in("shut/made"), 0o555)
		os.Chmod(in("shut/in"), 0o555)
		os.Chmod(in("shut"), 0o555|fs.ModeSticky)
		os.Chmod(in("d"), 0o555)
	},
	"a repository": func(in func(string) string) {
		os.MkdirAll(in("repo/.git/objects/ab"), 0o755)
		os.WriteFile(in("repo/.git/objects/ab/cd"), []byte("object"), 0o444)
		os.WriteFile(in("repo/.git/HEAD"), []byte("ref: refs/heads/main\n"), 0o644)
		os.WriteFile(in("repo/f"), []byte("f"), 0o644)
		os.WriteFile(in("a"), []byte("new a"), 0o644)
		os.Chmod(in("repo"), 0o555)
	},
	"what is not kept": func(in func(string) string) {
		os.Rename(in("large"), in("larger"))
		os.WriteFile(in("a"), []byte("new a"), 0o644)
	},
	"what is not kept in a folder": func(in func(string) string) {
		os.Rename(in("box"), in("boxes"))
		os.WriteFile(in("boxes/new"), []byte("new"), 0o644)
	},
}

func fill(t testing.TB, in func(string) string) {
	t.Helper()
	for name, text := range map[string]string{"a": "old a", "d/a": "old d/a", "d/b": "old d/b",
		"d/e/f": "old f", "box/in/g": "g", "shut/f": "f", "shut/in/f": "f", "shut/m": "m"} {
		os.MkdirAll(filepath.Dir(in(name)), 0o755)
		if err := os.WriteFile(in(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	os.Symlink("a", in("link"))
	for _, name := range []string{"shut/in", "shut"} {
		os.Chmod(in(name), 0o555)
	}
	t.Cleanup(func() { // else a user may not remove them
		names, _ := filepath.Glob(in("../state/*/blobs/*"))
		for _, name := range []string{"shut", "d", "shut/in", "shut/made", "repo"} {
			names = append(names, in(name))
		}
		for _, name := range names {
			os.Chmod(name, 0o755)
		}
	})
	for _, name := range []string{"large", "box/large"} { // sparse
		if err := os.WriteFile(in(name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
		os.Truncate(in(name), MaxKept+1)
	}
}

// killed is the panic value of a step that ends the process.
type killed struct{}

// dies runs do and ends it before the n-th step, like a kill. Deferred calls in do have no effect, because
// the store is not used again. dies returns false if do has fewer steps.
func dies(s *Store, n int, do func()) (died bool) {
	steps := 0
	s.crash = func(string) {
		if steps++; steps == n {
			panic(killed{})
		}
	}
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(killed); !ok {
				panic(r)
			}
			died = true
			s.lock.Close() // like the end of the process
			<-s.busy       // so that Close does not block
		}
	}()
	do()
	return false
}

// A kill ends an undo and a redo of a command before each step, or before every sixth step in short tests.
// The next process finds the state before or after the undo, and can undo and redo.
func TestKilledAtEachStep(t *testing.T) {
	needs.InMemory(t)
	kills, first := 0, 0
	for name, command := range commands {
		for _, redo := range []bool{false, true} {
			first++ // in short tests, each case uses other steps
			for n := 1 + first%needs.Step(6); ; n += needs.Step(6) {
				died := false
				t.Run(fmt.Sprintf("%s/redo %v/%d", name, redo, n), func(t *testing.T) {
					died = killedAt(t, command, redo, n)
				})
				if !died || t.Failed() {
					break
				}
				kills++
			}
		}
	}
	t.Logf("%d kills", kills)
}

func killedAt(t *testing.T, command func(in func(string) string), redo bool, n int) bool {
	base := t.TempDir()
	ws := base + "/ws"
	in := func(name string) string { return ws + "/" + name }
	os.Mkdir(ws, 0o755)
	fill(t, in)
	first := treeOf(t, ws)
	o := Options{Root: ws, Dir: base + "/state", NoSync: true}
	s := open(t, o)
	c, err := s.Begin(t.Context(), About{Command: "true"}, ".", 64<<20, walkOf(ws))
	if err != nil {
		t.Fatal(err)
	}
	command(in)
	op, err := c.End(t.Context())
	if err != nil || op.ID == 0 {
		t.Fatalf("%+v, %v", op, err)
	}
	last := treeOf(t, ws)
	back := func(s *Store, id int64) (int64, error) {
		tx, err := s.Lock(t.Context())
		if err != nil {
			return 0, err
		}
		u, err := tx.Undo(t.Context(), id, How{Config: true})
		tx.End()
		if err != nil {
			return 0, err
		}
		return u.Op.ID, nil
	}
	id := op.ID
	before, after := last, first
	if redo {
		if id, err = back(s, id); err != nil {
			t.Fatal(err)
		}
		before, after = after, before
		if got := treeOf(t, ws); got != first {
			t.Fatalf("undone:\n%s\nwant\n%s", got, first)
		}
	}
	died := dies(s, n, func() {
		if _, err := back(s, id); err != nil {
			t.Fatal(err)
		}
	})
	fresh := open(t, o)
	tx, err := fresh.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	inForce := tx.InForce(op.ID)
	tx.End()
	want := first
	if inForce {
		want = last
	}
	got := treeOf(t, ws)
	if got != before && got != after || got != want {
		t.Fatalf("died %v, in force %v:\n%s\nwant\n%s", died, inForce, got, want)
	}
	for range 2 { // the next undo works, and so does the redo
		tx, err := fresh.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		id, inForce := op.ID, tx.InForce(op.ID)
		if !inForce {
			id = tx.log.undoes[op.ID]
			for tx.log.undoes[id] != 0 && tx.log.undoes[id] != id {
				id = tx.log.undoes[id]
			}
		}
		tx.End()
		if _, err := back(fresh, id); err != nil {
			t.Fatalf("in force %v, undo of %d: %v", inForce, id, err)
		}
		want := last
		if inForce {
			want = first
		}
		if got := treeOf(t, ws); got != want {
			t.Fatalf("the next undo, in force %v:\n%s\nwant\n%s", inForce, got, want)
		}
	}
	return died
}

// A command whose process is killed becomes an ordinary change.
func TestKilledCommand(t *testing.T) {
	for name, command := range commands {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			ws := base + "/ws"
			in := func(name string) string { return ws + "/" + name }
			os.Mkdir(ws, 0o755)
			fill(t, in)
			first := treeOf(t, ws)
			o := Options{Root: ws, Dir: base + "/state", NoSync: true}
			s := open(t, o)
			c, err := s.Begin(t.Context(), About{Command: "make"}, ".", 64<<20, walkOf(ws))
			if err != nil {
				t.Fatal(err)
			}
			command(in)
			tree.Touch(c.file) // the last heartbeat
			c.leaveOpen()      // ends the process's lock
			last := treeOf(t, ws)
			fresh := open(t, o)
			tx, err := fresh.Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer tx.End()
			ids := tx.Standing()
			if len(ids) != 1 {
				t.Fatalf("changes are %v", ids)
			}
			at, _ := tx.log.find(ids[0])
			if op := tx.log.op(at); op.Command != "make" {
				t.Errorf("%+v", op)
			}
			u, err := tx.Undo(t.Context(), ids[0], How{})
			if err != nil {
				t.Fatal(err)
			}
			if got := treeOf(t, ws); got != first {
				t.Fatalf("undone:\n%s\nwant\n%s", got, first)
			}
			if _, err := tx.Undo(t.Context(), u.Op.ID, How{}); err != nil {
				t.Fatal(err)
			}
			if got := treeOf(t, ws); got != last {
				t.Fatalf("made again:\n%s\nwant\n%s", got, last)
			}
		})
	}
}

// A log of a newer version is refused with an explanation, and not changed.
func TestNewerLog(t *testing.T) {
	base := t.TempDir()
	ws := base + "/ws"
	os.Mkdir(ws, 0o755)
	o := Options{Root: ws, Dir: base + "/state", NoSync: true}
	s := open(t, o)
	add(t, s)
	name := filepath.Join(s.Path(), logName)
	s.Close()
	text, err := seal(header{Version: logVersion + 1})
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, "what nobody knows yet\n"...)
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	s = open(t, o)
	_, err = s.Lock(t.Context())
	if _, ok := errors.AsType[*VersionError](err); !ok || !strings.Contains(err.Error(), "newer") {
		t.Errorf("%v", err)
	}
	if now, _ := os.ReadFile(name); string(now) != string(text) {
		t.Errorf("the log is %q", now)
	}
}

// aLog returns a log of some changes; one is undone.
func aLog(t testing.TB, n int) []byte {
	t.Helper()
	var text []byte
	for _, v := range []any{header{Version: logVersion}} {
		line, err := seal(v)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, line...)
	}
	for i := range n {
		line, err := seal(&Op{ID: int64(i + 1), Kind: "write", Time: time0,
			Deltas: []Delta{{Path: "f", After: Entry{Kind: File}}}})
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, line...)
	}
	line, err := seal(&Op{ID: int64(n + 1), Kind: KindUndo, Undoes: 1, Time: time0,
		Deltas: []Delta{{Path: "f"}}})
	if err != nil {
		t.Fatal(err)
	}
	return append(text, line...)
}

func checkLog(t testing.TB, data []byte) {
	t.Helper()
	name := t.TempDir()
	if err := os.WriteFile(filepath.Join(name, logName), data, 0o600); err != nil {
		t.Fatal(err)
	}
	dir, err := os.OpenRoot(name)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	l, err := openLog(dir, false, true)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	if err := l.read(true); err != nil {
		return
	}
	for i, at := range l.lines {
		if i > 0 && at.id <= l.lines[i-1].id {
			t.Fatalf("change %d comes after %d", at.id, l.lines[i-1].id)
		}
		l.op(at)
		l.active(at.id)
		l.origin(at)
	}
	id := l.last() + 1
	if id <= 0 || id > 1<<60 {
		return
	}
	if err := l.add(&Op{ID: id, Kind: "write"}); err != nil {
		t.Fatal(err)
	}
	again, err := openLog(dir, true, true)
	if err != nil {
		t.Fatal(err)
	}
	defer again.close()
	if err := again.read(false); err != nil {
		t.Fatalf("read again: %v", err)
	}
	at, ok := again.find(id)
	if op := again.op(at); !ok || op == nil || op.ID != id {
		t.Fatalf("change %d is not found in %d lines", id, len(again.lines))
	}
}

// A log that is damaged at any byte or truncated anywhere is read as far as possible.
func TestLogDamagedAnywhere(t *testing.T) {
	needs.InMemory(t)
	whole := aLog(t, 4)
	bits := []byte{1, 0x80, 0xff}
	if os.Getenv("SKILL_TEST_LONG") == "" {
		bits = []byte{1 << rand.IntN(8)}
	}
	for i := range whole {
		for _, bit := range bits {
			flipped := append([]byte(nil), whole...)
			flipped[i] ^= bit
			checkLog(t, flipped)
		}
		checkLog(t, whole[:i])
		zeroed := append([]byte(nil), whole...)
		clear(zeroed[i:])
		checkLog(t, zeroed)
	}
}

// A killed command with a lost index is recorded with unknown changes: no file of the user counts as its
// own.
func TestKilledCommandWithoutIndex(t *testing.T) {
	for name, damage := range map[string]func(index string) error{
		"lost":   os.Remove,
		"broken": func(index string) error { return os.Truncate(index, 10) },
	} {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			ws := base + "/ws"
			in := func(name string) string { return ws + "/" + name }
			os.Mkdir(ws, 0o755)
			fill(t, in)
			o := Options{Root: ws, Dir: base + "/state", NoSync: true}
			s := open(t, o)
			c, err := s.Begin(t.Context(), About{Command: "make"}, ".", 64<<20, walkOf(ws))
			if err != nil {
				t.Fatal(err)
			}
			os.WriteFile(in("made"), nil, 0o644)
			c.leaveOpen()
			if err := damage(filepath.Join(s.Path(), indexName)); err != nil {
				t.Fatal(err)
			}
			before := treeOf(t, ws)
			fresh := open(t, o)
			tx, err := fresh.Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, err = tx.Undo(t.Context(), tx.log.last(), How{Force: true})
			tx.End()
			if _, ok := errors.AsType[*ConflictError](err); !ok {
				t.Errorf("%v", err)
			}
			if got := treeOf(t, ws); got != before {
				t.Fatalf("%s\nwant\n%s", got, before)
			}
			again, err := fresh.Begin(t.Context(), About{Command: "again"}, ".", 64<<20, walkOf(ws))
			if err != nil {
				t.Fatal(err)
			}
			os.Remove(in("a"))
			op, err := again.End(t.Context())
			if err != nil || len(op.Deltas) != 1 {
				t.Errorf("the next command: %+v, %v", op, err)
			}
		})
	}
}

// A kill ends the removal of a folder on another file system half way. The next process finds the folder whole,
// or removed and in the history.
func TestKilledRemoval(t *testing.T) {
	needs.InMemory(t)
	for place, dir := range map[string]string{"portable": "", "another disk": "/tmp"} {
		for _, then := range []string{absent, File} {
			t.Run(fmt.Sprintf("%s/%q", place, then), func(t *testing.T) {
				ws, err := os.MkdirTemp(dir, "removal")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { os.RemoveAll(ws) })
				in := func(name string) string { return ws + "/" + name }
				for _, name := range []string{"d/a/1", "d/a/2", "d/b/3", "d/c"} {
					os.MkdirAll(filepath.Dir(in(name)), 0o755)
					if err := os.WriteFile(in(name), []byte(name), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				first := treeOf(t, ws)
				o := Options{Root: ws, Dir: t.TempDir() + "/state", Portable: place == "portable"}
				s := open(t, o)
				tx, err := s.Lock(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				is, err := s.at("d", Entry{Kind: Dir, Whole: true, Sum: "wanted"})
				if err != nil {
					t.Fatal(err)
				}
				is.Ino = 0 // as a tool records it
				op := &Op{Kind: "delete", Deltas: []Delta{{Path: "d", Before: is.Keep()}}}
				if then == File { // as if the removal were a step of a change that goes on
					op.Deltas[0].After = Entry{Kind: File, Mode: 0o644, Size: 3, Sum: strings.Repeat("0", sumLength*2)}
				}
				if err := tx.Add(op); err != nil {
					t.Fatal(err)
				}
				s.crash = func(step string) {
					if step == "aside" {
						if err := os.RemoveAll(in(TempName + "/a")); err != nil {
							t.Error(err)
						}
						panic(killed{})
					}
				}
				func() {
					defer func() {
						recover()
						s.lock.Close() // like the end of the process
						<-s.busy
					}()
					d, base, err := s.parent("d")
					if err != nil {
						t.Fatal(err)
					}
					t.Errorf("not killed: %v", tx.Keeper(op, 0).Take(d, base))
				}()
				fresh := open(t, o)
				if tx, err = fresh.Lock(t.Context()); err != nil {
					t.Fatal(err)
				}
				if tx.InForce(op.ID) {
					if _, err = tx.Undo(t.Context(), op.ID, How{}); err != nil {
						t.Error(err)
					}
				}
				tx.End()
				if got := treeOf(t, ws); got != first {
					t.Errorf("there is\n%s\nwant\n%s", got, first)
				}
			})
		}
	}
}

// A file that a killed undo has restored gets a time in another second than the version that it replaced.
func TestKilledUndoRenews(t *testing.T) {
	for n := 1; ; n++ {
		base := t.TempDir()
		ws := base + "/ws"
		write := func(text string) {
			if err := os.WriteFile(ws+"/f", []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		os.Mkdir(ws, 0o755)
		write("first")
		o := Options{Root: ws, Dir: base + "/state", NoSync: true}
		s := open(t, o)
		c, err := s.Begin(t.Context(), About{Command: "true"}, ".", 64<<20, walkOf(ws))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second))) // all in one second
		write("second")
		was, err := os.Stat(ws + "/f")
		if err != nil {
			t.Fatal(err)
		}
		op, err := c.End(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		undo := func() {
			tx, err := s.Lock(t.Context())
			if err == nil {
				_, err = tx.Undo(t.Context(), op.ID, How{})
				tx.End()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		died := dies(s, n, undo)
		if fresh := open(t, o); died {
			tx, err := fresh.Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			tx.End()
		}
		data, err := os.ReadFile(ws + "/f")
		is, serr := os.Stat(ws + "/f")
		if err != nil || serr != nil {
			t.Fatal(err, serr)
		}
		if string(data) == "first" && is.ModTime().Unix() == was.ModTime().Unix() {
			t.Errorf("killed before step %d: the restored file has the time %v, like the other version", n, is.ModTime())
		}
		if !died {
			break
		}
	}
}

// A command begins while tools make and change files: undo restores what the command then overwrites. A tool that
// changes a file after the look at it knows of no command, so the begin keeps what the tool left.
func TestToolsWhileACommandBegins(t *testing.T) {
	for _, beside := range []bool{false, true} {
		testToolsWhileACommandBegins(t, beside)
	}
}

// With beside, another command ends just before the tools change files.
func testToolsWhileACommandBegins(t *testing.T, beside bool) {
	base := t.TempDir()
	ws := base + "/ws"
	os.Mkdir(ws, 0o755)
	for _, name := range []string{"looked", "locked", "kept", "saved"} {
		if err := os.WriteFile(ws+"/"+name, []byte("first"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o := Options{Root: ws, Dir: base + "/state", NoSync: true}
	s, other := open(t, o), open(t, o)
	var first *Command
	if beside {
		var err error
		if first, err = other.Begin(t.Context(), About{Command: "true"}, ".", 64<<20, walkOf(ws)); err != nil {
			t.Fatal(err)
		}
	}
	looks := 0
	walk := func(ctx context.Context, visit func(int, Visited) error) error {
		err := walkOf(ws)(ctx, visit)
		if looks++; looks == 1 {
			if first != nil {
				if _, err := first.End(t.Context()); err != nil {
					t.Error(err)
				}
				if err := os.WriteFile(ws+"/saved", []byte("of a person"), 0o644); err != nil {
					t.Error(err)
				}
			}
			write(t, other, "looked", "of a tool")
			write(t, other, "new", "of a tool")
		}
		return err
	}
	c, err := s.Begin(t.Context(), About{Command: "true"}, ".", 64<<20, walk)
	if err != nil {
		t.Fatal(err)
	}
	write(t, other, "locked", "of a tool")
	before := treeOf(t, ws)
	for _, name := range []string{"looked", "new", "locked", "kept", "saved"} {
		if err := os.WriteFile(ws+"/"+name, []byte("of the command"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	op, err := c.End(t.Context())
	if err != nil || len(op.Left) > 0 {
		t.Fatalf("%+v, %v", op, err)
	}
	tx, err := s.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.End()
	if _, err := tx.Undo(t.Context(), op.ID, How{}); err != nil {
		t.Fatal(err)
	}
	if after := treeOf(t, ws); after != before {
		t.Errorf("undo restored\n%s\nnot\n%s", after, before)
	}
}
