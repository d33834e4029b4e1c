package workspace

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// An entry describes one path.
type entry struct {
	path    string // slash-separated and relative to the journal's folder
	kind    kind
	ignored bool // by git: its content is not saved
	racy    bool // it changed so shortly before that a later change may have the same stamp
	stamp
	digest string // name of the saved content, or the target of a link; "" if not saved
}

// digestLength is how many digits of a sum name a saved content. Where it has attributes, those
// of [tree.AttributesSum] follow.
const (
	digestLength     = 32
	attributesLength = 16
)

// holds reports whether the saved content of a file is what has that sum.
func (e *entry) holds(sum string) bool {
	return e.digest != "" && strings.HasPrefix(sum, e.digest[:digestLength])
}

// A kind is a type of file.
type kind byte

const (
	aFile    kind = 'f'
	aLink    kind = 'l'
	aFolder  kind = 'd'
	aSpecial kind = 's' // pipes, sockets and devices
)

// A stamp is the metadata of a file that changes when the file does.
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

// kindOf returns the kind of a file with that mode.
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

// same reports whether the file of an entry has not changed. Of a folder only the
// permissions count: what is in it has its own entries.
func (e *entry) same(k kind, ignored bool, s stamp) bool {
	if e.kind != k || e.ignored != ignored {
		return false
	}
	if k == aFolder && !ignored {
		return e.mode == s.mode
	}
	return e.stamp == s && !e.racy
}

// storable reports whether the content of an entry is to be saved.
func (e *entry) storable() bool {
	return !e.ignored && (e.kind == aLink || e.kind == aFile && e.size <= MaxKept)
}

// diskSize returns how many bytes the content takes on disk.
func (e *entry) diskSize() int64 {
	const block = 4 << 10
	if e.kind != aFile {
		return 0
	}
	return (e.size + block - 1) / block * block
}

// A table describes a folder and everything below it. It is not changed once others may
// read it.
type table struct {
	base  string  // path of the folder
	list  []entry // mostly in the order in which a walk finds them
	limit int64   // in bytes, of the saved contents; all that fits is saved
	stale int64   // disk size of contents that are no longer needed
	boot  string  // in which it was written: see [tree.Boot]

	first map[string]int32 // by path, entries before which one of another folder is
	once  sync.Once
	at    map[string]int32 // by path, all; made when it is first needed
}

func newTable(base string, list []entry) *table {
	t := &table{base: base, list: list, boot: tree.Boot(), first: map[string]int32{}}
	folder := "/"
	for i := range list {
		if dir, _ := path.Split(list[i].path); dir != folder {
			folder, t.first[list[i].path] = dir, int32(i)
		}
	}
	return t
}

// all returns the numbers of all entries by path.
func (t *table) all() map[string]int32 {
	t.once.Do(func() {
		t.at = make(map[string]int32, len(t.list))
		for i := range t.list {
			t.at[t.list[i].path] = int32(i)
		}
	})
	return t.at
}

// find returns the entry of a path, nil if there is none.
func (t *table) find(path string) *entry {
	if i, ok := t.all()[path]; ok {
		return &t.list[i]
	}
	return nil
}

// index returns the number of the entry of a path. next is the number that is tried first:
// the one after that of the name which the walk found before. In 100,000 files that have not
// changed, it takes 20 ms, of which a map of all paths takes 90.
func (t *table) index(path []byte, next int32) (i int32, ok bool) {
	if int(next) < len(t.list) && t.list[next].path == string(path) {
		return next, true
	}
	if i, ok = t.first[string(path)]; !ok {
		i, ok = t.all()[string(path)]
	}
	return i, ok
}

// diskSize returns how many bytes the saved contents take on disk. A content of several
// files counts for each of them.
func (t *table) diskSize() (sum int64) {
	for i := range t.list {
		if t.list[i].digest != "" {
			sum += t.list[i].diskSize()
		}
	}
	return sum
}

// checkContents forgets the contents that are not whole: a power cut may have left the table and not
// what was saved in the half minute before.
func (t *table) checkContents(store tree.Folder) {
	for i := range t.list {
		e := &t.list[i]
		if e.kind != aFile || e.digest == "" {
			continue
		}
		if info, err := store.Lstat(e.digest); err != nil || info.Size != e.size {
			e.digest, t.limit = "", 0
		}
	}
}

// addNeeded adds the digests of the table's contents to needed.
func (t *table) addNeeded(needed map[string]bool) {
	for i := range t.list {
		if e := &t.list[i]; e.kind == aFile && e.digest != "" {
			needed[e.digest] = true
		}
	}
}

// updated returns the table with what was found; t itself if nothing has changed.
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

// timeGrain is longer than the step of file times: two changes of a file within it may have
// the same time. Linux steps by the timer tick, at most 10 ms.
const timeGrain = 20 * time.Millisecond

// A scan compares the files that a walk visits with a table.
type scan struct {
	old    *table
	prefix string // of the paths in the table
	device uint64
	begin  int64 // nanoseconds
	seen   []bool
	parts  [SnapshotWorkers]scanPart
	count  atomic.Int64
}

// A scanPart is what one worker found.
type scanPart struct {
	path  []byte
	next  int32 // see table.index
	names int32 // since they were last added to the scan's count
	fresh []entry
	other []string  // folders of other file systems, but ignored ones
	_     [128]byte // what another worker writes is in another line of the cache
}

// countEach is how many names a worker visits before it counts them for all.
const countEach = 64

func newScan(old *table, base string, device uint64) *scan {
	c := &scan{old: old, device: device, seen: make([]bool, len(old.list)), begin: time.Now().UnixNano()}
	if base != "." {
		c.prefix = base + "/"
	}
	return c
}

// fresh returns the entries that are new or have changed.
func (c *scan) fresh() (list []entry) {
	for i := range c.parts {
		list = append(list, c.parts[i].fresh...)
	}
	return list
}

// other returns the folders of other file systems, of which nothing is known.
func (c *scan) other() (list []string) {
	for i := range c.parts {
		list = append(list, c.parts[i].other...)
	}
	slices.Sort(list)
	return list
}

// gone returns the entries of the table whose files no longer exist.
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
	info, err := v.File.Stat()
	if err != nil { // removed just now, or in a folder that may not be read
		return nil
	}
	part := &c.parts[worker]
	part.path = append(part.path[:0], c.prefix...)
	if v.Folder != "" {
		part.path = append(append(part.path, v.Folder...), '/')
	}
	part.path = append(part.path, v.Name...)
	if info.IsDir() && info.ID.Dev != c.device {
		if !v.Ignored {
			part.other = append(part.other, string(part.path))
		}
		return fs.SkipDir
	}
	k, s := kindOf(info.Mode), stampOf(info)
	i, ok := c.old.index(part.path, part.next)
	if ok {
		part.next = i + 1
	}
	if ok && c.old.list[i].same(k, v.Ignored, s) {
		c.seen[i] = true
	} else {
		part.fresh = append(part.fresh, entry{path: string(part.path), kind: k, ignored: v.Ignored, stamp: s})
	}
	if part.names++; part.names == countEach {
		part.names = 0
		if c.count.Add(countEach) > MaxVisited {
			return fs.SkipAll
		}
	}
	return nil
}

// tooMany reports whether there were more names than a snapshot may have.
func (c *scan) tooMany() bool {
	n := c.count.Load()
	for i := range c.parts {
		n += int64(c.parts[i].names)
	}
	return n > MaxVisited
}

// below returns the entries below a folder, ordered by path, folders before what is in
// them.
func (t *table) below(folder string) (list []*entry) {
	for i := range t.list {
		if strings.HasPrefix(t.list[i].path, folder+"/") {
			list = append(list, &t.list[i])
		}
	}
	slices.SortFunc(list, func(a, b *entry) int { return byPath(a.path, b.path) })
	return list
}

// byPath compares paths such that a folder comes right before what is in it.
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
