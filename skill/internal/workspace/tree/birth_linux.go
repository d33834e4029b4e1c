package tree

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Birth returns the creation time of the file id at abs. It is zero if the time is unknown or another
// file is there now.
func Birth(abs string, id FileID) time.Time {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, abs, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME|unix.STATX_INO, &st)
	here := FileID{Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino}
	if err != nil || here != id || st.Mask&unix.STATX_BTIME == 0 {
		return time.Time{}
	}
	return time.Unix(st.Btime.Sec, int64(st.Btime.Nsec))
}

// Boot returns the ID of this boot of the system, "" if the ID is unknown.
func Boot() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(id)
}
