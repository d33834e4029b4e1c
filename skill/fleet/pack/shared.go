package pack

import "strings"

// A folder that machines share is not for a worker: locks and times of files there mean
// something else than on a local one, and two workers could write to the same files.

// sharedKinds are the types of file systems that machines share, as mount lists them. Those
// of FUSE follow "fuse.".
var sharedKinds = map[string]bool{
	"nfs": true, "nfs4": true, "smbfs": true, "smb3": true, "cifs": true, "afpfs": true, "webdav": true,
	"davfs": true,
	"9p":    true, "virtiofs": true, "vboxsf": true, "prl_fs": true, "vmhgfs": true, "macfuse": true,
	"osxfuse": true,
	"lustre":  true, "ceph": true, "gfs": true, "gfs2": true, "ocfs2": true, "gpfs": true, "beegfs": true,
	"panfs": true, "pvfs2": true, "wekafs": true, "quobyte": true,
	"afs": true, "auristorfs": true, "coda": true, "ncpfs": true, "acfs": true,

	"fuse.sshfs": true, "fuse.davfs": true, "fuse.davfs2": true, "fuse.curlftpfs": true,
	"fuse.smbnetfs": true, "fuse.nfs": true,
	"fuse.glusterfs": true, "fuse.ceph": true, "fuse.ceph-fuse": true, "fuse.mfs": true, "fuse.moosefs": true,
	"fuse.lizardfs": true, "fuse.seaweedfs": true, "fuse.juicefs": true, "fuse.quobyte": true,
	"fuse.s3fs": true, "fuse.s3fs-fuse": true, "fuse.goofys": true, "fuse.gcsfuse": true,
	"fuse.mountpoint-s3": true, "fuse.blobfuse": true, "fuse.blobfuse2": true, "fuse.rclone": true,
	"fuse.vmhgfs-fuse": true, "fuse.prl_fsd": true, "fuse.grpcfuse": true, "fuse.osxfs": true,
}

// sharedKind returns the kind of a type of file system, "" if machines do not share it.
func sharedKind(fstype string) string {
	fstype = strings.ToLower(fstype)
	if !sharedKinds[fstype] {
		return ""
	}
	return fstype
}
