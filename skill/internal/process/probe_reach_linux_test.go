//go:build amd64 || arm64

package process

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// helperSeen is the id of the helper, or in a PID namespace that of its first process, which the
// helper has made.
func helperSeen() int { return max(1, os.Getppid()) }

// processProbes reach other processes of the user.
func (s probeSite) processProbes() (list []probe) {
	v := uintptr(s.victim)
	add := func(name string, allowed bool, try func() error) { list = append(list, probe{name, allowed, try}) }
	add("see another", !s.apart, func() error { _, err := os.Stat(fmt.Sprint("/proc/", v)); return err })
	for resource := range uintptr(16) {
		limit := unix.Rlimit{Cur: 1, Max: 1}
		add(fmt.Sprint("prlimit of another: ", resource), false,
			func() error { return call(unix.SYS_PRLIMIT64, v, resource, uintptr(unsafe.Pointer(&limit)), 0) })
	}
	for _, sig := range []uintptr{0, 9, 15, 19, 64} {
		add(fmt.Sprint("kill another ", sig), false, func() error { return call(unix.SYS_KILL, v, sig) })
		add(fmt.Sprint("tgkill another ", sig), false,
			func() error { return call(unix.SYS_TGKILL, v, v, sig) })
		add(fmt.Sprint("tkill another ", sig), false, func() error { return call(unix.SYS_TKILL, v, sig) })
		add(fmt.Sprint("kill the helper ", sig), false,
			func() error { return call(unix.SYS_KILL, uintptr(helperSeen()), sig) })
		add(fmt.Sprint("pidfd_send_signal another ", sig), false, func() error {
			fd, err := unix.PidfdOpen(s.victim, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return call(unix.SYS_PIDFD_SEND_SIGNAL, uintptr(fd), sig, 0, 0)
		})
	}
	for name, who := range map[string]uintptr{"another": v, "the helper": uintptr(helperSeen())} {
		add("ptrace "+name, false, func() error { return call(unix.SYS_PTRACE, unix.PTRACE_ATTACH, who) })
		add("ptrace seize "+name, false,
			func() error { return call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, who) })
		add("memory of "+name, false,
			func() error { return closed(unix.Open(fmt.Sprintf("/proc/%d/mem", who), unix.O_RDONLY, 0)) })
		add("environment of "+name, false,
			func() error { return closed(unix.Open(fmt.Sprintf("/proc/%d/environ", who), unix.O_RDONLY, 0)) })
		add("descriptor of "+name, false, func() error {
			err := error(unix.ENOENT)
			for fd := 0; fd < highFD && err == unix.ENOENT; fd++ { // the first that there is
				err = closed(unix.Open(fmt.Sprintf("/proc/%d/fd/%d", who, fd), unix.O_RDONLY, 0))
			}
			return err
		})
		add("root of "+name, false,
			func() error { return closed(unix.Open(fmt.Sprintf("/proc/%d/root/etc/shadow", who), unix.O_RDONLY, 0)) })
		add("process_vm_readv of "+name, false, func() error {
			var b [8]byte
			_, err := unix.ProcessVMReadv(int(who), []unix.Iovec{{Base: &b[0], Len: 8}},
				[]unix.RemoteIovec{{Base: 4096, Len: 8}}, 0)
			return err
		})
		add("setpriority of "+name, false,
			func() error { return unix.Setpriority(unix.PRIO_PROCESS, int(who), 19) })
		add("setpriority of the group of "+name, false,
			func() error { return unix.Setpriority(unix.PRIO_PGRP, int(who), 19) })
		add("ioprio_set of "+name, false, func() error { return call(unix.SYS_IOPRIO_SET, 1, who, 3<<13) })
		add("sched_setaffinity of "+name, false, func() error {
			var set unix.CPUSet
			set.Set(0)
			return unix.SchedSetaffinity(int(who), &set)
		})
		param := [12]uint32{48}
		p := uintptr(unsafe.Pointer(&param))
		add("sched_setscheduler of "+name, false,
			func() error { return call(unix.SYS_SCHED_SETSCHEDULER, who, 5, uintptr(unsafe.Pointer(&[2]uint32{}))) })
		add("sched_setparam of "+name, false,
			func() error { return call(unix.SYS_SCHED_SETPARAM, who, uintptr(unsafe.Pointer(&[2]uint32{}))) })
		add("sched_setattr of "+name, false, func() error { return call(unix.SYS_SCHED_SETATTR, who, p, 0) })
	}
	add("setpriority of the user", false, func() error { return unix.Setpriority(unix.PRIO_USER, 0, 19) })
	add("ioprio_set of the user", false, func() error { return call(unix.SYS_IOPRIO_SET, 3, 0, 3<<13) })
	add("setpriority of itself", true, func() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, 19) })
	add("ioprio_set of itself", true, func() error { return call(unix.SYS_IOPRIO_SET, 1, 0, 3<<13) })
	add("prlimit of itself", true,
		func() error { return unix.Prlimit(0, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 512, Max: 512}, nil) })
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
	add("session keyring", false,
		func() error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true); return err })
	add("add_key", false, func() error { _, err := unix.AddKey("user", "x", []byte("x"), unix.KEY_SPEC_USER_KEYRING); return err })
	add("request_key", false,
		func() error { _, err := unix.RequestKey("user", "x", "", unix.KEY_SPEC_USER_KEYRING); return err })
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
		return call(unix.SYS_MSGSND, uintptr(s.queue), uintptr(unsafe.Pointer(&[2]uint64{1, 1})), 8,
			unix.IPC_NOWAIT)
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
		add("sendto fast "+name, false,
			with(func(fd int) error { return unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, to) }))
		add("sendmsg fast "+name, false,
			with(func(fd int) error { return unix.Sendmsg(fd, []byte("x"), nil, to, unix.MSG_FASTOPEN) }))
		add("listen "+name, s.own, with(func(fd int) error { return unix.Listen(fd, 1) }))
		add("bind "+name, s.own, with(func(fd int) error { return unix.Bind(fd, to) }))
		add("connect late "+name, false, with(func(fd int) error {
			return errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT, 1),
				unix.Connect(fd, to))
		}))
		for kind, n := range map[string][2]int{"UDP": {unix.SOCK_DGRAM, 0},
			"Multipath TCP": {unix.SOCK_STREAM, 262}, "SCTP": {unix.SOCK_STREAM, 132},
			"ICMP": {unix.SOCK_DGRAM, 1}, "raw": {unix.SOCK_RAW, 1}, "SMC": {unix.SOCK_STREAM, 256}} {
			add(kind+" over "+name, s.own && (kind == "UDP" || kind == "Multipath TCP"),
				func() error { return closed(unix.Socket(domain, n[0], n[1])) })
		}
	}
	for _, domain := range []int{unix.AF_PACKET, unix.AF_VSOCK, unix.AF_BLUETOOTH, unix.AF_CAN, unix.AF_ALG,
		unix.AF_TIPC, unix.AF_RDS, unix.AF_XDP, unix.AF_SMC} {
		add(fmt.Sprint("family ", domain), false,
			func() error { return closed(unix.Socket(domain, unix.SOCK_STREAM, 0)) })
	}
	add("io_uring", false, func() error { return call(unix.SYS_IO_URING_SETUP, 4, uintptr(unsafe.Pointer(&[32]uint64{}))) })
	add("socketpair", true, func() error {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		return errors.Join(err, closed(fds[0], nil), closed(fds[1], nil))
	})
	add("netlink", true, func() error { return closed(unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, 0)) })
	return list
}
