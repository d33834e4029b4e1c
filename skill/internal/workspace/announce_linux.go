package workspace

import "golang.org/x/sys/unix"

// announce says, or takes back, that somebody waits to have a folder's lock alone: those
// who share it would else never leave a gap. The sign is a read lock on the
// folder's first byte, which goes with the descriptor.
func announce(fd int, waiting bool) {
	sign := unix.Flock_t{Type: unix.F_RDLCK, Len: 1}
	if !waiting {
		sign.Type = unix.F_UNLCK
	}
	unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &sign)
}

// announced tells whether somebody waits to have a folder's lock alone.
func announced(fd int) bool {
	sign := unix.Flock_t{Type: unix.F_WRLCK, Len: 1}
	return unix.FcntlFlock(uintptr(fd), unix.F_OFD_GETLK, &sign) == nil && sign.Type != unix.F_UNLCK
}
