package dialect

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"textskill/parser/rawjson"
	"textskill/parser/wire"
	"textskill/skill"
	"textskill/skill/internal/words"
)

// nativeShells are the shells of Codex, of OpenAI's API and of Anthropic.
var nativeShells = []Tool{
	native("exec_command", "Run a command, and wait a while for its end.", Destroys, execCommand,
		needed(word("cmd", "for bash")), optional(nativePath("workdir")),
		truth("tty", "in a terminal, for write_stdin"),
		number("yield_time_ms", "how long to wait; default 10000")),
	native("write_stdin", "Type into a command that exec_command has left running, and read what it prints.",
		Destroys, writeStdin,
		needed(number("session_id", "of the command")), word("chars", "what to type"),
		number("yield_time_ms", "how long to wait; default 250")),
	native("bash", "Run a command in a shell that keeps its folder, variables and functions.", Destroys, bash,
		word("command", "what to run"), truth("restart", "begin with a new shell"),
		number("timeout_ms", "milliseconds")),
	native("shell_call", "Run several commands, each in a shell of its own.", Destroys, shellCall,
		Param{Name: "commands", Type: "array", Of: "string", Required: true, Doc: "what to run"},
		number("timeout_ms", "milliseconds"), number("max_output_length", "returned as it is")),
	native("local_shell_call", "Run the words of one command.", Destroys, localShell,
		Param{Name: "command", Type: "array", Of: "string", Required: true,
			Doc: "a program and its arguments"},
		Param{Name: "env", Type: "object", Content: true, Doc: "variables"},
		optional(nativePath("working_directory")), number("timeout_ms", "milliseconds")),
	native("shell", "Run the words of one command.", Destroys, codexShell,
		Param{Name: "command", Type: "array", Of: "string", Required: true, Doc: "a program and its arguments"},
		optional(nativePath("workdir")), number("timeout_ms", "milliseconds")),
	native("shell_command", "Run a command.", Destroys, codexShell,
		needed(word("command", "for bash")), optional(nativePath("workdir")),
		number("timeout_ms", "milliseconds")),
}

// A resident is a shell that stays between the calls of a session: each call is a program of its
// own, which begins with what the last one has left.
type resident struct {
	mu    sync.Mutex
	state string // a script that brings variables, functions, options and the folder back
}

type residentKey string // the tool whose shell it is

func (in *call) resident(of string) *resident {
	return in.s.Keep(residentKey(of), func() any { return new(resident) }).(*resident)
}

// boot runs the script that its arguments hold. One argument is too short for a long state.
const boot = `eval "$(printf %s "$@")"`

// residentScript runs a command in a shell with a state, both quoted, and prints the new state on
// another stream. The output of the command is on standard output alone, in its order. The command
// begins in the first line, which its errors name.
const residentScript = `set --; exec 3>&2 2>&1; eval %s 2>/dev/null; { eval %s
} 3>&- </dev/null
set -- $?
{ (unset TMPDIR SHLVL OLDPWD BASH_EXECUTION_STRING; declare -p); declare -f; alias -p; shopt -p; set +o; umask -p
printf 'cd -- %%q\n%s\n' "$PWD"; } >&3 2>/dev/null
trap - EXIT
exit $1`

// stateEnd is the last line of a state: one without it is cut, or the shell has ended.
const stateEnd = ": complete"

// most is how many bytes an argument of a program holds, less than any system's limit.
const most = 100_000

// A ran is how a command of a shell ended.
type ran struct {
	skill.Executed
	text string // both streams, without escapes and newlines at the end
	gone bool   // the shell itself has ended
}

// run runs a command in the shell.
func (sh *resident) run(ctx context.Context, in *call, command string, timeout time.Duration) (ran, error) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	script := fmt.Sprintf(residentScript, quotedLine(sh.state), quotedLine(command), stateEnd)
	args := []string{"--noprofile", "--norc", "-c", boot, "bash"}
	for ; len(script) > most; script = script[most:] {
		args = append(args, script[:most])
	}
	e, err := in.exec(ctx, skill.Exec{Command: "bash", Args: append(args, script), Timeout: timeout,
		MaxOutput: 1 << 20, Unattended: true})
	if err != nil {
		return ran{}, err
	}
	r := ran{Executed: e, text: shellOutput(e.Stdout)}
	state, complete := strings.CutSuffix(strings.TrimSuffix(string(e.Stderr), "\n"), stateEnd)
	switch ended := e.TimedOut || e.Cancelled || e.Lost || e.Signal != ""; {
	case complete && e.StderrCut == 0:
		sh.state = state
	case !complete || ended:
		sh.state, r.gone = "", !ended
	}
	return r, nil
}

func (in *call) exec(ctx context.Context, a skill.Exec) (skill.Executed, error) {
	if slices.ContainsFunc(append(slices.Clone(a.Args), a.Command),
		func(s string) bool { return strings.IndexByte(s, 0) >= 0 }) {
		return skill.Executed{}, errors.New("the command holds a NUL byte, which no program can be given")
	}
	r, err := in.x.Execute(ctx, in.s, a)
	if err != nil {
		return skill.Executed{}, err
	}
	return r.(skill.Executed), nil
}

// shellQuoted is a text as one word of a shell.
func shellQuoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// quotedLine is a text as one word of bash, in one line.
func quotedLine(text string) string {
	return "$'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`).Replace(text) + "'"
}

// escapes matches the escape sequences of a terminal.
var escapes = words.Pattern(`\x1b\[[0-9;?]*[ -/]*[@-~]`)

// shellOutput is what a shell printed, without escapes and newlines at the end, and no longer than
// its start and end of 32 KiB each.
func shellOutput(data []byte) string {
	return clippedOutput(strings.TrimRight(escapes().ReplaceAllString(wellFormed(string(data)), ""), "\n"))
}

// clippedOutput is the start and end of a long text.
func clippedOutput(text string) string {
	if cut := len(text) - 2*stackOutput; cut > 0 {
		text = wellFormed(text[:stackOutput]) + fmt.Sprintf("\n[%d bytes left out]\n", cut) +
			wellFormed(text[len(text)-stackOutput:])
	}
	return text
}

// under puts a text below a line, if there is one.
func under(line, text string) string { return strings.TrimSuffix(line+"\n"+text, "\n") }

// bashTime is how long a command may take, in an argument or as is usual.
func (in *call) bashTime(param string) time.Duration {
	if ms, ok := in.integer(param); ok {
		return milliseconds(ms)
	}
	return in.dialect.bashTime
}

// bash is the shell of the toolset, or that of Anthropic's API.
func bash(ctx context.Context, in *call) (skill.Result, error) {
	if in.dialect.speaks == wire.AgentEvents || in.given("timeout_ms") {
		return in.residentBash(ctx, in.bashTime("timeout_ms"), toolsetWords)
	}
	return in.residentBash(ctx, in.dialect.bashTime, bashWords)
}

// A residentWords is what a shell that stays says.
type residentWords struct {
	restarted, missing string
	timedOut           func(after time.Duration) string
	gone               func(code int) string
}

var (
	bashWords = residentWords{"<system>tool has been restarted.</system>", "no command provided.",
		func(after time.Duration) string {
			return fmt.Sprintf("timed out: bash has not returned in %.1f seconds and must be restarted", after.Seconds())
		},
		func(code int) string {
			return fmt.Sprintf("<system>tool must be restarted</system>\nbash has exited with returncode %d", code)
		}}
	toolsetWords = residentWords{"bash session restarted", "bash: command is required",
		func(after time.Duration) string {
			return fmt.Sprintf("bash: bash command timed out after %dms", after.Milliseconds())
		},
		func(int) string { return "bash: bash session terminated" }}
)

// residentBash runs a command in the shell that stays.
func (in *call) residentBash(ctx context.Context, timeout time.Duration,
	say residentWords) (skill.Result, error) {
	sh, command := in.resident("bash"), in.str("command")
	if in.flag("restart") {
		sh.restart()
		if command == "" {
			return answer(say.restarted)
		}
	}
	if command == "" {
		return nil, failf("%s", say.missing)
	}
	if r, ok, err := in.patchBy(ctx, command); ok {
		return r, err
	}
	r, err := sh.run(ctx, in, command, timeout)
	switch {
	case err != nil:
		return nil, err
	case r.TimedOut:
		return r.failed(under(say.timedOut(timeout), r.text))
	case r.gone:
		return r.failed(under(say.gone(r.ExitCode), r.text))
	}
	return r.plain()
}

func (sh *resident) restart() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.state = ""
}

func (r ran) failed(text string) (skill.Result, error) {
	return worded{text: text, of: r.Executed, failed: true}, nil
}

// plain is what a command printed, or its exit code if that is all there is.
func (r ran) plain() (skill.Result, error) {
	switch {
	case !r.Failed():
		return worded{text: r.text, of: r.Executed}, nil
	case r.text == "":
		return r.failed(fmt.Sprintf("exit %d", r.ExitCode))
	}
	return r.failed(r.text)
}

// milliseconds is a time limit in an argument, no longer than tools wait.
func milliseconds(n int) time.Duration {
	return min(time.Duration(max(n, 1))*time.Millisecond, maxTimeout*time.Second)
}

// joined is a command that prints both streams as one.
func joined(command string) string { return "exec 2>&1\n" + command }

// shell runs a command in a new shell: bash, or the system's if bash is missing.
func (in *call) shell(ctx context.Context, command, dir string,
	timeout time.Duration) (skill.Executed, error) {
	a := skill.Exec{Command: "bash", Args: []string{"-c", command}, Dir: dir, Timeout: timeout,
		MaxOutput: 1 << 20, Unattended: true}
	e, err := in.exec(ctx, a)
	if spawn, ok := errors.AsType[*skill.SpawnError](err); ok && errors.Is(spawn.Err, syscall.ENOENT) {
		a.Command = "/bin/sh"
		e, err = in.exec(ctx, a)
	}
	return e, err
}

// A stream is what a command of shell_call printed, and how it ended.
type stream struct {
	Stdout  string `json:"stdout"`
	Stderr  string `json:"stderr"`
	Outcome any    `json:"outcome"`
}

type outcomeExit struct {
	Type string `json:"type"`
	Code *int   `json:"exit_code,omitempty"`
}

// shellCall is OpenAI's shell: several commands, each in a shell of its own.
func shellCall(ctx context.Context, in *call) (skill.Result, error) {
	timeout := in.bashTime("timeout_ms")
	list, _ := in.values["commands"].([]any)
	streams, changes := []stream{}, several{}
	for _, c := range list {
		command, ok := c.(string)
		if !ok {
			return nil, failf("commands must be texts")
		}
		if r, patch, err := in.patchBy(ctx, command); patch {
			text, code := "", 0
			if err != nil {
				text, code = err.Error(), 1
			} else {
				text = r.Message()
			}
			changes = append(changes, r)
			streams = append(streams, stream{text, "", outcomeExit{"exit", &code}})
			continue
		}
		e, err := in.shell(ctx, command, "", timeout)
		if err != nil {
			return nil, err
		}
		changes = append(changes, e)
		s := stream{wellFormed(string(e.Stdout)), wellFormed(string(e.Stderr)),
			outcomeExit{"exit", &e.ExitCode}}
		if e.TimedOut {
			s.Outcome = outcomeExit{Type: "timeout"}
		}
		if streams = append(streams, s); e.TimedOut {
			break
		}
	}
	output := rawjson.Encode(streams)
	return worded{text: string(output), of: changes, object: object("output", []byte(output))}, nil
}

// several are the results of the commands of one call.
type several []skill.Result

// Message joins what they say.
func (s several) Message() string {
	return strings.Join(each(s, skill.Result.Message), "\n")
}

// UndoID returns the IDs of their changes. Each is undone by its own.
func (s several) UndoID() string {
	var ids []string
	for _, r := range s {
		if id := (Reply{Result: r}).UndoID(); r != nil && id != "" {
			ids = append(ids, id)
		}
	}
	return strings.Join(ids, " ")
}

// localShell is OpenAI's older shell: the words of one command, which no shell reads.
func localShell(ctx context.Context, in *call) (skill.Result, error) {
	words := in.words("command")
	timeout := in.bashTime("timeout_ms")
	answer := func(output string, code int, took time.Duration) string {
		return string(rawjson.Encode(struct {
			Output string `json:"output"`
			Meta   any    `json:"metadata"`
		}{output, struct {
			Code    int     `json:"exit_code"`
			Seconds float64 `json:"duration_seconds"`
		}{code, float64(took.Milliseconds()) / 1000}}))
	}
	env, err := variables(in.values["env"])
	if err == nil && len(words) == 0 {
		err = errors.New("command is empty")
	}
	if err == nil {
		if r, ok, err := in.patchBy(ctx, words...); ok {
			if err != nil {
				return worded{text: answer(err.Error(), 1, 0)}, nil
			}
			return worded{text: answer(r.Message(), 0, 0), of: r}, nil
		}
	}
	var e skill.Executed
	if err == nil {
		e, err = in.program(ctx, words, env, in.str("working_directory"), timeout)
	}
	switch {
	case err != nil:
		return worded{text: answer(nativeFail(in, err).Body, -1, 0), failed: true}, nil
	case e.TimedOut:
		return worded{text: answer(string(e.Stdout)+afterMilliseconds(timeout)+"\n", 124, e.Elapsed),
			of: e}, nil
	}
	return worded{text: answer(wellFormed(string(e.Stdout)), e.ExitCode, e.Elapsed), of: e}, nil
}

// program runs the words of a command, whose two streams are one.
func (in *call) program(ctx context.Context, words, env []string, dir string,
	timeout time.Duration) (skill.Executed, error) {
	return in.exec(ctx, skill.Exec{Command: "/bin/sh",
		Args: append([]string{"-c", `exec "$@" 2>&1`, "sh"}, words...),
		Env:  env, Dir: dir, Timeout: timeout, MaxOutput: 1 << 20, Unattended: true})
}

func afterMilliseconds(after time.Duration) string {
	return fmt.Sprintf("command timed out after %d milliseconds", after.Milliseconds())
}

// codexShell is the shell of models for Codex: a command line, or the words of a command.
func codexShell(ctx context.Context, in *call) (skill.Result, error) {
	words, timeout := in.words("command"), in.bashTime("timeout_ms")
	if line := in.str("command"); line != "" {
		words = []string{"bash", "-c", line}
	}
	if len(words) == 0 {
		return nil, failf("failed to parse function arguments: missing field `command`")
	}
	if r, ok, err := in.patchBy(ctx, words...); ok {
		return r, err
	}
	e, err := in.program(ctx, words, nil, in.str("workdir"), timeout)
	if err != nil {
		return nil, err
	}
	code, text := e.ExitCode, wellFormed(string(e.Stdout))
	if e.TimedOut {
		code, text = 124, afterMilliseconds(timeout)+"\n"+text
	}
	return worded{text: fmt.Sprintf("Exit code: %d\nWall time: %s seconds\nOutput:\n%s", code,
		tenths(e.Elapsed), text), of: e, failed: code != 0}, nil
}

// tenths are seconds with one decimal, and none if that is 0.
func tenths(d time.Duration) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Seconds()), ".0")
}

// execCommand is Codex's shell: a command that is not done when the call has waited long enough goes
// on, and write_stdin asks for it again.
func execCommand(ctx context.Context, in *call) (skill.Result, error) {
	command := in.str("cmd")
	if command == "" {
		return nil, failf("failed to parse function arguments: missing field `cmd`")
	}
	if r, ok, err := in.patchBy(ctx, command); ok {
		return r, err
	}
	p := &running{began: time.Now(), done: make(chan struct{})}
	var err error
	if in.flag("tty") {
		err = p.inTerminal(in, command)
	} else {
		// The command may outlive the call, but not its time.
		go p.recorded(context.WithoutCancel(ctx), in, command)
	}
	if err != nil {
		return nil, err
	}
	return in.wait(ctx, p, time.Now(), milliseconds(in.or("yield_time_ms", 10_000)))
}

func writeStdin(ctx context.Context, in *call) (skill.Result, error) {
	id, _ := in.integer("session_id")
	all := in.running()
	all.mu.Lock()
	p := all.by[id]
	all.mu.Unlock()
	began, chars := time.Now(), in.str("chars")
	switch {
	case p == nil:
		return nil, failf("write_stdin failed: Unknown process id %v", in.values["session_id"])
	case chars != "" && p.terminal == nil:
		return nil, failf("write_stdin failed: stdin is closed for this session; rerun exec_command with tty=true to keep stdin open")
	case chars != "":
		if _, err := io.WriteString(p.terminal.Stdin, chars); err != nil {
			return nil, failf("write_stdin failed: %v", err)
		}
	}
	return in.wait(ctx, p, began, milliseconds(in.or("yield_time_ms", 250)))
}

// processes are the commands of a session that go on.
type processes struct {
	mu   sync.Mutex
	by   map[int]*running
	last int
}

type processesKey struct{}

func (in *call) running() *processes {
	return in.s.Keep(processesKey{},
		func() any { return &processes{by: map[int]*running{}, last: 1000} }).(*processes)
}

// A running is a command that exec_command has started.
type running struct {
	began    time.Time
	done     chan struct{} // closed when the command has ended
	end      skill.Executed
	err      error // it could not be run
	terminal *skill.Process
	id       int // 0 until a call is answered before its end

	mu  sync.Mutex
	new []byte // what it printed since the last answer
}

// recorded runs a command without a terminal. Its changes are one change in the history.
func (p *running) recorded(ctx context.Context, in *call, command string) {
	defer close(p.done)
	p.end, p.err = in.shell(ctx, joined(command), in.str("workdir"), maxTimeout*time.Second)
	p.print(p.end.Stdout)
}

// inTerminal starts a command in a terminal, which the program script makes. Nothing fences it, so
// that it is refused where commands are fenced.
func (p *running) inTerminal(in *call, command string) (err error) {
	if cfg := in.x.Config(); cfg.Fence != skill.FenceOff && (cfg.Helper != "" || !cfg.Unfenced) {
		return failf("exec_command failed: a command in a terminal cannot be fenced here; leave tty out")
	}
	if dir := in.str("workdir"); dir != "" {
		if at, err := in.place(dir, true); err != nil || at != folder {
			return failf("exec_command failed: %s is not a folder of the workspace", dir)
		}
		command = "cd -- " + shellQuoted(in.x.Abs(in.s, dir)) + " && { " + command + "\n}"
	}
	env := []string{"TERM=dumb"}
	for _, name := range []string{"PATH", "HOME", "LANG", "TMPDIR"} {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	p.terminal, err = in.x.StartProcess(skill.Program{Command: "script",
		Args: []string{"-qefc", command, "/dev/null"}, Env: env})
	if err != nil {
		return err
	}
	go func() {
		defer close(p.done)
		buf := make([]byte, 32<<10)
		for {
			n, err := p.terminal.Stdout.Read(buf)
			p.print(buf[:n])
			if err != nil {
				break
			}
		}
		p.end, _, p.err = p.terminal.Ended()
		p.terminal.Close()
	}()
	return nil
}

// print keeps what a command has printed for the next answer, up to 1 MiB.
func (p *running) print(data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.new = append(p.new, data...)
	if cut := len(p.new) - 1<<20; cut > 0 {
		p.new = p.new[cut:]
	}
}

// wait answers when a command has ended, or when a time is up.
func (in *call) wait(ctx context.Context, p *running, began time.Time,
	most time.Duration) (skill.Result, error) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	ended := false
	select {
	case <-p.done:
		ended = true
	case <-timer.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	all := in.running()
	all.mu.Lock()
	defer all.mu.Unlock()
	state := ""
	switch {
	case !ended && p.id == 0:
		all.last++
		p.id, all.by[all.last] = all.last, p
		fallthrough
	case !ended:
		state = fmt.Sprintf("Process running with session ID %d", p.id)
	case p.err != nil:
		delete(all.by, p.id)
		return nil, p.err
	default:
		delete(all.by, p.id)
		state = fmt.Sprintf("Process exited with code %d", p.end.ExitCode)
	}
	p.mu.Lock()
	text := wellFormed(string(p.new))
	p.new = nil
	p.mu.Unlock()
	chunk := make([]byte, 3)
	rand.Read(chunk)
	text = fmt.Sprintf("Chunk ID: %s\nWall time: %.4f seconds\n%s\nOriginal token count: %d\nOutput:\n%s",
		hex.EncodeToString(chunk), time.Since(began).Seconds(), state, (len(text)+3)/4, clippedOutput(text))
	r := worded{text: text}
	if ended && p.terminal == nil {
		r.of = p.end
	}
	return r, nil
}

// nativePatches are OpenAI's patches: one text for several files, or an operation on one.
var nativePatches = []Tool{
	native("apply_patch", "Apply a patch: *** Begin Patch … *** End Patch.", Destroys, applyPatch,
		nativeText("input", "the patch")),
	native("apply_patch_call", "Create, update or delete one file by a diff.", Destroys, patchCall,
		Param{Name: "type", Type: "string", Required: true,
			Enum: []string{"create_file", "update_file", "delete_file"}, Doc: "what to do"},
		nativePath("path"), optional(nativeText("diff", "lines that begin with a blank, + or -")),
		Param{Name: "moveTo", Type: "string", Path: true, Doc: "the new path of a file that is updated"}),
}

const (
	beginPatch  = "*** Begin Patch"
	endPatch    = "*** End Patch"
	endOfFile   = "*** End of File"
	addFile     = "*** Add File: "
	deleteFile  = "*** Delete File: "
	updateFile  = "*** Update File: "
	notVerified = "apply_patch verification failed: "
)

// applyPatch reads a patch in each of the forms in which models send one.
func applyPatch(ctx context.Context, in *call) (skill.Result, error) {
	for _, name := range []string{"input", "patch", "command"} {
		if text, ok := in.values[name].(string); ok {
			return in.patchText(ctx, text, "")
		}
	}
	if words := in.words("command"); len(words) > 0 {
		return in.patchText(ctx, words[len(words)-1], "")
	}
	list, _ := in.values["operations"].([]any)
	if one, ok := in.values["operation"].(map[string]any); ok {
		list = []any{one}
	}
	if in.given("type", "path") {
		list = []any{map[string]any(in.values)}
	}
	if list == nil {
		return nil, failf("failed to parse function arguments: missing field `input`")
	}
	return in.patchOperations(ctx, list)
}

// words returns a list of texts, nil if an argument is something else.
func (in *call) words(name string) []string {
	list, _ := in.values[name].([]any)
	words := make([]string, 0, len(list))
	for _, e := range list {
		w, ok := e.(string)
		if !ok {
			return nil
		}
		words = append(words, w)
	}
	return words
}

// patched is the answer to a patch that was applied.
func patched(began time.Time, lines []string) string {
	return fmt.Sprintf("Exit code: 0\nWall time: %s seconds\nOutput:\nSuccess. Updated the following files:\n%s\n",
		tenths(time.Since(began)), strings.Join(lines, "\n"))
}

// patchText applies a patch of one text. Its paths begin at dir, or in the session's folder.
func (in *call) patchText(ctx context.Context, text, dir string) (skill.Result, error) {
	s := in.s
	if dir != "" {
		var err error
		if s, err = in.x.Enter(in.s, dir); err != nil {
			return nil, err
		}
	}
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")), "\n")
	last := len(lines) - 1
	switch {
	case strings.TrimSpace(lines[0]) != beginPatch:
		return nil, failf(notVerified+"invalid patch: The first line of the patch must be '%s'", beginPatch)
	case strings.TrimSpace(lines[last]) != endPatch:
		return nil, failf(notVerified+"invalid patch: The last line of the patch must be '%s'", endPatch)
	case strings.TrimSpace(strings.Join(lines[1:last], "")) == "":
		return nil, failf("patch rejected: empty patch")
	}
	if head := strings.TrimSpace(lines[1]); !slices.ContainsFunc([]string{addFile, deleteFile, updateFile},
		func(h string) bool { return strings.HasPrefix(head, h) }) {
		return nil, failf(notVerified+
			"invalid hunk at line 2, '%s' is not a valid hunk header. Valid hunk headers: '%s{path}', '%s{path}', '%s{path}'",
			head, addFile, deleteFile, updateFile)
	}
	began := time.Now()
	r, err := in.x.Execute(ctx, s, skill.Patch{Text: strings.Join(lines, "\n")})
	if err != nil {
		return nil, in.patchError(err, s, lines)
	}
	p := r.(skill.Patched)
	if !p.Applied {
		return in.changed(p.Changed, nil, "")
	}
	named := map[string][]string{}
	for _, f := range p.Files {
		mark := map[string]string{"add": "A", "delete": "D"}[f.Kind]
		if mark == "" {
			mark = "M"
		}
		named[mark] = append(named[mark], mark+" "+in.name(f.Path))
	}
	return worded{text: patched(began, slices.Concat(named["A"], named["M"], named["D"])), of: p}, nil
}

// patchError words an error of a patch as the original does.
func (in *call) patchError(err error, s *skill.Session, lines []string) error {
	miss, missed := errors.AsType[*skill.NoMatchError](err)
	pe, isPath := errors.AsType[*fs.PathError](err)
	text := ""
	switch {
	case missed && miss.Line > 0 && miss.Line <= len(lines):
		text = missedLines(miss, lines[miss.Line-1:])
	case !isPath:
	case errors.Is(err, fs.ErrNotExist):
		text = "Failed to read file to update " + pe.Path + ": No such file or directory (os error 2)"
		if slices.ContainsFunc(lines, func(l string) bool {
			name, deletes := strings.CutPrefix(l, deleteFile)
			return deletes && in.x.Abs(s, strings.TrimSpace(name)) == pe.Path
		}) {
			text = strings.Replace(text, " file to update", "", 1)
		}
	case errors.Is(err, syscall.EISDIR):
		text = fmt.Sprintf("Failed to read %s: path `%s` is not a file", pe.Path, pe.Path)
	default:
		text = fmt.Sprintf("Failed to read %s: %s", pe.Path, pe.Err)
	}
	if text == "" {
		return &Failure{Message: notVerified + nativeFail(in, err).Body, Cause: err}
	}
	return failf("%s", notVerified+text)
}

// missedLines names the context or the old lines that a file lacks; hunk is the patch from the
// hunk on.
func missedLines(miss *skill.NoMatchError, hunk []string) string {
	var old []string
	for i, line := range hunk {
		switch {
		case strings.HasPrefix(line, "@@") && len(old) == 0:
			if strings.TrimPrefix(strings.TrimPrefix(line, "@@"), " ") == miss.Wanted {
				return fmt.Sprintf("Failed to find context '%s' in %s", miss.Wanted, miss.Path)
			}
		case strings.HasPrefix(line, "@@"), i > 0 && strings.HasPrefix(line, "*** "):
			return fmt.Sprintf("Failed to find expected lines in %s:\n%s", miss.Path, strings.Join(old, "\n"))
		case line == "":
			old = append(old, "")
		case line[0] != '+':
			old = append(old, line[1:])
		}
	}
	return ""
}

// patchOperations carries out several operations on files: all of them, or none.
func (in *call) patchOperations(ctx context.Context, list []any) (skill.Result, error) {
	began, lines := time.Now(), []string(nil)
	r, err := in.revise(ctx, func(r *skill.Revision) error {
		var names []string
		before, after := map[string]bool{}, map[string]bool{}
		for _, e := range list {
			given, _ := e.(map[string]any)
			o := values(given)
			for _, name := range []string{o.str("path"), o.str("moveTo")} {
				if name != "" && !slices.Contains(names, name) {
					_, err := r.Text(name)
					names, before[name] = append(names, name), err == nil
				}
			}
			if err := patchOne(r, o); err != nil {
				return err
			}
		}
		lines = nil
		for _, name := range names {
			_, err := r.Text(name)
			after[name] = err == nil
			if mark := patchMark(before[name], after[name]); mark != "" {
				lines = append(lines, mark+" "+name)
			}
		}
		return nil
	})
	return in.changed(r, err, patched(began, lines))
}

func patchMark(before, after bool) string {
	switch {
	case before && after:
		return "M"
	case after:
		return "A"
	case before:
		return "D"
	}
	return ""
}

// patchCall carries out one operation on a file.
func patchCall(ctx context.Context, in *call) (skill.Result, error) {
	r, err := in.revise(ctx, func(r *skill.Revision) error { return patchOne(r, in.values) })
	did := map[string]string{"create_file": "Created", "update_file": "Updated",
		"delete_file": "Deleted"}[in.str("type")]
	return in.changed(r, err, did+" "+in.str("path"))
}

// patchOne makes the change of one operation.
func patchOne(r *skill.Revision, o values) error {
	name, diff := o.str("path"), o.str("diff")
	switch kind := o.str("type"); {
	case kind == "create_file" && name != "":
		text, err := createdBy(diff)
		if err != nil {
			return err
		}
		return because("Failed to write file "+name, r.Set(name, text))
	case kind == "update_file" && name != "":
		text, err := r.Text(name)
		if err != nil {
			return because("Failed to read file to update "+name, err)
		}
		after, err := updatedBy(plainLines(text), diff)
		if err == nil {
			err = r.Set(name, likeLines(after, text))
		}
		if to := o.str("moveTo"); err == nil && to != "" {
			err = r.Rename(name, to)
		}
		return err
	case kind == "delete_file" && name != "":
		return because("Failed to delete file "+name, r.Remove(name))
	}
	return failf("Unsupported apply_patch operation")
}

// because puts what failed before the reason that the system has.
func because(what string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return failf("%s: %s", what, pe.Err)
	}
	return err
}

// diffLines are the lines of a diff, and whether the last one has its newline.
func diffLines(diff string) (lines []string, ended bool) {
	diff = strings.ReplaceAll(diff, "\r\n", "\n")
	if diff == "" {
		return nil, false
	}
	text, ended := strings.CutSuffix(diff, "\n")
	return strings.Split(text, "\n"), ended
}

// createdBy returns what a file holds that a diff makes.
func createdBy(diff string) (string, error) {
	lines, ended := diffLines(diff)
	for i, line := range lines {
		if !strings.HasPrefix(line, "+") {
			return "", failf("Invalid Add File Line: %s", line)
		}
		lines[i] = line[1:]
	}
	text := strings.Join(lines, "\n")
	if ended {
		text += "\n"
	}
	return text, nil
}

// updatedBy applies a diff of sections to a text. A section is tied to its place by lines before
// it (@@ LINE) and by its own old lines, which are looked for in the text from the last section on.
func updatedBy(text, diff string) (string, error) {
	u := updating{file: strings.Split(text, "\n")}
	u.diff, _ = diffLines(diff)
	for len(u.diff) > 0 {
		if err := u.section(); err != nil {
			return "", err
		}
	}
	return strings.Join(append(u.out, u.file[u.done:]...), "\n"), nil
}

// updating is a text to which a diff is applied.
type updating struct {
	file, diff []string // the text, and what is left of the diff
	out        []string // the new text so far
	done       int      // lines of the text that out stands for
	at         int      // where the next section is looked for
}

// anchor moves to behind the lines that the headers of the next section name. marked reports whether
// the section has a header. A single line that is not in the text is passed over.
func (u *updating) anchor() (marked bool, err error) {
	var anchors []string
	for ; len(u.diff) > 0 && (u.diff[0] == "@@" || strings.HasPrefix(u.diff[0], "@@ ")); u.diff = u.diff[1:] {
		marked = true
		if anchor := strings.TrimPrefix(strings.TrimPrefix(u.diff[0], "@@"), " "); strings.TrimSpace(anchor) != "" {
			anchors = append(anchors, anchor)
		}
	}
	for _, anchor := range anchors {
		i := findLinesFrom(u.file, []string{anchor}, u.at)
		if i < 0 && len(anchors) > 1 {
			return marked, failf("Invalid Anchor %d:\n%s", u.at, anchor)
		}
		if i >= 0 {
			u.at = i + 1
		}
	}
	return marked, nil
}

// section applies the next section of the diff.
func (u *updating) section() error {
	marked, err := u.anchor()
	if err != nil {
		return err
	}
	n, end := 0, false
	for n < len(u.diff) && !strings.HasPrefix(u.diff[n], "@@") && !strings.HasPrefix(u.diff[n], "***") {
		n++
	}
	lines := u.diff[:n]
	if u.diff = u.diff[n:]; len(u.diff) > 0 && strings.HasPrefix(u.diff[0], "***") {
		if end = strings.TrimSpace(u.diff[0]) == endOfFile; !end {
			return failf("Invalid Line: %s", u.diff[0])
		}
		u.diff = u.diff[1:]
	}
	if n == 0 && !marked && !end {
		return failf("Invalid Line: %s", strings.Join(u.diff, "\n"))
	}
	return u.replace(lines, end)
}

// replace puts the lines of a section in their place.
func (u *updating) replace(lines []string, end bool) error {
	var old []string
	for i, line := range lines {
		switch {
		case line == "":
			lines[i], old = " ", append(old, "")
		case strings.IndexByte(" -", line[0]) >= 0:
			old = append(old, line[1:])
		case line[0] != '+':
			return failf("Invalid Line: %s", line)
		}
	}
	i := -1
	if last := len(u.file) - len(old); end && last >= u.at {
		i = findLinesFrom(u.file, old, last)
		if i < 0 && u.file[len(u.file)-1] == "" && last-1 >= u.at { // behind the last newline
			i = findLinesFrom(u.file[:len(u.file)-1], old, last-1)
		}
	}
	if i < 0 {
		i = findLinesFrom(u.file, old, u.at)
	}
	if i < 0 {
		of := ""
		if end {
			of = "EOF "
		}
		return failf("Invalid %sContext %d:\n%s", of, u.at, strings.Join(old, "\n"))
	}
	u.out, u.done = append(u.out, u.file[u.done:i]...), i
	for _, line := range lines {
		switch line[0] {
		case '+':
			u.out = append(u.out, line[1:])
		case ' ':
			u.out = append(u.out, u.file[u.done])
			u.done++
		default:
			u.done++
		}
	}
	u.at = u.done
	return nil
}

// looser are the ways in which lines of a diff may match: exactly, without blanks at their end, and
// without blanks at both ends.
var looser = []func(string) string{
	func(s string) string { return s },
	func(s string) string { return strings.TrimRight(s, " \t\r") },
	strings.TrimSpace,
}

// findLinesFrom returns where some lines are in others, from a line on; -1 if they are not there.
func findLinesFrom(in, lines []string, from int) int {
	for _, look := range looser {
		for i := from; i <= len(in)-len(lines); i++ {
			if slices.EqualFunc(in[i:i+len(lines)], lines,
				func(a, b string) bool { return look(a) == look(b) }) {
				return i
			}
		}
	}
	return -1
}

// heredoc matches a command that gives a patch to apply_patch.
var heredoc = words.Pattern(`(?s)^\s*(?:cd\s+('[^']*'|"[^"$` + "`" + `\\]*"|[^\s;&|$` + "`" +
	`]+)\s*&&\s*)?(?:apply_patch|applypatch)\s*<<-?\s*(?:'(\w+)'|"(\w+)"|(\w+))[ \t]*\n(.*?\n)(\w+)\s*$`)

// patchIn returns the patch that a command of a shell is, and the folder in which it is applied.
func patchIn(words []string) (dir, patch string, ok bool) {
	if len(words) == 2 && slices.Contains(patchNames[:], words[0]) {
		return "", words[1], true
	}
	if len(words) == 3 && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c") {
		words = words[2:]
	}
	if len(words) != 1 {
		return "", "", false
	}
	m := heredoc().FindStringSubmatch(words[0])
	if m == nil || m[2]+m[3]+m[4] != m[6] || !strings.HasPrefix(strings.TrimSpace(m[5]), beginPatch) {
		return "", "", false
	}
	return strings.Trim(m[1], `'"`), m[5], true
}

// patchNames are the commands that apply a patch.
var patchNames = [...]string{nativePatches[0].Name, "applypatch"}

// patchBy applies the patch that a command of a shell is. No program of this name need be there,
// and the change is a patch in the history.
func (in *call) patchBy(ctx context.Context, command ...string) (r skill.Result, ok bool, err error) {
	dir, patch, ok := patchIn(command)
	if ok {
		r, err = in.patchText(ctx, patch, dir)
	}
	return r, ok, err
}
