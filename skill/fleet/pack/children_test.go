package pack

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"textskill/skill/internal/workspace/tree"
)

// TestChildren changes the children of a folder at random, settles them in between, and compares
// them with a map.
func TestChildren(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		f, err := Open(Options{}, "")
		if err != nil {
			r.Fatal(err)
		}
		packs := []*pack{{sum: "a"}, {sum: "b"}, {sum: "c"}}
		want := map[string]*node{}
		names := rapid.OneOf(rapid.SampledFrom([]string{"a", "ab", "\xff", "event-1", "event-12"}),
			rapid.StringMatching(`e-[0-9]{1,2}`))
		draw := func(r *rapid.T) *node {
			switch rapid.IntRange(0, 9).Draw(r, "kind") {
			case 0:
				return newFolderNode()
			case 1:
				return &node{mode: fs.ModeSymlink, target: "x"}
			}
			n := &node{
				mode:  fs.FileMode(rapid.IntRange(0, 0o777).Draw(r, "mode")),
				mtime: rapid.Int64().Draw(r, "mtime"),
				size:  rapid.SampledFrom([]int64{0, 1, 700, maxSettled, maxSettled + 1}).Draw(r, "size"),
			}
			n.stamp = stamp{tree.FileID{Ino: rapid.Uint64Min(1).Draw(r, "ino")}, n.size, n.mtime,
				rapid.Int64().Draw(r, "changed"), n.mode, rapid.Bool().Draw(r, "racy")}
			if n.size > 0 {
				p := &piece{pack: rapid.SampledFrom(packs).Draw(r, "pack"),
					off: rapid.Uint32Range(0, packSize).Draw(r, "off"), len: uint32(n.size)}
				p.sum[rapid.IntRange(0, 31).Draw(r, "place")] = 1
				n.pieces = []*piece{p}
			}
			return n
		}
		c := f.root.children
		r.Repeat(map[string]func(*rapid.T){
			"set": func(r *rapid.T) {
				for range rapid.IntRange(1, 30).Draw(r, "n") {
					name, n := names.Draw(r, "name"), draw(r)
					c.set(name, n)
					want[name] = n
				}
			},
			"remove": func(r *rapid.T) {
				name := names.Draw(r, "name")
				c.set(name, nil)
				delete(want, name)
			},
			"settle": func(*rapid.T) { f.compact() },
			"with": func(r *rapid.T) {
				name := names.Draw(r, "name")
				changed := maps.Clone(want)
				delete(changed, name)
				checkChildren(r, f, c.with(map[string]*node{name: nil}), changed, false)
			},
			"": func(r *rapid.T) { checkChildren(r, f, c, want, true) },
		})
	})
}

func checkChildren(r *rapid.T, f *Folder, c *children, want map[string]*node, counted bool) {
	if counted && c.count != len(want) {
		r.Fatalf("%d are counted, of %d", c.count, len(want))
	}
	var listed []string
	for name, n := range c.all() {
		listed = append(listed, name)
		for _, got := range []*node{n, c.get(name)} {
			w := want[name]
			if w == nil || got == nil || got.mode != w.mode ||
				got.size != w.size || got.mtime != w.mtime ||
				got.target != w.target || len(got.pieces) != len(w.pieces) {
				r.Fatalf("%q is %+v, not %+v", name, got, w)
			}
			info := w.stamp
			info.racy = false
			if n.mode.IsRegular() && f.sameStamp(got.stamp, info) == w.stamp.racy {
				r.Fatalf("%q is looked at again: %v", name, !w.stamp.racy)
			}
			info.changed++
			if f.sameStamp(got.stamp, info) {
				r.Fatalf("%q is not looked at again", name)
			}
			for i, p := range w.pieces {
				if g := got.pieces[i]; g.pack != p.pack || g.off != p.off || g.len != p.len ||
					!f.sameSum(g, p.sum) || f.sameSum(g, [32]byte{2}) {
					r.Fatalf("%q has the piece %+v, not %+v", name, g, p)
				}
			}
		}
	}
	if !slices.Equal(listed, slices.Sorted(maps.Keys(want))) {
		r.Fatalf("there are %q, not %q", listed, slices.Sorted(maps.Keys(want)))
	}
	if got := c.get("none"); got != nil {
		r.Fatal(fmt.Sprint("what is not there is ", got))
	}
}

// discard is a Blobs that stores nothing.
type discard struct{}

func (discard) Put(context.Context, string, []byte) error   { return nil }
func (discard) Get(context.Context, string) ([]byte, error) { return nil, errNoBlob }

// TestMemory allows 100 bytes of memory for each file in a folder of small files. A run of 2,000
// steps has 12,000 records.
func TestMemory(t *testing.T) {
	const files = 3000
	dir := t.TempDir()
	for i := range files {
		name := fmt.Sprintf("event-%d-%d-resolveToolResult.json", 1763838000000+7*i, i/6)
		if err := os.WriteFile(filepath.Join(dir, name), fmt.Append(nil, i), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // twice: the second one clears sync.Pool
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	f := open(t, Options{Blobs: discard{}}, dir)
	if _, err := f.Snapshot(t.Context(), nil, true); err != nil {
		t.Fatal(err)
	}
	if size := (heap() - before) / files; size > 100 {
		t.Errorf("a file takes %d bytes", size)
	}
	runtime.KeepAlive(f)
}
