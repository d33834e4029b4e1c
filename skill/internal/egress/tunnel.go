package egress

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// greetingTimeout is how long a program may take for the first bytes of a connection.
const greetingTimeout = 10 * time.Second

// tunnel joins a program and the server of an endpoint, and closes the latter. At the ports of the web it
// must be TLS that asks for that host; at port 80 it may be a request to it, too.
func (p *Proxy) tunnel(client, server net.Conn, to endpoint) {
	defer server.Close()
	if to.port == 443 || to.port == 80 {
		read, err := greeting(client, to.host, to.port)
		if err != nil {
			p.refused(err)
			return
		}
		client = &prefixed{client, read}
	}
	Join(client, server)
}

// greeting reads the start of a connection. It returns what it has read, or a *Refused if that is
// not for host.
func greeting(c net.Conn, host string, port int) (read []byte, err error) {
	c.SetReadDeadline(time.Now().Add(greetingTimeout))
	defer c.SetReadDeadline(time.Time{})
	var seen bytes.Buffer
	first := make([]byte, 1)
	if _, err := io.ReadFull(io.TeeReader(c, &seen), first); err != nil {
		return nil, err
	}
	rest := io.MultiReader(bytes.NewReader(first), io.TeeReader(c, &seen))
	const handshake = 22
	var asked string
	switch {
	case first[0] == handshake:
		asked, err = askedInTLS(c, rest)
	case port == 80:
		asked, err = askedInHTTP(rest)
	default:
		err = errors.New("it is not TLS")
	}
	if err != nil {
		return nil, &Refused{host, port, err.Error()}
	}
	if name, err := canonical(asked); err != nil || name != host {
		return nil, &Refused{host, port, "it was asked for the host " + asked}
	}
	return seen.Bytes(), nil
}

var errGreeted = errors.New("greeted")

// askedInTLS returns the name that a greeting of TLS asks for.
func askedInTLS(c net.Conn, r io.Reader) (name string, err error) {
	server := tls.Server(&silent{c, r}, &tls.Config{
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			name = h.ServerName
			return nil, errGreeted
		},
	})
	if err := server.HandshakeContext(context.Background()); !errors.Is(err, errGreeted) {
		return "", errors.New("its greeting of TLS cannot be read")
	}
	if name == "" {
		return "", errors.New("its greeting of TLS names no host")
	}
	return name, nil
}

// askedInHTTP returns the host of a request.
func askedInHTTP(r io.Reader) (string, error) {
	req, err := http.ReadRequest(bufio.NewReaderSize(io.LimitReader(r, 1<<20), 16))
	if err != nil {
		return "", errors.New("it is neither TLS nor HTTP")
	}
	name, _, _ := strings.Cut(req.Host, ":")
	return name, nil
}

// A silent connection is read from r and not written.
type silent struct {
	net.Conn
	r io.Reader
}

func (c *silent) Read(p []byte) (int, error)       { return c.r.Read(p) }
func (c *silent) Write(p []byte) (int, error)      { return len(p), nil }
func (c *silent) SetDeadline(time.Time) error      { return nil }
func (c *silent) SetWriteDeadline(time.Time) error { return nil }
func (c *silent) Close() error                     { return nil }

// A prefixed connection has bytes that were read of it already.
type prefixed struct {
	net.Conn
	read []byte
}

func (c *prefixed) Read(b []byte) (int, error) {
	if len(c.read) > 0 {
		n := copy(b, c.read)
		c.read = c.read[n:]
		return n, nil
	}
	return c.Conn.Read(b)
}

func (c *prefixed) CloseWrite() error { return closeWrite(c.Conn) }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// unwrap returns the bytes of c that were read already, and the connection below, from which the
// kernel can copy.
func unwrap(c net.Conn) (read []byte, below net.Conn) {
	for {
		switch outer := c.(type) {
		case *prefixed:
			read, c = append(read, outer.read...), outer.Conn
		case *placed:
			c = outer.Conn
		default:
			return read, c
		}
	}
}

// Join copies both ways until both have ended.
func Join(client, server net.Conn) {
	early, below := unwrap(client)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if _, err := server.Write(early); err == nil {
			io.Copy(server, below)
		}
		closeWrite(server)
	}()
	io.Copy(below, server)
	closeWrite(below)
	<-done
}
