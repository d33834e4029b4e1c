package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sync/errgroup"

	"textskill/skill/internal/refusal"
	"textskill/skill/internal/workspace/tree"
)

// wrap adds the operation and the path, as the caller spelled it, to an error without a path.
func wrap(op, abs string, err error) error {
	switch err.(type) {
	case nil:
		return nil
	case *refusal.RefusedError, *fs.PathError, *os.LinkError:
		return err
	}
	return &fs.PathError{Op: op, Path: abs, Err: err}
}

// wrap2 is wrap for an operation on two paths. A mkdirError is about the folder of to.
func wrap2(op, from, to string, err error) error {
	switch e := err.(type) {
	case nil:
		return nil
	case mkdirError:
		return &fs.PathError{Op: "mkdir", Path: filepath.Dir(to), Err: e.error}
	case *refusal.RefusedError, *fs.PathError, *os.LinkError:
		return err
	}
	return &os.LinkError{Op: op, Old: from, New: to, Err: err}
}

// ReadFile returns the content of the regular file abs. Errors are *fs.PathError with Op "open", or
// "read" for a folder, or the workspace's own. More than 2 GiB are EFBIG.
func (w *Workspace) ReadFile(abs string) ([]byte, error) { return w.ReadUpTo(abs, maxRead) }

// ReadUpTo is like ReadFile, but more than limit bytes are EFBIG.
func (w *Workspace) ReadUpTo(abs string, limit int64) (data []byte, err error) {
	err = w.withLocation(request{abs, true, toRead}, func(p location) (err error) {
		data, err = p.root.tree.ReadFile(p.rel, min(limit, maxRead))
		return err
	})
	return data, wrap(readOp(err), abs, err)
}

// Open opens the regular file abs for reading. The caller closes it. Errors are as for
// [Workspace.ReadFile].
func (w *Workspace) Open(abs string) (f *os.File, info Info, err error) {
	err = w.withLocation(request{abs, true, toRead}, func(p location) (err error) {
		f, info, err = tree.RegularFile(p.root.tree.Open(p.rel, os.O_RDONLY))
		return err
	})
	if err != nil {
		return nil, Info{}, wrap(readOp(err), abs, err)
	}
	return f, info, nil
}

// readOp returns the system call that failed: a folder can be opened, but not read.
func readOp(err error) string {
	if err == syscall.EISDIR {
		return "read"
	}
	return "open"
}

// maxRead limits the size of a file that is read whole, in bytes.
const maxRead = 1<<31 - 1

// Stat describes the file abs. With follow it follows a link in the last part. Errors are
// *fs.PathError with Op "stat", or the workspace's own.
func (w *Workspace) Stat(abs string, follow bool) (info Info, err error) {
	err = w.withLocation(request{abs, follow, toRead}, func(p location) (err error) {
		info, err = p.root.tree.Stat(p.rel)
		if err == nil && follow && info.IsLink() {
			return syscall.ELOOP
		}
		return err
	})
	if err != nil {
		return Info{}, wrap("stat", abs, err)
	}
	return info, nil
}

// Readlink returns the target of the symbolic link abs as it is stored. Errors are *fs.PathError with
// Op "readlink", or the workspace's own.
func (w *Workspace) Readlink(abs string) (target string, err error) {
	err = w.withLocation(request{abs, false, toRead}, func(p location) error {
		dir, err := p.root.tree.OpenFolder(p.parent().rel)
		if err != nil {
			return err
		}
		defer dir.Close()
		target, err = dir.Readlink(p.base())
		return err
	})
	return target, wrap("readlink", abs, err)
}

// ReadDir returns the entries of the folder abs in no particular order, without [Hidden] names. Errors
// are *fs.PathError with Op "scandir", or the workspace's own.
func (w *Workspace) ReadDir(abs string) (entries []Entry, err error) {
	err = w.withLocation(request{abs, true, toRead}, func(p location) error {
		d, err := p.root.tree.OpenFolder(p.rel)
		if err != nil {
			return err
		}
		defer d.Close()
		entries, err = d.Entries()
		return err
	})
	entries = slices.DeleteFunc(entries, func(e Entry) bool { return Hidden(e.Name) })
	return entries, wrap("scandir", abs, err)
}

// Flush makes regular files durable: first their contents, then their names. It flushes several files
// at a time, so that the disk can write them together. Errors are as for [Workspace.ReadFile].
func (w *Workspace) Flush(abs ...string) error {
	errs := make([]error, len(abs))
	var all errgroup.Group
	all.SetLimit(8) // limits the open files
	for i, name := range abs {
		all.Go(func() error {
			f, _, err := w.Open(name)
			if err == nil {
				err = tree.Datasync(f)
				f.Close()
			}
			errs[i] = err
			return nil
		})
	}
	all.Wait()
	var folders []string
	for _, name := range abs {
		if dir := filepath.Dir(name); !slices.Contains(folders, dir) {
			folders = append(folders, dir)
		}
	}
	for _, dir := range folders {
		errs = append(errs, w.withLocation(request{dir, true, toRead}, func(p location) error {
			d, err := p.root.tree.OpenFolder(p.rel)
			if err != nil {
				return err
			}
			defer d.Close()
			return syncFolders([]tree.Folder{d})
		}))
	}
	return errors.Join(errs...)
}
