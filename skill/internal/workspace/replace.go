package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"textskill/skill/internal/workspace/tree"
)

// replace gives the file p, whose folder d is locked, the content that write
// produces. old describes the file that is there, with the mode that it is to
// have; it is nil if there must be none.
//
// The content is finished in a new file, which then takes the old one's place in
// one step. A file with several links, of an owner or with attributes that
// cannot be kept, in a folder that cannot be written, or that something is mounted
// on, is overwritten in place instead.
func (w *Workspace) replace(ctx context.Context, c *Change, p location, d tree.Folder, old *Info, write fill) error {
	n, err := createFile(d, old != nil, write)
	if old != nil && n == nil && cannotCreate(err) {
		return w.overwriteFrom(ctx, c, p, d, write)
	}
	if err != nil {
		return err
	}
	defer n.close()
	if old != nil && (old.Links > 1 || !tree.CopyMetadata(n.file, d, p.base(), *old)) {
		return w.overwrite(ctx, c, p, d, n.file)
	}
	if err := w.flush(n.file); err != nil {
		return tree.Cause(err)
	}
	planned, err := w.planReplace(p, d, bySwap, n.file)
	if err != nil {
		return err
	}
	err = w.commit(ctx, c, planned, func(k *backup) error { return n.install(p.base(), old != nil, k) })
	if old != nil && errors.Is(err, syscall.EBUSY) {
		return w.overwrite(ctx, c, p, d, n.file)
	}
	return err
}

// newFile is a file that has not taken its place yet.
type newFile struct {
	file  *os.File
	dir   tree.Folder
	named bool // it bears the temporary name
}

// createFile makes a file in d, without a name where the system can, and fills it.
// What is private stays private: the mode is set once the content is there. The
// file is nil if it could not be made at all.
func createFile(d tree.Folder, private bool, write fill) (*newFile, error) {
	perm := fs.FileMode(0o666)
	if private {
		perm = 0o600
	}
	n := &newFile{dir: d}
	var err error
	if n.file, err = d.CreateUnnamed(perm); err != nil {
		n.file, err = d.OpenFile(tempName, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
		n.named = true
	}
	if err != nil {
		return nil, err
	}
	if err = write(n.file); err != nil {
		n.close()
		return n, tree.Cause(err)
	}
	return n, nil
}

// close gives the file up unless it was installed.
func (n *newFile) close() {
	n.file.Close()
	if n.named {
		n.dir.Remove(tempName, false)
	}
}

func cannotCreate(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// install gives a finished file its name. What it replaces goes to k.
func (n *newFile) install(name string, replace bool, k *backup) error {
	if !n.named && !replace {
		return n.dir.LinkUnnamed(n.file, name)
	}
	if replace && k != nil {
		if done, err := k.exchange(n, name); done || err != nil {
			return err
		}
	}
	if !n.named {
		if err := n.dir.LinkUnnamed(n.file, tempName); err != nil {
			return err
		}
		n.named = true
	}
	if replace && k == nil {
		if err := n.exchange(name); err == nil || !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	err := n.dir.Rename(tempName, n.dir, name, replace)
	n.named = err != nil
	return err
}

// exchange gives a file the name of another, which is removed. Some file systems write
// a file out that takes another's place by a rename, and are much slower at it.
func (n *newFile) exchange(name string) error {
	if err := n.dir.Exchange(tempName, n.dir, name); err != nil {
		return err
	}
	err := n.dir.Remove(tempName, false)
	if err != nil && n.dir.Exchange(tempName, n.dir, name) != nil {
		n.named = false // nothing is where it was: what is left under the name goes with the next change
	}
	n.named = n.named && err != nil
	return err
}

// flush makes the content of f durable, unless the workspace is opened without.
func (w *Workspace) flush(f *os.File) error {
	if w.opts.NoSync {
		return nil
	}
	return tree.Datasync(f)
}

// overwriteFrom is overwrite with what write produces, by way of a private file
// outside, so that a write that fails changes nothing.
func (w *Workspace) overwriteFrom(ctx context.Context, c *Change, p location, d tree.Folder, write fill) error {
	f, err := os.CreateTemp("", "skill-*")
	if err != nil {
		return err
	}
	defer f.Close()
	defer os.Remove(f.Name())
	if err := write(f); err != nil {
		return tree.Cause(err)
	}
	return w.overwrite(ctx, c, p, d, f)
}

// overwrite changes the bytes of the file p in place to those of full.
func (w *Workspace) overwrite(ctx context.Context, c *Change, p location, d tree.Folder, full *os.File) error {
	planned, err := w.planReplace(p, d, inPlace, full)
	if err != nil {
		return err
	}
	return w.commit(ctx, c, planned, func(k *backup) error {
		if k != nil {
			if err := k.copy(d, p.base()); err != nil {
				return err
			}
		}
		return w.overwriteBytes(full, d, p.base())
	})
}

// overwriteBytes makes the bytes of full those of the file name. The room is reserved first,
// where the system can, so that a full disk changes nothing.
func (w *Workspace) overwriteBytes(full *os.File, d tree.Folder, name string) error {
	dst, old, err := tree.RegularFile(d.OpenFile(name, os.O_WRONLY, 0))
	if err != nil {
		return err
	}
	defer dst.Close()
	size, err := full.Seek(0, io.SeekEnd)
	if err != nil {
		return tree.Cause(err)
	}
	if err := tree.Reserve(dst, size); err != nil {
		dst.Truncate(old.Size)
		d.Chtimes(name, old)
		return err
	}
	if _, err := full.Seek(0, io.SeekStart); err != nil {
		return tree.Cause(err)
	}
	if _, err := io.Copy(dst, full); err != nil {
		return tree.Cause(err)
	}
	if err := dst.Truncate(size); err != nil {
		return tree.Cause(err)
	}
	return tree.Cause(w.flush(dst))
}
