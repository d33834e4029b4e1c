package tree

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Datasync makes the content of a file durable. On btrfs it flushes everything, see [FlushesAll].
func Datasync(f *os.File) error {
	fd := int(f.Fd())
	if FlushesAll(fd) {
		return unix.Syncfs(fd)
	}
	return unix.Fdatasync(fd)
}

// FlushesAll reports whether a file needs a flush of its whole file system, which is true on btrfs.
// An fsync on btrfs writes a log with perhaps half of an exchange of two names. A power cut then
// leaves neither file (Linux 6.18, one cut in 300). Syncfs writes all in one transaction.
func FlushesAll(fd int) bool {
	var st unix.Statfs_t
	return unix.Fstatfs(fd, &st) == nil && st.Type == unix.BTRFS_SUPER_MAGIC
}

// Syncfs makes everything on the file system of d durable.
func Syncfs(d Folder) error {
	fd, ok := d.FD()
	if !ok {
		return nil
	}
	return unix.Syncfs(fd)
}

// Reserve allocates disk space for size bytes in f without changing its size. It does nothing if the
// file system cannot.
func Reserve(f *os.File, size int64) error {
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

// CopyMetadata gives f the owner, mode and extended attributes of the file name in d. old describes
// that file, which f will replace. CopyMetadata returns false if it cannot.
func CopyMetadata(f *os.File, d Folder, name string, old Info) bool {
	src, err := d.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer src.Close()
	return CopyMetadataFrom(f, File{f: src}, old)
}

// CopyMetadataFrom is CopyMetadata for an open file. For the zero File it returns false.
func CopyMetadataFrom(f *os.File, src File, old Info) bool {
	fd := int(f.Fd())
	var st unix.Stat_t
	if src.f == nil || !copyAttributes(int(src.Fd()), fd) || unix.Fstat(fd, &st) != nil {
		return false
	}
	if st.Uid != old.UID || st.Gid != old.GID {
		return unix.Fchown(fd, int(old.UID), int(old.GID)) == nil &&
			unix.Fchmod(fd, statBits(old.Mode)) == nil
	}
	return st.Mode&0o7777 == statBits(old.Mode) || unix.Fchmod(fd, statBits(old.Mode)) == nil
}

// copyAttributes copies the extended attributes of a file.
func copyAttributes(from, to int) bool { return setAttributes(to, attributes(from)) }

// setAttributes gives a file attributes. It removes access lists that the file got from its folder. If the system does
// not allow attributes of a file that may not be written, the file gets other permissions first.
func setAttributes(fd int, list iter.Seq2[string, []byte]) bool {
	given := map[string]bool{}
	for attr, value := range list {
		if value == nil {
			return false
		}
		err := unix.Fsetxattr(fd, attr, value, 0)
		if err == unix.EACCES && unix.Fchmod(fd, 0o700) == nil {
			err = unix.Fsetxattr(fd, attr, value, 0)
		}
		if err != nil {
			return false
		}
		given[attr] = true
	}
	for _, attr := range []string{"system.posix_acl_access", "system.posix_acl_default"} {
		if n, err := unix.Fgetxattr(fd, attr, nil); err == nil && n > 0 && !given[attr] &&
			unix.Fremovexattr(fd, attr) != nil {
			return false
		}
	}
	return true
}

// Attributes returns the extended attributes of a file or folder that CopyAttributes copies.
func Attributes(f *os.File) map[string][]byte { return maps.Collect(attributes(int(f.Fd()))) }

// SetAttributes gives a file or folder extended attributes, and no access lists but those. It returns false if it
// cannot.
func SetAttributes(f *os.File, list map[string][]byte) bool {
	return setAttributes(int(f.Fd()), maps.All(list))
}

// attributes iterates over the extended attributes of a file. The value of an unreadable attribute
// is nil. attributes skips security.*: security modules set these themselves, and any write to a
// file removes its capabilities.
func attributes(fd int) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		list, err := attribute(func(buf []byte) (int, error) { return unix.Flistxattr(fd, buf) })
		if err != nil && err != unix.EOPNOTSUPP {
			yield("", nil)
			return
		}
		for attr := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
			if attr == "" || strings.HasPrefix(attr, "security.") {
				continue
			}
			value, err := attribute(func(buf []byte) (int, error) { return unix.Fgetxattr(fd, attr, buf) })
			if err == nil && value == nil {
				value = []byte{}
			}
			if !yield(attr, value) {
				return
			}
		}
	}
}

// CopyAttributes copies the extended attributes of src to dst. It returns false if it cannot.
func CopyAttributes(dst, src *os.File) bool { return copyAttributes(int(src.Fd()), int(dst.Fd())) }

// AttributesSum returns a hash of the extended attributes that CopyAttributes copies, "" if the file
// has none.
func AttributesSum(f interface{ Fd() uintptr }) string {
	h, any := sha256.New(), false
	for attr, value := range attributes(int(f.Fd())) {
		any = true
		fmt.Fprintf(h, "%q %q\n", attr, value)
	}
	if !any {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// attribute calls get once for the size and once for the value.
func attribute(get func([]byte) (int, error)) ([]byte, error) {
	n, err := get(nil)
	if err != nil || n == 0 {
		return nil, err
	}
	buf := make([]byte, n)
	if n, err = get(buf); err != nil {
		return nil, err
	}
	return buf[:n], nil
}
