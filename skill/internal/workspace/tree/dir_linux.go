package tree

import (
	"encoding/binary"
	"io"
	"io/fs"
	"math"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A kernelDir is a Dir of a kernelTree.
type kernelDir struct {
	fd    int
	local bool // on a file system that needs no network and no user-space server
	quick bool // local, and opened from the kernel's cache: reading it waits at most for a disk
}

func (t *kernelTree) OpenDir(rel string) (Dir, error) {
	fd, err := t.fd(rel, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	return kernelDir{fd: fd, local: isLocal(fd)}, nil
}

// isLocal reports whether an open file is on a local file system. An overlay is not local, because
// its layers may be on any file system.
func isLocal(fd int) bool {
	var st unix.Statfs_t
	if unix.Fstatfs(fd, &st) != nil {
		return false
	}
	switch uint32(st.Type) { // Type is an int32 on some machines, where the number of btrfs is negative
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
		unix.TMPFS_MAGIC:
		return true
	}
	return false
}

// cached (RESOLVE_CACHED) makes openat2 fail if it would have to wait for a disk.
const cached = 0x20

// OpenDir first tries to open the folder from the kernel's cache. This cannot block, so a raw system
// call is safe. It saves the runtime's bookkeeping for blocking calls, a tenth of a walk.
func (d kernelDir) OpenDir(name string) (Dir, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	var text [unix.NAME_MAX + 1]byte
	switch {
	case name == "..":
		return nil, unix.EXDEV
	case strings.IndexByte(name, 0) >= 0:
		return nil, unix.EINVAL
	case d.local && len(name) < len(text):
		copy(text[:], name)
		how := unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_NO_XDEV | cached}
		fd, _, errno := unix.RawSyscall6(unix.SYS_OPENAT2, uintptr(d.fd), uintptr(unsafe.Pointer(&text[0])),
			uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
		if errno == 0 {
			return kernelDir{int(fd), true, true}, nil
		}
	}
	for {
		fd, err := unix.Openat(d.fd, name, flags, 0)
		switch err {
		case nil:
			return kernelDir{fd: fd, local: isLocal(fd)}, nil
		case unix.EINTR:
		default:
			return nil, err
		}
	}
}

func (d kernelDir) Close() error {
	if !d.quick {
		return unix.Close(d.fd)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_CLOSE, uintptr(d.fd), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func (d kernelDir) getdents(buf []byte) (int, error) {
	if !d.quick {
		return unix.Getdents(d.fd, buf)
	}
	n, _, errno := unix.RawSyscall(unix.SYS_GETDENTS64, uintptr(d.fd), uintptr(unsafe.Pointer(&buf[0])),
		uintptr(len(buf)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

const (
	blockSize = 32 << 10

	// firstBlockSize is the size of a block until a folder has more names.
	firstBlockSize = 8 << 10
	// roomForMore is the free space of a block below which another system call does not pay.
	roomForMore = 4 << 10
)

func (d kernelDir) Read(b *Block) (more bool, err error) {
	switch {
	case b.raw == nil:
		b.raw = make([]byte, firstBlockSize)
	case b.full && len(b.raw) < blockSize:
		b.raw = make([]byte, blockSize)
	}
	used := 0
	for more = true; more && len(b.raw)-used >= roomForMore; {
		n, err := d.getdents(b.raw[used:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return false, err
		}
		more = n > 0 && !d.parse(b, b.raw[used:used+n])
		used += n
	}
	b.full = more
	return more, nil
}

// parse adds the names in the output of getdents64 to b. Each entry has the offset of the next entry
// in bytes 8 to 16, its own size in 16 to 18, its type in 18, and a NUL-terminated name from 19 on.
// last reports that no names follow: ext4 and btrfs then give the largest possible offset, which
// saves a system call per folder. Other file systems may use any offset.
func (d kernelDir) parse(b *Block, raw []byte) (last bool) {
	next := uint64(0)
	for len(raw) > 0 {
		next = binary.NativeEndian.Uint64(raw[8:])
		size := binary.NativeEndian.Uint16(raw[16:])
		kind, name := raw[18], raw[19:size]
		raw = raw[size:]
		end := 0
		for name[end] != 0 {
			end++
		}
		name = name[:end]
		if string(name) == "." || string(name) == ".." {
			continue
		}
		mode := modeFromStat(uint32(kind) << 12).Type()
		if kind == unix.DT_UNKNOWN {
			var st unix.Stat_t
			if unix.Fstatat(d.fd, string(name), &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
				continue // removed meanwhile
			}
			mode = modeFromStat(st.Mode).Type()
		}
		b.add(name, mode)
	}
	return d.local && next == math.MaxInt64
}

// terminated returns a name with a NUL after it. It does not copy a name in a block, which has one.
func terminated(name []byte) []byte {
	if whole := name[:min(cap(name), len(name)+1)]; len(whole) > len(name) && whole[len(name)] == 0 {
		return whole
	}
	return append(name[:len(name):len(name)], 0)
}

// openFile opens the name, which may also be a folder or a pipe.
func (d kernelDir) openFile(name []byte) (int, error) {
	name = terminated(name)
	const flag = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_CLOEXEC | openFlags
	fd, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(d.fd), uintptr(unsafe.Pointer(&name[0])),
		flag, 0, 0, 0)
	for errno == unix.EINTR {
		fd, _, errno = unix.Syscall6(unix.SYS_OPENAT, uintptr(d.fd), uintptr(unsafe.Pointer(&name[0])),
			flag, 0, 0, 0)
	}
	if errno == unix.ENXIO {
		return -1, &NotRegularError{"socket or device"}
	}
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

func (d kernelDir) Open(name []byte) (File, error) {
	fd, err := d.openFile(name)
	if err != nil {
		return File{}, err
	}
	f, _, err := contentOf(fd)
	return f, err
}

// Head does not stat a file that fits into buf, which saves a tenth of a search. On a local file
// system a short read means the end of the file. Pread fails on a pipe.
func (d kernelDir) Head(name, buf []byte) (n int, rest *File, err error) {
	if !d.local {
		return headOf(d, name, buf)
	}
	fd, err := d.openFile(name)
	if err != nil {
		return 0, nil, err
	}
	n, err = unix.Pread(fd, buf, 0)
	for err == unix.EINTR {
		n, err = unix.Pread(fd, buf, 0)
	}
	if err == nil && n == len(buf) {
		f, _, err := contentOf(fd)
		return n, &f, err
	}
	unix.Close(fd)
	if err == unix.ESPIPE {
		err = CheckRegular(fs.ModeNamedPipe)
	}
	return max(n, 0), nil, err
}

// Stat makes a raw system call if the folder is quick: 100,000 names take 100 ms instead of 130.
// Only statx exists on all machines. AT_STATX_DONT_SYNC keeps it from asking the server of a mounted
// file system, which might block the whole process. For a mounted file the result may be stale, so
// Stat then makes an ordinary call.
func (d kernelDir) Stat(name []byte) (Info, error) {
	if d.quick {
		const flags = unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT | unix.AT_STATX_DONT_SYNC
		var st unix.Statx_t
		name := terminated(name)
		_, _, errno := unix.RawSyscall6(unix.SYS_STATX, uintptr(d.fd), uintptr(unsafe.Pointer(&name[0])),
			flags, unix.STATX_BASIC_STATS, uintptr(unsafe.Pointer(&st)), 0)
		mounted := st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
		if errno == 0 && (!mounted || st.Mode&unix.S_IFMT == unix.S_IFDIR) {
			return infoFromStatx(&st), nil
		}
	}
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, string(name), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Info{}, err
	}
	return infoFromStat(&st), nil
}

// A kernelFile is the descriptor of a regular file.
type kernelFile int

// contentOf returns an open regular file with its description. It closes any other file and returns
// the error of [CheckRegular].
func contentOf(fd int) (File, Info, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	if err == nil {
		err = CheckRegular(modeFromStat(st.Mode))
	}
	if err != nil {
		unix.Close(fd)
		return File{}, Info{}, err
	}
	return File{kernelFile(fd), st.Size}, infoFromStat(&st), nil
}

func (f kernelFile) Fd() uintptr { return uintptr(f) }

func (f kernelFile) Close() error { return unix.Close(int(f)) }

func (f kernelFile) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(int(f), p)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, err
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

func (f kernelFile) ReadAt(p []byte, off int64) (done int, err error) {
	for done < len(p) {
		n, err := unix.Pread(int(f), p[done:], off+int64(done))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return done, err
		case n == 0:
			return done, io.EOF
		default:
			done += n
		}
	}
	return done, nil
}
