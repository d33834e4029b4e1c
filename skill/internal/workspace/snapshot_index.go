package workspace

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"textskill/skill/internal/workspace/tree"
)

// The file of a table has a checksum, its version, its base, its boot and its entries: numbers as
// varints, texts after their lengths. A damaged file counts as an empty table: then all
// files are read again.

const tableVersion = 2

// maxTable is the largest size in bytes of a table's file.
const maxTable = 64 << 20

// indexName is the name of the file that holds the table of a folder.
func indexName(base string) string {
	if base == "." {
		return "index"
	}
	return "index-" + sumOf([]byte(base))[:digestLength]
}

// isTable reports whether a file of that name holds a table.
func isTable(name string) bool { return name == "index" || strings.HasPrefix(name, "index-") }

// readTable reads the table of a folder; an empty one if there is none.
func readTable(store tree.Folder, base string) *table {
	t := readNamed(store, indexName(base), base)
	if boot := tree.Boot(); t.boot != boot {
		t.checkContents(store)
		t.boot = boot
		t.write(store) // or each process checks them again, until a file changes
	}
	return t
}

// readNamed reads the table in a file, which must be of base unless that is "".
func readNamed(store tree.Folder, name, base string) *table {
	if data, err := readOwn(store, name, maxTable); err == nil {
		if t := decodeTable(data); t != nil && (base == "" || t.base == base) {
			return t
		}
	}
	return newTable(base, nil)
}

// readOwn reads one of this program's own files whole.
func readOwn(d tree.Folder, name string, limit int64) ([]byte, error) {
	f, info, err := tree.RegularFile(d.OpenFile(name, os.O_RDONLY, 0))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return tree.ReadSized(info.Size, limit, f.Read)
}

// write saves the table. If it fails, all files are read again the next time.
func (t *table) write(store tree.Folder) error {
	const fresh = "fresh-table"
	f, err := store.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) { // left by a process that was killed, or of one that is writing it now
		discard(store, fresh)
		f, err = store.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(t.encode())
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = store.Rename(fresh, store, indexName(t.base), true)
	}
	if err != nil {
		discard(store, fresh)
	}
	return err
}

func (t *table) encode() []byte {
	b := make([]byte, 4, 64+len(t.list)*100)
	b = binary.AppendUvarint(b, tableVersion)
	b = appendText(appendText(b, t.base), t.boot)
	b = binary.AppendVarint(b, t.stale)
	b = binary.AppendVarint(b, t.limit)
	b = binary.AppendUvarint(b, uint64(len(t.list)))
	for i := range t.list {
		b = t.list[i].append(b)
	}
	binary.LittleEndian.PutUint32(b, checksum(b[4:]))
	return b
}

const (
	flagRacy = 1 << iota
	flagIgnored
)

func (e *entry) append(b []byte) []byte {
	flags := byte(0)
	if e.racy {
		flags |= flagRacy
	}
	if e.ignored {
		flags |= flagIgnored
	}
	b = append(appendText(b, e.path), byte(e.kind), flags)
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

// decodeTable is the inverse of encode; nil for what is not a table.
func decodeTable(data []byte) *table {
	if len(data) < 4 || binary.LittleEndian.Uint32(data) != checksum(data[4:]) {
		return nil
	}
	d := &tableReader{data: string(data[4:])}
	if d.number() != tableVersion {
		return nil
	}
	base, boot := d.text(), d.text()
	stale := unzigzag(d.number())
	limit := unzigzag(d.number())
	n := d.number()
	if d.bad || n > 2*MaxVisited || stale < 0 || limit < 0 {
		return nil
	}
	list := make([]entry, n)
	for i := range list {
		d.entry(&list[i])
	}
	if d.bad || d.data != "" {
		return nil
	}
	t := newTable(base, list)
	t.stale, t.limit, t.boot = stale, limit, boot
	return t
}

func unzigzag(n uint64) int64 { return int64(n>>1) ^ -int64(n&1) }

// A tableReader decodes a table. The texts that it returns share memory with data.
type tableReader struct {
	data   string
	bad    bool
	folder string // of the last path, with the slash: it need not be looked at again
}

func (d *tableReader) take(n uint64) string {
	if n > uint64(len(d.data)) {
		d.bad, d.data = true, ""
		return ""
	}
	s := d.data[:n]
	d.data = d.data[n:]
	return s
}

func (d *tableReader) number() (n uint64) {
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

func (d *tableReader) byte() byte {
	if s := d.take(1); s != "" {
		return s[0]
	}
	return 0
}

func (d *tableReader) fixed() (n int64) {
	if s := d.take(8); len(s) == 8 {
		n = int64(s[0]) | int64(s[1])<<8 | int64(s[2])<<16 | int64(s[3])<<24 | int64(s[4])<<32 | int64(s[5])<<40 | int64(s[6])<<48 | int64(s[7])<<56
	}
	return n
}

func (d *tableReader) text() string { return d.take(d.number()) }

func (d *tableReader) entry(e *entry) {
	e.path, e.kind = d.text(), kind(d.byte())
	flags := d.byte()
	e.racy, e.ignored = flags&flagRacy != 0, flags&flagIgnored != 0
	e.id = FileID{Dev: d.number(), Ino: d.number()}
	e.size, e.mod, e.changed = d.fixed(), d.fixed(), d.fixed()
	e.mode, e.links, e.uid, e.gid = uint32(d.number()), uint32(d.number()), uint32(d.number()), uint32(d.number())
	e.digest = d.text()
	d.bad = d.bad || !d.validPath(e.path) || e.size < 0 || strings.IndexByte(kinds, byte(e.kind)) < 0 || e.kind == aFile && e.digest != "" && !validDigest(e.digest)
}

const kinds = string(aFile) + string(aLink) + string(aFolder) + string(aSpecial)

// hexDigits are those of a digest. To look each up takes a third of the time of comparisons,
// of which a processor cannot foresee how they end.
var hexDigits = [256]bool{
	'0': true, '1': true, '2': true, '3': true, '4': true, '5': true, '6': true, '7': true,
	'8': true, '9': true, 'a': true, 'b': true, 'c': true, 'd': true, 'e': true, 'f': true,
}

// validDigest reports whether s may be the name of a saved content.
func validDigest(s string) bool {
	for i := range len(s) {
		if !hexDigits[s[i]] {
			return false
		}
	}
	return len(s) == digestLength || len(s) == digestLength+attributesLength
}

func checksum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// validPath is validPath for a path that comes after others, mostly in the same folder.
func (d *tableReader) validPath(name string) bool {
	n := strings.LastIndexByte(name, '/') + 1
	if name[:n] == d.folder {
		return validPath(name[n:])
	}
	d.folder = name[:n]
	return validPath(name)
}

// validPath reports whether a name of a table stays in the folder.
func validPath(name string) bool {
	if strings.IndexByte(name, 0) >= 0 || !filepath.IsLocal(name) {
		return false
	}
	return name != "." && (strings.IndexByte(name, '/') < 0 || path.Clean(name) == name)
}
