package tree

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"syscall"
)

// A File is an open regular file.
type File struct {
	f    file
	size int64
}

// file is the implementation of a File.
type file interface {
	Read(p []byte) (int, error)
	ReadAt(p []byte, off int64) (int, error)
	Fd() uintptr
	Close() error
}

// Size returns the size of the file when it was opened. It is 0 for files of /proc, which have their
// content generated on reading.
func (f File) Size() int64 { return f.size }

// Read makes one read system call. At the end it returns [io.EOF].
func (f File) Read(p []byte) (int, error) { return f.f.Read(p) }

// ReadAt implements [io.ReaderAt]. Several goroutines may call it at a time.
func (f File) ReadAt(p []byte, off int64) (int, error) { return f.f.ReadAt(p, off) }

// Fd returns the file's descriptor, which is valid until Close.
func (f File) Fd() uintptr { return f.f.Fd() }

// headOf implements [Dir].Head with Open.
func headOf(d Dir, name, buf []byte) (n int, rest *File, err error) {
	f, err := d.Open(name)
	if err != nil {
		return 0, nil, err
	}
	for n < len(buf) && err == nil {
		var m int
		m, err = f.Read(buf[n:])
		n += m
	}
	if err == nil {
		return n, &f, nil
	}
	f.Close()
	if err == io.EOF {
		err = nil
	}
	return n, nil, err
}

// Close closes the file.
func (f File) Close() error { return f.f.Close() }

// ReadAll reads the whole file. More than limit bytes are EFBIG.
func (f File) ReadAll(limit int64) ([]byte, error) {
	if f.size > limit {
		return nil, syscall.EFBIG
	}
	return ReadSized(f.size, limit, f.Read)
}

// A NotRegularError reports a FIFO, socket or device where a file was expected.
type NotRegularError struct{ Kind string }

func (e *NotRegularError) Error() string {
	return "it is a " + e.Kind + ", and only regular files are read and written"
}

// CheckRegular fails unless mode is of a regular file: with EISDIR for a folder, ELOOP for a link,
// else a [*NotRegularError].
func CheckRegular(mode fs.FileMode) error {
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

// RegularFile wraps the results of a call that opens a file, and adds the file's description. It
// closes a file that is not regular and returns the error of [CheckRegular].
func RegularFile(f *os.File, err error) (*os.File, Info, error) {
	if err != nil {
		return nil, Info{}, err
	}
	info, err := StatRegular(f)
	if err != nil {
		f.Close()
		return nil, Info{}, err
	}
	return f, info, nil
}

// StatRegular describes an open file. If the file is not regular, it also returns the error of
// [CheckRegular].
func StatRegular(f *os.File) (Info, error) {
	fi, err := f.Stat()
	if err != nil {
		return Info{}, Cause(err)
	}
	return InfoOf(fi), CheckRegular(fi.Mode())
}

// ReadSized reads a file to its end. size is a guess for the buffer. More than limit bytes are
// EFBIG.
func ReadSized(size, limit int64, read func([]byte) (int, error)) ([]byte, error) {
	if size > limit || size >= math.MaxInt { // an int may have 32 bits
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
		case n == len(buf): // the file grew, or it is in /proc and its size is given as 0
			buf = append(buf, make([]byte, max(4096, n))...)
		}
	}
}

// Cause removes the operation and path that package os adds to an error. The path is relative to a
// folder that the reader of the error does not know.
func Cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	return err
}
