package process

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// startCommand starts o with its output going to stdout and stderr: under the helper if
// there is one and the system has what it needs, else in a process group.
func startCommand(helper string, o Spec, stdout, stderr *os.File) (Running, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	return startTalking(helper, o, null, stdout, stderr)
}

// startTalking is startCommand for a command that reads stdin.
func startTalking(helper string, o Spec, stdin, stdout, stderr *os.File) (Running, error) {
	if helper != "" && canHelp {
		return startHelped(helper, o, stdin, stdout, stderr)
	}
	return startGroup(o, stdin, stdout, stderr)
}

// group is a command in its own process group. What leaves the group outlives it.
type group struct {
	cmd  *exec.Cmd
	ends chan Ending

	mu   sync.Mutex
	over bool // the command was waited for: its number may be another's
}

func startGroup(o Spec, stdin, stdout, stderr *os.File) (Running, error) {
	cmd, err := startAlone(o, stdin, stdout, stderr)
	if errors.Is(err, syscall.ENOEXEC) {
		cmd, err = startAlone(o.script(), stdin, stdout, stderr)
	}
	if err != nil {
		if errno, ok := errors.AsType[syscall.Errno](err); ok {
			err = &SpawnError{Command: o.Args[0], Err: errno}
		}
		return nil, err
	}
	g := &group{cmd: cmd, ends: make(chan Ending, 1)}
	go g.wait()
	return g, nil
}

func startAlone(o Spec, stdin, stdout, stderr *os.File) (*exec.Cmd, error) {
	cmd := &exec.Cmd{Path: o.Path, Args: o.Args, Env: o.Env, Dir: o.Dir, Stdin: stdin, Stdout: stdout, Stderr: stderr, SysProcAttr: ownGroup()}
	return cmd, cmd.Start()
}

// script is o as execvp starts a file that the kernel does not know how to run.
func (o Spec) script() Spec {
	o.Args = append([]string{"/bin/sh", o.Path}, o.Args[1:]...)
	o.Path = "/bin/sh"
	return o
}

func (g *group) wait() {
	seen := awaitEnd(g.cmd.Process.Pid)
	if seen {
		g.Kill() // while the number is still the command's own
	}
	g.cmd.Wait()
	g.mu.Lock()
	g.over = true
	if !seen {
		killGroup(g.cmd.Process) // a group keeps its number while it has members
	}
	g.mu.Unlock()
	e := Ending{Code: g.cmd.ProcessState.ExitCode()}
	if ws, ok := g.cmd.ProcessState.Sys().(syscall.WaitStatus); ok {
		e.Code, e.signal = outcome(ws)
	}
	g.ends <- e
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
