package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"textskill/skill/internal/refusal"
	"textskill/skill/internal/workspace"
)

// A Command is a program to run without a shell, with empty standard input.
type Command struct {
	Name       string        // a name to search for in PATH, or a path, absolute or relative to Dir
	Path       string        // the program's file, if it is found already; only then Name is not searched for
	Shell      bool          // Name is /bin/sh, replaced by bash where this machine has it
	Args       []string      // without the name
	Env        []string      // NAME=value entries added to the environment; the last one of a name wins
	Dir        string        // working directory, inside the workspace; "" means the caller's base
	Timeout    time.Duration // 0 means no limit; a negative timeout has already expired
	MaxOutput  int64         // bytes kept of each stream; 0 means 1 MiB
	Unattended bool          // set variables that make programs neither prompt, page nor colour
	ExactEnv   bool          // set no variables that have package managers be refused at once
	// TCP port of this machine at which it is reached even without Config.Network; 0 means none
	Port    int
	Log     bool       // write output that is cut or not UTF-8 to a file in the workspace
	Streams []*os.File // standard input, output and error of a person's command; nil keeps the output
}

// Executed is the result of a program: how it ended and what it printed. A program
// that fails has a result, not an error.
type Executed struct {
	Tracked
	Command string

	// The output, in any encoding. Of a person's command it holds only what went through this process. If it
	// exceeds MaxOutput bytes, its start and its end
	// are kept, joined by a line that says how many bytes are left out.
	Stdout, Stderr       []byte
	StdoutCut, StderrCut int64 // bytes left out

	// absolute path of a file with both streams interleaved; "" if Stdout and Stderr are complete
	Log    string
	LogCut int64 // bytes missing from that file because it reached its maximum size

	ExitCode  int    // -N if signal N ended the program
	Signal    string // such as "SIGKILL"; "" if no signal ended the program
	TimedOut  bool   // stopped because its timeout expired
	Cancelled bool   // stopped because the context ended

	Left []string // command lines of processes that still ran when the program had ended, and were ended
	// hosts that it tried to reach and may not: HOST:PORT, or HOST if it only looked that up, then
	// the reason in parentheses if no person can allow it
	Refused []string

	// at most three lines, each with a thing that the fence took from the command, which seems to have missed
	// it, and what gives it
	Hints []string

	Dry  bool   // it ran on a view of the workspace, and changed nothing
	Diff string // then what it would change, a line for each path and its diff

	Shared string // why its network is not its own although the fence is on, and what a person can do

	Full []string // directories in memory that were full at its end

	Fence      Fence // the restrictions that the kernel enforced
	Supervised bool  // ran under a helper, which also ended every process that the program started
	Survivors  int   // processes that could not be ended: another user's, or stuck in the kernel
	// the helper was killed: without Fence.Processes, what is outside the program's group may still run
	Lost    bool
	Elapsed time.Duration
}

// Failed reports whether the program did anything but exit with code 0 in time.
func (e Executed) Failed() bool { return e.ExitCode != 0 || e.TimedOut || e.Cancelled || e.Lost }

// Status returns the exit status that a shell gives the program.
func (e Executed) Status() int {
	switch {
	case e.TimedOut || e.Cancelled || e.Lost:
		return cmp.Or(max(e.ExitCode, 0), 1)
	case e.Signal != "":
		return 128 - min(e.ExitCode, 0)
	}
	return e.ExitCode
}

// Allowable returns what of e.Refused a person can allow.
func (e Executed) Allowable() []string {
	return slices.DeleteFunc(slices.Clone(e.Refused),
		func(host string) bool { return strings.HasSuffix(host, ")") })
}

// Message says in one sentence how the program ended.
func (e Executed) Message() string {
	switch {
	case e.TimedOut:
		return fmt.Sprintf("%s was stopped: its time ran out after %v", e.Command,
			e.Elapsed.Round(time.Millisecond))
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
	Command string // as the caller wrote it
	Err     error  // a syscall.Errno: ENOENT, EACCES (also for a directory), ENOEXEC, E2BIG, …
	Fenced  bool   // the program is executable, but the fence does not let commands read it

	PassedOver string // the programs of that name that were not run, because a command may have written them
}

func (e *SpawnError) Error() string {
	reason := e.Err.Error()
	switch {
	case e.Fenced:
		reason = "it is outside the directories that commands may read; allow its directory with --fence-read"
	case e.PassedOver != "":
		reason = "PATH has only " + e.PassedOver + ", which commands may write"
	case e.Err == syscall.ESTALE:
		reason = "the directory in which it runs has been moved or removed; name one that exists"
	case e.Err == syscall.EBUSY:
		reason = "another program holds a lock on a .git folder; end it, or allow changes of .git with --allow-config"
	case e.Err == syscall.ENOSPC:
		reason = "no space left on the disk for what protects .git; delete files first"
	case e.Err == syscall.ENOTTY:
		reason = "this system makes no terminal for it; give it files or pipes"
	case e.Err == syscall.EACCES:
		reason = "it is not an executable file"
	case e.Err == syscall.ENOENT && !strings.Contains(e.Command, "/"):
		reason = "PATH has no program of that name"
	}
	return fmt.Sprintf("cannot run %q: %s", e.Command, reason)
}

// Unwrap returns the system's error.
func (e *SpawnError) Unwrap() error { return e.Err }

// IsSpawnError reports whether err is, or wraps, a *SpawnError.
func IsSpawnError(err error) bool {
	_, ok := errors.AsType[*SpawnError](err)
	return ok
}

// CheckAllowed returns an error if the workspace is read-only or this is a dry run.
func (x *Runner) CheckAllowed(what string) error {
	switch {
	case x.cfg.ReadOnly:
		return refusal.Under(what, "--read-only")
	case x.cfg.DryRun:
		return refusal.Under(what, "--dry-run")
	}
	return nil
}

// checkCommands returns an error if commands may not be run.
func (x *Runner) checkCommands() error {
	if err := x.CheckAllowed("running a program"); err != nil {
		return err
	}
	if x.cfg.Helper == "" && !x.cfg.Unfenced {
		return &refusal.RefusedError{Reason: "running a program is refused, because no helper fences and supervises it: set Helper of skill.Config to a program that calls skill.HelperMain first (on Linux /proc/self/exe, if this one does), or Unfenced to do without"}
	}
	return nil
}

// CheckNetwork returns the error of [Runner.CheckAllowed], or an error if the network
// is not allowed, nor any host.
func (x *Runner) CheckNetwork(what string) error {
	if err := x.CheckAllowed(what); err != nil {
		return err
	}
	if !x.cfg.Network && x.policy.Empty() {
		return refusal.Off(what, "--network")
	}
	return nil
}

// A Spec is a command with its program found and its environment complete.
type Spec struct {
	Path   string   // the program's file, absolute or relative to Dir
	Args   []string // the command's name first
	Env    []string
	Dir    string     // working directory: [Dir].Handle
	Stdin  string     // what it reads on its standard input, at most 4 KiB; for [Runner.Run] only
	Files  []*os.File // descriptors 3 and up
	Needs  Needs
	fence  fence
	reach  reach
	extras extras

	terminal *terminal // of its streams; nil for none
	// of the user, which the log of a server does not show
	secrets []string
	exact   bool // [Command].ExactEnv
	server  bool // outlives this process: see [superviseServer]
	files   int  // in the helper: the length of Files
}

// extras are the files that a Spec has besides Spec.Files.
type extras struct {
	share *os.File // a socket at which the helper of a server meets other programs; may be nil
	// sockets bound to a port of this machine, whose connections lead to that port in the network
	relay  []*os.File
	window *os.File // of the record of its changes, which the helper holds open; may be nil
	count  int      // in the helper: of the files that came with these
}

func (e extras) close() {
	for _, f := range append(e.relay, e.share) {
		if f != nil {
			f.Close()
		}
	}
}

// Exec runs a command inside the fence, waits for it, ends every process that it
// started, and records what it changed in the workspace. A relative a.Dir starts at
// base.
func (x *Runner) Exec(ctx context.Context, base string, a Command) (Executed, error) {
	if err := cmp.Or(x.checkCommands(), a.Check()); err != nil {
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
	path, name := a.Path, a.Name
	if a.Shell {
		path = shell()
		name = path
	}
	if path == "" {
		if path, err = lookProgram(a.Name, dir.Path, env); err != nil {
			return Executed{}, err
		}
	}
	spec := Spec{Path: path, Args: append([]string{name}, a.Args...), Env: env, Dir: dir.Handle, fence: fence,
		reach: x.reach(), exact: a.ExactEnv}
	if err := spec.reserve(a.Port); err != nil {
		return Executed{}, err
	}
	defer spec.extras.close()
	var done Executed
	var serves <-chan struct{}
	if a.Streams != nil {
		waiting, stop := context.WithCancel(ctx)
		defer stop()
		keys := func() bool { return readsKeys(int(a.Streams[0].Fd())) }
		if x.cfg.Fence != FenceOff && x.cfg.Helper != "" {
			spec.terminal = openTerminalFor(a.Streams)
		}
		if spec.terminal != nil {
			defer spec.terminal.close()
			keys = spec.terminal.readsKeys
		}
		serves = serving(waiting, keys)
	}
	tracked, err := x.track(ctx, x.lineOf(a), serves, func(x *Runner) (err error) {
		x.session.refusedNames(nil) // the names of earlier commands
		spec.extras.window = x.tracked.window
		spec.fence.guardGit(x, x.tracked.git)
		done, err = x.run(ctx, a, spec)
		if len(spec.fence.rules) > 0 && err == nil {
			done.Hints = x.hints(a, dir.Path, spec.fence.rules, &done)
		}
		done.Refused = x.session.refusedNames(done.Refused)
		return err
	})
	if err != nil {
		return Executed{}, fence.explain(err, path, dir.Path)
	}
	done.Tracked = tracked
	return done, nil
}

// Check refuses an empty name, a NUL byte and a malformed variable.
func (a Command) Check() error {
	if a.Name == "" {
		return &refusal.ArgError{Arg: "command", Reason: "is empty; it names the program to run",
			Code: "ERR_INVALID_ARG_VALUE"}
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
			return &refusal.ArgError{Arg: "env", Reason: fmt.Sprintf("holds %q; a variable is NAME=value",
				set), Code: "ERR_INVALID_ARG_VALUE"}
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
	return &refusal.ArgError{Arg: arg,
		Reason: fmt.Sprintf("holds a NUL byte, which no program can be given: %q", value),
		Code:   "ERR_INVALID_ARG_VALUE"}
}

// Run starts spec, a program that this one needs, inside the fence that spec.Needs asks
// for, and waits for its end. It gets no variable that loads other code. Its changes are
// not recorded. Run uses only the name,
// the timeout and the output settings of a.
func (x *Runner) Run(ctx context.Context, a Command, spec Spec) (Executed, error) {
	if err := x.ready(&spec); err != nil {
		return Executed{}, err
	}
	return x.run(ctx, a, spec)
}

// ready completes the Spec of a program that this one needs.
func (x *Runner) ready(spec *Spec) (err error) {
	spec.fence, err = x.fenceForNeeds(spec.Needs)
	spec.Env, spec.reach = withoutLoaders(spec.Env), reach{All: true}
	return err
}

func (x *Runner) run(ctx context.Context, a Command, spec Spec) (Executed, error) {
	if a.Streams != nil {
		return x.attached(ctx, a, spec)
	}
	var log *outputLog
	if a.Log {
		log = &outputLog{x: x, limit: int(2 * cmp.Or(a.MaxOutput, defaultOutput))}
	}
	stdin, err := inputFile(spec.Stdin)
	if err != nil {
		return Executed{}, err
	}
	defer stdin.Close()
	stdout, err := newCapture(a.MaxOutput, log)
	if err != nil {
		return Executed{}, err
	}
	stderr, err := newCapture(a.MaxOutput, log)
	if err != nil {
		stdout.w.Close()
		stdout.finish(time.Now())
		return Executed{}, err
	}
	begin := time.Now()
	p, err := x.startCommand(spec, stdin, stdout.w, stderr.w)
	stdout.w.Close()
	stderr.w.Close()
	end := Ending{Err: err}
	if err == nil {
		end = follow(ctx, p, begin, a.Timeout, a.Name)
	}
	done := end.Executed
	deadline := time.Now().Add(drainTimeout)
	done.Stdout, done.StdoutCut = stdout.finish(deadline)
	done.Stderr, done.StderrCut = stderr.finish(deadline)
	if log != nil {
		whole := done.StdoutCut+done.StderrCut == 0 && utf8.Valid(done.Stdout) && utf8.Valid(done.Stderr)
		done.Log, done.LogCut = log.finish(!whole)
	}
	if end.Err != nil {
		return Executed{}, end.Err
	}
	x.finish(&done, spec, end.held, begin)
	return done, nil
}

// finish adds to done what is known at the end of the program of spec.
func (x *Runner) finish(done *Executed, spec Spec, held uint32, begin time.Time) {
	done.Fence, done.Elapsed = x.fenceOfRun(spec, held), time.Since(begin)
	done.Shared = x.whyShared(done.Fence)
}

// inputFile returns a file from which text is read, which the caller closes.
func inputFile(text string) (*os.File, error) {
	if text == "" {
		return os.Open(os.DevNull)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	_, err = w.WriteString(text) // a pipe holds more than 4 KiB
	return r, err
}

// Running is a command that was started.
type Running interface {
	Done() <-chan Ending // receives one value, when the command and all that it started have ended
	Stop()               // sends SIGTERM, after a grace period SIGKILL; does not wait
	Kill()               // for a program that Stop did not end
}

// Start starts spec as [Runner.Run] does, with its output going to stdout and stderr.
func (x *Runner) Start(spec Spec, stdout, stderr *os.File) (Running, error) {
	if err := x.ready(&spec); err != nil {
		return nil, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	return x.startCommand(spec, null, stdout, stderr)
}

// End stops a program and all that it started, and waits for their end.
func End(run Running) {
	run.Stop()
	if _, ended := within(run.Done(), stopTimeout); !ended {
		run.Kill()
	}
}

// Ending is how a command ended.
type Ending struct {
	Executed        // without its output and fence
	held     uint32 // what the fence enforced: Landlock's version and [callsFiltered]
	Err      error  // the command could not be started; no other field is set
}

// Waiting times of a command that is being stopped.
const (
	stopGrace   = 500 * time.Millisecond // between SIGTERM and SIGKILL
	killTimeout = 3 * time.Second        // for the last process to die of SIGKILL
	stopTimeout = stopGrace + killTimeout + 2*time.Second
)

// follow waits for the end of p. When limit has passed since begin, or ctx ends, it
// stops p and sets TimedOut or Cancelled, unless p has ended before that was seen.
func follow(ctx context.Context, p Running, begin time.Time, limit time.Duration,
	command string) (end Ending) {
	timedOut, cancelled := false, false
	defer func() { end.Command, end.TimedOut, end.Cancelled = command, timedOut, cancelled }()
	var timeout <-chan time.Time
	if limit != 0 {
		t := time.NewTimer(time.Until(begin.Add(limit)))
		defer t.Stop()
		timeout = t.C
	}
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for !timedOut && !cancelled {
		select {
		case e := <-p.Done():
			timedOut = limit < 0 // its time was over before it began
			return e
		case <-second.C:
			workspace.Report(ctx, int64(time.Since(begin).Seconds()), 0, "running "+command)
		case <-timeout:
			timedOut = true
		case <-ctx.Done():
			cancelled = true
		}
	}
	if e, ended := within(p.Done(), 0); ended {
		timedOut, cancelled = limit < 0, false
		return e
	}
	p.Stop()
	for _, step := range []func(){p.Kill, func() {}} {
		if e, ended := within(p.Done(), stopTimeout); ended {
			return e
		}
		step()
	}
	return Ending{Executed: Executed{ExitCode: -9, Signal: "SIGKILL", Survivors: 1, Lost: true}}
}

// lineOf returns a command as the history names it: the script of a shell, else the program and its
// arguments, without credentials.
func (x *Runner) lineOf(a Command) string {
	const most = 300 // bytes
	line := strings.Join(append([]string{a.Name}, a.Args...), " ")
	if script, ok := scriptOf(a); ok {
		line = script
	}
	if line = x.WithoutSecrets(line); len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "…"
	}
	return line
}

// WithoutSecrets returns a line that is recorded without the credentials in the environment, and without
// the secrets of the run in whose name the command is run.
func (x *Runner) WithoutSecrets(line string) string {
	for _, value := range x.secretValues() {
		line = strings.ReplaceAll(line, value, redacted)
	}
	if hide := x.ws.Author().Hide; hide != nil {
		line = hide(line)
	}
	return line
}

// shells are the programs whose option c takes a script.
var shells = []string{"sh", "ash", "bash", "dash", "fish", "ksh", "mksh", "rbash", "zsh"}

// scriptOf returns the script that a shell gets with the option c, which may be among others: -ec.
func scriptOf(a Command) (script string, ok bool) {
	if !slices.Contains(shells, filepath.Base(a.Name)) {
		return "", false
	}
	found := false
	for i := 0; i < len(a.Args); i++ {
		arg := a.Args[i]
		switch {
		case arg == "-" || arg == "--" || arg == "" || arg[0] != '-' && arg[0] != '+':
			if found && (arg == "-" || arg == "--") && i+1 < len(a.Args) {
				arg = a.Args[i+1]
			}
			return arg, found
		case strings.HasPrefix(arg, "--"):
		default:
			found = found || arg[0] == '-' && strings.Contains(arg, "c")
			if last := arg[len(arg)-1]; last == 'o' || last == 'O' { // it takes a name
				i++
			}
		}
	}
	return "", false
}
