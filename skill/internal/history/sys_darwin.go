package history

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func identify(path string) (identity, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return identity{}, err
	}
	st := info.Sys().(*syscall.Stat_t)
	return identity{
		dev: uint64(st.Dev), ino: st.Ino, born: st.Birthtimespec.Nano(),
		owner: int(st.Uid), mode: uint32(st.Mode) & 0o7777, folder: info.IsDir(),
	}, nil
}

func keyOf(path string, id identity) string {
	name := fmt.Append(nil, "history ", logVersion, id.ino, id.born)
	if id.born == 0 {
		name = append(name, path...)
	}
	sum := sha256.Sum256(name)
	return hex.EncodeToString(sum[:16])
}

// seenAt returns the zero value: keyOf suffices.
func seenAt(string) seen { return seen{} }

func fsync(fd int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_FULLFSYNC, 0)
	return err
}

// setTime sets the modification time of an open file.
func setTime(f *os.File, mtime time.Time) {
	tv := unix.NsecToTimeval(mtime.UnixNano())
	unix.Futimes(int(f.Fd()), []unix.Timeval{tv, tv})
}
