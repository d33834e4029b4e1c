package state

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"syscall"

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

func keyOf(_ string, id identity) string {
	sum := sha256.Sum256(fmt.Append(nil, id.ino, id.born))
	return hex.EncodeToString(sum[:16])
}

func fsync(fd int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_FULLFSYNC, 0)
	return err
}
