package history

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	"textskill/skill/internal/workspace/tree"
)

// An index is the state of the workspace at the last op: for each path the metadata and the blob of
// its content. Its file holds the items of the last whole look, sorted and in blocks, and then the items
// that changed later. So an edit reads a few blocks and appends a few items, however large the workspace
// is; only a look at everything loads the whole list. The index is a cache: without its file, all files
// are read again.
//
// Goroutines without the lock may read list and folders, so these do not change. Changes are in over.
type index struct {
	upTo  int64  // the number of the last op that is in the index
	limit int64  // the limit with which the last keepAll saved all files that fit
	boot  string // the boot in which the index was written: see [tree.Boot]
	lost  bool   // the file is missing or damaged: the state is unknown

	list    []item           // sorted by byFolder
	folders map[string]span  // by path: the items of list in each folder; nil until load
	over    map[string]*item // changes of the list, by path; nil means that the path does not exist
	unsaved map[string]bool  // paths that changed since the file was written
	file    *indexFile       // nil if the file does not have the list
}

// A span is a range of the items of a list.
type span struct{ from, to int }

// An item describes one path.
type item struct {
	path    string // slash-separated and relative to the root
	kind    byte   // one of the letters below
	ignored bool   // git ignores it or a folder above it
	git     bool   // it is .git or below .git
	racy    bool   // it changed so shortly before it was read that a later change may have the same stamp
	stamp
	digest string // name of the blob, or the target of a link; "" if the content or the attributes are not kept
}

// noAttributes is the digest of a folder that has no extended attributes.
const noAttributes = "-"

const (
	aFile    = 'f'
	aLink    = 'l'
	aFolder  = 'd'
	aSpecial = 's' // a pipe, socket or device
	isGone   = '-' // only in a record of the file: the path has no item any more
)

// A stamp is the metadata of a file that changes when the file does.
type stamp struct {
	id       tree.FileID
	size     int64
	mod      int64 // modification time in nanoseconds
	changed  int64 // change time of the inode in nanoseconds
	mode     uint32
	links    uint32
	uid, gid uint32
}

func stampOf(i tree.Info) stamp {
	return stamp{
		i.ID, i.Size, i.ModTime.UnixNano(), i.Changed.UnixNano(),
		bitsOf(i.Mode), uint32(min(i.Links, 1<<31)), i.UID, i.GID,
	}
}

// letterOf returns the kind of an item, by that of its [Entry].
func letterOf(kind string) byte {
	switch kind {
	case File:
		return aFile
	case Dir:
		return aFolder
	case Link:
		return aLink
	}
	return aSpecial
}

// entry converts the item to an Entry; a nil item is the zero Entry.
func (e *item) entry() Entry {
	if e == nil {
		return Entry{}
	}
	n := Entry{Mode: e.mode, Ino: e.id.Ino}
	if u, g := me(); int(e.uid) != u || int(e.gid) != g {
		n.Owner = fmt.Sprintf("%d:%d", e.uid, e.gid)
	}
	switch e.kind {
	case aFile:
		n.Kind, n.Size, n.MTime = File, e.size, e.mod
		if e.digest != "" {
			n.Sum = e.digest[:2*sumLength]
		}
		if len(e.digest) > 2*sumLength {
			n.Blob = e.digest
		}
	case aLink:
		n.Kind, n.Mode, n.Target = Link, 0, Name(e.digest)
	case aFolder:
		n.Kind, n.Attributes = Dir, e.digest
	default:
		n.Kind = Other
	}
	return n
}

// kept reports whether undo can restore the item: its content is a blob, or it has no content.
func (e *item) kept() bool {
	switch e.kind {
	case aFile, aLink:
		return e.digest != ""
	case aSpecial:
		return false
	}
	return !e.ignored || !IsRebuilt(path.Base(e.path))
}

// unchanged reports whether o describes the same, unchanged file. Of a folder it compares the permissions and the
// change time, because each entry has its own item. Of a folder that the scan does not enter, it compares the
// whole stamp.
func (e *item) unchanged(o *item) bool {
	if e.kind != o.kind || e.ignored != o.ignored {
		return false
	}
	if e.kind == aFolder && e.kept() {
		return e.mode == o.mode && e.id == o.id && e.changed == o.changed && !e.racy
	}
	return e.stamp == o.stamp && !e.racy
}

// diskSize returns how many bytes the content occupies on disk.
func (e *item) diskSize() int64 {
	const block = 4 << 10
	if e.kind != aFile {
		return 0
	}
	return (e.size + block - 1) / block * block
}

// newIndex returns an index of items that are sorted by byFolder.
func newIndex(list []item) *index {
	x := &index{boot: tree.Boot(), over: map[string]*item{}, unsaved: map[string]bool{}}
	x.setList(list)
	return x
}

func (x *index) setList(list []item) {
	x.list, x.folders = list, map[string]span{}
	for from := 0; from < len(list); {
		folder, to := folderOf(list[from].path), from+1
		for to < len(list) && folderOf(list[to].path) == folder {
			to++
		}
		x.folders[folder] = span{from, to}
		from = to
	}
}

// folderOf returns the folder of a path, "" at the top.
func folderOf(name string) string { return name[:max(0, strings.LastIndexByte(name, '/'))] }

// byFolder compares paths: first the folders, each before the folders below it, and then the names. So the items
// of a folder and of all folders below it follow one another.
func byFolder(a, b string) int {
	in, other := folderOf(a), folderOf(b)
	return cmp.Or(byPath(in, other), strings.Compare(a[len(in):], b[len(other):]))
}

func itemsByFolder(a, b item) int { return byFolder(a.path, b.path) }

// load reads the whole list. If the file is damaged, the index is lost.
func (x *index) load() {
	if x.folders != nil {
		return
	}
	list, err := x.file.all()
	x.lost = x.lost || err != nil
	x.setList(list)
}

// find returns the item of a path, nil if the path has no item. If the file is damaged, the index is lost.
func (x *index) find(name string) *item {
	if e, ok := x.over[name]; ok {
		return e
	}
	if x.folders == nil {
		e, err := x.file.find(name)
		x.lost = x.lost || err != nil
		return e
	}
	if i, ok := x.number([]byte(name)); ok {
		return &x.list[i]
	}
	return nil
}

// set makes e the item of a path; nil removes it.
func (x *index) set(name string, e *item) { x.over[name], x.unsaved[name] = e, true }

// all returns all items, in no order.
func (x *index) all() iter.Seq[*item] {
	x.load()
	return func(yield func(*item) bool) {
		for i := range x.list {
			if _, over := x.over[x.list[i].path]; !over && !yield(&x.list[i]) {
				return
			}
		}
		for _, e := range x.over {
			if e != nil && !yield(e) {
				return
			}
		}
	}
}

// below returns the items below a folder, sorted by path, a folder before its entries.
func (x *index) below(folder string) (list []*item) {
	x.load()
	prefix := folder + "/"
	first, _ := slices.BinarySearchFunc(x.list, prefix, func(e item, p string) int { return byFolder(e.path, p) })
	for i := first; i < len(x.list) && strings.HasPrefix(x.list[i].path, prefix); i++ {
		if _, over := x.over[x.list[i].path]; !over {
			list = append(list, &x.list[i])
		}
	}
	for name, e := range x.over {
		if e != nil && strings.HasPrefix(name, prefix) {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b *item) int { return byPath(a.path, b.path) })
	return list
}

// removeBelow removes the items below a folder.
func (x *index) removeBelow(folder string) {
	for _, e := range x.below(folder) {
		x.set(e.path, nil)
	}
}

// number returns the number of a path in the list.
func (x *index) number(name []byte) (i int, ok bool) {
	n := bytes.LastIndexByte(name, '/')
	in, ok := x.folders[string(name[:max(0, n)])]
	if !ok {
		return 0, false
	}
	base := name[n+1:]
	for in.from < in.to { // slices.BinarySearchFunc would make a string of base at each step
		i = (in.from + in.to) / 2
		switch at := x.list[i].path[n+1:]; {
		case at == string(base):
			return i, true
		case at < string(base):
			in.from = i + 1
		default:
			in.to = i
		}
	}
	return 0, false
}

// folded returns an index with the same items, all in its list.
func (x *index) folded() *index {
	x.load()
	if len(x.over) == 0 {
		return x
	}
	var later []item
	for _, e := range x.over {
		if e != nil {
			later = append(later, *e)
		}
	}
	n := newIndex(merged(x.list, func(i int) bool { _, over := x.over[x.list[i].path]; return !over }, later))
	n.upTo, n.limit, n.lost, n.boot, n.unsaved, n.file = x.upTo, x.limit, x.lost, x.boot, x.unsaved, x.file
	return n
}

// merged returns the items of a sorted list whose numbers keep selects, and other items, sorted.
func merged(list []item, keep func(i int) bool, others []item) []item {
	slices.SortFunc(others, itemsByFolder)
	all := make([]item, 0, len(list)+len(others))
	for i := range list {
		if !keep(i) {
			continue
		}
		for len(others) > 0 && itemsByFolder(others[0], list[i]) < 0 {
			all, others = append(all, others[0]), others[1:]
		}
		all = append(all, list[i])
	}
	return append(all, others...)
}

// snapshot returns a copy that later changes of the index leave as it is.
func (x *index) snapshot() *index {
	same := *x
	same.over, same.unsaved = maps.Clone(x.over), nil
	return &same
}

// hasList reports whether an index has the list and the file of a snapshot.
func (x *index) hasList(s *index) bool {
	return x.file == s.file && len(x.list) == len(s.list) && (len(x.list) == 0 || &x.list[0] == &s.list[0])
}
