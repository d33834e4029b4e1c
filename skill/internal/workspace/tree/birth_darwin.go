package tree

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Birth returns when the file at abs was made, zero if something else than id is
// there by now.
func Birth(abs string, id FileID) time.Time {
	var st syscall.Stat_t
	err := syscall.Lstat(abs, &st)
	if err != nil || id != (FileID{Dev: uint64(st.Dev), Ino: st.Ino}) {
		return time.Time{}
	}
	return time.Unix(st.Birthtimespec.Unix())
}

// Boot returns a text that is another one after each start of the system, "" if that is not known.
func Boot() string {
	id, _ := unix.Sysctl("kern.bootsessionuuid")
	return id
}
