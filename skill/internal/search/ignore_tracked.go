package search

import (
	"bytes"
	"encoding/binary"
	"sort"
	"strings"
	"sync"
	"unsafe"
)

// maxIndex is the size limit of a git index, in bytes. A larger index counts as empty.
const maxIndex = 256 << 20

// tracked holds the files in the index of a repository. It reads the index when a rule first
// matches a name.
type tracked struct {
	once  sync.Once
	read  func() []byte
	skip  int      // length of the path of the repository's top, with the final slash
	names []string // sorted by bytes
}

// has reports whether the index holds the file at path, or any file below the folder at path.
func (t *tracked) has(path []byte, folder bool) bool {
	if t == nil {
		return false
	}
	t.once.Do(func() { t.names = indexNames(t.read()) })
	name := string(path[t.skip:])
	if n := sort.SearchStrings(t.names, name); n < len(t.names) && t.names[n] == name {
		return true
	}
	name += "/"
	n := sort.SearchStrings(t.names, name)
	return folder && n < len(t.names) && strings.HasPrefix(t.names[n], name)
}

// indexNames returns the names in a git index, nil if data is not a valid index.
func indexNames(data []byte) []string {
	if len(data) < 12 || string(data[:4]) != "DIRC" {
		return nil
	}
	version, count := binary.BigEndian.Uint32(data[4:]), int(binary.BigEndian.Uint32(data[8:]))
	if version < 2 || version > 4 || count > len(data)/62 && version < 4 {
		return nil
	}
	for _, sum := range []int{20, 32} { // bytes of SHA-1 and SHA-256
		r := indexReader{data: data[12:], fixed: 40 + sum + 2, packed: version == 4}
		names := make([]string, 0, min(count, len(data)/40))
		for range count {
			if !r.next() {
				break
			}
			names = append(names, r.name)
		}
		if len(names) == count && sort.StringsAreSorted(names) {
			return names
		}
	}
	return nil
}

// indexReader reads the entries of an index in order.
type indexReader struct {
	data   []byte
	fixed  int    // bytes of an entry before its name
	packed bool   // names are shortened, as in version 4
	name   string // of the last entry
}

// next reads an entry. It returns false if there is no complete entry.
func (r *indexReader) next() bool {
	if len(r.data) < r.fixed+2 {
		return false
	}
	start := r.fixed
	if r.data[r.fixed-2]&0x40 != 0 { // two more bytes of flags
		start += 2
	}
	if r.packed {
		return r.unpack(r.data[start:])
	}
	size := bytes.IndexByte(r.data[start:], 0)
	end := (start + size + 8) &^ 7 // up to 8 zero bytes follow
	if size <= 0 || end > len(r.data) || len(bytes.Trim(r.data[start+size:end], "\x00")) > 0 {
		return false
	}
	r.name = unsafe.String(&r.data[start], size)
	r.data = r.data[end:]
	return true
}

// unpack reads a shortened name: how many bytes to drop from the last name, and the new end.
func (r *indexReader) unpack(data []byte) bool {
	drop, used := 0, 0
	for more := true; more; used++ {
		if used >= len(data) || used > 4 {
			return false
		}
		if drop = drop<<7 | int(data[used]&0x7f); data[used] >= 0x80 {
			drop++
		} else {
			more = false
		}
	}
	size := bytes.IndexByte(data[used:], 0)
	if size < 0 || drop > len(r.name) {
		return false
	}
	r.name = r.name[:len(r.name)-drop] + string(data[used:used+size])
	r.data = data[used+size+1:]
	return true
}
