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

// A Journal says how many changes are kept so that they can be undone. A limit of 0 is
// the default, and one below 0 means no limit. Changes are dropped in blocks: see package history.
type Journal struct {
	Off   bool          // nothing is recorded
	Count int           // of changes; default 1000
	Age   time.Duration // of a change; default 30 days
	Bytes int64         // of what changes took away; default 1 GiB
}

// A journal is the history of one root, which is opened when it is first needed.
type journal struct {
	root    *root
	options history.Options
	off     bool // nothing is recorded: the history has only the lock

	mu     sync.Mutex
	store  *history.Store
	output *root // nil until it is needed; see outputs
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

// outside opens a path of another root.
func (w *Workspace) outside(abs string) (t tree.Tree, rel string, ok bool) {
	for _, r := range w.roots {
		if rel, ok := below(r.dir, abs); ok {
			return r.tree, rel, true
		}
	}
	return nil, "", false
}

// forbids returns a function that says why an undo may not write a path.
func forbids(allow bool) func(rel string) string {
	if allow {
		return nil
	}
	return func(rel string) string {
		for name := range strings.SplitSeq(rel, "/") {
			if strings.EqualFold(name, ".git") && !history.GitRunsCode(rel) {
				continue
			}
			if c := runsCode(name); c != "" {
				return "can make other programs run code: a person takes it back by typing the undo, or --allow-config allows it"
			}
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

// journalOf returns the journal of a root; that of the output of commands is the first.
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

// recorder returns the journal in which changes below a root are recorded, nil if they
// are not.
func (w *Workspace) recorder(r *root) *journal {
	if r == nil {
		return nil
	}
	if j := w.journalOf(r); !j.off {
		return j
	}
	return nil
}

// changeID returns the ID of a change: its number, and for an allowed folder also that.
func (w *Workspace) changeID(j *journal, id int64) string {
	if j == w.journals[0] {
		return strconv.FormatInt(id, 10)
	}
	return strconv.FormatInt(id, 10) + "@" + j.root.dir
}

// byID is the inverse of changeID; ok is false for what is not an ID of this workspace.
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

// name returns the path of p as it is recorded.
func (j *journal) name(p location) history.Name { return j.nameOf(p.path()) }

// nameOf returns the name of an absolute path in the ops of a journal.
func (j *journal) nameOf(abs string) history.Name {
	if rel, ok := below(j.root.dir, abs); ok {
		return history.Name(rel)
	}
	return history.Name(abs)
}

// path is the inverse of nameOf: it returns an absolute path.
func (j *journal) path(name history.Name) string {
	if filepath.IsAbs(string(name)) {
		return string(name)
	}
	return filepath.Join(j.root.dir, filepath.FromSlash(string(name)))
}
