package history

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// The file of an index has four parts: a head, a table of blocks, the blocks, and records. A block holds the next
// blockItems items of the last whole look; a record holds the items that changed later. Head and table, each
// block and each record have a checksum, so that nobody has to read the whole file. Numbers are varints but for
// checksums, offsets and the lengths of parts; a text follows its length.

const (
	indexName    = "index"
	indexVersion = 2
	maxIndex     = 128 << 20 // bytes of the file
	maxRecords   = 128 << 10 // bytes of records, above which the file is written anew
	blockItems   = 64
	partHead     = 8 // bytes before a part: its checksum and its length
)

// An indexFile is the file of an index.
type indexFile struct {
	dir    *os.Root
	in     io.ReaderAt    // nil until a block is needed; closed with the lock
	sum    uint32         // of head and table
	blocks []indexBlock   // in the order of their items
	first  int64          // offset of the records
	end    int64          // offset of the next record
	read   map[int]string // the blocks that were read
}

type indexBlock struct {
	from, to int64 // offsets in the file
	sum      uint32
}

// errDamaged means that the file of an index or of a pack is damaged.
var errDamaged = errors.New("the file is damaged")

// shut closes the file. A later block opens it again.
func (f *indexFile) shut() {
	if c, ok := f.in.(io.Closer); ok {
		c.Close()
	}
	f.in = nil
}

// bytes returns the content of a number of blocks, from one on.
func (f *indexFile) bytes(i, n int) (string, error) {
	if n == 0 {
		return "", nil
	}
	if f.in == nil {
		file, err := f.dir.Open(indexName)
		if err != nil {
			return "", err
		}
		f.in = file
	}
	from := f.blocks[i].from
	data := make([]byte, f.blocks[i+n-1].to-from)
	if _, err := f.in.ReadAt(data, from); err != nil {
		return "", err
	}
	for _, b := range f.blocks[i : i+n] {
		if checksum(data[b.from-from:b.to-from]) != b.sum {
			return "", errDamaged
		}
	}
	return string(data), nil
}

// all returns the items of all blocks.
func (f *indexFile) all() (list []item, err error) {
	data, err := f.bytes(0, len(f.blocks))
	if err != nil {
		return nil, err
	}
	return itemsOf(data, len(f.blocks)*blockItems)
}

// itemsOf decodes at most n items.
func itemsOf(data string, n int) ([]item, error) {
	list := make([]item, 0, n)
	d := &indexReader{data: data}
	for d.data != "" && len(list) < n {
		list = list[:len(list)+1]
		d.item(&list[len(list)-1])
	}
	if d.bad || d.data != "" {
		return nil, errDamaged
	}
	return list, nil
}

// block returns the content of a block and its first path.
func (f *indexFile) block(i int) (data, first string, err error) {
	data, ok := f.read[i]
	if !ok {
		if data, err = f.bytes(i, 1); err != nil {
			return "", "", err
		}
		f.read[i] = data
	}
	d := &indexReader{data: data}
	return data, d.text(), nil
}

// find returns the item of a path, nil if the path has no item.
func (f *indexFile) find(name string) (e *item, err error) {
	from, to := 0, len(f.blocks) // the last block whose first path is not after name is before to
	for from < to {
		i := (from + to) / 2
		_, first, err := f.block(i)
		switch {
		case err != nil:
			return nil, err
		case byFolder(first, name) <= 0:
			from = i + 1
		default:
			to = i
		}
	}
	if from == 0 {
		return nil, nil
	}
	data, _, err := f.block(from - 1)
	if err != nil {
		return nil, err
	}
	list, err := itemsOf(data, blockItems)
	if err != nil {
		return nil, err
	}
	at, ok := slices.BinarySearchFunc(list, name, func(e item, name string) int { return byFolder(e.path, name) })
	if !ok {
		return nil, nil
	}
	return &list[at], nil
}

// readIndex reads the index. If its file is missing or damaged, it returns an empty, lost index.
func (s *Store) readIndex() *index {
	x := s.openIndex()
	if x == nil {
		x = newIndex(nil)
		x.lost = true
		return x
	}
	// after a power cut the index may name blobs that are not on the disk
	if boot := tree.Boot(); x.boot != boot {
		x = x.folded()
		x.file.shut()
		x.boot, x.file = boot, nil
		for i := range x.list {
			e := &x.list[i]
			if e.kind == aFolder {
				e.digest = ""
			}
			if e.kind != aFile || e.digest == "" {
				continue
			}
			info, err := s.blobs.Lstat(e.digest)
			if err == nil && info.Size == e.size {
				continue
			}
			if s.blobs.Remove(e.digest, false); !s.blobs.has(e.digest) {
				e.digest, x.limit = "", 0
			}
		}
	}
	return x
}

// openIndex opens the file of the index, and reads all but its blocks. It returns nil for a missing or damaged file.
func (s *Store) openIndex() *index {
	dir := s.dir.Load()
	file, err := dir.Open(indexName)
	if err != nil {
		return nil
	}
	info, err := file.Stat()
	if err != nil || info.Size() > maxIndex {
		file.Close()
		return nil
	}
	x := decodeIndex(file, info.Size())
	if x == nil {
		file.Close()
		return nil
	}
	x.file.dir = dir
	return x
}

// decodeIndex reads the head, the table and the records of a file. It returns nil if they are invalid.
func decodeIndex(in io.ReaderAt, size int64) *index {
	const usual = 64 << 10
	data := make([]byte, min(size, usual))
	if _, err := in.ReadAt(data, 0); err != nil && err != io.EOF {
		return nil
	}
	if len(data) < partHead {
		return nil
	}
	end := partHead + int64(binary.LittleEndian.Uint32(data[4:]))
	if end > size {
		return nil
	}
	if n := int64(len(data)); end > n {
		data = append(data, make([]byte, end-n)...)
		if _, err := in.ReadAt(data[n:], n); err != nil {
			return nil
		}
	}
	f := &indexFile{in: in, sum: binary.LittleEndian.Uint32(data), first: end, read: map[int]string{}}
	if f.sum != checksum(data[4:end]) {
		return nil
	}
	d := &indexReader{data: string(data[partHead:end])}
	if d.number() != indexVersion {
		return nil
	}
	x := newIndex(nil)
	x.folders, x.file = nil, f
	x.boot = d.text()
	x.upTo, x.limit = d.signed(), d.signed()
	for n := d.number(); n > 0 && !d.bad; n-- {
		length := int64(d.fixed(4))
		if length == 0 || length > size-f.first {
			return nil
		}
		f.blocks = append(f.blocks, indexBlock{f.first, f.first + length, uint32(d.fixed(4))})
		f.first += length
	}
	if f.end = f.first; d.bad || d.data != "" || x.upTo < 0 || x.limit < 0 || f.end > size ||
		len(f.blocks)*blockItems > 2*MaxVisited {
		return nil
	}
	if !x.readRecords(in, size) {
		return nil
	}
	return x
}

// readRecords adds the records between the end of the file that is known and its size to the index. It returns
// false if one is damaged. A killed process may have left a part of a record at the end, which nobody needs.
func (x *index) readRecords(in io.ReaderAt, size int64) bool {
	data := make([]byte, size-x.file.end)
	if n, err := in.ReadAt(data, x.file.end); n < len(data) && err != io.EOF {
		return false
	}
	for len(data) >= partHead {
		n := int(binary.LittleEndian.Uint32(data[4:]))
		if n > len(data)-partHead {
			return true
		}
		part := data[:partHead+n]
		d := &indexReader{data: string(part[partHead:])}
		upTo := d.signed()
		if n == 0 || d.bad || binary.LittleEndian.Uint32(part) != checksum(part[4:]) {
			return false
		}
		for d.data != "" {
			e := &item{}
			d.item(e)
			if d.bad {
				return false
			}
			if delete(x.unsaved, e.path); e.kind == isGone {
				x.over[e.path] = nil
			} else {
				x.over[e.path] = e
			}
		}
		x.upTo = max(x.upTo, upTo)
		x.file.end += int64(len(part))
		data = data[len(part):]
	}
	return true
}

// sealPart sets the head of a part.
func sealPart(part []byte) []byte {
	binary.LittleEndian.PutUint32(part[4:], uint32(len(part)-partHead))
	binary.LittleEndian.PutUint32(part, checksum(part[4:]))
	return part
}

// encode returns the content of a file for the index, which is folded.
func (x *index) encode() (data []byte, f *indexFile) {
	const usual = 120 // bytes of an item
	items := make([]byte, 0, len(x.list)*usual)
	f = &indexFile{read: map[int]string{}}
	table := binary.AppendUvarint(nil, uint64((len(x.list)+blockItems-1)/blockItems))
	for block := range slices.Chunk(x.list, blockItems) {
		from := len(items)
		for i := range block {
			items = block[i].append(items)
		}
		b := indexBlock{int64(from), int64(len(items)), checksum(items[from:])}
		table = binary.LittleEndian.AppendUint32(table, uint32(b.to-b.from))
		table = binary.LittleEndian.AppendUint32(table, b.sum)
		f.blocks = append(f.blocks, b)
	}
	head := binary.AppendUvarint(make([]byte, partHead), indexVersion)
	head = appendText(head, x.boot)
	head = binary.AppendVarint(head, x.upTo)
	head = binary.AppendVarint(head, x.limit)
	head = sealPart(append(head, table...))
	f.sum = binary.LittleEndian.Uint32(head)
	for i := range f.blocks {
		f.blocks[i].from += int64(len(head))
		f.blocks[i].to += int64(len(head))
	}
	f.first = int64(len(head) + len(items))
	f.end = f.first
	return append(head, items...), f
}

// record returns a record of the unsaved items.
func (x *index) record() []byte {
	b := binary.AppendVarint(make([]byte, partHead), x.upTo)
	for name := range x.unsaved {
		e := x.find(name)
		if e == nil {
			e = &item{path: name, kind: isGone}
		}
		b = e.append(b)
	}
	return sealPart(b)
}

// saveIndex saves what has changed in the index, unless the index is lost.
func (s *Store) saveIndex() error {
	x := s.index
	if x.lost {
		return nil
	}
	if x.file != nil {
		if len(x.unsaved) == 0 {
			return nil
		}
		if b := x.record(); x.file.end+int64(len(b))-x.file.first <= maxRecords {
			err := s.appendToIndex(x, b)
			if err == nil || !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	x = x.folded()
	if s.index = x; x.lost {
		return nil
	}
	data, file := x.encode()
	file.dir = s.dir.Load()
	if x.file != nil {
		x.file.shut()
	}
	const fresh = indexName + ".new"
	err := file.dir.WriteFile(fresh, data, 0o600)
	if err == nil {
		err = file.dir.Rename(fresh, indexName)
	}
	if err != nil {
		file.dir.Remove(fresh)
		return err
	}
	x.file, x.unsaved = file, map[string]bool{}
	s.indexStamp = s.indexTime()
	return nil
}

// appendToIndex writes a record of the unsaved items.
func (s *Store) appendToIndex(x *index, record []byte) error {
	f, err := s.dir.Load().OpenFile(indexName, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() < x.file.end || s.indexTime() != s.indexStamp {
		return fs.ErrNotExist
	} else if info.Size() > x.file.end { // a part of a record
		if err := f.Truncate(x.file.end); err != nil {
			return err
		}
	}
	if _, err := f.WriteAt(record, x.file.end); err != nil {
		f.Truncate(x.file.end)
		return err
	}
	x.file.end += int64(len(record))
	x.unsaved = map[string]bool{}
	s.indexStamp = s.indexTime()
	return nil
}

// An indexStamp says which state of the file was last read or written.
type indexStamp struct {
	changed time.Time
	size    int64
}

// indexTime returns the stamp of the index file, zero if it does not exist.
func (s *Store) indexTime() indexStamp {
	info, err := s.dir.Load().Lstat(indexName)
	if err != nil {
		return indexStamp{}
	}
	return indexStamp{info.ModTime(), info.Size()}
}

// freshIndex reads what other processes have written since the index was last read or written.
func (s *Store) freshIndex() {
	stamp := s.indexTime()
	if s.index != nil && stamp == s.indexStamp {
		return
	}
	s.indexStamp = stamp
	if s.index != nil && s.addRecords(s.index) {
		return
	}
	x := s.readIndex()
	if s.index != nil && x.lost && s.index.folders != nil { // the index in memory is still valid
		s.shutIndex()
		s.index.file = nil
		return
	}
	s.shutIndex()
	s.index = x
}

// addRecords adds to an index the records that other processes have appended to its file. It returns false if there
// is another file.
func (s *Store) addRecords(x *index) bool {
	if x.file == nil {
		return false
	}
	f, err := s.dir.Load().Open(indexName)
	if err != nil {
		return false
	}
	defer f.Close()
	var sum [4]byte
	info, err := f.Stat()
	if _, rerr := f.ReadAt(sum[:], 0); err != nil || rerr != nil || info.Size() < x.file.end {
		return false
	}
	return binary.LittleEndian.Uint32(sum[:]) == x.file.sum && x.readRecords(f, info.Size())
}

// shutIndex closes the file of the index, which stays valid.
func (s *Store) shutIndex() {
	if s.index != nil && s.index.file != nil {
		s.index.file.shut()
	}
}

const (
	flagRacy = 1 << iota
	flagIgnored
	flagGit
)

func (e *item) append(b []byte) []byte {
	flags := byte(0)
	for _, f := range []struct {
		on  bool
		bit byte
	}{{e.racy, flagRacy}, {e.ignored, flagIgnored}, {e.git, flagGit}} {
		if f.on {
			flags |= f.bit
		}
	}
	b = append(appendText(b, e.path), e.kind, flags)
	if e.kind == isGone {
		return b
	}
	b = binary.AppendUvarint(b, e.id.Dev)
	b = binary.AppendUvarint(b, e.id.Ino)
	for _, n := range [...]int64{e.size, e.mod, e.changed} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	for _, n := range [...]uint32{e.mode, e.links, e.uid, e.gid} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return appendText(b, e.digest)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// An indexReader decodes an index. The texts that it returns share memory with data.
type indexReader struct {
	data   string
	bad    bool
	folder string // folder of the last path, with a final slash; it is valid
}

func (d *indexReader) take(n uint64) string {
	if n > uint64(len(d.data)) {
		d.bad, d.data = true, ""
		return ""
	}
	s := d.data[:n]
	d.data = d.data[n:]
	return s
}

func (d *indexReader) number() (n uint64) {
	for i := range min(len(d.data), binary.MaxVarintLen64) {
		b := d.data[i]
		n |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			d.data = d.data[i+1:]
			return n
		}
	}
	d.bad, d.data = true, ""
	return 0
}

func (d *indexReader) signed() int64 {
	n := d.number()
	return int64(n>>1) ^ -int64(n&1)
}

func (d *indexReader) byte() byte {
	if s := d.take(1); s != "" {
		return s[0]
	}
	return 0
}

func (d *indexReader) fixed(size uint64) (n int64) {
	s := d.take(size)
	for i := range len(s) {
		n |= int64(s[i]) << (8 * i)
	}
	return n
}

func (d *indexReader) text() string { return d.take(d.number()) }

func (d *indexReader) item(e *item) {
	e.path, e.kind = d.text(), d.byte()
	flags := d.byte()
	e.racy, e.ignored, e.git = flags&flagRacy != 0, flags&flagIgnored != 0, flags&flagGit != 0
	if d.bad = d.bad || !d.validPath(e.path); e.kind == isGone {
		return
	}
	e.id = tree.FileID{Dev: d.number(), Ino: d.number()}
	e.size, e.mod, e.changed = d.fixed(8), d.fixed(8), d.fixed(8)
	e.mode, e.links, e.uid, e.gid = uint32(d.number()), uint32(d.number()), uint32(d.number()),
		uint32(d.number())
	e.digest = d.text()
	known := strings.IndexByte("fdls", e.kind) >= 0
	d.bad = d.bad || e.size < 0 || !known
	d.bad = d.bad || e.digest != "" && (e.kind == aFile || e.kind == aFolder && e.digest != noAttributes) &&
		!validDigest(e.digest)
}

// hexDigits are the digits of a digest. Looking up a digit takes a third of the time of comparisons,
// because the processor need not predict a branch.
var hexDigits = [256]bool{
	'0': true, '1': true, '2': true, '3': true, '4': true, '5': true, '6': true, '7': true,
	'8': true, '9': true, 'a': true, 'b': true, 'c': true, 'd': true, 'e': true, 'f': true,
}

// validDigest reports whether s may be the name of a blob: the hash of a content, and the hash of the
// attributes if the file has any.
func validDigest(s string) bool {
	for i := range len(s) {
		if !hexDigits[s[i]] {
			return false
		}
	}
	return len(s) >= 2*sumLength && len(s) <= 4*sumLength
}

// validPath is the function validPath, faster for several paths in the same folder.
func (d *indexReader) validPath(name string) bool {
	n := strings.LastIndexByte(name, '/') + 1
	if name[:n] == d.folder {
		return validPath(name[n:])
	}
	d.folder = name[:n]
	return validPath(name)
}

// validPath reports whether a path of an index is clean and inside the root.
func validPath(name string) bool {
	if strings.IndexByte(name, 0) >= 0 || !filepath.IsLocal(name) {
		return false
	}
	return name != "." && (strings.IndexByte(name, '/') < 0 || path.Clean(name) == name)
}
