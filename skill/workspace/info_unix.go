//go:build linux || darwin

package workspace

import (
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

func infoOf(fi fs.FileInfo) Info {
	st := fi.Sys().(*syscall.Stat_t)
	accessed, changed := times(st)
	return Info{
		Mode: fi.Mode(), Size: fi.Size(), ModTime: fi.ModTime(), Accessed: accessed, Changed: changed,
		Links: uint64(st.Nlink), UID: st.Uid, GID: st.Gid,
		ID: FileID{uint64(st.Dev), uint64(st.Ino)},
	}
}

// statBits turns a FileMode's permission bits back into the system's.
func statBits(mode fs.FileMode) uint32 {
	m := uint32(mode.Perm())
	if mode&fs.ModeSetuid != 0 {
		m |= unix.S_ISUID
	}
	if mode&fs.ModeSetgid != 0 {
		m |= unix.S_ISGID
	}
	if mode&fs.ModeSticky != 0 {
		m |= unix.S_ISVTX
	}
	return m
}
