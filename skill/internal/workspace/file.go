package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// A File is an open regular file.
type File struct {
	f    file
	size int64
}

// file is what a File reads from.
type file interface {
	Read(p []byte) (int, error)
	ReadAt(p []byte, off int64) (int, error)
	Fd() uintptr
	Close() error
}

// Size returns how many bytes the file had when it was opened. Files of the
// system that are made when they are read say 0.
func (f File) Size() int64 { return f.size }

// Read reads what one system call returns; the end is [io.EOF].
func (f File) Read(p []byte) (int, error) { return f.f.Read(p) }

// ReadAt reads as [io.ReaderAt] does, from several goroutines if need be.
func (f File) ReadAt(p []byte, off int64) (int, error) { return f.f.ReadAt(p, off) }

// Fd returns the file's descriptor, which is good until Close.
func (f File) Fd() uintptr { return f.f.Fd() }

// Close closes the file.
func (f File) Close() error { return f.f.Close() }

// ReadAll reads the file whole. One of more than limit bytes fails with EFBIG.
func (f File) ReadAll(limit int64) ([]byte, error) {
	if f.size > limit {
		return nil, syscall.EFBIG
	}
	return readSized(f.size, limit, f.Read)
}

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

// regularFile is a file that was opened, with its description. One that is not
// regular is closed, and an error.
func regularFile(f *os.File, err error) (*os.File, Info, error) {
	if err != nil {
		return nil, Info{}, err
	}
	info, err := regularInfo(f)
	if err != nil {
		f.Close()
		return nil, Info{}, err
	}
	return f, info, nil
}

func regularInfo(f *os.File) (Info, error) {
	fi, err := f.Stat()
	if err != nil {
		return Info{}, cause(err)
	}
	return infoOf(fi), regular(fi.Mode())
}

// readSized reads a file of about that size, and of no more bytes than the limit, to
// its end.
func readSized(size, limit int64, read func([]byte) (int, error)) ([]byte, error) {
	if size > limit {
		return nil, syscall.EFBIG
	}
	buf := make([]byte, size+1)
	for n := 0; ; {
		m, err := read(buf[n:])
		n += max(m, 0)
		switch {
		case err != nil && err != io.EOF:
			return nil, err
		case int64(n) > limit:
			return nil, syscall.EFBIG
		case m <= 0 || n == int(size) && size > 0:
			return buf[:n:n], nil
		case n == len(buf): // it grew, or it is one of those that say 0
			buf = append(buf, make([]byte, max(4096, n))...)
		}
	}
}

// cause takes package os's wrapping off: whoever asked knows the name.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	return err
}
