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

// A hint says what to look at in a folder.
type hint struct {
	all   bool // everything below it
	names map[string]*hint
}

// newHint returns the hint of what may have changed.
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

// A scan compares files with what is known of them.
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

// scan returns the changes that are found where the hint says. It returns new
// nodes, whose files are not read yet, and all the nodes of new folders.
func (f *Folder) scan(ctx context.Context, t tree.Tree, h *hint) ([]*change, error) {
	f.scans++
	s := &scan{Folder: f, ctx: ctx, tree: t, slots: make(chan struct{}, 2*runtime.GOMAXPROCS(0)-1)}
	s.blocks.New = func() any { return new(tree.Block) }
	s.folder("", f.root, h)
	s.wg.Wait()
	return s.changes, s.err
}

// add notes what was found in a folder, and reports whether to go on.
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

// A subfolder is one that is scanned after the folder that it is in.
type subfolder struct {
	rel  string
	node *node
	hint *hint
}

// folder compares what is in a folder with what its node has.
func (s *scan) folder(rel string, n *node, h *hint) {
	look := looker{scan: s, rel: rel, node: n, hint: h}
	err := look.all()
	if errors.Is(err, fs.ErrNotExist) && rel != "" { // removed meanwhile, as the next scan will find
		err = nil
	}
	if !s.add(rel, look.changes, err) {
		return
	}
	for _, sub := range look.subs {
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

// A looker looks at the names in one folder.
type looker struct {
	*scan
	rel     string
	node    *node
	hint    *hint
	changes []*change
	subs    []subfolder
	found   int
}

func (l *looker) all() error {
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
			// it is settled, which notes no scan
			if info, err := dir.Stat([]byte(name)); err == nil && portable(info) {
				continue
			} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s: %w", name, err)
			}
			l.changes = append(l.changes, &change{path: join(l.rel, name), dir: l.node, name: name, old: c})
		}
	}
	return nil
}

// portable reports whether a file is of a type that moves between machines.
func portable(info tree.Info) bool { return info.Mode.IsRegular() || info.IsDir() || info.IsLink() }

// name compares a name in the folder with its node.
func (l *looker) name(dir tree.Dir, name []byte) error {
	old := l.node.children.get(string(name))
	info, err := dir.Stat(name)
	absent := err != nil || !portable(info) ||
		old == nil && l.excluded.match(l.rel, string(name), info.IsDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", name, err)
	}
	if old != nil && !absent {
		old.scanned = l.scans
		l.found++
	}
	switch {
	case absent && old == nil:
		return nil
	case absent:
		if !l.hint.all { // else it is found to be missing
			l.changes = append(l.changes,
				&change{path: join(l.rel, string(name)), dir: l.node, name: string(name), old: old})
		}
		return nil
	case old != nil && old.children == nil && l.is(old.stamp, stampOf(info)):
		return nil
	}
	c := &change{path: join(l.rel, string(name)), dir: l.node, name: string(name), old: old,
		now: newNode(info)}
	if !info.IsDir() {
		c.read, c.now.size = true, info.Size
		if info.IsLink() {
			c.now.size = 0
		}
		l.changes = append(l.changes, c)
		return nil
	}
	if old == nil || old.children == nil {
		l.changes = append(l.changes, c)
		l.subs = append(l.subs, subfolder{c.path, c.now, &hint{all: true}})
		return nil
	}
	if c.meta = old.mode != c.now.mode || old.mtime != c.now.mtime; c.meta {
		l.changes = append(l.changes, c)
	}
	if below := l.hint.below(c.name); below != nil {
		l.subs = append(l.subs, subfolder{c.path, old, below})
	}
	return nil
}

// join returns the path of a name in a folder, which is "" for the root.
func join(rel, name string) string {
	if rel == "" {
		return name
	}
	return rel + "/" + name
}
