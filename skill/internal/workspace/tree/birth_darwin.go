package tree

import (
	"syscall"
	"time"
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
