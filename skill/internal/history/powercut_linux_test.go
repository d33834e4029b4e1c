package history

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"textskill/testdata/needs"
)

// A power cut may lose the number in the lock file. An acknowledged change stays in force, even if its
// file has changed since.
func TestPowerCutTakesNumber(t *testing.T) {
	for _, later := range []string{"removed", "written", "moved"} {
		t.Run(later, func(t *testing.T) {
			base := t.TempDir()
			os.Mkdir(base+"/ws", 0o755)
			o := Options{Root: base + "/ws", Dir: base + "/state", NoSync: true}
			s := open(t, o)
			os.WriteFile(base+"/ws/f", []byte("old"), 0o644)
			writeBy(t, s, "f", "new")
			switch later {
			case "removed":
				os.Remove(base + "/ws/f")
			case "written":
				os.WriteFile(base+"/ws/f", []byte("the user's"), 0o644)
			case "moved":
				os.Rename(base+"/ws/f", base+"/ws/g")
			}
			last := treeOf(t, base+"/ws")
			if err := os.Truncate(s.Path()+"/"+lockName, 0); err != nil {
				t.Fatal(err)
			}
			s.Close()
			tx, err := open(t, o).Lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer tx.End()
			if got := treeOf(t, base+"/ws"); got != last {
				t.Errorf("there is\n%s\nwant\n%s", got, last)
			}
			if !tx.Stands(1) {
				t.Error("the change is not in force")
			}
		})
	}
}

// writeBy writes a file like a tool.
func writeBy(t testing.TB, s *Store, name, content string) {
	t.Helper()
	tx, err := s.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.End()
	d, base, err := s.parent(Name(name))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	before, err := At(d, base, Entry{Kind: File, Sum: "wanted"})
	if err != nil {
		t.Fatal(err)
	}
	n, err := d.CreateUnnamed(0o644)
	if err != nil {
		t.Skip(err)
	}
	defer n.Close()
	n.WriteString(content)
	n.Sync()
	after := Entry{Kind: File, Mode: before.Mode}.Holds([]byte(content))
	op := &Op{Kind: "write", Deltas: []Delta{{Path: Name(name), Before: tx.Describe(Name(name), before),
		After: after}}}
	if err := tx.Add(op); err != nil {
		t.Fatal(err)
	}
	info, err := d.Lstat(base)
	if err != nil {
		t.Fatal(err)
	}
	k := tx.Keeper(op, 0)
	done, err := k.Exchange(n, d, base, info)
	if err == nil && !done {
		if err = d.LinkUnnamed(n, TempName); err == nil {
			err = d.Rename(TempName, d, base, true)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	tx.Made()
}

// Copies made before a command are not flushed. A tool that removes the file does not rely on its copy.
func TestPowerCutAfterCommand(t *testing.T) {
	needs.EachDisk(t, 1, "SKILL_TEST_CUTS", func(t *testing.T, _ int, disks []*needs.Disk) {
		for _, links := range []int{1, 2} {
			for _, tool := range []string{"write", "delete"} {
				t.Run(fmt.Sprint(tool, links),
					func(t *testing.T) { cutAfterCommand(t, disks[0], tool, links) })
			}
		}
	})
}

func cutAfterCommand(t *testing.T, disk *needs.Disk, tool string, links int) {
	base := disk.Dir + "/" + strings.ReplaceAll(t.Name(), "/", "-")
	ws := base + "/ws"
	os.MkdirAll(ws, 0o755)
	old := strings.Repeat("old", 5000)
	os.WriteFile(ws+"/f", []byte(old), 0o644)
	if links > 1 {
		os.Link(ws+"/f", ws+"/g")
	}
	o := Options{Root: ws, Dir: base + "/state"}
	s := open(t, o)
	disk.Flush()
	c, err := s.Begin(t.Context(), About{Command: "true"}, ".", 64<<20, walkOf(ws))
	if err != nil {
		t.Fatal(err)
	}
	c.Cancel()
	top, err := s.o.Tree.OpenFolder(".")
	if err != nil {
		t.Fatal(err)
	}
	defer top.Close()
	if tool == "delete" {
		deleteBy(t, s, "f")
	} else {
		writeBy(t, s, "f", "new")
	}
	if err := s.Flush(top); err != nil {
		t.Fatal(err)
	}
	disk.Cut()
	top.Close()
	s.Close()
	s.o.Tree.Close()
	disk.Remount()
	tx, err := open(t, o).Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.End()
	u, err := tx.Undo(t.Context(), 1, How{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range u.Folders {
		defer d.Close()
	}
	if data, err := os.ReadFile(ws + "/f"); string(data) != old {
		t.Errorf("f holds %d bytes, %v", len(data), err)
	}
}

// deleteBy removes a file like a tool.
func deleteBy(t testing.TB, s *Store, name string) {
	t.Helper()
	tx, err := s.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.End()
	d, base, err := s.parent(Name(name))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	before, err := At(d, base)
	if err != nil {
		t.Fatal(err)
	}
	op := &Op{Kind: "delete", Deltas: []Delta{{Path: Name(name), Before: tx.Describe(Name(name), before)}}}
	if err := tx.Add(op); err != nil {
		t.Fatal(err)
	}
	if err := tx.Keeper(op, 0).Take(d, base); err != nil {
		t.Fatal(err)
	}
	tx.Made()
}

// The next process finishes the undo of a killed process, and does not overwrite what the user has written
// meanwhile.
func TestKilledUndoKeepsEdits(t *testing.T) {
	base := t.TempDir()
	ws := base + "/ws"
	os.Mkdir(ws, 0o755)
	o := Options{Root: ws, Dir: base + "/state", NoSync: true}
	s := open(t, o)
	for i := range 3 {
		os.WriteFile(fmt.Sprint(ws, "/", i), []byte("old"), 0o644)
	}
	c, err := s.Begin(t.Context(), About{Command: "true"}, ".", 64<<20, walkOf(ws))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		os.WriteFile(fmt.Sprint(ws, "/", i), []byte("new"), 0o644)
	}
	if _, err := c.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !dies(s, 5, func() {
		tx, err := s.Lock(t.Context())
		if err == nil {
			_, err = tx.Undo(t.Context(), 1, How{})
			tx.End()
		}
		if err != nil {
			t.Fatal(err)
		}
	}) {
		t.Fatal("it was not killed")
	}
	os.WriteFile(ws+"/2", []byte("the user's"), 0o644)
	tx, err := open(t, o).Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.End()
	for i, want := range []string{"old", "old", "the user's"} {
		if data, _ := os.ReadFile(fmt.Sprint(ws, "/", i)); string(data) != want {
			t.Errorf("%d holds %q, want %q", i, data, want)
		}
	}
}

// A person saves a file before each step of an undo. The file keeps what was saved, and the undo changes all other files
// or none.
func TestSavesInUndo(t *testing.T) {
	saves := map[string]func(name string) error{
		"in place": func(name string) error { return os.WriteFile(name, []byte("mine"), 0o644) },
		"by a rename": func(name string) error {
			return errors.Join(os.WriteFile(name+".new", []byte("mine"), 0o644), os.Rename(name+".new", name))
		},
		"at the end": func(name string) error {
			f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
			if err != nil {
				return err
			}
			_, err = f.WriteString("mine")
			return errors.Join(err, f.Close())
		},
	}
	first := map[string]string{"changed": "1", "removed": "2", "from": "3", "other": "4"}
	last := map[string]string{"changed": "5", "made": "6", "to": "3", "other": "7"}
	names := maps.Clone(first)
	maps.Copy(names, last)
	for how, save := range saves {
		for _, name := range []string{"changed", "removed", "made", "from", "to"} {
			for n, ended := 1, false; !ended && !t.Failed(); n++ {
				t.Run(fmt.Sprint(name, " ", how, " ", n), func(t *testing.T) {
					ws := t.TempDir()
					is := func(files map[string]string) bool {
						for other := range names {
							data, err := os.ReadFile(ws + "/" + other)
							if want, ok := files[other]; other != name && (string(data) != want || (err == nil) != ok) {
								return false
							}
						}
						return true
					}
					for name, text := range first {
						os.WriteFile(ws+"/"+name, []byte(text), 0o644)
					}
					s := open(t, Options{Root: ws, Dir: t.TempDir(), NoSync: true})
					c, err := s.Begin(t.Context(), About{Command: "true"}, ".", 64<<20, walkOf(ws))
					if err != nil {
						t.Fatal(err)
					}
					os.Remove(ws + "/removed")
					os.Rename(ws+"/from", ws+"/to")
					for _, name := range []string{"changed", "made", "other"} {
						os.WriteFile(ws+"/"+name, []byte(last[name]), 0o644)
					}
					if _, err := c.End(t.Context()); err != nil {
						t.Fatal(err)
					}
					steps, saved := 0, error(nil)
					s.crash = func(string) {
						if steps++; steps == n {
							saved = save(ws + "/" + name)
						}
					}
					tx, err := s.Lock(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					_, err = tx.Undo(t.Context(), 1, How{})
					tx.End()
					if ended = steps < n; ended {
						return
					}
					if data, rerr := os.ReadFile(ws + "/" + name); saved != nil || rerr != nil ||
						!strings.HasSuffix(string(data), "mine") {
						t.Errorf("%s holds %q: %v, %v, %v", name, data, saved, rerr, err)
					}
					if all := name == "from" || name == "to"; err == nil && !is(first) && !all || err != nil && !is(last) && !all {
						t.Errorf("the undo ended with %v and left %s", err, treeOf(t, ws))
					}
				})
			}
		}
	}
}

// The next process removes git's lock files of a killed process.
func TestKilledWithGitLocks(t *testing.T) {
	for n := 1; ; n++ {
		ws := t.TempDir() + "/ws"
		os.MkdirAll(ws+"/.git", 0o755)
		os.WriteFile(ws+"/.git/HEAD", []byte("ref: refs/heads/main\n"), 0o644)
		o := Options{Root: ws, Dir: t.TempDir(), NoSync: true}
		s := open(t, o)
		writeBy(t, s, ".git/HEAD", "ref: refs/heads/other\n")
		if !dies(s, n, func() {
			tx, err := s.Lock(t.Context())
			if err == nil {
				_, err = tx.Undo(t.Context(), 1, How{})
				tx.End()
			}
			if err != nil {
				t.Fatal(err)
			}
		}) {
			break
		}
		tx, err := open(t, o).Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(ws + "/.git/HEAD.lock"); err == nil {
			t.Errorf("before step %d: the lock is there", n)
		}
		data, err := os.ReadFile(ws + "/.git/HEAD")
		if undone := string(data) == "ref: refs/heads/main\n"; undone == tx.InForce(1) {
			t.Errorf("before step %d: HEAD holds %q, %v, and the change is in force: %v", n, data, err,
				tx.InForce(1))
		}
		tx.End()
	}
}

// A look of another command keeps the content of a file while a tool writes the file. The file gets the new content.
func TestLookInWrite(t *testing.T) {
	ws := t.TempDir()
	os.WriteFile(ws+"/f", []byte("old"), 0o644)
	s := open(t, Options{Root: ws, Dir: t.TempDir(), NoSync: true})
	linked := false
	s.crash = func(step string) {
		if step != "linked" {
			return
		}
		linked = true
		if err := s.blobs.keepContent(SumOf([]byte("old")), strings.NewReader("old"), nil); err != nil {
			t.Error(err)
		}
	}
	writeBy(t, s, "f", "new")
	s.crash = func(string) {}
	data, err := os.ReadFile(ws + "/f")
	if info, serr := os.Stat(ws + "/f"); string(data) != "new" || err != nil || serr != nil || info.Mode() != 0o644 || !linked {
		t.Errorf("f holds %q, %v, %v, and it was linked: %v", data, err, info.Mode(), linked)
	}
	tx, err := s.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.End()
	if _, err := tx.Undo(t.Context(), 1, How{}); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(ws + "/f"); string(data) != "old" {
		t.Errorf("undone, f holds %q, %v", data, err)
	}
}
