package tree

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Birth returns the creation time of the file id at abs. It is zero if another file is there now.
func Birth(abs string, id FileID) time.Time {
	var st syscall.Stat_t
	err := syscall.Lstat(abs, &st)
	if err != nil || id != (FileID{Dev: uint64(st.Dev), Ino: st.Ino}) {
		return time.Time{}
	}
	return time.Unix(st.Birthtimespec.Unix())
}

// Boot returns the ID of this boot of the system, "" if the ID is unknown.
func Boot() string {
	id, _ := unix.Sysctl("kern.bootsessionuuid")
	return id
}
