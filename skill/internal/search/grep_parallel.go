package search

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"textskill/skill/internal/workspace"
	"textskill/skill/internal/workspace/tree"
)

// parallel is a search of one large file by several goroutines.
type parallel struct {
	p      *Pattern
	f      io.ReaderAt
	pages  []byte // of f in memory; nil where that is not possible
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
	if f, ok := f.(interface{ Fd() uintptr }); ok {
		if pages, unmap, err := tree.Map(f, size); err == nil {
			defer unmap()
			w.pages = pages
		}
	}
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
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
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
		if !w.mapped(m, b, k) {
			b.err = b.load(w.f, k)
			if b.err == nil {
				m.search(b)
				b.count()
			}
		}
		w.done <- b
	}
}

// mapped searches the block k in the file's own pages and copies the lines that match:
// to read a block takes about as long as to search it. It is not ok for the last block,
// where the line that ends a block is long, and where the file was cut short meanwhile.
func (w *parallel) mapped(m *matcher, b *block, k int64) (ok bool) {
	from, next := int(k*blockSize), int((k+1)*blockSize)
	if next >= len(w.pages) { // after the end of a file that became shorter its last page has zeros
		return false
	}
	defer func() {
		if recover() != nil { // a fault, or what stood there a moment ago is gone
			ok = false
		}
	}()
	if from > 0 { // the line before is that of another block
		i := bytes.IndexByte(w.pages[from-1:next], '\n')
		if i < 0 {
			return false
		}
		from += i
	}
	i := bytes.IndexByte(w.pages[next-1:min(next+slack, len(w.pages))], '\n')
	if i < 0 {
		return false
	}
	b.k, b.data, b.offset, b.last, b.cut, b.err = k, w.pages[from:next+i], int64(from), false, false, nil
	m.search(b)
	b.count()
	b.own()
	return true
}

// collect puts the blocks in their order, up to one that could not be read.
func (w *parallel) collect(ctx context.Context, cancel context.CancelCauseFunc, emit func([]Line)) (in inFile) {
	waiting := map[int64]*block{}
	before, k := 0, int64(0)
	for b := range w.done {
		if b.err != nil {
			cancel(b.err)
		}
		waiting[b.k] = b
		for b, ok := waiting[k]; ok && b.err == nil; b, ok = waiting[k] {
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
