package tree

import "golang.org/x/sys/unix"

// SetWaiting says, or takes back, that somebody waits for the exclusive lock of an
// open folder: those who share the lock would otherwise never leave a gap. The sign
// is a read lock on the folder's first byte, which ends with the descriptor.
func SetWaiting(fd int, waiting bool) {
	sign := unix.Flock_t{Type: unix.F_RDLCK, Len: 1}
	if !waiting {
		sign.Type = unix.F_UNLCK
	}
	unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &sign)
}

// Waiting reports whether somebody waits for the exclusive lock of an open folder.
func Waiting(fd int) bool {
	sign := unix.Flock_t{Type: unix.F_WRLCK, Len: 1}
	return unix.FcntlFlock(uintptr(fd), unix.F_OFD_GETLK, &sign) == nil && sign.Type != unix.F_UNLCK
}
