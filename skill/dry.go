package skill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"textskill/skill/internal/process"
	"textskill/skill/internal/refusal"
	"textskill/skill/internal/trial"
)

// A dry run of a command runs it in a trial that is dropped. The process that does so is started on the
// view of the workspace, is told what to do on its standard input, and answers on its standard output.

// dryName is the name by which that process knows what it is.
const dryName = "skill: dry run"

// maxDryDiff is how many bytes of a diff are answered.
const maxDryDiff = 64 << 10

type dryCall struct {
	Config Config
	Dir    string
	Exec   Exec
}

type dryAnswer struct {
	Done  Executed
	Error string
	Errno syscall.Errno // of a command that could not be started; else 0
}

// dryConfig is what a dry run may use: nothing of it may reach beyond the trial.
func dryConfig(cfg Config, state string) Config {
	socket := func(path string) bool {
		info, err := os.Stat(path)
		return err != nil || info.Mode().Type() == os.ModeSocket
	}
	dry := Config{Dir: cfg.Dir, AllowConfig: cfg.AllowConfig, NoSync: true, Journal: Journal{Off: true}, State: state,
		Helper: cfg.Helper, Secrets: cfg.Secrets, Fence: FenceRequire, Limits: cfg.Limits, AllowHooks: cfg.AllowHooks}
	dry.FenceRead = slices.DeleteFunc(slices.Concat(cfg.FenceRead, cfg.FenceWrite, cfg.Allow), socket)
	dry.PassEnv = slices.DeleteFunc(slices.Clone(cfg.PassEnv), process.IsDoor)
	return dry
}

// dryRun runs a command on a view of the workspace, says what it would change, and forgets that.
func (x *Executor) dryRun(ctx context.Context, base string, a Exec) (done Executed, err error) {
	cannot := func(why string) error { return refusal.Under("running a program", "--dry-run: "+why) }
	switch {
	case x.cfg.ReadOnly:
		return done, refusal.Under("running a program", "--read-only")
	case a.Port != 0:
		return done, cannot("nobody would reach its port")
	case x.cfg.Helper == "":
		return done, cannot("no helper runs it on a view of the workspace")
	case x.cfg.Fence == FenceOff:
		return done, cannot("with --fence=off, what it changes elsewhere would not be undone")
	}
	cfg := x.cfg
	cfg.DryRun, cfg.KeepHelper = false, false
	y, err := New(cfg)
	if err != nil {
		return done, err
	}
	defer y.Close()
	dir, err := y.trials()
	if err != nil {
		return done, err
	}
	t, err := trial.New(dir, x.process.WithoutSecrets(ctx, a.Command))
	if err != nil {
		return done, err
	}
	defer t.Drop()
	a.Log, a.DryRun = false, false
	cfg.Dir = x.Dir()
	answer, err := dryAnswerOf(ctx, x, t, dryCall{dryConfig(cfg, t.State()), base, a})
	switch {
	case err != nil:
		return done, cannot(err.Error())
	case answer.Errno != 0:
		return done, &SpawnError{Command: a.Command, Err: answer.Errno}
	case answer.Error != "":
		return done, errors.New(answer.Error)
	}
	done = answer.Done
	done.Dry, done.Diff = true, x.describeTrial(t)
	return done, nil
}

// dryAnswerOf starts the process of a dry run, and returns what it answers.
func dryAnswerOf(ctx context.Context, x *Executor, t *Trial, call dryCall) (answer dryAnswer, err error) {
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
	err = t.Run(x.cfg.Helper, x.Dir(), []string{dryName}, []*os.File{in[0], out[1], nil})
	out[1].Close()
	return answer, errors.Join(err, <-read)
}

// dryMain is the main function of the process of a dry run.
func dryMain() {
	if len(os.Args) == 0 || os.Args[0] != dryName {
		return
	}
	var call dryCall
	var answer dryAnswer
	err := errors.Join(GuardSecrets(), json.NewDecoder(os.Stdin).Decode(&call))
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if err == nil {
		var x *Executor
		if x, err = New(call.Config); err == nil {
			answer.Done, err = x.exec(ctx, call.Dir, call.Exec)
			x.Close()
		}
	}
	if err != nil {
		answer.Error = err.Error()
		if spawn, ok := errors.AsType[*SpawnError](err); ok && !spawn.Fenced && spawn.PassedOver == "" {
			answer.Errno, _ = errors.AsType[syscall.Errno](spawn.Err)
		}
	}
	if json.NewEncoder(os.Stdout).Encode(answer) != nil {
		os.Exit(1)
	}
	os.Exit(0)
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
