package dialect

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"textskill/skill"
)

var stackRun = []Tool{
	row(Tool{Name: "run", Effect: Destroys, Open: true,
		Doc: "Run a shell command and wait for it; what it leaves running is ended. Long output keeps its " +
			"beginning and end; log then names a file with all of it, for read. Temporary files belong in $TMPDIR."},
		func(in *call, a struct {
			Command string      `arg:"command" is:"required,empty" doc:"for /bin/sh"`
			Timeout json.Number `arg:"timeout" default:"60" doc:"in seconds, 600 at most; 0 means 60"`
			Cwd     string      `arg:"cwd" is:"path" doc:"the folder to run in; the workspace by default"`
			Env     any         `arg:"env" type:"object" is:"content" doc:"environment variables to set"`
		}) (string, error) {
			op, err := shellExec(a.Command, a.Cwd, a.Timeout, a.Env)
			if err != nil {
				return "", err
			}
			e, err := do[skill.Executed](in, op)
			if err != nil {
				return "", err
			}
			ran := append(keys{"returncode", e.ExitCode, "stdout", wellFormed(string(e.Stdout)), "stderr",
				wellFormed(string(e.Stderr)), "command", a.Command}, endOf(e)...)
			if e.Failed() {
				return "", withKeys(endError(e), ran)
			}
			return success(ran), nil
		}),
	testTool, lintTool, formatTool, typecheckTool, serverTool, installTool,
}

// maxTimeout is the longest that a tool waits, in seconds.
const maxTimeout = 600

// stackOutput is how many bytes are answered of each stream.
const stackOutput = 32 << 10

// seconds returns a timeout in an argument; 0 is the usual one.
func seconds(param string, given json.Number, usual float64) (time.Duration, error) {
	n := usual
	if given != "" {
		var err error
		if n, err = given.Float64(); err != nil || n < 0 {
			return 0, fmt.Errorf("%s must be a number of seconds, not %s", param, given)
		}
	}
	if n == 0 {
		n = usual
	}
	return time.Duration(min(n, maxTimeout) * float64(time.Second)), nil
}

// shellExec is the operation of a command for /bin/sh. env may be an object with variables.
func shellExec(command, cwd string, timeout json.Number, env any) (skill.Exec, error) {
	a := skill.Exec{Command: "/bin/sh", Args: []string{"-c", command}, Dir: cwd, MaxOutput: stackOutput,
		Unattended: true, Log: true}
	var err error
	if a.Timeout, err = seconds("timeout", timeout, 60); err != nil {
		return a, err
	}
	if a.Env, err = variables(env); err != nil {
		return a, err
	}
	if strings.IndexByte(command, 0) >= 0 {
		err = fmt.Errorf("command holds a NUL byte, which no program can be given: %q", command)
	}
	return a, err
}

// variables are the variables in an object, sorted. Numbers and truth values are used as they are
// written.
func variables(object any) (env []string, err error) {
	given, _ := object.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if strings.Contains(name, "=") {
			return nil, fmt.Errorf("env.%s is an illegal environment variable name: it holds =", name)
		}
		switch v := given[name].(type) {
		case string, json.Number, bool:
			env = append(env, fmt.Sprintf("%s=%v", name, v))
		default:
			return nil, fmt.Errorf("env.%s must be a text", name)
		}
	}
	return env, nil
}

// undoable says how to undo what a program changed.
func undoable(c skill.Tracked) keys {
	return keys{"undo?", c.Undo, "not_undoable?", wellFormedAll(c.NotUndoable)}
}

// endOf says how a program ended, and where the rest of its output is.
func endOf(e skill.Executed) keys {
	end := keys{"timed_out", e.TimedOut, "duration_ms", e.Elapsed.Milliseconds(), "truncated",
		e.StdoutCut+e.StderrCut > 0,
		"signal?", e.Signal, "log?", e.Log, "log_cut?", e.LogCut, "refused?", wellFormedAll(e.Refused),
		"hints?", wellFormedAll(e.Hints), "fence", e.Fence.String()}
	if e.Dry {
		end = append(end, "dry_run", true, "diff", wellFormed(e.Diff))
	}
	return append(end, undoable(e.Tracked)...)
}

// endError says why a program that ran has failed.
func endError(e skill.Executed) error {
	switch {
	case e.TimedOut:
		return failf("Command timed out")
	case e.Cancelled:
		return failf("Command was cancelled")
	case e.Lost:
		return failf("Command was ended with the process that watched it")
	case e.Signal != "":
		return failf("Command was ended by %s", e.Signal)
	}
	return failf("Command exited with %d", e.ExitCode)
}
