package workspace

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

func datasync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }

// keepAll gives f the owner, mode and extended attributes of the file name, which
// it is about to replace. It returns false where the owner cannot be kept.
func keepAll(f *os.File, d folder, name string, old Info) bool {
	fd := int(f.Fd())
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return false
	}
	if st.Uid != old.UID || st.Gid != old.GID {
		if unix.Fchown(fd, int(old.UID), int(old.GID)) != nil {
			return false
		}
	}
	keepAttributes(f, d, name)
	return unix.Fchmod(fd, statBits(old.Mode)) == nil
}

// keepAttributes copies what another process may read and set. A file's
// capabilities are lost by any write to it, so they are not kept.
func keepAttributes(f *os.File, d folder, name string) {
	src, err := d.openFile(name, os.O_RDONLY, 0)
	if err != nil {
		return
	}
	defer src.Close()
	from, to := int(src.Fd()), int(f.Fd())
	var names [4096]byte
	n, err := unix.Flistxattr(from, names[:])
	if err != nil || n == 0 {
		return
	}
	for attr := range strings.SplitSeq(strings.TrimRight(string(names[:n]), "\x00"), "\x00") {
		if attr == "security.capability" {
			continue
		}
		size, err := unix.Fgetxattr(from, attr, nil)
		if err != nil {
			continue
		}
		value := make([]byte, size)
		if size, err = unix.Fgetxattr(from, attr, value); err == nil {
			unix.Fsetxattr(to, attr, value[:size], 0)
		}
	}
}
