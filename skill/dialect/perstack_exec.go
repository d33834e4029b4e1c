package dialect

import (
	"cmp"
	"errors"
	"math"
	"strconv"
	"strings"
	"syscall"
	"time"

	rawjson "textskill/parser/json"
	"textskill/skill"
)

// execReady checks what the original does before it starts a program, in order.
func execReady(x *skill.Executor, s *skill.Session, in values) error {
	f, err := look(x, s, in, "cwd", false)
	if err == nil {
		err = f.pass(x, s, inside)
	}
	if err != nil {
		return execError(err.Error(), nil)
	}
	in[seenKey("cwd")] = f
	if err := spawnable(in, f); err != nil {
		return execError(err.Error(), nil)
	}
	switch ms := timeout(in); {
	case ms < 0 || ms > 0 && ms < 1: // over before anything could be started
		return execError(timedOut(ms), nil)
	case !f.exists:
		return execError(spawned(in, cmp.Or(f.why, error(syscall.ENOENT))), nil)
	case !f.info.IsDir():
		return execError("spawn ENOTDIR", nil)
	}
	return nil
}

// spawnable refuses what no program can be given.
func spawnable(in values, cwd *found) error {
	command := in.str("command")
	if command == "" {
		return own("The argument 'file' cannot be empty. Received ''")
	}
	if err := noNULIn("argument 'file'", command); err != nil {
		return err
	}
	args, _ := in["args"].([]string)
	for i, arg := range args {
		if err := noNULIn("argument 'args["+strconv.Itoa(i)+"]'", arg); err != nil {
			return err
		}
	}
	if err := cwd.noNULAs("property 'options.cwd'"); err != nil {
		return err
	}
	env, _ := in["env"].([]member)
	for _, m := range env {
		what := "property 'options.env['" + m.name + "']'"
		if err := noNULIn(what, m.name); err != nil {
			return err
		}
		if err := noNULIn(what, m.value); err != nil {
			return err
		}
	}
	return nil
}

// defaultTimeout is in milliseconds.
const defaultTimeout = 60000

// execOutputLimit is how many bytes are kept of each stream.
const execOutputLimit = 10 << 20

func timeout(in values) float64 {
	if ms, ok := in["timeout"].(float64); ok {
		return ms
	}
	return defaultTimeout
}

func timedOut(ms float64) string { return "Command timed out after " + rawjson.Number(ms) + "ms." }

func execArgs(in values) (skill.Args, error) {
	a := skill.Exec{Command: whole(in.str("command")), Dir: seenAt(in, "cwd").path, MaxOutput: execOutputLimit}
	args, _ := in["args"].([]string)
	for _, arg := range args {
		a.Args = append(a.Args, whole(arg))
	}
	env, _ := in["env"].([]member)
	for _, m := range env {
		a.Env = append(a.Env, m.name+"="+whole(m.value))
	}
	if ms := timeout(in); ms < math.MaxInt32 { // longer is for ever
		a.Timeout = time.Duration(ms * float64(time.Millisecond))
	}
	return a, nil
}

// execError is a failure of exec: what went wrong, and what was printed until then.
func execError(message string, printed []any) error {
	return bodyError(object(append([]any{"error", message}, printed...)...))
}

func noNULIn(what, s string) error {
	if strings.IndexByte(s, 0) >= 0 {
		return own("The %s must be a string without null bytes. Received %s", what, inspect(s))
	}
	return nil
}

// notStarted words why a program did not run.
func notStarted(_ *Tool, in values, err error) error {
	if errors.As(err, new(*skill.SpawnError)) {
		return execError(spawned(in, err), nil)
	}
	return execError(perstackMessage(err), nil)
}

// spawned names the program where the original learns of the error from the process
// that it has begun.
func spawned(in values, err error) string {
	switch code := codeOf(err); code {
	case "ENOENT", "EACCES", "EAGAIN", "EMFILE", "ENFILE":
		return "spawn " + in.str("command") + " " + code
	default:
		return "spawn " + code
	}
}

// execFailed tells of a program that ran and failed.
func execFailed(in values, r skill.Result) error {
	e := r.(skill.Executed)
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
	command := strings.Join(append([]string{in.str("command")}, in["args"].([]string)...), " ")
	message := "Command failed: " + command + "\n" + wellFormed(string(e.Stderr))
	switch {
	case e.TimedOut:
		message = timedOut(timeout(in))
	case e.Cancelled:
		message = "Command was cancelled: " + command
	}
	return execError(message, parts)
}

// printed is what a program printed, as far as it was asked for.
func printed(in values, e skill.Executed) (stdout, stderr string) {
	if on, _ := in["stdout"].(bool); on {
		stdout = wellFormed(string(e.Stdout))
	}
	if on, _ := in["stderr"].(bool); on {
		stderr = wellFormed(string(e.Stderr))
	}
	return stdout, stderr
}

func execOutput(_ *Tool, in values, r skill.Result) string {
	stdout, stderr := printed(in, r.(skill.Executed))
	output := stdout + stderr
	if trims(output) {
		output = "Command executed successfully, but produced no output."
	}
	return string(object("output", output))
}
