package workspace

import (
	"io"
	"io/fs"
	"os"
	"syscall"
)

// A NotRegularError reports a FIFO, socket or device where a file was expected.
type NotRegularError struct{ Kind string }

func (e *NotRegularError) Error() string {
	return "it is a " + e.Kind + ", and only regular files are read and written"
}

// regular fails for what is not a regular file.
func regular(mode fs.FileMode) error {
	switch mode.Type() {
	case 0:
		return nil
	case fs.ModeDir:
		return syscall.EISDIR
	case fs.ModeSymlink:
		return syscall.ELOOP
	case fs.ModeNamedPipe:
		return &NotRegularError{"named pipe"}
	case fs.ModeSocket:
		return &NotRegularError{"socket"}
	}
	return &NotRegularError{"device"}
}

// wrap gives err the name of the system call and the path that the caller knows.
// The workspace's own errors name their path themselves.
func wrap(op, abs string, err error) error {
	switch err.(type) {
	case nil:
		return nil
	case *OutsideError, *DeniedError, *fs.PathError, *os.LinkError:
		return err
	}
	return &fs.PathError{Op: op, Path: abs, Err: err}
}

func wrap2(op, from, to string, err error) error {
	switch err.(type) {
	case nil:
		return nil
	case *OutsideError, *DeniedError, *fs.PathError, *os.LinkError:
		return err
	}
	return &os.LinkError{Op: op, Old: from, New: to, Err: err}
}

// ReadFile returns the bytes of the regular file at the absolute name abs.
// Errors are *fs.PathError with Op "open" or "read" (a folder), or the
// workspace's own.
func (w *Workspace) ReadFile(abs string) (data []byte, err error) {
	err = w.at(abs, true, toRead, func(p place) error {
		data, err = p.root.tree.readFile(p.rel)
		return err
	})
	if err == syscall.EISDIR {
		return nil, &fs.PathError{Op: "read", Path: abs, Err: err}
	}
	return data, wrap("open", abs, err)
}

// Open opens the regular file abs for reading. The caller closes it. Errors are
// as those of [Workspace.ReadFile].
func (w *Workspace) Open(abs string) (*os.File, Info, error) {
	var f *os.File
	var info Info
	err := w.at(abs, true, toRead, func(p place) (err error) {
		f, err = p.root.tree.open(p.rel, os.O_RDONLY)
		if err != nil {
			return err
		}
		info, err = regularInfo(f)
		if err != nil {
			f.Close()
		}
		return err
	})
	if err == syscall.EISDIR {
		return nil, Info{}, &fs.PathError{Op: "read", Path: abs, Err: err}
	}
	return f, info, wrap("open", abs, err)
}

func regularInfo(f *os.File) (Info, error) {
	fi, err := f.Stat()
	if err != nil {
		return Info{}, cause(err)
	}
	return infoOf(fi), regular(fi.Mode())
}

func readRegular(f *os.File) ([]byte, error) {
	if _, err := regularInfo(f); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	return data, cause(err)
}

// Stat describes what is at the absolute name abs; follow says whether a link in
// the last part leads on. Errors are *fs.PathError with Op "stat", or the
// workspace's own.
func (w *Workspace) Stat(abs string, follow bool) (info Info, err error) {
	err = w.at(abs, follow, toRead, func(p place) error {
		info, err = p.root.tree.stat(p.rel)
		if err == nil && follow && info.isLink() {
			return syscall.ELOOP
		}
		return err
	})
	return info, wrap("stat", abs, err)
}

// Readlink returns the target of the symbolic link at abs, as it is written there.
func (w *Workspace) Readlink(abs string) (target string, err error) {
	err = w.at(abs, false, toRead, func(p place) error {
		dir, err := p.root.tree.folder(p.parent().rel)
		if err != nil {
			return err
		}
		defer dir.close()
		target, err = dir.readlink(p.base())
		return err
	})
	return target, wrap("readlink", abs, err)
}

// Entry is one name in a folder.
type Entry struct {
	Name string
	Type fs.FileMode // the type bits only; of a link itself
}

// ReadDir returns the entries of the folder abs in no order, without those that
// are [Hidden]. Errors are *fs.PathError with Op "scandir", or the workspace's own.
func (w *Workspace) ReadDir(abs string) (entries []Entry, err error) {
	err = w.at(abs, true, toRead, func(p place) error {
		f, err := p.root.tree.open(p.rel, os.O_RDONLY|directory)
		if err != nil {
			return err
		}
		defer f.Close()
		entries, err = list(f)
		return err
	})
	return entries, wrap("scandir", abs, err)
}

func list(f *os.File) ([]Entry, error) {
	if fi, err := f.Stat(); err != nil {
		return nil, cause(err)
	} else if !fi.IsDir() {
		return nil, syscall.ENOTDIR
	}
	dirents, err := f.ReadDir(-1)
	if err != nil {
		return nil, cause(err)
	}
	entries := make([]Entry, 0, len(dirents))
	for _, d := range dirents {
		if !Hidden(d.Name()) {
			entries = append(entries, Entry{d.Name(), d.Type()})
		}
	}
	return entries, nil
}
