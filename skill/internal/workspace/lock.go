package workspace

import (
	"cmp"
	"context"
	"slices"
	"time"

	"textskill/skill/internal/history"
	"textskill/skill/internal/workspace/tree"
)

// heldLocks holds the locks of a change and its open folders.
type heldLocks struct {
	held    []heldJournal
	folders []tree.Folder
	flocked []int  // descriptors of folders with a flock
	unlock  func() // unlocks Workspace.solo; nil if it is not locked

	unflocked []tree.Folder // folders whose flock another program holds
}

type heldJournal struct {
	j      *journal
	tx     *history.Tx
	shared bool // tx is the lock of another journal with the same history
}

// release releases the locks. The folders stay open.
func (l *heldLocks) release() {
	for _, fd := range l.flocked {
		tree.Unlock(fd)
	}
	for _, h := range slices.Backward(l.held) {
		if !h.shared {
			h.tx.End()
		}
	}
	if l.unlock != nil {
		l.unlock()
	}
	l.flocked, l.unflocked, l.held, l.unlock = nil, nil, nil, nil
}

// tx returns the lock of a journal, nil if the journal is not locked.
func (l *heldLocks) tx(j *journal) *history.Tx {
	for _, h := range l.held {
		if h.j == j {
			return h.tx
		}
	}
	return nil
}

// lockRoots locks the histories of the locations, always in the same order. If the journal is off and
// the history cannot be opened, it only excludes other changes of this Workspace.
func (w *Workspace) lockRoots(ctx context.Context, locations ...location) (*heldLocks, error) {
	var list []*journal
	for _, p := range locations {
		if j := w.journalOf(p.root); !slices.Contains(list, j) {
			list = append(list, j)
		}
	}
	return w.lockJournals(ctx, list)
}

func (w *Workspace) lockJournals(ctx context.Context, list []*journal) (*heldLocks, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l := &heldLocks{}
	stores := map[*journal]*history.Store{}
	for _, j := range list {
		s, err := j.open()
		if err != nil && !j.off {
			return nil, err
		}
		if err != nil {
			w.solo.Lock()
			l.unlock = w.solo.Unlock
			return l, nil
		}
		stores[j] = s
	}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b *journal) int { return cmp.Compare(stores[a].Path(), stores[b].Path()) })
	for i, j := range list {
		if i > 0 && stores[j].Path() == stores[list[i-1]].Path() {
			l.held = append(l.held, heldJournal{j, l.held[i-1].tx, true})
			continue
		}
		tx, err := stores[j].Lock(ctx)
		if err != nil {
			l.release()
			return nil, err
		}
		l.held = append(l.held, heldJournal{j, tx, false})
	}
	return l, nil
}

// openFolders opens and locks the folders that hold the locations; settle closes them. If a folder is
// removed meanwhile, creating a file in it fails with ENOENT.
func (l *heldLocks) openFolders(locations ...location) ([]tree.Folder, error) {
	first := len(l.folders)
	for _, p := range locations {
		d, err := p.root.tree.OpenFolder(p.parent().rel)
		if err != nil {
			return nil, err
		}
		l.folders = append(l.folders, d)
	}
	l.flockFolders(first)
	return l.folders[first:], nil
}

// flockFolders also locks the folders with flock, against workspaces that share the folders but have
// another history. Any program may hold a flock for ever. So flockFolders gives up after patience, and alone asks
// again. The folders before first are locked already; a second lock of the same folder would deadlock.
func (l *heldLocks) flockFolders(first int) {
	const patience = 300 * time.Millisecond
	before := l.folders[:first]
	folders := slices.SortedFunc(slices.Values(l.folders[first:]),
		func(a, b tree.Folder) int { return byID(a.ID(), b.ID()) })
	folders = slices.DeleteFunc(folders, func(d tree.Folder) bool {
		return slices.ContainsFunc(before, func(b tree.Folder) bool { return b.ID() == d.ID() })
	})
	for _, d := range slices.CompactFunc(folders, func(a, b tree.Folder) bool { return a.ID() == b.ID() }) {
		if fd, ok := d.FD(); ok && !l.flock(context.Background(), fd, patience) {
			l.unflocked = append(l.unflocked, d)
		}
	}
}

// flock reports whether it got the lock of a folder in time.
func (l *heldLocks) flock(ctx context.Context, fd int, patience time.Duration) bool {
	start := time.Now()
	for wait := 20 * time.Microsecond; time.Since(start) < patience && ctx.Err() == nil; wait = min(wait*3/2,
		time.Millisecond) {
		if done, err := tree.TryLock(fd, true); done || err != nil {
			l.flocked = append(l.flocked, fd)
			return true
		}
		time.Sleep(wait)
	}
	return false
}

// alone gets the locks that flockFolders gave up, or fails. Call it before a step that does not look at what it
// replaces: without the lock, two workspaces could replace each other's changes.
func (l *heldLocks) alone(ctx context.Context) error {
	const patience = 10 * time.Second
	for _, d := range l.unflocked {
		if fd, ok := d.FD(); ok && !l.flock(ctx, fd, patience) {
			return history.Busy(ctx, "the folder of the file", fd)
		}
	}
	l.unflocked = nil
	return nil
}

// aloneFor is alone if a new file in d would have the temporary name, which other workspaces use too.
func (l *heldLocks) aloneFor(ctx context.Context, r *root, d tree.Folder) error {
	if r.makesUnnamed(d) {
		return nil
	}
	return l.alone(ctx)
}

func byID(a, b FileID) int {
	return cmp.Or(cmp.Compare(a.Dev, b.Dev), cmp.Compare(a.Ino, b.Ino))
}
