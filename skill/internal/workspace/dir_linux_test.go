package workspace

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestDirEnd asks for more names behind every offset but that which is known to be
// the last: a server, or a file system in a program, may choose any other.
func TestDirEnd(t *testing.T) {
	for _, tt := range []struct {
		local bool
		next  uint64
		last  bool
	}{
		{true, math.MaxInt64, true}, {true, math.MaxInt64 - 1, false}, {true, 0, false},
		{false, math.MaxInt64, false}, {false, 1<<63 + 7, false}, {true, 1<<63 + 7, false}, {true, math.MaxUint64, false},
	} {
		raw := make([]byte, 24)
		binary.NativeEndian.PutUint64(raw[8:], tt.next)
		binary.NativeEndian.PutUint16(raw[16:], 24)
		raw[18] = 8 // a regular file
		raw[19] = 'f'
		var b Block
		if last := (kernelDir{local: tt.local}).parse(&b, raw); last != tt.last || len(b.Names) != 1 {
			t.Errorf("local %t, %#x: the last %t, names %v", tt.local, tt.next, last, b.Names)
		}
	}
}

// TestDirOverlay reads what lies in an overlay as if the network had to be asked: what
// is below may be a file system of another machine, or in a program.
func TestDirOverlay(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("lower/d/f=x", "more/", "o/")
		w := s.open(Options{})
		if err := unix.Mount("overlay", s.p("o"), "overlay", unix.MS_RDONLY, "lowerdir="+s.p("lower")+":"+s.p("more")); err != nil {
			t.Logf("%v: nothing can be mounted here", err)
			return
		}
		defer unix.Unmount(s.p("o"), unix.MNT_DETACH)
		d := openDir(t, w, s.p("o"))
		in, err := d.OpenDir("d")
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		if got := names(t, in); len(got) != 1 || got[0] != "f" {
			t.Errorf("names %q", got)
		}
		if k, ok := in.d.(kernelDir); ok && (k.local || k.quick) {
			t.Errorf("%+v", k)
		}
		f, err := os.Open(s.p("o/d/f"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, unmap, err := Map(f, 1); !errors.Is(err, errors.ErrUnsupported) {
			unmap()
			t.Errorf("mapped: %v", err)
		}
	})
}
