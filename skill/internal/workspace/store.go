package workspace

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"textskill/skill/internal/history"
	"textskill/skill/internal/workspace/tree"
)

// A Journal says how many changes are kept for undo. A limit of 0 is the default; a negative limit is
// no limit. Package history drops old changes in blocks.
type Journal struct {
	Off   bool          // record nothing
	Count int           // number of changes; default 1000
	Age   time.Duration // age of a change; default 30 days
	Bytes int64         // size of the old files of all changes; default 1 GiB
}

// A journal is the history of one root. It is opened when it is first needed.
type journal struct {
	root    *root
	options history.Options
	off     bool // nothing is recorded: the history is only used for its lock

	mu     sync.Mutex
	store  *history.Store // nil until it is needed
	output *root          // nil until it is needed; see outputs
	closed bool
}

func (w *Workspace) newJournal(r *root, roots []string) *journal {
	o := w.opts
	return &journal{root: r, off: o.Journal.Off, options: history.Options{
		Root: r.dir, Roots: roots, Dir: o.State, ReadOnly: o.ReadOnly || o.DryRun, NoSync: o.NoSync,
		Limits: history.Limits{Count: int64(o.Journal.Count), Age: o.Journal.Age, Bytes: o.Journal.Bytes},
		Tree:   r.tree, Outside: w.outside, Forbids: forbids(o.AllowConfig), Portable: o.Portable,
	}}
}

// outside finds a path in any root, for a history that refers to files of another root.
func (w *Workspace) outside(abs string) (t tree.Tree, rel string, ok bool) {
	for _, r := range w.roots {
		if rel, ok := below(r.dir, abs); ok {
			return r.tree, rel, true
		}
	}
	return nil, "", false
}

// forbids returns a function that returns why an undo may not write a path, "" if it may.
func forbids(allow bool) func(rel string) string {
	if allow {
		return nil
	}
	return func(rel string) string {
		parts, folder := strings.Split(rel, "/"), ""
		for i, name := range parts {
			passed := strings.EqualFold(name, ".git") && !history.GitRunsCode(rel) || isCheckout(parts[i:])
			if !passed && runsCode(folder, name) != "" {
				return "can make other programs run code: a person takes it back by typing the undo, or --allow-config allows it"
			}
			folder += "/" + name
		}
		return ""
	}
}

// open returns the history. The error is fs.ErrNotExist if it does not exist and the
// workspace is opened read-only.
func (j *journal) open() (*history.Store, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil, fs.ErrClosed
	}
	if j.store != nil {
		return j.store, nil
	}
	s, err := history.Open(j.options)
	if err == nil {
		j.store = s
	}
	return s, err
}

func (j *journal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = true
	if j.output != nil {
		j.output.tree.Close()
	}
	if j.store != nil {
		j.store.Close()
	}
}

// journalOf returns the journal of a root. For a root without its own journal it returns the journal of
// a root above, else the workspace's.
func (w *Workspace) journalOf(r *root) *journal {
	for _, j := range w.journals {
		if j.root == r {
			return j
		}
	}
	for _, j := range w.journals {
		if _, ok := below(j.root.dir, r.dir); ok {
			return j
		}
	}
	return w.journals[0]
}

// recorder returns the journal that records changes in a root, nil if they are not recorded.
func (w *Workspace) recorder(r *root) *journal {
	if r == nil {
		return nil
	}
	if j := w.journalOf(r); !j.off {
		return j
	}
	return nil
}

// changeID returns the ID of a change: its number, followed by @ and the folder if the change is in an
// allowed folder.
func (w *Workspace) changeID(j *journal, id int64) string {
	if j == w.journals[0] {
		return strconv.FormatInt(id, 10)
	}
	return strconv.FormatInt(id, 10) + "@" + j.root.dir
}

// byID is the inverse of changeID. ok is false if text is not an ID of this workspace.
func (w *Workspace) byID(text string) (j *journal, id int64, ok bool) {
	number, dir, other := strings.Cut(text, "@")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || id <= 0 || strconv.FormatInt(id, 10) != number { // an ID has one spelling
		return nil, 0, false
	}
	i := slices.IndexFunc(w.journals,
		func(j *journal) bool { return !other || j.root.dir == filepath.Clean(dir) })
	if i < 0 || w.journals[i].off {
		return nil, 0, false
	}
	return w.journals[i], id, true
}

// name returns the name of p in the ops of a journal.
func (j *journal) name(p location) history.Name { return j.nameOf(p.path()) }

// nameOf returns the name of an absolute path in the ops of a journal.
func (j *journal) nameOf(abs string) history.Name {
	if rel, ok := below(j.root.dir, abs); ok {
		return history.Name(rel)
	}
	return history.Name(abs)
}

// path is the inverse of nameOf.
func (j *journal) path(name history.Name) string {
	if filepath.IsAbs(string(name)) {
		return string(name)
	}
	return filepath.Join(j.root.dir, filepath.FromSlash(string(name)))
}

// RunsCode reports whether a path, relative to the workspace, is a file through which programs run
// code, and Options do not allow changes of those.
func (w *Workspace) RunsCode(rel string) bool {
	forbidden := forbids(w.opts.AllowConfig)
	return forbidden != nil && forbidden(rel) != ""
}
