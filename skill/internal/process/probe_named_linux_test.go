//go:build amd64 || arm64

package process

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// reachable reports whether sockets that have a name can be reached.
func (s probeSite) reachable() bool { return !s.view && landlockABI() < abiNamedSockets }

// namedProbes connect to sockets that have a name in the file system.
func (s probeSite) namedProbes() (list []probe) {
	add := func(name string, try func() error) {
		list = append(list, probe{name + " " + s.out, s.reachable(), try})
	}
	service := s.out + "/service"
	add("connect", func() error { return connectUnix(service) })
	add("connect by ..", func() error { return connectUnix("../out/service") })
	add("connect by /proc/self/root", func() error { return connectUnix("/proc/self/root" + service) })
	add("connect by /proc/self/cwd", func() error { return connectUnix("/proc/self/cwd/../out/service") })
	add("connect by /proc/thread-self/root",
		func() error { return connectUnix("/proc/thread-self/root" + service) })
	add("connect by a link", func() error { return errors.Join(relink(service, "l"), connectUnix("l")) })
	add("connect by a link to its directory",
		func() error { return errors.Join(relink(s.out, "l"), connectUnix("l/service")) })
	add("connect by a link to ..",
		func() error { return errors.Join(relink("../out", "l"), connectUnix("l/service")) })
	add("connect by an open socket", func() error { return connectOpened(service, "") })
	add("connect from its directory", func() error { return connectOpened(s.out, "/service") })
	add("connect from the directory above",
		func() error { return connectOpened(s.out+"/..", "/out/service") })
	add("connect from /", func() error { return connectOpened("/", service) })
	add("connect from the directory above the working directory",
		func() error { return connectOpened("..", "/out/service") })
	add("connect by many ..", func() error { return connectUnix("." + strings.Repeat("/..", 15) + service) })
	for name, pid := range map[string]int{"another": s.victim, "the helper": helperSeen(), "process 1": 1} {
		denied := func(name string, try func() error) { list = append(list, probe{name + " " + s.out, false, try}) }
		denied("connect by the root of "+name,
			func() error { return connectUnix(fmt.Sprintf("/proc/%d/root%s/service", pid, s.out)) })
		denied("connect by the directory of "+name,
			func() error { return connectUnix(fmt.Sprintf("/proc/%d/cwd/service", pid)) })
		for _, space := range []string{"mnt", "user", "ipc", "pid", "net"} {
			denied("enter the "+space+" namespace of "+name, func() error {
				fd, err := unix.Open(fmt.Sprintf("/proc/%d/ns/%s", pid, space), unix.O_RDONLY, 0)
				if err != nil {
					return err
				}
				defer unix.Close(fd)
				return unix.Setns(fd, 0)
			})
		}
	}
	list = append(list, probe{"connect in the workspace", true,
		func() error { return connectUnix("service") }})
	for name, dir := range map[string]string{"the workspace": ".",
		"the temporary folder": os.Getenv("TMPDIR"), "shared memory": "/dev/shm"} {
		list = append(list, probe{"connect to itself in " + name, true, func() error {
			path := fmt.Sprintf("%s/own%d", dir, os.Getpid())
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
			defer unix.Close(fd)
			defer os.Remove(path)
			return errors.Join(err, unix.Bind(fd, &unix.SockaddrUnix{Name: path}), unix.Listen(fd, 1),
				connectUnix(path))
		}})
	}
	return append(list, append(s.mountProbes(), s.attributeProbes()...)...)
}

// attributeProbes change what a command may only read, without a change of its content.
func (s probeSite) attributeProbes() (list []probe) {
	if !s.view {
		return nil
	}
	for _, path := range []string{"/etc/passwd", "/etc", "/dev/null", "/dev", "/usr/bin/env", "/usr",
		"/bin/sh"} {
		var st unix.Stat_t
		if unix.Stat(path, &st) != nil {
			continue
		}
		add := func(name string, try func() error) { list = append(list, probe{name + " " + path, false, try}) }
		add("mode of", func() error { return unix.Chmod(path, st.Mode&0o7777) })
		add("times of", func() error { return unix.UtimesNanoAt(unix.AT_FDCWD, path, nil, 0) })
		add("attribute of", func() error { return unix.Setxattr(path, "user.skill", []byte("x"), 0) })
		add("mode of opened", func() error {
			fd, err := unix.Open(path, unix.O_RDONLY, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Fchmod(fd, st.Mode&0o777)
		})
		add("subvolume of", func() error {
			fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
			if err != nil {
				return unix.EACCES
			}
			defer unix.Close(fd)
			var name [4096]byte
			copy(name[8:], "skill-probe")
			if err := call(unix.SYS_IOCTL, uintptr(fd), 0x5000940e, uintptr(unsafe.Pointer(&name))); err != unix.ENOTTY && err != unix.EINVAL {
				return err
			}
			return unix.EROFS // this file system is not btrfs
		})
	}
	return list
}

// mountProbes try to see more of the file system.
func (s probeSite) mountProbes() (list []probe) {
	add := func(name string, try func() error) { list = append(list, probe{name + " " + s.out, false, try}) }
	add("enter a mount namespace again", func() error {
		fd, err := unix.Open("/proc/self/ns/mnt", unix.O_RDONLY, 0)
		defer unix.Close(fd)
		return errors.Join(err, unix.Setns(fd, unix.CLONE_NEWNS))
	})
	for _, path := range []string{"/", "/proc", "/tmp", "/run", "."} {
		add("umount "+path, func() error { return unix.Unmount(path, 0) })
		add("lazy umount "+path, func() error { return unix.Unmount(path, unix.MNT_DETACH) })
		add("remount "+path, func() error { return unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_BIND, "") })
		add("unbind "+path, func() error { return unix.Mount("", path, "", unix.MS_PRIVATE|unix.MS_REC, "") })
		add("move "+path, func() error { return unix.Mount(path, ".", "", unix.MS_MOVE, "") })
		add("clone the mounts of "+path, func() error {
			fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.AT_RECURSIVE)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return connectUnix(fmt.Sprintf("/proc/self/fd/%d%s/service", fd, s.out))
		})
	}
	add("mount the disk", func() error {
		data, _ := os.ReadFile("/proc/self/mounts")
		err := unix.ENOENT
		for line := range strings.Lines(string(data)) {
			if f := strings.Fields(line); strings.HasPrefix(f[0], "/dev/") {
				err, _ = unix.Mount(f[0], ".", f[2], unix.MS_RDONLY, "").(unix.Errno)
			}
		}
		return err
	})
	add("mount /proc", func() error { return unix.Mount("proc", ".", "proc", 0, "") })
	list = append(list, probe{"leave by chroot " + s.out, os.Geteuid() == 0 && s.reachable(), func() error {
		fd, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		os.Mkdir("jail", 0o755)
		if err := unix.Chroot("jail"); err != nil {
			return err
		}
		defer unix.Fchdir(fd)
		unix.Fchdir(fd)
		defer unix.Chroot(".")
		return connectUnix(strings.Repeat("../", 15) + s.out[1:] + "/service")
	}})
	return list
}

// connectUnix connects to a socket of either kind.
func connectUnix(path string) error {
	var err error
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM} {
		fd, failed := unix.Socket(unix.AF_UNIX, kind, 0)
		if failed != nil {
			return failed
		}
		defer unix.Close(fd)
		if failed = unix.Connect(fd, &unix.SockaddrUnix{Name: path}); failed == nil ||
			failed == unix.EPROTOTYPE {
			return nil // the name leads there
		}
		err = failed
	}
	return err
}

// connectOpened connects to what lies below a file that is opened first.
func connectOpened(path, below string) error {
	fd, err := unix.Open(path, unix.O_PATH, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return connectUnix(fmt.Sprintf("/proc/self/fd/%d%s", fd, below))
}

func relink(target, name string) error {
	os.Remove(name)
	return os.Symlink(target, name)
}
