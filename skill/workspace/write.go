package workspace

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// WriteOptions say how a file is written. The zero value replaces or creates it.
type WriteOptions struct {
	Parents   bool // make the folders above it
	NoReplace bool // fail with EEXIST where there is something
	DryRun    bool // describe only
}

// WriteFile makes data the content of the file abs. A link in the last part is
// followed. A reader sees the old content or the new, never a part. Errors are
// *fs.PathError with Op "open" or "mkdir", or the workspace's own.
func (w *Workspace) WriteFile(ctx context.Context, abs string, data []byte, o WriteOptions) (Change, error) {
	c := Change{Kind: Write, Path: abs}
	whole := func(dst *os.File) error {
		_, err := dst.Write(data)
		return err
	}
	err := w.at(abs, true, toChange, func(p place) error {
		if err := w.changeable(); err != nil {
			return err
		}
		if p.isRoot() {
			return syscall.EISDIR
		}
		if o.DryRun || w.opts.DryRun {
			return w.previewWrite(&c, p, o, func(old []byte) []byte { return data })
		}
		return w.inFolder(ctx, p, o.Parents, func(d folder) error {
			old, err := target(d, p.base(), o.NoReplace)
			if err != nil {
				return err
			}
			return w.commit(&c, func() error { return w.replace(d, p.base(), old, whole) })
		})
	})
	return c, wrapMade("open", abs, filepath.Dir(abs), err)
}

// AppendFile adds data to the end of the file abs, which is made if it is not
// there. Errors are as those of [Workspace.WriteFile].
func (w *Workspace) AppendFile(ctx context.Context, abs string, data []byte, o WriteOptions) (Change, error) {
	c := Change{Kind: Append, Path: abs}
	err := w.at(abs, true, toChange, func(p place) error {
		if err := w.changeable(); err != nil {
			return err
		}
		if p.isRoot() {
			return syscall.EISDIR
		}
		if o.DryRun || w.opts.DryRun {
			return w.previewWrite(&c, p, o, func(old []byte) []byte { return append(old[:len(old):len(old)], data...) })
		}
		return w.inFolder(ctx, p, o.Parents, func(d folder) error {
			old, err := target(d, p.base(), o.NoReplace)
			if err != nil {
				return err
			}
			return w.commit(&c, func() error {
				if old == nil {
					return w.replace(d, p.base(), nil, func(dst *os.File) error { _, err := dst.Write(data); return err })
				}
				return w.extend(d, p.base(), data)
			})
		})
	})
	return c, wrapMade("open", abs, filepath.Dir(abs), err)
}

// A Splice replaces the Old bytes at Offset of a file by New.
type Splice struct {
	Offset, Old int64
	New         []byte
}

// EditFile lets find choose a splice of the regular file abs and applies it. find
// reads src, of the given size, while nobody else of this kind changes the file;
// its error is returned as it is. Others are as those of [Workspace.WriteFile].
func (w *Workspace) EditFile(ctx context.Context, abs string, o WriteOptions, find func(src io.ReaderAt, size int64) (Splice, error)) (Change, error) {
	c := Change{Kind: Edit, Path: abs}
	var refused error
	err := w.at(abs, true, toChange, func(p place) error {
		if err := w.changeable(); err != nil {
			return err
		}
		if p.isRoot() {
			return syscall.EISDIR
		}
		edit := func(src *os.File, apply func(Info, Splice) error) error {
			defer src.Close()
			info, err := regularInfo(src)
			if err != nil {
				return err
			}
			s, err := find(src, info.Size)
			if err != nil {
				refused = err
				return err
			}
			return apply(info, s)
		}
		if o.DryRun || w.opts.DryRun {
			src, err := p.root.tree.open(p.rel, os.O_RDONLY)
			if err != nil {
				return err
			}
			return edit(src, func(info Info, s Splice) (err error) {
				c.Diff, err = spliceDiff(abs, src, info.Size, s)
				return err
			})
		}
		return w.inFolder(ctx, p, false, func(d folder) error {
			if _, err := target(d, p.base(), false); err != nil {
				return err
			}
			src, err := d.openFile(p.base(), os.O_RDONLY, 0)
			if err != nil {
				return err
			}
			return edit(src, func(info Info, s Splice) error {
				return w.commit(&c, func() error {
					return w.replace(d, p.base(), &info, func(dst *os.File) error { return splice(dst, src, info.Size, s) })
				})
			})
		})
	})
	if refused != nil {
		return c, refused
	}
	return c, wrap("open", abs, err)
}

// target describes the file that is about to be written, nil where there is none.
func target(d folder, name string, noReplace bool) (*Info, error) {
	info, err := d.lstat(name)
	found, err := lookAt(info, err)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, nil
	case noReplace:
		return nil, syscall.EEXIST
	}
	if err := regular(info.Mode); err != nil {
		return nil, err
	}
	return &info, d.writable(name)
}

// previewWrite describes a write without locking or making anything.
func (w *Workspace) previewWrite(c *Change, p place, o WriteOptions, after func([]byte) []byte) error {
	info, err := p.root.tree.stat(p.rel)
	found, err := lookAt(info, err)
	switch {
	case err != nil:
		return err
	case found && o.NoReplace:
		return syscall.EEXIST
	case !found && !o.Parents:
		if _, err := p.root.tree.stat(p.parent().rel); err != nil {
			return err
		}
	}
	var before []byte
	if found {
		if err := regular(info.Mode); err != nil {
			return err
		}
		if before, err = p.root.tree.readFile(p.rel); err != nil {
			return err
		}
		before = append([]byte{}, before...)
	}
	c.Diff = Unified(c.Path, c.Path, before, append([]byte{}, after(before)...))
	return nil
}

// splice writes src to dst with one range replaced. The ranges around it are
// copied by the kernel where it can.
func splice(dst, src *os.File, size int64, s Splice) error {
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

// spliceDiff prints the one hunk of a splice, from the lines around it.
func spliceDiff(name string, src io.ReaderAt, size int64, s Splice) (string, error) {
	const window = 16 << 10
	from, to := max(0, s.Offset-window), min(size, s.Offset+s.Old+window)
	if to-from > maxDiff {
		return Unified(name, name, make([]byte, maxDiff+1), s.New), nil
	}
	before := make([]byte, to-from)
	if n, err := src.ReadAt(before, from); n < len(before) {
		return "", err
	}
	skip, keep := int64(0), int64(len(before))
	if from > 0 { // start and end at whole lines
		skip = int64(bytes.IndexByte(before, '\n') + 1)
	}
	if i := bytes.LastIndexByte(before, '\n'); to < size && int64(i) >= s.Offset+s.Old-from {
		keep = int64(i + 1)
	}
	if skip > s.Offset-from {
		skip = 0
	}
	passed, err := countLines(io.NewSectionReader(src, 0, from+skip))
	if err != nil {
		return "", err
	}
	at := s.Offset - from
	after := append(append(append([]byte{}, before[skip:at]...), s.New...), before[at+s.Old:keep]...)
	return unifiedAt(name, name, before[skip:keep], after, passed), nil
}

func countLines(r io.Reader) (n int, err error) {
	buf := make([]byte, 256<<10)
	for {
		m, err := r.Read(buf)
		n += bytes.Count(buf[:m], []byte{'\n'})
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// extend appends to a file in place. If not all of data fits, none of it stays.
func (w *Workspace) extend(d folder, name string, data []byte) error {
	f, err := d.openFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := regularInfo(f)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return cause(errors.Join(err, f.Truncate(info.Size)))
	}
	return cause(w.flush(f))
}

// flush makes the content of f durable, unless the workspace is opened without.
func (w *Workspace) flush(f *os.File) error {
	if w.opts.NoSync {
		return nil
	}
	return datasync(f)
}
