package fleet_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"textskill/skill/fleet"
	"textskill/testdata/needs"
)

// TestSharedFolder refuses to work in a shared folder, or to send it.
func TestSharedFolder(t *testing.T) {
	p, dir := connect(t, patience, newServer(t)), t.TempDir()
	mountShared(t, dir)
	cfg := newWorker(t, p, "w1", 1)
	cfg.Root = dir
	if err := fleet.Work(t.Context(), cfg); err == nil ||
		!strings.Contains(err.Error(), dir+" is on a file system that machines share (fuse.sshfs)") ||
		!strings.HasSuffix(err.Error(), "--root") {
		t.Errorf("the worker: %v", err)
	}
	_, err := fleet.Submit(t.Context(), p,
		fleet.Submission{Run: fleet.Run{Tenant: "t", Expert: "e", Query: "go"}, Dir: dir})
	if err == nil || !strings.Contains(err.Error(),
		dir+" is on a file system that machines share (fuse.sshfs)") {
		t.Errorf("submit: %v", err)
	}
}

// mountShared mounts an empty file system of the type fuse.sshfs.
func mountShared(t *testing.T, dir string) {
	// os.File would poll the device, which fails before the mount.
	device, err := syscall.Open("/dev/fuse", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	needs.That(t, err == nil, "FUSE", "load the module fuse")
	needs.Mount(t, "host:/", dir, "fuse.sshfs", 0,
		fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=0", device, os.Getuid()))
	go func() {
		defer syscall.Close(device)
		for request := make([]byte, 1<<17); ; {
			switch _, err := syscall.Read(device, request); err {
			case nil:
			case syscall.EINTR, syscall.ENOENT: // the caller has given up
				continue
			default: // unmounted
				return
			}
			var body []byte
			wrong := -int32(syscall.ENOENT)
			const getattr, statfs, initialize, forget = 3, 17, 26, 2
			switch binary.NativeEndian.Uint32(request[4:]) {
			case initialize:
				body = make([]byte, 64)
				binary.NativeEndian.PutUint32(body, 7)
				binary.NativeEndian.PutUint32(body[4:], 31)
			case getattr:
				body = make([]byte, 104)
				binary.NativeEndian.PutUint32(body[76:], syscall.S_IFDIR|0o700)
			case statfs:
				body = make([]byte, 80)
			case forget:
				continue
			}
			if body != nil {
				wrong = 0
			}
			answer := binary.NativeEndian.AppendUint32(nil, uint32(16+len(body)))
			answer = binary.NativeEndian.AppendUint32(answer, uint32(wrong))
			answer = append(answer, request[8:16]...)
			syscall.Write(device, append(answer, body...))
		}
	}()
}
