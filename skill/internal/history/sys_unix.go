//go:build linux || darwin

package history

import (
	"os"

	"golang.org/x/sys/unix"
)

// removed reports whether an open file no longer has a name.
func removed(f *os.File) bool {
	var st unix.Stat_t
	return unix.Fstat(int(f.Fd()), &st) == nil && st.Nlink == 0
}

func writable(path string) bool {
	return unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK|unix.X_OK, unix.AT_EACCESS) == nil
}

// readFlags open a file to read it without waiting for the other end of a pipe.
const readFlags = os.O_RDONLY | unix.O_NONBLOCK
