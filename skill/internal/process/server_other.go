//go:build !linux

package process

import (
	"context"
	"errors"
	"os"
)

// This system has no helpers, and therefore no servers.

type serverHelper struct{}

func startServerHelper(string, Spec, *os.File, *os.File) (*serverHelper, error) {
	return nil, errors.ErrUnsupported
}

func (*serverHelper) id() (processID, error) { return processID{}, errors.ErrUnsupported }
func (*serverHelper) release(bool)           {}

func (processID) isRunning() bool    { return false }
func (processID) stop()              {}
func exitStatus(event) (int, string) { return 0, "" }
func listeningPid(port int) int      { return 0 }

func lockServers(context.Context, *os.Root) (func(), error) { return nil, errors.ErrUnsupported }
