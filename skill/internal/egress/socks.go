package egress

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"strconv"
	"time"
)

// SOCKS5, RFC 1928.
const (
	socksVersion = 5
	socksConnect = 1
	socksIPv4    = 1
	socksName    = 3
	socksIPv6    = 4

	socksOK         = 0
	socksFailed     = 1
	socksNotAllowed = 2
	socksNoCommand  = 7
	socksNoAddress  = 8
)

// serveSOCKS serves a connection after its first byte.
func (p *Proxy) serveSOCKS(c net.Conn) {
	c.SetDeadline(time.Now().Add(greetingTimeout))
	r := bufio.NewReader(c)
	if !bytes.Contains(readCounted(r), []byte{0}) { // without a password
		c.Write([]byte{socksVersion, 0xff})
		return
	}
	c.Write([]byte{socksVersion, 0})
	say := func(code byte) { c.Write([]byte{socksVersion, code, 0, socksIPv4, 0, 0, 0, 0, 0, 0}) }
	target, code := readSOCKS(r)
	if code != socksOK {
		say(code)
		return
	}
	server, to, err := p.dial(context.Background(), target)
	switch {
	case p.refused(err) != nil:
		say(socksNotAllowed)
	case err != nil:
		say(socksFailed)
	default:
		say(socksOK)
		c.SetDeadline(time.Time{})
		p.tunnel(withBuffered(c, r), server, to)
	}
}

// readSOCKS reads a request to connect, and returns its target or the code of an error.
func readSOCKS(r *bufio.Reader) (target string, code byte) {
	head := readBytes(r, 4)
	if head == nil {
		return "", socksFailed
	}
	switch head[3] {
	case socksIPv4:
		target = net.IP(readBytes(r, net.IPv4len)).String()
	case socksIPv6:
		target = net.IP(readBytes(r, net.IPv6len)).String()
	case socksName:
		target = string(readCounted(r))
	default:
		return "", socksNoAddress
	}
	port := readBytes(r, 2)
	switch {
	case port == nil:
		return "", socksFailed
	case head[1] != socksConnect:
		return "", socksNoCommand
	}
	return net.JoinHostPort(target, strconv.Itoa(int(binary.BigEndian.Uint16(port)))), socksOK
}

// readBytes returns n bytes, or nil if fewer come.
func readBytes(r io.Reader, n int) []byte {
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return nil
	}
	return b
}

// readCounted reads as many bytes as the first one says.
func readCounted(r io.Reader) []byte {
	if n := readBytes(r, 1); n != nil {
		return readBytes(r, int(n[0]))
	}
	return nil
}
