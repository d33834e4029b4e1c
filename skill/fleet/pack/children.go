package pack

import (
	"encoding/binary"
	"hash/maphash"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"

	"textskill/skill/internal/workspace/tree"
)

// children are the files of a folder, by name. Small files that have not changed for a while are
// settled: a settled file takes about 60 bytes of memory, a node with its piece 350.
type children struct {
	recent  map[string]*node // overrides settled; nil for a removed file
	settled settled
	count   int
}

func newChildren() *children { return &children{recent: map[string]*node{}} }

// get returns the node with a name, or nil.
func (c *children) get(name string) *node {
	if n, ok := c.recent[name]; ok {
		return n
	}
	return c.settled.get(name)
}

// set gives a name the node n; nil removes the name.
func (c *children) set(name string, n *node) {
	old, settled := c.get(name), c.settled.get(name) != nil
	if old != nil {
		c.count--
	}
	if n != nil {
		c.count++
	}
	if n == nil && !settled {
		delete(c.recent, name)
		return
	}
	c.recent[name] = n
}

// with returns the children after changes; nil removes a name.
func (c *children) with(changes map[string]*node) *children {
	recent := maps.Clone(c.recent)
	maps.Copy(recent, changes)
	return &children{recent: recent, settled: c.settled}
}

// all returns the names in order, with their nodes.
func (c *children) all() iter.Seq2[string, *node] {
	return func(yield func(string, *node) bool) {
		names := slices.Sorted(maps.Keys(c.recent))
		next := func(before func(name string) bool) bool {
			for ; len(names) > 0 && before(names[0]); names = names[1:] {
				if n := c.recent[names[0]]; n != nil && !yield(names[0], n) {
					return false
				}
			}
			return true
		}
		for e := range c.settled.all() {
			if !next(func(name string) bool { return name < string(e.name) }) {
				return
			}
			if (len(names) == 0 || names[0] != string(e.name)) && !yield(string(e.name), c.settled.node(e)) {
				return
			}
		}
		next(func(string) bool { return true })
	}
}

const (
	// maxSettled is the largest size of a settled file. A snapshot does not compare new files
	// with settled files, so it stores a small renamed file again.
	maxSettled = 16 << 10
	// minSettle is the least number of files to settle at once in a folder.
	minSettle = 8
	// blockFiles is the number of files in a block. To find a file is to read its block.
	blockFiles = 16
)

// settled are files in the order of their names. Each is like a record of a manifest, with a
// short stamp and a short sum of its content. The first file of a block has its whole name and
// time.
type settled struct {
	data   []byte
	blocks []uint32 // their offsets in data
	packs  []*pack  // files name them by number
}

// An entry is a settled file.
type entry struct {
	name           []byte // valid until the next entry is read
	mode           fs.FileMode
	mtime, size    int64
	stamp, content uint64 // bits of the short stamp and the short sum
	pack, off      int
}

// read reads the files of a block.
func (s *settled) read(block int) iter.Seq[entry] {
	return func(yield func(entry) bool) {
		end := len(s.data)
		if block+1 < len(s.blocks) {
			end = int(s.blocks[block+1])
		}
		var e entry
		for r := (record{data: s.data[s.blocks[block]:end]}); len(r.data) > 0; {
			e.name = append(e.name[:r.number(maxName)], r.bytes(int(r.number(maxName)))...)
			e.mode = fs.FileMode(r.number(uint64(fs.ModePerm)))
			e.mtime += r.signed()
			e.size = int64(r.number(maxSettled))
			e.stamp, e.content = binary.LittleEndian.Uint64(r.bytes(8)),
				binary.LittleEndian.Uint64(r.bytes(8))
			if e.size > 0 {
				e.pack, e.off = int(r.number(uint64(len(s.packs)))), int(r.number(packSize))
			}
			if !yield(e) {
				return
			}
		}
	}
}

func (s *settled) all() iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for block := range s.blocks {
			for e := range s.read(block) {
				if !yield(e) {
					return
				}
			}
		}
	}
}

func (s *settled) get(name string) *node {
	block, found := slices.BinarySearchFunc(s.blocks, name, func(at uint32, name string) int {
		r := record{data: s.data[at+1:]} // skips the length shared with the name before: 0
		return strings.Compare(string(r.bytes(int(r.number(maxName)))), name)
	})
	if !found {
		block--
	}
	if block < 0 {
		return nil
	}
	for e := range s.read(block) {
		if string(e.name) == name {
			return s.node(e)
		}
	}
	return nil
}

// node returns the node of a file, with a short stamp and sum.
func (s *settled) node(e entry) *node {
	n := &node{mode: e.mode, mtime: e.mtime, size: e.size, stamp: shortStamp(e.stamp)}
	if e.size > 0 {
		n.pieces = []*piece{{s.packs[e.pack], uint32(e.off), uint32(e.size), shortSum(e.content)}}
	}
	return n
}

// A short stamp or sum holds a hash of 64 bits of a whole stamp or sum. All its other fields are
// zero, so that it never equals a whole one.
func shortStamp(bits uint64) stamp { return stamp{id: tree.FileID{Ino: bits}} }

func shortSum(bits uint64) (sum [32]byte) {
	binary.LittleEndian.PutUint64(sum[:], bits)
	return sum
}

// sameStamp reports whether old is the stamp s or its short stamp.
func (f *Folder) sameStamp(old, s stamp) bool {
	return old == s || old == shortStamp(maphash.Comparable(f.seed, s))
}

// sameSum reports whether a piece has this sum or its short sum.
func (f *Folder) sameSum(p *piece, sum [32]byte) bool {
	return p.sum == sum || p.sum == shortSum(maphash.Bytes(f.seed, sum[:]))
}

// settle settles the small files of a folder and of the folders below it.
func (f *Folder) settle(dir *node) {
	c, found := dir.children, 0
	for _, n := range c.recent {
		switch {
		case n == nil || n.settles():
			found++
		case n.children != nil:
			f.settle(n)
		}
	}
	if found < minSettle {
		return
	}
	recent, w := map[string]*node{}, settler{seed: f.seed, numbers: map[*pack]int{}}
	for name, n := range c.all() {
		if n.settles() {
			w.add(name, n)
		} else {
			recent[name] = n
		}
	}
	// The clones have no spare capacity.
	c.recent, c.settled = recent, settled{slices.Clone(w.data), slices.Clone(w.blocks), w.packs}
}

func (n *node) settles() bool { return n.mode.IsRegular() && n.size <= maxSettled }

// A settler writes settled files.
type settler struct {
	settled
	seed    maphash.Seed
	numbers map[*pack]int
	count   int
	name    string
	mtime   int64
}

func (w *settler) add(name string, n *node) {
	if w.count%blockFiles == 0 {
		w.blocks = append(w.blocks, uint32(len(w.data)))
		w.name, w.mtime = "", 0
	}
	e := encoder{records: w.data, path: w.name, mtime: w.mtime}
	e.name(name)
	e.records = binary.AppendUvarint(e.records, uint64(n.mode.Perm()))
	e.time(n.mtime)
	e.records = binary.AppendUvarint(e.records, uint64(n.size))
	var sum uint64
	if n.size > 0 {
		if p := n.pieces[0]; p.sum == shortSum(binary.LittleEndian.Uint64(p.sum[:])) {
			sum = binary.LittleEndian.Uint64(p.sum[:])
		} else {
			sum = maphash.Bytes(w.seed, p.sum[:])
		}
	}
	bits := uint64(0) // for a racy stamp: the next scan reads the file again
	switch {
	case n.stamp == shortStamp(n.stamp.id.Ino):
		bits = n.stamp.id.Ino
	case !n.stamp.racy:
		bits = maphash.Comparable(w.seed, n.stamp)
	}
	e.records = binary.LittleEndian.AppendUint64(e.records, bits)
	e.records = binary.LittleEndian.AppendUint64(e.records, sum)
	if n.size > 0 {
		p := n.pieces[0]
		number, ok := w.numbers[p.pack]
		if !ok {
			number = len(w.packs)
			w.numbers[p.pack] = number
			w.packs = append(w.packs, p.pack)
		}
		e.records = binary.AppendUvarint(e.records, uint64(number))
		e.records = binary.AppendUvarint(e.records, uint64(p.off))
	}
	w.data, w.name, w.mtime = e.records, name, n.mtime
	w.count++
}

// compact settles small files, and forgets the sums of their pieces.
func (f *Folder) compact() {
	f.settle(f.root)
	f.pieces = map[[32]byte]*piece{}
	var visit func(dir *node)
	visit = func(dir *node) {
		for _, n := range dir.children.recent {
			switch {
			case n == nil:
			case n.children != nil:
				visit(n)
			default:
				for _, p := range n.pieces {
					f.pieces[p.sum] = p
				}
			}
		}
	}
	visit(f.root)
}
