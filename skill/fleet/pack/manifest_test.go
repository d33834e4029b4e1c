package pack

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestManyManifests reads a folder whose records fill several manifests. One manifest has a file of the
// largest size.
func TestManyManifests(t *testing.T) {
	m := newMemory()
	o := Options{Blobs: m, MaxBytes: maxMaxBytes}
	f := open(t, o, t.TempDir())
	rnd := rand.New(rand.NewPCG(3, 4))
	pieces := func(size int64) (list []*piece) {
		for ; size > 0; size -= pieceSize {
			p := &pack{sum: fmt.Sprintf("%064x", rnd.Uint64())}
			list = append(list, &piece{pack: p, off: rnd.Uint32N(100), len: uint32(min(size, pieceSize-100))})
		}
		return list
	}
	add := func(dir *node, name string, n *node) *node {
		dir.children.set(name, n)
		return n
	}
	for i := range 200 {
		n := newFolderNode()
		n.mode |= 0o711
		dir := add(f.root, fmt.Sprintf("folder %d", i), n)
		for k := range 100 {
			size := rnd.Int64N(pieceSize - 100)
			add(dir, fmt.Sprintf("%d %s", k, strings.Repeat("n", rnd.IntN(100))),
				&node{mode: 0o640, mtime: rnd.Int64(), size: size, pieces: pieces(size)})
		}
		add(dir, "link", &node{mode: fs.ModeSymlink, mtime: -rnd.Int64(),
			target: strings.Repeat("../", rnd.IntN(1000)+1)})
	}
	chain := encoded(t, f, func(e *encoder) { e.whole(f.root, nil) })
	if len(chain) < 3 {
		t.Errorf("there are %d manifests", len(chain))
	}
	compare(t, loaded(t, Options{Blobs: m, MaxBytes: maxMaxBytes}, chain), f.root, "")

	root := newFolderNode()
	n := add(root, "largest", &node{mode: 0o600, size: maxMaxBytes, pieces: pieces(maxMaxBytes)})
	for _, p := range n.pieces {
		p.off, p.len = 0, pieceSize
	}
	add(root, "small", &node{mode: 0o600})
	changes := []*change{
		{path: "largest", dir: root, name: "largest", now: n},
		{path: "small", dir: root, name: "small", now: root.children.get("small")},
	}
	chain = encoded(t, f, func(e *encoder) { e.changes(changes) })
	compare(t, loaded(t, o, chain), root, "")
}

// encoded stores manifests.
func encoded(t *testing.T, f *Folder, encode func(*encoder)) []string {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	e := &encoder{w: newWriter(ctx, cancel, f, nil)}
	encode(e)
	chain, err := e.finish()
	if err != nil {
		t.Fatal(err)
	}
	return chain
}

// loaded reads the manifests.
func loaded(t *testing.T, o Options, chain []string) *node {
	t.Helper()
	g := open(t, o, t.TempDir())
	if err := g.load(t.Context(), chain[len(chain)-1]); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(g.chain, chain) {
		t.Error("the manifests are others")
	}
	return g.root
}

// compare compares the fields that a manifest stores.
func compare(t *testing.T, got, want *node, path string) {
	t.Helper()
	if got == nil || got.mode != want.mode ||
		got.mtime != want.mtime || got.size != want.size ||
		got.target != want.target || len(got.pieces) != len(want.pieces) {
		t.Fatalf("%q is %+v, not %+v", path, got, want)
	}
	for i, p := range want.pieces {
		if g := got.pieces[i]; g.pack.sum != p.pack.sum || g.off != p.off {
			t.Fatalf("piece %d of %q is %+v, not %+v", i, path, g, p)
		}
	}
	if want.children == nil {
		return
	}
	if got.children == nil || got.children.count != want.children.count {
		t.Fatalf("%q has other names", path)
	}
	for name, n := range want.children.all() {
		compare(t, got.children.get(name), n, join(path, name))
	}
}
