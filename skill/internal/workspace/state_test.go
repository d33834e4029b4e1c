//go:build linux || darwin

package workspace

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// What commands printed is there to be read, and nothing else of the records is.
func TestOutputIsReadAndNotChanged(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout(".skill/output/a.log=printed", ".skill/journal=secret", ".skill/output/out => ../journal",
			".skill/outputs/a.log=x", "d/.skill/output/a.log=x")
		w := s.open(Options{AllowConfig: true})
		if data, err := w.ReadFile(s.p(".skill/output/a.log")); err != nil || string(data) != "printed" {
			t.Errorf("%q, %v", data, err)
		}
		for _, name := range []string{".skill/output/../journal", ".skill/output/out", ".skill/outputs/a.log", "d/.skill/output/a.log", ".SKILL/output/a.log"} {
			_, err := w.ReadFile(s.p(".") + "/" + name)
			if _, denied := errors.AsType[*DeniedError](err); !denied {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, name := range []string{".skill/output/a.log", ".skill/output/new", ".skill/output"} {
			_, err := w.WriteFile(t.Context(), s.p(name), nil, WriteOptions{})
			_, rerr := w.Remove(t.Context(), s.p(name), RemoveOptions{Tree: true})
			for _, err := range []error{err, rerr} {
				if _, denied := errors.AsType[*DeniedError](err); !denied {
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
			dir, err := w.State("output")
			if err != nil {
				t.Fatal(err)
			}
			if err := dir.WriteFile("a.log", nil, 0o600); err != nil {
				t.Error(err)
			}
			dir.Close()
		}
		for _, name := range []string{".skill", ".skill/output"} {
			if info, err := os.Stat(s.p(name)); err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("%s: %v, %v", name, info, err)
			}
		}
		if data, _ := os.ReadFile(s.p(".skill/.gitignore")); string(data) != "*\n" {
			t.Errorf(".gitignore holds %q", data)
		}
	})
}

func TestStateIsNoLinkAndNothingWhereNothingMayChange(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		for name, o := range map[string]Options{"read": {ReadOnly: true}, "dry": {DryRun: true}} {
			_, err := s.open(o).State("output")
			if _, lerr := os.Lstat(s.p(".skill")); !errors.Is(err, syscall.EROFS) || lerr == nil {
				t.Errorf("%s: %v, %v", name, err, lerr)
			}
		}
		s.layout("d/f=x", ".skill => d", "o/.skill/output => ../../d", "o/.skill/file=x")
		for dir, name := range map[string]string{".": "output", "o": "output"} {
			w := s.open(Options{Dir: s.p(dir)})
			if _, err := w.State(name); err == nil {
				t.Errorf("%s/.skill/%s is a link and was followed", dir, name)
			}
		}
	})
}
