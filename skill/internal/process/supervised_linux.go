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

// A supervisedCommand runs under a helper.
type supervisedCommand struct {
	cmd     *exec.Cmd
	specW   *os.File // closing it, also by the end of this process, makes the helper stop
	stopped atomic.Bool
	output  []string // the names of its pipes in /proc
	ends    chan Ending
}

// startHelper starts a helper in dir, which reads its Spec from spec and writes its
// events to report. The other files are the command's; stdin may be nil.
func startHelper(path, dir string, spec, report, stdin, stdout, stderr *os.File, files ...*os.File) (*exec.Cmd, error) {
	if isHelper() {
		return nil, errors.New("this process was started as a helper and does not call HelperMain")
	}
	cmd := &exec.Cmd{
		Path: path, Args: []string{helperName}, Env: []string{}, Dir: dir,
		Stdin: spec, ExtraFiles: append([]*os.File{reportFD - 3: report, stdoutFD - 3: stdout, stderrFD - 3: stderr, stdinFD - 3: stdin}, files...),
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, // not reached by the terminal's signals
	}
	if err := startChild(cmd); err != nil {
		return nil, fmt.Errorf("helper: %w", err)
	}
	return cmd, nil
}

func startSupervised(path string, spec Spec, stdin, stdout, stderr *os.File) (Running, error) {
	specR, specW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer specR.Close()
	report, reportW, err := os.Pipe()
	if err != nil {
		specW.Close()
		return nil, err
	}
	defer reportW.Close()
	cmd, err := startHelper(path, spec.Dir, specR, reportW, stdin, stdout, stderr, spec.Files...)
	if err != nil {
		specW.Close()
		report.Close()
		return nil, err
	}
	h := &supervisedCommand{cmd: cmd, specW: specW, output: []string{pipeName(stdout), pipeName(stderr)}, ends: make(chan Ending, 1)}
	go func() {
		defer report.Close()
		h.ends <- h.runSpec(spec, report)
	}()
	return h, nil
}

func (h *supervisedCommand) Done() <-chan Ending { return h.ends }
func (h *supervisedCommand) Kill()               { h.cmd.Process.Kill() }

func (h *supervisedCommand) Stop() {
	h.stopped.Store(true)
	h.specW.Close()
}

// runSpec sends spec to the helper and returns the Ending that its events describe.
func (h *supervisedCommand) runSpec(spec Spec, report *os.File) Ending {
	h.specW.Write(spec.encode()) // an error shows below: the helper sends no event
	first := readEvent(report)
	last := first
	if first.Kind == eventStarted {
		last = readEvent(report)
	}
	h.specW.Close()
	waitChild(h.cmd)
	switch {
	case last.Kind == eventEnded:
		code, signal := outcome(syscall.WaitStatus(last.Value))
		return Ending{Code: code, signal: signal, supervised: true, survivors: int(last.More), held: first.More}
	case last.Kind == eventFailed:
		return Ending{Err: &SpawnError{Command: spec.Args[0], Err: syscall.Errno(last.Value)}}
	case last.Kind == eventUnfenced:
		return Ending{Err: fenceUnavailable("Landlock could not be used")}
	case first.Kind == eventStarted || killed(h.cmd.ProcessState): // the helper was killed, and its command with it
		if first.Kind == eventStarted {
			syscall.Kill(-int(first.Value), syscall.SIGKILL)
		}
		if !endOrphans() {
			endWriters(h.output)
		}
		return Ending{Code: -int(syscall.SIGKILL), signal: "SIGKILL", lost: true, held: first.More}
	case h.stopped.Load(): // before the command had started
		return Ending{Code: -int(syscall.SIGTERM), signal: "SIGTERM", supervised: true}
	}
	return Ending{Err: fmt.Errorf("helper %s: it ended before the command began: %v", h.cmd.Path, h.cmd.ProcessState)}
}

// killed reports whether a signal ended the process.
func killed(state *os.ProcessState) bool {
	ws, ok := state.Sys().(syscall.WaitStatus)
	return ok && ws.Signaled()
}

// readEvent returns the helper's next event, or the zero event at the end.
func readEvent(report *os.File) (e event) {
	binary.Read(report, binary.LittleEndian, &e)
	return e
}

// awaitEnd waits until the child pid has ended, without freeing its id. It returns false
// if it cannot wait.
func awaitEnd(pid int) bool {
	err := unix.EINTR
	for err == unix.EINTR {
		err, _ = unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil).(syscall.Errno)
	}
	return err == 0
}
