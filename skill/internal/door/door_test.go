package door

import (
	"errors"
	"net"
	"strings"
	"testing"
)

func TestDoor(t *testing.T) {
	local := New(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 3900}, "127.0.0.1:3900",
		[]string{"Files.example.org"})
	open := New(&net.TCPAddr{IP: net.IPv4zero, Port: 3900}, "0.0.0.0:3900", nil)
	for host, want := range map[string][2]bool{
		"127.0.0.1:3900": {true, true}, "localhost": {true, true}, "[::1]:3900": {true, true},
		"files.example.org.": {true, false},
		"192.0.2.1":          {false, true}, "evil.example.com:3900": {false, false},
		"localhost.evil.example.com": {false, false}, "": {false, false},
	} {
		if got := [2]bool{local.Host(host), open.Host(host)}; got != want {
			t.Errorf("host %q: %v", host, got)
		}
	}
	for origin, want := range map[string]bool{
		"http://127.0.0.1:3900": true, "HTTP://LOCALHOST:3900": true, "https://files.example.org": true,
		"http://127.0.0.1:3901": false, "http://127.0.0.1": false, "https://files.example.org:8443": false,
		"null": false, "": false,
	} {
		if got := local.Origin("127.0.0.1:3900", []string{origin}); got != want {
			t.Errorf("origin %q: %t", origin, got)
		}
	}
	// The port of a host may be one that is forwarded to this server.
	for origin, want := range map[string]bool{"http://localhost:8080": true, "http://localhost:3901": false,
		"http://localhost": false, "http://evil.example.com:8080": false} {
		if got := local.Origin("LocalHost:8080", []string{origin}); got != want {
			t.Errorf("origin %q of a forwarded port: %t", origin, got)
		}
	}
	if !open.Origin("192.0.2.1:3900", []string{"http://192.0.2.1:3900"}) {
		t.Error("a page of another address of this machine is refused")
	}
	if !local.Origin("127.0.0.1:3900", nil) ||
		local.Origin("127.0.0.1:3900", []string{"http://127.0.0.1:3900", "http://127.0.0.1:3900"}) {
		t.Error("no origin is refused, or two are let in")
	}
}

func TestAddress(t *testing.T) {
	for given, want := range map[string]string{"": "127.0.0.1:0", "0": "127.0.0.1:0", ":80": "127.0.0.1:80",
		"0.0.0.0:80": "0.0.0.0:80", "[::1]:80": "[::1]:80"} {
		if addr, err := Address(given); err != nil || addr.String() != want {
			t.Errorf("%q is %v, %v", given, addr, err)
		}
	}
	for _, given := range []string{"nowhere:at:all", "127.0.0.1", "unix:/run/page", "/run/page",
		"127.0.0.1:99999", "[::1"} {
		if _, err := Address(given); !errors.Is(err, ErrForm) {
			t.Errorf("%s: %v", given, err)
		}
	}
}

// TestListen listens at no more addresses than are asked for.
func TestListen(t *testing.T) {
	l, err := Listen(&net.TCPAddr{IP: net.IPv4zero})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if at := l.Addr().(*net.TCPAddr); at.IP.To4() == nil {
		t.Errorf("0.0.0.0 is %v", at)
	}
	if _, err := Listen(l.Addr().(*net.TCPAddr)); err == nil ||
		!strings.HasSuffix(err.Error(), "; give another address, or port 0 for a free one") {
		t.Errorf("a port that is taken: %v", err)
	}
}

func TestBearer(t *testing.T) {
	for header, want := range map[string]bool{"Bearer secret": true, "bearer  secret ": true,
		"Bearer secre": false, "Basic secret": false, "secret": false, "": false} {
		if got := Bearer(header, "secret"); got != want {
			t.Errorf("%q: %t", header, got)
		}
	}
}
