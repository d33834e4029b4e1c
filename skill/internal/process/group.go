package process

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// startCommand starts spec: under the helper if there is one and the system supports it,
// otherwise in a process group.
func (x *Runner) startCommand(spec Spec, stdin, stdout, stderr *os.File) (Running, error) {
	if x.cfg.Helper != "" && canSupervise {
		return startSupervised(x.cfg.Helper, x.cfg.Ready, spec, stdin, stdout, stderr)
	}
	return startGroup(spec, stdin, stdout, stderr)
}

// group is a command in its own process group. Stop and Kill do not reach processes
// that have left the group.
type group struct {
	cmd  *exec.Cmd
	ends chan Ending

	mu   sync.Mutex
	over bool // the command was waited for: its process id may have been reused
}

func startGroup(spec Spec, stdin, stdout, stderr *os.File) (Running, error) {
	cmd, err := startLeader(spec, stdin, stdout, stderr)
	if errors.Is(err, syscall.ENOEXEC) {
		cmd, err = startLeader(spec.script(), stdin, stdout, stderr)
	}
	if err != nil {
		return nil, spawnError(spec.Args[0], err)
	}
	g := &group{cmd: cmd, ends: make(chan Ending, 1)}
	go g.wait()
	return g, nil
}

// spawnError returns an error of the system as a [*SpawnError].
func spawnError(command string, err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return &SpawnError{Command: command, Err: errno}
	}
	return err
}

func startLeader(spec Spec, stdin, stdout, stderr *os.File) (*exec.Cmd, error) {
	cmd := &exec.Cmd{Path: spec.Path, Args: spec.Args, Env: spec.Env, Dir: spec.Dir, Stdin: stdin,
		Stdout: stdout, Stderr: stderr, ExtraFiles: spec.Files, SysProcAttr: ownGroup()}
	return cmd, startChild(cmd)
}

// script returns the Spec by which execvp runs a file without a #! line: through the shell.
func (s Spec) script() Spec {
	s.Args = append([]string{"/bin/sh", s.Path}, s.Args[1:]...)
	s.Path = "/bin/sh"
	return s
}

func (g *group) wait() {
	seen := awaitEnd(g.cmd.Process.Pid)
	if seen {
		g.Kill() // before Wait frees the process id
	}
	waitChild(g.cmd)
	g.mu.Lock()
	g.over = true
	if !seen {
		killGroup(g.cmd.Process) // a group's id is not reused while it has members
	}
	g.mu.Unlock()
	g.ends <- Ending{Executed: endOf(g.cmd)}
}

// endOf says how a command ended that was waited for.
func endOf(cmd *exec.Cmd) (e Executed) {
	e.ExitCode = cmd.ProcessState.ExitCode()
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok {
		e.ExitCode, e.Signal = outcome(ws)
	}
	return e
}

func (g *group) Done() <-chan Ending { return g.ends }

func (g *group) Stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.over {
		endGroup(g.cmd.Process)
		time.AfterFunc(stopGrace, g.Kill)
	}
}

func (g *group) Kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.over {
		killGroup(g.cmd.Process)
	}
}
