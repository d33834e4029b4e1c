package process

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// A supervisedCommand runs under a helper.
type supervisedCommand struct {
	helper *helperProcess
	ready  *Helpers // gets the helper back
	output []string // the names of its pipes in /proc
	ends   chan Ending

	mu      sync.Mutex
	stopped bool
	over    bool // the helper is not this command's any more
}

func startSupervised(path string, ready *Helpers, spec Spec, stdin, stdout,
	stderr *os.File) (Running, error) {
	report, reportW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer reportW.Close()
	helper, err := startHelperFor(path, ready, func(h *helperProcess) error {
		return h.run(spec, reportW, stdin, stdout, stderr)
	})
	if err != nil {
		report.Close()
		return nil, err
	}
	h := &supervisedCommand{helper: helper, ready: ready,
		output: []string{pipeName(stdout), pipeName(stderr)}, ends: make(chan Ending, 1)}
	go func() {
		defer report.Close()
		h.ends <- h.awaitEnding(spec, report)
	}()
	return h, nil
}

func (h *supervisedCommand) Done() <-chan Ending { return h.ends }

func (h *supervisedCommand) Kill() { h.stop(h.helper.cmd.Process.Kill) }
func (h *supervisedCommand) Stop() { h.stop(h.helper.channel.Close) }

func (h *supervisedCommand) stop(how func() error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.over {
		h.stopped = true
		how()
	}
}

// release gives the helper back, which is ready for another command if reusable is set, or
// waits for its end.
func (h *supervisedCommand) release(reusable bool) {
	h.mu.Lock()
	keep := reusable && !h.stopped && !h.ready.isForOne()
	h.over = keep
	h.mu.Unlock()
	if keep {
		h.ready.giveBack(h.helper)
	} else {
		h.helper.end()
	}
}

// awaitEnding returns the Ending that the events of the helper describe.
func (h *supervisedCommand) awaitEnding(spec Spec, report *os.File) Ending {
	first := readEvent(report)
	last := first
	if first.Kind == eventStarted {
		last = readEvent(report)
	}
	told := map[uint32][]string{} // texts by the kind of their events
	for ; slices.Contains([]uint32{eventRefused, eventLeft, eventFull}, last.Kind); last = readEvent(report) {
		text := make([]byte, min(last.Value, maxEventText))
		io.ReadFull(report, text)
		told[last.Kind] = append(told[last.Kind], string(text))
	}
	h.release(last.Kind == eventEnded && last.More == 0)
	switch {
	case last.Kind == eventEnded:
		code, signal := outcome(syscall.WaitStatus(last.Value))
		return Ending{held: first.More, Executed: Executed{ExitCode: code, Signal: signal, Supervised: true,
			Survivors: int(last.More), Refused: told[eventRefused], Left: told[eventLeft],
			Full: told[eventFull]}}
	case last.Kind == eventFailed:
		return Ending{Err: &SpawnError{Command: spec.Args[0], Err: syscall.Errno(last.Value)}}
	case last.Kind == eventUnfenced:
		return Ending{Err: fenceUnavailable("Landlock could not be used")}
	case first.Kind == eventStarted || killed(h.helper.cmd.ProcessState):
		// the helper was killed, and its command with it
		if first.Kind == eventStarted {
			syscall.Kill(-int(first.Value), syscall.SIGKILL)
		}
		if !endOrphans() {
			endWriters(h.output)
		}
		return Ending{held: first.More, Executed: Executed{ExitCode: -int(syscall.SIGKILL), Signal: "SIGKILL",
			Lost: true}}
	case h.wasStopped(): // before the command had started
		return Ending{Executed: Executed{ExitCode: -int(syscall.SIGTERM), Signal: "SIGTERM",
			Supervised: true}}
	}
	return Ending{Err: fmt.Errorf("helper %s: it ended before the command began: %v%s", h.helper.cmd.Path,
		h.helper.cmd.ProcessState, scarce())}
}

// helperLimits are the resources that a helper needs, and how to allow more.
var helperLimits = []struct {
	resource int
	enough   uint64
	format   string
}{
	{unix.RLIMIT_NOFILE, 256, "; this process may open %d files: \"ulimit -n 1024\" allows more"},
	{unix.RLIMIT_NPROC, 512, "; this user may have %d processes and threads: \"ulimit -u 4096\" allows more"},
	{unix.RLIMIT_AS, 2 << 30, "; this process may have %d bytes of addresses: \"ulimit -v unlimited\" allows more"},
}

// scarce says how to allow this process more of what a helper needs, "" if it has enough.
func scarce() (says string) {
	for _, l := range helperLimits {
		var limit unix.Rlimit
		if unix.Getrlimit(l.resource, &limit) == nil && limit.Cur < l.enough {
			says += fmt.Sprintf(l.format, limit.Cur)
		}
	}
	return says
}

func (h *supervisedCommand) wasStopped() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stopped
}

func killed(state *os.ProcessState) bool {
	ws, ok := state.Sys().(syscall.WaitStatus)
	return ok && ws.Signaled()
}

// maxEventText is how many bytes the text of an event has.
const maxEventText = 300

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
