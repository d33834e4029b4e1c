package skill

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"textskill/testdata/needs"
)

// A crossing is how a file or folder comes to another disk: it is copied, and then removed.
type crossing struct {
	what string
	back bool // it comes from the disk, and an undo brings it back there
	move bool // or else it is deleted, or that undone; the store is on the other disk
}

// The power of the disk that something comes to fails as soon as it is removed from the other: it is
// there.
func TestPowerCutAcross(t *testing.T) {
	needs.EachDisk(t, 1, "SKILL_TEST_CUTS", func(t *testing.T, cuts int, disks []*needs.Disk) {
		for _, c := range []crossing{
			{"move", false, true},
			{"undo of a move", true, true},
			{"delete", false, false},
			{"undo of a delete", true, false},
		} {
			for _, name := range []string{"file", "tree/file"} {
				t.Run(c.what+" of "+name, func(t *testing.T) {
					for i := range min(cuts, 5) {
						c.cut(t, disks[0], name, int64(5000+i))
					}
				})
			}
		}
	})
}

func (c crossing) cut(t *testing.T, disk *needs.Disk, name string, size int64) {
	here, there := t.TempDir(), filepath.Join(disk.Dir, fmt.Sprint(t.Name(), size))
	cfg := Config{Dir: filepath.Join(here, "ws"), State: filepath.Join(here, "state"),
		Allow: []string{filepath.Join(there, "ws")}}
	from, to := cfg.Dir, cfg.Allow[0]
	if c.back {
		from, to = to, from
	} else if !c.move {
		cfg.State = filepath.Join(there, "state")
	}
	plant(t, from, name)
	plant(t, to, "d/f")
	if err := os.Truncate(filepath.Join(from, name), size); err != nil {
		t.Fatal(err)
	}
	disk.Flush()
	x := newExecutor(t, cfg)
	top, _, _ := strings.Cut(name, "/")
	var args Args = DeleteFile{Path: filepath.Join(from, top), Tree: true}
	if c.move {
		args = MoveFile{Source: filepath.Join(from, top), Dest: filepath.Join(to, top)}
	}
	if c.back {
		carried(t, x, args)
		args = Undo{}
	}
	done := make(chan error, 1)
	go func() {
		_, err := x.Execute(t.Context(), &Session{}, args)
		done <- err
	}()
	for hasSize(here, size) && len(done) == 0 {
	}
	disk.Cut()
	err := <-done
	x.Close()
	disk.Remount()
	at := filepath.Join(from, name)
	switch {
	case c.move && !c.back:
		at = filepath.Join(to, name)
	case !c.back: // it is in the store
		x := newExecutor(t, cfg)
		carried(t, x, Undo{})
		x.Close()
	}
	if info, serr := os.Stat(at); serr != nil || info.Size() != size {
		t.Errorf("%v, and then: %v", err, serr)
	}
}

// hasSize reports whether there is a file of a size somewhere in a folder.
func hasSize(dir string, size int64) (found bool) {
	filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			info, err := e.Info()
			found = found || err == nil && info.Size() == size
		}
		return nil
	})
	return found
}
