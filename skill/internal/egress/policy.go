// Package egress lets commands that have no network reach the hosts which the user allows, and
// no others, through a proxy that listens where they are and connects from where this program is.
//
//	policy.go    which hosts                 tunnel.go   the name in a TLS greeting, and copying
//	proxy.go     HTTP and CONNECT            dns.go      an answer for those who ask for a name themselves
//	socks.go     SOCKS5                      log.go      what was refused
//	address.go   which addresses
package egress

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/net/idna"
)

// Rules are patterns of hosts: HOST, *.HOST, HOST:PORT, the name of a preset, or * for every
// public host. Without a port they mean 443 and 80.
type Rules struct {
	Allow  []string
	Deny   []string // these win
	Within []string // see [Within]; nothing else is reached, whatever Allow says; nil means everything
}

// A Policy says which hosts may be reached. The zero Policy allows none. It is safe for concurrent use.
type Policy struct {
	mu          sync.Mutex
	rules       Rules
	allow, deny []pattern
}

// A pattern matches a host, or those below it, at a port.
type pattern struct {
	host  string // canonical; "" for any
	below bool   // the hosts below it, and not host itself
	port  int    // 0 for 80 and 443, and in Deny for all
}

// presets are names for the hosts that a kind of program needs.
var presets = map[string][]string{
	"npm":    {"registry.npmjs.org:443", "registry.yarnpkg.com:443"},
	"go":     {"proxy.golang.org:443", "sum.golang.org:443"},
	"pypi":   {"pypi.org:443", "files.pythonhosted.org:443"},
	"cargo":  {"index.crates.io:443", "static.crates.io:443", "crates.io:443"},
	"debian": {"deb.debian.org", "security.debian.org"},
	"github": {"github.com", "api.github.com:443", "codeload.github.com:443", "raw.githubusercontent.com:443",
		"objects.githubusercontent.com:443", "release-assets.githubusercontent.com:443"},
}

// NewPolicy returns the Policy of rules. Its errors say which rule is wrong.
func NewPolicy(r Rules) (*Policy, error) {
	p := &Policy{rules: r}
	var err error
	if p.allow, err = patterns(r.Allow); err != nil {
		return nil, err
	}
	p.deny, err = patterns(r.Deny)
	return p, err
}

// Within reports whether a host is one of domains or below one; "*.NAME" stands for the latter alone.
func Within(domains []string, host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return slices.ContainsFunc(domains, func(d string) bool {
		d, below := strings.CutPrefix(strings.ToLower(d), "*.")
		return strings.HasSuffix(host, "."+d) || host == d && !below
	})
}

// Rules returns the rules of p.
func (p *Policy) Rules() Rules {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rules
}

// Allow adds a rule to Rules.Allow.
func (p *Policy) Allow(rule string) error {
	more, err := patterns([]string{rule})
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.allow, p.rules.Allow = append(slices.Clip(p.allow), more...),
			append(slices.Clip(p.rules.Allow), rule)
	}
	return err
}

func (p *Policy) allowed() []pattern {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.allow
}

func patterns(rules []string) (list []pattern, err error) {
	for _, rule := range rules {
		names, ok := presets[rule]
		if !ok {
			names = []string{rule}
		}
		for _, name := range names {
			p, err := parsePattern(name)
			if err != nil {
				return nil, err
			}
			list = append(list, p)
		}
	}
	return list, nil
}

func parsePattern(rule string) (p pattern, err error) {
	noHost := fmt.Errorf("%q is not a host: write it like example.org, *.example.org or example.org:8443", rule)
	if strings.Contains(rule, "/") { // a URL
		return p, noHost
	}
	host, port, found := strings.Cut(rule, ":")
	if found {
		if p.port, err = strconv.Atoi(port); err != nil || p.port < 1 || p.port > 65535 {
			return p, fmt.Errorf("%q: the port must be from 1 to 65535", rule)
		}
	}
	if host == "*" {
		return p, nil
	}
	host, p.below = strings.CutPrefix(host, "*.")
	if p.host, err = canonical(host); err != nil {
		return p, noHost
	}
	if p.below && !strings.Contains(p.host, ".") {
		return p, fmt.Errorf("%q would allow a whole top-level domain", rule)
	}
	return p, nil
}

// canonical returns the name of a host as names are compared: without a final dot, in lower case
// and in ASCII. An address, or what some program takes for one, is an error.
func canonical(host string) (string, error) {
	host = strings.TrimSuffix(host, ".")
	name, err := idna.Lookup.ToASCII(host)
	name = strings.ToLower(name)
	switch {
	case err != nil:
		return "", err
	case name == "" || len(name) > 253 || strings.ContainsAny(name, "*/@%:[] \\\x00"):
		return "", fmt.Errorf("%q is not the name of a host", host)
	case strings.Contains(name, "..") || name[0] == '.':
		return "", fmt.Errorf("%q has an empty label", host)
	case isNumeric(name):
		return "", fmt.Errorf("%q is an address, not the name of a host", host)
	}
	return name, nil
}

// isNumeric reports whether a host is an address, or ends in a number, as no name does.
func isNumeric(host string) bool {
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

func (p pattern) names(host string) bool {
	if p.below {
		return strings.HasSuffix(host, "."+p.host)
	}
	return p.host == "" || host == p.host
}

func (p pattern) allows(host string, port int) bool {
	usual := port == 443 || port == 80
	return p.names(host) && (p.port == port || p.port == 0 && usual)
}

func (p pattern) denies(host string, port int) bool {
	return p.names(host) && (p.port == port || p.port == 0)
}

func isLocal(host string) bool { return host == "localhost" || strings.HasSuffix(host, ".localhost") }

// check returns a *Refused unless a host, which is canonical, may be reached at a port.
func (p *Policy) check(host string, port int) error {
	switch {
	case slices.ContainsFunc(p.deny, func(d pattern) bool { return d.denies(host, port) }):
		return &Refused{host, port, "--deny-domain denies it"}
	case isLocal(host):
		return &Refused{host, port, "localhost is reached without the proxy"}
	case p.rules.Within != nil && !Within(p.rules.Within, host):
		return &Refused{host, port, "the allowedDomains of the skill leave it out"}
	case !slices.ContainsFunc(p.allowed(), func(a pattern) bool { return a.allows(host, port) }):
		at := net.JoinHostPort(host, strconv.Itoa(port))
		return &Refused{host, port, hint + strings.TrimSuffix(at, ":443")}
	}
	return nil
}

// Ports returns the ports at which a name may be reached, none if it may not.
func (p *Policy) Ports(name string) (ports []int) {
	for _, a := range p.allowed() {
		switch {
		case !a.names(name):
		case a.port == 0:
			ports = append(ports, 443, 80)
		default:
			ports = append(ports, a.port)
		}
	}
	slices.Sort(ports)
	return slices.DeleteFunc(slices.Compact(ports), func(port int) bool { return p.check(name, port) != nil })
}

// Check returns a *Refused unless a host may be reached at a port. With port 0 it is any port.
func (p *Policy) Check(host string, port int) error {
	name, err := canonical(host)
	switch {
	case err != nil:
		return &Refused{host, port, "hosts are reached by their name only"}
	case port != 0:
		return p.check(name, port)
	case len(p.Ports(name)) > 0:
		return nil
	}
	return p.check(name, 443)
}

// Empty reports whether nothing may be reached.
func (p *Policy) Empty() bool { return len(p.allowed()) == 0 }
