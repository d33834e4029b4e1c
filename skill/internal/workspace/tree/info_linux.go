package tree

import (
	"io/fs"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// times returns when a file was last read and when its inode last changed.
func times(st *syscall.Stat_t) (accessed, changed time.Time) {
	return time.Unix(st.Atim.Unix()), time.Unix(st.Ctim.Unix())
}

func infoFromStat(st *unix.Stat_t) Info {
	return Info{
		Mode: modeFromStat(uint32(st.Mode)), Size: st.Size,
		ModTime:  time.Unix(st.Mtim.Unix()),
		Accessed: time.Unix(st.Atim.Unix()),
		Changed:  time.Unix(st.Ctim.Unix()),
		Links:    uint64(st.Nlink), UID: st.Uid, GID: st.Gid,
		ID: FileID{uint64(st.Dev), uint64(st.Ino)},
	}
}

func infoFromStatx(st *unix.Statx_t) Info {
	return Info{
		Mode: modeFromStat(uint32(st.Mode)), Size: int64(st.Size),
		ModTime:  time.Unix(st.Mtime.Sec, int64(st.Mtime.Nsec)),
		Accessed: time.Unix(st.Atime.Sec, int64(st.Atime.Nsec)),
		Changed:  time.Unix(st.Ctime.Sec, int64(st.Ctime.Nsec)),
		Links:    uint64(st.Nlink), UID: st.Uid, GID: st.Gid,
		ID: FileID{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino},
	}
}

// modeFromStat converts st_mode to a FileMode.
func modeFromStat(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	switch m & unix.S_IFMT {
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	}
	if m&unix.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if m&unix.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if m&unix.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}

// statBits converts the permission bits of a FileMode to bits of st_mode.
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
