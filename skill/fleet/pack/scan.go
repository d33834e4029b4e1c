package pack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"strings"
	"sync"

	"textskill/skill/internal/workspace/tree"
)

// A hint says which names of a folder to look at.
type hint struct {
	all   bool // all files below the folder
	names map[string]*hint
}

// newHint returns the hint for changed paths. walk looks at all files.
func newHint(changed []string, walk bool) (*hint, error) {
	root := &hint{all: walk}
	for _, name := range changed {
		clean := path.Clean(name)
		if name == "" || clean[0] == '/' || clean == ".." || strings.HasPrefix(clean, "../") {
			return nil, fmt.Errorf("%q %w", name, errNotLocal)
		}
		h := root
		if clean != "." {
			for part := range strings.SplitSeq(clean, "/") {
				if h.all {
					break
				}
				next := h.names[part]
				if next == nil {
					if h.names == nil {
						h.names = map[string]*hint{}
					}
					next = &hint{}
					h.names[part] = next
				}
				h = next
			}
		}
		h.all = true
	}
	return root, nil
}

// below returns the hint of a name in the folder.
func (h *hint) below(name string) *hint {
	if h.all {
		return h
	}
	return h.names[name]
}

// A scan compares files with their nodes.
type scan struct {
	*Folder
	ctx    context.Context
	tree   tree.Tree
	slots  chan struct{} // one for each goroutine besides the first
	blocks sync.Pool     // of *tree.Block
	wg     sync.WaitGroup

	mu      sync.Mutex
	changes []*change
	err     error
}

// scan returns the changes of the files that the hint names. Their new nodes have no content
// yet. A new folder has a change for each file in it.
func (f *Folder) scan(ctx context.Context, t tree.Tree, h *hint) ([]*change, error) {
	f.scans++
	s := &scan{Folder: f, ctx: ctx, tree: t, slots: make(chan struct{}, 2*runtime.GOMAXPROCS(0)-1)}
	s.blocks.New = func() any { return new(tree.Block) }
	s.folder("", f.root, h)
	s.wg.Wait()
	return s.changes, s.err
}

// add adds the changes of a folder, and reports whether the scan continues.
func (s *scan) add(rel string, changes []*change, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changes = append(s.changes, changes...); len(s.changes) > s.maxFiles+s.count && err == nil {
		err = s.tooLarge(s.ctx)
	}
	if err == nil {
		err = context.Cause(s.ctx)
	}
	if s.err == nil && err != nil {
		if s.err = err; !errors.Is(err, ErrTooLarge) && rel != "" {
			s.err = fmt.Errorf("%s: %w", rel, err)
		}
	}
	return s.err == nil
}

// A subfolder is scanned after its parent.
type subfolder struct {
	rel  string
	node *node
	hint *hint
}

// folder compares a folder with its node.
func (s *scan) folder(rel string, n *node, h *hint) {
	f := folderScan{scan: s, rel: rel, node: n, hint: h}
	err := f.compareAll()
	if errors.Is(err, fs.ErrNotExist) && rel != "" { // just removed; the next scan finds that
		err = nil
	}
	if !s.add(rel, f.changes, err) {
		return
	}
	for _, sub := range f.subs {
		select {
		case s.slots <- struct{}{}:
			s.wg.Go(func() {
				s.folder(sub.rel, sub.node, sub.hint)
				<-s.slots
			})
		default:
			s.folder(sub.rel, sub.node, sub.hint)
		}
	}
}

// A folderScan compares the names in one folder with the children of its node.
type folderScan struct {
	*scan
	rel     string
	node    *node
	hint    *hint
	changes []*change
	subs    []subfolder
	found   int // known names that exist
}

// compareAll compares the names of the hint.
func (l *folderScan) compareAll() error {
	dir, err := l.tree.OpenDir(cmp.Or(l.rel, "."))
	if err != nil {
		return err
	}
	defer dir.Close()
	if !l.hint.all {
		for name := range l.hint.names {
			if err := l.name(dir, []byte(name)); err != nil {
				return err
			}
		}
		return nil
	}
	b := l.blocks.Get().(*tree.Block)
	defer l.blocks.Put(b)
	for more := true; more; {
		b.Names = b.Names[:0]
		if more, err = dir.Read(b); err != nil {
			return err
		}
		for _, n := range b.Names {
			if err := l.name(dir, n.Bytes); err != nil {
				return err
			}
		}
	}
	if l.found < l.node.children.count {
		for name, c := range l.node.children.all() {
			if c.scanned == l.scans {
				continue
			}
			// A settled file does not record its scan.
			if info, err := dir.Stat([]byte(name)); err == nil && portable(info) {
				continue
			} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s: %w", name, err)
			}
			l.remove(name, c)
		}
	}
	return nil
}

// portable reports whether the type of a file can move between machines.
func portable(info tree.Info) bool { return info.Mode.IsRegular() || info.IsDir() || info.IsLink() }

// remove adds the change of a name that is gone.
func (l *folderScan) remove(name string, old *node) {
	l.changes = append(l.changes, &change{path: join(l.rel, name), dir: l.node, name: name, old: old})
}

// name compares a name in the folder with its node.
func (l *folderScan) name(dir tree.Dir, name []byte) error {
	old := l.node.children.get(string(name))
	info, err := dir.Stat(name)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: %w", name, err)
	case err == nil && portable(info) &&
		(old != nil || !l.excluded.match(l.rel, string(name), info.IsDir())):
		l.compare(name, old, info)
	case old != nil && !l.hint.all: // with all, compareAll finds it by its missing scan
		l.remove(string(name), old)
	}
	return nil
}

// compare compares an existing file with its node; nil for a new file.
func (l *folderScan) compare(name []byte, old *node, info tree.Info) {
	if old != nil {
		old.scanned = l.scans
		l.found++
		if old.children == nil && l.sameStamp(old.stamp, stampOf(info)) {
			return
		}
	}
	c := &change{path: join(l.rel, string(name)), dir: l.node, name: string(name), old: old,
		now: newNode(info)}
	if !info.IsDir() {
		c.read, c.now.size = true, info.Size
		if info.IsLink() {
			c.now.size = 0
		}
		l.changes = append(l.changes, c)
		return
	}
	if old == nil || old.children == nil {
		l.changes = append(l.changes, c)
		l.subs = append(l.subs, subfolder{c.path, c.now, &hint{all: true}})
		return
	}
	if c.meta = old.mode != c.now.mode || old.mtime != c.now.mtime; c.meta {
		l.changes = append(l.changes, c)
	}
	if below := l.hint.below(c.name); below != nil {
		l.subs = append(l.subs, subfolder{c.path, old, below})
	}
}

// join returns the path of a name in a folder. The root is "".
func join(rel, name string) string {
	if rel == "" {
		return name
	}
	return rel + "/" + name
}
