package skill

import (
	"bytes"
	"context"
	"os"
	"strings"
	"time"

	"textskill/skill/internal/process"
)

// Exec runs a program without a shell, with empty standard input, and waits for it. It
// then ends every process that the program started. It returns an [Executed].
type Exec struct {
	Command    string        // a name to search for in PATH, or a path, absolute or relative to Dir
	Shell      bool          // Command is /bin/sh, replaced by bash where this machine has it
	Args       []string      // without the command
	Env        []string      // NAME=value entries added to the environment; the last one of a name wins
	Dir        string        // working directory, inside the workspace; "" means the session's
	Timeout    time.Duration // 0 means no limit; a negative timeout has already expired
	MaxOutput  int64         // bytes kept of each stream; 0 means 1 MiB
	Unattended bool          // set variables that make programs neither prompt, page nor colour
	ExactEnv   bool          // set no variables that have package managers be refused at once
	Port       int           // TCP port on which it may listen even without Config.Network; 0 means none
	DryRun     bool          // run it on a view of the workspace, say what it would change there, and forget that
	Log        bool          // write output that is cut or not UTF-8 to a file in the workspace
}

func (Exec) op() {}

// line returns the program and its arguments, as messages and records name the command.
func (a Exec) line() string { return strings.Join(append([]string{a.Command}, a.Args...), " ") }

// Executed is the result of [Exec]: how the program ended and what it printed. A program
// that fails has a result, not an error.
type Executed = process.Executed

// Tracked says how the changes of a program can be undone.
type Tracked = process.Tracked

// A SpawnError reports a program that could not be started.
type SpawnError = process.SpawnError

func (x *Executor) Exec(ctx context.Context, s *Session, a Exec) (done Executed, err error) {
	defer x.followed(s, a.line(), &done)()
	if a.DryRun || x.cfg.DryRun {
		return x.dryRun(ctx, s.Dir, a)
	}
	return x.command(ctx, s.Dir, process.Command{
		Name: a.Command, Shell: a.Shell, Args: a.Args, Env: a.Env, Dir: a.Dir, Timeout: a.Timeout,
		MaxOutput: a.MaxOutput, Unattended: a.Unattended, ExactEnv: a.ExactEnv, Port: a.Port, Log: a.Log,
	})
}

// command runs a command, and adds a hint where git found no repository because that lies outside. A command
// may go on after that, or print it elsewhere.
func (x *Executor) command(ctx context.Context, base string, c process.Command) (Executed, error) {
	done, err := x.process.Exec(ctx, base, c)
	lacks := []byte("fatal: not a git repository")
	if err == nil && (bytes.Contains(done.Stderr, lacks) || bytes.Contains(done.Stdout, lacks)) {
		if outside := x.git.Outside(); outside != "" {
			done.Hints = append([]string{"git needs " + ShellWord(outside) + ", which is outside the workspace: --allow " +
				ShellWord(outside) + " opens it"}, done.Hints...)
			done.Hints = done.Hints[:1] // the others are about the same folder
		}
	}
	return done, err
}

// Attach runs a program of a person as [Exec] does, on three standard streams, in the workspace.
func (x *Executor) Attach(ctx context.Context, name string, args []string,
	streams []*os.File) (Executed, error) {
	return x.command(ctx, x.Dir(), process.Command{Name: name, Args: args, Streams: streams})
}

// FenceMode selects how commands are sandboxed by the kernel. The zero value is
// FenceAuto.
type FenceMode = process.FenceMode

// The fence modes.
const (
	FenceAuto    = process.FenceAuto    // best effort; the result says what was enforced
	FenceRequire = process.FenceRequire // refuse to run commands if the kernel cannot enforce the fence
	FenceOff     = process.FenceOff
)

// A Fence says what the kernel denied to a command. The zero Fence denied nothing.
type Fence = process.Fence

// Limits are the resource limits of each process of a command.
type Limits = process.Limits

// A Program is a program for [Executor.StartProcess].
type Program = process.Program

// A Process is a program that runs until it is closed, together with everything that it
// started.
type Process = process.Process

// StartProcess starts a program in the workspace directory. It returns the errors of [Exec].
// The caller closes the Process.
func (x *Executor) StartProcess(p Program) (*Process, error) { return x.process.StartProcess(p) }

// HelperMain turns this process into a helper (see [Config].Helper) if it was started as
// one, and then does not return. A program that is its own helper calls HelperMain before
// anything else. In any other process HelperMain does nothing.
func HelperMain() {
	process.HelperMain()
	viewMain()
}

// GuardSecrets calls [Undumpable] if the environment holds a credential of this program.
func GuardSecrets() error { return process.GuardSecrets() }

// Undumpable prevents other processes of the user from reading the memory and the
// environment of this one. A process that holds a credential calls it early.
func Undumpable() error { return process.Undumpable() }

// RunPager shows a text on a terminal by a program of the user, such as less, which is not
// fenced, and waits for its end. Its error is that the program could not be run.
func RunPager(program string, args []string, text []byte, terminal *os.File) error {
	return process.RunPager(program, args, text, terminal)
}
