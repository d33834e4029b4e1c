package workspace

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"sync"
	"sync/atomic"

	"textskill/skill/internal/workspace/tree"
)

// A saver saves the contents of a table's files.
type saver struct {
	h     *history
	store tree.Folder
	old   *table // others may read it
	table *table
	begin int64 // of the scan, in nanoseconds
}

// save saves what fits into limit bytes, the smaller files first. What it does not get to,
// because of an error or ctx, is saved the next time. It returns nil after the deadline of ctx.
func (k *saver) save(ctx context.Context, limit int64) error {
	if k.table.limit == limit {
		return nil
	}
	if k.table == k.old {
		k.table = newTable(k.old.base, slices.Clone(k.old.list))
		k.table.stale = k.old.stale
	}
	t := k.table
	fit, rest := t.fitting(limit)
	for _, e := range rest {
		if e.digest != "" {
			t.stale += e.diskSize()
			e.digest = ""
		}
	}
	todo := slices.DeleteFunc(fit, func(e *entry) bool { return e.digest != "" })
	slices.SortFunc(todo, func(a, b *entry) int { return byPath(a.path, b.path) })
	if err := k.saveAll(ctx, todo); errors.Is(err, context.DeadlineExceeded) {
		return nil // what there was no time for is saved the next time
	} else if err != nil {
		return err
	}
	t.limit = limit
	return nil
}

// fitting returns what is saved, so that it fits into limit bytes, and what is not: the
// larger files.
func (t *table) fitting(limit int64) (fit, rest []*entry) {
	var sum int64
	for i := range t.list {
		if e := &t.list[i]; e.storable() {
			fit = append(fit, e)
			sum += e.diskSize()
		}
	}
	if sum <= limit {
		return fit, nil
	}
	slices.SortFunc(fit, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.diskSize(), b.diskSize()), cmp.Compare(a.size, b.size), byPath(a.path, b.path))
	})
	n := len(fit)
	for ; sum > limit; n-- {
		sum -= fit[n-1].diskSize()
	}
	return fit[:n], fit[n:]
}

// saveAll saves the contents of entries, several at a time.
func (k *saver) saveAll(ctx context.Context, todo []*entry) error {
	const workers, block = 4, 16
	var next atomic.Int64
	var all sync.WaitGroup
	var errs [workers]error
	for id := range min(workers, (len(todo)+block-1)/block) {
		all.Go(func() {
			for errs[id] == nil {
				from := int(next.Add(block)) - block
				if from >= len(todo) {
					return
				}
				for _, e := range todo[from:min(from+block, len(todo))] {
					if errs[id] = k.saveOne(e); errs[id] != nil {
						return
					}
				}
				errs[id] = ctx.Err()
			}
		})
	}
	all.Wait()
	return errors.Join(errs[:]...)
}

// saveOne saves the content of an entry. A file that is gone or may not be read is not
// saved, which is not an error.
func (k *saver) saveOne(e *entry) error {
	e.racy = e.changed > k.begin-int64(timeGrain)
	if e.kind == aLink {
		if d, err := k.h.folderOf(e.path); err == nil {
			e.digest, _ = d.Readlink(path.Base(e.path))
			d.Close()
		}
		return nil
	}
	f, err := k.h.root.tree.Open(e.path, os.O_RDONLY)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := tree.StatRegular(f)
	if err != nil || info.Size > MaxKept {
		return nil
	}
	print, err := fileSum(f, info.Size)
	if err != nil {
		return nil
	}
	print = print[:digestLength] + tree.AttributesSum(f)
	if err := storeContent(k.store, print, f, info.Size); err != nil {
		return err
	}
	after, err := tree.StatRegular(f)
	if err != nil {
		return nil
	}
	e.stamp, e.digest = stampOf(info), print
	e.racy = e.changed > k.begin-int64(timeGrain) || stampOf(after) != e.stamp
	return nil
}

// storeContent saves a content and its attributes under name, unless there is one of that name.
func storeContent(store tree.Folder, name string, src *os.File, size int64) error {
	info, err := store.Lstat(name)
	if err == nil && info.Mode.IsRegular() && info.Size == size {
		return nil
	}
	if err == nil {
		discard(store, name)
	}
	dst, err := store.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) { // another process is saving it
		return nil
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, io.LimitReader(src, size))
	if len(name) > digestLength {
		tree.CopyAttributes(dst, src)
	}
	if cerr := dst.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		discard(store, name)
	}
	return tree.Cause(err)
}
