package workspace

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"textskill/testdata/needs"
)

// A command that is refused for lack of room leaves the room that there was.
func TestRefusedCommandLeavesRoom(t *testing.T) {
	for _, size := range []int{1 << 20, 32 << 10} { // contents in files of their own, and in packs
		t.Run(fmt.Sprint(size), func(t *testing.T) { refusedCommandLeavesRoom(t, size) })
	}
}

func refusedCommandLeavesRoom(t *testing.T, size int) {
	disk := t.TempDir()
	needs.Mount(t, "tmpfs", disk, "tmpfs", 0, "size=28M,mode=700")
	s := newSite(t, false)
	s.dir = disk + "/ws"
	os.Mkdir(s.dir, 0o755)
	for i := range 12 << 20 / size {
		s.put(s.p(fmt.Sprint("f", i)), strings.Repeat(fmt.Sprintf("%8d", i), size/8))
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
	s.ran(t, w, "echo 1 >f0")
	for range 2 {
		if _, err := w.Undo(bg, UndoOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.has("kept", "one")
	if data, _ := os.ReadFile(s.p("f0")); len(data) != size {
		t.Errorf("f0 has %d bytes", len(data))
	}
}
