//go:build unix

package tree

import "golang.org/x/sys/unix"

// TryLock locks an open folder with flock, shared or exclusive, and reports whether
// it did: it does not wait for others. A file system without locks counts as free.
func TryLock(fd int, exclusive bool) (bool, error) {
	how := unix.LOCK_SH
	if exclusive {
		how = unix.LOCK_EX
	}
	for {
		switch err := unix.Flock(fd, how|unix.LOCK_NB); err {
		case nil, unix.ENOLCK, unix.ENOTSUP, unix.ENOSYS:
			return true, nil
		case unix.EWOULDBLOCK:
			return false, nil
		case unix.EINTR:
		default:
			return false, err
		}
	}
}

// Unlock releases a lock before its descriptor is closed.
func Unlock(fd int) { unix.Flock(fd, unix.LOCK_UN) }
