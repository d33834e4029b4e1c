package workspace

import (
	"cmp"
	"context"
	"slices"
	"time"

	"textskill/skill/internal/state"
	"textskill/skill/internal/workspace/tree"
)

// Locks are those of the store: see package state. A change locks the roots shared and the
// folder that it is made in alone, so that changes in different folders run at the same
// time. Operations on whole trees, and those that make folders on the way, lock the roots
// alone.

// heldLocks is a set of locks, and the folders that are open for them.
type heldLocks struct {
	stores  []rootLock
	alone   bool
	folders []tree.Folder
	shut    []int // descriptors of folders with a flock
	free    func()
}

type rootLock struct {
	store *state.Store
	lock  *state.Lock
}

// release gives the locks back. The folders stay open.
func (l *heldLocks) release() {
	for _, fd := range l.shut {
		tree.Unlock(fd)
	}
	for _, r := range slices.Backward(l.stores) {
		r.lock.Release()
	}
	if l.free != nil {
		l.free()
	}
	l.shut, l.stores, l.free = nil, nil, nil
}

// lockRoots locks the roots of the locations. Without a journal, where the store cannot
// be opened either, changes of this Workspace alone are kept apart.
func (w *Workspace) lockRoots(ctx context.Context, alone bool, locations ...location) (*heldLocks, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l := &heldLocks{alone: alone}
	var stores []*state.Store
	for _, p := range locations {
		h := w.history(p.root)
		s, err := h.open()
		if err != nil && !h.off {
			return nil, err
		}
		if err != nil {
			w.solo.Lock()
			l.alone, l.free = true, w.solo.Unlock
			return l, nil
		}
		stores = append(stores, s)
	}
	slices.SortFunc(stores, func(a, b *state.Store) int {
		return cmp.Or(cmp.Compare(a.Place().Path, b.Place().Path), cmp.Compare(a.Place().Key, b.Place().Key))
	})
	for _, s := range slices.CompactFunc(stores, func(a, b *state.Store) bool { return a.Path() == b.Path() }) {
		lock, err := s.Lock(ctx, alone)
		if err != nil {
			l.release()
			return nil, err
		}
		l.stores = append(l.stores, rootLock{s, lock})
	}
	return l, nil
}

// lockFolders opens and locks the folders that the locations are in; settle closes them. If
// a folder is removed before it is locked, creating a file in it will fail with ENOENT.
func (l *heldLocks) lockFolders(ctx context.Context, w *Workspace, locations ...location) ([]tree.Folder, error) {
	ids := map[string][]FileID{} // by the path of the place
	first := len(l.folders)
	for _, p := range locations {
		d, err := p.root.tree.OpenFolder(p.parent().rel)
		if err != nil {
			return nil, err
		}
		l.folders = append(l.folders, d)
		if l.alone {
			continue
		}
		s, err := w.history(p.root).open()
		if err != nil {
			return nil, err
		}
		ids[s.Place().Path] = append(ids[s.Place().Path], d.ID())
	}
	for _, r := range l.stores {
		at := r.store.Place().Path
		if err := r.lock.Folders(ctx, ids[at]...); err != nil {
			return nil, err
		}
		delete(ids, at)
	}
	l.shutOut(first)
	return l.folders[first:], nil
}

// shutOut locks the folders also with flock, against those who change them as part of
// another workspace, which has another store. Anybody may hold such a lock for as long as
// he likes: so it is not waited for longer than a change takes. The folders before first
// have been: a second lock of the same one would wait for ourselves.
func (l *heldLocks) shutOut(first int) {
	const patience = 300 * time.Millisecond
	before := l.folders[:first]
	folders := slices.SortedFunc(slices.Values(l.folders[first:]), func(a, b tree.Folder) int { return byID(a.ID(), b.ID()) })
	folders = slices.DeleteFunc(folders, func(d tree.Folder) bool {
		return slices.ContainsFunc(before, func(b tree.Folder) bool { return b.ID() == d.ID() })
	})
	for _, d := range slices.CompactFunc(folders, func(a, b tree.Folder) bool { return a.ID() == b.ID() }) {
		fd, ok := d.FD()
		start := time.Now()
		for wait := 20 * time.Microsecond; ok && time.Since(start) < patience; wait = min(wait*3/2, time.Millisecond) {
			if done, err := tree.TryLock(fd, true); done || err != nil {
				l.shut = append(l.shut, fd)
				break
			}
			time.Sleep(wait)
		}
	}
}

func byID(a, b FileID) int {
	return cmp.Or(cmp.Compare(a.Dev, b.Dev), cmp.Compare(a.Ino, b.Ino))
}
