package history

// See doc.go for the order in which writes become durable.

import (
	"errors"
	"slices"
	"sync"

	"textskill/skill/internal/workspace/tree"
)

// A flusher makes many changes durable at a time: the first waiter becomes leader and flushes for
// everyone queued. Later waiters wait for the next flush.
type flusher struct {
	lead chan struct{} // holds one value during a flush
	mu   sync.Mutex
	next *batch
}

// A batch is the work and the result of one flush.
type batch struct {
	folders map[tree.FileID]*flushed
	log     error
	done    chan struct{} // closed after the flush
}

type flushed struct {
	tree.Folder
	err error
}

func newBatch() *batch {
	return &batch{folders: map[tree.FileID]*flushed{}, done: make(chan struct{})}
}

// Flush returns after the log, the names in the folders and the names of blobs are durable. Waiting
// goroutines share one flush. If no names changed, Flush flushes only the log. With NoSync it
// returns at once. An error means that the change is made, but may not survive a power failure.
// Like fsync, Flush cannot be interrupted.
func (s *Store) Flush(folders ...tree.Folder) error {
	if s.o.NoSync {
		return nil
	}
	f := &s.flush
	f.mu.Lock()
	b := f.next
	for _, d := range folders {
		if b.folders[d.ID()] == nil {
			b.folders[d.ID()] = &flushed{Folder: d}
		}
	}
	f.mu.Unlock()
	select {
	case <-b.done:
	case f.lead <- struct{}{}:
		f.mu.Lock()
		first := f.next == b
		if first {
			f.next = newBatch()
		}
		f.mu.Unlock()
		if first {
			b.run(s)
		}
		<-f.lead
	}
	errs := []error{b.log}
	for _, d := range folders {
		errs = append(errs, b.folders[d.ID()].err)
	}
	return errors.Join(errs...)
}

// run flushes the log before the folders, so that no change is on the disk without its op. Then it
// flushes the names of the blobs. One flush after the other is faster than all at the same time: 870 to
// 1,260 changes a second instead of 750 to 840 on ext4.
func (b *batch) run(s *Store) {
	defer close(b.done)
	s.swap.RLock()
	defer s.swap.RUnlock()
	b.log = s.log.flush()
	for _, d := range b.folders {
		d.err = SyncFolder(d)
	}
	if len(b.folders) > 0 { // without folders, no file was moved to the blobs
		b.log = errors.Join(b.log, s.blobs.sync())
	}
}

// SyncFolder makes the names in a folder durable. It skips a folder that it may not read.
func SyncFolder(d tree.Folder) error {
	fd, ok := d.FD()
	if !ok {
		return nil
	}
	return fsync(fd)
}

// fewFiles is the number of files up to which a flush of each waits for less than one of the whole disk, where
// other programs may have written much.
const fewFiles = 8

// settle makes the op of a command durable, with the contents before and after. The op may be nil. all says that
// earlier ops of the command are not durable yet, or that the op is not known.
func (s *Store) settle(op *Op, all bool) error {
	if s.o.NoSync {
		return nil
	}
	var deltas []Delta
	if op != nil {
		deltas = op.Deltas
	}
	fd, ok := s.blobs.FD()
	all = all || len(deltas) > fewFiles || ok && tree.FlushesAll(fd) ||
		slices.ContainsFunc(deltas, func(d Delta) bool {
			return d.Before.Whole || d.After.Whole || d.Before.Kind == Other || d.After.Kind == Other
		})
	if all {
		return errors.Join(tree.Syncfs(s.blobs.Folder), s.Flush())
	}
	var folders []tree.Folder
	for _, d := range deltas {
		err := errors.Join(s.blobs.flushBlob(d.Before.blob()), s.blobs.flushBlob(d.Before.Attributes))
		dir, base, perr := s.parent(d.Path)
		if perr == nil {
			defer dir.Close()
			folders = append(folders, dir)
			if d.After.Kind == File {
				err = errors.Join(err, flushFile(dir, base))
			}
		}
		if err != nil {
			return err
		}
	}
	if len(folders) == 0 && len(deltas) > 0 {
		return errors.Join(s.Flush(), s.blobs.sync())
	}
	return s.Flush(folders...)
}

// flushFile makes the content of a file durable. It skips a file that is gone or that it may not read.
func flushFile(dir tree.Folder, name string) error {
	if name == "" {
		return nil
	}
	f, _, err := tree.RegularFile(dir.OpenFile(name, readFlags, 0))
	if err != nil {
		return nil
	}
	defer f.Close()
	return tree.Cause(tree.Datasync(f))
}
