package workspace

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	"textskill/skill/internal/history"
	"textskill/skill/internal/workspace/tree"

	"golang.org/x/sync/errgroup"
)

// copyTree copies the folder src to dst, in the locked folder to. It makes the copy under a temporary
// name, and then calls commit with a function that renames the copy.
func (w *Workspace) copyTree(ctx context.Context, src location, to tree.Folder, dst location, o CopyOptions,
	commit func(rename func() error) error) error {
	name := cmp.Or(o.temp, tempName)
	err := w.fillTree(ctx, src, to, dst.parent().child(name), o)
	if err == nil {
		err = commit(func() error { return to.Rename(name, to, dst.base(), o.moving && o.Replace) })
	}
	if err != nil {
		history.Discard(to, name)
	}
	return err
}

// fillTree copies the folder src to dst, in the folder to, and makes the copy durable.
func (w *Workspace) fillTree(ctx context.Context, src location, to tree.Folder, dst location,
	o CopyOptions) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	c := &treeCopy{w: w, g: g, ctx: ctx, o: o}
	info, err := src.root.tree.Stat(src.rel)
	if err == nil {
		err = c.copyFolder(to, dst.base(), copiedFolder{src: src, dst: dst, info: info})
	}
	if werr := g.Wait(); err == nil || errors.Is(err, context.Canceled) && werr != nil {
		err = werr
	}
	if err == nil {
		err = c.finish()
	}
	if err == nil && !w.opts.NoSync {
		err = tree.Syncfs(to)
	}
	return err
}

// A treeCopy is the state of one copy of a tree.
type treeCopy struct {
	w   *Workspace
	g   *errgroup.Group
	ctx context.Context
	o   CopyOptions

	mu     sync.Mutex
	copied atomic.Int64 // entries copied so far

	folders []copiedFolder // folders made so far
}

// A copiedFolder is one folder of the tree.
type copiedFolder struct {
	src, dst location
	info     Info          // of src
	above    *copiedFolder // the parent folder; finds links that lead back up
	old      bool          // dst existed before
}

// isBelow reports whether other is the folder s or a folder above s.
func (s *copiedFolder) isBelow(other Info) bool {
	for up := s; up != nil; up = up.above {
		if up.info.ID == other.ID && other.ID != (FileID{}) {
			return true
		}
	}
	return false
}

// copyFolder makes the folder name in to and copies the entries of s into it. It uses another goroutine
// if fewer than GOMAXPROCS are copying.
func (c *treeCopy) copyFolder(to tree.Folder, name string, s copiedFolder) error {
	err := to.Mkdir(name, 0o700)
	if s.old = c.o.missing && errors.Is(err, fs.ErrExist); err != nil && !s.old {
		return err
	}
	c.mu.Lock()
	c.folders = append(c.folders, s)
	c.mu.Unlock()
	if !c.g.TryGo(func() error { return c.copyContent(s) }) {
		return c.copyContent(s)
	}
	return nil
}

func (c *treeCopy) copyContent(s copiedFolder) error {
	from, err := s.src.root.tree.OpenFolder(s.src.rel)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := s.dst.root.tree.OpenFolder(s.dst.rel)
	if err != nil {
		return err
	}
	defer to.Close()
	entries, err := from.Entries()
	if err != nil {
		return &fs.PathError{Op: "scandir", Path: s.src.path(), Err: err}
	}
	for _, e := range entries {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if Hidden(e.Name) || c.w.isRecords(s.src.child(e.Name), toRead) {
			continue
		}
		if err := c.copyEntry(from, to, s, e); err != nil {
			return err
		}
		Report(c.ctx, c.copied.Add(1), 0, s.src.path())
	}
	return nil
}

func (c *treeCopy) copyEntry(from, to tree.Folder, s copiedFolder, e Entry) error {
	src := s.src.child(e.Name)
	if c.o.missing && e.Type != fs.ModeDir {
		if _, err := to.Lstat(e.Name); err == nil {
			return nil
		}
	}
	if !c.o.moving {
		if err := c.w.deniedName(src.parent().rel, e.Name, request{src.path(), false, toChange}); err != nil {
			return err
		}
	}
	if e.Type == fs.ModeSymlink && c.o.Follow {
		if err := c.copyLinkTarget(to, s, src); !isUnfollowed(err) {
			return err
		}
	}
	switch {
	case e.Type == fs.ModeSymlink:
		target, err := from.Readlink(e.Name)
		if err != nil {
			return err
		}
		return to.Symlink(target, e.Name)
	case e.Type == fs.ModeDir:
		info, err := from.Lstat(e.Name)
		if err != nil {
			return err
		}
		return c.copyFolder(to, e.Name, copiedFolder{src: src, dst: s.dst.child(e.Name), info: info,
			above: &s})
	}
	return c.copyFile(src, from, e.Name, to, e.Name)
}

// errUnfollowed reports a link that is dangling, leads outside or back up, or may not be read.
type errUnfollowed struct{ error }

func isUnfollowed(err error) bool {
	_, ok := err.(errUnfollowed)
	return ok
}

// copyLinkTarget copies the target of the link src, which must be inside the workspace.
func (c *treeCopy) copyLinkTarget(to tree.Folder, s copiedFolder, src location) error {
	at, err := c.w.resolve(src.path(), true)
	if err == nil {
		err = c.w.denied(at, request{src.path(), true, toRead})
	}
	var info Info
	if err == nil {
		info, err = at.root.tree.Stat(at.rel)
	}
	for _, cannot := range []error{fs.ErrNotExist, fs.ErrPermission, syscall.ELOOP, syscall.ENOTDIR} {
		if errors.Is(err, cannot) {
			return errUnfollowed{err}
		}
	}
	if err != nil {
		return &fs.PathError{Op: "open", Path: src.path(), Err: err}
	}
	if info.IsDir() && s.isBelow(info) {
		return errUnfollowed{syscall.ELOOP}
	}
	if info.IsDir() {
		return c.copyFolder(to, src.base(), copiedFolder{src: at, dst: s.dst.child(src.base()), info: info,
			above: &s})
	}
	from, err := at.root.tree.OpenFolder(at.parent().rel)
	if err != nil {
		return err
	}
	defer from.Close()
	return c.copyFile(src, from, at.base(), to, src.base())
}

// copyFile copies the file src, which is name in from, to newName in to.
func (c *treeCopy) copyFile(src location, from tree.Folder, name string, to tree.Folder,
	newName string) error {
	err := from.CopyFile(name, to, newName, c.o.Times)
	if err == nil && c.o.moving {
		err = c.w.copyMetadata(from, name, to, newName, false)
	}
	if err != nil {
		return &fs.PathError{Op: "copyfile", Path: src.path(), Err: err}
	}
	return nil
}

// finish gives the folders their modes and times. Before that, the copy needs writable folders, and new
// files change the times.
func (c *treeCopy) finish() error {
	for _, s := range slices.Backward(c.folders) {
		if err := c.finishFolder(s); err != nil && !s.old { // an old folder that cannot be changed lost nothing
			return tree.Cause(err)
		}
	}
	return nil
}

func (c *treeCopy) finishFolder(s copiedFolder) error {
	d, err := s.dst.root.tree.OpenFolder(s.dst.rel)
	if err != nil {
		return err
	}
	defer d.Close()
	if c.o.Times {
		if err := d.Chtimes(".", s.info); err != nil {
			return err
		}
	}
	f, err := d.OpenFile(".", os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if c.o.moving {
		from, err := s.src.root.tree.OpenFolder(s.src.parent().rel)
		if err != nil {
			return err
		}
		defer from.Close()
		if tree.CopyMetadata(f, from, s.src.base(), s.info) {
			return nil
		}
	}
	return f.Chmod(s.info.Mode.Perm())
}
