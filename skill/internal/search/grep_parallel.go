package search

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"textskill/skill/internal/workspace"
	"textskill/skill/internal/workspace/tree"
)

// parallel is a search of one large file by several goroutines. Each takes one block
// after the other and hands in its lines.
type parallel struct {
	p      *Pattern
	f      io.ReaderAt
	pages  []byte // of f in memory; nil where that is not possible
	emit   func([]Line)
	blocks int64
	next   atomic.Int64 // block to search
	count  atomic.Bool  // a line matched, so line ends are worth counting

	mu      sync.Mutex
	changed sync.Cond
	turn    int64            // the block whose lines are emitted next
	waiting map[int64]*block // those that were searched before it was their turn
	free    []*block         // to be used again
	before  int              // lines that begin before it, except passed
	passed  [][]byte         // pages without a matching line, to be counted once one matches
	in      inFile
	err     error
}

// parallel is [searcher.blocks], shared among as many goroutines as run at once.
func (p *Pattern) parallel(ctx context.Context, f io.ReaderAt, size int64,
	emit func([]Line)) (inFile, error) {
	w := &parallel{p: p, f: f, emit: emit, blocks: size/blockSize + 1, waiting: map[int64]*block{}}
	w.changed.L = &w.mu
	if f, ok := f.(interface{ Fd() uintptr }); ok {
		if pages, unmap, err := tree.Map(f, size); err == nil {
			defer unmap()
			w.pages = pages
		}
	}
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() { w.work(ctx) })
	}
	all.Wait()
	return w.in, w.err
}

// ahead is how many blocks may wait for the one whose turn it is.
const ahead = 16

// uncounted is in place of the number of lines of a block.
const uncounted = -1

// work searches blocks until there are no more.
func (w *parallel) work(ctx context.Context) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	m := w.p.matcher()
	b := &block{}
	for b != nil {
		k := w.next.Add(1) - 1
		if k >= w.blocks {
			return
		}
		if !w.mapped(m, b, k) {
			if b.err = b.load(w.f, k); b.err == nil {
				m.search(b)
				b.count()
			}
		}
		if len(b.lines) > 0 {
			w.count.Store(true)
		}
		b = w.handIn(ctx, b)
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
	i := bytes.IndexByte(w.pages[next-1:min(next+blockSize, len(w.pages))], '\n')
	if i < 0 {
		return false
	}
	b.k, b.data, b.offset, b.last, b.cut, b.err = k, w.pages[from:next+i], int64(from), false, false, nil
	m.search(b)
	if len(b.lines) == 0 && !w.count.Load() {
		b.starts = uncounted
		return true
	}
	b.count()
	b.own()
	return true
}

// handIn emits the lines of b and of those that waited for it, if it is its turn. It returns
// a block to search next, nil if the search is over.
func (w *parallel) handIn(ctx context.Context, b *block) *block {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting[b.k] = b
	for b := w.waiting[w.turn]; b != nil && w.err == nil; b = w.waiting[w.turn] {
		delete(w.waiting, w.turn)
		if w.err = cmp.Or(b.err, context.Cause(ctx)); w.err == nil {
			w.take(b)
			w.free = append(w.free, b)
		}
		if w.turn++; w.turn%64 == 0 {
			workspace.Report(ctx, w.turn*blockSize, w.blocks*blockSize, "")
		}
		w.changed.Broadcast()
	}
	for w.err == nil && len(w.waiting) >= ahead {
		w.changed.Wait()
	}
	switch n := len(w.free) - 1; {
	case w.err != nil:
		return nil
	case n < 0:
		return &block{}
	default:
		b, w.free = w.free[n], w.free[:n]
		return b
	}
}

// take adds the next block.
func (w *parallel) take(b *block) {
	if b.starts == uncounted {
		w.passed = append(w.passed, b.data)
		return
	}
	if len(b.lines) > 0 {
		for _, data := range w.passed {
			w.before += countLines(data)
		}
		w.passed = nil
	}
	w.in.add(b, w.before, w.emit)
	w.before += b.starts
}

// countLines counts the LFs of pages, as far as they are still there.
func countLines(pages []byte) (n int) {
	defer func() { recover() }() // a fault: the file was cut short
	for part := range slices.Chunk(pages, 4<<10) {
		n += bytes.Count(part, lf)
	}
	return n
}
