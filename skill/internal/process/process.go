package process

import (
	"context"
	"os"
	"sync"
	"time"
)

// A Program is one to be started and talked to over its standard input and output.
type Program struct {
	Command string   // a program, not a command line
	Args    []string // without the command
	Env     []string // "NAME=value": all that it is given; PATH says where it is looked for
}

// A Process is a program that runs until it is closed, with everything it starts.
// Under [Config.Helper] none of that outlives this process either.
type Process struct {
	Stdin  *os.File // its standard input; Close closes it
	Stdout *os.File // its standard output; Close closes it

	run    Running
	ended  chan struct{}
	end    Executed // once it has ended
	err    error    // it could not be started
	stderr *lastBytes
	closed sync.Once
}

// StartProcess starts a program in the workspace's folder. Errors are those of
// [Runner.Exec]. The caller closes the Process.
func (x *Runner) StartProcess(p Program) (*Process, error) {
	if err := x.MayAct("running a program"); err != nil {
		return nil, err
	}
	dir, err := x.OpenDir("", "")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	path, err := LookProgram(p.Command, dir.Path, p.Env)
	if err != nil {
		return nil, err
	}
	var pipes [3][2]*os.File // reading and writing ends of its standard files
	defer func() {
		for _, f := range []*os.File{pipes[0][0], pipes[1][1], pipes[2][1]} { // the program has them
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
	o := Spec{Path: path, Args: append([]string{p.Command}, p.Args...), Env: p.Env, Dir: dir.Handle}
	if s.run, err = startTalking(x.cfg.Helper, o, pipes[0][0], pipes[1][1], pipes[2][1]); err != nil {
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
		s.err = e.Err
		s.end = Executed{Command: p.Command, ExitCode: e.Code, Signal: e.signal, Supervised: e.supervised, Survivors: e.survivors, Lost: e.lost}
		select {
		case <-drained:
		case <-time.After(lastWords): // somebody else holds it open
		}
		close(s.ended)
	}()
	return s, nil
}

// leaveTime is what a program has to end by itself when its input does.
const leaveTime = time.Second

// Close ends the program and what it started: its input ends, then it gets SIGTERM,
// then SIGKILL. It returns when that is done.
func (s *Process) Close() error {
	s.closed.Do(func() {
		s.Stdin.Close()
		if !s.endsWithin(leaveTime) {
			s.run.Stop()
		}
		if !s.endsWithin(stopGrace + sweepTime + time.Second) {
			s.run.Kill()
			s.endsWithin(sweepTime)
		}
		s.Stdout.Close()
	})
	return nil
}

// Stop ends the program and what it started, without waiting for that.
func (s *Process) Stop() { s.run.Stop() }

// Ended returns how the program ended, if it has; one that is about to end is given a
// moment to do so. The error is that of a program which could not be started.
func (s *Process) Ended() (end Executed, ended bool, err error) {
	if !s.endsWithin(lastWords) {
		return Executed{}, false, nil
	}
	return s.end, true, s.err
}

func (s *Process) endsWithin(d time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	select {
	case <-s.ended:
		return true
	case <-ctx.Done():
		return false
	}
}

// Stderr returns the end of what the program wrote to its standard error, at most
// some kilobytes. A program that is about to end is given a moment to do so.
func (s *Process) Stderr() string {
	s.endsWithin(lastWords)
	return s.stderr.String()
}

// lastWords is how long Stderr waits for the end of a program that may be about to
// end, so that its last line is there.
const lastWords = 300 * time.Millisecond

// lastBytes keeps the end of what is written to it.
type lastBytes struct {
	mu   sync.Mutex
	kept []byte
}

// maxStderr is how many bytes a lastBytes keeps.
const maxStderr = 4 << 10

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
