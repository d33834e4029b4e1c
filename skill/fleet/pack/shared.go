package pack

import "strings"

// A worker does not work in a folder that machines share: locks do not stop other machines, and
// times come from another clock.

// sharedKinds are the file systems that machines share, by the names that mount lists. FUSE file
// systems begin with "fuse.".
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

// sharedKind returns fstype in lower case if machines share such file systems, else "".
func sharedKind(fstype string) string {
	fstype = strings.ToLower(fstype)
	if !sharedKinds[fstype] {
		return ""
	}
	return fstype
}
