package process

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// attached runs a command on the standard streams that it is given. Inside the fence it has no terminal
// of its own to be stopped at: the caller's context ends it.
func (x *Runner) attached(ctx context.Context, a Command, spec Spec) (Executed, error) {
	if x.cfg.Fence == FenceOff || !canSupervise {
		return foreground(ctx, a, spec)
	}
	begin := time.Now()
	p, err := x.startCommand(spec, a.Streams[0], a.Streams[1], a.Streams[2])
	if err != nil {
		return Executed{}, err
	}
	end := follow(ctx, p, begin, a.Timeout, a.Name)
	if end.Err != nil {
		return Executed{}, end.Err
	}
	x.finish(&end.Executed, spec, end.held, begin)
	return end.Executed, nil
}

// foreground runs a command as a shell does: in the terminal's foreground, which sends it the signals
// of its keys, and with all variables.
func foreground(ctx context.Context, a Command, spec Spec) (Executed, error) {
	begin := time.Now()
	cmd := &exec.Cmd{
		Path: spec.Path, Args: spec.Args, Env: os.Environ(), Dir: spec.Dir,
		Stdin: a.Streams[0], Stdout: a.Streams[1], Stderr: a.Streams[2],
	}
	if err := startChild(cmd); err != nil {
		return Executed{}, spawnError(a.Name, err)
	}
	ended := make(chan struct{})
	go func() { // it ends with the command
		select {
		case <-ctx.Done():
			cmd.Process.Signal(syscall.SIGTERM)
		case <-ended:
		}
	}()
	waitChild(cmd)
	close(ended)
	done := endOf(cmd)
	done.Command, done.Elapsed = a.Name, time.Since(begin)
	return done, nil
}

// RunPager shows a text by a program of the user, such as less, and waits for its end. The
// program has the environment and the terminal of this process, no fence, and no helper. It
// may end before it has read all of the text. The error is that it could not be run.
func RunPager(program string, args []string, text []byte, terminal *os.File) error {
	path, err := exec.LookPath(program)
	if err != nil {
		return err
	}
	cmd := exec.Command(path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(text), terminal, os.Stderr
	if err := startChild(cmd); err != nil {
		return err
	}
	err = waitChild(cmd)
	if code := cmd.ProcessState.ExitCode(); code == 126 || code == 127 { // of a shell that cannot run it
		return err
	}
	return nil
}
