//go:build !linux && !darwin

package mcpserver

import (
	"errors"
	"net"
)

func listenUnix(string) (net.Listener, error) {
	return nil, errors.New("unix:PATH is served on Linux and macOS only; use 127.0.0.1:PORT")
}
