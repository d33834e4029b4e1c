//go:build linux || darwin

package tree

import (
	"os"

	"golang.org/x/sys/unix"
)

// DataRange returns the first range at or after the offset at that is not a hole. size is the size
// of the file; from is size if only a hole follows. DataRange moves the file's offset.
func DataRange(f *os.File, at, size int64) (from, to int64) {
	return dataRange(int(f.Fd()), at, size)
}

func dataRange(fd int, at, size int64) (from, to int64) {
	from, err := unix.Seek(fd, at, unix.SEEK_DATA)
	switch {
	case err == unix.ENXIO || err == nil && from >= size:
		return size, size
	case err != nil:
		return at, size
	}
	to, err = unix.Seek(fd, from, unix.SEEK_HOLE)
	if err != nil || to > size {
		to = size
	}
	return from, to
}
