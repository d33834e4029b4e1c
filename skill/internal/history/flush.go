package history

// See doc.go for the order in which writes become durable.

import (
	"errors"
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

func newFlusher() flusher { return flusher{lead: make(chan struct{}, 1), next: newBatch()} }

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
