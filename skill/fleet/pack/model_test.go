//go:build unix

package pack

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"textskill/testdata/needs"
)

// A model is a folder that the test changes, stores and restores at random.
type model struct {
	t       *testing.T
	r       *rapid.T
	options Options
	store   *memory
	base    string
	dirs    int

	dir     string
	folder  *Folder
	changed []string // since the last successful snapshot
}

var modelNames = []string{"a", "b", "c.txt", "\xff\xfe", "d e", "a-b"}

// TestModel changes a folder in all ways and restores it elsewhere. It takes snapshots with full
// hints, or with some hints and a walk. Some stores fail.
func TestModel(t *testing.T) {
	needs.Long(t, "5 s")
	rapid.Check(t, func(r *rapid.T) {
		base, err := os.MkdirTemp("", "pack")
		if err != nil {
			r.Fatal(err)
		}
		defer removeAll(base)
		m := &model{t: t, r: r, store: newMemory(), base: base}
		m.options = Options{Blobs: m.store}
		if rapid.Bool().Draw(r, "encrypted") {
			m.options.Key = bytes.Repeat([]byte{7}, 32)
		}
		m.dir = m.fresh()
		m.folder = open(t, m.options, m.dir)
		r.Repeat(map[string]func(*rapid.T){
			"write":    m.write,
			"write2":   m.write,
			"rename":   m.rename,
			"remove":   m.remove,
			"mode":     m.mode,
			"touch":    m.touch,
			"snapshot": m.snapshot,
			"refuse":   m.refuse,
			"many":     m.many,
		})
		m.snapshot(r)
	})
}

// removeAll also removes read-only folders.
func removeAll(dir string) {
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			os.Chmod(path, 0o700)
		}
		return nil
	})
	os.RemoveAll(dir)
}

func (m *model) fresh() string {
	m.dirs++
	dir := filepath.Join(m.base, fmt.Sprint(m.dirs))
	if err := os.Mkdir(dir, 0o755); err != nil {
		m.r.Fatal(err)
	}
	return dir
}

// path draws a path of up to three names, or the path of a small file that settles.
func (m *model) path(r *rapid.T, label string) string {
	if n := rapid.IntRange(-60, 40).Draw(r, label+" of many"); n >= 0 {
		return fmt.Sprint("many/", n)
	}
	names := rapid.SliceOfN(rapid.SampledFrom(modelNames), 1, 3).Draw(r, label)
	return strings.Join(names, "/")
}

// make makes the folders of a path, and reports whether that is possible.
func (m *model) make(path string) bool {
	above := filepath.Dir(path)
	if above == "." {
		return true
	}
	if info, err := os.Lstat(filepath.Join(m.dir, above)); err == nil {
		return info.IsDir() && m.real(above)
	}
	if !m.make(above) || os.Mkdir(filepath.Join(m.dir, above), 0o755) != nil {
		return false
	}
	m.changed = append(m.changed, above)
	return true
}

// real reports whether a path to a folder has no links.
func (m *model) real(path string) bool {
	for ; path != "."; path = filepath.Dir(path) {
		if info, err := os.Lstat(filepath.Join(m.dir, path)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

func (m *model) write(r *rapid.T) {
	path := m.path(r, "path")
	if !m.make(path) {
		return
	}
	abs := filepath.Join(m.dir, path)
	info, err := os.Lstat(abs)
	there := err == nil
	size := rapid.SampledFrom([]int{0, 1, 100, 5000, 70_000, pieceSize - 1, pieceSize, pieceSize + 1,
		2*pieceSize + 77}).Draw(r, "size")
	text := strings.Repeat(rapid.StringMatching(`[a-z]{3}`).Draw(r, "text"), size/3+1)[:size]
	switch kind := rapid.SampledFrom([]string{"file", "append", "in place", "folder",
		"link"}).Draw(r, "kind"); {
	case kind == "append" && there && info.Mode().IsRegular():
		f, err := os.OpenFile(abs, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return // only its mode changes
		}
		f.WriteString(text)
		f.Close()
	case kind == "in place" && there && info.Mode().IsRegular() && info.Size() > 0:
		f, err := os.OpenFile(abs, os.O_WRONLY, 0)
		if err != nil {
			return
		}
		f.WriteAt([]byte{byte(len(m.changed)) | 128}, info.Size()-1)
		f.Close()
		if rapid.Bool().Draw(r, "old time") { // then only the ctime shows the change
			os.Chtimes(abs, info.ModTime(), info.ModTime())
		}
	case kind == "folder":
		os.RemoveAll(abs)
		if err := os.Mkdir(abs, 0o755); err != nil {
			r.Fatal(err)
		}
	case kind == "link":
		os.RemoveAll(abs)
		target := rapid.SampledFrom([]string{"a", "../../..", "/nowhere/x", "\xfe",
			"gone/x y"}).Draw(r, "target")
		if err := os.Symlink(target, abs); err != nil {
			r.Fatal(err)
		}
	default:
		os.RemoveAll(abs)
		if err := os.WriteFile(abs, []byte(text), 0o644); err != nil {
			r.Fatal(err)
		}
	}
	m.changed = append(m.changed, path)
}

// many makes many small files, so that the packs of others become thin.
func (m *model) many(r *rapid.T) {
	n := rapid.IntRange(1, 40).Draw(r, "n")
	if info, err := os.Lstat(filepath.Join(m.dir, "many")); err == nil && !info.IsDir() {
		return
	}
	os.Mkdir(filepath.Join(m.dir, "many"), 0o755)
	for i := range n {
		name := filepath.Join("many", fmt.Sprint(i))
		if err := os.WriteFile(filepath.Join(m.dir, name), fmt.Appendf(nil, "%d of %d", i, n), 0o600); err != nil {
			break
		}
	}
	m.changed = append(m.changed, "many")
}

func (m *model) rename(r *rapid.T) {
	from, to := m.path(r, "from"), m.path(r, "to")
	if !m.real(filepath.Dir(from)) || !m.real(filepath.Dir(to)) || strings.HasPrefix(to+"/", from+"/") ||
		strings.HasPrefix(from+"/", to+"/") {
		return
	}
	if _, err := os.Lstat(filepath.Join(m.dir, from)); err != nil {
		return
	}
	os.RemoveAll(filepath.Join(m.dir, to))
	os.Rename(filepath.Join(m.dir, from), filepath.Join(m.dir, to))
	m.changed = append(m.changed, from, to)
}

func (m *model) remove(r *rapid.T) {
	path := m.path(r, "path")
	if m.real(filepath.Dir(path)) {
		os.RemoveAll(filepath.Join(m.dir, path))
		m.changed = append(m.changed, path)
	}
}

func (m *model) mode(r *rapid.T) {
	path := m.path(r, "path")
	abs := filepath.Join(m.dir, path)
	if info, err := os.Lstat(abs); err == nil && m.real(filepath.Dir(path)) &&
		info.Mode()&os.ModeSymlink == 0 {
		mode := rapid.SampledFrom([]os.FileMode{0o644, 0o755, 0o600, 0o777, 0o400 | 0o100,
			0o700}).Draw(r, "mode")
		if info.IsDir() {
			mode |= 0o700
		}
		os.Chmod(abs, mode)
		m.changed = append(m.changed, path)
	}
}

func (m *model) touch(r *rapid.T) {
	path := m.path(r, "path")
	abs := filepath.Join(m.dir, path)
	if info, err := os.Lstat(abs); err == nil && m.real(filepath.Dir(path)) && info.Mode()&os.ModeSymlink == 0 {
		at := time.Unix(rapid.Int64Range(-1e9, 4e9).Draw(r, "seconds"),
			rapid.Int64Range(0, 999_999_999).Draw(r, "nanoseconds"))
		os.Chtimes(abs, at, at)
		m.changed = append(m.changed, path)
	}
}

// refuse makes the store fail during a snapshot.
func (m *model) refuse(r *rapid.T) {
	m.store.room = rapid.IntRange(0, 4).Draw(r, "room")
	_, err := m.take(r)
	m.store.room = -1
	if err != nil && !errors.Is(err, errRefuse) {
		r.Fatal(err)
	}
	m.changed = nil // the Folder remembers the paths of the failed snapshot
}

func (m *model) take(r *rapid.T) (string, error) {
	walk := rapid.Bool().Draw(r, "walk")
	changed := slices.Clone(m.changed)
	if walk && rapid.Bool().Draw(r, "incomplete") {
		changed = changed[:len(changed)/2]
	}
	return m.folder.Snapshot(m.t.Context(), changed, walk)
}

func (m *model) snapshot(r *rapid.T) {
	manifest, err := m.take(r)
	if err != nil {
		r.Fatal(err)
	}
	m.changed = nil
	m.store.purge(m.folder.Sums())
	want := describe(m.t, m.dir)
	elsewhere := m.fresh()
	f, err := Restore(m.t.Context(), m.options, manifest, elsewhere)
	if err != nil {
		r.Fatal(err)
	}
	equal(r, describe(m.t, elsewhere), want)
	sameSums(r, f.Sums(), m.folder.Sums())
	if m.folder.count != f.count || m.folder.bytes != f.bytes {
		r.Fatalf("%d files of %d bytes became %d of %d", m.folder.count, m.folder.bytes, f.count, f.bytes)
	}
	if rapid.Bool().Draw(r, "move") {
		removeAll(m.dir)
		m.folder, m.dir = f, elsewhere
	} else {
		removeAll(elsewhere)
	}
	if again, err := m.folder.Snapshot(m.t.Context(), nil, true); err != nil || again != manifest {
		r.Fatalf("without a change the manifest %s became %s, %v", manifest, again, err)
	}
}

func sameSums(r *rapid.T, got, want map[string]bool) {
	for sum := range want {
		if !got[sum] {
			r.Fatalf("after a restore %s is not needed", sum)
		}
	}
	if len(got) != len(want) {
		r.Fatalf("after a restore %d blobs are needed, and %d before", len(got), len(want))
	}
}
