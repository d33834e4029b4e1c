package dialect

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"textskill/parser/rawjson"
	"textskill/skill"
)

type perstackExecArgs struct {
	Command string   `arg:"command" is:"required,empty" doc:"a program, not a command line"`
	Args    []string `arg:"args" is:"required" doc:"its arguments; no shell reads them"`
	Env     any      `arg:"env" type:"object" of:"string" is:"content,required" doc:"added to the environment of this server"`
	Cwd     string   `arg:"cwd" is:"path,required,empty" doc:"the directory to run in"`
	Stdout  bool     `arg:"stdout" is:"required" doc:"return it"`
	Stderr  bool     `arg:"stderr" is:"required" doc:"return it"`
	Timeout *float64 `arg:"timeout" doc:"milliseconds, 60000 by default; 0 for none"`
}

// perstackExec checks what the original does before it starts a program, in order.
func perstackExec(in *call, a perstackExecArgs) (string, error) {
	ms := 60_000.0
	if a.Timeout != nil {
		ms = *a.Timeout
	}
	env := in.environment()
	at, err := in.look(a.Cwd, false, mustBeInside)
	if err == nil {
		err = a.refused(at, env)
	}
	switch {
	case err != nil:
		return "", execError(err.Error(), nil)
	case ms < 0 || ms > 0 && ms < 1: // over before anything could be started
		return "", execError(timedOut(ms), nil)
	case !at.exists:
		return "", execError(a.spawnMessage(cmp.Or(at.why, error(syscall.ENOENT))), nil)
	case !at.info.IsDir():
		return "", execError("spawn ENOTDIR", nil)
	}
	// A call that sets variables gets these over the process's, and no others.
	op := skill.Exec{Command: whole(a.Command), Args: each(a.Args, whole), Dir: at.path, Env: env,
		ExactEnv: len(env) > 0, MaxOutput: execOutputLimit}
	if ms < math.MaxInt32 { // longer is no limit
		op.Timeout = time.Duration(ms * float64(time.Millisecond))
	}
	e, err := do[skill.Executed](in, op)
	switch {
	case errors.As(err, new(*skill.SpawnError)):
		return "", execError(a.spawnMessage(err), nil)
	case err != nil:
		return "", execError(perstackMessage(err), nil)
	}
	stdout, stderr := a.printed(e)
	if !e.Failed() {
		output := stdout + stderr
		if isBlank(output) {
			output = "Command executed successfully, but produced no output."
		}
		return string(object("output", output)), nil
	}
	var parts []any
	if stdout != "" {
		parts = append(parts, "stdout", stdout)
	}
	if stderr != "" {
		parts = append(parts, "stderr", stderr)
	}
	command := strings.Join(append([]string{a.Command}, a.Args...), " ")
	message := "Command failed: " + command + "\n" + wellFormed(string(e.Stderr)) + hintsOf(e)
	switch {
	case e.TimedOut:
		message = timedOut(ms)
	case e.Cancelled:
		message = "Command was cancelled: " + command
	}
	return "", execError(message, parts)
}

// environment returns the variables of the argument env, in the order of JavaScript: names that are
// array indexes first, and then as they were sent.
func (in *call) environment() (env []string) {
	members, _, _ := rawjson.Members(in.raw)
	for key, value := range rawjson.EachMember(members["env"]) {
		name, _ := rawjson.String(key)
		text, _ := rawjson.String(value)
		env = append(env, name+"="+text)
	}
	index := func(variable string) int {
		name, _, _ := strings.Cut(variable, "=")
		if n, err := strconv.ParseUint(name, 10, 32); err == nil && strconv.FormatUint(n, 10) == name {
			return int(n)
		}
		return math.MaxUint32
	}
	slices.SortStableFunc(env, func(a, b string) int { return index(a) - index(b) })
	return env
}

// refused says of what no program can be given that it cannot.
func (a perstackExecArgs) refused(cwd *location, env []string) error {
	if a.Command == "" {
		return failf("The argument 'file' cannot be empty. Received ''")
	}
	for i, held := range [][]string{{a.Command}, a.Args, {cwd.abs}, env} {
		if slices.ContainsFunc(held, hasNUL) {
			return failf("%s holds a NUL byte, which no program can be given",
				[]string{"command", "args", "cwd", "env"}[i])
		}
	}
	return nil
}

// execOutputLimit is how many bytes are kept of each stream.
const execOutputLimit = 10 << 20

func timedOut(ms float64) string { return "Command timed out after " + rawjson.Number(ms) + "ms." }

// execError is a failure of exec: what went wrong, and the names and values of what
// was printed until then.
func execError(message string, printed []any) error {
	return &Failure{Message: message, body: string(object(append([]any{"error", message}, printed...)...))}
}

// spawnMessage names the program only if the original learns of the error from the
// process that it has started.
func (a perstackExecArgs) spawnMessage(err error) string {
	switch code := codeOf(err); code {
	case "ENOENT", "EACCES", "EAGAIN", "EMFILE", "ENFILE":
		return "spawn " + a.Command + " " + code
	default:
		return "spawn " + cmp.Or(code, "UNKNOWN")
	}
}

// printed returns what a program printed, as far as it was asked for.
func (a perstackExecArgs) printed(e skill.Executed) (stdout, stderr string) {
	if a.Stdout {
		stdout = wellFormed(string(e.Stdout))
	}
	if e.Dry {
		stdout += "[dry run: it would make these changes, and made none]\n" + wellFormed(e.Diff)
	}
	if a.Stderr {
		stderr = wellFormed(string(e.Stderr)) + hintsOf(e)
	}
	return stdout, stderr
}

// hintsOf returns the hints of a command as lines after what it printed.
func hintsOf(e skill.Executed) string {
	text := ""
	if n := len(e.Stderr); n > 0 && e.Stderr[n-1] != '\n' && len(e.Hints) > 0 {
		text = "\n"
	}
	for _, hint := range e.Hints {
		text += "[" + wellFormed(hint) + "]\n"
	}
	return text
}
