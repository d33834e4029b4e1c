//go:build linux || darwin

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"textskill/skill/internal/history"
)

// Of this program's records, only the output of commands can be read.
func TestOutputIsReadAndNotChanged(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("d/f=x", ".skill/output/a.log=x", "d/.skill/output/a.log=x", "l => output")
		w := s.open(Options{AllowConfig: true})
		dir, err := w.State(history.Output)
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		output := w.OutputDir()
		for _, err := range []error{dir.WriteFile("a.log", []byte("printed"), 0o600),
			dir.Symlink("../root.json", "out"), os.Remove(s.p("l")), os.Symlink(output, s.p("l"))} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{output + "/a.log", output + "/../output/a.log", s.p("l/a.log")} {
			if data, err := w.ReadFile(name); err != nil || string(data) != "printed" {
				t.Errorf("%s: %q, %v", name, data, err)
			}
		}
		c, err := w.Copy(bg, output+"/a.log", s.p("copy"), CopyOptions{})
		must(t, c, err)
		s.has("copy", "printed")
		for _, name := range []string{output + "/../root.json", output + "/out", output + "s/a.log",
			filepath.Dir(output), filepath.Dir(output) + "/log", s.p("l/../root.json"),
			s.p(".skill/output/a.log"), s.p("d/.skill/output/a.log")} {
			if _, err := w.ReadFile(name); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, name := range []string{output + "/a.log", output + "/new", output, s.p("l/a.log")} {
			_, err := w.WriteFile(bg, name, nil, WriteOptions{})
			_, rerr := w.Remove(bg, name, RemoveOptions{Tree: true})
			_, cerr := w.Copy(bg, s.p("d/f"), name, CopyOptions{Replace: true})
			_, merr := w.Move(bg, name, s.p("moved"), MoveOptions{})
			for _, err := range []error{err, rerr, cerr, merr} {
				if !isDenied(err) {
					t.Errorf("%s is changed: %v", name, err)
				}
			}
		}
	})
}

func TestStateIsMadeForThisUserAlone(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		w := s.open(Options{})
		for range 2 {
			dir, err := w.State(history.Output)
			if err != nil {
				t.Fatal(err)
			}
			if err := dir.WriteFile("a.log", nil, 0o600); err != nil {
				t.Error(err)
			}
			dir.Close()
		}
		for _, name := range []string{w.OutputDir(), filepath.Dir(w.OutputDir())} {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%s: %v, %v", name, info, err)
			}
		}
		s.lacks(StateDir)
	})
}

func TestStateIsMadeWhereChangesAreAllowed(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		for name, o := range map[string]Options{"read": {ReadOnly: true}, "dry": {DryRun: true}} {
			if _, err := s.open(o).State(history.Output); !errors.Is(err, syscall.EROFS) {
				t.Errorf("%s: %v", name, err)
			}
		}
		s.lacks(StateDir)
		if list, _ := os.ReadDir(s.base + "/" + stateHome); len(list) > 0 {
			t.Errorf("%v is made", list)
		}
	})
}
