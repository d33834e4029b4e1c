package process

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// helped is a command that runs under a helper.
type helped struct {
	cmd     *exec.Cmd
	orders  *os.File // its closing, also by our death, tells the helper to stop
	stopped atomic.Bool
	output  []string // names of its pipes in /proc
	ends    chan Ending
}

// startHelper starts a helper in dir, which reads its order from orders and tells
// report what becomes of it. The others are for the command; stdin may be nil.
func startHelper(path, dir string, orders, report, stdin, stdout, stderr *os.File) (*exec.Cmd, error) {
	if isHelper() {
		return nil, errors.New("this process was started as a helper and does not call HelperMain")
	}
	cmd := &exec.Cmd{
		Path: path, Args: []string{helperName}, Env: []string{}, Dir: dir,
		Stdin: orders, ExtraFiles: []*os.File{reportFD - 3: report, stdoutFD - 3: stdout, stderrFD - 3: stderr, stdinFD - 3: stdin},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, // out of reach of the terminal's signals
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("helper: %w", err)
	}
	return cmd, nil
}

func startHelped(path string, o Spec, stdin, stdout, stderr *os.File) (Running, error) {
	orderR, orders, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer orderR.Close()
	report, reportW, err := os.Pipe()
	if err != nil {
		orders.Close()
		return nil, err
	}
	defer reportW.Close()
	cmd, err := startHelper(path, o.Dir, orderR, reportW, stdin, stdout, stderr)
	if err != nil {
		orders.Close()
		report.Close()
		return nil, err
	}
	h := &helped{cmd: cmd, orders: orders, output: []string{pipeName(stdout), pipeName(stderr)}, ends: make(chan Ending, 1)}
	go func() {
		defer report.Close()
		h.ends <- h.converse(o, report)
	}()
	return h, nil
}

func (h *helped) Done() <-chan Ending { return h.ends }
func (h *helped) Kill()               { h.cmd.Process.Kill() }

func (h *helped) Stop() {
	h.stopped.Store(true)
	h.orders.Close()
}

// converse gives the helper its order and hears it out.
func (h *helped) converse(o Spec, report *os.File) Ending {
	h.orders.Write(o.encode()) // a helper that does not read it says nothing either
	first := receive(report)
	last := first
	if first.Kind == eventStarted {
		last = receive(report)
	}
	h.orders.Close()
	h.cmd.Wait()
	switch {
	case last.Kind == eventEnded:
		code, signal := outcome(syscall.WaitStatus(last.Value))
		return Ending{Code: code, signal: signal, supervised: true, survivors: int(last.More), held: first.More}
	case last.Kind == eventFailed:
		return Ending{Err: &SpawnError{Command: o.Args[0], Err: syscall.Errno(last.Value)}}
	case last.Kind == eventUnfenced:
		return Ending{Err: unfenced("Landlock could not be used")}
	case first.Kind == eventStarted || killed(h.cmd.ProcessState): // and the command with it
		if first.Kind == eventStarted {
			syscall.Kill(-int(first.Value), syscall.SIGKILL)
		}
		endWriters(h.output)
		return Ending{Code: -int(syscall.SIGKILL), signal: "SIGKILL", lost: true, held: first.More}
	case h.stopped.Load(): // before it had begun
		return Ending{Code: -int(syscall.SIGTERM), signal: "SIGTERM", supervised: true}
	}
	return Ending{Err: fmt.Errorf("helper %s: it ended before the command began: %v", h.cmd.Path, h.cmd.ProcessState)}
}

// killed reports whether a signal ended the process.
func killed(state *os.ProcessState) bool {
	ws, ok := state.Sys().(syscall.WaitStatus)
	return ok && ws.Signaled()
}

// receive returns the helper's next event, the zero event if there is none.
func receive(report *os.File) (e event) {
	binary.Read(report, binary.LittleEndian, &e)
	return e
}

// awaitEnd returns when the child pid has ended, which is left to be waited for. It
// reports whether it could.
func awaitEnd(pid int) bool {
	err := unix.EINTR
	for err == unix.EINTR {
		err, _ = unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil).(syscall.Errno)
	}
	return err == 0
}
