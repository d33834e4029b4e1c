package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"textskill/testdata/needs"
)

// site is what the attempts aim at: two servers; one may be reached.
type site struct {
	proxy string
	hits  map[string]*atomic.Int32
	log   *Log
	roots *x509.CertPool
}

func newSite(t *testing.T, r Rules, hosts map[string]string) *site {
	s := &site{hits: map[string]*atomic.Int32{}, log: &Log{}, roots: x509.NewCertPool()}
	for _, o := range []struct{ name, ip string }{{"good.example", "127.0.0.2"},
		{"evil.example", "127.0.0.3"}} {
		hit := &atomic.Int32{}
		s.hits[o.name] = hit
		cert, leaf := needs.Certificate(t, o.name, "sub.wild.example")
		s.roots.AddCert(leaf)
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			hit.Add(1)
			io.Copy(io.Discard, r.Body)
			fmt.Fprintf(w, "%s %s %s", o.name, r.Method, r.Host)
		})
		for port, cfg := range map[string]*tls.Config{"443": {Certificates: []tls.Certificate{cert},
			NextProtos: []string{"http/1.1"}}, "80": nil, "22": nil} {
			l, err := net.Listen("tcp", o.ip+":"+port)
			if err != nil {
				t.Skip(err)
			}
			t.Cleanup(func() { l.Close() })
			if cfg != nil {
				l = tls.NewListener(l, cfg)
			}
			go http.Serve(l, handler)
		}
	}
	policy, err := NewPolicy(r)
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]string{}
	for host, ip := range hosts {
		for _, port := range []string{":443", ":80", ":22"} {
			at[host+port] = ip + port
		}
	}
	p := &Proxy{Policy: policy, Log: s.log, Dialer: &Dialer{Hosts: at, Resolver: fixedResolver(
		"good.example=127.0.0.2,evil.example=127.0.0.3,sub.wild.example=127.0.0.2,wild.example=127.0.0.2,xgood.example=127.0.0.3,good.example.evil.example=127.0.0.3," +
			"inside.wild.example=127.0.0.3,meta.wild.example=169.254.169.254,six.wild.example=::1,mapped.wild.example=::ffff:127.0.0.3,ten.wild.example=10.0.0.1,denied.wild.example=127.0.0.2,twice.wild.example=127.0.0.3,nat.wild.example=64:ff9b::7f00:3,zero.wild.example=0.0.0.0,azure.wild.example=168.63.129.16")}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go p.Serve(l)
	s.proxy = l.Addr().String()
	return s
}

// raw sends text to the proxy, then what follows after its answer, and returns all that came.
func (s *site) raw(text string, then ...string) string {
	c, err := net.Dial("tcp", s.proxy)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(2 * time.Second))
	io.WriteString(c, text)
	all := make([]byte, 0, 4096)
	buf := make([]byte, 4096)
	for _, next := range then {
		n, _ := c.Read(buf)
		all = append(all, buf[:n]...)
		io.WriteString(c, next)
	}
	if len(then) > 0 {
		c.(*net.TCPConn).CloseWrite()
	}
	c.SetDeadline(time.Now().Add(700 * time.Millisecond))
	rest, _ := io.ReadAll(c)
	return string(append(all, rest...))
}

// tls asks over TLS through CONNECT.
func (s *site) tls(target, sni, host, method string) string {
	c, err := net.Dial("tcp", s.proxy)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(3 * time.Second))
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", target, target)
	r := bufio.NewReader(c)
	line, _ := r.ReadString('\n')
	if !strings.Contains(line, " 200 ") {
		return strings.TrimSpace(line)
	}
	r.ReadString('\n')
	t := tls.Client(c, &tls.Config{ServerName: sni, InsecureSkipVerify: sni == "" || sni != "good.example",
		RootCAs: s.roots})
	if err := t.Handshake(); err != nil {
		return "TLS: " + err.Error()
	}
	fmt.Fprintf(t, "%s / HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		method, host)
	res, err := http.ReadResponse(bufio.NewReader(t), nil)
	if err != nil {
		return "HTTP: " + err.Error()
	}
	body, _ := io.ReadAll(res.Body)
	return fmt.Sprint(res.StatusCode, " ", string(body))
}

func (s *site) socks(kind byte, target []byte, port int, command byte, then string) string {
	c, err := net.Dial("tcp", s.proxy)
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(2 * time.Second))
	c.Write([]byte{5, 1, 0})
	b := make([]byte, 2)
	io.ReadFull(c, b)
	req := []byte{5, command, 0, kind}
	if kind == 3 {
		req = append(req, byte(len(target)))
	}
	req = append(append(req, target...), byte(port>>8), byte(port))
	c.Write(req)
	b = make([]byte, 10)
	if _, err := io.ReadFull(c, b); err != nil {
		return err.Error()
	}
	if b[1] != 0 {
		return fmt.Sprint("refused ", b[1])
	}
	io.WriteString(c, then)
	c.(*net.TCPConn).CloseWrite()
	rest, _ := io.ReadAll(c)
	return "carried " + string(rest)
}

// TestAttempts has programs try to reach a host that is not allowed, by every way through the proxy.
func TestAttempts(t *testing.T) {
	s := newSite(t, Rules{Allow: []string{"good.example", "*.wild.example", "good.example:22"},
		Deny: []string{"denied.wild.example"}},
		map[string]string{"good.example": "127.0.0.2", "sub.wild.example": "127.0.0.2"})
	get := func(host string) string { return "GET / HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n" }
	count := 0
	try := func(name, want string, f func() string) {
		count++
		before := s.hits["evil.example"].Load()
		got := f()
		if !strings.Contains(got, want) || s.hits["evil.example"].Load() != before {
			t.Errorf("%s: %q, want %q; evil was reached: %t", name, got, want,
				s.hits["evil.example"].Load() != before)
		}
		t.Logf("%-46s %.90q", name, got)
	}
	connect := func(target string) func() string {
		return func() string { return s.raw("CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n") }
	}
	// allowed
	try("CONNECT, TLS", "200 good.example",
		func() string { return s.tls("good.example:443", "good.example", "good.example", "GET") })
	try("CONNECT in capitals with a dot", "200 good.example",
		func() string { return s.tls("GOOD.example.:443", "good.example", "good.example", "GET") })
	try("below a wildcard", "200 good.example",
		func() string { return s.tls("sub.wild.example:443", "sub.wild.example", "sub.wild.example", "GET") })
	try("plain", "good.example GET", func() string {
		return s.raw("GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\nConnection: close\r\n\r\n")
	})
	try("plain HTTP in a tunnel to 80", "good.example GET", func() string {
		return s.raw("CONNECT good.example:80 HTTP/1.1\r\nHost: x\r\n\r\n", get("good.example"))
	})
	try("SOCKS by name", "good.example GET",
		func() string { return s.socks(3, []byte("good.example"), 80, 1, get("good.example")) })
	try("another port that is allowed", "good.example GET", func() string {
		return s.raw("CONNECT good.example:22 HTTP/1.1\r\nHost: x\r\n\r\n", get("good.example"))
	})
	// other hosts
	for _, target := range []string{"evil.example:443", "xgood.example:443", "good.example.evil.example:443",
		"wild.example:443", "denied.wild.example:443", "good.example:8443", "good.example:25",
		"localhost:443", "foo.localhost:443",
		"127.0.0.3:443", "127.0.0.2:443", "[::1]:443", "[::ffff:127.0.0.3]:443", "2130706435:443",
		"0x7f000003:443", "0177.0.0.3:443", "127.3:443", "127.0.0.3.:443", "[fe80::1%25lo]:443", "0:443",
		"good.example%00.evil.example:443", "good.example@evil.example:443", "evil.example#good.example:443",
		"good.example:443@evil.example:443", "evil。example:443", "*:443", "*.wild.example:443",
		".wild.example:443", "a..wild.example:443", "evil.example:443/good.example:443"} {
		try("CONNECT "+target, " 40", connect(target))
	}
	for _, host := range []string{"inside", "meta", "six", "mapped", "ten", "nat", "zero", "azure"} {
		try("CONNECT to a private address: "+host, " 403 ", connect(host+".wild.example:443"))
		try("plain to a private address: "+host, " 403 ",
			func() string { return s.raw("GET http://" + host + ".wild.example/ HTTP/1.1\r\nHost: x\r\n\r\n") })
	}
	// one name outside, another inside
	try("another name in TLS", "TLS:",
		func() string { return s.tls("good.example:443", "evil.example", "evil.example", "GET") })
	try("a name below another in TLS", "TLS:",
		func() string { return s.tls("sub.wild.example:443", "inside.wild.example", "x", "GET") })
	try("no name in TLS", "TLS:",
		func() string { return s.tls("good.example:443", "", "evil.example", "GET") })
	try("no TLS at 443", "200 Connection", func() string {
		return s.raw("CONNECT good.example:443 HTTP/1.1\r\nHost: x\r\n\r\n", get("good.example"))
	})
	if strings.Contains(s.raw("CONNECT good.example:443 HTTP/1.1\r\nHost: x\r\n\r\n",
		get("good.example")), "400") {
		t.Error("plain HTTP reached port 443")
	}
	try("another Host in a tunnel to 80", "200 Connection", func() string {
		return s.raw("CONNECT good.example:80 HTTP/1.1\r\nHost: x\r\n\r\n", get("evil.example"))
	})
	try("another Host in a plain request", "good.example GET good.example", func() string {
		return s.raw("GET http://good.example/ HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
	})
	try("two Hosts", "400", func() string {
		return s.raw("GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\nHost: evil.example\r\n\r\n")
	})
	try("user in the address", "good.example GET", func() string {
		return s.raw("GET http://evil.example@good.example/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	})
	try("a second request on the same connection", " 403 ", func() string {
		return s.raw("GET http://good.example/ HTTP/1.1\r\nHost: x\r\n\r\nGET http://evil.example/ HTTP/1.1\r\nHost: x\r\n\r\n")
	})
	try("smuggled by two lengths", "400", func() string {
		return s.raw("POST http://good.example/ HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 60\r\n\r\nabcdGET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n")
	})
	try("smuggled by a length and chunks", "", func() string {
		return s.raw("POST http://good.example/ HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n")
	})
	try("smuggled by obs-fold", "400", func() string {
		return s.raw("GET http://good.example/ HTTP/1.1\r\nHost: x\r\n X: y\r\n\r\n")
	})
	try("CONNECT with a body", "200 Connection", func() string {
		return s.raw("CONNECT good.example:443 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
	})
	try("a path", "400", func() string { return s.raw("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n") })
	try("https in the open", "400",
		func() string { return s.raw("GET https://good.example/ HTTP/1.1\r\nHost: x\r\n\r\n") })
	try("ftp", "400", func() string { return s.raw("GET ftp://good.example/ HTTP/1.1\r\nHost: x\r\n\r\n") })
	try("unix socket by header", "400", func() string {
		return s.raw("GET / HTTP/1.1\r\nHost: x\r\nX-Unix-Socket: /var/run/docker.sock\r\n\r\n")
	})
	try("header without end", "", func() string {
		return s.raw("GET http://good.example/ HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("a", 2<<20))
	})
	// SOCKS
	try("SOCKS by IPv4", "refused 2", func() string { return s.socks(1, []byte{127, 0, 0, 2}, 443, 1, "") })
	try("SOCKS by IPv6", "refused 2", func() string { return s.socks(4, net.ParseIP("::1"), 443, 1, "") })
	try("SOCKS evil", "refused 2", func() string { return s.socks(3, []byte("evil.example"), 443, 1, "") })
	try("SOCKS name that is an address", "refused 2",
		func() string { return s.socks(3, []byte("127.0.0.3"), 443, 1, "") })
	try("SOCKS name with NUL", "refused 2",
		func() string { return s.socks(3, []byte("good.example\x00.evil.example"), 443, 1, "") })
	try("SOCKS bind", "refused 7", func() string { return s.socks(3, []byte("good.example"), 443, 2, "") })
	try("SOCKS UDP", "refused 7", func() string { return s.socks(1, []byte{0, 0, 0, 0}, 0, 3, "") })
	try("SOCKS private", "refused 2",
		func() string { return s.socks(3, []byte("ten.wild.example"), 443, 1, "") })
	try("SOCKS, another Host at 80", "carried ",
		func() string { return s.socks(3, []byte("good.example"), 80, 1, get("evil.example")) })
	try("SOCKS, no TLS at 443", "carried ",
		func() string { return s.socks(3, []byte("good.example"), 443, 1, get("good.example")) })
	try("SOCKS4", "", func() string { return s.raw("\x04\x01\x01\xbb\x7f\x00\x00\x03x\x00") })
	refused := s.log.Take()
	t.Logf("%d attempts; %d refused hosts logged", count, len(refused))
	if len(refused) == 0 || len(refused) > maxRefused {
		t.Errorf("%d refused hosts are logged", len(refused))
	}
}

// A name whose answer changes between two questions is judged by the address that is connected to.
func TestRebinding(t *testing.T) {
	var n atomic.Int32 // dials run at the same time
	flip := &net.Resolver{PreferGo: true,
		Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
			to := "x.example=203.0.113.9" // special, too, but not this machine
			if n.Add(1) > 1 {
				to = "x.example=127.0.0.1"
			}
			return fixedResolver(to).Dial(ctx, network, addr)
		}}
	d := &Dialer{Resolver: flip}
	for range 3 {
		if c, err := d.dial(t.Context(), "x.example", 443); err == nil {
			c.Close()
			t.Error("it was reached")
		}
	}
}

// fixedResolver returns a resolver that knows the names of a list NAME=ADDR,… and no others, and
// asks nobody.
func fixedResolver(known string) *net.Resolver {
	addrs := map[string][]netip.Addr{}
	for _, entry := range strings.Split(known, ",") {
		if name, addr, ok := strings.Cut(entry, "="); ok {
			addrs[name+"."] = append(addrs[name+"."], netip.MustParseAddr(addr))
		}
	}
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() {
			defer ours.Close()
			for {
				head := make([]byte, 2)
				if _, err := io.ReadFull(ours, head); err != nil {
					return
				}
				query := make([]byte, int(head[0])<<8|int(head[1]))
				if _, err := io.ReadFull(ours, query); err != nil {
					return
				}
				var m dnsmessage.Message
				if m.Unpack(query) != nil {
					return
				}
				m.Header.Response, m.Header.RecursionAvailable, m.Additionals = true, true, nil
				for _, a := range addrs[strings.ToLower(m.Questions[0].Name.String())] {
					h := dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Class: dnsmessage.ClassINET}
					switch {
					case a.Is4() && m.Questions[0].Type == dnsmessage.TypeA:
						m.Answers = append(m.Answers,
							dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
					case a.Is6() && m.Questions[0].Type == dnsmessage.TypeAAAA:
						m.Answers = append(m.Answers,
							dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
					}
				}
				if len(addrs[strings.ToLower(m.Questions[0].Name.String())]) == 0 {
					m.Header.RCode = dnsmessage.RCodeNameError
				}
				out, err := m.Pack()
				if err != nil {
					return
				}
				ours.Write(append([]byte{byte(len(out) >> 8), byte(len(out))}, out...))
			}
		}()
		return theirs, nil
	}}
}

// TestOwnAddressIsRefused connects to an address of this machine that would pass for one of the
// public internet.
func TestOwnAddressIsRefused(t *testing.T) {
	lo, other := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("8.8.8.8")
	if !Own(lo) || Own(other) {
		t.Errorf("own: %t for this machine, %t for another", Own(lo), Own(other))
	}
	saved := special
	special = nil
	defer func() { special = saved }()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := &Dialer{Resolver: fixedResolver("x.example=127.0.0.1")}
	c, err := d.dial(t.Context(), "x.example", l.Addr().(*net.TCPAddr).Port)
	if _, refused := errors.AsType[*Refused](err); !refused {
		t.Errorf("connected: %v, %v", c, err)
	}
}
