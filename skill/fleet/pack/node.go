package pack

import (
	"io/fs"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// A node is a file, a folder or a link, as a manifest describes it. Its content is not
// changed once it is part of a Folder, but for the children and metadata of folders.
type node struct {
	mode   fs.FileMode // type and permissions
	mtime  int64       // in nanoseconds since 1970
	size   int64       // of the stored content of a file
	pieces []*piece    // of it, all but the last of them with pieceSize bytes
	target string      // of a link
	stamp  stamp       // when it was read

	children *children // of a folder
	scanned  uint32    // the number of the last scan that found it
}

// A piece is a part of a file's content, in a pack.
type piece struct {
	pack     *pack
	off, len uint32
	sum      [32]byte // of its content
}

// A pack is a blob that holds pieces.
type pack struct {
	sum  string
	size int   // of all its pieces, in bytes
	live int64 // of the pieces that files have, counted for each of them; 0 if it may be removed
	thin bool  // its pieces are to be stored anew
}

// A stamp is what changes when a file does.
type stamp struct {
	id             tree.FileID
	size           int64
	mtime, changed int64
	mode           fs.FileMode
	racy           bool // it may change once more without its times changing
}

func newFolderNode() *node { return &node{mode: fs.ModeDir, children: newChildren()} }

// newNode returns a node of a file that is still to be read.
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

// timeGrain is longer than the step of file times, which is that of the timer's tick on
// Linux, at most 10 ms: two changes within it may have the same time.
const timeGrain = 20 * time.Millisecond

// checked returns the stamp of a file that was read or written and then looked at, all of
// it at or after t.
func (s stamp) checked(t time.Time) stamp {
	grain := timeGrain
	// perhaps of a file system that counts seconds, or every second one
	if s.changed%int64(time.Second) == 0 {
		grain = 2 * time.Second
	}
	s.racy = s.changed > t.Add(-grain).UnixNano()
	return s
}

// same reports whether two nodes are described in the same way by a manifest.
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

// measure returns how many nodes there are from n on, and the bytes of their files.
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

// A change is what became of a path.
type change struct {
	path string
	dir  *node // which has it
	name string
	old  *node // nil if there was none
	now  *node // nil if it is gone
	read bool  // now is of a file or link that has not been read yet
	meta bool  // old and now are folders: only its permissions and time have changed
}

// matters reports whether a manifest has to say it.
func (c *change) matters() bool {
	if c.old == nil || c.now == nil || c.meta {
		return c.old != c.now
	}
	return c.now.children != nil || c.old.children != nil || !c.old.same(c.now)
}

// apply makes a change in memory. The pieces of now are acquired before.
func (c *change) apply(f *Folder) {
	if c.meta {
		c.old.mode, c.old.mtime = c.now.mode, c.now.mtime
		return
	}
	if c.dir.children.set(c.name, c.now); c.old != nil {
		f.release(c.old)
	}
}

// acquire notes that n's pieces are needed.
func (f *Folder) acquire(n *node) {
	for _, p := range n.pieces {
		p.pack.live += int64(p.len)
		f.packs[p.pack] = true
	}
}

// release notes that the pieces of a node and of those below it are no longer needed. A
// pack that nothing needs is forgotten: it may be removed.
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

// thin returns changes that store the content of thin packs anew: those that hold little
// that is still needed, or little at all.
func (f *Folder) thin(changes []*change) (more []*change) {
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
