package workspace

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"textskill/skill/internal/workspace/tree"
)

// WriteOptions say how a file is written. The zero value replaces or creates it.
type WriteOptions struct {
	Parents   bool // make the folders above it
	NoReplace bool // fail with EEXIST where there is something
	DryRun    bool // describe only
}

// WriteFile makes data the content of the file abs. A link in the last part is
// followed. A reader sees the old content or the new, never a part, unless the
// file has several names or its folder cannot be written. Errors are
// *fs.PathError with Op "open" or "mkdir", or the workspace's own.
func (w *Workspace) WriteFile(ctx context.Context, abs string, data []byte, o WriteOptions) (Change, error) {
	c := Change{Kind: Write, Path: abs}
	err := w.write(ctx, &c, o, func(p location, d tree.Folder, old *Info) error {
		return w.replace(ctx, &c, p, d, old, allOf(data))
	}, func(d tree.Folder, name string, old *Info) (string, error) {
		return writeDiff(abs, d, name, old, data)
	})
	return c, err
}

// AppendFile adds data to the end of the file abs, which is made if it is not
// there. A reader may see a part of it. Errors are as those of [Workspace.WriteFile].
func (w *Workspace) AppendFile(ctx context.Context, abs string, data []byte, o WriteOptions) (Change, error) {
	c := Change{Kind: Append, Path: abs}
	err := w.write(ctx, &c, o, func(p location, d tree.Folder, old *Info) error {
		if old == nil {
			return w.replace(ctx, &c, p, d, nil, allOf(data))
		}
		return w.appendInPlace(ctx, &c, p, d, data)
	}, func(d tree.Folder, name string, old *Info) (string, error) {
		if old == nil {
			return Unified(abs, abs, nil, data), nil
		}
		f, err := d.OpenFile(name, os.O_RDONLY, 0)
		if err != nil {
			return "", err
		}
		defer f.Close()
		return spliceDiff(abs, f, old.Size, Splice{Offset: old.Size, New: data})
	})
	return c, err
}

// fill writes the content of a new file from its beginning.
type fill func(dst *os.File) error

func allOf(data []byte) fill {
	return func(dst *os.File) error {
		_, err := dst.Write(data)
		return err
	}
}

// write finds the file of c and lets apply change it, or in a dry run preview
// print the change. Both get the file's folder and its description, which is nil
// for a file to be made; the folder of a preview is nil if it would be made too.
func (w *Workspace) write(ctx context.Context, c *Change, o WriteOptions,
	apply func(p location, d tree.Folder, old *Info) error,
	preview func(d tree.Folder, name string, old *Info) (string, error)) error {
	err := w.withLocation(request{c.Path, true, toChange}, func(p location) error {
		if err := w.checkWritable(); err != nil {
			return err
		}
		if p.isRoot() {
			return syscall.EISDIR
		}
		if o.DryRun || w.opts.DryRun {
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
		return w.inFolder(ctx, c, p, scope{parents: o.Parents}, func(d tree.Folder) error {
			old, err := existingFile(d, p.base(), o.NoReplace)
			if err != nil {
				return err
			}
			return apply(p, d, old)
		})
	})
	return wrapMkdir("open", c.Path, filepath.Dir(c.Path), err)
}

// A Splice replaces the Old bytes at Offset of a file by New.
type Splice struct {
	Offset, Old int64
	New         []byte
}

// check fails where the splice is not of a file of that size.
func (s Splice) check(size int64) error {
	if s.Offset < 0 || s.Old < 0 || s.Offset > size || s.Old > size-s.Offset {
		return fmt.Errorf("%d bytes at %d are not all in a file of %d bytes", s.Old, s.Offset, size)
	}
	return nil
}

// EditFile lets find choose a splice of the regular file abs and applies it. find
// reads src, of the given size, while nobody else of this kind changes the file;
// its error is returned as it is. Others are as those of [Workspace.WriteFile].
func (w *Workspace) EditFile(ctx context.Context, abs string, o WriteOptions, find func(src io.ReaderAt, size int64) (Splice, error)) (Change, error) {
	c := Change{Kind: Edit, Path: abs}
	var refused error
	// choose opens the file and asks for the splice.
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
	err := w.write(ctx, &c, WriteOptions{DryRun: o.DryRun}, func(p location, d tree.Folder, old *Info) error {
		return choose(d, p.base(), old, func(src *os.File, s Splice) error {
			return w.replace(ctx, &c, p, d, old, func(dst *os.File) error { return writeSpliced(dst, src, old.Size, s) })
		})
	}, func(d tree.Folder, name string, old *Info) (diff string, err error) {
		err = choose(d, name, old, func(src *os.File, s Splice) error {
			diff, err = spliceDiff(abs, src, old.Size, s)
			return err
		})
		return diff, err
	})
	if refused != nil {
		return c, refused
	}
	return c, err
}

// existingFile describes the file that is about to be written, nil where there is none.
func existingFile(d tree.Folder, name string, noReplace bool) (*Info, error) {
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
	return &info, d.CheckWritable(name)
}

// previewTarget is target without locks. The folder is nil where it would be made.
// The caller closes it.
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

// appendInPlace appends to a file in place. If not all of data fits, none of it stays.
func (w *Workspace) appendInPlace(ctx context.Context, c *Change, p location, d tree.Folder, data []byte) error {
	f, info, err := tree.RegularFile(d.OpenFile(p.base(), os.O_WRONLY|os.O_APPEND, 0))
	if err != nil {
		return err
	}
	defer f.Close()
	return w.commit(ctx, c, w.planAppend(p, info, data), func(*backup) error {
		if _, err := f.Write(data); err != nil {
			f.Truncate(info.Size)
			d.Chtimes(p.base(), info)
			return tree.Cause(err)
		}
		return tree.Cause(w.flush(f))
	})
}

// writeSpliced writes src to dst with one range replaced. The ranges around it are
// copied by the kernel where it can.
func writeSpliced(dst, src *os.File, size int64, s Splice) error {
	if _, err := src.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := io.CopyN(dst, src, s.Offset); err != nil {
		return err
	}
	if _, err := dst.Write(s.New); err != nil {
		return err
	}
	end := s.Offset + s.Old
	if _, err := src.Seek(end, io.SeekStart); err != nil {
		return err
	}
	_, err := io.CopyN(dst, src, size-end)
	return err
}
