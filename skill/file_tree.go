package skill

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"textskill/skill/internal/search"
	"textskill/skill/internal/workspace"
)

// ListTree lists a directory recursively, following links to directories inside the
// workspace. The contents of .git are listed only if Path is in it, and so are the records
// of experts' runs, perstack/runs. It returns a [TreeListed].
type ListTree struct {
	Path  string
	Depth int // levels below Path; less than 1 means 1
	Limit int // maximum number of entries; 0 means 5000

	SkipIgnored bool // leave out .git and what git ignores, follow no links, and return the sizes of files
}

func (ListTree) op() {}

// A Tree is a directory tree, or one entry of it.
type Tree struct {
	Name    string
	Folder  bool  // a directory, or a link to one
	Denied  bool  // a directory that could not be read
	Link    bool  // a link that was not followed, with SkipIgnored; Folder is about what it leads to
	Size    int64 // of a file, with SkipIgnored
	Entries []*Tree
}

// TreeListed is the result of [ListTree].
type TreeListed struct {
	Path string // absolute
	Tree *Tree
	Cut  bool // entries beyond the limit are missing

	// With SkipIgnored: how many there are, also those that are cut.
	Files, Folders int
	Ignored        int   // entries that were left out, without their content
	Bytes          int64 // size of the files
	Uncounted      bool  // the numbers are of Depth levels, for there are many entries below them
}

// Message names the directory.
func (t TreeListed) Message() string { return "listed the tree of " + t.Path }

func (x *Executor) ListTree(ctx context.Context, s *Session, a ListTree) (TreeListed, error) {
	abs, err := x.path(s, "path", a.Path)
	if err != nil {
		return TreeListed{}, err
	}
	if a.SkipIgnored {
		return x.walkTree(ctx, abs, a)
	}
	w := &treeWalk{x: x, ctx: ctx, left: cmp.Or(a.Limit, 5000)}
	root := &Tree{Name: filepath.Base(abs), Folder: true}
	if err := w.fill(root, abs, max(1, a.Depth)); err != nil {
		return TreeListed{}, x.listError(abs, err)
	}
	return TreeListed{Path: abs, Tree: root, Cut: w.left < 0}, nil
}

// listError replaces the ENOTDIR of listing abs by the error of describing it, if a parent
// of abs is a file.
func (x *Executor) listError(abs string, err error) error {
	if errors.Is(err, syscall.ENOTDIR) {
		if _, serr := x.ws.Stat(abs, true); serr != nil {
			return serr
		}
	}
	return err
}

// sort puts directories first, and then sorts by name, ignoring case.
func (t *Tree) sort() {
	slices.SortFunc(t.Entries, func(a, b *Tree) int {
		if a.Folder != b.Folder {
			if a.Folder {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)),
			cmp.Compare(a.Name, b.Name))
	})
}

// maxCounted is how many entries are counted below the levels that are listed.
const maxCounted = 1000

// walkTree lists a directory without what git ignores. Entries of a level count against the
// limit before those below.
func (x *Executor) walkTree(ctx context.Context, abs string, a ListTree) (TreeListed, error) {
	depth := max(1, a.Depth)
	r := TreeListed{Path: abs, Tree: &Tree{Name: filepath.Base(abs), Folder: true}}
	w := &levelWalk{x: x, abs: abs, levels: make([][]found, depth+1)}
	_, err := search.Walk(ctx, x.ws, abs,
		search.WalkOptions{Ignore: true, Marked: true, Enter: w.enter}, w.visit)
	if err != nil {
		return r, x.listError(abs, err)
	}
	r.Uncounted = w.below.entries > maxCounted
	if !r.Uncounted {
		w.listed.add(w.below)
	}
	r.Files, r.Folders, r.Ignored, r.Bytes = w.listed.entries-w.listed.folders, w.listed.folders,
		w.listed.ignored, w.listed.bytes
	levels := w.levels
	left := cmp.Or(a.Limit, 5000)
	folders := map[string]*Tree{"": r.Tree}
	for _, level := range levels {
		slices.SortFunc(level, func(a, b found) int { return cmp.Or(cmp.Compare(a.in, b.in), cmp.Compare(a.Name, b.Name)) })
		for _, f := range level {
			in := folders[f.in]
			if left--; left < 0 || in == nil {
				r.Cut = true
				continue
			}
			if in.Entries = append(in.Entries, f.Tree); f.Folder && !f.Link {
				folders[path.Join(f.in, f.Name)] = f.Tree
			}
		}
	}
	for _, t := range folders {
		t.sort()
	}
	return r, nil
}

// levelWalk collects the entries of the levels of a tree that are listed, and counts those
// below, up to a number.
type levelWalk struct {
	x   *Executor
	abs string

	mu            sync.Mutex
	levels        [][]found
	listed, below treeCount
}

// treeCount are numbers of entries of a tree.
type treeCount struct {
	entries, folders, ignored int
	bytes                     int64
}

func (c *treeCount) add(more treeCount) {
	c.entries += more.entries
	c.folders += more.folders
	c.ignored += more.ignored
	c.bytes += more.bytes
}

func (w *levelWalk) visit(_ int, e *search.Entry) error {
	listed := e.Depth < len(w.levels)
	one := treeCount{entries: 1}
	f := found{e.Folder(), &Tree{Name: string(e.Name), Folder: e.Type.IsDir(),
		Link: e.Type == fs.ModeSymlink}}
	switch {
	case e.Ignored:
		one = treeCount{ignored: 1}
	case f.Folder:
		one.folders = 1
	case f.Link && listed:
		if info, err := w.x.ws.Stat(filepath.Join(w.abs, filepath.FromSlash(e.Path())), true); err == nil {
			f.Folder, f.Size = info.IsDir(), info.Size
		}
	default:
		if info, err := e.Stat(); err == nil {
			f.Size = info.Size
		}
		one.bytes = f.Size
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !listed {
		w.below.add(one)
		return nil
	}
	w.listed.add(one)
	if !e.Ignored {
		w.levels[e.Depth] = append(w.levels[e.Depth], f)
	}
	return nil
}

// enter ends the count of what is below the levels that are listed where that is much.
func (w *levelWalk) enter(depth int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return depth < len(w.levels)-1 || w.below.entries <= maxCounted
}

// found is an entry of a tree and the directory that it is in, relative to the first one.
type found struct {
	in string
	*Tree
}

type treeWalk struct {
	x       *Executor
	ctx     context.Context
	folders int64 // listed so far
	left    int   // number of entries that may still be listed; negative once the limit was exceeded
}

// fill lists the directory abs into t. The entries of a directory count against the limit
// before the entries of its subdirectories.
func (w *treeWalk) fill(t *Tree, abs string, depth int) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	w.folders++
	workspace.Report(w.ctx, w.folders, 0, abs)
	entries, err := w.x.ws.ReadDir(abs)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if search.IsRecords(w.x.Dir(), filepath.Join(abs, e.Name)) {
			continue
		}
		folder, err := w.isFolder(abs, e)
		if err != nil {
			return err
		}
		t.Entries = append(t.Entries, &Tree{Name: e.Name, Folder: folder})
	}
	t.sort()
	if len(t.Entries) > w.left {
		t.Entries = t.Entries[:max(0, w.left)]
		w.left = -1
	} else {
		w.left -= len(t.Entries)
	}
	if depth == 1 {
		return nil
	}
	for _, e := range t.Entries {
		if !e.Folder || w.left < 0 || e.Name == ".git" {
			continue
		}
		err := w.fill(e, filepath.Join(abs, e.Name), depth-1)
		if errors.Is(err, fs.ErrPermission) {
			e.Denied = true
		} else if err != nil && (isShortage(err) || w.ctx.Err() != nil) {
			return err
		}
	}
	return nil
}

// isFolder reports whether an entry is a directory, or a link to one inside the workspace.
func (w *treeWalk) isFolder(dir string, e workspace.Entry) (bool, error) {
	if e.Type != fs.ModeSymlink {
		return e.Type.IsDir(), nil
	}
	info, err := w.x.ws.Stat(filepath.Join(dir, e.Name), true)
	if isShortage(err) {
		return false, err
	}
	return err == nil && info.IsDir(), nil
}
