package process

import (
	"os"
	"sync"
	"time"
)

// A Program is a program for [Runner.StartProcess].
type Program struct {
	Command string   // a program, not a command line
	Args    []string // without the command
	Env     []string // the whole environment, NAME=value; Command is searched for in its PATH
}

// A Process is a program that runs until it is closed, together with everything that
// it started. With a [Config].Helper it also ends when this process does.
type Process struct {
	Stdin  *os.File // its standard input; Close closes it
	Stdout *os.File // its standard output; Close closes it

	run    Running
	ended  chan struct{}
	end    Executed // valid after ended is closed
	err    error    // the program could not be started; valid after ended is closed
	stderr *lastBytes
	closed sync.Once
}

// StartProcess starts a program in the workspace directory. Its errors come from
// [Runner.Exec]. The caller closes the Process.
func (x *Runner) StartProcess(p Program) (*Process, error) {
	if err := x.CheckAllowed("running a program"); err != nil {
		return nil, err
	}
	dir, err := x.OpenDir("", "")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	path, err := lookProgram(p.Command, dir.Path, p.Env)
	if err != nil {
		return nil, err
	}
	var pipes [3][2]*os.File // the reading and writing ends of stdin, stdout and stderr
	defer func() {
		for _, f := range []*os.File{pipes[0][0], pipes[1][1], pipes[2][1]} { // the program's ends
			f.Close()
		}
	}()
	for i := range pipes {
		if pipes[i][0], pipes[i][1], err = os.Pipe(); err != nil {
			pipes[0][1].Close()
			pipes[1][0].Close()
			return nil, err
		}
	}
	s := &Process{Stdin: pipes[0][1], Stdout: pipes[1][0], ended: make(chan struct{}), stderr: &lastBytes{}}
	stderr := pipes[2][0]
	spec := Spec{Path: path, Args: append([]string{p.Command}, p.Args...), Env: p.Env, Dir: dir.Handle}
	if s.run, err = x.startCommand(spec, pipes[0][0], pipes[1][1], pipes[2][1]); err != nil {
		s.Stdin.Close()
		s.Stdout.Close()
		stderr.Close()
		return nil, err
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		s.stderr.drain(stderr)
	}()
	go func() {
		e := <-s.run.Done()
		s.err, s.end = e.Err, e.Executed
		s.end.Command = p.Command
		within(drained, endGrace) // another process may hold stderr open
		close(s.ended)
	}()
	return s, nil
}

// stdinGrace is how long a program may take to end after its input has ended.
const stdinGrace = time.Second

// Close ends the program and all that it started, and waits for their end. It closes
// standard input first, then sends SIGTERM, then SIGKILL. It always returns nil.
func (s *Process) Close() error {
	s.closed.Do(func() {
		s.Stdin.Close()
		if !s.endsWithin(stdinGrace) {
			s.run.Stop()
		}
		if !s.endsWithin(stopGrace + killTimeout + time.Second) {
			s.run.Kill()
			s.endsWithin(killTimeout)
		}
		s.Stdout.Close()
	})
	return nil
}

// Stop begins to end the program and all that it started, and does not wait.
func (s *Process) Stop() { s.run.Stop() }

// Ended reports whether the program has ended, after at most 300 ms, and how. The error
// is not nil if it could not be started.
func (s *Process) Ended() (end Executed, ended bool, err error) {
	if !s.endsWithin(endGrace) {
		return Executed{}, false, nil
	}
	return s.end, true, s.err
}

func (s *Process) endsWithin(d time.Duration) bool {
	_, ended := within(s.ended, d)
	return ended
}

// Stderr returns the last 4 KiB that the program wrote to its standard error. It waits
// at most 300 ms for the end of the program.
func (s *Process) Stderr() string {
	s.endsWithin(endGrace)
	return s.stderr.String()
}

// endGrace is how long Ended and Stderr wait for a program that may be about to end, so
// that its last line is not missed.
const endGrace = 300 * time.Millisecond

// lastBytes keeps the last maxStderr bytes of a stream.
type lastBytes struct {
	mu   sync.Mutex
	kept []byte
}

const maxStderr = 4 << 10 // bytes

// drain reads f to its end and closes it.
func (l *lastBytes) drain(f *os.File) {
	defer f.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := f.Read(buf)
		l.mu.Lock()
		l.kept = append(l.kept, buf[:n]...)
		l.kept = append(l.kept[:0], l.kept[max(0, len(l.kept)-maxStderr):]...)
		l.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (l *lastBytes) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.kept)
}
