//go:build !linux

package process

import (
	"errors"
	"net"
	"os"
)

// This system has no network for commands alone.

type network struct{}

func (*network) alone() bool { return false }

type session struct{}

func (*session) close()                                          {}
func (*Runner) network() *network                                { return nil }
func (*Runner) shareServer(*os.Root, *serverRecord, *Spec) error { return nil }
func (*Spec) reserve(int) error                                  { return nil }
func (*session) refusedNames(list []string) []string             { return list }
func (*Runner) whyShared() string                                { return "" }
func (*network) close()                                          {}
func (*Runner) listenApart() (*network, net.Listener)            { return nil, nil }
func (*Runner) Apart() bool                                      { return false }
func (*Runner) DialLocal(int) (net.Conn, error)                  { return nil, errors.ErrUnsupported }

func typeInto(*os.Root, string, string) error { return errors.ErrUnsupported }
