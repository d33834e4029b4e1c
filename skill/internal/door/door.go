// Package door says which requests an HTTP server of this program lets in: by the host
// that they are meant for, the page that they come from, and their token.
package door

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// ErrForm is the error of [Address] for what is not an address.
var ErrForm = errors.New("is not an address of the form HOST:PORT")

// Address returns the address to listen on for HOST:PORT, or a port alone, which is one
// of the loopback interface.
func Address(given string) (*net.TCPAddr, error) {
	hostport := cmp.Or(given, ":0")
	if !strings.Contains(hostport, ":") {
		hostport = ":" + hostport
	}
	host, port, err := net.SplitHostPort(hostport)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %w", given, ErrForm)
	}
	return net.ResolveTCPAddr("tcp", net.JoinHostPort(cmp.Or(host, "127.0.0.1"), port))
}

// Listen listens at an address. At 0.0.0.0 that is IPv4 alone; [::] is both.
func Listen(addr *net.TCPAddr) (*net.TCPListener, error) {
	network := "tcp"
	if addr.IP.Equal(net.IPv4zero) {
		network = "tcp4"
	}
	l, err := net.ListenTCP(network, addr)
	if err != nil {
		return nil, fmt.Errorf("%w; give another address, or port 0 for a free one", err)
	}
	return l, nil
}

// A Door knows the names of a server.
type Door struct {
	loopback bool
	names    []string // host names, in lower case; nil for a unix socket, whose clients may use any
	origins  []string // pages that may call, in lower case
}

// New returns the door of a server that listens at addr. given is the address that it was
// given, and hosts are further names that clients may use, without a port: the names of a
// proxy that speaks https.
func New(addr net.Addr, given string, hosts []string) *Door {
	d := &Door{names: []string{"localhost"}}
	for _, name := range hosts {
		name = strings.ToLower(name)
		d.names = append(d.names, name)
		d.origins = append(d.origins, "https://"+name)
	}
	tcp, ok := addr.(*net.TCPAddr)
	if !ok { // a page of a browser cannot reach a unix socket
		d.names = nil
		return d
	}
	d.loopback = tcp.IP.IsLoopback()
	if host, _, err := net.SplitHostPort(given); err == nil {
		d.names = append(d.names, strings.ToLower(host))
	}
	if name, err := os.Hostname(); err == nil && !d.loopback {
		d.names = append(d.names, strings.ToLower(name))
	}
	port := strconv.Itoa(tcp.Port)
	for _, name := range append(d.names, "127.0.0.1", "::1", tcp.IP.String()) {
		d.origins = append(d.origins, "http://"+net.JoinHostPort(name, port))
	}
	return d
}

// Host reports whether a Host header names this server. A page of another site may have
// its own name resolve to this machine (DNS rebinding), but its requests still carry that
// name; a numeric address cannot be rebound.
func (d *Door) Host(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback() || !d.loopback
	}
	return d.names == nil || slices.Contains(d.names, strings.TrimSuffix(host, "."))
}

// Origin reports whether a request does not come from a web page, or comes from one that
// this server has served itself, or that a proxy has. It is given the values of the
// Origin header, and a Host header that [Door.Host] lets in: a page whose address has the
// host and port that the request is meant for is one of this server, also where both name
// a port that is forwarded to it.
func (d *Door) Origin(hostport string, origins []string) bool {
	if len(origins) == 0 {
		return true
	}
	origin := strings.ToLower(origins[0])
	return len(origins) == 1 &&
		(origin == "http://"+strings.ToLower(hostport) || slices.Contains(d.origins, origin))
}

// Same reports whether a token that was given is the one that is wanted, in a time that
// does not depend on either.
func Same(given, want string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// Bearer reports whether an Authorization header holds the token.
func Bearer(authorization, token string) bool {
	scheme, given, _ := strings.Cut(authorization, " ")
	return Same(strings.TrimSpace(given), token) && strings.EqualFold(scheme, "Bearer")
}
