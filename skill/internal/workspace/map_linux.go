package workspace

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Map puts the first size bytes of an open file into memory, to be read there until
// unmap is called. It is for files that do not change. Of one that becomes shorter,
// a byte behind the end faults: whoever reads sets [runtime/debug.SetPanicOnFault].
// Files of which another machine or another program has to be asked are
// [errors.ErrUnsupported], and so is everything where the system is not Linux.
func Map(f interface{ Fd() uintptr }, size int64) (data []byte, unmap func(), err error) {
	fd := int(f.Fd())
	if int64(int(size)) != size || !isLocal(fd) {
		return nil, nil, errors.ErrUnsupported
	}
	data, err = unix.Mmap(fd, 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	return data, func() { unix.Munmap(data) }, err
}
