package web

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

	"textskill/skill/internal/refusal"
)

// TestGuardAddresses lists addresses that are in the public internet, and others.
func TestGuardAddresses(t *testing.T) {
	for text, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "93.184.215.14": true, "2606:4700:4700::1111": true,
		"::ffff:8.8.8.8": true, "64:ff9b::808:808": true,
		"127.0.0.1": false, "127.255.0.1": false, "0.0.0.0": false, "10.1.2.3": false, "172.16.0.1": false,
		"172.31.255.255": false,
		"192.168.1.1":    false, "169.254.169.254": false, "100.64.0.1": false, "192.0.0.1": false,
		"198.18.0.1": false, "224.0.0.1": false,
		"255.255.255.255": false, "::1": false, "::": false, "fe80::1": false, "fc00::1": false,
		"fd12::1": false, "ff02::1": false,
		"::ffff:127.0.0.1": false, "::127.0.0.1": false, "64:ff9b::7f00:1": false, "168.63.129.16": false,
		"::ffff:168.63.129.16": false, "fd00:ec2::254": false, "100.100.100.200": false, "192.0.0.192": false,
		"2002:7f00:1::": false, "2001:db8::1": false, "fe80::1%lo": false,
	} {
		if got := (&Guard{}).public(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: public is %t", text, got)
		}
	}
}

// TestWebAddresses checks the errors of invalid addresses.
func TestWebAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"example.com":        "a web address begins with http:// or https://",
		"127.0.0.1:80":       "a web address begins with http:// or https://",
		"-K/tmp/config":      "a web address begins with http:// or https://",
		"":                   "the address is empty; it begins with http:// or https://",
		"//127.0.0.1":        "a web address begins with http:// or https://",
		"file:///etc/passwd": `a web address begins with http:// or https://, not "file:"`,
		"localhost:80":       `a web address begins with http:// or https://, not "localhost:"`,
		"http://":            "the address names no host",
		"http://a b/":        `invalid character " " in host name`,
		"http://u:p@a/":      "a user name or password in a web address is refused",
		"http://0x7f.1/":     "0x7f.1 is neither a name nor an address like 192.0.2.1",
	} {
		if _, err := (&Guard{}).parse(address); err == nil ||
			strings.TrimPrefix(err.Error(), address+": ") != want {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestANameThatChangesItsAnswer uses a name that resolves to a public address when it is
// checked and to this machine when it is connected to (DNS rebinding).
func TestANameThatChangesItsAnswer(t *testing.T) {
	requests := new(atomic.Int32)
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer inside.Close()
	port := strings.TrimPrefix(inside.URL, "http://127.0.0.1:")
	var asked atomic.Int32
	g := &Guard{resolver: nameServer(t, func() []byte {
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
		var refused *refusal.RefusedError
		if err == nil {
			res.Body.Close()
			t.Errorf("the request was answered with %s", res.Status)
		} else if !errors.As(err, &refused) {
			t.Errorf("want a *refusal.RefusedError, got %v", err)
		}
	}
	if n := requests.Load(); n != 0 || asked.Load() < 4 {
		t.Errorf("%d requests arrived, the name was looked up %d times", n, asked.Load())
	}
	g.hosts = []string{"rebind.example"}
	res, err := g.client(false).Get(u.String())
	if err != nil || requests.Load() != 1 {
		t.Fatalf("an allowed host cannot be reached: %v", err)
	}
	res.Body.Close()
}

// nameServer returns a resolver that answers each A query with the result of answer.
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
