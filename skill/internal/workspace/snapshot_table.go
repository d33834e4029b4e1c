package workspace

import (
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// An entry is what a table says of one name.
type entry struct {
	path    string // slash-separated and relative to the journal's folder
	kind    kind
	ignored bool // by git: nothing of it is kept
	racy    bool // it changed so shortly before that a later change need not show
	stamp
	digest string // what is kept: of a file its content, of a link where it leads; "" for nothing
}

// kind is what an entry is of.
type kind byte

const (
	aFile    kind = 'f'
	aLink    kind = 'l'
	aFolder  kind = 'd'
	aSpecial kind = 's' // pipes, sockets and devices
)

// A stamp is what the system says of a file that becomes different when it is
// changed.
type stamp struct {
	id       FileID
	size     int64
	mod      int64 // nanoseconds
	changed  int64 // of the inode
	mode     uint32
	links    uint32
	uid, gid uint32
}

func stampOf(i Info) stamp {
	return stamp{i.ID, i.Size, i.ModTime.UnixNano(), i.Changed.UnixNano(), uint32(i.Mode.Perm()), uint32(min(i.Links, 1<<31)), i.UID, i.GID}
}

// kindOf tells what an entry is of.
func kindOf(mode fs.FileMode) kind {
	switch {
	case mode.IsRegular():
		return aFile
	case mode.IsDir():
		return aFolder
	case mode.Type() == fs.ModeSymlink:
		return aLink
	}
	return aSpecial
}

// same tells whether nothing shows that an entry's file has changed. Of folders the
// permissions count: what is in them has entries of its own.
func (e *entry) same(k kind, ignored bool, s stamp) bool {
	if e.kind != k || e.ignored != ignored {
		return false
	}
	if k == aFolder && !ignored {
		return e.mode == s.mode
	}
	return e.stamp == s && !e.racy
}

// storable tells whether an entry is of something that is to be kept.
func (e *entry) storable() bool {
	return !e.ignored && (e.kind == aLink || e.kind == aFile && e.size <= MaxKept)
}

// diskSize is how many bytes the content takes on a disk.
func (e *entry) diskSize() int64 {
	const block = 4 << 10
	if e.kind != aFile {
		return 0
	}
	return (e.size + block - 1) / block * block
}

// A table is what a folder and all below it held. It stays as it is once others may
// see it.
type table struct {
	base  string // what was looked at
	list  []entry
	at    map[string]int32 // by path
	limit int64            // all that is wanted is kept that fits into so many bytes
	stale int64            // room of contents that were needed once
}

func newTable(base string, list []entry) *table {
	t := &table{base: base, list: list, at: make(map[string]int32, len(list))}
	for i := range list {
		t.at[list[i].path] = int32(i)
	}
	return t
}

// find returns the entry of a name, nil if there is none.
func (t *table) find(path string) *entry {
	if i, ok := t.at[path]; ok {
		return &t.list[i]
	}
	return nil
}

// diskSize is how many bytes the contents take that are kept, each counted as often as
// it is there.
func (t *table) diskSize() (sum int64) {
	for i := range t.list {
		if t.list[i].digest != "" {
			sum += t.list[i].diskSize()
		}
	}
	return sum
}

// addNeeded notes the contents that the table needs.
func (t *table) addNeeded(needed map[string]bool) {
	for i := range t.list {
		if e := &t.list[i]; e.kind == aFile && e.digest != "" {
			needed[e.digest] = true
		}
	}
}

// updated returns the table as it is after what was found: t itself, if that is nothing.
func (t *table) updated(found *scan) *table {
	fresh := found.fresh()
	if len(fresh) == 0 && !slices.Contains(found.seen, false) {
		return t
	}
	list := make([]entry, 0, len(t.list)+len(fresh))
	stale := t.stale
	for i := range t.list {
		if found.seen[i] {
			list = append(list, t.list[i])
		} else if t.list[i].digest != "" {
			stale += t.list[i].diskSize()
		}
	}
	n := newTable(t.base, append(list, fresh...))
	n.stale = stale
	return n
}

// timeGrain is how far apart two changes of a file may be that the system gives the same
// time, and some more.
const timeGrain = 20 * time.Millisecond

// A scan compares what a walk finds with a table.
type scan struct {
	old    *table
	prefix string // of the names that are found
	device uint64
	begin  int64 // nanoseconds
	seen   []bool
	parts  [SnapshotWorkers]scanPart
	count  atomic.Int64
}

// scanPart is what one worker found.
type scanPart struct {
	path  []byte
	fresh []entry
}

func newScan(old *table, base string, device uint64) *scan {
	c := &scan{old: old, device: device, seen: make([]bool, len(old.list)), begin: time.Now().UnixNano()}
	if base != "." {
		c.prefix = base + "/"
	}
	return c
}

// fresh returns what the table does not know, or not so.
func (c *scan) fresh() (list []entry) {
	for i := range c.parts {
		list = append(list, c.parts[i].fresh...)
	}
	return list
}

// gone returns what is not there any more as the table knows it, and is not fresh
// either.
func (c *scan) gone() (list []*entry) {
	there := map[string]bool{}
	for _, e := range c.fresh() {
		there[e.path] = true
	}
	for i, seen := range c.seen {
		if !seen && !there[c.old.list[i].path] {
			list = append(list, &c.old.list[i])
		}
	}
	return list
}

func (c *scan) visit(worker int, v Visited) error {
	info, err := v.Stat()
	if err != nil { // gone just now, or in a folder that keeps it from us
		return nil
	}
	if info.IsDir() && info.ID.Dev != c.device {
		return fs.SkipDir
	}
	part := &c.parts[worker]
	part.path = append(part.path[:0], c.prefix...)
	if v.Folder != "" {
		part.path = append(append(part.path, v.Folder...), '/')
	}
	part.path = append(part.path, v.Name...)
	k, s := kindOf(info.Mode), stampOf(info)
	if i, ok := c.old.at[string(part.path)]; ok && c.old.list[i].same(k, v.Ignored, s) {
		c.seen[i] = true
	} else {
		part.fresh = append(part.fresh, entry{path: string(part.path), kind: k, ignored: v.Ignored, stamp: s})
	}
	if c.count.Add(1) > MaxVisited {
		return fs.SkipAll
	}
	return nil
}

// below returns the entries of what is in a folder, in the order of their names,
// folders before what is in them.
func (t *table) below(folder string) (list []*entry) {
	for i := range t.list {
		if strings.HasPrefix(t.list[i].path, folder+"/") {
			list = append(list, &t.list[i])
		}
	}
	slices.SortFunc(list, func(a, b *entry) int { return byPath(a.path, b.path) })
	return list
}

// byPath orders names so that a folder comes right before what is in it.
func byPath(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			switch {
			case a[i] == '/':
				return -1
			case b[i] == '/':
				return 1
			}
			return int(a[i]) - int(b[i])
		}
	}
	return len(a) - len(b)
}
