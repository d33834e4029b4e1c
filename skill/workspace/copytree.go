package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sync/errgroup"
)

// copyTree copies the folder src to dst, whose folder is locked. It is built
// under the temporary name and appears under its own in one step.
func (w *Workspace) copyTree(ctx context.Context, src place, to folder, dst place, o CopyOptions) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	c := &treeCopy{w: w, g: g, ctx: ctx, o: o}
	info, err := src.root.tree.stat(src.rel)
	if err == nil {
		err = c.folder(to, tempName, treeStep{src: src, dst: place{dst.root, path.Join(path.Dir(dst.rel), tempName)}, info: info})
	}
	if werr := g.Wait(); err == nil || errors.Is(err, context.Canceled) && werr != nil {
		err = werr
	}
	if err == nil {
		err = c.finish()
	}
	if err == nil {
		err = to.rename(tempName, to, dst.base(), false)
	}
	if err != nil {
		removeAll(to, tempName)
	}
	return err
}

// treeCopy is one copy of a tree under way.
type treeCopy struct {
	w   *Workspace
	g   *errgroup.Group
	ctx context.Context
	o   CopyOptions

	mu    sync.Mutex
	steps []treeStep // every folder made so far
}

// treeStep is one folder of it.
type treeStep struct {
	src, dst place
	info     Info
	above    *treeStep // the folder that it is in, to see a link that leads back up
}

// folder makes the folder name in to and copies into it, on a goroutine of its
// own where one is free.
func (c *treeCopy) folder(to folder, name string, s treeStep) error {
	for up := s.above; up != nil; up = up.above {
		if up.info.ID == s.info.ID && s.info.ID != (FileID{}) {
			return &fs.PathError{Op: "copyfile", Path: s.src.path(), Err: syscall.ELOOP}
		}
	}
	if err := to.mkdir(name, 0o700); err != nil {
		return err
	}
	c.mu.Lock()
	c.steps = append(c.steps, s)
	c.mu.Unlock()
	if !c.g.TryGo(func() error { return c.content(s) }) {
		return c.content(s)
	}
	return nil
}

func (c *treeCopy) content(s treeStep) error {
	from, err := s.src.root.tree.folder(s.src.rel)
	if err != nil {
		return err
	}
	defer from.close()
	to, err := s.dst.root.tree.folder(s.dst.rel)
	if err != nil {
		return err
	}
	defer to.close()
	if from.handle() == nil {
		return &fs.PathError{Op: "scandir", Path: s.src.path(), Err: syscall.EACCES}
	}
	entries, err := from.handle().ReadDir(-1)
	if err != nil {
		return cause(err)
	}
	for _, e := range entries {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if e.Name() == tempName {
			continue
		}
		if err := c.entry(from, to, s, e); err != nil {
			return err
		}
	}
	return nil
}

func (c *treeCopy) entry(from, to folder, s treeStep, e fs.DirEntry) error {
	src, name := s.src.child(e.Name()), e.Name()
	switch {
	case e.Type() == fs.ModeSymlink && c.o.Follow:
		return c.followed(to, s, src)
	case e.Type() == fs.ModeSymlink:
		target, err := from.readlink(name)
		if err != nil {
			return err
		}
		return to.symlink(target, name)
	case e.IsDir():
		info, err := from.lstat(name)
		if err != nil {
			return err
		}
		return c.folder(to, name, treeStep{src, s.dst.child(name), info, &s})
	}
	if err := regular(e.Type()); err != nil {
		return &fs.PathError{Op: "copyfile", Path: src.path(), Err: err}
	}
	return copyPlain(from, to, name, c.o.Times)
}

// followed copies what the link src leads to. The link must lead to something
// inside the workspace.
func (c *treeCopy) followed(to folder, s treeStep, src place) error {
	at, err := c.w.resolve(src.path(), true)
	if err != nil {
		return err
	}
	if err := c.w.denied(at, src.path(), toRead); err != nil {
		return err
	}
	info, err := at.root.tree.stat(at.rel)
	if err != nil {
		return &fs.PathError{Op: "open", Path: src.path(), Err: err}
	}
	if info.IsDir() {
		return c.folder(to, src.base(), treeStep{at, s.dst.child(src.base()), info, &s})
	}
	f, err := at.root.tree.open(at.rel, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err = regularInfo(f); err != nil {
		return &fs.PathError{Op: "open", Path: src.path(), Err: err}
	}
	return copyInto(f, info, to, src.base(), c.o.Times)
}

// finish gives the folders their modes and times, now that nothing more is put
// into them.
func (c *treeCopy) finish() error {
	for _, s := range slices.Backward(c.steps) {
		d, err := s.dst.root.tree.folder(s.dst.rel)
		if err != nil {
			return err
		}
		if c.o.Times {
			err = d.chtimes(".", s.info)
		}
		if err == nil && d.handle() != nil {
			err = d.handle().Chmod(s.info.Mode &^ fs.ModeType)
		}
		d.close()
		if err != nil {
			return cause(err)
		}
	}
	return nil
}

// copyInto makes the new file name from the open file src.
func copyInto(src *os.File, info Info, to folder, name string, times bool) error {
	dst, err := to.openFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if err == nil {
		err = dst.Chmod(info.Mode &^ fs.ModeType)
	}
	if cerr := dst.Close(); err == nil {
		err = cerr
	}
	if err == nil && times {
		err = to.chtimes(name, info)
	}
	return cause(err)
}

// copyPlain copies the file name from one folder to another.
func copyPlain(from, to folder, name string, times bool) error {
	src, err := from.openFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer src.Close()
	info, err := regularInfo(src)
	if err != nil {
		return err
	}
	return copyInto(src, info, to, name, times)
}
