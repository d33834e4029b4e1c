package tree

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Map maps the first size bytes of an open file into memory. The caller may read data until it calls
// unmap. If the file is truncated meanwhile, reading after its end faults, so the caller must set
// [runtime/debug.SetPanicOnFault]. The error is [errors.ErrUnsupported] for a file that is not on a
// local file system, and on systems other than Linux.
func Map(f interface{ Fd() uintptr }, size int64) (data []byte, unmap func(), err error) {
	fd := int(f.Fd())
	if int64(int(size)) != size || !isLocal(fd) {
		return nil, nil, errors.ErrUnsupported
	}
	data, err = unix.Mmap(fd, 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	return data, func() { unix.Munmap(data) }, err
}
