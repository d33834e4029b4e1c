//go:build !unix

package process

import (
	"os"
	"syscall"
)

// This system has no process groups: only the command itself is ended.

func ownGroup() *syscall.SysProcAttr { return nil }

func endGroup(leader *os.Process)  { leader.Kill() }
func killGroup(leader *os.Process) { leader.Kill() }

func outcome(ws syscall.WaitStatus) (code int, signal string) { return ws.ExitStatus(), "" }
