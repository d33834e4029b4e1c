package tree

import (
	"syscall"
	"time"
)

// times returns when a file was last read and when its inode last changed.
func times(st *syscall.Stat_t) (accessed, changed time.Time) {
	return time.Unix(st.Atimespec.Unix()), time.Unix(st.Ctimespec.Unix())
}
