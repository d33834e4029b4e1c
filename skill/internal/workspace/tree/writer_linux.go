package tree

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// HasWriter reports whether any program has a regular file open for writing, also of another user or container, or
// has mapped it for writing. It asks for a lease, which the system gives only if there is no writer, and returns it
// at once. An error means that the system does not give leases of the file.
//
// A program that starts another one has its files open twice until that one begins. So HasWriter asks again until it has
// waited for twice the patience, unless that is 0.
func HasWriter(d Folder, name string, patience time.Duration) (bool, error) {
	f, _, err := d.OpenContent(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	for wait := time.Millisecond; ; wait *= 2 {
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
		if !errors.Is(err, unix.EAGAIN) || wait > patience {
			break
		}
		time.Sleep(wait)
	}
	if errors.Is(err, unix.EAGAIN) {
		return true, nil
	}
	if err == nil {
		unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	}
	return false, err
}
