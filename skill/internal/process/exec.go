package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"textskill/skill/internal/refusal"
	"textskill/skill/internal/workspace"
)

// A Command is a program to be run without a shell. Its standard input is empty.
type Command struct {
	Name       string        // to be found in PATH, or a path, from Dir where it is relative
	Args       []string      // without the name
	Env        []string      // NAME=value, set in this order over the process environment without its credentials
	Dir        string        // the folder to run in, inside the workspace
	Timeout    time.Duration // 0 means none; a negative one has run out at the start
	MaxOutput  int64         // bytes kept of each stream; 0 means 1 MiB
	Unattended bool          // the environment says that nobody watches: no prompts, pagers and colours
	Port       int           // where it may listen without Config.Network too; 0 is none
	Log        bool          // write what is not kept, or is no text, to a file that can be read

	Stdout, Stderr Filter // may be nil
}

// Executed is how a program ended and what it printed until then. A program that
// fails is a result like any other.
type Executed struct {
	Tracked
	Command string

	// What it printed, in any encoding. Of more than MaxOutput bytes the beginning
	// and the end, with a line between them that says how many are left out.
	Stdout, Stderr       []byte
	StdoutCut, StderrCut int64 // bytes left out

	Log    string // absolute name of a file with both streams as they came; "" where the answer holds all
	LogCut int64  // bytes for which that file had no room

	ExitCode  int    // -N where signal N ended it
	Signal    string // "SIGKILL"; "" where it ended by itself
	TimedOut  bool   // the time had run out before it was done
	Cancelled bool   // the context had ended before it was done

	Fence      Fence // what the system itself kept it to
	Supervised bool  // it ran under a helper: what it started is gone, whatever it did to stay
	Survivors  int   // processes that could not be ended: another user's, or stuck in the kernel
	Lost       bool  // the helper was killed: what left the command's process group may still run
	Elapsed    time.Duration
}

// Failed reports whether it did anything but exit with 0 in its time.
func (e Executed) Failed() bool { return e.ExitCode != 0 || e.TimedOut || e.Cancelled || e.Lost }

// Message tells how the program ended.
func (e Executed) Message() string {
	switch {
	case e.TimedOut:
		return fmt.Sprintf("%s was stopped: its time ran out after %v", e.Command, e.Elapsed.Round(time.Millisecond))
	case e.Cancelled:
		return e.Command + " was stopped: the call was cancelled"
	case e.Lost:
		return e.Command + " was stopped: the process that watched it was killed"
	case e.Signal != "":
		return e.Command + " was ended by " + e.Signal
	}
	return fmt.Sprintf("%s exited with %d", e.Command, e.ExitCode)
}

// A SpawnError reports a program that could not be started.
type SpawnError struct {
	Command string // as it was asked for
	Err     error  // a syscall.Errno: ENOENT, EACCES (also for a folder), ENOEXEC, E2BIG, …
	Fenced  bool   // it could be run, but lies where the fence lets no command read
}

func (e *SpawnError) Error() string {
	reason := e.Err.Error()
	switch {
	case e.Fenced:
		reason = "it lies outside of what the fence lets commands read; --fence-read allows a further folder"
	case e.Err == syscall.EACCES:
		reason = "it is not an executable file"
	case e.Err == syscall.ENOENT && !strings.Contains(e.Command, "/"):
		reason = "PATH has no program of that name"
	}
	return fmt.Sprintf("cannot run %q: %s", e.Command, reason)
}

// Unwrap returns the system's error.
func (e *SpawnError) Unwrap() error { return e.Err }

// IsSpawn reports whether err is that of a program that could not be started.
func IsSpawn(err error) bool {
	_, ok := errors.AsType[*SpawnError](err)
	return ok
}

// MayAct refuses what cannot be undone or described beforehand.
func (x *Runner) MayAct(what string) error {
	switch {
	case x.cfg.ReadOnly:
		return &refusal.RefusedError{What: what, Flag: "--read-only"}
	case x.cfg.DryRun:
		return &refusal.RefusedError{What: what, Flag: "--dry-run"}
	}
	return nil
}

// MayReach refuses what needs other machines where they are not allowed.
func (x *Runner) MayReach(what string) error {
	if err := x.MayAct(what); err != nil {
		return err
	}
	if !x.cfg.Network {
		return &refusal.OffError{What: what, Flag: "--network"}
	}
	return nil
}

// A Spec is a command that is ready to be started.
type Spec struct {
	Path  string   // the program's file; relative to Dir if it is not absolute
	Args  []string // the command's name first
	Env   []string
	Dir   string // where it runs; valid while the folder is held open
	fence fence
	stay  bool // it outlives this process: see [stay]
}

// Exec runs a command inside the fence and waits for it. The folder to run in starts
// at base. When the command is done, or stopped, nothing that it started stays
// behind. What it changed in the workspace is recorded.
func (x *Runner) Exec(ctx context.Context, base string, a Command) (Executed, error) {
	if err := cmp.Or(x.MayAct("running a program"), a.Check()); err != nil {
		return Executed{}, err
	}
	dir, err := x.OpenDir(base, a.Dir)
	if err != nil {
		return Executed{}, err
	}
	defer dir.Close()
	fence, set, err := x.fenceFor(a.Port, x.tempDir)
	if err != nil {
		return Executed{}, err
	}
	if a.Unattended {
		set = slices.Concat(set, unattended)
	}
	set = slices.Concat(set, a.Env)
	env := x.Environment(set, dir.Path)
	path, err := LookProgram(a.Name, dir.Path, env)
	if err != nil {
		return Executed{}, err
	}
	var done Executed
	tracked, err := x.Track(ctx, a.Name, func(ctx context.Context) (err error) {
		done, err = x.Run(ctx, a, Spec{Path: path, Args: append([]string{a.Name}, a.Args...), Env: env, Dir: dir.Handle, fence: fence})
		return err
	})
	if err != nil {
		return Executed{}, fence.fenced(err, path, dir.Path)
	}
	done.Tracked = tracked
	return done, nil
}

// Check refuses what no program can be given.
func (a Command) Check() error {
	if a.Name == "" {
		return &refusal.ArgError{Arg: "command", Reason: "is empty; it names the program to run", Code: "ERR_INVALID_ARG_VALUE"}
	}
	if err := checkNUL("command", a.Name); err != nil {
		return err
	}
	for i, arg := range a.Args {
		if err := checkNUL(fmt.Sprintf("args[%d]", i), arg); err != nil {
			return err
		}
	}
	for _, set := range a.Env {
		name, _, ok := strings.Cut(set, "=")
		if !ok || name == "" {
			return &refusal.ArgError{Arg: "env", Reason: fmt.Sprintf("holds %q; a variable is NAME=value", set), Code: "ERR_INVALID_ARG_VALUE"}
		}
		if err := checkNUL("env."+name, set); err != nil {
			return err
		}
	}
	return nil
}

func checkNUL(arg, value string) error {
	if strings.IndexByte(value, 0) < 0 {
		return nil
	}
	return &refusal.ArgError{Arg: arg, Reason: fmt.Sprintf("holds a NUL byte, which no program can be given: %q", value), Code: "ERR_INVALID_ARG_VALUE"}
}

// Run starts o, as it is, and follows it to its end. Of a it takes the time and what
// is done with the output.
func (x *Runner) Run(ctx context.Context, a Command, o Spec) (Executed, error) {
	var log *outputLog
	if a.Log {
		log = &outputLog{x: x, limit: int(2 * cmp.Or(a.MaxOutput, defaultOutput))}
	}
	stdout, err := newCapture(a.MaxOutput, a.Stdout, log)
	if err != nil {
		return Executed{}, err
	}
	stderr, err := newCapture(a.MaxOutput, a.Stderr, log)
	if err != nil {
		stdout.w.Close()
		stdout.finish(time.Now())
		return Executed{}, err
	}
	begin := time.Now()
	p, err := startCommand(x.cfg.Helper, o, stdout.w, stderr.w)
	stdout.w.Close()
	stderr.w.Close()
	done := Executed{Command: a.Name}
	var end Ending
	if err == nil {
		end = follow(ctx, p, begin, a.Timeout, &done)
	}
	deadline := time.Now().Add(drainTime)
	done.Stdout, done.StdoutCut = stdout.finish(deadline)
	done.Stderr, done.StderrCut = stderr.finish(deadline)
	if log != nil {
		whole := done.StdoutCut+done.StderrCut == 0 && utf8.Valid(done.Stdout) && utf8.Valid(done.Stderr)
		done.Log, done.LogCut = log.finish(!whole)
	}
	if err = cmp.Or(err, end.Err); err != nil {
		return Executed{}, err
	}
	done.ExitCode, done.Signal = end.Code, end.signal
	done.Supervised, done.Survivors, done.Lost = end.supervised, end.survivors, end.lost
	done.Fence = x.fenceOf(o, end.held)
	done.Elapsed = time.Since(begin)
	return done, nil
}

// Running is a command that was started.
type Running interface {
	Done() <-chan Ending // receives one Ending, when the command and what it started are gone
	Stop()               // asks for that: SIGTERM, then SIGKILL
	Kill()               // gives up on a program that Stop did not end
}

// Start starts o, as it is, with its output going to stdout and stderr.
func (x *Runner) Start(o Spec, stdout, stderr *os.File) (Running, error) {
	return startCommand(x.cfg.Helper, o, stdout, stderr)
}

// End stops a program and all that it started, and returns when that is done.
func End(run Running) {
	run.Stop()
	select {
	case <-run.Done():
	case <-time.After(patience):
		run.Kill()
	}
}

// Ending is how a command ended.
type Ending struct {
	Code       int // -N where signal N ended it
	signal     string
	survivors  int
	supervised bool
	lost       bool
	held       uint32 // of the fence: see [heldSockets]
	Err        error  // it never ran; nothing else is set
}

// How long a command is waited for.
const (
	stopGrace = 500 * time.Millisecond // between SIGTERM and SIGKILL
	sweepTime = 3 * time.Second        // for the last process to die of SIGKILL
	patience  = stopGrace + sweepTime + 2*time.Second
)

// follow waits for the end of p and brings it about when the time since begin is
// up or ctx ends, which it notes in done.
func follow(ctx context.Context, p Running, begin time.Time, limit time.Duration, done *Executed) Ending {
	var timeout <-chan time.Time
	if limit != 0 {
		t := time.NewTimer(time.Until(begin.Add(limit)))
		defer t.Stop()
		timeout = t.C
	}
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for !done.TimedOut && !done.Cancelled {
		select {
		case e := <-p.Done():
			done.TimedOut = limit != 0 && time.Since(begin) >= limit
			return e
		case <-second.C:
			workspace.Report(ctx, int64(time.Since(begin).Seconds()), int64(limit.Seconds()), "running "+done.Command)
		case <-timeout:
			done.TimedOut = true
		case <-ctx.Done():
			done.Cancelled = true
		}
	}
	p.Stop()
	for _, step := range []func(){p.Kill, func() {}} {
		select {
		case e := <-p.Done():
			return e
		case <-time.After(patience):
			step()
		}
	}
	return Ending{Code: -9, signal: "SIGKILL", survivors: 1, lost: true}
}
