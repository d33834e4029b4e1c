//go:build !linux

package process

import (
	"context"
	"errors"
	"os"
)

// There are no helpers here, and so no servers.

type event struct{ Kind, Value, More uint32 }

const (
	eventFailed = 1 + iota
	eventStarted
	eventEnded
	eventUnfenced
)

type stayingHelper struct{}

func startStaying(string, Spec, *os.File, *os.File) (*stayingHelper, error) {
	return nil, errors.ErrUnsupported
}

func (*stayingHelper) process() (process, error) { return process{}, errors.ErrUnsupported }
func (*stayingHelper) release(bool)              {}

func (process) helps() bool                        { return false }
func (process) end(int)                            {}
func howEnded(event) (int, string)                 { return 0, "" }
func errnoOf(event) error                          { return errors.ErrUnsupported }
func listener(port int) int                        { return 0 }
func lockServers(context.Context, *os.Root) func() { return func() {} }
