package tree

import "golang.org/x/sys/unix"

// SetWaiting tells other processes that this one waits for the exclusive lock of an open
// folder, or no longer waits: shared locks that follow one another would otherwise never
// leave a gap. The sign is a read lock on the folder's first byte, which ends when the
// descriptor is closed.
func SetWaiting(fd int, waiting bool) {
	sign := unix.Flock_t{Type: unix.F_RDLCK, Len: 1}
	if !waiting {
		sign.Type = unix.F_UNLCK
	}
	unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &sign)
}

// Waiting reports whether a process waits for the exclusive lock of an open folder.
func Waiting(fd int) bool {
	sign := unix.Flock_t{Type: unix.F_WRLCK, Len: 1}
	return unix.FcntlFlock(uintptr(fd), unix.F_OFD_GETLK, &sign) == nil && sign.Type != unix.F_UNLCK
}
