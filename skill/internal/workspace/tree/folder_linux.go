package tree

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// A kernelFolder is a Folder of a kernelTree.
type kernelFolder struct {
	fd       int
	readable bool // false: fd is O_PATH, because the folder may not be read
	at       FileID
}

func newKernelFolder(fd int, readable bool) (Folder, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &kernelFolder{fd, readable, FileID{uint64(st.Dev), st.Ino}}, nil
}

func (d *kernelFolder) ID() FileID            { return d.at }
func (d *kernelFolder) FD() (fd int, ok bool) { return d.fd, d.readable }

func (d *kernelFolder) Close() error {
	fd := d.fd
	d.fd = -1
	return unix.Close(fd)
}

// Entries does not use package os, which would look up a name of unknown type by its path.
func (d *kernelFolder) Entries() (list []Entry, err error) {
	if !d.readable {
		return nil, unix.EACCES
	}
	if _, err := unix.Seek(d.fd, 0, io.SeekStart); err != nil {
		return nil, err
	}
	buf := make([]byte, blockSize) // on the stack, unlike the buffer of a Block
	for {
		n, err := unix.Getdents(d.fd, buf)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, err
		case n == 0:
			return list, nil
		default:
			list = d.appendEntries(list, buf[:n])
		}
	}
}

// appendEntries adds the names in the output of getdents64 to list. See [kernelDir.parse] for the
// format.
func (d *kernelFolder) appendEntries(list []Entry, raw []byte) []Entry {
	for len(raw) > 0 {
		size := binary.NativeEndian.Uint16(raw[16:])
		name, _, _ := bytes.Cut(raw[19:size], []byte{0})
		kind := raw[18]
		raw = raw[size:]
		if string(name) == "." || string(name) == ".." {
			continue
		}
		e := Entry{Name: string(name), Type: modeFromStat(uint32(kind) << 12).Type()}
		if kind == unix.DT_UNKNOWN {
			info, err := d.Lstat(e.Name)
			if err != nil {
				continue // removed meanwhile
			}
			e.Type = info.Mode.Type()
		}
		list = append(list, e)
	}
	return list
}

func (d *kernelFolder) OpenFolder(name string) (Folder, error) {
	flag := unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(d.fd, name, flag|unix.O_RDONLY, 0)
	readable := err == nil
	if err == unix.EACCES {
		fd, err = unix.Openat(d.fd, name, flag|unix.O_PATH, 0)
	}
	if err != nil {
		return nil, err
	}
	return newKernelFolder(fd, readable)
}

func (d *kernelFolder) Lstat(name string) (Info, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Info{}, err
	}
	return infoFromStat(&st), nil
}

func (d *kernelFolder) Readlink(name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(d.fd, name, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

func (d *kernelFolder) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	fd, err := d.open(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// OpenContent does not use package os, whose poller costs two system calls.
func (d *kernelFolder) OpenContent(name string) (File, Info, error) {
	fd, err := d.open(name, unix.O_RDONLY, 0)
	if err != nil {
		return File{}, Info{}, err
	}
	return contentOf(fd)
}

func (d *kernelFolder) open(name string, flag int, perm fs.FileMode) (int, error) {
	flag |= unix.O_NOFOLLOW | unix.O_CLOEXEC | openFlags
	fd, err := unix.Openat(d.fd, name, flag, uint32(perm.Perm()))
	if err == unix.ENXIO {
		if info, serr := d.Lstat(name); serr == nil {
			err = cmp.Or(CheckRegular(info.Mode), err)
		}
	}
	return fd, err
}

// procFD reports whether /proc is mounted. LinkUnnamed may need it.
var procFD = sync.OnceValue(func() bool {
	_, err := os.Stat("/proc/self/fd")
	return err == nil
})

func (d *kernelFolder) CreateUnnamed(perm fs.FileMode) (*os.File, error) {
	if !procFD() {
		return nil, errors.ErrUnsupported
	}
	fd, err := unix.Openat(d.fd, ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, uint32(perm.Perm()))
	if err != nil {
		return nil, errors.ErrUnsupported
	}
	return os.NewFile(uintptr(fd), "new file"), nil
}

// LinkUnnamed first tries AT_EMPTY_PATH, which before Linux 6.10 only root may use. Then it links
// through /proc, which takes three times as long.
func (d *kernelFolder) LinkUnnamed(f *os.File, name string) error {
	fd := int(f.Fd())
	err := unix.Linkat(fd, "", d.fd, name, unix.AT_EMPTY_PATH)
	if err == unix.ENOENT {
		err = unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), d.fd, name,
			unix.AT_SYMLINK_FOLLOW)
	}
	return err
}

func (d *kernelFolder) Link(name string, to Folder, newName string) error {
	dest, ok := to.(*kernelFolder)
	if !ok {
		return unix.EXDEV
	}
	return unix.Linkat(d.fd, name, dest.fd, newName, 0)
}

func (d *kernelFolder) CopyFile(name string, to Folder, newName string, times bool) error {
	dest, ok := to.(*kernelFolder)
	if !ok {
		return copyWith(d, name, to, newName, times)
	}
	src, err := d.open(name, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(src)
	var st unix.Stat_t
	if err := unix.Fstat(src, &st); err != nil {
		return err
	}
	if err := CheckRegular(modeFromStat(st.Mode)); err != nil {
		return err
	}
	dst, err := dest.open(newName, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if st.Blocks*512 < st.Size {
		err = copySparse(dst, src, st.Size)
	} else {
		err = copyAll(dst, src, st.Size)
	}
	if err == nil {
		err = unix.Fchmod(dst, st.Mode&0o777)
	}
	if err == nil && times {
		err = dest.Chtimes(newName, infoFromStat(&st))
	}
	if cerr := unix.Close(dst); err == nil {
		err = cerr
	}
	return err
}

// copyAll copies size bytes in the kernel. If the file system can share blocks, it shares them.
func copyAll(dst, src int, size int64) error {
	for left := size; left > 0; {
		n, err := unix.CopyFileRange(src, nil, dst, nil, int(min(left, 1<<30)), 0)
		switch {
		case err == unix.EINTR:
		case left == size && (err != nil || n == 0): // the kernel cannot copy between these files
			return copyThrough(dst, src, size)
		case err != nil:
			return err
		case n == 0: // src was truncated meanwhile
			return nil
		default:
			left -= int64(n)
		}
	}
	if size == 0 { // src is empty, or it is in /proc and its size is given as 0
		return copyThrough(dst, src, math.MaxInt64)
	}
	return nil
}

// copySparse is copyAll for a file with holes. It keeps the holes.
func copySparse(dst, src int, size int64) error {
	for at := int64(0); at < size; {
		from, to := dataRange(src, at, size)
		if from == size {
			break
		}
		for _, fd := range []int{src, dst} {
			if _, err := unix.Seek(fd, from, unix.SEEK_SET); err != nil {
				return err
			}
		}
		if err := copyAll(dst, src, to-from); err != nil {
			return err
		}
		at = to
	}
	return unix.Ftruncate(dst, size)
}

// copyThrough copies up to size bytes through a buffer.
func copyThrough(dst, src int, size int64) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(src, buf[:min(size, int64(len(buf)))])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil || n == 0:
			return err
		}
		for data := buf[:n]; len(data) > 0; {
			m, err := unix.Write(dst, data)
			if err != nil && err != unix.EINTR {
				return err
			}
			data = data[max(m, 0):]
		}
		size -= int64(n)
	}
}

func (d *kernelFolder) Mkdir(name string, perm fs.FileMode) error {
	return unix.Mkdirat(d.fd, name, uint32(perm.Perm()))
}

func (d *kernelFolder) Symlink(target, name string) error {
	return unix.Symlinkat(target, d.fd, name)
}

func (d *kernelFolder) Remove(name string, dir bool) error {
	flag := 0
	if dir {
		flag = unix.AT_REMOVEDIR
	}
	return unix.Unlinkat(d.fd, name, flag)
}

func (d *kernelFolder) Rename(name string, to Folder, newName string, replace bool) error {
	dest, ok := to.(*kernelFolder)
	if !ok {
		return unix.EXDEV
	}
	if replace {
		return unix.Renameat(d.fd, name, dest.fd, newName)
	}
	err := unix.Renameat2(d.fd, name, dest.fd, newName, unix.RENAME_NOREPLACE)
	if err != unix.EINVAL && err != unix.ENOSYS {
		return err
	}
	// The file system lacks RENAME_NOREPLACE. Only the folder's lock keeps others from creating newName.
	if _, err := dest.Lstat(newName); err == nil {
		return unix.EEXIST
	}
	return unix.Renameat(d.fd, name, dest.fd, newName)
}

func (d *kernelFolder) Exchange(name string, to Folder, newName string) error {
	dest, ok := to.(*kernelFolder)
	if !ok {
		return unix.EXDEV
	}
	err := unix.Renameat2(d.fd, name, dest.fd, newName, unix.RENAME_EXCHANGE)
	if err == unix.EINVAL || err == unix.ENOSYS {
		return errors.ErrUnsupported
	}
	return err
}

func (d *kernelFolder) CheckWritable(name string) error {
	return unix.Faccessat(d.fd, name, unix.W_OK, unix.AT_EACCESS|unix.AT_SYMLINK_NOFOLLOW)
}

func (d *kernelFolder) Chtimes(name string, info Info) error {
	ts := []unix.Timespec{unix.NsecToTimespec(info.Accessed.UnixNano()),
		unix.NsecToTimespec(info.ModTime.UnixNano())}
	return unix.UtimesNanoAt(d.fd, name, ts, unix.AT_SYMLINK_NOFOLLOW)
}

func (d *kernelFolder) Chmod(name string, perm fs.FileMode) error {
	fd, err := unix.Openat(d.fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return unix.ELOOP
	}
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), statBits(perm))
}
