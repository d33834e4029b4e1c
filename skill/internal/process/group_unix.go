//go:build unix

package process

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func endGroup(leader *os.Process)  { syscall.Kill(-leader.Pid, syscall.SIGTERM) }
func killGroup(leader *os.Process) { syscall.Kill(-leader.Pid, syscall.SIGKILL) }

// outcome returns the exit code, or -N and the name of the signal N that ended the process.
func outcome(ws syscall.WaitStatus) (code int, signal string) {
	if !ws.Signaled() {
		return ws.ExitStatus(), ""
	}
	if signal = unix.SignalName(ws.Signal()); signal == "" {
		signal = ws.Signal().String() // a real-time signal has no name
	}
	return -int(ws.Signal()), signal
}
