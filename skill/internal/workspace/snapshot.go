package workspace

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"time"

	"textskill/skill/internal/state"
	"textskill/skill/internal/workspace/tree"
)

// A Snapshot is what a workspace holds before a program is run in it. Record compares it
// with what the workspace holds after that, and records the differences as a change.
//
// Each content is saved once, in the store, under its digest. A table has the
// metadata that each file had when its content was saved, so that a file is read again
// only if its metadata has changed. What git ignores, files larger than [MaxKept], other
// file systems and the content of .git folders are left out.
type Snapshot struct {
	w     *Workspace
	h     *history
	walk  Walker
	table *table
	lock  tree.Folder // of the contents; while it is locked, nobody removes any
	alone bool        // no other program was running
	since int64       // ID of the last change before it
	began time.Time   // when it was begun
}

// A Walker calls visit for every name below the workspace's folder, folders before what is in
// them, from several goroutines, which are numbered from 0 up to [SnapshotWorkers]. It may
// leave out what is in .git folders, and does not enter ignored folders, nor those for which
// visit returns [fs.SkipDir]. Another error ends the walk.
type Walker func(ctx context.Context, visit func(worker int, v Visited) error) error

// Visited is one name that a Walker visits.
type Visited struct {
	Folder  string // relative to the workspace's folder, with slashes; "" for that itself
	Name    []byte
	Ignored bool
	File    Statter
}

// A Statter describes a file, a link itself.
type Statter interface{ Stat() (Info, error) }

// SnapshotWorkers is the largest number of goroutines of a Walker.
const SnapshotWorkers = 64

// MaxKept is the size in bytes up to which a snapshot saves a file.
const MaxKept = 16 << 20

// MaxVisited is the largest number of names of which a snapshot is made.
const MaxVisited = 200_000

// ErrTooManyFiles reports a workspace of more names than [MaxVisited].
var ErrTooManyFiles = errors.New("the workspace holds too many files")

// stageName is the folder of the store in which files and folders are restored.
const stageName = "stage"

// snapshots are the tables of a journal, one for each folder of which snapshots are made.
type snapshots struct {
	mu     sync.Mutex
	tables map[string]*table
}

// Snapshot saves the contents of the files of the workspace, as far as they fit into limit
// bytes, the smaller files first. It returns nil if nothing is recorded. Errors are
// [ErrTooManyFiles], those of ctx and of the system. Close releases the snapshot.
func (w *Workspace) Snapshot(ctx context.Context, limit int64, walk Walker) (*Snapshot, error) {
	h := w.recording()
	if h == nil || limit <= 0 {
		return nil, nil
	}
	w.recordKilled(ctx)
	dir, err := h.folder(state.Snapshot)
	if err != nil {
		return nil, err
	}
	dir.tree.Close()
	s := &Snapshot{w: w, h: h, walk: walk, lock: dir.top}
	if s.alone, err = s.share(h.clearStages); err == nil {
		s.since, err = s.settled(ctx)
	}
	if err == nil {
		err = s.take(ctx, limit, string(h.name(location{w.roots[0], "."})))
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	s.began = time.Now() // what this walk saw another command change, that one had begun to change before
	return s, nil
}

// settled returns the ID of the last change, once those under way are made: their records are there before
// that, and what they do after the walk would count as the program's.
func (s *Snapshot) settled(ctx context.Context) (int64, error) {
	waiting, cancel := context.WithTimeout(ctx, time.Second) // a change that takes longer is not waited for
	defer cancel()
	if l, err := s.w.lockAll(waiting); err == nil {
		defer l.release()
	}
	return s.h.lastID(ctx)
}

// recording returns the history in which is recorded what programs change, nil if that is not.
func (w *Workspace) recording() *history {
	if w.checkWritable() != nil || w.opts.DryRun {
		return nil
	}
	return w.journal(w.roots[0])
}

// Close releases the saved contents.
func (s *Snapshot) Close() error { return s.lock.Close() }

// share takes a shared lock of the contents. alone reports whether nobody else has one;
// then share calls first, unless it is nil, before anybody else may.
func (s *Snapshot) share(first func()) (alone bool, err error) {
	fd, ok := s.lock.FD()
	if !ok {
		return false, fs.ErrPermission
	}
	if alone, err = tree.TryLock(fd, true); err != nil {
		return false, err
	}
	if alone && first != nil {
		first()
	}
	for range 100 { // to remove contents takes only a moment
		if ok, err = tree.TryLock(fd, false); ok || err != nil {
			return alone, err
		}
		time.Sleep(time.Millisecond)
	}
	return false, errors.New("the snapshots are in use by another process")
}

// take brings the table and the saved contents up to date.
func (s *Snapshot) take(ctx context.Context, limit int64, base string) error {
	all := &s.h.snapshots
	all.mu.Lock()
	defer all.mu.Unlock()
	old := all.tables[base]
	if old == nil {
		old = readTable(s.lock, base)
	}
	found, err := s.scan(ctx, old, base)
	if err != nil {
		return err
	}
	k := saver{h: s.h, store: s.lock, old: old, table: old.updated(found), begin: found.begin}
	err = k.save(ctx, limit)
	t := k.table
	if t != old {
		if s.alone && t.diskSize()+t.stale > limit {
			s.removeUnused(t)
		}
		t.write(s.lock)
	}
	if all.tables == nil {
		all.tables = map[string]*table{}
	}
	all.tables[base], s.table = t, t
	return err
}

// scan compares the workspace with a table.
func (s *Snapshot) scan(ctx context.Context, old *table, base string) (*scan, error) {
	c := newScan(old, base, s.h.root.id.Dev)
	if err := s.walk(ctx, c.visit); err != nil {
		return nil, err
	}
	if c.tooMany() {
		return nil, ErrTooManyFiles
	}
	return c, nil
}

// removeUnused removes contents that no table needs.
func (s *Snapshot) removeUnused(t *table) {
	if fd, ok := s.lock.FD(); !ok {
		return
	} else if ok, err := tree.TryLock(fd, true); !ok || err != nil {
		s.share(nil)
		return
	}
	needed := map[string]bool{}
	entries, _ := s.lock.Entries()
	for _, e := range entries {
		if isTable(e.Name) && e.Name != indexName(t.base) {
			readNamed(s.lock, e.Name, "").addNeeded(needed)
			needed[e.Name] = true
		}
	}
	t.addNeeded(needed)
	for _, e := range entries {
		if !needed[e.Name] {
			discard(s.lock, e.Name)
		}
	}
	t.stale = 0
	s.share(nil)
}

// RecordUnknown records that a program called command was run, and why it is not known what it
// changed.
func (w *Workspace) RecordUnknown(ctx context.Context, command, why string) error {
	if w.recording() == nil {
		return nil
	}
	c := Change{Kind: Run, Path: w.Dir()}
	err := w.commitUnkept(ctx, &c, state.Record{Command: command, Note: why})
	return cmp.Or(err, w.settle(&c, nil))
}

// commitUnkept records a command of whose changes nothing was kept. One that says what the last
// record says is left out: the same command in a loop would push changes out of the history.
func (w *Workspace) commitUnkept(ctx context.Context, c *Change, r state.Record) error {
	for last, err := range w.journal(w.roots[0]).changes(ctx, false) {
		if err != nil {
			return err
		}
		if last.unkept() && last.saysAsMuchAs(r, runOf(ctx)) {
			return nil
		}
		break
	}
	return w.commit(ctx, c, plan{root: w.roots[0], Record: r, end: true}, func(*keeper) error { return nil })
}

// saysAsMuchAs reports whether the record of a command of whose changes nothing was kept says
// all that the one which is planned would.
func (c *change) saysAsMuchAs(r state.Record, by RunStep) bool {
	said := c.Record()
	return c.applied() && said.Command == r.Command && said.Note == r.Note && said.Left == r.Left && said.Run == by.Run && said.RunStep == by.Step &&
		slices.EqualFunc(said.Steps, r.Steps, func(a, b state.Step) bool { return a.Path == b.Path })
}

// clearStages removes what killed processes left in the folder of stages.
func (h *history) clearStages() {
	d, err := h.folder(stageName)
	if err != nil {
		return
	}
	defer d.close()
	entries, _ := d.top.Entries()
	for _, e := range entries {
		discard(d.top, e.Name)
	}
}
