package workspace

import (
	"encoding/binary"
	"io"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernelDir is the descriptor of a folder of a kernelTree.
type kernelDir int

func (t *kernelTree) reader(rel string) (dir, error) {
	fd, err := t.fd(rel, unix.O_RDONLY|unix.O_DIRECTORY)
	return kernelDir(fd), err
}

func (d kernelDir) close() error { return unix.Close(int(d)) }

const (
	blockSize = 32 << 10
	// roomForMore is what must be left of a block to ask for more names: they are
	// 255 bytes long at the most, and a small rest is not worth a system call.
	roomForMore = 4 << 10
)

func (d kernelDir) read(b *Block) (more bool, err error) {
	if b.raw == nil {
		b.raw = make([]byte, blockSize)
	}
	used := 0
	for more = true; more && len(b.raw)-used >= roomForMore; {
		n, err := unix.Getdents(int(d), b.raw[used:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return false, err
		}
		more = n > 0
		d.parse(b, b.raw[used:used+n])
		used += n
	}
	return more, nil
}

// parse takes the names out of what the system wrote: 19 bytes, of which 16 to 18
// are the size and the type, and the name up to a NUL.
func (d kernelDir) parse(b *Block, raw []byte) {
	for len(raw) > 0 {
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
			if unix.Fstatat(int(d), string(name), &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
				continue // gone already
			}
			mode = modeFromStat(st.Mode).Type()
		}
		b.add(name, mode)
	}
}

// open passes the name as it lies in the block, where a NUL follows it.
func (d kernelDir) open(name []byte) (file, int64, error) {
	if whole := name[:min(cap(name), len(name)+1)]; len(whole) == len(name) || whole[len(name)] != 0 {
		name = append(name[:len(name):len(name)], 0)
	}
	const flag = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, _, errno := unix.Syscall6(unix.SYS_OPENAT, uintptr(d), uintptr(unsafe.Pointer(&name[0])), flag, 0, 0, 0)
	for errno == unix.EINTR {
		fd, _, errno = unix.Syscall6(unix.SYS_OPENAT, uintptr(d), uintptr(unsafe.Pointer(&name[0])), flag, 0, 0, 0)
	}
	if errno == unix.ENXIO {
		return nil, 0, &NotRegularError{"socket or device"}
	}
	if errno != 0 {
		return nil, 0, errno
	}
	f := kernelFile(fd)
	var st unix.Stat_t
	err := unix.Fstat(int(f), &st)
	if err == nil {
		err = regular(modeFromStat(st.Mode))
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, st.Size, nil
}

func (d kernelDir) stat(name []byte) (Info, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(int(d), string(name), &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return Info{}, err
	}
	return infoFromStat(&st), nil
}

// kernelFile is the descriptor of a regular file.
type kernelFile int

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
