package tree

import (
	"cmp"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// beneath refuses "..", absolute names, magic links and every symbolic link.
const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS

// openFlags are the flags to open a file for its content. A pipe then does not wait for its other
// end, and 32-bit machines can open files of 2 GiB and more.
const openFlags = unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_LARGEFILE

// Open opens the folder dir for confined access through openat2. It uses os.Root if portable is set,
// if the kernel lacks openat2, or if a sandbox forbids it.
func Open(dir string, portable bool) (Tree, error) {
	if portable {
		return openRootTree(dir)
	}
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	t := &kernelTree{dir: fd}
	probe, err := t.fd(".", unix.O_PATH)
	switch err {
	case nil:
		unix.Close(probe)
		return t, nil
	case unix.ENOSYS, unix.EPERM, unix.EINVAL:
		unix.Close(fd)
		return openRootTree(dir)
	}
	unix.Close(fd)
	return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
}

// A kernelTree opens names below a folder with openat2.
type kernelTree struct {
	mu  sync.RWMutex // read-locked while dir is in use: after a close, another file may get its number
	dir int          // -1 once closed
}

func (t *kernelTree) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dir < 0 {
		return fs.ErrClosed
	}
	fd := t.dir
	t.dir = -1
	return unix.Close(fd)
}

// maxRaces is how often fd retries when a concurrent rename moves the name out of the folder.
const maxRaces = 100

// fd opens rel.
func (t *kernelTree) fd(rel string, flag int) (int, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.dir < 0 {
		return -1, fs.ErrClosed
	}
	how := unix.OpenHow{Flags: uint64(flag) | unix.O_CLOEXEC, Resolve: beneath}
	for tries := 1; ; tries++ {
		fd, err := unix.Openat2(t.dir, rel, &how)
		switch {
		case err == nil:
			return fd, nil
		case err == unix.EINTR, err == unix.EAGAIN:
			// a concurrent rename made the lookup uncertain: retry
		case err == unix.EXDEV && tries < maxRaces: // a rename moved a part of rel out of the folder: retry
		case err == unix.ENXIO:
			return -1, t.unopened(rel)
		default:
			return -1, err
		}
	}
}

// unopened returns the error for a file that the kernel refused to open with ENXIO: a
// socket, or a device without a driver.
func (t *kernelTree) unopened(rel string) error {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: beneath}
	fd, err := unix.Openat2(t.dir, rel, &how)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	return cmp.Or(CheckRegular(modeFromStat(st.Mode)), error(unix.ENXIO))
}

func (t *kernelTree) Open(rel string, flag int) (*os.File, error) {
	fd, err := t.fd(rel, flag|openFlags)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path.Base(rel)), nil
}

// ReadFile reads a regular file with four system calls and one allocation.
func (t *kernelTree) ReadFile(rel string, limit int64) ([]byte, error) {
	fd, err := t.fd(rel, unix.O_RDONLY|openFlags)
	if err != nil {
		return nil, err
	}
	f, _, err := contentOf(fd)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadAll(limit)
}

func (t *kernelTree) Stat(rel string) (Info, error) {
	if rel != "." && rel != ".." && strings.IndexByte(rel, '/') < 0 {
		return t.statTop(rel)
	}
	fd, err := t.fd(rel, unix.O_PATH|unix.O_NOFOLLOW)
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

// statTop is Stat for a name in the folder itself, in one system call instead of three.
func (t *kernelTree) statTop(name string) (Info, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.dir < 0 {
		return Info{}, fs.ErrClosed
	}
	var st unix.Stat_t
	if err := unix.Fstatat(t.dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Info{}, err
	}
	return infoFromStat(&st), nil
}

func (t *kernelTree) OpenFolder(rel string) (Folder, error) {
	fd, err := t.fd(rel, unix.O_RDONLY|unix.O_DIRECTORY)
	readable := err == nil
	if err == unix.EACCES {
		fd, err = t.fd(rel, unix.O_PATH|unix.O_DIRECTORY)
	}
	if err == unix.ENAMETOOLONG && len(rel) >= unix.PathMax {
		return t.openDeep(rel)
	}
	if err != nil {
		return nil, err
	}
	return newKernelFolder(fd, readable)
}

// openDeep is OpenFolder for a path that is too long for one system call. It follows no link in the path's end.
func (t *kernelTree) openDeep(rel string) (Folder, error) {
	at := strings.LastIndexByte(rel[:unix.PathMax/2], '/')
	if at < 0 {
		return nil, unix.ENAMETOOLONG
	}
	d, err := t.OpenFolder(rel[:at])
	for name := range strings.SplitSeq(rel[at+1:], "/") {
		if err != nil {
			return nil, err
		}
		var in Folder
		in, err = d.OpenFolder(name)
		d.Close()
		d = in
	}
	return d, err
}
