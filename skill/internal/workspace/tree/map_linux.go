package tree

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Map maps the first size bytes of an open file into memory, to be read until unmap
// is called. If the file becomes shorter meanwhile, reading a byte after its end
// faults: the reader sets [runtime/debug.SetPanicOnFault]. Files that are not on a
// local file system are [errors.ErrUnsupported], and so are all files on systems
// other than Linux.
func Map(f interface{ Fd() uintptr }, size int64) (data []byte, unmap func(), err error) {
	fd := int(f.Fd())
	if int64(int(size)) != size || !isLocal(fd) {
		return nil, nil, errors.ErrUnsupported
	}
	data, err = unix.Mmap(fd, 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	return data, func() { unix.Munmap(data) }, err
}
