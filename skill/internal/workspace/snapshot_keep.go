package workspace

import (
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

// keeper keeps the contents that a table wants.
type keeper struct {
	j     *journal
	store tree.Folder
	old   *table // which others see
	table *table
	begin int64 // when it was found what there is, in nanoseconds
}

// keep keeps what fits into limit bytes, the smaller files first. What a system
// error or ctx leaves out is kept the next time.
func (k *keeper) keep(ctx context.Context, limit int64) error {
	if k.table.limit == limit {
		return nil
	}
	if k.table == k.old {
		k.table = newTable(k.old.base, slices.Clone(k.old.list))
		k.table.stale = k.old.stale
	}
	t := k.table
	end := t.fitting(limit)
	var todo []*entry
	for i := range t.list {
		switch e := &t.list[i]; {
		case !e.wanted():
		case e.kind == aFile && e.size >= end:
			if e.print != "" {
				t.stale += e.room()
				e.print = ""
			}
		case e.print == "":
			todo = append(todo, e)
		}
	}
	slices.SortFunc(todo, func(a, b *entry) int { return byPath(a.path, b.path) })
	if err := k.keepAll(ctx, todo); err != nil {
		return err
	}
	t.limit = limit
	return nil
}

// fitting returns the size from which on files are not kept, so that the others fit
// into limit bytes.
func (t *table) fitting(limit int64) int64 {
	var files []*entry
	var sum int64
	for i := range t.list {
		if e := &t.list[i]; e.kind == aFile && e.wanted() {
			files = append(files, e)
			sum += e.room()
		}
	}
	if sum <= limit {
		return MaxKept + 1
	}
	slices.SortFunc(files, func(a, b *entry) int { return int(b.size - a.size) })
	end := int64(MaxKept + 1)
	for i := 0; i < len(files) && sum > limit; i++ {
		end = files[i].size
		sum -= files[i].room()
	}
	return end
}

// keepAll keeps the contents of entries, several at a time.
func (k *keeper) keepAll(ctx context.Context, todo []*entry) error {
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
					if errs[id] = k.keepOne(e); errs[id] != nil {
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

// keepOne keeps the content of an entry. One that is gone or not to be read is not
// kept, which is no error.
func (k *keeper) keepOne(e *entry) error {
	e.loose = e.changed > k.begin-int64(grain)
	if e.kind == aLink {
		if d, err := k.j.folderOf(e.path); err == nil {
			e.print, _ = d.Readlink(path.Base(e.path))
			d.Close()
		}
		return nil
	}
	f, err := k.j.root.tree.Open(e.path, os.O_RDONLY)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := tree.StatRegular(f)
	if err != nil || info.Size > MaxKept {
		return nil
	}
	print, err := filePrint(f, info.Size)
	if err != nil {
		return nil
	}
	if err := put(k.store, print, f, info.Size); err != nil {
		return err
	}
	after, err := tree.StatRegular(f)
	if err != nil {
		return nil
	}
	e.stamp, e.print = stampOf(info), print
	e.loose = e.changed > k.begin-int64(grain) || stampOf(after) != e.stamp
	return nil
}

// put makes a content of that name, unless there is one.
func put(store tree.Folder, name string, src *os.File, size int64) error {
	info, err := store.Lstat(name)
	if err == nil && info.Mode.IsRegular() && info.Size == size {
		return nil
	}
	if err == nil {
		discard(store, name)
	}
	dst, err := store.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) { // another one of us is about it
		return nil
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, io.LimitReader(src, size))
	if cerr := dst.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		discard(store, name)
	}
	return tree.Cause(err)
}
