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

// parallel is a search of one large file by several goroutines. Each goroutine takes the next
// block and hands in its matches.
type parallel struct {
	p      *Pattern
	f      io.ReaderAt
	pages  []byte // f, mapped into memory; nil if that is not possible
	emit   func([]Line)
	blocks int64
	next   atomic.Int64 // the next block to search
	count  atomic.Bool  // a line has matched, so line numbers are needed

	mu      sync.Mutex
	changed sync.Cond
	turn    int64            // the block whose matches are emitted next
	waiting map[int64]*block // searched blocks, by number, that wait for their turn
	free    []*block         // blocks to use again
	before  int              // how many lines begin before the block turn, without those in passed
	passed  [][]byte         // blocks without a match; their lines are counted at the next match
	in      inFile
	err     error
}

// parallel is [searcher.blocks] with GOMAXPROCS goroutines.
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

// ahead is how many searched blocks may wait for their turn.
const ahead = 16

// uncounted is the starts of a block whose lines were not counted.
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

// mapped searches the block k in the mapped pages and copies the matches. This saves the read,
// which takes about as long as the search. It is not ok for the last block, after a long last
// line, or if the file was truncated meanwhile.
func (w *parallel) mapped(m *matcher, b *block, k int64) (ok bool) {
	from, next := int(k*blockSize), int((k+1)*blockSize)
	if next >= len(w.pages) { // the last page of a truncated file ends with zeros
		return false
	}
	defer func() {
		if recover() != nil { // a page fault, or an index that the changed content made invalid
			ok = false
		}
	}()
	if from > 0 { // the block before holds the line that continues here
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
	b.copyMatches()
	return true
}

// handIn stores b, and emits the matches of all blocks whose turn has come. It returns a block to
// use next, nil if the search ended with an error.
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

// take adds the block whose turn it is to the result.
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

// countLines counts the LFs in mapped pages. It stops early if the file was truncated.
func countLines(pages []byte) (n int) {
	defer func() { recover() }() // a page fault: the file was truncated
	for part := range slices.Chunk(pages, 4<<10) {
		n += bytes.Count(part, lf)
	}
	return n
}
