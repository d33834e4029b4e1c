package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// replace gives the file name in d, which is locked, the content that write
// produces. old describes the file that is there, with the mode that it is to
// have; it is nil if there must be none.
//
// The content is finished in a new file, which then takes the old one's place in
// one rename. A file with several links, of an owner or with attributes that
// cannot be kept, in a folder that cannot be written, or that something is mounted
// on, is overwritten in place instead.
func (w *Workspace) replace(d folder, name string, old *Info, write fill) error {
	n, err := create(d, old != nil, write)
	if old != nil && n == nil && refusesNew(err) {
		return w.overwriteFrom(d, name, write)
	}
	if err != nil {
		return err
	}
	defer n.close()
	if old != nil && (old.Links > 1 || !keepAll(n.file, d, name, *old)) {
		return w.overwrite(n.file, d, name)
	}
	err = w.install(n, name, old != nil)
	if old != nil && errors.Is(err, syscall.EBUSY) {
		return w.overwrite(n.file, d, name)
	}
	return err
}

// newFile is a file that has not taken its place yet.
type newFile struct {
	file  *os.File
	dir   folder
	named bool // it bears the temporary name
}

// create makes a file in d, without a name where the system can, and fills it.
// What is private stays private: the mode is set once the content is there. The
// file is nil if it could not be made at all.
func create(d folder, private bool, write fill) (*newFile, error) {
	perm := fs.FileMode(0o666)
	if private {
		perm = 0o600
	}
	n := &newFile{dir: d}
	var err error
	if n.file, err = d.unnamed(perm); err != nil {
		n.file, err = d.openFile(tempName, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
		n.named = true
	}
	if err != nil {
		return nil, err
	}
	if err = write(n.file); err != nil {
		n.close()
		return n, cause(err)
	}
	return n, nil
}

// close gives the file up unless it was installed.
func (n *newFile) close() {
	n.file.Close()
	if n.named {
		n.dir.remove(tempName, false)
	}
}

func refusesNew(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// install gives a finished file its name.
func (w *Workspace) install(n *newFile, name string, replace bool) error {
	if err := w.flush(n.file); err != nil {
		return cause(err)
	}
	if !n.named && !replace {
		return n.dir.link(n.file, name)
	}
	if !n.named {
		if err := n.dir.link(n.file, tempName); err != nil {
			return err
		}
		n.named = true
	}
	err := n.dir.rename(tempName, n.dir, name, replace)
	n.named = err != nil
	return err
}

// flush makes the content of f durable, unless the workspace is opened without.
func (w *Workspace) flush(f *os.File) error {
	if w.opts.NoSync {
		return nil
	}
	return datasync(f)
}

// overwriteFrom is overwrite with what write produces, by way of a private file
// outside, so that a write that fails changes nothing.
func (w *Workspace) overwriteFrom(d folder, name string, write fill) error {
	f, err := os.CreateTemp("", "skill-*")
	if err != nil {
		return err
	}
	defer f.Close()
	defer os.Remove(f.Name())
	if err := write(f); err != nil {
		return cause(err)
	}
	return w.overwrite(f, d, name)
}

// overwrite changes the bytes of a file in place to those of full. The room is
// reserved first, where the system can, so that a full disk changes nothing.
func (w *Workspace) overwrite(full *os.File, d folder, name string) error {
	dst, err := d.openFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer dst.Close()
	old, err := regularInfo(dst)
	if err != nil {
		return err
	}
	size, err := full.Seek(0, io.SeekEnd)
	if err != nil {
		return cause(err)
	}
	if err := reserve(dst, size); err != nil {
		dst.Truncate(old.Size)
		d.chtimes(name, old)
		return err
	}
	if _, err := full.Seek(0, io.SeekStart); err != nil {
		return cause(err)
	}
	if _, err := io.Copy(dst, full); err != nil {
		return cause(err)
	}
	if err := dst.Truncate(size); err != nil {
		return cause(err)
	}
	return cause(w.flush(dst))
}
