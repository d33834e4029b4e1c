package skill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"textskill/skill/internal/process"
	"textskill/skill/internal/refusal"
	"textskill/skill/internal/trial"
	"textskill/skill/internal/words"
)

// A command is tried by a process that is started on a view of the workspace. It is told what to do on one
// pipe, and answers on another. A dry run is a trial that is dropped.

// viewName is the name by which that process knows what it is.
const viewName = "skill: view"

// Its pipes, after the report of [process.OnView].
const (
	calledFD = 4 + iota
	answerFD
)

// maxDryDiff is how many bytes of a diff are answered.
const maxDryDiff = 64 << 10

type viewCall struct {
	Config   Config
	Dir      string
	Exec     Exec
	Attached bool // to the standard streams of the process
}

type viewAnswer struct {
	Done  Executed
	Error string
	Errno syscall.Errno // of a command that could not be started; else 0
}

// dryConfig is what a dry run may use: nothing of it may reach beyond the trial.
func dryConfig(cfg Config) Config {
	socket := func(path string) bool {
		info, err := os.Stat(path)
		return err != nil || info.Mode().Type() == os.ModeSocket
	}
	dry := Config{AllowConfig: cfg.AllowConfig, Helper: cfg.Helper, Secrets: cfg.Secrets, Fence: FenceRequire,
		Limits: cfg.Limits, AllowHooks: cfg.AllowHooks}
	dry.FenceRead = slices.DeleteFunc(slices.Concat(cfg.FenceRead, cfg.FenceWrite, cfg.Allow), socket)
	dry.PassEnv = slices.DeleteFunc(slices.Clone(cfg.PassEnv), process.IsDoor)
	return dry
}

// Try runs a command on a view of the workspace, on three streams if there are any. The caller keeps or drops the
// trial. In a dry run the command reaches nothing beyond the view. Errors say why there can be no view, too.
func (x *Executor) Try(ctx context.Context, base string, a Exec, streams []*os.File) (done Executed, t *Trial, err error) {
	cfg, dry := x.cfg, a.DryRun || x.cfg.DryRun
	cannot := func(why string) error {
		if dry {
			return refusal.Under("running a program", "--dry-run: "+why)
		}
		return errors.New(why)
	}
	switch {
	case cfg.ReadOnly:
		return done, nil, refusal.Under("running a program", "--read-only")
	case a.Port != 0:
		return done, nil, cannot("nobody would reach its port")
	case cfg.Helper == "":
		return done, nil, cannot("no helper runs it on a view of the workspace")
	case dry && cfg.Fence == FenceOff:
		return done, nil, cannot("with --fence=off, what it changes elsewhere would not be undone")
	}
	cfg.DryRun, cfg.KeepHelper = false, false
	y, err := New(cfg)
	if err != nil {
		return done, nil, err
	}
	defer y.Close()
	dir, err := y.trials()
	if err != nil {
		return done, nil, err
	}
	if t, err = trial.New(dir, x.process.WithoutSecrets(a.line())); err != nil {
		return done, nil, err
	}
	if dry {
		cfg = dryConfig(cfg)
	}
	cfg.Dir, cfg.State, cfg.Journal, cfg.NoSync = x.Dir(), t.State(), Journal{Off: true}, true
	a.Log, a.DryRun = false, false
	answer, err := x.onView(ctx, t, viewCall{cfg, base, a, streams != nil}, streams)
	switch {
	case err != nil:
		err = cannot(err.Error())
	case answer.Errno != 0:
		err = &SpawnError{Command: a.Command, Err: answer.Errno}
	case answer.Error != "":
		err = errors.New(answer.Error)
	}
	if err != nil {
		return done, nil, errors.Join(err, t.Drop())
	}
	if dry {
		noFlags(&answer.Done)
	}
	return answer.Done, t, nil
}

var beyondDry = words.Pattern("^(commands |the localhost of commands |the command did not get the variable )")

// noFlags names, in an answer, the things that a dry run lacks whatever flags say.
func noFlags(done *Executed) {
	for i, hint := range done.Hints {
		what, _, flag := strings.Cut(hint, ": --")
		if flag && beyondDry().MatchString(what) {
			done.Hints[i] = what + " in a dry run"
		}
	}
	for i, host := range done.Refused {
		if !strings.HasSuffix(host, ")") {
			done.Refused[i] += " (in a dry run)"
		}
	}
}

// dryRun runs a command on a view of the workspace, says what it would change, and forgets that.
func (x *Executor) dryRun(ctx context.Context, base string, a Exec) (Executed, error) {
	done, t, err := x.Try(ctx, base, a, nil)
	if err != nil {
		return done, err
	}
	done.Dry, done.Diff = true, x.describeTrial(t)
	return done, t.Drop()
}

// onView starts the process of a trial, and returns what it answers.
func (x *Executor) onView(ctx context.Context, t *Trial, call viewCall, streams []*os.File) (answer viewAnswer, err error) {
	var pipes [2][2]*os.File
	for i := range pipes {
		if pipes[i][0], pipes[i][1], err = os.Pipe(); err != nil {
			return answer, err
		}
		defer pipes[i][0].Close()
		defer pipes[i][1].Close()
	}
	in, out := pipes[0], pipes[1]
	defer context.AfterFunc(ctx, func() { in[1].Close() })() // its end cancels the command
	go json.NewEncoder(in[1]).Encode(call)
	read := make(chan error, 1)
	go func() { read <- json.NewDecoder(out[0]).Decode(&answer) }()
	if streams == nil {
		streams = make([]*os.File, 3)
	}
	err = t.Run(x.cfg.Helper, x.Dir(), []string{viewName}, append(slices.Clone(streams), in[0], out[1]))
	out[1].Close()
	return answer, errors.Join(err, <-read)
}

// viewMain is the main function of the process of a trial. It ends with the exit code of the command.
func viewMain() {
	if len(os.Args) == 0 || os.Args[0] != viewName {
		return
	}
	called, answers := os.NewFile(calledFD, "called"), os.NewFile(answerFD, "answers")
	syscall.CloseOnExec(calledFD)
	syscall.CloseOnExec(answerFD)
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // the caller ends it
	var call viewCall
	var answer viewAnswer
	err := errors.Join(GuardSecrets(), json.NewDecoder(called).Decode(&call))
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, called)
		cancel()
	}()
	if err == nil {
		answer.Done, err = call.run(ctx)
	}
	if err != nil {
		answer.Error = err.Error()
		if spawn, ok := errors.AsType[*SpawnError](err); ok && !spawn.Fenced && spawn.PassedOver == "" {
			answer.Errno, _ = errors.AsType[syscall.Errno](spawn.Err)
		}
	}
	if json.NewEncoder(answers).Encode(answer) != nil {
		os.Exit(1)
	}
	os.Exit(answer.Done.Status())
}

func (c viewCall) run(ctx context.Context) (Executed, error) {
	x, err := New(c.Config)
	if err != nil {
		return Executed{}, err
	}
	defer x.Close()
	if c.Attached {
		return x.Attach(ctx, c.Exec.Command, c.Exec.Args, []*os.File{os.Stdin, os.Stdout, os.Stderr})
	}
	return x.Exec(ctx, &Session{Dir: c.Dir}, c.Exec)
}

// describeTrial returns a line for each path that a trial changes, and its diff.
func (x *Executor) describeTrial(t *Trial) string {
	var text strings.Builder
	for i, c := range t.Changes {
		d := x.DiffTrial(t, c)
		text.WriteString(d.String())
		if text.Len()+len(d.Diff) <= maxDryDiff {
			text.WriteString(d.Diff)
		}
		if left := len(t.Changes) - i - 1; text.Len() > maxDryDiff && left > 0 {
			text.WriteString(fmt.Sprintf("and %d more\n", left))
			break
		}
	}
	if text.Len() == 0 {
		return "the command would change nothing in the workspace\n"
	}
	return text.String()
}
