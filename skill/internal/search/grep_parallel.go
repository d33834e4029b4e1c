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
	pages  []byte // of f in memory; nil where that is not possible or of no use
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
	if f, ok := f.(interface{ Fd() uintptr }); ok && len(p.literals.set) > 0 {
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
		if !w.quiet(m, b, k) {
			b.err = b.load(w.f, k)
			if b.err == nil {
				m.search(b)
				b.count()
			}
		}
		w.done <- b
	}
}

// quiet tells whether no literal stands in the lines of the block k, and then counts
// them. It looks at the file's own pages: to copy those takes longer than to search
// them. Where the file was cut short meanwhile, it cannot tell.
func (w *parallel) quiet(m *matcher, b *block, k int64) (quiet bool) {
	if w.pages == nil {
		return false
	}
	defer func() {
		if err := recover(); err != nil {
			if _, fault := err.(interface{ Addr() uintptr }); !fault {
				panic(err)
			}
			quiet = false
		}
	}()
	size := len(w.pages)
	from, next := int(k*blockSize), int(min((k+1)*blockSize, int64(size)))
	end := next
	if next < size {
		i := bytes.IndexByte(w.pages[next-1:min(next+slack, size)], '\n')
		if i < 0 {
			return false
		}
		end += i
	}
	m.begin()
	if m.candidate(w.pages[from:end], 0) != none {
		return false
	}
	b.k, b.lines, b.cut, b.err = k, b.lines[:0], false, nil
	b.starts = bytes.Count(w.pages[max(0, from-1):max(0, next-1)], lf)
	if k == 0 {
		b.starts++
	}
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
