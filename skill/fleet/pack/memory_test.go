package pack

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

var (
	errNoBlob = errors.New("the blob is not stored")
	errRefuse = errors.New("the store is full")
)

// memory is a Blobs in memory. It refuses blobs when it is full.
type memory struct {
	mu    sync.Mutex
	blobs map[string][]byte
	room  int // accepts so many more blobs; -1 for any number
	puts  int
	bytes int
}

func newMemory() *memory { return &memory{blobs: map[string][]byte{}, room: -1} }

func (m *memory) Put(ctx context.Context, sum string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.room == 0 {
		return errRefuse
	}
	m.room--
	m.puts++
	m.bytes += len(data)
	m.blobs[sum] = slices.Clone(data)
	return nil
}

func (m *memory) Get(ctx context.Context, sum string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if data, ok := m.blobs[sum]; ok {
		return slices.Clone(data), nil
	}
	return nil, errNoBlob
}

func (m *memory) purge(keep map[string]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.blobs, func(sum string, _ []byte) bool { return !keep[sum] })
}

// described is a file, a folder or a link on disk.
type described struct {
	mode  fs.FileMode
	mtime int64
	text  string // the content of a file, the target of a link
}

// describe reads a folder.
func describe(t testing.TB, dir string) map[string]described {
	t.Helper()
	all := map[string]described{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		e := described{mode: info.Mode() & (fs.ModeType | fs.ModePerm), mtime: info.ModTime().UnixNano()}
		switch {
		case d.Type() == fs.ModeSymlink:
			e.text, err = os.Readlink(path)
		case d.Type().IsRegular():
			var data []byte
			data, err = os.ReadFile(path)
			e.text = string(data)
		}
		rel, _ := filepath.Rel(dir, path)
		all[filepath.ToSlash(rel)] = e
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// short cuts the text of a described for an error message.
func (d described) short() described {
	if len(d.text) > 40 {
		d.text = d.text[:40] + "…"
	}
	return d
}

// equal compares folders.
func equal(t interface{ Fatalf(string, ...any) }, got, want map[string]described) {
	for path, w := range want {
		if g, ok := got[path]; !ok {
			t.Fatalf("%q is missing; it was %+v", path, w.short())
		} else if g != w {
			t.Fatalf("%q is %+v\nand was %+v", path, g.short(), w.short())
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			t.Fatalf("%q was not there", path)
		}
	}
}

// write writes files to a folder. A name with a slash at the end makes a folder.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if name[len(name)-1] == '/' {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// open returns a Folder for dir.
func open(t testing.TB, o Options, dir string) *Folder {
	t.Helper()
	f, err := Open(o, dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// snapshot takes a snapshot of a folder with all its files.
func snapshot(t testing.TB, f *Folder) string {
	t.Helper()
	manifest, err := f.Snapshot(t.Context(), nil, true)
	if err != nil {
		t.Fatal(err)
	}
	return manifest
}

// restored restores a manifest to another folder, and describes the files.
func restored(t testing.TB, o Options, manifest string) map[string]described {
	t.Helper()
	dir := t.TempDir()
	if _, err := Restore(t.Context(), o, manifest, dir); err != nil {
		t.Fatal(err)
	}
	return describe(t, dir)
}
