//go:build unix

package workspace

import "golang.org/x/sys/unix"

// tryFlock takes the lock if nobody holds one against it. File systems without
// locks count as free.
func tryFlock(fd int, exclusive bool) (bool, error) {
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

// unlock gives a lock back before its descriptor is closed.
func unlock(fd int) { unix.Flock(fd, unix.LOCK_UN) }
