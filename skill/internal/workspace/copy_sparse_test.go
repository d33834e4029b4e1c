//go:build linux

package workspace

import (
	"io"
	"os"
	"path/filepath"
	"slices"
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
	for at, text := range map[int64]string{0: "begin", 2 << 30: "middle"} {
		if _, err := f.WriteAt([]byte(text), at); err != nil {
			t.Fatal(err)
		}
	}
	const size = 5 << 29
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
		if _, err := f.ReadAt(data, 2<<30); err != nil || string(data) != "middle" || info.Size() != size {
			t.Errorf("%s has %d bytes and holds %q, %v", name, info.Size(), data, err)
		}
		if used := info.Sys().(*syscall.Stat_t).Blocks * 512; used > 1<<20 {
			t.Errorf("%s takes %d bytes on the disk", name, used)
		}
	}
}

// An edit of a file with holes, and its undo, keep the holes around it.
func TestEditSparse(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.layout("f")
		f, err := os.OpenFile(s.p("f"), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		const at, size = 64 << 20, 200 << 20
		if _, err := f.WriteAt([]byte("middle"), at); err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
		w := s.open(Options{NoSync: true})
		holds := func(text string) {
			t.Helper()
			f, err := os.Open(s.p("f"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			info, err := f.Stat()
			if err != nil {
				t.Fatal(err)
			}
			data := make([]byte, len(text))
			want := int64(size - len("middle") + len(text))
			if _, err := f.ReadAt(data, at); err != nil || string(data) != text || info.Size() != want {
				t.Errorf("it has %d bytes, not %d, and holds %q, %v", info.Size(), want, data, err)
			}
			if used := info.Sys().(*syscall.Stat_t).Blocks * 512; used > 1<<20 {
				t.Errorf("it takes %d bytes on the disk", used)
			}
		}
		c, err := w.EditFile(bg, s.p("f"), WriteOptions{}, func(io.ReaderAt, int64) (Splice, error) {
			return Splice{Offset: at, Old: int64(len("middle")), New: []byte("in between")}, nil
		})
		must(t, c, err)
		holds("in between")
		if _, err := w.Undo(bg, UndoOptions{}); err != nil {
			t.Fatal(err)
		}
		holds("middle")
	})
}

// TestSumSparse sums files with holes at their beginning, between data and at their end, and
// leaves the offset where it was.
func TestSumSparse(t *testing.T) {
	const size = 3*sparseFrom + 5
	for _, at := range [][]int64{{}, {0}, {size - 1}, {sparseFrom + 7}, {1, sparseFrom, 2*sparseFrom - 1}} {
		all := make([]byte, size)
		f, err := os.Create(filepath.Join(t.TempDir(), "f"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
		for _, at := range at {
			all[at] = 'x'
			if _, err := f.WriteAt(all[at:at+1], at); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := f.Seek(3, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if sum, err := fileSum(f, size); err != nil || sum != sumOf(all) {
			t.Errorf("%v: %s, %v", at, sum, err)
		}
		before, after, err := splicedSums(f, size, Splice{Offset: 5, Old: sparseFrom, New: []byte("new")})
		if err != nil || before != sumOf(all) || after != sumOf(slices.Concat(all[:5], []byte("new"), all[5+sparseFrom:])) {
			t.Errorf("%v: %s, %s, %v", at, before, after, err)
		}
		if offset, err := f.Seek(0, io.SeekCurrent); err != nil || offset != 3 {
			t.Errorf("the offset is %d, %v", offset, err)
		}
	}
}
