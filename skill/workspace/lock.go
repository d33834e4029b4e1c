package workspace

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// Locks are advisory and held twice: by a semaphore among the goroutines of this
// Workspace, which keeps their order, and by flock on the folder's descriptor
// against everybody else. The order is the same everywhere: roots first, then
// folders by (device, inode).

// lockTable holds a semaphore for each folder that is locked or waited for.
// The zero table is empty.
type lockTable struct {
	mu   sync.Mutex
	byID map[FileID]*lockEntry
}

type lockEntry struct {
	sem   *semaphore.Weighted
	users int
}

// whole is the weight of an exclusive lock; a shared one weighs 1.
const whole = 1 << 30

func (t *lockTable) acquire(ctx context.Context, id FileID, weight int64) error {
	t.mu.Lock()
	if t.byID == nil {
		t.byID = map[FileID]*lockEntry{}
	}
	e := t.byID[id]
	if e == nil {
		e = &lockEntry{sem: semaphore.NewWeighted(whole)}
		t.byID[id] = e
	}
	e.users++
	t.mu.Unlock()
	err := e.sem.Acquire(ctx, weight)
	if err != nil {
		t.leave(id, e)
	}
	return err
}

func (t *lockTable) release(id FileID, weight int64) {
	t.mu.Lock()
	e := t.byID[id]
	t.mu.Unlock()
	e.sem.Release(weight)
	t.leave(id, e)
}

func (t *lockTable) leave(id FileID, e *lockEntry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.users--; e.users == 0 {
		delete(t.byID, id)
	}
}

// held is a set of locks, and the folders that were opened for them.
type held struct {
	table   *lockTable
	locks   []heldLock
	folders []folder
}

type heldLock struct {
	id     FileID
	weight int64
}

// release gives everything back; the descriptors' locks go with them.
func (h *held) release() {
	for _, f := range slices.Backward(h.folders) {
		f.close()
	}
	for _, l := range slices.Backward(h.locks) {
		h.table.release(l.id, l.weight)
	}
	h.folders, h.locks = nil, nil
}

func (h *held) lock(ctx context.Context, f folder, exclusive bool) error {
	weight := int64(1)
	if exclusive {
		weight = whole
	}
	if err := h.table.acquire(ctx, f.id(), weight); err != nil {
		return err
	}
	h.locks = append(h.locks, heldLock{f.id(), weight})
	file := f.handle()
	if file == nil { // a folder that cannot be read cannot be locked either
		return nil
	}
	for wait := 20 * time.Microsecond; ; wait = min(wait*3/2, 2*time.Millisecond) {
		ok, err := tryFlock(file, exclusive)
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// lockRoots locks the roots of the places, shared; exclusive for a change of a
// whole tree and for a change in a root itself, which is then the folder's lock too.
func (w *Workspace) lockRoots(ctx context.Context, tree bool, places ...place) (*held, error) {
	h := &held{table: &w.locks}
	exclusive := map[*root]bool{}
	for _, p := range places {
		exclusive[p.root] = exclusive[p.root] || tree || p.parent().isRoot()
	}
	for _, r := range slices.SortedFunc(maps.Keys(exclusive), func(a, b *root) int { return byID(a.id, b.id) }) {
		f, err := r.tree.folder(".")
		if err == nil {
			h.folders = append(h.folders, f)
			err = h.lock(ctx, f, exclusive[r])
		}
		if err != nil {
			h.release()
			return nil, err
		}
	}
	return h, nil
}

func byID(a, b FileID) int {
	return cmp.Or(cmp.Compare(a.Dev, b.Dev), cmp.Compare(a.Ino, b.Ino))
}
