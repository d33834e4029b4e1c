package pack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestDeltas takes a snapshot after each of many changes. Each last manifest can be restored, and
// the chain stays short.
func TestDeltas(t *testing.T) {
	dir, m := t.TempDir(), newMemory()
	o := Options{Blobs: m}
	write(t, dir, map[string]string{"keep/a": strings.Repeat("a", 5000), "keep/b": "b"})
	f := open(t, o, dir)
	for i := range 3*maxDeltas + 5 {
		name := fmt.Sprintf("d/%d", i%7)
		write(t, dir, map[string]string{name: fmt.Sprint(i)})
		manifest, err := f.Snapshot(t.Context(), []string{name}, i == 0)
		if err != nil {
			t.Fatal(err)
		}
		if m.purge(f.Sums()); m.puts > 1 || len(m.blobs) > maxDeltas+1 {
			t.Fatalf("after %d snapshots %d blobs are needed; the last one has stored %d", i+1,
				len(m.blobs), m.puts)
		}
		m.puts = 0
		if i%10 == 0 {
			equal(t, restored(t, o, manifest), describe(t, dir))
		}
	}
}

// TestSecret stores no credentials.
func TestSecret(t *testing.T) {
	dir, o := t.TempDir(), Options{Blobs: newMemory(),
		Exclude: []string{"*.secret", "/build/", "!keep.secret", "logs/*.txt"}}
	stays := map[string]string{
		".env": "A=1", ".env.local": "A=1", "sub/.envrc": "x", ".git-credentials": "x", "home/.netrc": "x",
		".ssh/config": "x", "sub/id_ed25519": "x",
		".git/credentials": "x", ".aws/credentials": "x", ".docker/config.json": "x",
		"a.secret": "x", "sub/b.secret": "x", "build/out": "x", "logs/a.txt": "x", ".git/config.lock": "x",
	}
	moves := map[string]string{
		".env.example": "A=", "environment": "x", "id_rsa.pub": "x", "cert.pem": "x", "keep.secret": "x",
		"sub/build/out": "x", "logs/a/b.txt": "x",
		".docker/Dockerfile": "x", "credentials": "x", "config.lock": "x",
		".github/config": "[a]\n\ttoken = x\n",
	}
	write(t, dir, stays)
	write(t, dir, moves)
	f := open(t, o, dir)
	manifest, err := f.Snapshot(t.Context(),
		slices.Concat(slices.Collect(maps.Keys(stays)), slices.Collect(maps.Keys(moves))), false)
	if err != nil {
		t.Fatal(err)
	}
	if again := snapshot(t, f); again != manifest {
		t.Error("looking at every file found another")
	}
	got := restored(t, o, manifest)
	for name := range stays {
		if _, ok := got[name]; ok {
			t.Errorf("%s was stored", name)
		}
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	for name, text := range moves {
		if got[name].text != text {
			t.Errorf("%s is %q, not %q", name, got[name].text, text)
		}
	}
}

// TestGitConfig removes only credentials from git's config files.
func TestGitConfig(t *testing.T) {
	const safe = `[core]
	bare = false ; a comment
[remote "origin"]
	url = git@example.com:a/b.git
	pushurl = ssh://git@example.com/a/b.git
	fetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
	remote = origin
`
	tests := []struct{ in, want string }{
		{safe, safe},
		{safe + "[http \"https://x/\"]\n\textraheader = AUTHORIZATION: basic c2VjcmV0\n",
			safe + "[http \"https://x/\"]\n\n"},
		{"[http] extraHeader=secret\n", "[http]\n"},
		{"[remote \"o\"]\n\turl = https://u:secret@example.com/a\n",
			"[remote \"o\"]\n\turl = https://example.com/a\n"},
		{"[remote \"o\"]\r\n\turl = https://secret@example.com/a\r\n",
			"[remote \"o\"]\r\n\turl = https://example.com/a\r\n"},
		{"[url \"https://u:secret@example.com/\"]\n\tinsteadOf = gh:\n",
			"[url \"https://example.com/\"]\n\tinsteadOf = gh:\n"},
		{"\turl = ssh://git:secret@example.com/a\n", "\turl = ssh://git@example.com/a\n"},
		{"\turl = https://u:sec\\\nret@example.com/a\n", "\turl = https://example.com/a\n"},
		{"\turl = \"https://u:s@ecret@example.com/a\"\n", "\turl = \"https://example.com/a\"\n"},
		{"[credential]\n\thelper = \"!f() { echo password=secret; }; f\"\n\tusername = u\n",
			"[credential]\n\n\tusername = u\n"},
		{"[github]\n\ttoken = secret\n# password = secret\n", "[github]\n\n\n"},
	}
	for _, tt := range tests {
		if got := string(withoutSecrets([]byte(tt.in))); got != tt.want {
			t.Errorf("%q became %q, not %q", tt.in, got, tt.want)
		}
		dir, o := t.TempDir(), Options{Blobs: newMemory()}
		for _, name := range []string{".git/config", ".git/modules/m/config", ".gitconfig"} {
			write(t, dir, map[string]string{name: tt.in, ".git/HEAD": "ref: x", "config": tt.in})
			f := open(t, o, dir)
			got := restored(t, o, snapshot(t, f))
			if got[name].text != tt.want || got["config"].text != tt.in {
				t.Errorf("%s is %q, and another config %q", name, got[name].text, got["config"].text)
			}
			if there, err := os.ReadFile(filepath.Join(dir, name)); string(there) != tt.in {
				t.Errorf("in the folder %s is %q, %v", name, there, err)
			}
		}
	}
}

// TestKey encrypts blobs.
func TestKey(t *testing.T) {
	dir, m := t.TempDir(), newMemory()
	write(t, dir, map[string]string{"name-to-hide": "text to hide"})
	key := bytes.Repeat([]byte{1}, 32)
	manifest := snapshot(t, open(t, Options{Blobs: m, Key: key}, dir))
	for _, data := range m.blobs {
		if bytes.Contains(data, []byte("to hide")) || bytes.Contains(data, []byte("-to-")) {
			t.Error("a blob is not encrypted")
		}
	}
	equal(t, restored(t, Options{Blobs: m, Key: key}, manifest), describe(t, dir))
	plain := snapshot(t, open(t, Options{Blobs: m}, dir))
	for _, tt := range []struct {
		key      []byte
		manifest string
		want     string
	}{
		{nil, manifest, "is encrypted; the key of its tenant is needed"},
		{bytes.Repeat([]byte{2}, 32), manifest,
			"was encrypted with another key; the key of its tenant is needed"},
		{key, plain, "is not encrypted, though a key is set"},
		{[]byte("short"), manifest, "the key has 5 bytes; it must have 32"},
	} {
		_, err := Restore(t.Context(), Options{Blobs: m, Key: tt.key}, tt.manifest, t.TempDir())
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("with the key %x the error is %v", tt.key, err)
		}
	}
	s := storage{key: key}
	data, err := s.seal(aPack, []byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	data[1] = byte(aManifest)
	if _, err := s.open(aManifest, data, 100); err == nil {
		t.Error("a pack was read as a manifest")
	}
}

// TestDamaged restores from stores in which a blob is missing or wrong. Each error names the
// blob, and no file is left.
func TestDamaged(t *testing.T) {
	dir, m := t.TempDir(), newMemory()
	o := Options{Blobs: m}
	write(t, dir, map[string]string{"large": string(noise(3 * pieceSize)), "d/small": "text", "d/e/": ""})
	f := open(t, o, dir)
	snapshot(t, f)
	write(t, dir, map[string]string{"d/small": "other"})
	manifest := snapshot(t, f)
	for sum, data := range maps.Clone(m.blobs) {
		if !f.Sums()[sum] {
			continue
		}
		for _, damage := range []func(){
			func() { delete(m.blobs, sum) },
			func() { m.blobs[sum] = data[:len(data)-1] },
			func() { m.blobs[sum] = append([]byte{data[0] ^ 1}, data[1:]...) },
			func() { m.blobs[sum] = nil },
		} {
			damage()
			to := t.TempDir()
			_, err := Restore(t.Context(), o, manifest, to)
			if err == nil || !strings.Contains(err.Error(), sum) || m.blobs[sum] == nil && len(data) == 0 {
				t.Errorf("the error of %s is %v", sum, err)
			}
			if _, ok := m.blobs[sum]; !ok && !errors.Is(err, errNoBlob) {
				t.Errorf("%v is not the store's error", err)
			}
			if entries, err := os.ReadDir(to); err != nil || len(entries) > 0 {
				t.Errorf("the folder has %v, %v", entries, err)
			}
			m.blobs[sum] = data
		}
	}
	if _, err := Restore(t.Context(), o, manifest, dir); err == nil ||
		!strings.Contains(err.Error(), "is not empty") {
		t.Errorf("restoring into a folder with files is %v", err)
	}
	equal(t, restored(t, o, manifest), describe(t, dir))
}

// noise returns bytes that cannot be compressed.
func noise(n int) []byte {
	data := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(data)
	return data
}

// TestLarge stores a sparse file of 40 MB, and a change in the middle of it.
func TestLarge(t *testing.T) {
	dir, m := t.TempDir(), newMemory()
	o := Options{Blobs: m}
	f, err := os.Create(filepath.Join(dir, "large"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, at := range []int64{7, 20 << 20, 40<<20 - 100} {
		if _, err := f.WriteAt(noise(100), at); err != nil {
			t.Fatal(err)
		}
	}
	folder := open(t, o, dir)
	equal(t, restored(t, o, snapshot(t, folder)), describe(t, dir))
	m.puts = 0
	if _, err := f.WriteAt([]byte("in the middle"), 30<<20); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(35<<20 + 1); err != nil {
		t.Fatal(err)
	}
	manifest := snapshot(t, folder)
	if m.puts > 3 {
		t.Errorf("a change of a few bytes stored %d blobs", m.puts)
	}
	equal(t, restored(t, o, manifest), describe(t, dir))
	for sum, data := range m.blobs {
		if len(data) > maxBlob {
			t.Errorf("%s has %d bytes", sum, len(data))
		}
	}
}

// TestManyPieces stores files that cannot be compressed, of about the size of a pack.
func TestManyPieces(t *testing.T) {
	dir, o := t.TempDir(), Options{Blobs: newMemory(), Key: make([]byte, 32)}
	all := noise(8 << 20)
	for i, n := range []int{packSize - 1, packSize, packSize + 1, packSize / 2, packSize/2 + 1,
		3 * packSize, 1, 2, 3} {
		write(t, dir, map[string]string{fmt.Sprint(i): string(all[:n])})
		all = all[n/2:]
	}
	equal(t, restored(t, o, snapshot(t, open(t, o, dir))), describe(t, dir))
}

// TestTooLarge refuses a folder before it stores a blob.
func TestTooLarge(t *testing.T) {
	dir, m := t.TempDir(), newMemory()
	for i := range 30 {
		write(t, dir, map[string]string{fmt.Sprintf("web/modules/%d", i): "12345",
			fmt.Sprintf("src/%d", i%10): "1"})
	}
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{MaxFiles: 40}, "the folder is too large: it has 43 files, 3 more than the 40 that move between machines; the largest folders are web/modules (150 bytes, 30 files), src (10 bytes, 10 files); remove or exclude files, or submit it with --pin WORKER, which allows 8 GiB and any number of files"},
		{Options{MaxFiles: 10}, "33 more than"},
		{Options{MaxBytes: 100}, "160 bytes, 60 bytes more than the 100 bytes that move"},
	} {
		tt.o.Blobs = m
		f := open(t, tt.o, dir)
		_, err := f.Snapshot(t.Context(), nil, true)
		if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("the error is %v", err)
		}
		if m.puts > 0 {
			t.Errorf("%d blobs were stored", m.puts)
		}
	}
	f := open(t, Options{Blobs: m, MaxBytes: 100, Exclude: []string{"modules"}}, dir)
	snapshot(t, f)
	write(t, dir, map[string]string{"src/0": strings.Repeat("1", 92)})
	if _, err := f.Snapshot(t.Context(), []string{"src/0"}, false); err == nil {
		t.Error("a folder that became too large was stored")
	}
	write(t, dir, map[string]string{"src/0": strings.Repeat("1", 91)})
	if _, err := f.Snapshot(t.Context(), []string{"src/0"}, false); err != nil {
		t.Error(err)
	}
	if _, err := Open(Options{MaxBytes: 1 << 40}, dir); err == nil {
		t.Error("any size is allowed")
	}
}

// TestRefusedPath stores the changes of a call that also has a path outside of the folder.
func TestRefusedPath(t *testing.T) {
	dir, o := t.TempDir(), Options{Blobs: newMemory()}
	f := open(t, o, dir)
	snapshot(t, f)
	write(t, dir, map[string]string{"a": "changed"})
	if _, err := f.Snapshot(t.Context(), []string{"a", "../x"}, false); !errors.Is(err, errNotLocal) {
		t.Fatal(err)
	}
	manifest, err := f.Snapshot(t.Context(), nil, false)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, restored(t, o, manifest), describe(t, dir))
}

// TestOutsidePaths refuses paths outside of the folder.
func TestOutsidePaths(t *testing.T) {
	f := open(t, Options{Blobs: newMemory()}, t.TempDir())
	for _, name := range []string{"", "..", "/nowhere", "../x", "a/../../x"} {
		if _, err := f.Snapshot(t.Context(), []string{name}, false); err == nil {
			t.Errorf("%q was accepted", name)
		}
	}
	for _, name := range []string{".", "a/..", "./gone/x", "x/"} {
		if _, err := f.Snapshot(t.Context(), []string{name}, false); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestChangingFile takes snapshots while a program writes. The stored file is the content at one moment,
// or the snapshot fails with the name of the file.
func TestChangingFile(t *testing.T) {
	dir, o := t.TempDir(), Options{Blobs: newMemory()}
	const size = 2*pieceSize + 10
	path := filepath.Join(dir, "busy")
	write(t, dir, map[string]string{"busy": strings.Repeat("0", size)})
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := os.WriteFile(path+".new", bytes.Repeat([]byte{'a' + byte(i%26)}, size), 0o644); err != nil {
				t.Error(err)
			}
			if err := os.Rename(path+".new", path); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Millisecond)
		}
	})
	f := open(t, o, dir)
	for range 20 {
		manifest, err := f.Snapshot(t.Context(), nil, true)
		if err != nil {
			if !strings.Contains(err.Error(), "busy") {
				t.Errorf("the error does not name the file: %v", err)
			}
			continue
		}
		text := restored(t, o, manifest)["busy"].text
		if len(text) != size || strings.Trim(text, text[:1]) != "" {
			t.Errorf("busy has %d bytes, from %q to %q", len(text), text[:1], text[len(text)-1:])
		}
	}
	close(stop)
	wg.Wait()
	equal(t, restored(t, o, snapshot(t, f)), describe(t, dir))
}

// TestCancel cancels a snapshot. The next snapshot stores all changes.
func TestCancel(t *testing.T) {
	dir, o := t.TempDir(), Options{Blobs: newMemory()}
	write(t, dir, map[string]string{"a/b": "text"})
	f := open(t, o, dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Snapshot(ctx, nil, true); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	manifest := snapshot(t, f)
	if _, err := Restore(ctx, o, manifest, t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	equal(t, restored(t, o, manifest), describe(t, dir))
}
