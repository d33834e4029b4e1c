package dialect

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"textskill/skill"
)

var stackRun = []Tool{runTool, testTool, lintTool, formatTool, typecheckTool, serverTool, installTool}

var runTool = Tool{
	Name: "run",
	Doc: "Run a shell command and wait for it; what it leaves running is ended. Long output keeps its beginning " +
		"and end; log then names a file with all of it, for read. Temporary files belong in $TMPDIR.",
	Params: []Param{
		{Name: "command", Type: "string", Required: true, Empty: true, Doc: "for /bin/sh"},
		timeoutParam(60, maxTimeout),
		{Name: "cwd", Type: "string", Path: true, Doc: "the folder to run in; the workspace by default"},
		{Name: "env", Type: "object", Content: true, Doc: "environment variables to set"},
	},
	Effect: Destroys, Open: true,
	operation: runOperation,
	failure:   typed(runFailure),
	reply:     typed(func(in *call, r skill.Executed) string { return success(runKeys(in, r)) }),
}

// maxTimeout is the longest that a tool waits, in seconds.
const maxTimeout = 600

func timeoutParam(seconds, most int) Param {
	return Param{Name: "timeout", Type: "number", Default: json.Number(strconv.Itoa(seconds)),
		Doc: fmt.Sprintf("in seconds, %d at most; 0 means %d", most, seconds)}
}

// stackOutput is how many bytes are answered of each stream.
const stackOutput = 32 << 10

// seconds returns a timeout in an argument; 0 is the usual one.
func (in values) seconds(param string, usual float64) (time.Duration, error) {
	n := usual
	if given, ok := in[param].(json.Number); ok {
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

func runOperation(in *call) (skill.Args, error) {
	timeout, err := in.seconds("timeout", 60)
	if err != nil {
		return nil, err
	}
	env, err := variables(in)
	if err != nil {
		return nil, err
	}
	command := in.str("command")
	if strings.IndexByte(command, 0) >= 0 {
		return nil, fmt.Errorf("command holds a NUL byte, which no program can be given: %q", command)
	}
	return skill.Exec{
		Command: "/bin/sh", Args: []string{"-c", command}, Dir: in.str("cwd"), Env: env,
		Timeout: timeout, MaxOutput: stackOutput, Unattended: true, Log: true,
	}, nil
}

// variables are the variables of the argument env, in their order. Numbers and truth
// values are used as they are written.
func variables(in *call) (env []string, err error) {
	given, _ := in.values["env"].(map[string]any)
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

func runKeys(in *call, e skill.Executed) keys {
	ran := keys{"returncode", e.ExitCode, "stdout", wellFormed(string(e.Stdout)), "stderr",
		wellFormed(string(e.Stderr)), "command", in.str("command")}
	return append(ran, endOf(e)...)
}

func runFailure(in *call, e skill.Executed) error {
	if !e.Failed() {
		return nil
	}
	return withKeys(endError(e), runKeys(in, e))
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
