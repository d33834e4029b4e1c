package pack

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"io/fs"
)

// A manifest has these parts:
//
//  1. its own pack, which may be empty;
//  2. the number of the earlier manifests, and their sums;
//  3. the number of its packs, and their sums; the sum of its own pack is zero there;
//  4. records;
//  5. the length of its own pack, in four bytes.
//
// A reader applies the records of all manifests in order. A record has an operation, a path and
// metadata. A path is the number of bytes that it shares with the path before, and the rest. A
// time is the difference to the time before. The metadata of a file are mode, time and size, and
// for each piece the number of its pack and its offset there. Numbers are varints. Texts follow
// their lengths.
const (
	opRemove = iota
	opFolder
	opFile
	opLink
)

const (
	// maxDeltas is how many deltas may follow a manifest that lists all files.
	maxDeltas = 32
	// partSize is the size, before compression, beyond which the encoder starts a new manifest.
	partSize = 512 << 10
	// maxManifest is the largest size of a manifest: a single file of maxMaxBytes fits in it.
	maxManifest = maxBlob - 1<<10
	// maxChain is how many manifests may describe a folder together.
	maxChain = 4096

	sumSize    = 32
	lengthSize = 4
)

// ownPack stands for the sum of the manifest that contains it.
const ownPack = "0000000000000000000000000000000000000000000000000000000000000000"

// An encoder writes manifests.
type encoder struct {
	w       *writer
	earlier []string  // sums of the manifests of earlier snapshots
	parts   []*string // sums of full manifests; w.sealed waits for them
	total   int       // bytes of all manifests of this snapshot

	records []byte
	path    string
	mtime   int64
	packs   []*pack
	number  map[*pack]uint64
}

// changes writes the records of changes.
func (e *encoder) changes(changes []*change) {
	for _, c := range changes {
		switch {
		case !c.matters():
		case c.now == nil:
			e.room(0)
			e.begin(opRemove, c.path)
		default:
			e.node(c.path, c.now)
		}
	}
}

// whole writes the records of all files, as they are after changes.
func (e *encoder) whole(root *node, changes []*change) {
	after := make(map[*node]map[string]*node) // changed names, by folder
	meta := make(map[*node]*node)
	for _, c := range changes {
		if c.meta {
			meta[c.old] = c.now
			continue
		}
		if after[c.dir] == nil {
			after[c.dir] = map[string]*node{}
		}
		after[c.dir][c.name] = c.now
	}
	var visit func(dir *node, rel string)
	visit = func(dir *node, rel string) {
		children := dir.children
		if changed := after[dir]; changed != nil {
			children = children.with(changed)
		}
		for name, n := range children.all() {
			path := join(rel, name)
			if now := meta[n]; now != nil {
				e.node(path, now)
			} else {
				e.node(path, n)
			}
			if n.children != nil {
				visit(n, path)
			}
		}
	}
	visit(root, "")
}

// node writes the record of a node.
func (e *encoder) node(path string, n *node) {
	e.room(len(n.pieces))
	switch {
	case n.children != nil:
		e.begin(opFolder, path)
		e.records = binary.AppendUvarint(e.records, uint64(n.mode.Perm()))
		e.time(n.mtime)
	case n.mode&fs.ModeSymlink != 0:
		e.begin(opLink, path)
		e.time(n.mtime)
		e.text(n.target)
	default:
		e.begin(opFile, path)
		e.records = binary.AppendUvarint(e.records, uint64(n.mode.Perm()))
		e.time(n.mtime)
		e.records = binary.AppendUvarint(e.records, uint64(n.size))
		for _, p := range n.pieces {
			number, ok := e.number[p.pack]
			if !ok {
				number = uint64(len(e.packs))
				e.number[p.pack] = number
				e.packs = append(e.packs, p.pack)
			}
			e.records = binary.AppendUvarint(e.records, number)
			e.records = binary.AppendUvarint(e.records, uint64(p.off))
		}
	}
}

// room stores the manifest and begins another if a record with so many pieces may not fit.
func (e *encoder) room(pieces int) {
	const pathSize, pieceRecord = 8 << 10, sumSize + 6
	if used := len(e.records) + len(e.packs)*sumSize; used > 0 &&
		used+pieces*pieceRecord+pathSize > partSize {
		sum := new(string)
		e.parts = append(e.parts, sum)
		e.w.flush() // later manifests need the sum of the current pack too
		e.w.sealed.Wait()
		e.w.put(aManifest, e.blob(nil, nil), sum, func() {})
	}
	if e.number == nil {
		e.number = map[*pack]uint64{}
	}
}

// begin begins a record.
func (e *encoder) begin(op byte, path string) {
	e.records = append(e.records, op)
	e.name(path)
}

// name writes a path: the length of the part that it shares with the last path, and the rest.
func (e *encoder) name(path string) {
	shared := 0
	for shared < min(len(path), len(e.path)) && path[shared] == e.path[shared] {
		shared++
	}
	e.records = binary.AppendUvarint(e.records, uint64(shared))
	e.text(path[shared:])
	e.path = path
}

func (e *encoder) text(s string) {
	e.records = append(binary.AppendUvarint(e.records, uint64(len(s))), s...)
}

func (e *encoder) time(mtime int64) {
	e.records = binary.AppendVarint(e.records, mtime-e.mtime)
	e.mtime = mtime
}

// blob returns the manifest with the current records, and clears them. content is the manifest's
// own pack.
func (e *encoder) blob(earlier []string, content []byte) []byte {
	b := make([]byte, 0, len(content)+len(e.records)+(len(e.packs)+len(earlier))*sumSize+20)
	b = append(b, content...)
	b = binary.AppendUvarint(b, uint64(len(earlier)))
	for _, sum := range earlier {
		b = appendSum(b, sum)
	}
	b = binary.AppendUvarint(b, uint64(len(e.packs)))
	for _, p := range e.packs {
		b = appendSum(b, cmp.Or(p.sum, ownPack))
	}
	b = append(b, e.records...)
	e.total += len(b) - len(content) - len(earlier)*sumSize
	b = binary.LittleEndian.AppendUint32(b, uint32(len(content)))
	e.records, e.packs, e.number, e.path, e.mtime = nil, nil, nil, "", 0
	return b
}

func appendSum(b []byte, sum string) []byte {
	b, err := hex.AppendDecode(b, []byte(sum))
	if err != nil {
		panic(err) // this package made the sum
	}
	return b
}

// finish stores the last manifest, which names all others, and returns their sums in order. It
// returns when all blobs are stored.
func (e *encoder) finish() (chain []string, err error) {
	e.w.sealed.Wait()
	chain = e.earlier
	for _, sum := range e.parts {
		chain = append(chain, *sum)
	}
	last := ""
	e.w.put(aManifest, e.blob(chain, e.w.buf), &last, func() {})
	if err := e.w.stored(); err != nil {
		return nil, err
	}
	if own := e.w.current; own != nil {
		own.sum, own.size = last, len(e.w.buf)
	}
	return append(chain, last), nil
}
