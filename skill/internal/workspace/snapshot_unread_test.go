//go:build linux || darwin

package workspace

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is in a folder that a command makes readable was there before. Undo does not take it for new, and says so
// where it is not kept.
func TestSnapshotUnread(t *testing.T) {
	if !asNobody(t) {
		return
	}
	for _, tt := range []struct {
		name string
		run  func(in func(string) string) error
		stay string // where f is after the undo; "" for nowhere
		left string
	}{
		{"read", func(in func(string) string) error { return os.WriteFile(in("locked/new"), nil, 0o600) }, "locked/f", "locked"},
		{"moved", func(in func(string) string) error { return os.Rename(in("locked"), in("open")) }, "open/f", "open"},
		{"moved into", func(in func(string) string) error {
			os.Mkdir(in("n"), 0o700)
			return os.Rename(in("locked"), in("n/l"))
		}, "n/l/f", "n/l"},
		{"removed", func(in func(string) string) error { return os.RemoveAll(in("locked")) }, "", "locked"},
		{"removed with more", func(in func(string) string) error { return os.RemoveAll(in("d")) }, "locked/f", "d/locked"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			in := func(name string) string { return filepath.Join(dir, name) }
			unlock := func() { // for the clean-up, too
				for _, name := range []string{"locked", "d/locked"} {
					os.Chmod(in(name), 0o700)
				}
			}
			defer unlock()
			for _, name := range []string{"locked", "d/locked"} {
				os.MkdirAll(in(name), 0o700)
				os.WriteFile(in(name+"/f"), []byte("f"), 0o600)
				os.Chmod(in(name), 0)
			}
			w, err := Open(Options{Dir: dir, State: t.TempDir(), NoSync: true})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			snapshot, err := w.Snapshot(bg, 1<<30, func(_ context.Context, visit func(int, Visited) error) error {
				return filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
					rel, _ := filepath.Rel(dir, name)
					if rel == "." || err != nil {
						return nil
					}
					folder := strings.TrimPrefix(filepath.Dir(rel), ".")
					return visit(0, Visited{Folder: folder, Name: []byte(e.Name()), File: statFunc(func() (Info, error) { return w.Stat(name, false) })})
				})
			})
			if err != nil {
				t.Fatal(err)
			}
			defer snapshot.Close()
			unlock()
			if err := tt.run(in); err != nil {
				t.Fatal(err)
			}
			c, left, err := snapshot.Record(bg, "test")
			if err != nil || len(left) == 0 || left[len(left)-1].Path != in(tt.left) && left[0].Path != in(tt.left) {
				t.Errorf("left is %q, %v, want %s", left, err, tt.left)
			}
			before := 0
			for _, id := range []string{c.ID, "2"} {
				if id == "" {
					break
				}
				if _, err := w.Undo(bg, UndoOptions{ID: id}); err != nil {
					t.Errorf("undo %s: %v", id, err)
				}
				if info, err := os.Stat(in("locked")); tt.stay == "locked/f" && (err != nil || int(info.Mode().Perm()) != before) {
					t.Errorf("%v, %v", info, err)
				}
				before = 0o700
			}
			if _, err := os.Stat(in(tt.stay)); tt.stay != "" && err != nil {
				t.Error(err)
			}
		})
	}
}
