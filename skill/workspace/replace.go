package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// replace gives the file name in d, which is locked, the content that write
// produces. old describes the file that is there, nil if there must be none.
//
// The content is finished in a new file, which then takes the old one's place in
// one rename. A file with several links, of an owner that cannot be kept, or in a
// folder that cannot be written is overwritten in place instead.
func (w *Workspace) replace(d folder, name string, old *Info, write fill) error {
	f, named, err := newFile(d, old)
	if refusesNew(err) && old != nil {
		return w.overwrite(nil, d, name, write)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	err = write(f)
	if err == nil && old != nil {
		if old.Links > 1 || !keepAll(f, d, name, *old) {
			err = w.overwrite(f, d, name, nil)
			if named {
				d.remove(tempName, false)
			}
			return cause(err)
		}
	}
	if err == nil {
		err = w.flush(f)
	}
	if err == nil {
		err = install(f, named, d, name, old != nil)
	}
	if err != nil && named {
		d.remove(tempName, false)
	}
	return cause(err)
}

// newFile makes an empty file in d, without a name where the system can.
func newFile(d folder, old *Info) (f *os.File, named bool, err error) {
	perm := fs.FileMode(0o666)
	if old != nil {
		perm = 0o600 // until the old file's mode is set
	}
	f, err = d.unnamed(perm)
	if err == nil {
		return f, false, nil
	}
	f, err = d.openFile(tempName, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm)
	return f, true, err
}

func refusesNew(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// install gives a finished file its name.
func install(f *os.File, named bool, d folder, name string, replace bool) error {
	if !named {
		if !replace {
			return d.link(f, name)
		}
		if err := d.link(f, tempName); err != nil {
			return err
		}
	}
	err := d.rename(tempName, d, name, replace)
	if err != nil {
		d.remove(tempName, false)
	}
	return err
}

// overwrite changes the bytes of a file in place. They come from full, or where
// that is nil from write by way of a private file, so that a failing write changes
// nothing.
func (w *Workspace) overwrite(full *os.File, d folder, name string, write fill) error {
	if full == nil {
		f, err := os.CreateTemp("", "skill-*")
		if err != nil {
			return err
		}
		defer f.Close()
		os.Remove(f.Name())
		if err := write(f); err != nil {
			return err
		}
		full = f
	}
	dst, err := d.openFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer dst.Close()
	if _, err := regularInfo(dst); err != nil {
		return err
	}
	if _, err := full.Seek(0, io.SeekStart); err != nil {
		return err
	}
	n, err := io.Copy(dst, full)
	if err != nil {
		return err
	}
	if err := dst.Truncate(n); err != nil {
		return err
	}
	return w.flush(dst)
}
