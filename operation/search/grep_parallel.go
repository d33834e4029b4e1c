package search

import (
	"context"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"textskill/operation/workspace"
)

// parallel is a search of one large file by several goroutines.
type parallel struct {
	p      *Pattern
	f      io.ReaderAt
	blocks int64
	next   atomic.Int64 // block to search
	free   chan *block
	done   chan *block
}

// parallel is [searcher.blocks], shared among as many goroutines as run at once.
func (p *Pattern) parallel(ctx context.Context, f io.ReaderAt, size int64, emit func([]Line)) (inFile, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	workers := runtime.GOMAXPROCS(0)
	room := 2*workers + 2
	w := &parallel{p: p, f: f, blocks: size/blockSize + 1, free: make(chan *block, room), done: make(chan *block, room)}
	for range room {
		w.free <- newBlock()
	}
	var all sync.WaitGroup
	for range workers {
		all.Go(func() { w.work(ctx) })
	}
	go func() {
		all.Wait()
		close(w.done)
	}()
	in := w.collect(ctx, cancel, emit)
	return in, context.Cause(ctx)
}

// work searches blocks until there are no more. Whoever has a free block takes the
// next stretch of the file, so that the one which all others wait for never lacks one.
func (w *parallel) work(ctx context.Context) {
	m := w.p.matcher()
	for {
		var b *block
		select {
		case <-ctx.Done():
			return
		case b = <-w.free:
		}
		k := w.next.Add(1) - 1
		if k >= w.blocks {
			return
		}
		if b.err = b.load(w.f, k); b.err == nil {
			m.search(b)
			b.count()
		}
		w.done <- b
	}
}

// collect puts the blocks in their order.
func (w *parallel) collect(ctx context.Context, cancel context.CancelCauseFunc, emit func([]Line)) (in inFile) {
	waiting := map[int64]*block{}
	before, k := 0, int64(0)
	for b := range w.done {
		if b.err != nil {
			cancel(b.err)
		}
		waiting[b.k] = b
		for b, ok := waiting[k]; ok; b, ok = waiting[k] {
			delete(waiting, k)
			in.add(b, before, emit)
			before += b.starts
			w.free <- b
			if k++; k%64 == 0 {
				workspace.Report(ctx, k*blockSize, w.blocks*blockSize, "")
			}
		}
	}
	return in
}
