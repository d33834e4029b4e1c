package pack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"textskill/skill/internal/workspace/tree"
)

const (
	// pieceSize is the size of all pieces of a file except the last. packSize is the largest
	// size of a pack before compression.
	pieceSize = 512 << 10
	packSize  = 512 << 10

	// smallPack is the size below which a pack is a part of its manifest. A step that changes
	// little then stores one blob, not two.
	smallPack = packSize / 8

	// maxPuts is how many blobs are stored at once.
	maxPuts = 16
)

// A writer stores the blobs of one snapshot. The Folder uses them only after the manifest was
// accepted: until then a Purge may remove them.
type writer struct {
	*Folder
	tree   tree.Tree
	ctx    context.Context
	cancel context.CancelCauseFunc
	sealed sync.WaitGroup // blobs without a sum
	puts   sync.WaitGroup // blobs that are not stored yet
	slots  chan struct{}  // limits puts
	seals  chan struct{}  // limits compressors, which need much memory

	mu      sync.Mutex
	fresh   map[[32]byte]*piece // of this snapshot
	current *pack               // the pack that is being filled
	buf     []byte              // the content of current
	buffers sync.Pool           // of packSize bytes, as *[]byte
}

func newWriter(ctx context.Context, cancel context.CancelCauseFunc, f *Folder, t tree.Tree) *writer {
	return &writer{
		Folder: f, tree: t, ctx: ctx, cancel: cancel, fresh: map[[32]byte]*piece{},
		slots: make(chan struct{}, maxPuts), seals: make(chan struct{}, runtime.GOMAXPROCS(0)),
	}
}

// read reads the files of changes. It returns the changes except files that were added and
// removed again. All full packs have their sums when read returns.
func (w *writer) read(changes []*change) ([]*change, error) {
	var todo []*change
	for _, c := range changes {
		if c.read {
			todo = append(todo, c)
		}
	}
	var next atomic.Int64
	var readers sync.WaitGroup
	for range min(len(todo), 2*runtime.GOMAXPROCS(0)) {
		readers.Go(func() {
			r := reader{writer: w}
			defer r.close()
			for i := next.Add(1); i <= int64(len(todo)) && w.ctx.Err() == nil; i = next.Add(1) {
				if err := r.file(todo[i-1]); err != nil {
					w.cancel(fmt.Errorf("%s: %w", todo[i-1].path, err))
				}
			}
		})
	}
	readers.Wait()
	if len(w.buf) >= smallPack {
		w.flush()
	}
	w.sealed.Wait()
	if err := context.Cause(w.ctx); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(changes, func(c *change) bool { return c.old == nil && c.now == nil }), nil
}

// put stores a blob in the background. It sets sum before w.sealed is done. It calls done when
// the caller may reuse plain.
func (w *writer) put(k kind, plain []byte, sum *string, done func()) {
	select {
	case w.slots <- struct{}{}:
	case <-w.ctx.Done():
		done()
		return
	}
	w.sealed.Add(1)
	w.puts.Go(func() {
		defer func() { <-w.slots }()
		w.seals <- struct{}{}
		data, err := w.seal(k, plain)
		<-w.seals
		hash := sha256.Sum256(data)
		*sum = hex.EncodeToString(hash[:])
		w.sealed.Done()
		done()
		if err == nil {
			err = w.store(w.ctx, k, *sum, data)
		}
		if err != nil {
			w.cancel(err)
		}
	})
}

// stored waits until all blobs are stored.
func (w *writer) stored() error {
	w.puts.Wait()
	return context.Cause(w.ctx)
}

// flush stores the current pack. While readers run, the caller holds w.mu.
func (w *writer) flush() {
	p, buf := w.current, w.buf
	w.current, w.buf = nil, nil
	if p == nil {
		return
	}
	p.size = len(buf)
	w.put(aPack, buf, &p.sum, func() { w.buffers.Put(&buf) })
}

// piece returns the piece with a content. It first looks at the piece of the old file with the
// same index, then at all other pieces. A new piece is added to the current pack.
func (w *writer) piece(content []byte, old *node, index int) *piece {
	sum := sha256.Sum256(content)
	if old != nil && index < len(old.pieces) && w.sameSum(old.pieces[index], sum) &&
		!old.pieces[index].pack.thin {
		return old.pieces[index]
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.fresh[sum]; p != nil {
		return p
	}
	if p := w.pieces[sum]; p != nil && p.pack.live > 0 && !p.pack.thin {
		return p
	}
	if w.current != nil && len(w.buf)+len(content) > packSize {
		w.flush()
	}
	if w.current == nil {
		w.current = &pack{}
		if b, ok := w.buffers.Get().(*[]byte); ok {
			w.buf = (*b)[:0]
		}
	}
	p := &piece{w.current, uint32(len(w.buf)), uint32(len(content)), sum}
	w.buf = append(w.buf, content...)
	w.fresh[sum] = p
	return p
}

// A reader reads files one after another. It keeps the folder of the last file open.
type reader struct {
	*writer
	rel    string      // the path of folder
	folder tree.Folder // nil for none
	buf    []byte
}

func (r *reader) close() {
	if r.folder != nil {
		r.folder.Close()
		r.folder = nil
	}
}

// attempts is how often a reader reads a file that changes meanwhile.
const attempts = 5

// errUnsteady is the error for a file that changed during all attempts.
var errUnsteady = errors.New("it changed during each read; take the snapshot when no program writes to it")

// file reads the file or link of a change.
func (r *reader) file(c *change) error {
	for n := range attempts {
		time.Sleep(time.Duration(n*n) * 5 * time.Millisecond)
		steady, err := r.attempt(c)
		switch {
		case errors.Is(err, fs.ErrNotExist): // just removed
			c.now = nil
			return nil
		case err != nil || steady:
			return err
		}
	}
	return errUnsteady
}

// attempt reads a file or link. It reports whether the file did not change meanwhile.
func (r *reader) attempt(c *change) (steady bool, err error) {
	rel := path.Dir(c.path)
	if r.folder == nil || rel != r.rel {
		r.close()
		if r.folder, err = r.tree.OpenFolder(rel); err != nil {
			r.folder = nil
			return false, err
		}
		r.rel = rel
	}
	begin := time.Now()
	before, err := r.folder.Lstat(c.name)
	if err != nil {
		return false, err
	}
	now := newNode(before)
	switch {
	case before.IsLink():
		now.target, err = r.folder.Readlink(c.name)
	case before.Mode.IsRegular():
		err = r.content(c, now, before.Size)
	default: // replaced by a folder or a special file
		return false, nil
	}
	if err != nil {
		if info, serr := r.folder.Lstat(c.name); serr == nil && stampOf(info) != stampOf(before) {
			return false, nil
		}
		return false, err
	}
	after, err := r.folder.Lstat(c.name)
	if err != nil {
		return false, err
	}
	now.stamp = stampOf(after).markRacy(begin)
	c.now = now
	return stampOf(before) == stampOf(after), nil
}

// content reads a regular file. It fails if the file does not have size bytes.
func (r *reader) content(c *change, now *node, size int64) error {
	f, _, err := r.folder.OpenContent(c.name)
	if err != nil {
		return err
	}
	defer f.Close()
	if isGitConfig(c.path) {
		data, err := f.ReadAll(maxGitConfig)
		if err != nil {
			return fmt.Errorf("this config file of git is too large to remove its credentials: %w", err)
		}
		data = withoutSecrets(data)
		now.size = int64(len(data))
		for part := range slices.Chunk(data, pieceSize) {
			now.pieces = append(now.pieces, r.piece(part, c.old, len(now.pieces)))
		}
		return nil
	}
	if want := int(min(size+1, pieceSize)); cap(r.buf) < want {
		r.buf = make([]byte, want)
	}
	for now.size < size+1 { // one byte more, to notice that the file grows
		part := r.buf[:min(pieceSize, size+1-now.size)]
		n, err := io.ReadFull(f, part)
		if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
			return err
		}
		if now.size += int64(n); n > 0 {
			now.pieces = append(now.pieces, r.piece(part[:n], c.old, len(now.pieces)))
		}
		if n < len(part) {
			break
		}
		if err := context.Cause(r.ctx); err != nil {
			return err
		}
	}
	if now.size != size {
		return errUnsteady
	}
	return nil
}

// maxGitConfig is the largest size of a config file of git, in bytes.
const maxGitConfig = 4 << 20
