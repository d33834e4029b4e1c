package workspace

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"sync"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// A Snapshot is what a workspace held before a program was run in it that changes
// files on its own. Record makes what became different a change in the journal.
//
// Contents are kept in the journal's folder, each once, under a name that tells what
// they are; a table says of each file what it looked like when its content was kept.
// So a file is read again only when the system says that it was touched. What git
// ignores, what is larger than [MaxKept], other file systems and .git are left out.
type Snapshot struct {
	w     *Workspace
	j     *journal
	walk  Walker
	table *table
	lock  tree.Folder // of the contents; nobody removes any while it is held
	alone bool        // no other program was being run
	since int64       // the last change that was recorded before
}

// A Walker calls visit for every name below the workspace's folder, folders before
// what is in them and without .git, from several goroutines that are numbered from 0
// up to [SnapshotWorkers]. What is ignored is visited and not entered; nor is that
// for which visit returns [fs.SkipDir]. Another error ends the walk.
type Walker func(ctx context.Context, visit func(worker int, v Visited) error) error

// Visited is one name that a Walker came to.
type Visited struct {
	Folder  string // relative to the workspace's folder, with slashes; "" for that
	Name    []byte
	Ignored bool
	Stat    func() (Info, error) // of a link itself
}

// SnapshotWorkers is how many goroutines a Walker may have.
const SnapshotWorkers = 64

// MaxKept is the size in bytes up to which the content of a file is kept for a
// snapshot.
const MaxKept = maxDigested

// MaxVisited is how many names a workspace may hold to be covered by a snapshot.
const MaxVisited = 200_000

// ErrTooManyFiles reports a workspace of more names than [MaxVisited].
var ErrTooManyFiles = errors.New("the workspace holds too many files")

// Folders in [StateDir].
const (
	snapshotName = "snapshot" // of the contents and the tables
	stageName    = "stage"    // of what is put together as it was
)

// snapshots are the tables of a journal, one for each folder that was looked at.
type snapshots struct {
	mu     sync.Mutex
	tables map[string]*table
}

// Snapshot finds out what the workspace holds and keeps its contents, as far as they
// fit into limit bytes, the smaller files first. It is nil where nothing is recorded.
// Errors are [ErrTooMany], those of ctx and of the system. Close releases it.
func (w *Workspace) Snapshot(ctx context.Context, limit int64, walk Walker) (*Snapshot, error) {
	top := location{w.roots[0], "."}
	j := w.journal(top.root)
	if j == nil || limit <= 0 || w.checkWritable() != nil || w.opts.DryRun {
		return nil, nil
	}
	dir, err := j.snapshotFolder()
	if err != nil {
		return nil, err
	}
	s := &Snapshot{w: w, j: j, walk: walk, lock: dir}
	if s.alone, err = s.share(j.clearStages); err == nil {
		s.since, err = j.lastID(ctx)
	}
	if err == nil {
		err = s.take(ctx, limit, j.name(top))
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close lets the contents go.
func (s *Snapshot) Close() error { return s.lock.Close() }

// share locks the contents together with others who need them. alone tells whether
// there are none; then it calls first, if that is not nil, before there may be.
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
	for range 100 { // somebody who removes contents is soon done
		if ok, err = tree.TryLock(fd, false); ok || err != nil {
			return alone, err
		}
		time.Sleep(time.Millisecond)
	}
	return false, errBusy
}

// take brings the table up to date, and the contents with it.
func (s *Snapshot) take(ctx context.Context, limit int64, base string) error {
	all := &s.j.snapshots
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
	k := saver{j: s.j, store: s.lock, old: old, table: old.updated(found), begin: found.begin}
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
	c := newScan(old, base, s.j.root.id.Dev)
	if err := s.walk(ctx, c.visit); err != nil {
		return nil, err
	}
	if c.count.Load() > MaxVisited {
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
		if base, ok := tableBase(e.Name); ok && base != indexName(t.base) {
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

// snapshotFolder opens the folder of the contents, and makes it.
func (j *journal) snapshotFolder() (tree.Folder, error) {
	top, err := j.root.tree.OpenFolder(".")
	if err != nil {
		return nil, err
	}
	defer top.Close()
	state, err := subfolder(top, StateDir, true)
	if err != nil {
		return nil, err
	}
	defer state.Close()
	ignoreAll(state)
	return subfolder(state, snapshotName, true)
}

// clearStages removes what killed processes left in the folder of stages.
func (j *journal) clearStages() {
	d, err := j.root.tree.OpenFolder(StateDir + "/" + stageName)
	if err != nil {
		return
	}
	defer d.Close()
	entries, _ := d.Entries()
	for _, e := range entries {
		discard(d, e.Name)
	}
}

// lastID returns the number of the last change that is recorded, 0 if there is none.
func (j *journal) lastID(ctx context.Context) (int64, error) {
	err := j.acquire(ctx, false)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer j.release()
	return j.last.ID, nil
}

// folderOf opens the folder that holds a name of the journal's own root.
func (j *journal) folderOf(name string) (tree.Folder, error) {
	return j.root.tree.OpenFolder(path.Dir(name))
}
