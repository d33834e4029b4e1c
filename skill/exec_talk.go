package skill

import (
	"context"
	"os"
	"sync"
	"time"
)

// A Program is one that runs beside the executor and is talked to over its
// standard input and output.
type Program struct {
	Command string   // a program, not a command line
	Args    []string // without the command
	Env     []string // "NAME=value": all that it is given; PATH says where it is looked for
}

// A Companion is a program that runs until it is closed, with everything it starts.
// Under [Config.Helper] none of that outlives this process either.
type Companion struct {
	Stdin  *os.File // its standard input; Close closes it
	Stdout *os.File // its standard output; Close closes it

	run    running
	ended  chan struct{}
	end    Executed // once it has ended
	err    error    // it could not be started
	said   *lastBytes
	closed sync.Once
}

// Accompany starts a program in the workspace's folder. Errors are those of an [Exec].
// The caller closes the Companion.
func (x *Executor) Accompany(p Program) (*Companion, error) {
	if err := x.mayAct("running a program"); err != nil {
		return nil, err
	}
	dir, err := x.openDir(&Session{}, "")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	path, err := lookProgram(p.Command, dir.path, p.Env)
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
	s := &Companion{Stdin: pipes[0][1], Stdout: pipes[1][0], ended: make(chan struct{}), said: &lastBytes{}}
	stderr := pipes[2][0]
	o := order{path: path, args: append([]string{p.Command}, p.Args...), env: p.Env, dir: dir.handle}
	if s.run, err = startTalking(x.cfg.Helper, o, pipes[0][0], pipes[1][1], pipes[2][1]); err != nil {
		s.Stdin.Close()
		s.Stdout.Close()
		stderr.Close()
		return nil, err
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		s.said.drain(stderr)
	}()
	go func() {
		e := <-s.run.done()
		s.err = e.err
		s.end = Executed{Command: p.Command, ExitCode: e.code, Signal: e.signal, Supervised: e.supervised, Survivors: e.survivors, Lost: e.lost}
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

// Close ends the program and what it started: it is told by the end of its input,
// then asked, then killed. It returns when that is done.
func (s *Companion) Close() error {
	s.closed.Do(func() {
		s.Stdin.Close()
		if !s.endsWithin(leaveTime) {
			s.run.stop()
		}
		if !s.endsWithin(stopGrace + sweepTime + time.Second) {
			s.run.kill()
			s.endsWithin(sweepTime)
		}
		s.Stdout.Close()
	})
	return nil
}

// Stop ends the program and what it started, without waiting for that.
func (s *Companion) Stop() { s.run.stop() }

// Ended tells how the program ended, if it has; one that is about to end is given a
// moment to do so. The error is that of a program which could not be started.
func (s *Companion) Ended() (end Executed, ended bool, err error) {
	if !s.endsWithin(lastWords) {
		return Executed{}, false, nil
	}
	return s.end, true, s.err
}

func (s *Companion) endsWithin(d time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	select {
	case <-s.ended:
		return true
	case <-ctx.Done():
		return false
	}
}

// Said returns the end of what the program wrote to its standard error, at most
// some kilobytes. A program that is about to end is given a moment to do so.
func (s *Companion) Said() string {
	s.endsWithin(lastWords)
	return s.said.String()
}

// lastWords is how long the end of a program is waited for before its words are
// taken as its last.
const lastWords = 300 * time.Millisecond

// lastBytes keeps the end of what is written to it.
type lastBytes struct {
	mu   sync.Mutex
	kept []byte
}

// maxSaid is how many bytes a lastBytes keeps.
const maxSaid = 4 << 10

// drain reads f to its end and closes it.
func (l *lastBytes) drain(f *os.File) {
	defer f.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := f.Read(buf)
		l.mu.Lock()
		l.kept = append(l.kept, buf[:n]...)
		l.kept = append(l.kept[:0], l.kept[max(0, len(l.kept)-maxSaid):]...)
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
