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

// execOperation checks what the original does before it starts a program, in order.
func execOperation(in *call) (skill.Args, error) {
	at, err := in.look("cwd", false)
	if err == nil {
		err = in.pass(at, mustBeInside, mustSpawn)
	}
	if err != nil {
		return nil, execError(err.Error(), nil)
	}
	switch ms := timeout(in); {
	case ms < 0 || ms > 0 && ms < 1: // over before anything could be started
		return nil, execError(timedOut(ms), nil)
	case !at.exists:
		return nil, execError(spawnMessage(in, cmp.Or(at.why, error(syscall.ENOENT))), nil)
	case !at.info.IsDir():
		return nil, execError("spawn ENOTDIR", nil)
	}
	a := skill.Exec{Command: whole(in.str("command")), Dir: at.path, MaxOutput: execOutputLimit}
	for _, arg := range in.texts("args") {
		a.Args = append(a.Args, whole(arg))
	}
	a.Env = in.environment()
	// A call that sets variables gets these over the process's, and no others.
	a.ExactEnv = len(a.Env) > 0
	if ms := timeout(in); ms < math.MaxInt32 { // longer is no limit
		a.Timeout = time.Duration(ms * float64(time.Millisecond))
	}
	return a, nil
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

// mustSpawn refuses what no program can be given.
func mustSpawn(in *call, cwd *location) error {
	command := in.str("command")
	if command == "" {
		return failf("The argument 'file' cannot be empty. Received ''")
	}
	held := map[string][]string{"command": {command}, "args": in.texts("args"), "cwd": {cwd.abs},
		"env": in.environment()}
	for _, name := range []string{"command", "args", "cwd", "env"} {
		if slices.ContainsFunc(held[name], hasNUL) {
			return failf("%s holds a NUL byte, which no program can be given", name)
		}
	}
	return nil
}

// defaultTimeout is in milliseconds.
const defaultTimeout = 60000

// execOutputLimit is how many bytes are kept of each stream.
const execOutputLimit = 10 << 20

func timeout(in *call) float64 {
	if ms, ok := in.float("timeout"); ok {
		return ms
	}
	return defaultTimeout
}

func timedOut(ms float64) string { return "Command timed out after " + rawjson.Number(ms) + "ms." }

// execError is a failure of exec: what went wrong, and the names and values of what
// was printed until then.
func execError(message string, printed []any) error {
	return &Failure{Message: message, body: string(object(append([]any{"error", message}, printed...)...))}
}

// execStartError says why a program did not run.
func execStartError(in *call, err error) error {
	if errors.As(err, new(*skill.SpawnError)) {
		return execError(spawnMessage(in, err), nil)
	}
	return execError(perstackMessage(err), nil)
}

// spawnMessage names the program only if the original learns of the error from the
// process that it has started.
func spawnMessage(in *call, err error) string {
	switch code := codeOf(err); code {
	case "ENOENT", "EACCES", "EAGAIN", "EMFILE", "ENFILE":
		return "spawn " + in.str("command") + " " + code
	default:
		return "spawn " + cmp.Or(code, "UNKNOWN")
	}
}

// execFailure reports a program that ran and failed.
func execFailure(in *call, e skill.Executed) error {
	if !e.Failed() {
		return nil
	}
	stdout, stderr := printed(in, e)
	var parts []any
	if stdout != "" {
		parts = append(parts, "stdout", stdout)
	}
	if stderr != "" {
		parts = append(parts, "stderr", stderr)
	}
	command := strings.Join(append([]string{in.str("command")}, in.texts("args")...), " ")
	message := "Command failed: " + command + "\n" + wellFormed(string(e.Stderr)) + hintsOf(e)
	switch {
	case e.TimedOut:
		message = timedOut(timeout(in))
	case e.Cancelled:
		message = "Command was cancelled: " + command
	}
	return execError(message, parts)
}

// printed returns what a program printed, as far as it was asked for.
func printed(in *call, e skill.Executed) (stdout, stderr string) {
	if in.flag("stdout") {
		stdout = wellFormed(string(e.Stdout))
	}
	if e.Dry {
		stdout += "[dry run: it would make these changes, and made none]\n" + wellFormed(e.Diff)
	}
	if in.flag("stderr") {
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

func execReply(in *call, e skill.Executed) string {
	stdout, stderr := printed(in, e)
	output := stdout + stderr
	if isBlank(output) {
		output = "Command executed successfully, but produced no output."
	}
	return string(object("output", output))
}
