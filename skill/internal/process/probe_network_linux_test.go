//go:build amd64 || arm64

package process

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hostAddress returns an address of this machine that is not a loopback address, "-" if it has none.
func hostAddress() string {
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	return "-"
}

// networkProbes leave the network of the command, change it, or see this machine's.
func (s probeSite) networkProbes() (list []probe) {
	if !s.own {
		return nil
	}
	denied := func(name string, try func() error, as ...unix.Errno) {
		list = append(list, probe{name, false, func() error {
			if err := try(); err == nil || !slices.Contains(as, unixErrno(err)) {
				return err
			}
			return unix.EACCES
		}})
	}
	list = append(list, s.addressProbes(denied)...)
	s.familyProbes(denied)
	s.changeProbes(denied)
	s.lookProbes(denied)
	return list
}

func unixErrno(err error) unix.Errno {
	errno, _ := errors.AsType[unix.Errno](err)
	return errno
}

// toAddress connects or sends to an address.
func toAddress(kind int, to netip.AddrPort) error {
	family, at := unix.AF_INET, unix.Sockaddr(&unix.SockaddrInet4{Port: int(to.Port())})
	if to.Addr().Is4() {
		at.(*unix.SockaddrInet4).Addr = to.Addr().As4()
	} else {
		family, at = unix.AF_INET6, &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}
	}
	fd, err := unix.Socket(family, kind, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, at); err != nil || kind == unix.SOCK_STREAM {
		return err
	}
	unix.Write(fd, []byte("x"))
	unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 20)
	_, err = unix.Write(fd, []byte("x")) // fails if the first one was refused
	return err
}

type denying func(name string, try func() error, as ...unix.Errno)

// addressProbes reach other machines, and services of this one.
func (s probeSite) addressProbes(denied denying) (list []probe) {
	outside := []string{"169.254.169.254", "203.0.113.9", "8.8.8.8", "255.255.255.255", "224.0.0.251",
		"2001:db8::9", "ff02::fb", "fe80::1"}
	if s.host != "-" {
		outside = append(outside, s.host, "::ffff:"+s.host)
	}
	for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM} {
		for _, host := range []string{"127.0.0.1", "127.0.0.2", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1"} {
			for _, port := range []int{s.port, 22, 53, 80, 443, 4222, 6000} {
				to := netip.AddrPortFrom(netip.MustParseAddr(host), uint16(port))
				denied(fmt.Sprintf("kind %d to %v", kind, to), func() error { return toAddress(kind, to) },
					unix.ECONNREFUSED)
			}
		}
		for _, host := range outside {
			to := netip.AddrPortFrom(netip.MustParseAddr(host), uint16(s.port))
			denied(fmt.Sprintf("kind %d to %v", kind, to), func() error { return toAddress(kind, to) },
				unix.ENETUNREACH, unix.EHOSTUNREACH, unix.EINVAL, unix.EADDRNOTAVAIL)
		}
	}
	for _, name := range []string{fmt.Sprintf("@skill-probe-%d", s.victim), "@/tmp/.X11-unix/X0"} {
		denied("abstract socket "+name, func() error { return connectUnix(name) }, unix.ECONNREFUSED)
	}
	for _, host := range []string{"127.0.0.1", "127.9.9.9", "0.0.0.0", "[::1]"} {
		list = append(list, probe{"meet at " + host, true, func() error {
			l, err := net.Listen("tcp", host+":0")
			if err != nil {
				return err
			}
			defer l.Close()
			c, err := net.Dial("tcp", l.Addr().String())
			return errors.Join(err, c.Close())
		}})
	}
	return append(list, probe{"listen at port 81", true, func() error {
		l, err := net.Listen("tcp", "127.0.0.1:81")
		if err == nil {
			l.Close()
		}
		return err
	}})
}

// familyProbes make sockets of other protocols.
func (s probeSite) familyProbes(denied denying) {
	for _, n := range [][3]int{
		{unix.AF_INET, unix.SOCK_RAW, 1}, {unix.AF_INET, unix.SOCK_RAW, 6},
		{unix.AF_INET, unix.SOCK_RAW, 255},
		{unix.AF_INET, unix.SOCK_DGRAM, 1}, {unix.AF_INET6, unix.SOCK_DGRAM, 58},
		{unix.AF_PACKET, unix.SOCK_RAW, 0x300},
		{unix.AF_PACKET, unix.SOCK_DGRAM, 0x300}, {unix.AF_VSOCK, unix.SOCK_STREAM, 0},
		{unix.AF_VSOCK, unix.SOCK_DGRAM, 0},
		{unix.AF_BLUETOOTH, unix.SOCK_RAW, 1}, {unix.AF_CAN, unix.SOCK_RAW, 1},
		{unix.AF_ALG, unix.SOCK_SEQPACKET, 0},
		{unix.AF_TIPC, unix.SOCK_STREAM, 0}, {unix.AF_RDS, unix.SOCK_SEQPACKET, 0},
		{unix.AF_XDP, unix.SOCK_RAW, 0},
		{unix.AF_SMC, unix.SOCK_STREAM, 0}, {unix.AF_INET, unix.SOCK_STREAM, 132},
		{unix.AF_INET, unix.SOCK_DGRAM, 136},
		{unix.AF_INET, unix.SOCK_DCCP, 33}, {unix.AF_INET, unix.SOCK_DGRAM, 115},
		{unix.AF_KEY, unix.SOCK_RAW, 2},
		{unix.AF_MCTP, unix.SOCK_DGRAM, 0}, {unix.AF_QIPCRTR, unix.SOCK_DGRAM, 0},
		{unix.AF_NFC, unix.SOCK_SEQPACKET, 0},
		{unix.AF_PHONET, unix.SOCK_DGRAM, 0}, {unix.AF_LLC, unix.SOCK_STREAM, 0},
		{unix.AF_AX25, unix.SOCK_SEQPACKET, 0},
		{unix.AF_APPLETALK, unix.SOCK_DGRAM, 0}, {unix.AF_X25, unix.SOCK_SEQPACKET, 0},
		{unix.AF_IEEE802154, unix.SOCK_DGRAM, 0},
		{unix.AF_KCM, unix.SOCK_SEQPACKET, 0},
		{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_USERSOCK},
		{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT},
		{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT},
		{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER},
	} {
		denied(fmt.Sprint("socket ", n), func() error { return closed(unix.Socket(n[0], n[1], n[2])) })
	}
	denied("vsock to the hypervisor", func() error {
		fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Connect(fd, &unix.SockaddrVM{CID: unix.VMADDR_CID_HOST, Port: 1024})
	})
	denied("bpf", func() error { return call(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&[16]uint64{})), 128) },
		unix.EINVAL)
	denied("perf_event_open", func() error {
		return call(unix.SYS_PERF_EVENT_OPEN, uintptr(unsafe.Pointer(&[16]uint64{})), 0, ^uintptr(0),
			^uintptr(0), 0)
	}, unix.EINVAL, unix.E2BIG, unix.ENOENT)
}

// changeProbes change the network, or enter another.
func (s probeSite) changeProbes(denied denying) {
	paths := []string{"/proc/1/ns/net", "/proc/self/ns/net", "/proc/thread-self/ns/net", "/run/netns/lab",
		"/var/run/docker/netns/default"}
	for _, pid := range []int{s.victim, helperSeen(), os.Getppid()} {
		paths = append(paths, fmt.Sprintf("/proc/%d/ns/net", pid), fmt.Sprintf("/proc/%d/ns/user", pid))
	}
	for _, path := range append(paths, "/proc/self/ns/user", "/proc/1/ns/user") {
		denied("setns "+path, func() error {
			fd, err := unix.Open(path, unix.O_RDONLY, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Setns(fd, 0)
		}, unix.EINVAL)
	}
	for _, pid := range []int{1, s.victim, helperSeen()} {
		denied(fmt.Sprint("pidfd of another ", pid), func() error {
			fd, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			if got, err := unix.PidfdGetfd(fd, 3, 0); err == nil {
				return closed(got, nil)
			}
			return unix.Setns(fd, unix.CLONE_NEWNET)
		})
	}
	denied("unshare a network", func() error { return unix.Unshare(unix.CLONE_NEWNET) })
	control := func(name string, request uint, value []byte) {
		denied(name, func() error {
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return call(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(unsafe.Pointer(&value[0])))
		})
	}
	control("take lo down", unix.SIOCSIFFLAGS, append([]byte("lo"), make([]byte, 62)...))
	address := append([]byte("lo:7"), make([]byte, 60)...)
	copy(address[16:], []byte{unix.AF_INET, 0, 0, 0, 10, 1, 2, 3})
	control("add an address", unix.SIOCSIFADDR, address)
	control("add a route", unix.SIOCADDRT, make([]byte, 120))
	link := make([]byte, 16)
	for name, attrs := range map[string][]byte{
		"dummy link": netlinkAttr(18, netlinkAttr(1, []byte("dummy"))),
		"veth": append(netlinkAttr(19, []byte{1, 0, 0, 0}),
			netlinkAttr(18, netlinkAttr(1, []byte("veth")))...),
		"macvlan": append(netlinkAttr(5, []byte{2, 0, 0, 0}),
			netlinkAttr(18, netlinkAttr(1, []byte("macvlan")))...),
	} {
		denied("netlink: new "+name,
			func() error { return netlink(unix.RTM_NEWLINK, append(slices.Clip(link), attrs...)) })
	}
	denied("netlink: move lo", func() error {
		return netlink(unix.RTM_NEWLINK, append([]byte{0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
			netlinkAttr(19, []byte{1, 0, 0, 0})...))
	})
	for _, name := range []string{"ipv4/ip_forward", "ipv4/ip_unprivileged_port_start", "core/somaxconn"} {
		denied("write /proc/sys/net/"+name,
			func() error { return closed(unix.Open("/proc/sys/net/"+name, unix.O_WRONLY, 0)) }, unix.ENOENT)
	}
}

func netlinkAttr(kind uint16, value []byte) []byte {
	b := binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(nil, uint16(4+len(value))), kind)
	b = append(b, value...)
	return append(b, make([]byte, -len(b)&3)...)
}

// netlink sends a request about links and returns its error.
func netlink(kind uint16, body []byte) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	head := binary.LittleEndian.AppendUint32(nil, uint32(16+len(body)))
	head = binary.LittleEndian.AppendUint16(head, kind)
	head = binary.LittleEndian.AppendUint16(head,
		unix.NLM_F_REQUEST|unix.NLM_F_ACK|unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	head = append(head, 1, 0, 0, 0, 0, 0, 0, 0)
	if err := unix.Sendto(fd, append(head, body...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	reply := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, reply, 0)
	if err != nil || n < 20 || binary.LittleEndian.Uint16(reply[4:]) != unix.NLMSG_ERROR {
		return err
	}
	if code := int32(binary.LittleEndian.Uint32(reply[16:])); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}

// lookProbes look for what this machine's network has.
func (s probeSite) lookProbes(denied denying) {
	shows := func(path string, texts ...string) {
		denied("see this machine in "+path, func() error {
			data, err := os.ReadFile(path)
			if err == nil && !slices.ContainsFunc(texts,
				func(text string) bool { return strings.Contains(string(data), text) }) {
				err = unix.ENOENT
			}
			return err
		}, unix.ENOENT)
	}
	shows("/proc/net/tcp", fmt.Sprintf(":%04X", s.port))
	shows("/proc/net/tcp6", fmt.Sprintf(":%04X", s.port))
	shows("/proc/net/udp", fmt.Sprintf(":%04X", s.port))
	shows("/proc/net/unix", fmt.Sprintf("@skill-probe-%d", s.victim))
	shows("/proc/net/fib_trie", s.host)
	shows("/proc/net/dev", "eth0", "ens", "enp", "docker0")
	denied("see this machine's interfaces", func() error {
		all, err := net.Interfaces()
		if err == nil && len(all) == 1 && all[0].Name == "lo" {
			err = unix.ENOENT
		}
		return err
	}, unix.ENOENT)
	denied("inherited descriptors", func() error {
		for fd := 3; fd < 256; fd++ {
			name, err := os.Readlink(fmt.Sprint("/proc/self/fd/", fd))
			if err == nil && (strings.HasPrefix(name, "net:") || strings.HasPrefix(name, "user:")) {
				return nil
			}
		}
		return unix.ENOENT
	}, unix.ENOENT)
}
