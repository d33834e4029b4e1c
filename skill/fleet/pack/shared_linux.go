package pack

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// sharedMagic are the file systems that machines share, by the type that statfs returns.
var sharedMagic = map[uint32]string{
	0x6969: "nfs", 0x517b: "smbfs", 0xff534d42: "cifs", 0xfe534d42: "smb3", 0x01021997: "9p",
	0x0bd00bd0: "lustre", 0x00c36400: "ceph", 0x01161970: "gfs2", 0x7461636f: "ocfs2", 0x47504653: "gpfs",
	0x19830326: "beegfs", 0xaad7aaea: "panfs", 0x20030528: "pvfs2", 0x5346414f: "afs", 0x6b414653: "afs",
	0x73757245: "coda", 0x564c: "ncpfs", 0x786f4256: "vboxsf", 0x61636673: "acfs", 0xbacbacbc: "vmhgfs",
}

// fuseMagic is the type of all FUSE file systems; mountinfo has their names.
const fuseMagic = 0x65735546

// SharedFilesystem returns the file system of a folder, such as "nfs" or "fuse.sshfs", if
// machines share it. It returns "" for a local or an unknown file system.
func SharedFilesystem(dir string) (kind string, err error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return "", &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	if magic := uint32(st.Type); magic != fuseMagic {
		return sharedMagic[magic], nil
	}
	var at syscall.Stat_t
	if err := syscall.Stat(dir, &at); err != nil {
		return "", &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	return sharedKind(mountType(string(mounts), uint64(at.Dev))), nil
}

// mountType returns the file system of a device. A line of mountinfo names it after " - ".
func mountType(mounts string, device uint64) string {
	major := device>>8&0xfff | device>>32&^0xfff
	minor := device&0xff | device>>12&^0xff&0xffffffff
	number := fmt.Sprintf("%d:%d", major, minor)
	for line := range strings.Lines(mounts) {
		fields, rest, _ := strings.Cut(line, " - ")
		if f := strings.Fields(fields); len(f) > 2 && f[2] == number {
			fstype, _, _ := strings.Cut(rest, " ")
			return fstype
		}
	}
	return ""
}
