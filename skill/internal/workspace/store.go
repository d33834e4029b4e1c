package workspace

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"textskill/skill/internal/state"
	"textskill/skill/internal/workspace/tree"
)

// A Journal says how many changes are kept so that they can be undone. A limit of 0 is
// the default, and one below 0 is none. What is kept ends with a whole block of records:
// see package state.
type Journal struct {
	Off   bool          // nothing is recorded
	Count int           // of changes, and of records of what cannot be undone; default 1000
	Age   time.Duration // of a change; default 30 days
	Bytes int64         // of what changes took away; default 1 GiB
}

// A history is the store of one root, which is opened when it is first needed.
type history struct {
	root     *root
	options  state.Options
	portable bool // nothing can be moved between the root and the store
	off      bool // nothing is recorded: the store has only the locks

	mu     sync.Mutex
	store  *state.Store
	output *root // nil until it is needed; see outputs
	closed bool

	snapshots snapshots
}

func newHistory(r *root, o Options, roots []string) *history {
	return &history{root: r, off: o.Journal.Off, portable: o.Portable, options: state.Options{
		Root: r.dir, Roots: roots, Dir: o.State, ReadOnly: o.ReadOnly || o.DryRun, NoSync: o.NoSync, Program: o.Program,
		Limits: state.Limits{Count: int64(o.Journal.Count), Age: o.Journal.Age, Bytes: o.Journal.Bytes},
	}}
}

// open returns the store. The error is fs.ErrNotExist if there is none and the
// workspace is opened read-only.
func (h *history) open() (*state.Store, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, fs.ErrClosed
	}
	if h.store != nil {
		return h.store, nil
	}
	s, err := state.Open(h.options)
	if err == nil {
		h.store = s
	}
	return s, err
}

func (h *history) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	if h.output != nil {
		h.output.tree.Close()
	}
	if h.store != nil {
		h.store.Close()
	}
}

// A storeFolder is an open folder of the store.
type storeFolder struct {
	tree tree.Tree
	top  tree.Folder
}

// openStoreFolder passes on what a call that opens a tree returned.
func openStoreFolder(t tree.Tree, err error) (*storeFolder, error) {
	if err != nil {
		return nil, err
	}
	top, err := t.OpenFolder(".")
	if err != nil {
		t.Close()
		return nil, err
	}
	return &storeFolder{t, top}, nil
}

// at returns the location of a name in the folder.
func (f *storeFolder) at(name string) location { return location{&root{tree: f.tree}, name} }

func (f *storeFolder) close() {
	f.top.Close()
	f.tree.Close()
}

// folder opens a folder of the store that is not the log's, and makes it if it does not
// exist.
func (h *history) folder(name string) (*storeFolder, error) {
	s, err := h.open()
	if err != nil {
		return nil, err
	}
	dir, err := s.Folder(name)
	if err != nil {
		return nil, err
	}
	dir.Close()
	return openStoreFolder(tree.Open(filepath.Join(s.Path(), name), false))
}

// history returns the history of a root; that of the output of commands is the first.
func (w *Workspace) history(r *root) *history {
	for _, h := range w.histories {
		if h.root == r {
			return h
		}
	}
	for _, h := range w.histories {
		if _, ok := below(h.root.dir, r.dir); ok {
			return h
		}
	}
	return w.histories[0]
}

// journal returns the history in which changes below a root are recorded, nil if they
// are not.
func (w *Workspace) journal(r *root) *history {
	if r == nil {
		return nil
	}
	if h := w.history(r); !h.off {
		return h
	}
	return nil
}

// changeID returns the ID of a change: its number, and for an allowed folder also that.
func (w *Workspace) changeID(h *history, id int64) string {
	if h == w.histories[0] {
		return strconv.FormatInt(id, 10)
	}
	return strconv.FormatInt(id, 10) + "@" + h.root.dir
}

// byID is the inverse of changeID; ok is false for what is not an ID of this workspace.
func (w *Workspace) byID(text string) (h *history, id int64, ok bool) {
	number, dir, other := strings.Cut(text, "@")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || id <= 0 || strconv.FormatInt(id, 10) != number { // an ID has one spelling
		return nil, 0, false
	}
	i := slices.IndexFunc(w.histories, func(h *history) bool { return !other || h.root.dir == filepath.Clean(dir) })
	if i < 0 || w.histories[i].off {
		return nil, 0, false
	}
	return w.histories[i], id, true
}

// name returns the path of p as it is recorded.
func (h *history) name(p location) state.Name {
	return h.nameOf(p.path())
}

// nameOf returns the name of an absolute path in the records of a history.
func (h *history) nameOf(abs string) state.Name {
	if rel, ok := below(h.root.dir, abs); ok {
		return state.Name(rel)
	}
	return state.Name(abs)
}

// path is the inverse of nameOf: it returns an absolute path.
func (h *history) path(name state.Name) string {
	if filepath.IsAbs(string(name)) {
		return string(name)
	}
	return filepath.Join(h.root.dir, filepath.FromSlash(string(name)))
}

// folderOf opens the folder that holds a name of the history's own root.
func (h *history) folderOf(name string) (tree.Folder, error) {
	return h.root.tree.OpenFolder(path.Dir(name))
}

// noHistory reports whether an error of open means that nothing was recorded yet.
func noHistory(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// lastID returns the number of the last change that is recorded, 0 if there is none.
func (h *history) lastID(ctx context.Context) (int64, error) {
	for c, err := range h.changes(ctx, false) {
		if err != nil {
			return 0, err
		}
		return c.ID, nil
	}
	return 0, nil
}

// first returns the number from which on no change was dropped, 0 if there is none.
func (h *history) first(ctx context.Context) (int64, error) {
	s, err := h.open()
	if noHistory(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return s.First(ctx)
}
