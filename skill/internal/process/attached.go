package process

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// attached runs a command on the standard streams that it is given, or on a terminal of its own in the place of
// theirs.
func (x *Runner) attached(ctx context.Context, a Command, spec Spec) (Executed, error) {
	if x.cfg.Fence == FenceOff || !canSupervise {
		return foreground(ctx, a, spec)
	}
	begin := time.Now()
	streams, shown := a.Streams, func() []byte { return nil }
	if spec.terminal != nil {
		streams, shown = spec.terminal.sockets(streams), spec.terminal.finish
	}
	stdout, stderr, finish := overheard(streams[1], streams[2])
	p, err := x.startCommand(spec, streams[0], stdout, stderr)
	if spec.terminal != nil {
		spec.terminal.begin()
	}
	if err != nil {
		finish()
		shown()
		return Executed{}, err
	}
	end := follow(ctx, p, begin, a.Timeout, a.Name)
	end.Stderr, end.Stdout = finish(), shown()
	if end.Err != nil {
		return Executed{}, end.Err
	}
	x.finish(&end.Executed, spec, end.held, begin)
	return end.Executed, nil
}

// hintedOutput is how many bytes at the end of each stream are searched for what the fence took.
const hintedOutput = 32 << 10

// overheard returns the output and the errors that a command gets in the place of these. Errors that go to
// a pipe pass through this process, and the output if it goes to the same pipe. finish ends that, and returns
// the last of the errors, also of those in a file.
func overheard(stdout, stderr *os.File) (out, err *os.File, finish func() []byte) {
	nothing := func() []byte { return nil }
	to, failed := stderr.Stat()
	if failed != nil { // it is closed
		return stdout, stderr, nothing
	}
	name := fmt.Sprint("/proc/self/fd/", stderr.Fd())
	if to.Mode().IsRegular() {
		return stdout, stderr, func() []byte { return lastOf(name, to.Size()) }
	}
	if to.Mode()&os.ModeNamedPipe == 0 {
		return stdout, stderr, nothing
	}
	r, w, failed := os.Pipe()
	if failed != nil {
		return stdout, stderr, nothing
	}
	again, failed := os.OpenFile(name, os.O_WRONLY, 0) // an error at standard error itself would end this process
	if failed != nil {
		r.Close()
		w.Close()
		return stdout, stderr, nothing
	}
	if same, failed := stdout.Stat(); failed == nil && os.SameFile(to, same) {
		stdout = w
	}
	kept, ended := headTail{limit: 2 * hintedOutput}, make(chan struct{})
	go func() {
		defer close(ended)
		io.Copy(io.MultiWriter(&kept, again), r)
		again.Close()
		r.Close() // where nobody reads any more, the command meets that, too
	}()
	return stdout, w, func() []byte {
		w.Close()
		r.SetReadDeadline(time.Now().Add(drainTimeout))
		<-ended
		text, _ := kept.bytes()
		return text
	}
}

// lastOf returns the last bytes of a file that were written after its first ones.
func lastOf(name string, first int64) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	text := make([]byte, max(0, min(hintedOutput, info.Size()-first)))
	n, _ := f.ReadAt(text, info.Size()-int64(len(text)))
	return text[:n]
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
