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

// WalkOptions say what a walk leaves out. The zero WalkOptions leave out .git.
type WalkOptions struct {
	Git     bool // .git is visited too
	Ignore  bool // what git ignores is not visited
	Marked  bool // with Ignore: it is visited all the same, marked, and not entered
	Workers int  // how many goroutines visit at the same time; 0 means Workers()

	// whether to read on in a folder of that depth, asked for each block of it; nil is always
	Enter func(depth int) bool
}

// Walked counts what a walk came across.
type Walked struct {
	Unreadable int // folders that were skipped because they could not be read
	Ignored    int // names that were not visited, because git ignores them
	Git        int // names .git that were not visited
}

// Workers returns how many goroutines a walk has that was not told how many. More
// than there are processors hide the time that a disk takes.
func Workers() int { return max(4, runtime.GOMAXPROCS(0)) }

// Walk calls visit for every name below the folder dir, in no order, folders
// before what is in them. Links are visited and never followed, dir itself
// excepted; what the workspace denies is not visited, nor are the records of runs
// unless dir is in them. Folders that cannot be read are passed over.
//
// Ignored is what git does not track and the .gitignore files say from the top of the
// repository down, its .git/info/exclude and the user's core.excludesFile. The top may be
// above the workspace, if it has the same owner and does not ignore the workspace. A
// repository in the walk goes by its own rules alone. Outside of repositories .gitignore
// files count from the workspace's folder down.
//
// visit is called by several goroutines at a time, each with a number from
// 0 up to the options' Workers. It returns nil to go on, [fs.SkipDir] not to enter
// what it is called for, [fs.SkipAll] to end the walk, and any other error to
// end it with that. The Entry is good until it returns.
//
// It returns the errors of visit and ctx, and of dir as in [workspace.Workspace.OpenDir].
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
	top.users.Store(2) // the walk itself holds it until the end
	if o.Ignore {
		k.ignoring, top.scope = newIgnoring(w, base)
	}
	k.shared, k.running = []*folder{top}, 1
	(&worker{walk: k}).run()
	k.all.Wait()
	for _, f := range k.shared {
		k.leave(f)
	}
	workspace.Report(ctx, k.folders.Load(), 0, base.Path())
	base.Close()
	if k.err == fs.SkipAll {
		k.err = nil
	}
	return Walked{int(k.unreadable.Load()), int(k.ignored.Load()), int(k.git.Load())}, k.err
}

// An Entry is one name that a walk came across.
type Entry struct {
	Name  []byte
	Type  fs.FileMode // the type bits only; of a link itself
	Depth int         // 1 for what is in the folder that the walk started at

	Ignored bool // by git; only where such are visited

	in *folder
}

// Folder returns the name of the folder that holds the entry, relative to where
// the walk started, with slashes: "" for that folder itself.
func (e *Entry) Folder() string { return e.in.rel }

// Path returns the entry's name relative to where the walk started, with slashes.
func (e *Entry) Path() string { return e.in.child(e.Name) }

// AppendPath appends Path to buf.
func (e *Entry) AppendPath(buf []byte) []byte {
	if e.in.rel != "" {
		buf = append(append(buf, e.in.rel...), '/')
	}
	return append(buf, e.Name...)
}

// Head reads the beginning of the entry if it is a regular file, as [workspace.Dir.Head]. It
// may be called only while the entry is good; the file may outlive it.
func (e *Entry) Head(buf []byte) (n int, rest *workspace.File, err error) {
	return e.in.dir.Head(e.Name, buf)
}

// Stat describes the entry, a link itself. It may be called only while the entry is
// good.
func (e *Entry) Stat() (workspace.Info, error) { return e.in.dir.Stat(e.Name) }

// folder is one that is to be read or being read.
type folder struct {
	rel   string // relative to the base; "" for that
	depth int    // 0 for the base
	// to open it in; nil once that is done, or where it is opened by its name from the base
	above *folder
	dir   *workspace.Dir // nil until it is opened
	begun bool           // a block of it was read
	scope scope          // for what is in it; before it is read, of the folder above
	// who still needs dir: who visits a block of it, who is to read on, the folders to open in it
	users atomic.Int32
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
	records string // folder in which the records of runs are

	ignoring *ignoring // nil unless that is asked for

	folders, unreadable, ignored, git atomic.Int64

	opened atomic.Int32 // folders that are open, but for the base
	hungry atomic.Int32 // workers that wait for folders
	ended  atomic.Bool

	all     sync.WaitGroup // of the workers but the first one
	mu      sync.Mutex
	changed sync.Cond
	running int // workers that were started
	shared  []*folder
	err     error
}

// alone is how many blocks the first worker reads before it starts the others: a small tree is
// read before they would have begun.
const alone = 3

// startOthers starts all workers but the first one.
func (k *walk) startOthers() {
	k.mu.Lock()
	k.running = k.workers
	k.mu.Unlock()
	for id := 1; id < k.workers; id++ {
		k.all.Go(func() { (&worker{walk: k, id: id}).run() })
	}
}

// keptOpen is how many folders may be open for another one to stay open for those in
// it. Beyond, folders are opened by their names from the base.
const keptOpen = 64

// in returns the folder of that name in f, to be opened.
func (k *walk) in(f *folder, name []byte) *folder {
	sub := &folder{rel: f.child(name), depth: f.depth + 1, scope: f.scope}
	if k.opened.Load() < keptOpen {
		f.users.Add(1)
		sub.above = f
	}
	return sub
}

// open opens the folder. Then one holds it open, unless that failed.
func (k *walk) open(f *folder) (err error) {
	if above := f.above; above == nil {
		f.dir, err = k.base.OpenDir(f.rel)
	} else {
		f.dir, err = above.dir.OpenDir(f.rel[strings.LastIndexByte(f.rel, '/')+1:])
		f.above = nil
		k.leave(above)
	}
	if err == nil {
		k.opened.Add(1)
		f.users.Store(1)
	}
	return err
}

// leave closes the folder when nobody needs it any more.
func (k *walk) leave(f *folder) {
	if f.above != nil {
		k.leave(f.above)
		f.above = nil
		return
	}
	if f.dir != nil && f.users.Add(-1) == 0 {
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

// take waits for a folder that others gave away. It ends once all wait.
func (k *walk) take() *folder {
	k.mu.Lock()
	defer k.mu.Unlock()
	if int(k.hungry.Add(1)) == k.running && len(k.shared) == 0 {
		k.ended.Store(true)
		k.changed.Broadcast()
	}
	for len(k.shared) == 0 && !k.ended.Load() {
		k.changed.Wait()
	}
	if k.ended.Load() {
		return nil
	}
	k.hungry.Add(-1)
	n := len(k.shared) - 1
	f := k.shared[n]
	k.shared = k.shared[:n]
	return f
}

// give hands folders to those who wait.
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

// worker reads folders, the last one found first: so few are kept.
type worker struct {
	*walk
	id    int
	stack []*folder
	block workspace.Block
	entry Entry
	path  []byte // of a name below the root, for the rules
}

func (w *worker) run() {
	for read := 0; !w.ended.Load(); read++ {
		if w.id == 0 && read == alone {
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
		w.leave(f)
	}
}

// read visits a block of a folder. The rest goes on the stack first, for
// another worker to take.
func (w *worker) read(f *folder) error {
	if err := w.ctx.Err(); err != nil {
		w.leave(f)
		return err
	}
	if w.options.Enter != nil && !w.options.Enter(f.depth) {
		w.leave(f)
		return nil
	}
	if f.dir == nil {
		if err := w.open(f); err != nil {
			return w.passOver(err)
		}
	}
	defer w.leave(f)
	more, err := f.dir.Read(&w.block)
	if err != nil {
		return w.passOver(err)
	}
	if w.ignoring != nil && !f.begun {
		f.scope = w.scopeIn(f, more)
	}
	f.begun = true
	if more {
		f.users.Add(1)
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
			sub := w.in(f, name.Bytes)
			sub.scope.ignored = byRule
			w.stack = append(w.stack, sub)
		case err != nil && err != fs.SkipDir:
			return err
		}
		if w.hungry.Load() > 0 && len(w.stack) > 0 {
			w.share()
		}
	}
	return nil
}

// scopeIn returns what decides for the entries of a folder whose block is the
// first. Where there are more names, a file of rules may be among them.
func (w *worker) scopeIn(f *folder, more bool) scope {
	repository, own := false, more
	for _, name := range w.block.Names {
		switch string(name.Bytes) {
		case ".git":
			repository = true
		case ".gitignore":
			own = true
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
	if own {
		s.rules = s.rules.under(readIgnoreFile(f.dir), len(prefix))
	}
	return s
}

// prefix returns what the paths of the names in a folder begin with.
func (w *worker) prefix(f *folder) string {
	if f.rel == "" {
		return w.ignoring.path
	}
	return w.ignoring.path + f.rel + "/"
}

// share gives the older half of the stack away: those folders hold the most.
func (w *worker) share() {
	half := (len(w.stack) + 1) / 2
	w.give(w.stack[:half])
	w.stack = append(w.stack[:0], w.stack[half:]...)
}

// passOver lets a walk go on after a folder that it may not read, or that is not
// there any more.
func (w *worker) passOver(err error) error {
	for _, harmless := range []error{fs.ErrPermission, fs.ErrNotExist, syscall.ELOOP, syscall.ENOTDIR,
		syscall.ENAMETOOLONG} {
		if errors.Is(err, harmless) {
			w.unreadable.Add(1)
			return nil
		}
	}
	return err
}
