//go:build linux

package workspace

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestCopySparse copies files with holes, alone and in a folder: the holes stay.
func TestCopySparse(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "d", "f"))
	if err != nil {
		t.Fatal(err)
	}
	for at, text := range map[int64]string{0: "begin", 8 << 30: "middle"} {
		if _, err := f.WriteAt([]byte(text), at); err != nil {
			t.Fatal(err)
		}
	}
	const size = 10 << 30
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	f.Close()
	w, err := Open(Options{Dir: dir, NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for from, to := range map[string]string{"d/f": "copy", "d": "copies"} {
		if _, err := w.Copy(t.Context(), filepath.Join(dir, from), filepath.Join(dir, to), CopyOptions{Tree: true}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"copy", "copies/f"} {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, 6)
		if _, err := f.ReadAt(data, 8<<30); err != nil || string(data) != "middle" || info.Size() != size {
			t.Errorf("%s has %d bytes and holds %q, %v", name, info.Size(), data, err)
		}
		if used := info.Sys().(*syscall.Stat_t).Blocks * 512; used > 1<<20 {
			t.Errorf("%s takes %d bytes on the disk", name, used)
		}
	}
}
