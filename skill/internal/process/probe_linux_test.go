//go:build amd64 || arm64

package process

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"textskill/testdata/needs"
)

// A probe is one attempt of a fenced command, by a system call of its own.
type probe struct {
	name    string
	allowed bool // as for any program
	try     func() error
}

// probeSite is what the probes aim at: all of it is outside the fence, and belongs to the
// same user.
type probeSite struct {
	out    string // a directory with a file "f"
	victim int    // a process
	port   int    // on which this machine listens
	shm    int    // shared memory
	sem    int    // semaphores
	queue  int    // of messages
}

const probeRole = "FENCE_PROBE"

// TestFenceProbes makes the probes inside the fence, as this user and as another.
func TestFenceProbes(t *testing.T) {
	fenced(t, t.TempDir()) // skips where there is no whole fence
	users := []int{os.Geteuid()}
	if os.Geteuid() == 0 {
		needs.Users(t)
		users = append(users, 65534)
	}
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, uid := range users {
		top, err := os.MkdirTemp("/tmp", "probe")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(top)
		binary, err := os.ReadFile(self(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(top+"/probe", binary, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{top, top + "/ws", top + "/out", top + "/tmp"} {
			if err := errors.Join(os.MkdirAll(dir, 0o755), os.Chown(dir, uid, -1)); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(top+"/probe", top)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + top + "/tmp", "TMPDIR=" + top + "/tmp", probeRole + "=outside", "PORT=" + strconv.Itoa(l.Addr().(*net.TCPAddr).Port)}
		if uid != os.Geteuid() {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
		}
		said, err := cmd.CombinedOutput()
		count, wrong := 0, 0
		for line := range strings.Lines(string(said)) {
			if count++; !strings.HasPrefix(line, "ok ") {
				wrong++
				t.Errorf("as user %d: %s", uid, line)
			}
		}
		t.Logf("%d probes as user %d, %d wrong", count, uid, wrong)
		if err != nil || count < 150 {
			t.Errorf("%d probes, %v", count, err)
		}
	}
}

// probeMain is the main function of the test binary in one of the probes' roles.
func probeMain(role string) int {
	if role == "inside" {
		probeInside()
		return 0
	}
	top := os.Args[1]
	victim := exec.Command("sleep", "1000")
	x, err := runnerOn(top+"/ws", Config{Helper: top + "/probe"})
	for _, dir := range []string{top + "/out/", top + "/ws/"} {
		for _, name := range []string{"f", "new", "renamed", "hard"} {
			err = errors.Join(err, os.WriteFile(dir+name, []byte("secret"), 0o755))
		}
		err = errors.Join(err, os.Mkdir(dir+"d", 0o755))
	}
	if err = errors.Join(err, victim.Start()); err != nil {
		fmt.Println(err)
		return 1
	}
	before := listing(top + "/out")
	defer victim.Process.Kill()
	defer x.Close()
	shm, _, _ := unix.Syscall(unix.SYS_SHMGET, 0x5ec2e7, 4096, unix.IPC_CREAT|0o600)
	sem, _, _ := unix.Syscall(unix.SYS_SEMGET, 0x5ec2e7, 1, unix.IPC_CREAT|0o600)
	queue, _, _ := unix.Syscall(unix.SYS_MSGGET, 0x5ec2e7, unix.IPC_CREAT|0o600, 0)
	defer unix.Syscall(unix.SYS_SHMCTL, shm, unix.IPC_RMID, 0)
	defer unix.Syscall6(unix.SYS_SEMCTL, sem, 0, unix.IPC_RMID, 0, 0, 0)
	defer unix.Syscall(unix.SYS_MSGCTL, queue, unix.IPC_RMID, 0)
	done, err := x.Exec(context.Background(), "", Command{Name: top + "/probe", Env: []string{probeRole + "=inside",
		fmt.Sprintf("SITE=%s/out %d %s %d %d %d", top, victim.Process.Pid, os.Getenv("PORT"), shm, sem, queue)}})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Printf("%s%s", done.Stdout, done.Stderr)
	if victim.Process.Signal(syscall.Signal(0)) != nil || done.Failed() {
		fmt.Println("the victim has ended, or the probes:", done.Message())
	}
	if after := listing(top + "/out"); after != before {
		fmt.Printf("outside is now %s\nand was %s\n", after, before)
	}
	return 0
}

// listing describes the files of a directory.
func listing(dir string) (all string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		info, err := e.Info()
		data, _ := os.ReadFile(dir + "/" + e.Name())
		if err == nil {
			all += fmt.Sprintln(e.Name(), info.Mode(), info.Sys().(*syscall.Stat_t).Uid, string(data))
		}
	}
	return all
}

// denials are the errors of what is denied.
var denials = []syscall.Errno{unix.EACCES, unix.EPERM, unix.ENOSYS, unix.EXDEV, unix.ENODEV}

// probeInside makes all probes and prints one line for each.
func probeInside() {
	var s probeSite
	fmt.Sscan(os.Getenv("SITE"), &s.out, &s.victim, &s.port, &s.shm, &s.sem, &s.queue)
	for _, p := range s.probes() {
		err := p.try()
		errno, _ := errors.AsType[syscall.Errno](err)
		absent := errno == unix.ENOENT && strings.Contains(p.name, " /") // this system has no such file
		switch {
		case p.allowed && err == nil, !p.allowed && (absent || slices.Contains(denials, errno)):
			fmt.Println("ok", p.name, err)
		default:
			fmt.Printf("%s: %v\n", p.name, err)
		}
	}
}

// errnoOf is nil for 0.
func errnoOf(_, _ uintptr, errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

func call(number uintptr, args ...uintptr) error {
	args = append(args, 0, 0, 0, 0, 0, 0)
	return errnoOf(unix.Syscall6(number, args[0], args[1], args[2], args[3], args[4], args[5]))
}

func cString(s string) uintptr { return uintptr(unsafe.Pointer(&append([]byte(s), 0)[0])) }

func (s probeSite) probes() []probe {
	return append(append(append(s.fileProbes(), s.setIDProbes()...), s.processProbes()...), s.socketProbes()...)
}

// fileProbes change what lies outside, and what lies inside.
func (s probeSite) fileProbes() (list []probe) {
	f := s.out + "/f"
	at := func(dir string, allowed bool) {
		add := func(name string, try func() error) { list = append(list, probe{name + " in " + dir, allowed, try}) }
		add("create", func() error { return os.WriteFile(dir+"/new", []byte("x"), 0o644) })
		add("truncate", func() error { return unix.Truncate(dir+"/new", 0) })
		add("append", func() error { return closed(unix.Open(dir+"/new", unix.O_WRONLY|unix.O_APPEND, 0)) })
		add("tmpfile", func() error { return closed(unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR, 0o600)) })
		add("mkdir", func() error { return unix.Mkdir(dir+"/d2", 0o755) })
		add("symlink", func() error { return unix.Symlink("x", dir+"/l") })
		add("fifo", func() error { return unix.Mkfifo(dir+"/p", 0o600) })
		add("link", func() error { return unix.Link(dir+"/new", dir+"/hard2") })
		add("rename", func() error { return unix.Rename(dir+"/new", dir+"/renamed") })
		add("exchange", func() error {
			return unix.Renameat2(unix.AT_FDCWD, dir+"/renamed", unix.AT_FDCWD, dir+"/hard", unix.RENAME_EXCHANGE)
		})
		add("unlink", func() error { return unix.Unlink(dir + "/renamed") })
		add("rmdir", func() error { return unix.Rmdir(dir + "/d") })
		add("list", func() error { _, err := os.ReadDir(dir); return err })
		add("unix socket", func() error {
			l, err := net.Listen("unix", dir+"/s")
			if err == nil {
				l.Close()
			}
			return err
		})
	}
	at(".", true)
	at(s.out, false)
	add := func(name string, try func() error) { list = append(list, probe{name, false, try}) }
	add("move out", func() error { return unix.Rename("hard", s.out+"/moved") })
	add("move in", func() error { return unix.Rename(f, "moved") })
	add("link in", func() error { return unix.Link(f, "stolen") })
	for _, path := range []string{f, s.out, "/", "/etc/shadow", "/root", "/home", "/dev/mem", "/dev/kmsg", "/proc/kcore", "/sys/kernel/security", "/proc/1/environ", "/run", "/var/log", "/tmp", "/dev", "/etc"} {
		add("read "+path, func() error { return closed(unix.Open(path, unix.O_RDONLY, 0)) })
	}
	for _, path := range []string{"/proc/self/oom_score_adj", "/proc/self/comm", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/usr/bin/env", "/etc/passwd", "/dev/shm/../sda", "/sys/fs/cgroup/x"} {
		add("write "+path, func() error { return closed(unix.Open(path, unix.O_WRONLY|unix.O_CREAT, 0o644)) })
	}
	add("mount", func() error { return unix.Mount("none", ".", "tmpfs", 0, "") })
	add("bind mount", func() error { return unix.Mount("/", ".", "", unix.MS_BIND, "") })
	add("pivot_root", func() error { return unix.PivotRoot(".", ".") })
	add("block device", func() error { return unix.Mknod("dev", unix.S_IFBLK|0o600, 8<<8) })
	add("character device", func() error { return unix.Mknod("dev", unix.S_IFCHR|0o600, 1<<8|1) })
	add("open_by_handle_at", func() error {
		handle, mount, err := unix.NameToHandleAt(unix.AT_FDCWD, f, 0)
		if err != nil {
			return err
		}
		_ = mount
		return closed(unix.OpenByHandleAt(unix.AT_FDCWD, handle, unix.O_RDONLY))
	})
	add("give a file away", func() error {
		var now unix.Stat_t
		if err := errors.Join(unix.Chown(".", 12345, -1), unix.Stat(".", &now)); err != nil || now.Uid == 12345 {
			return err
		}
		return unix.EPERM // the filter has root believe it
	})
	add("capability of a file", func() error {
		value := []byte{1, 0, 0, 2, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}
		return unix.Setxattr(f, "security.capability", value, 0)
	})
	return list
}

// closed closes a descriptor.
func closed(fd int, err error) error {
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// setIDProbes set set-id bits by every call that has a mode.
func (s probeSite) setIDProbes() (list []probe) {
	for _, mode := range []uintptr{0o4755, 0o2755, 0o6711, 0o7777, 0o755} {
		allowed := mode&0o6000 == 0
		for i, path := range []string{"file", s.out + "/f"} {
			outside := i == 1
			add := func(name string, try func() error) {
				list = append(list, probe{fmt.Sprintf("%s %o %s", name, mode, path), allowed, try})
			}
			target := path
			ready := func() { os.WriteFile("file", nil, 0o644) }
			add("chmod", func() error { ready(); return unix.Fchmodat(unix.AT_FDCWD, target, uint32(mode), 0) })
			add("fchmodat2", func() error { return call(452, ^uintptr(99), cString(target), mode, 0) })
			if outside {
				continue
			}
			add("fchmod", func() error {
				fd, err := unix.Open(target, unix.O_RDONLY, 0)
				if err != nil {
					return err
				}
				defer unix.Close(fd)
				return unix.Fchmod(fd, uint32(mode))
			})
			fresh := func() { os.Remove("made") }
			add("openat", func() error {
				fresh()
				return closed(unix.Open("made", unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, uint32(mode)))
			})
			add("openat tmpfile", func() error { return closed(unix.Open(".", unix.O_TMPFILE|unix.O_WRONLY, uint32(mode))) })
			add("mknodat", func() error { fresh(); return unix.Mknod("made", unix.S_IFREG|uint32(mode), 0) })
			for name, number := range legacyModeCalls {
				add(name, func() error {
					fresh()
					ready()
					file := "made"
					if name == "chmod(2)" {
						file = "file"
					}
					second, third := mode, uintptr(0)
					if name == "open(2)" {
						second, third = unix.O_CREAT|unix.O_WRONLY, mode
					}
					return call(number, cString(file), second, third)
				})
			}
		}
	}
	list = append(list, probe{"openat2", false, func() error {
		return closed(unix.Openat2(unix.AT_FDCWD, "made", &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o4755}))
	}})
	return list
}

// processProbes reach other processes of the user.
func (s probeSite) processProbes() (list []probe) {
	v := uintptr(s.victim)
	add := func(name string, allowed bool, try func() error) { list = append(list, probe{name, allowed, try}) }
	for resource := range uintptr(16) {
		limit := unix.Rlimit{Cur: 1, Max: 1}
		add(fmt.Sprint("prlimit of another: ", resource), false, func() error { return call(unix.SYS_PRLIMIT64, v, resource, uintptr(unsafe.Pointer(&limit)), 0) })
	}
	for _, sig := range []uintptr{0, 9, 15, 19, 64} {
		add(fmt.Sprint("kill ", sig), false, func() error { return call(unix.SYS_KILL, v, sig) })
		add(fmt.Sprint("tgkill ", sig), false, func() error { return call(unix.SYS_TGKILL, v, v, sig) })
		add(fmt.Sprint("tkill ", sig), false, func() error { return call(unix.SYS_TKILL, v, sig) })
		add(fmt.Sprint("kill the helper ", sig), false, func() error { return call(unix.SYS_KILL, uintptr(os.Getppid()), sig) })
		add(fmt.Sprint("pidfd_send_signal ", sig), false, func() error {
			fd, err := unix.PidfdOpen(s.victim, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return call(unix.SYS_PIDFD_SEND_SIGNAL, uintptr(fd), sig, 0, 0)
		})
	}
	for name, who := range map[string]uintptr{"another": v, "the helper": uintptr(os.Getppid())} {
		add("ptrace "+name, false, func() error { return call(unix.SYS_PTRACE, unix.PTRACE_ATTACH, who) })
		add("ptrace seize "+name, false, func() error { return call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, who) })
		add("memory of "+name, false, func() error { return closed(unix.Open(fmt.Sprintf("/proc/%d/mem", who), unix.O_RDONLY, 0)) })
		add("environment of "+name, false, func() error { return closed(unix.Open(fmt.Sprintf("/proc/%d/environ", who), unix.O_RDONLY, 0)) })
		add("descriptor of "+name, false, func() error { return closed(unix.Open(fmt.Sprintf("/proc/%d/fd/0", who), unix.O_RDONLY, 0)) })
		add("root of "+name, false, func() error { return closed(unix.Open(fmt.Sprintf("/proc/%d/root/etc/shadow", who), unix.O_RDONLY, 0)) })
		add("process_vm_readv of "+name, false, func() error {
			var b [8]byte
			_, err := unix.ProcessVMReadv(int(who), []unix.Iovec{{Base: &b[0], Len: 8}}, []unix.RemoteIovec{{Base: 4096, Len: 8}}, 0)
			return err
		})
		add("setpriority of "+name, false, func() error { return unix.Setpriority(unix.PRIO_PROCESS, int(who), 19) })
		add("setpriority of the group of "+name, false, func() error { return unix.Setpriority(unix.PRIO_PGRP, int(who), 19) })
		add("ioprio_set of "+name, false, func() error { return call(unix.SYS_IOPRIO_SET, 1, who, 3<<13) })
		add("sched_setaffinity of "+name, false, func() error {
			var set unix.CPUSet
			set.Set(0)
			return unix.SchedSetaffinity(int(who), &set)
		})
		param := [12]uint32{48}
		p := uintptr(unsafe.Pointer(&param))
		add("sched_setscheduler of "+name, false, func() error { return call(unix.SYS_SCHED_SETSCHEDULER, who, 5, uintptr(unsafe.Pointer(&[2]uint32{}))) })
		add("sched_setparam of "+name, false, func() error { return call(unix.SYS_SCHED_SETPARAM, who, uintptr(unsafe.Pointer(&[2]uint32{}))) })
		add("sched_setattr of "+name, false, func() error { return call(unix.SYS_SCHED_SETATTR, who, p, 0) })
	}
	add("setpriority of the user", false, func() error { return unix.Setpriority(unix.PRIO_USER, 0, 19) })
	add("ioprio_set of the user", false, func() error { return call(unix.SYS_IOPRIO_SET, 3, 0, 3<<13) })
	add("setpriority of itself", true, func() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, 1) })
	add("ioprio_set of itself", true, func() error { return call(unix.SYS_IOPRIO_SET, 1, 0, 3<<13) })
	add("prlimit of itself", true, func() error { return unix.Prlimit(0, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 512, Max: 512}, nil) })
	add("limits of another are read", true, func() error {
		var l unix.Rlimit
		return unix.Prlimit(os.Getpid(), unix.RLIMIT_NOFILE, nil, &l)
	})
	add("sched_setaffinity of itself", true, func() error {
		var set unix.CPUSet
		set.Set(0)
		return unix.SchedSetaffinity(0, &set)
	})
	add("keyctl", false, func() error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true); return err })
	add("session keyring", false, func() error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true); return err })
	add("add_key", false, func() error { _, err := unix.AddKey("user", "x", []byte("x"), unix.KEY_SPEC_USER_KEYRING); return err })
	add("request_key", false, func() error { _, err := unix.RequestKey("user", "x", "", unix.KEY_SPEC_USER_KEYRING); return err })
	add("setns", false, func() error {
		fd, err := unix.Open("/proc/self/ns/ipc", unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if other, err := unix.PidfdOpen(s.victim, 0); err == nil {
			return unix.Setns(other, unix.CLONE_NEWIPC)
		}
		return unix.EPERM
	})
	if os.Geteuid() == 0 {
		add("unshare users", false, func() error { return unix.Unshare(unix.CLONE_NEWUSER) })
		add("clone3", false, func() error { return call(unix.SYS_CLONE3, 0, 0) })
		add("reboot", false, func() error { return unix.Reboot(0) })
		add("hostname", false, func() error { return unix.Sethostname([]byte("x")) })
		add("clock", false, func() error { return unix.ClockSettime(unix.CLOCK_REALTIME, &unix.Timespec{}) })
		add("kernel log", false, func() error { _, err := unix.Klogctl(3, make([]byte, 16)); return err })
		add("swapoff", false, func() error { return call(unix.SYS_SWAPOFF, cString("/x")) })
		add("load a module", false, func() error { return unix.InitModule([]byte("x"), "") })
	}
	return append(list, s.ipcProbes()...)
}

// ipcProbes reach System V's objects of the user. Those of another namespace do not exist
// for the command.
func (s probeSite) ipcProbes() (list []probe) {
	add := func(name string, try func() error) {
		list = append(list, probe{name, false, func() error {
			if err := try(); err != unix.EINVAL && err != unix.ENOENT && err != unix.EIDRM {
				return err
			}
			return unix.EACCES
		}})
	}
	add("shmat", func() error { return call(unix.SYS_SHMAT, uintptr(s.shm), 0, 0) })
	add("shmget", func() error { return call(unix.SYS_SHMGET, 0x5ec2e7, 4096, 0) })
	add("shmctl", func() error { return call(unix.SYS_SHMCTL, uintptr(s.shm), unix.IPC_RMID, 0) })
	add("semget", func() error { return call(unix.SYS_SEMGET, 0x5ec2e7, 1, 0) })
	add("semctl", func() error { return call(unix.SYS_SEMCTL, uintptr(s.sem), 0, unix.IPC_RMID) })
	add("semop", func() error {
		return call(unix.SYS_SEMOP, uintptr(s.sem), uintptr(unsafe.Pointer(&[3]uint16{0, 1, 0})), 1)
	})
	add("msgget", func() error { return call(unix.SYS_MSGGET, 0x5ec2e7, 0) })
	add("msgsnd", func() error {
		return call(unix.SYS_MSGSND, uintptr(s.queue), uintptr(unsafe.Pointer(&[2]uint64{1, 1})), 8, unix.IPC_NOWAIT)
	})
	add("msgctl", func() error { return call(unix.SYS_MSGCTL, uintptr(s.queue), unix.IPC_RMID, 0) })
	return list
}

// socketProbes reach this machine.
func (s probeSite) socketProbes() (list []probe) {
	add := func(name string, allowed bool, try func() error) { list = append(list, probe{name, allowed, try}) }
	v4 := &unix.SockaddrInet4{Port: s.port, Addr: [4]byte{127, 0, 0, 1}}
	v6 := &unix.SockaddrInet6{Port: s.port, Addr: [16]byte{15: 1}}
	mapped := &unix.SockaddrInet6{Port: s.port, Addr: [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}}
	for name, to := range map[string]unix.Sockaddr{"IPv4": v4, "IPv6": v6, "mapped IPv4": mapped} {
		domain := unix.AF_INET6
		if to == unix.Sockaddr(v4) {
			domain = unix.AF_INET
		}
		with := func(try func(fd int) error) func() error {
			return func() error {
				fd, err := unix.Socket(domain, unix.SOCK_STREAM, 0)
				if err != nil {
					return err
				}
				defer unix.Close(fd)
				return try(fd)
			}
		}
		add("connect "+name, false, with(func(fd int) error { return unix.Connect(fd, to) }))
		add("sendto fast "+name, false, with(func(fd int) error { return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, to) }))
		add("sendmsg fast "+name, false, with(func(fd int) error { return unix.Sendmsg(fd, []byte("x"), nil, to, unix.MSG_FASTOPEN) }))
		add("listen "+name, false, with(func(fd int) error { return unix.Listen(fd, 1) }))
		add("bind "+name, false, with(func(fd int) error { return unix.Bind(fd, to) }))
		add("connect late "+name, false, with(func(fd int) error {
			return errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT, 1), unix.Connect(fd, to))
		}))
		for kind, n := range map[string][2]int{"UDP": {unix.SOCK_DGRAM, 0}, "Multipath TCP": {unix.SOCK_STREAM, 262}, "SCTP": {unix.SOCK_STREAM, 132}, "ICMP": {unix.SOCK_DGRAM, 1}, "raw": {unix.SOCK_RAW, 1}, "SMC": {unix.SOCK_STREAM, 256}} {
			add(kind+" over "+name, false, func() error { return closed(unix.Socket(domain, n[0], n[1])) })
		}
	}
	for _, domain := range []int{unix.AF_PACKET, unix.AF_VSOCK, unix.AF_BLUETOOTH, unix.AF_CAN, unix.AF_ALG, unix.AF_TIPC, unix.AF_RDS, unix.AF_XDP, unix.AF_SMC} {
		add(fmt.Sprint("family ", domain), false, func() error { return closed(unix.Socket(domain, unix.SOCK_STREAM, 0)) })
	}
	add("io_uring", false, func() error { return call(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&[32]uint64{}))) })
	add("socketpair", true, func() error {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		return errors.Join(err, closed(fds[0], nil), closed(fds[1], nil))
	})
	add("netlink", true, func() error { return closed(unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, 0)) })
	return list
}

// TestFilterFits has every architecture's filter be one that the kernel could take.
func TestFilterFits(t *testing.T) {
	for _, of := range []filterOf{{}, {network: true}, {tcp: true}, {root: true}, {network: true, sysV: true, root: true}} {
		program := of.program()
		for i, in := range program {
			jumps := in.Code&7 == unix.BPF_JMP && in.Code&0xf0 != unix.BPF_JA
			if jumps && (i+1+int(in.Jt) >= len(program) || i+1+int(in.Jf) >= len(program)) {
				t.Errorf("%+v: instruction %d jumps past the end", of, i)
			}
		}
		if len(program) > 4096 {
			t.Errorf("%+v: %d instructions", of, len(program))
		}
	}
}
