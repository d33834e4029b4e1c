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
	"time"
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
	out    string // a directory with a file "f", and a socket "s"
	own    bool   // the probes have a network of their own
	host   string // an address of this machine that others reach; "-" if it has none
	view   bool   // the probes have a view, in which out does not exist
	apart  bool   // they have a PID namespace, in which victim does not exist
	victim int    // a process
	port   int    // on which this machine listens
	shm    int    // shared memory
	sem    int    // semaphores
	queue  int    // of messages
}

const probeRole = "FENCE_PROBE"

// TestFenceProbes makes the probes inside the fence, as this user and as another.
func TestFenceProbes(t *testing.T) { testProbes(t, "view") }

// TestFenceProbesWithoutAView makes them as where no mount namespace can be made.
func TestFenceProbesWithoutAView(t *testing.T) { testProbes(t, "plain") }

// TestFenceProbesWithoutNamespaces makes them as where no namespace can be made.
func TestFenceProbesWithoutNamespaces(t *testing.T) { testProbes(t, "shared") }

func testProbes(t *testing.T, how string) {
	needs.Shell(t)
	fenced(t, t.TempDir()) // skips where there is no whole fence
	if how == "view" {
		needs.Mounts(t)
	}
	if how != "shared" {
		needs.That(t, fenced(t, t.TempDir()).Fence().Alone, "network namespaces", "let users make them")
	}
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
	packets, err := net.ListenPacket("udp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer packets.Close()
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
		cmd := exec.Command(top+"/probe", top, how)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + top + "/tmp", "TMPDIR=" + top + "/tmp",
			probeRole + "=outside", "PORT=" + strconv.Itoa(l.Addr().(*net.TCPAddr).Port)}
		if uid != os.Geteuid() {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid),
				Gid: uint32(uid)}}
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
		packets.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		if n, from, err := packets.ReadFrom(make([]byte, 1)); err == nil {
			t.Errorf("as user %d: %d bytes came from %v", uid, n, from)
		}
		if err != nil || count < 300 {
			t.Errorf("%d probes, %v", count, err)
		}
	}
}

// probeMain is the main function of the test binary in one of the probes' roles.
func probeMain(role string) int {
	switch role {
	case "inside":
		probeInside()
		return 0
	case "connect":
		for _, path := range os.Args[1:] {
			fmt.Println(connectUnix(path))
		}
		return 0
	}
	top := os.Args[1]
	victim := exec.Command("sleep", "1000")
	victim.Dir = top + "/out"
	x, err := runnerOn(top+"/ws", Config{Helper: top + "/probe", plain: os.Args[2] != "view",
		shared: os.Args[2] == "shared"})
	for _, dir := range []string{top + "/out/", top + "/ws/"} {
		for _, name := range []string{"f", "new", "renamed", "hard"} {
			err = errors.Join(err, os.WriteFile(dir+name, []byte("secret"), 0o755))
		}
		socket, failed := net.Listen("unix", dir+"service")
		err = errors.Join(err, os.Mkdir(dir+"d", 0o755), failed)
		defer socket.Close()
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
	abstract, err := net.Listen("unix", fmt.Sprintf("@skill-probe-%d", victim.Process.Pid))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer abstract.Close()
	done, err := x.Exec(context.Background(), "",
		Command{Name: top + "/probe", Env: []string{probeRole + "=inside",
			fmt.Sprintf("SITE=%s/out %t %s %t %t %d %s %d %d %d", top, os.Args[2] != "shared", hostAddress(),
				os.Args[2] == "view", x.Fence().Processes && os.Args[2] == "view", victim.Process.Pid,
				os.Getenv("PORT"), shm, sem, queue)}})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Printf("%s%s", done.Stdout, done.Stderr)
	if done.Fence.Alone != (os.Args[2] != "shared") || done.Fence.Processes != x.Fence().Processes &&
		os.Args[2] == "view" || done.Fence.Sockets != (os.Args[2] == "view") &&
		done.Fence.ABI < abiNamedSockets {
		fmt.Println("the fence is said to be", done.Fence)
	}
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
var denials = []syscall.Errno{unix.EACCES, unix.EPERM, unix.ENOSYS, unix.EXDEV, unix.ENODEV, unix.EROFS}

// probeInside makes all probes and prints one line for each.
func probeInside() {
	var s probeSite
	fmt.Sscan(os.Getenv("SITE"), &s.out, &s.own, &s.host, &s.view, &s.apart, &s.victim, &s.port, &s.shm,
		&s.sem, &s.queue)
	denials := denials
	if s.own { // nothing listens there, for it is another network
		denials = append(slices.Clip(denials), unix.ECONNREFUSED)
	}
	for _, p := range s.probes() {
		err := p.try()
		errno, _ := errors.AsType[syscall.Errno](err)
		absent := errno == unix.ENOENT && strings.Contains(p.name, " /") || // in this system or view
			s.apart && (errno == unix.ENOENT || errno == unix.ESRCH) && strings.Contains(p.name, "another")
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
	return append(append(append(s.fileProbes(), s.setIDProbes()...), s.processProbes()...),
		slices.Concat(s.socketProbes(), s.namedProbes(), s.networkProbes())...)
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
			return unix.Renameat2(unix.AT_FDCWD, dir+"/renamed", unix.AT_FDCWD, dir+"/hard",
				unix.RENAME_EXCHANGE)
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
	add("move out "+s.out, func() error { return unix.Rename("hard", s.out+"/moved") })
	add("move in "+f, func() error { return unix.Rename(f, "moved") })
	add("link in "+f, func() error { return unix.Link(f, "stolen") })
	for _, path := range []string{f, s.out, "/", "/etc/shadow", "/root", "/home", "/dev/mem", "/dev/kmsg",
		"/proc/kcore", "/sys/kernel/security", "/proc/1/environ", "/run", "/var/log", "/dev", "/etc"} {
		add("read "+path, func() error { return closed(unix.Open(path, unix.O_RDONLY, 0)) })
	}
	list = append(list, probe{"read /tmp", s.own && s.view,
		func() error { return closed(unix.Open("/tmp", unix.O_RDONLY, 0)) }})
	list = append(list, s.terminalProbes()...)
	for _, path := range []string{"/proc/self/oom_score_adj", "/proc/self/comm",
		"/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/usr/bin/env", "/etc/passwd",
		"/dev/shm/../sda", "/sys/fs/cgroup/x"} {
		add("write "+path, func() error { return closed(unix.Open(path, unix.O_WRONLY|unix.O_CREAT, 0o644)) })
	}
	add("mount", func() error { return unix.Mount("none", ".", "tmpfs", 0, "") })
	add("bind mount", func() error { return unix.Mount("/", ".", "", unix.MS_BIND, "") })
	add("pivot_root", func() error { return unix.PivotRoot(".", ".") })
	add("block device", func() error { return unix.Mknod("dev", unix.S_IFBLK|0o600, 8<<8) })
	add("character device", func() error { return unix.Mknod("dev", unix.S_IFCHR|0o600, 1<<8|1) })
	add("open_by_handle_at "+f, func() error {
		handle, mount, err := unix.NameToHandleAt(unix.AT_FDCWD, f, 0)
		if err != nil {
			return err
		}
		_ = mount
		return closed(unix.OpenByHandleAt(unix.AT_FDCWD, handle, unix.O_RDONLY))
	})
	add("give a file away", func() error {
		var now unix.Stat_t
		if err := unix.Chown(".", 12345, -1); err != nil && err != unix.EINVAL { // a view knows no other user
			return err
		}
		if err := unix.Stat(".", &now); err != nil || now.Uid == 12345 {
			return err
		}
		return unix.EPERM // the filter has root believe it
	})
	add("capability of a file "+f, func() error {
		value := []byte{1, 0, 0, 2, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}
		return unix.Setxattr(f, "security.capability", value, 0)
	})
	return list
}

// terminalProbes make terminals and list them.
func (s probeSite) terminalProbes() (list []probe) {
	add := func(name string, allowed bool, try func(t stream) error) {
		list = append(list, probe{name + " /dev/ptmx", allowed, func() error {
			t, err := openTerminal(0)
			if err == nil {
				err = try(t)
				unix.Close(t.theirs)
				unix.Close(t.ours)
			}
			return err
		}})
	}
	add("make a terminal", s.view, func(stream) error { return nil })
	add("open a terminal by its name", s.view, func(t stream) error {
		n, err := unix.IoctlGetInt(t.ours, unix.TIOCGPTN)
		if err == nil {
			err = closed(unix.Open(fmt.Sprint("/dev/pts/", n), unix.O_RDWR|unix.O_NOCTTY, 0))
		}
		return err
	})
	add("see only own terminals", s.view, func(stream) error {
		entries, err := os.ReadDir("/dev/pts")
		if err == nil && len(entries) != 2 { // it and ptmx
			err = unix.EEXIST
		}
		return err
	})
	for _, request := range []uintptr{unix.TIOCSTI, unix.TIOCSETD, unix.TIOCLINUX, 1<<32 | unix.TIOCSTI} {
		add(fmt.Sprintf("request %#x of a terminal", request), false, func(t stream) error {
			value := [4]byte{'x'}
			return call(unix.SYS_IOCTL, uintptr(t.theirs), request, uintptr(unsafe.Pointer(&value)))
		})
	}
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
				list = append(list, probe{fmt.Sprintf("%s %o %s", name, mode, path), allowed &&
					!(outside && s.view), try})
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
		return closed(unix.Openat2(unix.AT_FDCWD, "made",
			&unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o4755}))
	}})
	return list
}

// TestFilterFits has every architecture's filter be one that the kernel could take.
func TestFilterFits(t *testing.T) {
	for _, of := range []filterOf{{}, {network: true}, {own: true}, {own: true, root: true}, {tcp: true},
		{root: true}, {network: true, root: true}} {
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
