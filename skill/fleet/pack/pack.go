// Package pack stores the files of a folder in blobs, and restores them on another machine.
// [Folder.Snapshot] stores changes, and [Restore] writes all files to an empty folder.
//
// It copies files, symbolic links and folders with their names, contents, permissions and
// modification times. Names are bytes, in any encoding. Times are exact to the nanosecond; links
// keep their times on Linux only. It does not copy:
//
//   - sockets, pipes and devices;
//   - the owner, extended attributes, and the setuid, setgid and sticky bits;
//   - hard links, which become separate files, and holes of sparse files, which become zeros;
//   - files that usually hold credentials, and files that [Options].Exclude names. Git's config
//     files are copied without their credentials.
//
// Rules:
//
//  1. A file is cut into pieces of 512 KiB. A pack holds one large piece or several small
//     pieces. Equal pieces are stored once.
//  2. A manifest lists files. It is a delta to earlier manifests, which it names. After 32
//     deltas, or when the deltas are larger than the base, the next manifest lists all files.
//  3. A pack below 64 KiB is a part of its manifest, so that a small step stores one blob.
//  4. A stored file is the content at one moment: a file that changes is read again, up to
//     five times.
//  5. A manifest may be hostile. Restore checks all sums and names, and writes only inside of
//     the folder.
package pack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"textskill/skill/internal/workspace/tree"
)

// Blobs store packs and manifests. The key of a blob is the SHA-256 of its bytes, in
// hexadecimal digits. Blobs are safe for concurrent use. A blob has at most 900 KiB.
type Blobs interface {
	// Put returns after the store has accepted the blob.
	Put(ctx context.Context, sum string, data []byte) error
	Get(ctx context.Context, sum string) ([]byte, error)
}

// Options say which files are stored, and where.
type Options struct {
	Blobs    Blobs
	Key      []byte   // 32 bytes, encrypts the blobs; nil stores them as they are
	Exclude  []string // patterns, as in .gitignore, of further files that are not stored
	MaxBytes int64    // of all files together, at most 8 GiB; 0 means 2 GiB
	MaxFiles int      // includes links and folders; 0 means 200,000
}

// A Folder is a folder whose files are stored in blobs. It is not safe for concurrent use. It
// keeps no file open.
type Folder struct {
	storage
	dir      string
	excluded excluder
	maxBytes int64
	maxFiles int

	root   *node               // the files of the last accepted manifest
	count  int                 // nodes below root
	bytes  int64               // size of all files below root
	pieces map[[32]byte]*piece // of files that are not settled, by the sums of their contents
	seed   maphash.Seed        // of short stamps and sums
	// the packs with pieces of root's files. Two packs are the same blob if a content was removed
	// and came back.
	packs    map[*pack]bool
	chain    []string // the manifests that describe root together, oldest first
	deltas   int      // manifests of chain after the base, which lists all files
	deltaLen int      // size of the deltas
	baseLen  int      // size of the base
	scans    uint32

	owed     []string // changed paths of failed snapshots
	owedWalk bool     // a failed snapshot had walk
}

// Open returns a Folder without stored files.
func Open(o Options, dir string) (*Folder, error) {
	f := &Folder{
		storage: storage{o.Blobs, o.Key}, dir: dir, maxBytes: cmp.Or(o.MaxBytes, 2<<30),
		maxFiles: cmp.Or(o.MaxFiles, 200_000),
		root:     newFolderNode(), seed: maphash.MakeSeed(), pieces: map[[32]byte]*piece{},
		packs: map[*pack]bool{},
	}
	if f.maxBytes > maxMaxBytes {
		return nil, fmt.Errorf("MaxBytes is %d; at most %d are possible", f.maxBytes, int64(maxMaxBytes))
	}
	if n := len(o.Key); o.Key != nil && n != keySize {
		return nil, fmt.Errorf("the key has %d bytes; it must have %d", n, keySize)
	}
	var err error
	if f.excluded, err = newExcluder(o.Exclude); err != nil {
		return nil, err
	}
	return f, nil
}

// maxMaxBytes is the largest MaxBytes: the pieces of a file of that size still fit in one
// manifest.
const maxMaxBytes = 8 << 30

// maxOwed is the most paths in owed. A snapshot with more looks at all files.
const maxOwed = 10_000

// Snapshot stores the changes since the last successful snapshot, and returns the sum of the
// new manifest. changed lists files and folders that may have changed since the last call:
// relative paths with slashes. A folder includes all files below it. walk looks at every file.
// After an error, such as [ErrTooLarge], the next call also stores the changes of this call.
func (f *Folder) Snapshot(ctx context.Context, changed []string, walk bool) (manifest string, err error) {
	changed, walk = slices.Concat(f.owed, changed), f.owedWalk || walk || len(f.owed) > maxOwed
	hint, err := newHint(changed, walk)
	if err != nil {
		f.owed, f.owedWalk = nil, true // a path of changed may never be accepted
		return "", err
	}
	if manifest, err = f.snapshot(ctx, hint); err != nil {
		if f.owed, f.owedWalk = changed, walk; walk {
			f.owed = nil
		}
		return "", err
	}
	f.owed, f.owedWalk = nil, false
	return manifest, nil
}

func (f *Folder) snapshot(ctx context.Context, h *hint) (manifest string, err error) {
	t, err := tree.Open(f.dir, false)
	if err != nil {
		return "", fmt.Errorf("%s: %w", f.dir, err)
	}
	defer t.Close()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := newWriter(ctx, cancel, f, t)
	defer w.stored()
	changes, err := f.scan(ctx, t, h)
	if err != nil {
		return "", err
	}
	slices.SortFunc(changes, func(a, b *change) int { return strings.Compare(a.path, b.path) })
	if err := f.checkSize(ctx, changes); err != nil {
		return "", err
	}
	if changes, err = w.read(changes); err != nil {
		return "", err
	}
	if err := f.checkSize(ctx, changes); err != nil { // files may have grown
		return "", err
	}
	return f.commit(w, changes)
}

// commit stores the manifest of changes. When everything is stored, it applies the changes to
// the Folder.
func (f *Folder) commit(w *writer, changes []*change) (manifest string, err error) {
	if len(f.chain) > 0 && !slices.ContainsFunc(changes, (*change).matters) {
		if err := w.stored(); err != nil {
			return "", err
		}
		f.apply(w, changes)
		return f.chain[len(f.chain)-1], nil
	}
	base := len(f.chain) == 0 || f.deltas >= maxDeltas || f.deltaLen > f.baseLen
	e := encoder{w: w}
	if base {
		again, err := w.read(f.rewriteThin(changes))
		for p := range f.packs {
			p.thin = false
		}
		if err != nil {
			return "", err
		}
		changes = append(changes, again...)
		e.whole(f.root, changes)
	} else {
		e.earlier = slices.Clone(f.chain)
		e.changes(changes)
	}
	chain, err := e.finish()
	if err != nil {
		return "", err
	}
	f.apply(w, changes)
	f.chain = chain
	if base {
		f.deltas, f.deltaLen, f.baseLen = 0, 0, e.total
		f.compact()
	} else {
		f.deltas, f.deltaLen = f.deltas+1, f.deltaLen+e.total
	}
	return chain[len(chain)-1], nil
}

// apply applies stored changes to the nodes in memory.
func (f *Folder) apply(w *writer, changes []*change) {
	f.count, f.bytes = f.sizeAfter(changes)
	for _, c := range changes {
		if c.now != nil {
			f.acquire(c.now)
		}
	}
	for _, c := range changes {
		c.apply(f)
	}
	for sum, p := range w.fresh {
		if p.pack.live > 0 {
			f.pieces[sum] = p
		}
	}
}

// Sums returns the sums of the last manifest and of all blobs that it needs. Other blobs may be
// removed when no state names an earlier manifest.
func (f *Folder) Sums() map[string]bool {
	sums := make(map[string]bool, len(f.chain)+len(f.packs))
	for _, sum := range f.chain {
		sums[sum] = true
	}
	for p := range f.packs {
		sums[p.sum] = true
	}
	return sums
}

// errNotLocal refuses a changed path outside of the folder.
var errNotLocal = errors.New("is not a path below the folder")
