package workspace

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"textskill/testdata/needs"
)

// Tools, commands and undos run on a full disk repeatedly. A failed one changes nothing and names the full
// disk. Once there is room, everything can be undone.
func TestFullDisk(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			disk := t.TempDir()
			needs.Mount(t, "tmpfs", disk, "tmpfs", 0, "size=640k,mode=700")
			s := newSite(t, false)
			s.dir = disk + "/ws"
			os.Mkdir(s.dir, 0o755)
			s.layout("a=old a", "b="+strings.Repeat("b", 9000), "d/c=old c", "d/e/f=old f")
			f := &fullPlay{T: t, site: s, disk: disk, intN: rand.New(rand.NewPCG(seed, 0)).IntN}
			f.w = s.open(Options{State: disk + "/state", Journal: Journal{Count: -1}})
			f.play()
		})
	}
}

type fullPlay struct {
	*testing.T
	*site
	w      *Workspace
	disk   string
	intN   func(n int) int
	failed int
	last   int      // the step
	ids    []string // of changes that were acknowledged
}

// fill fills the disk up to the given number of free bytes.
func (f *fullPlay) fill(room int64) {
	filler := filepath.Join(f.disk, "filler")
	os.Remove(filler)
	var st syscall.Statfs_t
	if err := syscall.Statfs(f.disk, &st); err != nil {
		f.Fatal(err)
	}
	if free := int64(st.Bfree) * st.Bsize; free > room {
		os.WriteFile(filler, make([]byte, free-room), 0o600)
	}
}

func (f *fullPlay) play() {
	first := f.tree()
	for range 60 {
		f.fill(int64(f.intN(7)) * 4096)
		before := f.tree()
		err := f.step()
		if err == nil {
			continue
		}
		f.failed++
		_, refused := errors.AsType[*UndoError](err)
		switch {
		case refused, errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.EEXIST):
		case !errors.Is(err, syscall.ENOSPC):
			f.Errorf("the error is %v", err)
		case !strings.Contains(err.Error(), f.disk):
			f.Errorf("the error of step %d does not name the disk: %v", f.last, err)
		}
		if after := f.tree(); after != before {
			f.Fatalf("%v, and yet it was\n%s\nand is\n%s", err, before, after)
		}
	}
	os.Remove(filepath.Join(f.disk, "filler"))
	if f.failed < 5 {
		f.Errorf("only %d steps failed", f.failed)
	}
	list, err := f.w.Undo(bg, UndoOptions{Since: f.ids[0]})
	if err != nil {
		f.Fatalf("%d undone, and then %v", len(list), err)
	}
	if last := f.tree(); last != first {
		f.Errorf("all is undone, and it is\n%s\nwant\n%s", last, first)
	}
}

// step makes a change. A started command counts as done, because no error reverts its changes.
func (f *fullPlay) step() error {
	name := f.p([]string{"a", "b", "d/c", "d/e/f", "new/x"}[f.intN(5)])
	text := []byte(strings.Repeat(fmt.Sprintln(len(f.ids)), 1+f.intN(3000)))
	var c Change
	var err error
	f.last = f.intN(8)
	switch f.last {
	case 0, 1, 2:
		c, err = f.w.WriteFile(bg, name, text, WriteOptions{Parents: true})
	case 3:
		c, err = f.w.AppendFile(bg, name, text, WriteOptions{Parents: true})
	case 4:
		c, err = f.w.Remove(bg, name, RemoveOptions{})
	case 5:
		c, err = f.w.Move(bg, name, f.p("d/moved"), MoveOptions{})
	case 6:
		return f.command(text)
	case 7:
		if len(f.ids) < 2 {
			return nil
		}
		list, err := f.w.Undo(bg, UndoOptions{})
		for _, u := range list {
			f.ids = append(f.ids, u.ID)
		}
		return err
	}
	if err == nil {
		f.ids = append(f.ids, c.ID)
	}
	return err
}

func (f *fullPlay) command(text []byte) error {
	run, err := f.w.Begin(bg, "make", 1<<20, f.walk)
	if err != nil {
		return err
	}
	os.Remove(f.p("d/c"))
	os.WriteFile(f.p("made"), text[:min(len(text), 100)], 0o644)
	c, left, err := run.End(bg)
	if err != nil {
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), f.disk) {
			f.Errorf("the error of a command is %v, %v", left, err)
		}
		return nil
	}
	if c.ID != "" {
		f.ids = append(f.ids, c.ID)
	}
	return nil
}
