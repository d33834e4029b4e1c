package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"textskill/skill/internal/workspace/tree"
)

// identify returns the identity of a path. It does not follow a link.
func identify(path string) (identity, error) {
	var st unix.Statx_t
	mask := unix.STATX_BASIC_STATS | unix.STATX_BTIME | unix.STATX_MNT_ID
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW|unix.AT_STATX_DONT_SYNC, mask, &st); err != nil {
		return identity{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return identity{
		dev: unix.Mkdev(st.Dev_major, st.Dev_minor), ino: st.Ino, mount: st.Mnt_id,
		born:  st.Btime.Sec*1e9 + int64(st.Btime.Nsec),
		owner: int(st.Uid), mode: uint32(st.Mode) & 0o7777, folder: st.Mode&unix.S_IFMT == unix.S_IFDIR,
	}, nil
}

// keyOf returns a key that identifies a folder across renames, mounts and restarts. FUSE and network
// file systems may number files in the order of lookups. There the key also depends on the path.
func keyOf(path string, id identity) string {
	h := sha256.New()
	fmt.Fprintf(h, "history %d\n", logVersion)
	if id.born == 0 || !keepsNumbers(path) {
		fmt.Fprintf(h, "%d %d %s", id.dev, id.ino, path)
		return hex.EncodeToString(h.Sum(nil)[:16])
	}
	if handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, path, 0); err == nil {
		binary.Write(h, binary.LittleEndian, handle.Type())
		h.Write(handle.Bytes())
	} else {
		binary.Write(h, binary.LittleEndian, id.ino)
	}
	binary.Write(h, binary.LittleEndian, id.born)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// keepsNumbers reports whether inodes on the file system of a path are stable.
func keepsNumbers(path string) bool {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return false
	}
	switch uint32(st.Type) {
	case unix.FUSE_SUPER_MAGIC, unix.V9FS_MAGIC, unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC,
		unix.SMB2_SUPER_MAGIC,
		unix.CIFS_SUPER_MAGIC, unix.CODA_SUPER_MAGIC, unix.AFS_SUPER_MAGIC, unix.CEPH_SUPER_MAGIC,
		unix.MSDOS_SUPER_MAGIC,
		unix.EXFAT_SUPER_MAGIC:
		return false
	}
	return true
}

// fsync makes a file, or the names in a folder, durable.
func fsync(fd int) error {
	if tree.FlushesAll(fd) {
		return unix.Syncfs(fd)
	}
	for {
		switch err := unix.Fsync(fd); err {
		case unix.EINTR:
		case unix.EINVAL: // the file system does not support fsync
			return nil
		default:
			return err
		}
	}
}

// holders returns the IDs of the processes that hold locks on a file. A process in another container
// has the ID 0.
func holders(f *os.File) (pids []int) {
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil {
		return nil
	}
	data, err := os.ReadFile("/proc/locks")
	if err != nil {
		return nil
	}
	end := fmt.Sprintf(":%d", st.Ino)
	for text := range bytes.Lines(data) {
		fields := strings.Fields(string(text)) // 1: FLOCK ADVISORY WRITE 712 fe:00:1234 0 EOF
		if len(fields) < 6 || fields[1] != "FLOCK" || !strings.HasSuffix(fields[5], end) {
			continue
		}
		if pid, err := strconv.Atoi(fields[4]); err == nil {
			pids = append(pids, max(pid, 0))
		}
	}
	return pids
}

// commandOf returns the command line of a process, "" if it is not visible.
func commandOf(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil || pid == 0 {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(string(data), "\x00", " "))
}

// setTime sets the modification time of an open file.
func setTime(f *os.File, mtime time.Time) {
	ts := unix.NsecToTimespec(mtime.UnixNano())
	unix.UtimesNanoAt(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", f.Fd()), []unix.Timespec{ts, ts}, 0)
}
