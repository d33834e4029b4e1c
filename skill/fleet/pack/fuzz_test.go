//go:build unix

package pack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// FuzzRestore restores manifests of random bytes. Restore writes nothing outside of the folder,
// and a failed Restore leaves it empty.
func FuzzRestore(f *testing.F) {
	seed := f.TempDir()
	write(f, seed, map[string]string{"a/b/c": "text", "a/b/d": "more", "empty/": "", "e": ""})
	if err := os.Symlink("../outside", filepath.Join(seed, "link")); err != nil {
		f.Fatal(err)
	}
	m := newMemory()
	folder := open(f, Options{Blobs: m}, seed)
	manifest := snapshot(f, folder)
	plain, err := folder.get(f.Context(), aManifest, manifest, maxManifest)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plain)
	for _, records := range [][]byte{
		record1(opFile, "../outside/x"), record1(opFile, "/tmp/pack-outside"), record1(opFolder, ".."),
		record1(opFile, "a\x00b"),
		append(record1(opLink, "l"), record1(opFile, "l/x")...),
		append(record1(opLink, "l"), record1(opFile, "l")...),
		append(record1(opFolder, "l"), append(record1(opLink, "l"), record1(opFile, "l/x")...)...),
		append(record1(opFile, "same"), record1(opFolder, "same")...),
	} {
		f.Add(slices.Concat([]byte{0, 0}, records, make([]byte, lengthSize)))
	}
	f.Fuzz(func(t *testing.T, plain []byte) {
		base := t.TempDir()
		outside, dir := filepath.Join(base, "outside"), filepath.Join(base, "dir")
		for _, d := range []string{outside, dir} {
			if err := os.Mkdir(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		m := &memory{blobs: m.blobs, room: -1}
		s := storage{blobs: newMemory()}
		data, err := s.seal(aManifest, plain)
		if err != nil {
			t.Fatal(err)
		}
		hash := sha256.Sum256(data)
		sum := hex.EncodeToString(hash[:])
		_, err = Restore(t.Context(),
			Options{Blobs: with{m, sum, data}, MaxBytes: 1 << 20, MaxFiles: 100}, sum, dir)
		defer removeAll(base)
		if entries, rerr := os.ReadDir(base); rerr != nil || len(entries) != 2 {
			t.Fatalf("beside the folder there is %v, %v", entries, rerr)
		}
		if entries, rerr := os.ReadDir(outside); rerr != nil || len(entries) > 0 {
			t.Fatalf("outside of the folder there is %v, %v", entries, rerr)
		}
		if entries, rerr := os.ReadDir(dir); err != nil && (rerr != nil || len(entries) > 0) {
			t.Fatalf("after %v there is %v, %v", err, entries, rerr)
		}
	})
}

// with is a store with one more blob.
type with struct {
	*memory
	sum  string
	data []byte
}

func (w with) Get(ctx context.Context, sum string) ([]byte, error) {
	if sum == w.sum {
		return w.data, nil
	}
	return w.memory.Get(ctx, sum)
}

// record1 returns a record that shares no bytes with the path before.
func record1(op byte, path string) []byte {
	b := append([]byte{op, 0, byte(len(path))}, path...)
	switch op {
	case opFolder:
		return append(b, 0o100, 0)
	case opLink:
		return append(b, 0, 10, '.', '.', '/', 'o', 'u', 't', 's', 'i', 'd', 'e')
	}
	return append(b, 0o100, 0, 0)
}
