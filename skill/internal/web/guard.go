package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"textskill/skill/internal/egress"
	"textskill/skill/internal/process"
	"textskill/skill/internal/refusal"
)

// A Guard prevents connections to addresses outside the public internet: this machine,
// its network, and a cloud's metadata services. It checks the IP address that is
// connected to, so neither a redirect nor a changing DNS answer can bypass it.
type Guard struct {
	private  bool
	hosts    []string       // names or addresses, with or without a port, that are always allowed
	domains  []string       // nothing else is reached; nil means everywhere
	resolver *net.Resolver  // nil means net.DefaultResolver
	policy   *egress.Policy // of the hosts that may be reached; nil means all

	// connects with the localhost of commands; nil if that is not asked for
	local func(port int) (net.Conn, error)
}

// Local reports whether a web address leads to localhost; commands have their own.
func Local(address string) bool {
	u, err := url.Parse(address)
	return err == nil && isLocal(u.Hostname())
}

func isLocal(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil &&
		addr.Unmap().IsLoopback()
}

// towards has g connect with the localhost of commands, if the caller asked for an address of it:
// neither a redirect nor a page of another host leads there.
func (g *Guard) towards(address string, run *process.Runner) {
	u, err := url.Parse(address)
	if err != nil || !isLocal(u.Hostname()) || g.private ||
		g.allowed(u.Hostname(), Port(u)) || run == nil ||
		!run.Apart() {
		return
	}
	g.local = run.DialLocal
}

func (c *Client) guard(hosts []string) *Guard {
	return &Guard{private: c.cfg.Private, hosts: slices.Concat(c.cfg.Hosts, hosts), domains: c.cfg.Domains,
		policy: c.cfg.Egress}
}

// privateAddress returns the error for an address outside the public internet of a host
// as the caller wrote it.
func privateAddress(host string, addr netip.Addr) error {
	what := host
	if what != addr.String() {
		what += " (" + addr.String() + ")"
	}
	return &refusal.RefusedError{Reason: what + " is a private address; --allow-host " + host +
		" lets it be reached"}
}

var errNoScheme = errors.New("a web address begins with http:// or https://")

func (g *Guard) parse(address string) (*url.URL, error) {
	if address == "" {
		return nil, errors.New("the address is empty; it begins with http:// or https://")
	}
	u, err := url.Parse(address)
	switch {
	case err == nil:
		err = g.check(u)
	case !strings.Contains(address, "://"):
		err = errNoScheme
	}
	if err != nil {
		return nil, urlError(address, plainURLError(err))
	}
	return u, nil
}

// check refuses an invalid web address, and an IP address that dial would refuse.
func (g *Guard) check(u *url.URL) error {
	host := u.Hostname()
	switch {
	case u.Scheme == "":
		return errNoScheme
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("a web address begins with http:// or https://, not %q", u.Scheme+":")
	case u.User != nil:
		return errors.New("a user name or password in a web address is refused")
	case host == "":
		return errors.New("the address names no host")
	case g.local != nil && isLocal(host):
		return nil
	}
	if err := g.within(host, Port(u)); err != nil {
		return err
	}
	addr, err := netip.ParseAddr(host)
	if err != nil && LooksNumeric(host) {
		return fmt.Errorf("%s is neither a name nor an address like 192.0.2.1", host)
	}
	if err == nil && !g.allowed(host, Port(u)) && !g.public(addr) {
		return privateAddress(host, addr)
	}
	return nil
}

// within returns an error for a host outside the domains and the policy.
func (g *Guard) within(host, port string) error {
	if number, err := strconv.Atoi(port); g.policy != nil &&
		(err != nil || g.policy.Check(host, number) != nil) {
		return &refusal.RefusedError{Reason: net.JoinHostPort(host, port) +
			" is not reached; --allow-domain allows hosts, and --network all"}
	}
	if g.domains == nil || egress.Within(g.domains, host) {
		return nil
	}
	return &refusal.RefusedError{Reason: host + " is not among the allowed domains: " +
		strings.Join(g.domains, ", ")}
}

// Port returns the port of an address, or the default port of its scheme.
func Port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// LooksNumeric reports whether the last label of a host is a number. No domain name ends
// that way, but some programs read such a host as an IP address.
func LooksNumeric(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	last := host[strings.LastIndexByte(host, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// allowed reports whether a host is in hosts, and so may be reached at any address.
func (g *Guard) allowed(host, port string) bool {
	return slices.ContainsFunc(g.hosts, func(h string) bool {
		h = strings.ToLower(h)
		host := strings.ToLower(host)
		return h == host || h == net.JoinHostPort(host, port) || h == "["+host+"]"
	})
}

func (g *Guard) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if g.local != nil && isLocal(host) {
		number, err := net.LookupPort("tcp", port)
		if err != nil {
			return nil, err
		}
		return g.local(number)
	}
	if err := g.within(host, port); err != nil {
		return nil, err
	}
	d := net.Dialer{Timeout: dialTimeout, Resolver: g.resolver}
	if !g.allowed(host, port) {
		d.ControlContext = func(_ context.Context, _, peer string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(peer)
			if err != nil {
				return err
			}
			if !g.public(ap.Addr()) || !g.private && egress.Own(ap.Addr()) {
				return privateAddress(host, ap.Addr())
			}
			return nil
		}
	}
	return d.DialContext(ctx, network, addr)
}

// public reports whether the guard allows an IP address.
func (g *Guard) public(a netip.Addr) bool { return g.private || egress.Public(a) }

// CheckHost returns a [*refusal.RefusedError] for a host outside the public internet. With
// resolve it looks up a host name; a name that cannot be resolved is no error.
func (c *Client) CheckHost(ctx context.Context, host, port string, resolve bool) error {
	g := c.guard(nil)
	if err := g.within(host, port); err != nil {
		return err
	}
	if g.allowed(host, port) {
		return nil
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		if !g.public(addr) {
			return privateAddress(host, addr)
		}
		return nil
	}
	if !resolve {
		return nil
	}
	addrs, _ := cmp.Or(g.resolver, net.DefaultResolver).LookupNetIP(ctx, "ip", host)
	for _, addr := range addrs {
		if !g.public(addr) {
			return privateAddress(host, addr.Unmap())
		}
	}
	return nil
}
