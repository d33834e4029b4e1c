package workspace

import (
	"os"

	"golang.org/x/sys/unix"
)

// announce says, or takes back, that somebody waits to have f's lock alone: those
// who share it would else never leave a gap. The sign is a read lock on the
// folder's first byte, which goes with the descriptor.
func announce(f *os.File, waiting bool) {
	sign := unix.Flock_t{Type: unix.F_RDLCK, Len: 1}
	if !waiting {
		sign.Type = unix.F_UNLCK
	}
	unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &sign)
}

// announced tells whether somebody waits to have f's lock alone.
func announced(f *os.File) bool {
	sign := unix.Flock_t{Type: unix.F_WRLCK, Len: 1}
	return unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &sign) == nil && sign.Type != unix.F_UNLCK
}
