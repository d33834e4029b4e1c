package pack

import (
	"io/fs"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// A node is a stored file, folder or link. In a Folder only the children and the metadata of
// folder nodes change.
type node struct {
	mode   fs.FileMode // type and permissions
	mtime  int64       // in nanoseconds since 1970
	size   int64       // of a file's stored content
	pieces []*piece    // of a file; all but the last have pieceSize bytes
	target string      // of a link
	stamp  stamp       // of the file when it was read

	children *children // of a folder
	scanned  uint32    // the number of the last scan that found the file
}

// A piece is a part of a file's content, in a pack.
type piece struct {
	pack     *pack
	off, len uint32
	sum      [32]byte // of the content
}

// A pack is a blob of pieces.
type pack struct {
	sum  string
	size int   // of all pieces, in bytes
	live int64 // bytes that files use, counted for each use; an unused pack may be removed
	thin bool  // most of it is unused, or it is small; its pieces move to a new pack
}

// A stamp differs after each change of a file.
type stamp struct {
	id             tree.FileID
	size           int64
	mtime, changed int64
	mode           fs.FileMode
	racy           bool // the file may have changed after it was read, without a new time
}

func newFolderNode() *node { return &node{mode: fs.ModeDir, children: newChildren()} }

// newNode returns the node of a file, without its content.
func newNode(info tree.Info) *node {
	n := &node{mode: info.Mode & (fs.ModeType | fs.ModePerm), mtime: info.ModTime.UnixNano()}
	if info.IsLink() {
		n.mode = fs.ModeSymlink
	}
	if info.IsDir() {
		n.children = newChildren()
	}
	return n
}

func stampOf(info tree.Info) stamp {
	return stamp{info.ID, info.Size, info.ModTime.UnixNano(), info.Changed.UnixNano(), info.Mode, false}
}

// timeGrain is longer than the step of file times: on Linux a tick of the timer, at most 10 ms.
// Two changes within a step have the same time.
const timeGrain = 20 * time.Millisecond

// markRacy returns the stamp of a file that was read or written since t. The stamp is racy if
// the file changed less than a step of file times before t.
func (s stamp) markRacy(t time.Time) stamp {
	grain := timeGrain
	// The file system may store times in steps of one or two seconds.
	if s.changed%int64(time.Second) == 0 {
		grain = 2 * time.Second
	}
	s.racy = s.changed > t.Add(-grain).UnixNano()
	return s
}

// same reports whether a manifest has the same record for two nodes.
func (n *node) same(m *node) bool {
	if n.mode != m.mode || n.mtime != m.mtime ||
		n.size != m.size || n.target != m.target ||
		len(n.pieces) != len(m.pieces) {
		return false
	}
	for i := range n.pieces {
		if *n.pieces[i] != *m.pieces[i] {
			return false
		}
	}
	return true
}

// measure counts n and the nodes below it, and the bytes of their files.
func (n *node) measure() (count int, bytes int64) {
	count, bytes = 1, n.size
	if n.children != nil {
		for _, c := range n.children.all() {
			m, b := c.measure()
			count, bytes = count+m, bytes+b
		}
	}
	return count, bytes
}

// A change is a new, changed or removed path.
type change struct {
	path string
	dir  *node // the folder of path
	name string
	old  *node // nil for a new path
	now  *node // nil for a removed path
	read bool  // the file or link of now must still be read
	meta bool  // of a folder: only its permissions or its time changed
}

// matters reports whether the change needs a record in a manifest.
func (c *change) matters() bool {
	if c.old == nil || c.now == nil || c.meta {
		return c.old != c.now
	}
	return c.now.children != nil || c.old.children != nil || !c.old.same(c.now)
}

// apply applies a change to the nodes in memory. The caller has acquired the pieces of now.
func (c *change) apply(f *Folder) {
	if c.meta {
		c.old.mode, c.old.mtime = c.now.mode, c.now.mtime
		return
	}
	if c.dir.children.set(c.name, c.now); c.old != nil {
		f.release(c.old)
	}
}

// acquire counts the pieces of n as used.
func (f *Folder) acquire(n *node) {
	for _, p := range n.pieces {
		p.pack.live += int64(p.len)
		f.packs[p.pack] = true
	}
}

// release counts the pieces of n, and of all nodes below it, as unused. It forgets unused packs.
func (f *Folder) release(n *node) {
	if n.children != nil {
		for _, c := range n.children.all() {
			f.release(c)
		}
	}
	for _, p := range n.pieces {
		if p.pack.live -= int64(p.len); p.pack.live == 0 {
			delete(f.packs, p.pack)
		}
	}
}

// rewriteThin marks thin packs. It returns a change for each of their files, so that the
// snapshot stores the files in fuller packs.
func (f *Folder) rewriteThin(changes []*change) (more []*change) {
	found := 0
	for p := range f.packs {
		p.thin = p.live*2 < int64(p.size) || p.size < smallPack
		if p.thin {
			found++
		}
	}
	if found < 2 {
		return nil
	}
	known := make(map[string]bool, len(changes))
	for _, c := range changes {
		known[c.path] = !c.meta
	}
	var visit func(dir *node, rel string)
	visit = func(dir *node, rel string) {
		for name, n := range dir.children.all() {
			path := join(rel, name)
			if known[path] {
				continue
			}
			if n.children != nil {
				visit(n, path)
			}
			for _, p := range n.pieces {
				if p.pack.thin {
					more = append(more, &change{path: path, dir: dir, name: name, old: n,
						now: &node{mode: n.mode, mtime: n.mtime, size: n.size}, read: true})
					break
				}
			}
		}
	}
	visit(f.root, "")
	return more
}
