package history

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"textskill/testdata/needs"
)

// savers are ways in which a person saves a file.
var savers = map[string]func(name string) error{
	"in place": func(name string) error {
		return errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte("mine"), 0o644))
	},
	"by a rename": func(name string) error {
		err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name+".new", []byte("mine"), 0o644))
		return errors.Join(err, os.Rename(name+".new", name))
	},
}

// A saving is a person who saves a file at a step of an undo, whose process is killed some steps later.
type saving struct {
	ws, state string
	portable  bool
	name      string // of the file
	save      func(name string) error
	at, kill  int // numbers of steps; without a kill, 0
}

// play runs the undo, and another process after it. It returns false if the undo had fewer steps.
func (g saving) play(t *testing.T) bool {
	in := func(name string) string { return g.ws + "/" + name }
	write := func(name, text string) {
		os.MkdirAll(filepath.Dir(in(name)), 0o755)
		if err := os.WriteFile(in(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-time.Minute)
	for name, text := range map[string]string{"changed": "1", "removed": "2", "other": "4"} {
		write(name, text)
	}
	o := Options{Root: g.ws, Dir: g.state, NoSync: true, Portable: g.portable}
	s := open(t, o)
	c, err := s.Begin(t.Context(), About{Command: "make"}, ".", 64<<20, walkOf(g.ws))
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(in("removed"))
	for name, text := range map[string]string{"changed": "5", "made": "6", "other": "7", "repo/f": "8",
		"repo/.git/HEAD": "ref: refs/heads/main\n", "repo/.git/objects/ab/cd": "object"} {
		write(name, text)
	}
	os.Symlink("made", in("link"))
	os.Truncate(in("big"), 0)
	write("big", "")
	os.Truncate(in("big"), MaxKept+1)
	os.Chtimes(in("big"), old, old)
	if op, err := c.End(t.Context()); err != nil || op.ID == 0 {
		t.Fatal(op, err)
	}
	s.waitTick(s.clock()) // as a program takes longer to start
	undo := func() error {
		tx, err := s.Lock(t.Context())
		if err != nil {
			return err
		}
		_, err = tx.Undo(t.Context(), 1, How{})
		tx.End() // not after a kill
		return err
	}
	steps, saved := 0, error(nil)
	s.crash = func(string) {
		switch steps++; steps {
		case g.at:
			saved = g.save(in(g.name))
		case g.kill:
			panic(killed{})
		}
	}
	died := func() (died bool) {
		defer func() {
			if r := recover(); r != nil {
				if _, ok := r.(killed); !ok {
					panic(r)
				}
				s.lock.Close() // like the end of the process
				<-s.busy
				died = true
			}
		}()
		err = undo()
		return false
	}()
	if steps < g.at || g.kill > 0 && !died {
		return steps >= g.at
	}
	if died {
		s = open(t, o)
		tx, lerr := s.Lock(t.Context())
		if err = lerr; err == nil {
			tx.End()
		}
	}
	data, rerr := os.ReadFile(in(g.name))
	if saved != nil || rerr != nil || !strings.HasPrefix(string(data), "mine") {
		t.Errorf("%s holds %.20q: %v, %v, %v\n%s", g.name, data, saved, rerr, err, treeOf(t, g.ws))
	}
	return true
}

// A person saves a file before each step of an undo, and the process is killed later or not. The next process finds what
// the person saved at its path.
func TestSavesInKilledUndo(t *testing.T) {
	needs.InMemory(t)
	cases := 0
	names := []string{"changed", "made", "removed", "link", "big", "repo/f", "repo/new", "repo/.git/new"}
	for place, dir := range map[string]string{"here": "", "portable": "", "another disk": "/tmp"} {
		for how, save := range savers {
			for _, name := range names {
				if name == "link" && how == "in place" {
					continue // that writes to another file
				}
				for kill := range 4 {
					if cases++; cases%needs.Step(7) != 0 {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/%s/kill %d", place, how, name, kill), func(t *testing.T) {
						for n := 1; !t.Failed(); n++ {
							base, err := os.MkdirTemp(dir, "saved")
							if err != nil {
								t.Fatal(err)
							}
							g := saving{ws: base, state: t.TempDir(), portable: place == "portable", name: name, save: save, at: n}
							if kill > 0 {
								g.kill = n + kill
							}
							more := g.play(t)
							os.RemoveAll(base)
							if !more {
								break
							}
							if t.Failed() {
								t.Logf("step %d", n)
							}
						}
					})
				}
			}
		}
	}
}
