package search

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"textskill/skill/internal/workspace"
)

// WalkOptions say which names a walk skips. The zero WalkOptions skip .git.
type WalkOptions struct {
	Git     bool // visit .git too
	Ignore  bool // skip names that git ignores
	Marked  bool // with Ignore: visit ignored names with Entry.Ignored set, but do not enter them
	Workers int  // how many goroutines call visit; 0 means Workers()

	// reports whether to read the next block of a folder at that depth; nil means always
	Enter func(depth int) bool
}

// Walked counts the names that a walk skipped.
type Walked struct {
	Unreadable int // folders that could not be read
	Ignored    int // names that git ignores
	Git        int // .git names
}

// Workers returns the default number of goroutines of a walk. It may exceed the number of
// processors, to hide the latency of a disk.
func Workers() int { return max(4, runtime.GOMAXPROCS(0)) }

// Walk calls visit for every name below the folder dir, in no particular order, but for a folder
// before its entries. It visits links and does not follow them, except dir itself. It skips names
// that the workspace denies, the records of runs unless dir is in them, and unreadable folders.
//
// A name is ignored if git does not track it and a rule matches it. Rules come from the .gitignore
// files from the top of the repository down, its .git/info/exclude and the user's
// core.excludesFile. The top may be above the workspace if it has the same owner and does not
// ignore the workspace. A repository inside the walk uses only its own rules. Outside of
// repositories, the .gitignore files from the workspace's folder down apply.
//
// Several goroutines call visit at a time, each with a worker number below the options' Workers.
// visit returns nil to go on, [fs.SkipDir] to not enter a folder, [fs.SkipAll] to end the walk,
// or any other error to end the walk with that error. The Entry is valid until visit returns.
//
// Walk returns the errors of visit, of ctx, and of [workspace.Workspace.OpenDir] for dir.
func Walk(ctx context.Context, w *workspace.Workspace, dir string, o WalkOptions,
	visit func(worker int, e *Entry) error) (Walked, error) {
	base, err := w.OpenDir(dir)
	if err != nil {
		return Walked{}, err
	}
	k := &walk{ctx: ctx, base: base, options: o, visit: visit, workers: o.Workers,
		records: aboveRecords(w.Dir(), base.Path())}
	if k.workers <= 0 {
		k.workers = Workers()
	}
	k.changed.L = &k.mu
	top := &folder{dir: base}
	top.refs.Store(2) // the walk itself holds it until the end
	if o.Ignore {
		k.ignoring, top.scope = newIgnoring(w, base)
	}
	k.shared, k.running = []*folder{top}, 1
	(&worker{walk: k}).run()
	k.all.Wait()
	for _, f := range k.shared {
		k.release(f)
	}
	workspace.Report(ctx, k.folders.Load(), 0, base.Path())
	base.Close()
	if k.err == fs.SkipAll {
		k.err = nil
	}
	return Walked{int(k.unreadable.Load()), int(k.ignored.Load()), int(k.git.Load())}, k.err
}

// An Entry is one name that a walk visits.
type Entry struct {
	Name  []byte
	Type  fs.FileMode // only the type bits; a link is not followed
	Depth int         // 1 for the entries of the folder that the walk starts at

	Ignored bool // git ignores the name; only set with WalkOptions.Marked

	in *folder
}

// Folder returns the path of the folder that holds the entry, with slashes. It is relative to the
// start of the walk; "" is the start itself.
func (e *Entry) Folder() string { return e.in.rel }

// Path returns the entry's path relative to the start of the walk, with slashes.
func (e *Entry) Path() string { return e.in.child(e.Name) }

// AppendPath appends Path to buf.
func (e *Entry) AppendPath(buf []byte) []byte {
	if e.in.rel != "" {
		buf = append(append(buf, e.in.rel...), '/')
	}
	return append(buf, e.Name...)
}

// Head reads the beginning of a regular file, see [workspace.Dir.Head]. Call it only while the
// entry is valid; the returned file stays valid.
func (e *Entry) Head(buf []byte) (n int, rest *workspace.File, err error) {
	return e.in.dir.Head(e.Name, buf)
}

// Stat describes the entry. It does not follow a link. Call it only while the entry is valid.
func (e *Entry) Stat() (workspace.Info, error) { return e.in.dir.Stat(e.Name) }

// folder is a folder that waits to be read or is being read.
type folder struct {
	rel   string // path relative to the base; "" for the base
	depth int    // 0 for the base
	// the open parent to open this folder in; nil after that, or to open it by its path from the base
	parent  *folder
	dir     *workspace.Dir // nil until it is opened
	started bool           // a block was read
	scope   scope          // for the entries; until the first block is read, the scope of the parent
	// how many still need dir: workers that visit a block, the worker that reads on, folders to open in it
	refs atomic.Int32
}

func (f *folder) child(name []byte) string {
	if f.rel == "" {
		return string(name)
	}
	buf := make([]byte, 0, 256)
	buf = append(append(append(buf, f.rel...), '/'), name...)
	return string(buf)
}

// walk is what the workers of one walk share.
type walk struct {
	ctx     context.Context
	base    *workspace.Dir
	options WalkOptions
	visit   func(worker int, e *Entry) error
	workers int
	records string // path of the folder that holds the records of runs

	ignoring *ignoring // nil without WalkOptions.Ignore

	folders, unreadable, ignored, git atomic.Int64

	opened atomic.Int32 // open folders, without the base
	idle   atomic.Int32 // workers that wait for folders
	ended  atomic.Bool

	all     sync.WaitGroup // all workers except the first
	mu      sync.Mutex
	changed sync.Cond
	running int       // workers that were started
	shared  []*folder // folders that any worker may take
	err     error
}

// soloBlocks is how many blocks the first worker reads before it starts the others. It reads a small
// tree sooner than they could start.
const soloBlocks = 3

// startOthers starts all workers except the first.
func (k *walk) startOthers() {
	k.mu.Lock()
	k.running = k.workers
	k.mu.Unlock()
	for id := 1; id < k.workers; id++ {
		k.all.Go(func() { (&worker{walk: k, id: id}).run() })
	}
}

// keptOpen limits how many folders stay open to open their subfolders. Further subfolders are
// opened by their paths from the base.
const keptOpen = 64

// subfolder returns the subfolder name of f. It is not open yet.
func (k *walk) subfolder(f *folder, name []byte) *folder {
	sub := &folder{rel: f.child(name), depth: f.depth + 1, scope: f.scope}
	if k.opened.Load() < keptOpen {
		f.refs.Add(1)
		sub.parent = f
	}
	return sub
}

// open opens the folder and sets its refs to 1.
func (k *walk) open(f *folder) (err error) {
	if parent := f.parent; parent == nil {
		f.dir, err = k.base.OpenDir(f.rel)
	} else {
		f.dir, err = parent.dir.OpenDir(f.rel[strings.LastIndexByte(f.rel, '/')+1:])
		f.parent = nil
		k.release(parent)
	}
	if err == nil {
		k.opened.Add(1)
		f.refs.Store(1)
	}
	return err
}

// release drops one reference to the folder, and closes it after the last.
func (k *walk) release(f *folder) {
	if f.parent != nil {
		k.release(f.parent)
		f.parent = nil
		return
	}
	if f.dir != nil && f.refs.Add(-1) == 0 {
		f.dir.Close()
		k.opened.Add(-1)
	}
}

func (k *walk) end(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.ended.Swap(true) {
		k.err = err
	}
	k.changed.Broadcast()
}

// take waits for a shared folder. It returns nil at the end of the walk, which is when all workers
// wait.
func (k *walk) take() *folder {
	k.mu.Lock()
	defer k.mu.Unlock()
	if int(k.idle.Add(1)) == k.running && len(k.shared) == 0 {
		k.ended.Store(true)
		k.changed.Broadcast()
	}
	for len(k.shared) == 0 && !k.ended.Load() {
		k.changed.Wait()
	}
	if k.ended.Load() {
		return nil
	}
	k.idle.Add(-1)
	n := len(k.shared) - 1
	f := k.shared[n]
	k.shared = k.shared[:n]
	return f
}

// give shares folders with the waiting workers.
func (k *walk) give(folders []*folder) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.shared = append(k.shared, folders...)
	if len(folders) == 1 {
		k.changed.Signal()
	} else {
		k.changed.Broadcast()
	}
}

// worker reads folders, the last found first, which keeps the stack short.
type worker struct {
	*walk
	id    int
	stack []*folder
	block workspace.Block
	entry Entry
	path  []byte // path of a name below ignoring.root, for the rules
}

func (w *worker) run() {
	for read := 0; !w.ended.Load(); read++ {
		if w.id == 0 && read == soloBlocks {
			w.startOthers()
		}
		var f *folder
		if n := len(w.stack) - 1; n >= 0 {
			f, w.stack = w.stack[n], w.stack[:n]
		} else if f = w.take(); f == nil {
			return
		}
		if err := w.read(f); err != nil {
			w.end(err)
		}
	}
	for _, f := range w.stack {
		w.release(f)
	}
}

// read reads a block of a folder and visits its names. If there are more blocks, it first pushes
// the folder on the stack, so that another worker can read on.
func (w *worker) read(f *folder) error {
	if err := w.ctx.Err(); err != nil {
		w.release(f)
		return err
	}
	if w.options.Enter != nil && !w.options.Enter(f.depth) {
		w.release(f)
		return nil
	}
	if f.dir == nil {
		if err := w.open(f); err != nil {
			return w.skipUnreadable(err)
		}
	}
	defer w.release(f)
	more, err := f.dir.Read(&w.block)
	if err != nil {
		return w.skipUnreadable(err)
	}
	if w.ignoring != nil && !f.started {
		f.scope = w.scopeIn(f, more)
	}
	f.started = true
	if more {
		f.refs.Add(1)
		w.stack = append(w.stack, f)
	} else if n := w.folders.Add(1); n%64 == 0 {
		workspace.Report(w.ctx, n, 0, f.dir.Path())
	}
	return w.visitAll(f)
}

func (w *worker) visitAll(f *folder) error {
	e := &w.entry
	e.in, e.Depth, e.Ignored = f, f.depth+1, false
	prefix := 0
	if w.ignoring != nil {
		w.path = append(w.path[:0], w.prefix(f)...)
		prefix = len(w.path)
	}
	for _, name := range w.block.Names {
		if w.ended.Load() {
			return nil
		}
		if !w.options.Git && string(name.Bytes) == ".git" {
			w.git.Add(1)
			continue
		}
		if string(name.Bytes) == recordsName && f.rel == w.records {
			continue
		}
		byRule := false
		if f.scope.ignored || f.scope.rules != nil {
			w.path = append(w.path[:prefix], name.Bytes...)
			e.Ignored, byRule = f.scope.ignores(w.path, name.Bytes, name.Type.IsDir())
			if e.Ignored {
				w.ignored.Add(1)
			}
			if e.Ignored && !w.options.Marked {
				continue
			}
		}
		e.Name, e.Type = name.Bytes, name.Type
		switch err := w.visit(w.id, e); {
		case err == nil && e.Type.IsDir() && !e.Ignored:
			sub := w.subfolder(f, name.Bytes)
			sub.scope.ignored = byRule
			w.stack = append(w.stack, sub)
		case err != nil && err != fs.SkipDir:
			return err
		}
		if w.idle.Load() > 0 && len(w.stack) > 0 {
			w.share()
		}
	}
	return nil
}

// scopeIn returns the scope for the entries of a folder. w.block is its first block. With more, the
// .git or .gitignore may be in a later block, so scopeIn looks for them by name.
func (w *worker) scopeIn(f *folder, more bool) scope {
	repository, rulesFile := false, more
	for _, name := range w.block.Names {
		switch string(name.Bytes) {
		case ".git":
			repository = true
		case ".gitignore":
			rulesFile = true
		}
	}
	prefix := w.prefix(f)
	if more && !repository {
		_, err := w.ignoring.w.Stat(w.ignoring.abs(prefix+".git"), false)
		repository = err == nil
	}
	s := f.scope
	if repository {
		s = w.ignoring.repository(prefix, w.ignoring.read)
	}
	if rulesFile {
		s.rules = s.rules.under(readIgnoreFile(f.dir), len(prefix))
	}
	return s
}

// prefix returns the path of a folder below ignoring.root, with a slash at the end.
func (w *worker) prefix(f *folder) string {
	if f.rel == "" {
		return w.ignoring.path
	}
	return w.ignoring.path + f.rel + "/"
}

// share gives away the older half of the stack, which holds the largest folders.
func (w *worker) share() {
	half := (len(w.stack) + 1) / 2
	w.give(w.stack[:half])
	w.stack = append(w.stack[:0], w.stack[half:]...)
}

// skipUnreadable counts a folder that cannot be read or no longer exists, and returns nil; it returns any
// other error.
func (w *worker) skipUnreadable(err error) error {
	for _, harmless := range []error{fs.ErrPermission, fs.ErrNotExist, syscall.ELOOP, syscall.ENOTDIR,
		syscall.ENAMETOOLONG} {
		if errors.Is(err, harmless) {
			w.unreadable.Add(1)
			return nil
		}
	}
	return err
}
