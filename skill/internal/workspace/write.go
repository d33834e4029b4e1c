package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"textskill/skill/internal/history"
	"textskill/skill/internal/workspace/tree"
)

// WriteOptions say how a file is written. The zero value creates or replaces the file.
type WriteOptions struct {
	Parents   bool // make the missing folders above the file
	NoReplace bool // fail with EEXIST if the path exists
	DryRun    bool // only describe the change
	Diff      bool // set Change.Diff, not only in a dry run
}

// WriteFile writes data to the file abs. It follows a link in the last part. A reader sees either
// the old or the new content, unless the file is overwritten in place: if it has several hard
// links, or if its folder is not writable. Errors are *fs.PathError with Op "open" or "mkdir", or
// the workspace's own.
func (w *Workspace) WriteFile(ctx context.Context, abs string, data []byte, o WriteOptions) (Change, error) {
	c := Change{Kind: Write, Path: abs}
	err := w.writeWhole(ctx, &c, o, allOf(data), func(d tree.Folder, name string, old *Info) (string, error) {
		return writeDiff(abs, d, name, old, data)
	})
	return c, err
}

// writeWhole replaces the whole content of the file of c.
func (w *Workspace) writeWhole(ctx context.Context, c *Change, o WriteOptions, content fill,
	preview preview) error {
	return w.write(ctx, c, o, writing{draft: func(p location, d tree.Folder, old *Info) (*newFile, error) {
		return w.draft(p, d, old, content, nil)
	}, content: content, preview: preview})
}

// AppendFile appends data to the file abs, or creates the file. A reader may see a part of data.
// Errors are as for [Workspace.WriteFile].
func (w *Workspace) AppendFile(ctx context.Context, abs string, data []byte, o WriteOptions) (Change, error) {
	c := Change{Kind: Append, Path: abs}
	err := w.write(ctx, &c, o, writing{apply: func(s target, old *Info, _ *newFile) error {
		if old == nil {
			return s.replace(ctx, nil, allOf(data), nil, nil)
		}
		return s.appendInPlace(ctx, data)
	}, preview: func(d tree.Folder, name string, old *Info) (string, error) {
		if old == nil {
			return Unified(abs, abs, nil, data), nil
		}
		f, err := d.OpenFile(name, os.O_RDONLY, 0)
		if err != nil {
			return "", err
		}
		defer f.Close()
		return spliceDiff(abs, f, old.Size, Splice{Offset: old.Size, New: data})
	}})
	return c, err
}

// A fill writes the content of a new file.
type fill struct {
	write func(dst *os.File) error
	data  []byte // the content, if it is in memory; else nil
}

// allOf returns a fill that writes data.
func allOf(data []byte) fill {
	return fill{data: data, write: func(dst *os.File) error {
		_, err := dst.Write(data)
		return err
	}}
}

// A preview returns the diff of a change of a file.
type preview func(d tree.Folder, name string, old *Info) (string, error)

// A writing is a way to change the content of a file. Its functions get the file's folder and description. The
// description is nil if the file does not exist. In a preview the folder is nil if it does not exist.
type writing struct {
	// writes the new file before the folder is locked; may be nil
	draft func(p location, d tree.Folder, old *Info) (*newFile, error)
	// changes the file, with the folder locked; nil replaces the content
	apply   func(s target, old *Info, ready *newFile) error
	content fill // for a nil apply
	preview preview
}

// write changes the file of c. In a dry run it only describes the change.
func (w *Workspace) write(ctx context.Context, c *Change, o WriteOptions, how writing) error {
	t := tries{w: w, q: request{c.Path, true, toChange}}
	for t.next() {
		t.err = w.writeAt(ctx, c, o, t.at, how)
	}
	err := t.err
	dir := filepath.Dir(c.Path)
	if o.Parents && (err == syscall.ENAMETOOLONG || err == syscall.ELOOP) {
		if _, above := w.Stat(dir, true); errors.Is(above, err) { // the folder causes the error
			err = mkdirError{err}
		}
	}
	return wrapMkdir("open", c.Path, dir, err)
}

// writeAt is write at a location, where no link is in the path.
func (w *Workspace) writeAt(ctx context.Context, c *Change, o WriteOptions, p location, how writing) error {
	if err := w.checkWritable(); err != nil {
		return err
	}
	if p.isRoot() {
		return syscall.EISDIR
	}
	if o.Parents {
		if err := w.checkDangling(filepath.Dir(c.Path), p.parent()); err != nil {
			return mkdirFailed(err)
		}
	}
	if o.DryRun || w.opts.DryRun {
		return previewWrite(c, p, o, how.preview)
	}
	var ready *newFile
	if how.draft != nil {
		ready = w.prepare(p, func(d tree.Folder, old *Info) (*newFile, error) { return how.draft(p, d, old) })
		defer ready.close()
	}
	at := []location{p}
	return w.locked(ctx, c, o.Parents, at, at, func(_ *heldLocks, s []target) error {
		old, err := existingFile(s[0].d, p.base(), o.NoReplace)
		if err == nil && o.Diff {
			c.Diff, err = how.preview(s[0].d, p.base(), old)
		}
		switch {
		case err != nil:
			return err
		case how.apply == nil:
			return s[0].replace(ctx, old, how.content, nil, ready)
		}
		return how.apply(s[0], old, ready)
	})
}

func previewWrite(c *Change, p location, o WriteOptions, preview preview) error {
	d, old, err := previewTarget(p, o)
	if err != nil {
		return err
	}
	if d != nil {
		defer d.Close()
	}
	c.Diff, err = preview(d, p.base(), old)
	return err
}

// A Splice replaces Old bytes at Offset of a file with New.
type Splice struct {
	Offset, Old int64
	New         []byte
}

// check fails if the splice is not inside a file of the given size.
func (s Splice) check(size int64) error {
	if s.Offset < 0 || s.Old < 0 || s.Offset > size || s.Old > size-s.Offset {
		return fmt.Errorf("%d bytes at offset %d are not all within a file of %d bytes", s.Old,
			s.Offset, size)
	}
	return nil
}

// EditFile calls find to choose a splice of the regular file abs, and applies it. find reads src,
// which has the given size. If the file changes meanwhile, EditFile calls find again with the folder
// locked. It returns an error of find unchanged. Other errors are as for [Workspace.WriteFile].
func (w *Workspace) EditFile(ctx context.Context, abs string, o WriteOptions,
	find func(src io.ReaderAt, size int64) (Splice, error)) (Change, error) {
	c := Change{Kind: Edit, Path: abs}
	var refused error // from find
	// choose opens the file, calls find, and calls use with the splice.
	choose := func(d tree.Folder, name string, old *Info, use func(src *os.File, s Splice) error) error {
		if old == nil {
			return syscall.ENOENT
		}
		src, info, err := tree.RegularFile(d.OpenFile(name, os.O_RDONLY, 0))
		if err != nil {
			return err
		}
		defer src.Close()
		*old = info
		s, err := find(src, old.Size)
		if err == nil {
			err = s.check(old.Size)
		}
		if err != nil {
			refused = err
			return err
		}
		return use(src, s)
	}
	err := w.write(ctx, &c, WriteOptions{DryRun: o.DryRun, Diff: o.Diff}, writing{
		draft: func(p location, d tree.Folder, old *Info) (n *newFile, err error) {
			err = choose(d, p.base(), old, func(src *os.File, s Splice) (err error) {
				n, err = w.draft(p, d, old, spliced(src, old.Size, s), &s)
				return err
			})
			refused = nil
			return n, err
		},
		apply: func(s target, old *Info, ready *newFile) error {
			if ready.fitsNow(s.d, old) {
				return s.replace(ctx, old, fill{}, nil, ready)
			}
			return choose(s.d, s.p.base(), old, func(src *os.File, edit Splice) error {
				return s.replace(ctx, old, spliced(src, old.Size, edit), &edit, nil)
			})
		},
		preview: func(d tree.Folder, name string, old *Info) (diff string, err error) {
			err = choose(d, name, old, func(src *os.File, s Splice) error {
				diff, err = spliceDiff(abs, src, old.Size, s)
				return err
			})
			return diff, err
		},
	})
	if refused != nil {
		return c, refused
	}
	return c, err
}

// existingFile describes the file that the caller will write, nil if it does not exist. It fails if
// the file may not be written.
func existingFile(d tree.Folder, name string, noReplace bool) (*Info, error) {
	old, err := describeFile(d, name, noReplace)
	if old == nil || err != nil {
		return nil, err
	}
	return old, d.CheckWritable(name)
}

// describeFile is existingFile without the check that the file may be written.
func describeFile(d tree.Folder, name string, noReplace bool) (*Info, error) {
	info, err := d.Lstat(name)
	found, err := existing(info, err)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, nil
	case noReplace:
		return nil, syscall.EEXIST
	}
	if err := tree.CheckRegular(info.Mode); err != nil {
		return nil, err
	}
	return &info, nil
}

// previewTarget is existingFile for a dry run. It also returns the file's folder, which the caller
// closes. The folder is nil if it does not exist.
func previewTarget(p location, o WriteOptions) (tree.Folder, *Info, error) {
	d, err := p.root.tree.OpenFolder(p.parent().rel)
	if o.Parents && missingFolder(err) {
		return nil, nil, mkdirFailed(previewDir(p.parent()))
	}
	if err != nil {
		return nil, nil, err
	}
	old, err := existingFile(d, p.base(), o.NoReplace)
	if err == nil && old == nil {
		err = d.CheckWritable(".")
	}
	if err != nil {
		d.Close()
		return nil, nil, err
	}
	return d, old, nil
}

// appendInPlace appends data to an existing file. If the write fails, it restores the old size.
func (s target) appendInPlace(ctx context.Context, data []byte) error {
	if err := s.l.alone(ctx); err != nil {
		return err
	}
	f, info, err := tree.RegularFile(s.d.OpenFile(s.p.base(), os.O_WRONLY|os.O_APPEND, 0))
	if err != nil {
		return err
	}
	defer f.Close()
	planned, err := s.w.planAppend(s.l, s.p, s.d, info, data)
	if err != nil {
		return err
	}
	return s.w.commit(ctx, s.c, s.l, planned, func(k *history.Keeper) error {
		if k != nil && planned.steps > 1 {
			if err := k.Copy(s.d, s.p.base()); err != nil {
				return err
			}
		}
		k.Tears()
		if _, err := f.Write(data); err != nil {
			f.Truncate(info.Size)
			s.d.Chtimes(s.p.base(), info)
			return tree.Cause(err)
		}
		s.c.inPlace = true
		return tree.Cause(s.w.flush(f))
	})
}

func spliced(src *os.File, size int64, s Splice) fill {
	return fill{write: func(dst *os.File) error { return writeSpliced(dst, src, size, s) }}
}

// writeSpliced writes src to dst with the splice s applied. The kernel copies the ranges around the
// splice, by reference if the file system can share blocks.
func writeSpliced(dst, src *os.File, size int64, s Splice) error {
	if err := tree.CopyRange(dst, 0, src, 0, s.Offset); err != nil {
		return err
	}
	if _, err := dst.WriteAt(s.New, s.Offset); err != nil {
		return err
	}
	return tree.CopyRange(dst, s.Offset+int64(len(s.New)), src, s.Offset+s.Old, size)
}
