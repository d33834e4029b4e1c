package workspace

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"textskill/testdata/needs"
)

// A command that is refused for lack of room leaves the room that there was.
func TestRefusedCommandLeavesRoom(t *testing.T) {
	disk := t.TempDir()
	needs.Mount(t, "tmpfs", disk, "tmpfs", 0, "size=28M,mode=700")
	s := newSite(t, false)
	s.dir = disk + "/ws"
	os.Mkdir(s.dir, 0o755)
	for i := range 12 {
		s.put(s.p(string(rune('a'+i))), strings.Repeat(string(rune('a'+i)), 1<<20))
	}
	w := s.open(Options{State: disk + "/state", NoSync: true})
	if _, err := w.WriteFile(bg, s.p("kept"), []byte("one"), WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteFile(bg, s.p("kept"), []byte("two"), WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.put(disk+"/filler", strings.Repeat("f", 8<<20))
	room := func() int64 {
		var st syscall.Statfs_t
		if err := syscall.Statfs(disk, &st); err != nil {
			t.Fatal(err)
		}
		return int64(st.Bfree) * st.Bsize
	}
	before := room()
	for range 2 {
		if _, err := w.Begin(bg, "true", 64<<20, s.walk); !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		if lost := before - room(); lost > 64<<10 {
			t.Errorf("%d bytes of room are gone", lost)
		}
	}
	os.Remove(disk + "/filler")
	s.ran(t, w, "echo 1 >a")
	for range 2 {
		if _, err := w.Undo(bg, UndoOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.has("kept", "one")
	if data, _ := os.ReadFile(s.p("a")); len(data) != 1<<20 {
		t.Errorf("a has %d bytes", len(data))
	}
}
