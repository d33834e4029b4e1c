package pack

import "testing"

func TestMountType(t *testing.T) {
	const mounts = `25 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
61 25 0:52 / /home/u/m rw,nosuid shared:31 - fuse.sshfs host:/ rw,user_id=0
62 25 4096:300 / /x rw - fuse.rclone r: rw
`
	for device, want := range map[uint64]string{254 << 8: "ext4", 52: "fuse.sshfs",
		4096<<32 | 300&0xff | (300>>8)<<20: "fuse.rclone", 99: ""} {
		if got := mountType(mounts, device); got != want {
			t.Errorf("device %#x has a %q, not %q", device, got, want)
		}
	}
}
