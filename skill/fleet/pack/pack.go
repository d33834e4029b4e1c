// Package pack keeps the files of a folder in blobs, so that another machine can restore
// them with the same bytes.
//
// A pack moves the content of files, their permissions, the targets of symbolic links,
// folders that are empty too, and the times of modification to the nanosecond (of
// links on Linux only). Names are bytes, in no encoding. It does not move:
//
//   - sockets, pipes and devices;
//   - the owner, extended attributes, and the setuid, setgid and sticky bits;
//   - that two names are hard links of one file, and where a sparse file has holes: they
//     become separate files and zeros;
//   - files that usually hold credentials, and what [Options].Exclude names: exclude.go
//     has the list. Config files of git are stored without their credentials.
//
// Files are cut into pieces of up to 512 KiB. Small ones share a pack, and equal ones are
// stored once. A manifest lists the files: it is a delta to earlier ones, which it names,
// or describes the whole folder anew after 32 of them. A pack below 64 KiB is part of it.
//
//	pack.go      Folder: what is stored of a folder, and Snapshot
//	node.go      what is known of a file; children.go, of those in a folder
//	scan.go      finds what has changed
//	exclude.go   which files stay on the machine; gitconfig.go, which lines of git's
//	store.go     reads files into packs
//	blob.go      compresses, encrypts and checks blobs
//	manifest.go  writes manifests; load.go reads them
//	restore.go   writes files
//	limit.go     how large a folder may be
//	shared.go    which file systems are shared by machines
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

// Blobs is what packs and manifests are stored in, by the SHA-256 of their bytes in
// hexadecimal digits. It is safe for concurrent use. No blob is larger than 900 KiB.
type Blobs interface {
	// Put stores a blob, and returns after it was accepted.
	Put(ctx context.Context, sum string, data []byte) error
	Get(ctx context.Context, sum string) ([]byte, error)
}

// Options say where the files of a folder are stored, and which of them.
type Options struct {
	Blobs    Blobs
	Key      []byte   // 32 bytes, with which the blobs are encrypted; nil means that they are not
	Exclude  []string // further patterns, as in .gitignore, of files that stay on the machine
	MaxBytes int64    // of all files, at most 8 GiB; 0 means 2 GiB
	MaxFiles int      // with links and folders; 0 means 200,000
}

// A Folder is a folder whose files are stored in blobs. It is for one goroutine at a time.
// It holds no file open.
type Folder struct {
	storage
	dir      string
	excluded excluder
	maxBytes int64
	maxFiles int

	root   *node               // what the last manifest lists, and nothing that was not accepted
	count  int                 // of nodes below root
	bytes  int64               // of their files
	pieces map[[32]byte]*piece // of files that are not settled, by the sums of their content
	seed   maphash.Seed        // of short stamps and sums
	// that hold pieces of root's files; two may be the same blob, if a content was gone and came back
	packs    map[*pack]bool
	chain    []string // the manifests that describe root together, the last one last
	deltas   int      // of them since the whole folder was described
	deltaLen int      // their size, to be compared with that of the whole description
	baseLen  int
	scans    uint32

	owed     []string // what failed snapshots were to look at
	owedWalk bool
}

// Open returns a folder that is not stored yet.
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

// maxOwed is after how many paths that failed snapshots were given all files are looked at.
const maxOwed = 10_000

// Snapshot stores what has changed since the last successful one and returns the sum of
// the new manifest. changed are paths relative to the folder, with slashes, of what may
// have changed since the last call; a folder means all below it. walk makes it look
// at every file. If it fails, with [ErrTooLarge] among others, the next call stores
// all that is missing.
func (f *Folder) Snapshot(ctx context.Context, changed []string, walk bool) (manifest string, err error) {
	changed, walk = slices.Concat(f.owed, changed), f.owedWalk || walk || len(f.owed) > maxOwed
	hint, err := newHint(changed, walk)
	if err != nil {
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

// commit stores the manifest of changes whose packs are known, and makes the changes those
// of the folder when all of it is stored.
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
		again, err := w.read(f.thin(changes))
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

// apply makes changes in memory that are stored.
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

// Sums returns the sums of the blobs that the last manifest needs, itself among them. All
// others may be removed when no state names an earlier manifest any more.
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

// errNotLocal is the error of a changed path that leads out of the folder.
var errNotLocal = errors.New("is not a path below the folder")
