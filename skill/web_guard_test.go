package skill

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// TestGuardAddresses holds the table of what is of the public internet.
func TestGuardAddresses(t *testing.T) {
	for text, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "93.184.215.14": true, "2606:4700:4700::1111": true, "::ffff:8.8.8.8": true, "64:ff9b::808:808": true,
		"127.0.0.1": false, "127.255.0.1": false, "0.0.0.0": false, "10.1.2.3": false, "172.16.0.1": false, "172.31.255.255": false,
		"192.168.1.1": false, "169.254.169.254": false, "100.64.0.1": false, "192.0.0.1": false, "198.18.0.1": false, "224.0.0.1": false,
		"255.255.255.255": false, "::1": false, "::": false, "fe80::1": false, "fc00::1": false, "fd12::1": false, "ff02::1": false,
		"::ffff:127.0.0.1": false, "::127.0.0.1": false, "64:ff9b::7f00:1": false, "2002:7f00:1::": false, "2001:db8::1": false, "fe80::1%lo": false,
	} {
		if got := (&guard{}).public(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: public is %t", text, got)
		}
	}
}

// counted is a server on the loopback interface that counts its requests.
func counted(t *testing.T, h http.HandlerFunc) (s *httptest.Server, requests *atomic.Int32) {
	requests = new(atomic.Int32)
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s, requests
}

func hello(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("hello")) }

// spellings are ways to write this machine, or what a cloud keeps for its own.
func spellings(port string) []string {
	hosts := []string{"127.0.0.1", "127.0.0.2", "127.1", "0.0.0.0", "0", "2130706433", "0x7f000001", "0x7f.0.0.1", "017700000001", "0177.0.0.1",
		"localhost", "LOCALHOST", "127.0.0.1.", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[fe80::1%25lo]",
		"169.254.169.254", "[fd00:ec2::254]", "①②⑦.⓪.⓪.①", "127。0。0。1"}
	list := []string{"file:///etc/passwd", "gopher://127.0.0.1:" + port + "/", "http://u:p@127.0.0.1:" + port + "/"}
	for _, h := range hosts {
		list = append(list, "http://"+h+":"+port+"/secret")
	}
	return list
}

// TestNoRedirectLeadsInside sends requests to an allowed server, which redirects
// them to this machine in many spellings: none arrives.
func TestNoRedirectLeadsInside(t *testing.T) {
	inside, requests := counted(t, hello)
	port := strings.TrimPrefix(inside.URL, "http://127.0.0.1:")
	for _, to := range spellings(port) {
		door, asked := counted(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", to)
			w.WriteHeader(http.StatusFound)
		})
		x := newExecutor(t, Config{Network: true, Hosts: []string{strings.TrimPrefix(door.URL, "http://")}})
		for _, args := range []Args{Fetch{URL: door.URL, Max: 100}, Download{URL: door.URL, Dest: "f"}} {
			if r, err := x.Execute(t.Context(), &Session{}, args); err == nil {
				t.Errorf("a redirect to %s was followed: %v", to, r)
			}
		}
		if n := asked.Load(); n != 2 {
			t.Errorf("%s: the server that redirects got %d requests, want 2", to, n)
		}
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

// TestNoSpellingLeadsInside asks for this machine itself, in as many spellings.
func TestNoSpellingLeadsInside(t *testing.T) {
	inside, requests := counted(t, hello)
	x := newExecutor(t, Config{Network: true})
	for _, to := range spellings(strings.TrimPrefix(inside.URL, "http://127.0.0.1:")) {
		for _, args := range []Args{Fetch{URL: to, Max: 100}, Download{URL: to, Dest: "f"}, CheckURL{URL: to}} {
			r, err := x.Execute(t.Context(), &Session{}, args)
			if c, ok := r.(Checked); err == nil && !(ok && c.Status == 0) {
				t.Errorf("%s was reached: %v", to, r)
			}
		}
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

// TestWebAddresses says what is wrong with an address.
func TestWebAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"example.com":        "a web address begins with http:// or https://",
		"127.0.0.1:80":       "a web address begins with http:// or https://",
		"-K/tmp/config":      "a web address begins with http:// or https://",
		"//127.0.0.1":        "a web address begins with http:// or https://",
		"file:///etc/passwd": `a web address begins with http:// or https://, not "file:"`,
		"localhost:80":       `a web address begins with http:// or https://, not "localhost:"`,
		"http://":            "the address names no host",
		"http://a b/":        `invalid character " " in host name`,
		"http://u:p@a/":      "a user name or password in a web address is refused",
		"http://0x7f.1/":     "0x7f.1 is neither a name nor an address like 192.0.2.1",
	} {
		if _, err := (&guard{}).parse(address); err == nil || err.Error() != address+": "+want {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestANameThatChangesItsAnswer resolves to a public address first and to this
// machine when it is connected to.
func TestANameThatChangesItsAnswer(t *testing.T) {
	inside, requests := counted(t, hello)
	port := strings.TrimPrefix(inside.URL, "http://127.0.0.1:")
	var asked atomic.Int32
	g := &guard{resolver: nameServer(t, func() []byte {
		if asked.Add(1) == 1 {
			return []byte{203, 0, 113, 7}
		}
		return []byte{127, 0, 0, 1}
	})}
	u, err := url.Parse("http://rebind.example:" + port + "/")
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if err := g.check(u); err != nil {
			t.Fatal(err)
		}
		res, err := g.client(false).Get(u.String())
		var refused *AddressError
		if err == nil {
			res.Body.Close()
			t.Errorf("it was answered %s", res.Status)
		} else if !errors.As(err, &refused) {
			t.Errorf("it failed otherwise: %v", err)
		}
	}
	if n := requests.Load(); n != 0 || asked.Load() < 4 {
		t.Errorf("%d requests arrived, the name was asked for %d times", n, asked.Load())
	}
	g.hosts = []string{"rebind.example"}
	res, err := g.client(false).Get(u.String())
	if err != nil || requests.Load() != 1 {
		t.Fatalf("a host that is allowed is not reached: %v", err)
	}
	res.Body.Close()
}

// nameServer answers each question for an IPv4 address with what answer returns.
func nameServer(t *testing.T, answer func() []byte) *net.Resolver {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := c.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			m.Response, m.Additionals = true, nil
			if q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
					Body:   &dnsmessage.AResource{A: [4]byte(answer())},
				}}
			}
			if data, err := m.Pack(); err == nil {
				c.WriteTo(data, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", c.LocalAddr().String())
	}}
}

// TestNoProxyBySurprise sets the variables that name one.
func TestNoProxyBySurprise(t *testing.T) {
	proxy, requests := counted(t, hello)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	server, arrived := counted(t, hello)
	x := newExecutor(t, Config{Network: true, Private: true})
	if _, err := x.Execute(t.Context(), &Session{}, Fetch{URL: server.URL, Max: 10}); err != nil {
		t.Fatal(err)
	}
	if requests.Load() != 0 || arrived.Load() != 1 {
		t.Errorf("the proxy got %d requests, the server %d", requests.Load(), arrived.Load())
	}
}
