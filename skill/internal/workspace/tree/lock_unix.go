//go:build unix

package tree

import "golang.org/x/sys/unix"

// TryLock locks an open folder with flock, shared or exclusive. It returns false instead of waiting
// for another lock. On a file system without locks it returns true.
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
