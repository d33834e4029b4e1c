//go:build linux || darwin

package tree

import (
	"os"

	"golang.org/x/sys/unix"
)

const nonblock = unix.O_NONBLOCK | unix.O_NOCTTY

// mayWrite fails if this process may not change the file or folder.
func mayWrite(info Info) error {
	uid := os.Geteuid()
	bits := uint32(info.Mode.Perm())
	switch {
	case uid == 0:
		return nil
	case uint32(uid) == info.UID:
		bits >>= 6
	case inGroup(info.GID):
		bits >>= 3
	}
	if bits&2 == 0 {
		return unix.EACCES
	}
	return nil
}

func inGroup(gid uint32) bool {
	groups, _ := os.Getgroups()
	for _, g := range append(groups, os.Getegid()) {
		if uint32(g) == gid {
			return true
		}
	}
	return false
}
