package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// A Dialer connects to public addresses. It judges the address that it connects to, so that no
// answer of a name server leads elsewhere. The zero Dialer is ready for use.
type Dialer struct {
	Resolver *net.Resolver     // nil means the system's
	Hosts    map[string]string // addresses, of any kind, of HOST:PORT that are not looked up; for tests
}

// dialTimeout is how long a connection may take.
const dialTimeout = 10 * time.Second

func (d *Dialer) dial(ctx context.Context, host string, port int) (net.Conn, error) {
	dialer, to := net.Dialer{Timeout: dialTimeout, Resolver: d.Resolver},
		net.JoinHostPort(host, strconv.Itoa(port))
	if addr, known := d.Hosts[to]; known {
		to = addr
	} else {
		dialer.ControlContext = func(_ context.Context, _, peer string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(peer)
			if err == nil && (!Public(ap.Addr()) || Own(ap.Addr())) {
				err = &Refused{host, port, fmt.Sprintf("%s is a private address", ap.Addr())}
			}
			return err
		}
	}
	return dialer.DialContext(ctx, "tcp", to)
}

// Own reports whether an interface of this machine has an address, which may be one of
// the public internet.
func Own(a netip.Addr) bool {
	addrs, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(addrs, func(of net.Addr) bool {
		n, ok := of.(*net.IPNet)
		return ok && n.IP.Equal(a.Unmap().AsSlice())
	})
}

// Public reports whether an address is one of the public internet.
func Public(a netip.Addr) bool {
	if a.Zone() != "" {
		return false
	}
	if a = a.Unmap(); nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	if a.Is6() && !globalUnicast.Contains(a) {
		return false
	}
	return !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(a) })
}

var (
	nat64         = netip.MustParsePrefix("64:ff9b::/96") // its last four bytes are an IPv4 address
	globalUnicast = netip.MustParsePrefix("2000::/3")
)

// special lists the special-purpose addresses of IANA's registries, and below them the
// public ones at which a cloud answers only its own machines: Azure's platform ("What is
// IP address 168.63.129.16?", learn.microsoft.com) and IBM Cloud's service network ("IBM
// Cloud IP ranges", cloud.ibm.com/docs). Other clouds use link-local addresses.
var special = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16",
	"192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",

	"168.63.129.16/32", "161.26.0.0/16", "166.8.0.0/14",
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, p := range list {
		out[i] = netip.MustParsePrefix(p)
	}
	return out
}
