package workspace

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

func datasync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }

// syncAll makes everything durable on the file system of d.
func syncAll(d folder) error {
	fd, ok := d.descriptor()
	if !ok {
		return nil
	}
	return unix.Syncfs(fd)
}

// reserve makes sure that size bytes find room in f, whose size stays. A file
// system that cannot do that promises nothing.
func reserve(f *os.File, size int64) error {
	if size == 0 {
		return nil
	}
	for {
		switch err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, size); err {
		case unix.EINTR:
		case unix.EOPNOTSUPP, unix.ENOSYS:
			return nil
		default:
			return err
		}
	}
}

// keepAll gives f the owner, mode and extended attributes of the file name, which
// it is about to replace. It returns false where they cannot be kept.
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
	return keepAttributes(fd, d, name) && unix.Fchmod(fd, statBits(old.Mode)) == nil
}

// keepAttributes copies the extended attributes. Those of the security modules
// are theirs to give, and a file's capabilities are lost by any write to it.
func keepAttributes(to int, d folder, name string) bool {
	if k, ok := d.(*kernelFolder); ok {
		from, err := k.open(name, unix.O_RDONLY, 0)
		if err != nil {
			return false
		}
		defer unix.Close(from)
		return copyAttributes(from, to)
	}
	src, err := d.openFile(name, os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer src.Close()
	return copyAttributes(int(src.Fd()), to)
}

func copyAttributes(from, to int) bool {
	list, err := attribute(func(buf []byte) (int, error) { return unix.Flistxattr(from, buf) })
	if err != nil {
		return err == unix.EOPNOTSUPP
	}
	for attr := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		if attr == "" || strings.HasPrefix(attr, "security.") {
			continue
		}
		value, err := attribute(func(buf []byte) (int, error) { return unix.Fgetxattr(from, attr, buf) })
		if err == nil {
			err = unix.Fsetxattr(to, attr, value, 0)
		}
		if err != nil {
			return false
		}
	}
	return true
}

// attribute reads with get, which says how much there is when it is given no room.
func attribute(get func([]byte) (int, error)) ([]byte, error) {
	n, err := get(nil)
	if err != nil || n == 0 {
		return nil, err
	}
	buf := make([]byte, n)
	n, err = get(buf)
	return buf[:max(n, 0)], err
}
