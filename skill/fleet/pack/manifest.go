package pack

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"io/fs"
)

// A manifest begins with the content of a small pack, whose length is its last four bytes: 0
// without one. Between them are the sums of the manifests before it and of the packs that it
// needs, each list after its length, and records. The sum of its own pack is that of the manifest,
// and zero in its list. To read a folder is to read the records of all its
// manifests in order. A record has an operation, a path and what is said of it; a path has
// how many bytes of the path before it begin it, and the rest. Numbers are varints, texts
// follow their lengths. A file has its mode, its time as the difference to the one before,
// its size, and for each piece the number of its pack and its offset there.
const (
	opRemove = iota
	opFolder
	opFile
	opLink
)

const (
	// maxDeltas is after how many deltas a manifest describes the whole folder again.
	maxDeltas = 32
	// partSize is about how large a manifest may be before it is compressed: what has more
	// is split.
	partSize = 512 << 10
	// maxManifest is the largest size of one, with the sums of the packs of a single file
	// of maxMaxBytes.
	maxManifest = maxBlob - 1<<10
	// maxChain is how many manifests may describe a folder.
	maxChain = 4096

	sumSize    = 32
	lengthSize = 4
)

// ownPack is written in a manifest for the sum of the manifest itself.
const ownPack = "0000000000000000000000000000000000000000000000000000000000000000"

// An encoder writes manifests.
type encoder struct {
	w       *writer
	earlier []string
	parts   []*string // sums of further ones that are being stored
	total   int       // bytes

	records []byte
	path    string
	mtime   int64
	packs   []*pack
	number  map[*pack]uint64
}

// changes writes what the changes are.
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

// whole writes what the folder is after changes.
func (e *encoder) whole(root *node, changes []*change) {
	after := make(map[*node]map[string]*node) // names of folders that differ
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
		if differ := after[dir]; differ != nil {
			children = children.with(differ)
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

// node writes what a path is.
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

// room begins a new manifest if the next record, with so many pieces, may not fit.
func (e *encoder) room(pieces int) {
	const pathSize, pieceRecord = 8 << 10, sumSize + 6
	if used := len(e.records) + len(e.packs)*sumSize; used > 0 &&
		used+pieces*pieceRecord+pathSize > partSize {
		sum := new(string)
		e.parts = append(e.parts, sum)
		e.w.flush() // later parts need its sum, too
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

// name writes a path as what differs from the one before.
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

// blob returns the manifest with the records so far, and begins the next one. content is that of
// the pack whose sum is not known.
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
		panic(err) // it is ours
	}
	return b
}

// finish stores what is left, and returns the sums of all manifests that describe the
// folder, and the last one names the others. All blobs are stored then.
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
