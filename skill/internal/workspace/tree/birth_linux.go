package tree

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Birth returns when the file at abs was made, zero if that is not known or
// something else than id is there by now.
func Birth(abs string, id FileID) time.Time {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, abs, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME|unix.STATX_INO, &st)
	here := FileID{Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino}
	if err != nil || here != id || st.Mask&unix.STATX_BTIME == 0 {
		return time.Time{}
	}
	return time.Unix(st.Btime.Sec, int64(st.Btime.Nsec))
}

// Boot returns a text that is another one after each start of the system, "" if that is not known.
func Boot() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return string(id)
}
