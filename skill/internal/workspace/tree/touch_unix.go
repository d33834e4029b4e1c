//go:build unix

package tree

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Touch sets the times of a file to now. It needs no room on the disk.
func Touch(f *os.File) error {
	now := unix.NsecToTimeval(time.Now().UnixNano())
	return unix.Futimes(int(f.Fd()), []unix.Timeval{now, now})
}
