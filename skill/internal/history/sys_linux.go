package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

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

// keyOf returns a key that identifies a folder across renames, mounts and restarts. Where the system does not
// number files for good, the name of the file system and the path are the key.
func keyOf(path string, id identity) string {
	h := sha256.New()
	fmt.Fprintf(h, "history %d\n", logVersion)
	keeps := keepsNumbers(path)
	if id.born == 0 || !keeps {
		name := fileSystem(path, id)
		if name == "" && unix.Major(id.dev) != 0 { // else the number is that of the mount
			name = fmt.Sprintf("device %d", id.dev)
		}
		fmt.Fprintf(h, "%q %q\n", name, path)
	}
	if !keeps {
		h.Write(ntfsBirth(path))
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

// ntfsBirth returns the time at which a folder of NTFS was made, as ntfs-3g has it, nil for other folders.
// Disks that were formatted in the same second have the same serial number.
func ntfsBirth(path string) []byte {
	born := make([]byte, 8)
	n, _ := unix.Lgetxattr(path, "system.ntfs_crtime_be", born)
	return born[:max(n, 0)]
}

// seenAt describes a folder as it is mounted now. The zero value means that keyOf suffices.
func seenAt(path string) (now seen) {
	id, err := identify(path)
	if err != nil {
		return now
	}
	name := fileSystem(path, id)
	if keepsNumbers(path) && (id.born != 0 || name != "") {
		return now
	}
	var st unix.Statx_t
	var fs unix.Statfs_t
	unix.Statx(unix.AT_FDCWD, path, unix.AT_STATX_DONT_SYNC, unix.STATX_MNT_ID_UNIQUE, &st)
	unix.Statfs(path, &fs)
	if st.Mask&unix.STATX_MNT_ID_UNIQUE == 0 { // before Linux 6.8; the kernel uses a mount ID again
		st.Mnt_id = id.mount
	}
	return seen{
		Mount: fmt.Sprintf("%s %d %d %d", strings.TrimSpace(tree.Boot()), st.Mnt_id, id.dev, fs.Blocks),
		Ino:   id.ino, named: name != "",
	}
}

// fileSystem returns a name for the file system of a path: its own number or UUID, the UUID or serial number of
// its disk, or the name of the server. It is "" if nothing names the file system.
func fileSystem(path string, id identity) string {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return ""
	}
	// some file systems give the number of the device, which the next disk gets too
	if own := uint64(uint32(st.Fsid.Val[0])) | uint64(uint32(st.Fsid.Val[1]))<<32; own != 0 && own != id.dev {
		return fmt.Sprintf("number %x", own)
	}
	if fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
		const getUUID = 0x80111500 // FS_IOC_GETFSUUID
		var uuid struct {
			length byte
			bytes  [16]byte
		}
		_, _, failed := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), getUUID, uintptr(unsafe.Pointer(&uuid)))
		unix.Close(fd)
		if failed == 0 && uuid.bytes != [16]byte{} {
			return fmt.Sprintf("UUID %x", uuid.bytes)
		}
	}
	source := mountSource(id.mount)
	switch uint32(st.Type) {
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC,
		unix.CODA_SUPER_MAGIC, unix.AFS_SUPER_MAGIC, unix.CEPH_SUPER_MAGIC:
		return source
	}
	return diskName(source)
}

// mountSource returns the source of the mount with an ID: a device, or the name of a server.
func mountSource(id uint64) string {
	data, _ := os.ReadFile("/proc/self/mountinfo")
	for text := range bytes.Lines(data) {
		// 42 27 7:0 / /media/stick rw,nosuid - fuseblk /dev/sdb1 rw,user_id=0
		mount, rest, _ := strings.Cut(string(text), " ")
		_, rest, _ = strings.Cut(rest, " - ")
		if fields := strings.Fields(rest); mount == strconv.FormatUint(id, 10) && len(fields) > 1 {
			return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(fields[1])
		}
	}
	return ""
}

// serials are the places of serial numbers in the first sector of a disk, for each name of a file system there.
var serials = []struct {
	name           string
	at             int
	serial, length int
}{
	{"EXFAT   ", 3, 100, 4},
	{"NTFS    ", 3, 72, 8},
	{"FAT32   ", 82, 67, 4},
	{"FAT16   ", 54, 39, 4},
	{"FAT12   ", 54, 39, 4},
}

// diskName returns the UUID of a block device's file system, as the system or the device has it, or "".
func diskName(device string) string {
	var st, link unix.Stat_t
	if unix.Stat(device, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFBLK {
		return ""
	}
	const links = "/dev/disk/by-uuid/"
	entries, _ := os.ReadDir(links)
	for _, e := range entries {
		if unix.Stat(links+e.Name(), &link) == nil && link.Rdev == st.Rdev {
			return "disk " + e.Name()
		}
	}
	f, err := os.Open(device)
	if err != nil {
		return ""
	}
	defer f.Close()
	sector := make([]byte, 512)
	if _, err := io.ReadFull(f, sector); err != nil {
		return ""
	}
	for _, s := range serials {
		if string(sector[s.at:s.at+len(s.name)]) != s.name {
			continue
		}
		serial := slices.Clone(sector[s.serial : s.serial+s.length])
		slices.Reverse(serial)
		text := fmt.Sprintf("%X", serial)
		if s.length == 4 { // as in the names of the links
			text = text[:4] + "-" + text[4:]
		}
		return "disk " + text
	}
	return ""
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

// holders returns the IDs of the processes that hold flocks on a file or folder. A process in another container
// has the ID 0.
func holders(fd int) (pids []int) {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
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

// programName names the program of a process.
func programName(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s (process %d)", strings.TrimSpace(string(data)), pid)
}

// holdersOfFiles returns the programs that have files open for writing, by file. It sees the processes that this user
// may see.
func holdersOfFiles() map[tree.FileID]string {
	holders := map[tree.FileID]string{}
	processes, _ := os.ReadDir("/proc")
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		in := "/proc/" + p.Name() + "/"
		add := func(name string) {
			var st unix.Stat_t
			if unix.Stat(name, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG {
				holders[tree.FileID{Dev: st.Dev, Ino: st.Ino}] = programName(pid)
			}
		}
		open, _ := os.ReadDir(in + "fd")
		for _, f := range open { // the link of a file that is open for writing has the permission to write
			if info, err := f.Info(); err == nil && info.Mode().Perm()&0o200 != 0 {
				add(in + "fd/" + f.Name())
			}
		}
		mapped, _ := os.ReadFile(in + "maps")
		for line := range strings.Lines(string(mapped)) { // 7f00-7f01 rw-s 00000000 fe:00 1234   /path
			if fields := strings.Fields(line); len(fields) > 5 && fields[1] == "rw-s" {
				add(in + "map_files/" + fields[0])
			}
		}
	}
	return holders
}

// ownLocks returns the inodes of files that this process has locked with fcntl. To close any descriptor of such a
// file would release the lock. /proc/locks tells the same, but the kernel takes up to 20 ms for it.
func ownLocks() map[uint64]bool {
	own := map[uint64]bool{}
	const dir = "/proc/self/fdinfo"
	open, _ := os.ReadDir(dir)
	for _, f := range open {
		data, _ := os.ReadFile(dir + "/" + f.Name())
		for text := range bytes.Lines(data) {
			fields := strings.Fields(string(text)) // lock: 1: POSIX ADVISORY WRITE 712 fe:00:1234 0 EOF
			if len(fields) < 7 || fields[0] != "lock:" || fields[2] != "POSIX" {
				continue
			}
			at := fields[6][strings.LastIndexByte(fields[6], ':')+1:]
			if n, err := strconv.ParseUint(at, 10, 64); err == nil {
				own[n] = true
			}
		}
	}
	return own
}
