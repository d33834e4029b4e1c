package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// beneath refuses "..", absolute names, magic links and every symbolic link.
const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS

// openTree opens dir for confined access: through openat2, or through os.Root
// where the kernel has no openat2 or a sandbox forbids it.
func openTree(dir string, portable bool) (tree, error) {
	if portable {
		return openRootTree(dir)
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	t := kernelTree(fd)
	probe, err := t.fd(".", unix.O_PATH, 0)
	if err != nil {
		unix.Close(fd)
		return openRootTree(dir)
	}
	unix.Close(probe)
	return t, nil
}

// kernelTree is the descriptor of a folder below which openat2 confines names.
type kernelTree int

func (t kernelTree) close() error { return unix.Close(int(t)) }

// fd opens rel. The kernel answers EAGAIN where a rename elsewhere could have
// let ".." slip through; the next try is as good as the first.
func (t kernelTree) fd(rel string, flag int, perm fs.FileMode) (int, error) {
	how := unix.OpenHow{Flags: uint64(flag) | unix.O_CLOEXEC, Mode: uint64(perm.Perm()), Resolve: beneath}
	for {
		fd, err := unix.Openat2(int(t), rel, &how)
		if err != unix.EINTR && err != unix.EAGAIN {
			return fd, err
		}
	}
}

func (t kernelTree) open(rel string, flag int) (*os.File, error) {
	fd, err := t.fd(rel, flag|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path.Base(rel)), nil
}

// readFile reads a regular file with four system calls and one allocation.
func (t kernelTree) readFile(rel string) ([]byte, error) {
	fd, err := t.fd(rel, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if err := regular(modeFromStat(st.Mode)); err != nil {
		return nil, err
	}
	buf := make([]byte, st.Size+1)
	n := 0
	for {
		m, err := unix.Read(fd, buf[n:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, err
		}
		n += m
		if m == 0 || n == int(st.Size) && st.Size > 0 {
			return buf[:n:n], nil
		}
		if n == len(buf) { // it grew, or it is one of those that say 0
			buf = append(buf, make([]byte, max(4096, n))...)
		}
	}
}

func (t kernelTree) stat(rel string) (Info, error) {
	fd, err := t.fd(rel, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return Info{}, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return Info{}, err
	}
	return infoFromStat(&st), nil
}

func (t kernelTree) folder(rel string) (folder, error) {
	fd, err := t.fd(rel, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	readable := err == nil
	if err == unix.EACCES {
		fd, err = t.fd(rel, unix.O_PATH|unix.O_DIRECTORY, 0)
	}
	if err != nil {
		return nil, err
	}
	return newKernelFolder(fd, rel, readable)
}

func newKernelFolder(fd int, name string, readable bool) (folder, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &kernelFolder{file: os.NewFile(uintptr(fd), name), fd: fd, readable: readable,
		at: FileID{uint64(st.Dev), st.Ino}}, nil
}

// kernelFolder is one open directory. The file owns the descriptor.
type kernelFolder struct {
	file     *os.File
	fd       int
	readable bool
	at       FileID
}

func (d *kernelFolder) id() FileID   { return d.at }
func (d *kernelFolder) close() error { return d.file.Close() }

func (d *kernelFolder) handle() *os.File {
	if !d.readable {
		return nil
	}
	return d.file
}

func (d *kernelFolder) folder(name string) (folder, error) {
	flag := unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(d.fd, name, flag|unix.O_RDONLY, 0)
	readable := err == nil
	if err == unix.EACCES {
		fd, err = unix.Openat(d.fd, name, flag|unix.O_PATH, 0)
	}
	if err != nil {
		return nil, err
	}
	return newKernelFolder(fd, name, readable)
}

func (d *kernelFolder) lstat(name string) (Info, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Info{}, err
	}
	return infoFromStat(&st), nil
}

func (d *kernelFolder) readlink(name string) (string, error) {
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(d.fd, name, buf)
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

func (d *kernelFolder) openFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	flag |= unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := unix.Openat(d.fd, name, flag, uint32(perm.Perm()))
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (d *kernelFolder) unnamed(perm fs.FileMode) (*os.File, error) {
	fd, err := unix.Openat(d.fd, ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, uint32(perm.Perm()))
	if err != nil {
		return nil, errors.ErrUnsupported
	}
	return os.NewFile(uintptr(fd), "new file"), nil
}

func (d *kernelFolder) link(f *os.File, name string) error {
	old := "/proc/self/fd/" + strconv.Itoa(int(f.Fd()))
	return unix.Linkat(unix.AT_FDCWD, old, d.fd, name, unix.AT_SYMLINK_FOLLOW)
}

func (d *kernelFolder) mkdir(name string, perm fs.FileMode) error {
	return unix.Mkdirat(d.fd, name, uint32(perm.Perm()))
}

func (d *kernelFolder) symlink(target, name string) error {
	return unix.Symlinkat(target, d.fd, name)
}

func (d *kernelFolder) remove(name string, dir bool) error {
	flag := 0
	if dir {
		flag = unix.AT_REMOVEDIR
	}
	return unix.Unlinkat(d.fd, name, flag)
}

func (d *kernelFolder) rename(name string, to folder, newName string, replace bool) error {
	dest := to.(*kernelFolder)
	if replace {
		return unix.Renameat(d.fd, name, dest.fd, newName)
	}
	err := unix.Renameat2(d.fd, name, dest.fd, newName, unix.RENAME_NOREPLACE)
	if err != unix.EINVAL && err != unix.ENOSYS {
		return err
	}
	// A file system without NOREPLACE: the folder's lock is what is left.
	if _, err := dest.lstat(newName); err == nil {
		return unix.EEXIST
	}
	return unix.Renameat(d.fd, name, dest.fd, newName)
}

func (d *kernelFolder) writable(name string) error {
	return unix.Faccessat(d.fd, name, unix.W_OK, unix.AT_EACCESS|unix.AT_SYMLINK_NOFOLLOW)
}

func (d *kernelFolder) chtimes(name string, info Info) error {
	ts := []unix.Timespec{unix.NsecToTimespec(info.Accessed.UnixNano()), unix.NsecToTimespec(info.ModTime.UnixNano())}
	return unix.UtimesNanoAt(d.fd, name, ts, unix.AT_SYMLINK_NOFOLLOW)
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

// modeFromStat is the inverse of what package os does to a FileMode.
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
