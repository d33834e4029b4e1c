package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	begun string      // name of the file that says which program runs; "" for none
}

// A Walker calls visit for every name below the workspace's folder, folders before what is in
// them, from several goroutines, which are numbered from 0 up to [SnapshotWorkers]. It may
// leave out what is in .git folders, and does not enter ignored folders, nor those for which visit returns
// [fs.SkipDir]. Another error ends the walk.
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

// Folders of the store.
const (
	stageName   = "stage"   // in which files and folders are restored
	runningName = "running" // with a file for each program that runs, which holds its name
)

// snapshots are the tables of a journal, one for each folder of which snapshots are made.
type snapshots struct {
	mu     sync.Mutex
	tables map[string]*table
}

// Snapshot saves the contents of the files of the workspace, as far as they fit into limit
// bytes, the smaller files first. It returns nil if nothing is recorded. Errors are
// [ErrTooManyFiles], those of ctx and of the system. Close releases the snapshot.
func (w *Workspace) Snapshot(ctx context.Context, limit int64, walk Walker) (*Snapshot, error) {
	if limit <= 0 {
		return nil, nil
	}
	s, err := w.openSnapshot(ctx)
	if s == nil || err != nil {
		return nil, err
	}
	s.walk = walk
	if s.since, err = s.h.lastID(ctx); err == nil {
		err = s.take(ctx, limit, string(s.h.name(location{w.roots[0], "."})))
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// openSnapshot locks the saved contents. If no program is running, it removes what killed
// processes left, and records which programs they ran: it is not known what those changed.
// It returns nil if nothing is recorded.
func (w *Workspace) openSnapshot(ctx context.Context) (*Snapshot, error) {
	h := w.journal(w.roots[0])
	if h == nil || w.checkWritable() != nil || w.opts.DryRun {
		return nil, nil
	}
	dir, err := h.folder(state.Snapshot)
	if err != nil {
		return nil, err
	}
	dir.tree.Close()
	s := &Snapshot{w: w, h: h, lock: dir.top}
	var killed []string
	s.alone, err = s.share(func() {
		h.discardIn(stageName, h.namesIn(stageName)...)
		killed = h.namesIn(runningName)
	})
	for _, name := range killed {
		if err == nil {
			err = s.recordKilled(ctx, name)
		}
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Begin notes which program is about to run, until Close, for the case that this process is
// killed meanwhile. On a full disk that may fail, which is no reason to run nothing.
func (s *Snapshot) Begin(command string) {
	d, err := s.h.folder(runningName)
	if err != nil {
		return
	}
	defer d.close()
	name := fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano())
	f, err := d.top.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	s.begun = name
	f.WriteString(command)
}

// recordKilled records the program that a file of [Snapshot.Begin] tells of.
func (s *Snapshot) recordKilled(ctx context.Context, name string) error {
	d, err := s.h.folder(runningName)
	if err != nil {
		return err
	}
	defer d.close()
	const maxCommand = 1 << 20
	command, err := readOwn(d.top, name, maxCommand)
	if errors.Is(err, fs.ErrNotExist) { // another process has recorded it
		return nil
	}
	if err == nil {
		ctx = WithRun(WithLabel(ctx, "", ""), RunStep{}) // it was another call
		err = s.w.RecordUnknown(ctx, string(command), "it is not known what the command changed: skill was killed while it ran")
	}
	if err == nil {
		discard(d.top, name)
	}
	return err
}

// Close releases the saved contents.
func (s *Snapshot) Close() error {
	if s.begun != "" {
		s.h.discardIn(runningName, s.begun)
	}
	return s.lock.Close()
}

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
	if w.journal(w.roots[0]) == nil || w.checkWritable() != nil || w.opts.DryRun {
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

// namesIn returns the names in a folder of the store.
func (h *history) namesIn(folder string) (names []string) {
	d, err := h.folder(folder)
	if err != nil {
		return nil
	}
	defer d.close()
	entries, _ := d.top.Entries()
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names
}

// discardIn removes names from a folder of the store.
func (h *history) discardIn(folder string, names ...string) {
	d, err := h.folder(folder)
	if err != nil {
		return
	}
	defer d.close()
	for _, name := range names {
		discard(d.top, name)
	}
}
