package workspace

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"

	"textskill/skill/internal/workspace/tree"

	"golang.org/x/sync/semaphore"
)

// Locks are advisory. Each is held twice: as a semaphore among the goroutines of this
// Workspace, which is first come, first served, and as a flock on the folder's
// descriptor against other processes. So that no two changes wait for each other, all
// take them in one order: the roots, then the folders, each by device and inode.
//
// A change locks the roots shared and the folder that it is made in exclusively, so that
// changes in different folders run at the same time. Operations on whole trees, and
// those that make folders on the way, lock the roots exclusively.

// A lockTable holds a semaphore for each folder that is locked or waited for. The
// zero table is empty.
type lockTable struct {
	mu   sync.Mutex
	byID map[FileID]*lockEntry
}

type lockEntry struct {
	sem   *semaphore.Weighted
	users int
}

// exclusiveWeight is the weight of an exclusive lock; that of a shared one is 1.
const exclusiveWeight = 1 << 30

func (t *lockTable) acquire(ctx context.Context, id FileID, weight int64) error {
	t.mu.Lock()
	if t.byID == nil {
		t.byID = map[FileID]*lockEntry{}
	}
	e := t.byID[id]
	if e == nil {
		e = &lockEntry{sem: semaphore.NewWeighted(exclusiveWeight)}
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

// heldLocks is a set of locks, and the folders that are open for them.
type heldLocks struct {
	table   *lockTable
	locks   []heldLock
	folders []tree.Folder
}

type heldLock struct {
	id     FileID
	weight int64
}

// release closes the folders, which ends their flocks, and releases the semaphores.
func (h *heldLocks) release() {
	for _, f := range slices.Backward(h.folders) {
		f.Close()
	}
	for _, l := range slices.Backward(h.locks) {
		h.table.release(l.id, l.weight)
	}
	h.folders, h.locks = nil, nil
}

// errBusy means that a lock could not be taken while others were held. A process that
// has opened other folders as its roots takes the locks in another order, and may wait
// for one of ours: so all are released, and taken again.
var errBusy = errors.New("the folder is locked by another process")

// retryBusy calls try until it returns another error than errBusy, or none.
func retryBusy(try func() error) error {
	for {
		if err := try(); err != errBusy {
			return err
		}
		time.Sleep(rand.N(10 * time.Millisecond))
	}
}

func (h *heldLocks) lock(ctx context.Context, f tree.Folder, exclusive bool) error {
	weight := int64(1)
	if exclusive {
		weight = exclusiveWeight
	}
	if err := h.table.acquire(ctx, f.ID(), weight); err != nil {
		return err
	}
	h.locks = append(h.locks, heldLock{f.ID(), weight})
	fd, ok := f.FD()
	if !ok { // a folder that cannot be read cannot be locked either
		return nil
	}
	if exclusive || !tree.Waiting(fd) {
		if ok, err := tree.TryLock(fd, exclusive); ok || err != nil {
			return err
		}
	}
	if exclusive {
		tree.SetWaiting(fd, true)
		defer tree.SetWaiting(fd, false)
	}
	return h.await(ctx, fd, exclusive)
}

// await polls for a lock: flock cannot wait for a limited time. Shared locks wait for
// those that want the lock exclusively, but not longer than a second.
func (h *heldLocks) await(ctx context.Context, fd int, exclusive bool) error {
	start := time.Now()
	patience := 2*time.Millisecond + rand.N(8*time.Millisecond)
	for wait := 20 * time.Microsecond; ; wait = min(wait*3/2, 2*time.Millisecond) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
		waited := time.Since(start)
		if exclusive || waited > time.Second || !tree.Waiting(fd) {
			if ok, err := tree.TryLock(fd, exclusive); ok || err != nil {
				return err
			}
		}
		if len(h.locks) > 1 && waited > patience {
			return errBusy
		}
	}
}

// lockRoots locks the roots of the locations: shared, but exclusively if all is set, or
// for a change in the root folder itself, which this then is the lock of.
func (w *Workspace) lockRoots(ctx context.Context, all bool, locations ...location) (*heldLocks, error) {
	h := &heldLocks{table: &w.locks}
	roots, exclusive := map[FileID]*root{}, map[FileID]bool{}
	for _, p := range locations {
		id := p.root.id
		roots[id], exclusive[id] = p.root, exclusive[id] || all || p.parent().isRoot()
	}
	for _, id := range slices.SortedFunc(maps.Keys(roots), byID) {
		f, err := roots[id].tree.OpenFolder(".")
		if err == nil {
			h.folders = append(h.folders, f)
			err = h.lock(ctx, f, exclusive[id])
		}
		if err != nil {
			h.release()
			return nil, err
		}
	}
	return h, nil
}

// lockFolder opens and locks the folder that p is in, unless that is a root, which is
// locked already. h closes the folder. If the folder is removed before it is locked,
// creating a file in it will fail with ENOENT.
func (h *heldLocks) lockFolder(ctx context.Context, p location) (tree.Folder, error) {
	dir := p.parent()
	if i := slices.Index(h.locks, heldLock{dir.root.id, exclusiveWeight}); i >= 0 && dir.isRoot() {
		return h.folders[i], nil
	}
	f, err := dir.root.tree.OpenFolder(dir.rel)
	if err != nil {
		return nil, err
	}
	h.folders = append(h.folders, f)
	if slices.Contains(h.locks, heldLock{f.ID(), exclusiveWeight}) {
		return f, nil
	}
	if slices.Contains(h.locks, heldLock{f.ID(), 1}) {
		return nil, syscall.EDEADLK // a root that is also mounted below another one
	}
	return f, h.lock(ctx, f, true)
}

// lockFolders locks the folders of two locations, in the order of their IDs.
func (h *heldLocks) lockFolders(ctx context.Context, a, b location) (fa, fb tree.Folder, err error) {
	idA, err := a.root.tree.Stat(a.parent().rel)
	if err != nil {
		return nil, nil, err
	}
	idB, err := b.root.tree.Stat(b.parent().rel)
	if err != nil {
		return nil, nil, err
	}
	if byID(idA.ID, idB.ID) > 0 {
		fb, fa, err = h.lockTwo(ctx, b, a)
		return fa, fb, err
	}
	return h.lockTwo(ctx, a, b)
}

func (h *heldLocks) lockTwo(ctx context.Context, a, b location) (fa, fb tree.Folder, err error) {
	if fa, err = h.lockFolder(ctx, a); err != nil {
		return nil, nil, err
	}
	fb, err = h.lockFolder(ctx, b)
	return fa, fb, err
}

func byID(a, b FileID) int {
	return cmp.Or(cmp.Compare(a.Dev, b.Dev), cmp.Compare(a.Ino, b.Ino))
}
