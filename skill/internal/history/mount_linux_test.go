package history

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"textskill/skill/internal/workspace/tree"
	"textskill/testdata/needs"
)

// write records the change of a file's content, as a tool does.
func write(t *testing.T, s *Store, name Name, text string) {
	t.Helper()
	tx, err := s.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.End()
	before, err := s.at(name)
	if err != nil {
		t.Fatal(err)
	}
	op := &Op{Kind: "write", Deltas: []Delta{{Path: name, Before: tx.Describe(name, before), After: Entry{Kind: File, Mode: 0o644}.Holds([]byte(text))}}}
	if err := tx.Add(op); err != nil {
		t.Fatal(err)
	}
	d, base, err := s.parent(name)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if before.Kind == File {
		if err := tx.Keeper(op, 0).Save(d, base); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(s.o.Root, string(name)), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	tx.Made()
}

// visit opens a history for one use.
func visit(t *testing.T, o Options, use func(s *Store)) {
	t.Helper()
	root, err := tree.Open(o.Root, false)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	o.Tree, o.NoSync = root, true
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	use(s)
}

func run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v %s", args, err, out)
	}
	return string(out)
}

// undoLast undoes the newest change.
func undoLast(t *testing.T, s *Store, how How) error {
	t.Helper()
	tx, err := s.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.End()
	u, err := tx.Undo(t.Context(), tx.log.last(), how)
	for _, d := range u.Folders {
		d.Close()
	}
	return err
}

// number gives a disk of NTFS the serial number that all disks of the test have.
func number(t *testing.T, disk string) {
	t.Helper()
	f, err := os.OpenFile(disk, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("8 bytes."), 72); err != nil {
		t.Fatal(err)
	}
}

// Two disks that are mounted at the same place, one after the other, have each a history of its own. A disk that
// nothing names has the history of the place, and only force undoes changes from before the mount.
func TestDisksAtOnePlace(t *testing.T) {
	needs.Root(t)
	tests := []struct {
		name  string
		make  []string // a file system in a file
		mount []string // a device at a folder
		named bool
	}{
		{"exfat", []string{"mkfs.exfat"}, []string{"mount.exfat-fuse"}, true},
		{"ntfs", []string{"mkntfs", "-q", "-F"}, []string{"ntfs-3g"}, true},
		{"bindfs", nil, []string{"bindfs"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			needs.Program(t, "losetup", tt.mount[0])
			base := t.TempDir()
			m, state := mkdir(t, base+"/m", 0), t.TempDir()
			device, disks := "", [2]string{}
			for i := range disks {
				disks[i] = fmt.Sprint(base, "/disk", i)
				if tt.make == nil {
					mkdir(t, disks[i], 0)
					continue
				}
				needs.Program(t, tt.make[0])
				run(t, "truncate", "-s", "20M", disks[i])
				run(t, append(tt.make, disks[i])...)
				if tt.name == "ntfs" { // mkntfs makes the serial number of the seconds
					number(t, disks[i])
				}
			}
			if tt.make != nil {
				device = strings.TrimSpace(run(t, "losetup", "-f"))
			}
			mount := func(disk string) (unmount func()) {
				source := disk
				if device != "" {
					out, err := exec.Command("losetup", device, disk).CombinedOutput()
					for n := 0; err != nil && n < 100; n++ { // other tests take loop devices too
						time.Sleep(100 * time.Millisecond)
						out, err = exec.Command("losetup", device, disk).CombinedOutput()
					}
					needs.That(t, err == nil, "a loop device: "+string(out), "run the tests where /dev/loop may be used")
					source = device
				}
				out, err := exec.Command(tt.mount[0], append(tt.mount[1:], source, m)...).CombinedOutput()
				needs.That(t, err == nil, "a FUSE mount: "+string(out), "run the tests where /dev/fuse may be used")
				return func() {
					run(t, "umount", m)
					if device != "" {
						run(t, "losetup", "-d", device)
					}
				}
			}
			o := Options{Root: m + "/p", Dir: state}
			holds := func(want string) {
				t.Helper()
				if data, err := os.ReadFile(m + "/p/s.txt"); string(data) != want {
					t.Errorf("s.txt is %q, %v", data, err)
				}
			}

			unmount := mount(disks[0])
			mkdir(t, m+"/p", 0)
			visit(t, o, func(s *Store) { write(t, s, "s.txt", "secret") })
			visit(t, o, func(s *Store) { write(t, s, "s.txt", "no") })
			unmount()

			unmount = mount(disks[1])
			mkdir(t, m+"/p", 0)
			os.WriteFile(m+"/p/s.txt", []byte("no"), 0o644)
			visit(t, o, func(s *Store) {
				_, last, err := s.Last(t.Context())
				switch {
				case err != nil || tt.named && last != 0:
					t.Errorf("the second disk: changes up to %d, %v", last, err)
				case !tt.named:
					conflict, refused := errors.AsType[*ConflictError](undoLast(t, s, How{}))
					if !refused || !conflict.Force || s.Strange(last) == "" {
						t.Errorf("undo on an unnamed disk: %v", conflict)
					}
					holds("no")
					if err := undoLast(t, s, How{Force: true}); err != nil {
						t.Error("by force:", err)
					}
					holds("secret")
				}
			})
			unmount()

			unmount = mount(disks[0])
			defer func() { unmount() }()
			if holds("no"); tt.named {
				os.ReadDir(m) // now p has another number
				visit(t, o, func(s *Store) {
					if err := undoLast(t, s, How{}); err != nil {
						t.Error("on the first disk:", err)
					}
				})
				holds("secret")
			}
		})
	}
}

// Nothing that a process left half done on one disk is completed on another.
func TestKilledOnAnotherDisk(t *testing.T) {
	needs.Root(t)
	needs.Program(t, "bindfs")
	base := t.TempDir()
	m, a, b, state := mkdir(t, base+"/m", 0), mkdir(t, base+"/a", 0), mkdir(t, base+"/b", 0), t.TempDir()
	mount := func(source string) {
		out, err := exec.Command("bindfs", source, m).CombinedOutput()
		needs.That(t, err == nil, "a FUSE mount: "+string(out), "run the tests where /dev/fuse may be used")
	}
	mount(a)
	o := Options{Root: m, Dir: state}
	visit(t, o, func(s *Store) {
		tx, err := s.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer tx.End() // without Made
		after := Entry{Kind: File, Mode: 0o644}.Holds([]byte("new"))
		if err := tx.Add(&Op{Kind: "write", Deltas: []Delta{{Path: "f", After: after}, {Path: "g", After: after}}}); err != nil {
			t.Fatal(err)
		}
	})
	run(t, "umount", m)

	mount(b)
	defer exec.Command("umount", m).Run()
	if err := os.WriteFile(m+"/f", []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	visit(t, o, func(s *Store) {
		tx, err := s.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tx.End()
	})
	if data, err := os.ReadFile(m + "/f"); string(data) != "new" {
		t.Errorf("%q, %v", data, err)
	}
}
