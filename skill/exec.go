package skill

import (
	"context"
	"time"

	"textskill/skill/internal/process"
)

// Exec runs a program without a shell and waits for it. Its standard input is
// empty. When it is done, or stopped, nothing that it started stays behind.
type Exec struct {
	Command    string        // a name to be found in PATH, or a path, from Dir where it is relative
	Args       []string      // without the command
	Env        []string      // NAME=value, set in this order over the process environment without its credentials
	Dir        string        // the folder to run in, inside the workspace
	Timeout    time.Duration // 0 means none; a negative one has run out at the start
	MaxOutput  int64         // bytes kept of each stream; 0 means 1 MiB
	Unattended bool          // the environment says that nobody watches: no prompts, pagers and colours
	Port       int           // where it may listen without Config.Network too; 0 is none
	Log        bool          // write what is not kept, or is no text, to a file that can be read
}

func (Exec) op() {}

// Executed is how a program ended and what it printed until then. A program that
// fails is a result like any other.
type Executed = process.Executed

// Tracked says how far what a program changed can be undone.
type Tracked = process.Tracked

// A SpawnError reports a program that could not be started.
type SpawnError = process.SpawnError

func (x *Executor) exec(ctx context.Context, s *Session, a Exec) (Result, error) {
	return result(x.process.Exec(ctx, s.Dir, process.Command{
		Name: a.Command, Args: a.Args, Env: a.Env, Dir: a.Dir, Timeout: a.Timeout,
		MaxOutput: a.MaxOutput, Unattended: a.Unattended, Port: a.Port, Log: a.Log,
	}))
}

// FenceMode says what is done about the fence: what the kernel denies commands,
// whatever they try. The zero value is FenceAuto.
type FenceMode = process.FenceMode

// The modes of the fence.
const (
	FenceAuto    = process.FenceAuto    // as much as the system can do; the result says how much
	FenceRequire = process.FenceRequire // no command runs where the system cannot do it
	FenceOff     = process.FenceOff
)

// Fence is what a command was kept to. The zero Fence is none at all.
type Fence = process.Fence

// Limits bound what each process of a command may take.
type Limits = process.Limits

// A Program is one to be started and talked to over its standard input and output.
type Program = process.Program

// A Process is a program that runs until it is closed, with everything it starts.
type Process = process.Process

// StartProcess starts a program in the workspace's folder. Errors are those of an
// [Exec]. The caller closes the Process.
func (x *Executor) StartProcess(p Program) (*Process, error) { return x.process.StartProcess(p) }

// HelperMain makes this process the helper that [Config].Helper names, if it was
// started as one, and then does not return. A program that is its own helper
// calls it before anything else; where it is no helper that costs nothing.
func HelperMain() { process.HelperMain() }

// GuardSecrets keeps other processes from reading this one's environment and
// memory, if the environment holds a credential of this program.
func GuardSecrets() error { return process.GuardSecrets() }

// Undumpable keeps processes of the same user from reading this one's memory and
// environment. A process that holds a credential calls it early.
func Undumpable() error { return process.Undumpable() }
