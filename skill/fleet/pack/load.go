package pack

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/sync/errgroup"
)

// errDamaged is the error for a manifest that Snapshot cannot have written.
var errDamaged = errors.New("is damaged")

// load reads a manifest and all manifests that it names.
func (f *Folder) load(ctx context.Context, manifest string) error {
	last, err := f.get(ctx, aManifest, manifest, maxManifest)
	if err != nil {
		return err
	}
	l := loader{Folder: f, packs: map[string]*pack{}}
	r := newRecord(last)
	f.baseLen = len(r.data)
	earlier := r.sums(maxChain)
	f.chain = append(earlier, manifest)
	if r.bad || repeats(f.chain) {
		return fmt.Errorf("manifest %s %w", manifest, errDamaged)
	}
	f.deltas = len(earlier)
	const ahead = 4
	var batch [ahead][]byte
	for i, sum := range f.chain {
		if i%ahead == 0 {
			if err := f.fetch(ctx, f.chain[i:min(i+ahead, len(earlier))], batch[:]); err != nil {
				return err
			}
		}
		data := batch[i%ahead]
		if i == len(earlier) {
			data = last
		}
		if err := l.read(sum, data); err != nil {
			return fmt.Errorf("manifest %s %w", sum, err)
		}
	}
	f.count, f.bytes = f.root.measure()
	if f.count--; f.bytes > f.maxBytes {
		return f.exceeds(f.count, f.bytes, nil)
	}
	f.acquireAll(f.root)
	return nil
}

// repeats reports whether a list has a sum twice.
func repeats(sums []string) bool {
	known := map[string]bool{}
	for _, sum := range sums {
		known[sum] = true
	}
	return len(known) < len(sums)
}

// fetch gets several manifests at the same time.
func (f *Folder) fetch(ctx context.Context, sums []string, into [][]byte) error {
	g, ctx := errgroup.WithContext(ctx)
	for i, sum := range sums {
		g.Go(func() (err error) {
			into[i], err = f.get(ctx, aManifest, sum, maxManifest)
			return err
		})
	}
	return g.Wait()
}

// acquireAll acquires the pieces of n and of all nodes below it.
func (f *Folder) acquireAll(n *node) {
	f.acquire(n)
	if n.children != nil {
		for _, c := range n.children.all() {
			f.acquireAll(c)
		}
	}
}

// A loader builds the nodes of a folder from the records of its manifests. It checks all of a
// manifest, which may be hostile.
type loader struct {
	*Folder
	packs map[string]*pack
	nodes int

	path   string // of the last record
	dir    *node  // the folder of path
	parent string // the path of dir
	mtime  int64  // of the last record
}

// read reads the manifest with the sum manifest.
func (l *loader) read(manifest string, data []byte) error {
	r := newRecord(data)
	r.sums(maxChain)
	packs, err := l.readPacks(r, manifest, len(data)/sumSize)
	if err != nil {
		return err
	}
	l.path, l.mtime, l.dir = "", 0, nil
	for len(r.data) > 0 && !r.bad {
		op := r.number(opLink)
		path := r.path(l.path)
		n := l.readNode(r, op, packs)
		if r.bad || !l.set(path, n) {
			return errDamaged
		}
		l.path = path
		if l.nodes > l.maxFiles {
			return l.exceeds(l.nodes, 0, nil)
		}
	}
	if r.bad {
		return errDamaged
	}
	return nil
}

// readPacks reads the packs of the manifest with the sum manifest.
func (l *loader) readPacks(r *record, manifest string, limit int) ([]*pack, error) {
	sums := r.sums(limit)
	packs := make([]*pack, len(sums))
	for i, sum := range sums {
		if sum == ownPack {
			sum = manifest
		}
		if packs[i] = l.packs[sum]; packs[i] == nil {
			packs[i] = &pack{sum: sum}
			l.packs[sum] = packs[i]
		}
	}
	if int64(len(l.packs)) > 2*int64(l.maxFiles)+l.maxBytes/pieceSize+maxChain { // no folder needs so many
		return nil, errDamaged
	}
	return packs, nil
}

// readNode reads the node of a record. It returns nil for opRemove.
func (l *loader) readNode(r *record, op uint64, packs []*pack) (n *node) {
	switch {
	case r.bad:
	case op == opFolder:
		n = newFolderNode()
		n.mode |= fs.FileMode(r.number(uint64(fs.ModePerm)))
		n.mtime = l.time(r)
	case op == opLink:
		n = &node{mode: fs.ModeSymlink, mtime: l.time(r)}
		n.target = r.text(maxTarget)
		r.check(n.target != "" && strings.IndexByte(n.target, 0) < 0)
	case op == opFile:
		n = &node{mode: fs.FileMode(r.number(uint64(fs.ModePerm))), mtime: l.time(r)}
		n.size = int64(r.number(uint64(l.maxBytes)))
		n.pieces = r.pieces(n.size, packs)
	}
	return n
}

func (l *loader) time(r *record) int64 {
	l.mtime += r.signed()
	return l.mtime
}

// set puts n at a path; nil removes the path. It returns false if the path is invalid.
func (l *loader) set(path string, n *node) bool {
	slash := strings.LastIndexByte(path, '/')
	parent, name := path[:max(slash, 0)], strings.Clone(path[slash+1:])
	if l.dir == nil || parent != l.parent {
		l.dir, l.parent = l.root, parent
		for part := range strings.SplitSeq(parent, "/") {
			if parent == "" {
				break
			}
			if l.dir = l.dir.children.get(part); l.dir == nil || l.dir.children == nil {
				return false
			}
		}
	}
	old := l.dir.children.get(name)
	switch {
	case !validName(name) || n == nil && old == nil:
		return false
	case n == nil:
		l.dir.children.set(name, nil)
	case old != nil && old.children != nil && n.children != nil: // a known folder: its metadata changes
		old.mode, old.mtime = n.mode, n.mtime
		return true
	default:
		l.dir.children.set(name, n)
		l.nodes++
	}
	if old != nil {
		count, _ := old.measure()
		l.nodes -= count
		if old.children != nil {
			l.dir = nil // dir may be below old
		}
	}
	return true
}

const (
	maxName   = 255
	maxPath   = 4096 + maxName
	maxTarget = 4096
)

// validName reports whether a file may have this name.
func validName(name string) bool {
	return name != "" && name != "." &&
		name != ".." && len(name) <= maxName &&
		!strings.ContainsAny(name, "/\x00")
}

// A record reads a manifest. After invalid data bad is true, and all reads return zero values.
type record struct {
	data []byte
	bad  bool
}

// newRecord returns a reader of a manifest, positioned after the manifest's own pack.
func newRecord(data []byte) *record {
	r := &record{data: data}
	end := len(data) - lengthSize
	if r.check(end >= 0); r.bad {
		return r
	}
	own := binary.LittleEndian.Uint32(data[end:])
	r.data = data[:end]
	if r.check(own < smallPack); !r.bad {
		r.bytes(int(own))
	}
	return r
}

func (r *record) check(ok bool) {
	if !ok {
		r.bad, r.data = true, nil
	}
}

// number reads a number up to limit.
func (r *record) number(limit uint64) uint64 {
	n, size := binary.Uvarint(r.data)
	if r.check(size > 0 && n <= limit); r.bad {
		return 0
	}
	r.data = r.data[size:]
	return n
}

func (r *record) signed() int64 {
	n, size := binary.Varint(r.data)
	if r.check(size > 0); r.bad {
		return 0
	}
	r.data = r.data[size:]
	return n
}

func (r *record) bytes(n int) []byte {
	if r.check(n <= len(r.data)); r.bad {
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

func (r *record) text(limit int) string { return string(r.bytes(int(r.number(uint64(limit))))) }

func (r *record) path(before string) string {
	shared := r.number(uint64(len(before)))
	rest := r.text(maxPath)
	r.check(int(shared)+len(rest) <= maxPath)
	return before[:shared] + rest
}

// sums reads a list of sums.
func (r *record) sums(limit int) (sums []string) {
	for range r.number(uint64(min(limit, len(r.data)/sumSize))) {
		sums = append(sums, hex.EncodeToString(r.bytes(sumSize)))
	}
	return sums
}

// pieces reads the pieces of a file.
func (r *record) pieces(size int64, packs []*pack) (pieces []*piece) {
	for size > 0 && !r.bad {
		length := min(size, pieceSize)
		number := r.number(uint64(len(packs)))
		off := r.number(packSize - uint64(length))
		if r.check(int(number) < len(packs)); r.bad {
			return nil
		}
		pieces = append(pieces, &piece{pack: packs[number], off: uint32(off), len: uint32(length)})
		size -= length
	}
	return pieces
}
