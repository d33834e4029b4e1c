//go:build linux || darwin

package mcpserver

import (
	"errors"
	"fmt"
	"net"
	"os"
)

// listenUnix listens on a socket that only this user may connect to. A socket that a
// server left behind is replaced.
func listenUnix(path string) (net.Listener, error) {
	addr := &net.UnixAddr{Name: path, Net: "unix"}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == os.ModeSocket {
		if c, err := net.DialUnix("unix", nil, addr); err == nil {
			c.Close()
			return nil, fmt.Errorf("%s is served already; choose another path", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := net.ListenUnix("unix", addr)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil { // Accept refuses who came before
		l.Close()
		return nil, err
	}
	return &ownListener{l}, nil
}

// ownListener accepts connections of this user and of root.
type ownListener struct{ *net.UnixListener }

// Accept implements [net.Listener].
func (l *ownListener) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if uid, err := peer(c); err == nil && (uid == 0 || uid == uint32(os.Getuid())) {
			return c, nil
		}
		c.Close()
	}
}

// peer returns the user ID of the process that has connected.
func peer(c *net.UnixConn) (uid uint32, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { uid, failed = peerOf(int(fd)) })
	return uid, errors.Join(err, failed)
}
