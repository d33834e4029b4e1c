package tree

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"textskill/testdata/needs"
)

// TestDirEnd checks that only the largest offset ends a folder, and only on a local file system. A
// network or FUSE file system may use any offset.
func TestDirEnd(t *testing.T) {
	for _, tt := range []struct {
		local bool
		next  uint64
		last  bool
	}{
		{true, math.MaxInt64, true}, {true, math.MaxInt64 - 1, false}, {true, 0, false},
		{false, math.MaxInt64, false}, {false, 1<<63 + 7, false}, {true, 1<<63 + 7, false},
		{true, math.MaxUint64, false},
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

// TestDirOverlay checks that an overlay is not local: a layer may be a network or FUSE file system.
func TestDirOverlay(t *testing.T) {
	lower, more, top := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.Mkdir(lower+"/d", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(lower+"/d/f", []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	needs.Mount(t, "overlay", top, "overlay", unix.MS_RDONLY, "lowerdir="+lower+":"+more)
	for _, portable := range []bool{false, true} {
		w, err := Open(top, portable)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		d, err := w.OpenDir(".")
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		in, err := d.OpenDir("d")
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		var b Block
		if _, err := in.Read(&b); err != nil || len(b.Names) != 1 || string(b.Names[0].Bytes) != "f" {
			t.Errorf("portable %t: names %v, %v", portable, b.Names, err)
		}
		if k, ok := in.(kernelDir); ok && (k.local || k.quick) {
			t.Errorf("%+v", k)
		}
	}
	f, err := os.Open(top + "/d/f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, unmap, err := Map(f, 1); !errors.Is(err, errors.ErrUnsupported) {
		unmap()
		t.Errorf("mapped: %v", err)
	}
}

// TestDirHungMount describes a folder with a FUSE file system whose server does not answer. A raw
// system call that waits for the server would block the whole process.
func TestDirHungMount(t *testing.T) {
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip(err) // few containers have FUSE
	}
	top := t.TempDir()
	at := top + "/d/mounted"
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	answer := time.AfterFunc(10*time.Second, func() { unix.Close(fd) }) // unblocks the waiting calls
	defer func() {
		if answer.Stop() {
			unix.Close(fd)
		}
	}()
	needs.Mount(t, "hung", at, "fuse.hung", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fd))
	w, err := Open(top, false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	root, err := w.OpenDir(".")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	d, err := root.OpenDir("d")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if k, ok := d.(kernelDir); !ok || !k.quick {
		t.Skip("no raw system calls here")
	}
	info, err := d.Stat([]byte("mounted"))
	if err != nil || !info.IsDir() {
		t.Fatalf("%v, %v", info.Mode, err)
	}
	if up, err := root.Stat([]byte("d")); err != nil || up.ID.Dev == info.ID.Dev {
		t.Errorf("on the same device: %v", err)
	}
}

// TestHeadOfAPipe reads a name that a pipe has replaced. Head must not consume bytes from the pipe.
func TestHeadOfAPipe(t *testing.T) {
	top := t.TempDir()
	if err := unix.Mkfifo(top+"/p", 0o644); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(top+"/p", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if _, err := pipe.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	for _, portable := range []bool{false, true} {
		w, err := Open(top, portable)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		d, err := w.OpenDir(".")
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		_, rest, err := d.Head([]byte("p"), make([]byte, 10))
		if _, ok := errors.AsType[*NotRegularError](err); !ok || rest != nil {
			t.Errorf("portable %t: %v", portable, err)
		}
	}
	if n, err := pipe.Read(make([]byte, 2)); n != 1 || err != nil {
		t.Errorf("%d bytes are left, %v", n, err)
	}
}
