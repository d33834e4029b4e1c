package dialect

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
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
	row(Tool{Name: "exec_command", Doc: "Run a command, and wait a while for its end.", Effect: Destroys}, execCommand),
	row(Tool{Name: "write_stdin", Effect: Destroys,
		Doc: "Type into a command that exec_command has left running, and read what it prints."}, writeStdin),
	row(Tool{Name: "bash", Effect: Destroys,
		Doc: "Run a command in a shell that keeps its folder, variables and functions."}, bash),
	row(Tool{Name: "shell_call", Doc: "Run several commands, each in a shell of its own.", Effect: Destroys}, shellCall),
	row(Tool{Name: "local_shell_call", Doc: "Run the words of one command.", Effect: Destroys}, localShell),
	row(Tool{Name: "shell", Doc: "Run the words of one command.", Effect: Destroys}, func(in *call, a struct {
		Command any `arg:"command" type:"array" of:"string" is:"required" doc:"a program and its arguments"`
		codexArgs
	}) (string, error) {
		return in.codexShell(a.Command, a.codexArgs)
	}),
	row(Tool{Name: "shell_command", Doc: "Run a command.", Effect: Destroys}, func(in *call, a struct {
		Command any `arg:"command" type:"string" is:"required" doc:"for bash"`
		codexArgs
	}) (string, error) {
		return in.codexShell(a.Command, a.codexArgs)
	}),
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
func (sh *resident) run(in *call, command string, timeout time.Duration) (ran, error) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	script := fmt.Sprintf(residentScript, quotedLine(sh.state), quotedLine(command), stateEnd)
	args := []string{"--noprofile", "--norc", "-c", boot, "bash"}
	for ; len(script) > most; script = script[most:] {
		args = append(args, script[:most])
	}
	e, err := in.exec(skill.Exec{Command: "bash", Args: append(args, script), Timeout: timeout,
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

func (in *call) exec(a skill.Exec) (skill.Executed, error) {
	if slices.ContainsFunc(append(slices.Clone(a.Args), a.Command),
		func(s string) bool { return strings.IndexByte(s, 0) >= 0 }) {
		return skill.Executed{}, errors.New("the command holds a NUL byte, which no program can be given")
	}
	return do[skill.Executed](in, a)
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
func (in *call) bashTime(given any) time.Duration {
	if ms, ok := integer(given); ok {
		return milliseconds(ms)
	}
	return in.dialect.bashTime
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

// bash is the shell of the toolset, or that of Anthropic's API: a shell that stays.
func bash(in *call, a struct {
	Command string `arg:"command" doc:"what to run"`
	Restart bool   `arg:"restart" doc:"begin with a new shell"`
	Timeout any    `arg:"timeout_ms" type:"integer" doc:"milliseconds"`
}) (string, error) {
	sh, say, timeout := in.resident("bash"), bashWords, in.bashTime(a.Timeout)
	if in.dialect.speaks == wire.AgentEvents || a.Timeout != nil {
		say = toolsetWords
	}
	if a.Restart {
		sh.restart()
		if a.Command == "" {
			return say.restarted, nil
		}
	}
	if a.Command == "" {
		return "", failf("%s", say.missing)
	}
	if text, ok, err := in.patchBy(a.Command); ok {
		return text, err
	}
	r, err := sh.run(in, a.Command, timeout)
	switch {
	case err != nil:
		return "", err
	case r.TimedOut:
		return "", failf("%s", under(say.timedOut(timeout), r.text))
	case r.gone:
		return "", failf("%s", under(say.gone(r.ExitCode), r.text))
	case !r.Failed():
		return r.text, nil
	}
	return "", failf("%s", cmp.Or(r.text, fmt.Sprintf("exit %d", r.ExitCode)))
}

func (sh *resident) restart() {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.state = ""
}

// milliseconds is a time limit in an argument, no longer than tools wait.
func milliseconds(n int) time.Duration {
	return min(time.Duration(max(n, 1))*time.Millisecond, maxTimeout*time.Second)
}

// shell runs a command in a new shell: bash, or the system's if bash is missing.
func (in *call) shell(command, dir string, timeout time.Duration) (skill.Executed, error) {
	a := skill.Exec{Command: "bash", Args: []string{"-c", command}, Dir: dir, Timeout: timeout,
		MaxOutput: 1 << 20, Unattended: true}
	e, err := in.exec(a)
	if spawn, ok := errors.AsType[*skill.SpawnError](err); ok && errors.Is(spawn.Err, syscall.ENOENT) {
		a.Command = "/bin/sh"
		e, err = in.exec(a)
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
func shellCall(in *call, a struct {
	Commands []any `arg:"commands" of:"string" is:"required" doc:"what to run"`
	Timeout  any   `arg:"timeout_ms" type:"integer" doc:"milliseconds"`
	Most     any   `arg:"max_output_length" type:"integer" doc:"returned as it is"`
}) (Reply, error) {
	streams, changes := []stream{}, several{}
	for _, c := range a.Commands {
		command, ok := c.(string)
		if !ok {
			return Reply{}, failf("commands must be texts")
		}
		if text, patch, err := in.patchBy(command); patch {
			code := 0
			if err != nil {
				text, code = err.Error(), 1
			}
			changes = append(changes, in.did)
			streams = append(streams, stream{text, "", outcomeExit{"exit", &code}})
			continue
		}
		e, err := in.shell(command, "", in.bashTime(a.Timeout))
		if err != nil {
			return Reply{}, err
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
	in.did = changes
	output := rawjson.Encode(streams)
	return Reply{Body: string(output), Structured: object("output", []byte(output))}, nil
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
func localShell(in *call, a struct {
	Command any    `arg:"command" type:"array" of:"string" is:"required" doc:"a program and its arguments"`
	Env     any    `arg:"env" type:"object" is:"content" doc:"variables"`
	Dir     string `arg:"working_directory" is:"path" doc:"path in the workspace"`
	Timeout any    `arg:"timeout_ms" type:"integer" doc:"milliseconds"`
}) (string, error) {
	words, timeout := textsOf(a.Command), in.bashTime(a.Timeout)
	answer := func(output string, code int, took time.Duration) string {
		return string(rawjson.Encode(struct {
			Output string `json:"output"`
			Meta   any    `json:"metadata"`
		}{output, struct {
			Code    int     `json:"exit_code"`
			Seconds float64 `json:"duration_seconds"`
		}{code, float64(took.Milliseconds()) / 1000}}))
	}
	env, err := variables(a.Env)
	if err == nil && len(words) == 0 {
		err = errors.New("command is empty")
	}
	var e skill.Executed
	if err == nil {
		switch text, ok, err := in.patchBy(words...); {
		case ok && err != nil:
			return answer(err.Error(), 1, 0), nil
		case ok:
			return answer(text, 0, 0), nil
		}
		e, err = in.program(words, env, a.Dir, timeout)
	}
	switch {
	case err != nil:
		return "", failf("%s", answer(nativeFail(in, err).Body, -1, 0))
	case e.TimedOut:
		return answer(string(e.Stdout)+afterMilliseconds(timeout)+"\n", 124, e.Elapsed), nil
	}
	return answer(wellFormed(string(e.Stdout)), e.ExitCode, e.Elapsed), nil
}

// program runs the words of a command, whose two streams are one.
func (in *call) program(words, env []string, dir string, timeout time.Duration) (skill.Executed, error) {
	return in.exec(skill.Exec{Command: "/bin/sh",
		Args: append([]string{"-c", `exec "$@" 2>&1`, "sh"}, words...),
		Env:  env, Dir: dir, Timeout: timeout, MaxOutput: 1 << 20, Unattended: true})
}

func afterMilliseconds(after time.Duration) string {
	return fmt.Sprintf("command timed out after %d milliseconds", after.Milliseconds())
}

// codexArgs are the arguments of the shell of models for Codex, besides the command.
type codexArgs struct {
	Dir     string `arg:"workdir" is:"path" doc:"path in the workspace"`
	Timeout any    `arg:"timeout_ms" type:"integer" doc:"milliseconds"`
}

// codexShell is the shell of models for Codex: a command line, or the words of a command.
func (in *call) codexShell(command any, a codexArgs) (string, error) {
	words, timeout := textsOf(command), in.bashTime(a.Timeout)
	if line := textOf(command); line != "" {
		words = []string{"bash", "-c", line}
	}
	if len(words) == 0 {
		return "", failf("failed to parse function arguments: missing field `command`")
	}
	if text, ok, err := in.patchBy(words...); ok {
		return text, err
	}
	e, err := in.program(words, nil, a.Dir, timeout)
	if err != nil {
		return "", err
	}
	code, text := e.ExitCode, wellFormed(string(e.Stdout))
	if e.TimedOut {
		code, text = 124, afterMilliseconds(timeout)+"\n"+text
	}
	text = fmt.Sprintf("Exit code: %d\nWall time: %s seconds\nOutput:\n%s", code, tenths(e.Elapsed), text)
	if code != 0 {
		return "", failf("%s", text)
	}
	return text, nil
}

// tenths are seconds with one decimal, and none if that is 0.
func tenths(d time.Duration) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Seconds()), ".0")
}

type execArgs struct {
	Command string      `arg:"cmd" is:"required" doc:"for bash"`
	Dir     string      `arg:"workdir" is:"path" doc:"path in the workspace"`
	TTY     bool        `arg:"tty" doc:"in a terminal, for write_stdin"`
	Yield   json.Number `arg:"yield_time_ms" type:"integer" doc:"how long to wait; default 10000"`
}

// execCommand is Codex's shell: a command that is not done when the call has waited long enough goes
// on, and write_stdin asks for it again.
func execCommand(in *call, a execArgs) (string, error) {
	if a.Command == "" {
		return "", failf("failed to parse function arguments: missing field `cmd`")
	}
	if text, ok, err := in.patchBy(a.Command); ok {
		return text, err
	}
	p := &running{began: time.Now(), done: make(chan struct{})}
	if a.TTY {
		if err := p.inTerminal(in, a); err != nil {
			return "", err
		}
	} else {
		later := *in // the command may outlive the call, but not its time
		later.ctx = context.WithoutCancel(in.ctx)
		go p.recorded(&later, a)
	}
	return in.wait(p, milliseconds(integerOr(a.Yield, 10_000)))
}

func writeStdin(in *call, a struct {
	ID    any         `arg:"session_id" type:"integer" is:"required" doc:"of the command"`
	Chars string      `arg:"chars" doc:"what to type"`
	Yield json.Number `arg:"yield_time_ms" type:"integer" doc:"how long to wait; default 250"`
}) (string, error) {
	id, _ := integer(a.ID)
	all := in.running()
	all.mu.Lock()
	p := all.by[id]
	all.mu.Unlock()
	switch {
	case p == nil:
		return "", failf("write_stdin failed: Unknown process id %v", a.ID)
	case a.Chars != "" && p.terminal == nil:
		return "", failf("write_stdin failed: stdin is closed for this session; rerun exec_command with tty=true to keep stdin open")
	case a.Chars != "":
		if _, err := io.WriteString(p.terminal.Stdin, a.Chars); err != nil {
			return "", failf("write_stdin failed: %v", err)
		}
	}
	return in.wait(p, milliseconds(integerOr(a.Yield, 250)))
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
func (p *running) recorded(in *call, a execArgs) {
	defer close(p.done)
	p.end, p.err = in.shell("exec 2>&1\n"+a.Command, a.Dir, maxTimeout*time.Second)
	p.print(p.end.Stdout)
}

// inTerminal starts a command in a terminal, which the program script makes. Nothing fences it, so
// that it is refused where commands are fenced.
func (p *running) inTerminal(in *call, a execArgs) (err error) {
	if cfg := in.x.Config(); cfg.Fence != skill.FenceOff && (cfg.Helper != "" || !cfg.Unfenced) {
		return failf("exec_command failed: a command in a terminal cannot be fenced here; leave tty out")
	}
	command := a.Command
	if a.Dir != "" {
		if at, err := in.place(a.Dir, true); err != nil || at != folder {
			return failf("exec_command failed: %s is not a folder of the workspace", a.Dir)
		}
		command = "cd -- " + shellQuoted(in.x.Abs(in.s, a.Dir)) + " && { " + command + "\n}"
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
func (in *call) wait(p *running, most time.Duration) (string, error) {
	began, timer := time.Now(), time.NewTimer(most)
	defer timer.Stop()
	ended := false
	select {
	case <-p.done:
		ended = true
	case <-timer.C:
	case <-in.ctx.Done():
		return "", in.ctx.Err()
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
		return "", p.err
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
	if ended && p.terminal == nil {
		in.did = p.end
	}
	return fmt.Sprintf("Chunk ID: %s\nWall time: %.4f seconds\n%s\nOriginal token count: %d\nOutput:\n%s",
		hex.EncodeToString(chunk), time.Since(began).Seconds(), state, (len(text)+3)/4, clippedOutput(text)), nil
}

// nativePatches are OpenAI's patches: one text for several files, or an operation on one.
var nativePatches = []Tool{
	row(Tool{Name: "apply_patch", Doc: "Apply a patch: *** Begin Patch … *** End Patch.", Effect: Destroys}, applyPatch),
	row(Tool{Name: "apply_patch_call", Doc: "Create, update or delete one file by a diff.", Effect: Destroys}, patchCall),
}

// A patchOperation is an operation on one file.
type patchOperation struct {
	Type string `arg:"type" is:"required" enum:"create_file,update_file,delete_file" doc:"what to do"`
	Path string `arg:"path" is:"path,required" doc:"path in the workspace"`
	Diff string `arg:"diff" is:"content,empty" doc:"lines that begin with a blank, + or -"`
	Move string `arg:"moveTo" is:"path" doc:"the new path of a file that is updated"`
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
func applyPatch(in *call, a struct {
	Input      *string           `arg:"input" is:"content,required,empty" doc:"the patch"`
	Patch      *string           `arg:"patch" is:"content,hidden"`
	Command    any               `arg:"command" is:"content,hidden"`
	Operations *[]patchOperation `arg:"operations" is:"content,hidden"`
	Operation  *patchOperation   `arg:"operation" is:"content,hidden"`

	Type string `arg:"type" is:"hidden"`
	Path string `arg:"path" is:"path,hidden"`
	Diff string `arg:"diff" is:"content,hidden"`
	Move string `arg:"moveTo" is:"path,hidden" doc:"the new path"`
}) (string, error) {
	line, isLine := a.Command.(string)
	words := textsOf(a.Command)
	switch {
	case a.Input != nil:
		return in.patchText(*a.Input, "")
	case a.Patch != nil:
		return in.patchText(*a.Patch, "")
	case isLine:
		return in.patchText(line, "")
	case len(words) > 0:
		return in.patchText(words[len(words)-1], "")
	case a.Type != "" || a.Path != "":
		return in.patchOperations([]patchOperation{{a.Type, a.Path, a.Diff, a.Move}})
	case a.Operation != nil:
		return in.patchOperations([]patchOperation{*a.Operation})
	case a.Operations != nil:
		return in.patchOperations(*a.Operations)
	}
	return "", failf("failed to parse function arguments: missing field `input`")
}

// textsOf returns an argument that is a list of texts, nil if it is something else.
func textsOf(v any) []string {
	list, _ := v.([]any)
	texts := make([]string, 0, len(list))
	for _, e := range list {
		text, ok := e.(string)
		if !ok {
			return nil
		}
		texts = append(texts, text)
	}
	return texts
}

// patched is the answer to a patch that was applied.
func patched(began time.Time, lines []string) string {
	return fmt.Sprintf("Exit code: 0\nWall time: %s seconds\nOutput:\nSuccess. Updated the following files:\n%s\n",
		tenths(time.Since(began)), strings.Join(lines, "\n"))
}

// patchText applies a patch of one text. Its paths begin at dir, or in the session's folder.
func (in *call) patchText(text, dir string) (string, error) {
	s := in.s
	if dir != "" {
		var err error
		if s, err = in.x.Enter(in.s, dir); err != nil {
			return "", err
		}
	}
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n")), "\n")
	last := len(lines) - 1
	switch {
	case strings.TrimSpace(lines[0]) != beginPatch:
		return "", failf(notVerified+"invalid patch: The first line of the patch must be '%s'", beginPatch)
	case strings.TrimSpace(lines[last]) != endPatch:
		return "", failf(notVerified+"invalid patch: The last line of the patch must be '%s'", endPatch)
	case strings.TrimSpace(strings.Join(lines[1:last], "")) == "":
		return "", failf("patch rejected: empty patch")
	}
	if head := strings.TrimSpace(lines[1]); !slices.ContainsFunc([]string{addFile, deleteFile, updateFile},
		func(h string) bool { return strings.HasPrefix(head, h) }) {
		return "", failf(notVerified+
			"invalid hunk at line 2, '%s' is not a valid hunk header. Valid hunk headers: '%s{path}', '%s{path}', '%s{path}'",
			head, addFile, deleteFile, updateFile)
	}
	began := time.Now()
	r, err := in.x.Execute(in.ctx, s, skill.Patch{Text: strings.Join(lines, "\n")})
	if in.did = r; err != nil {
		return "", in.patchError(err, s, lines)
	}
	p := r.(skill.Patched)
	if !p.Applied {
		return dryRun(p.Change.String(), p.Changed), nil
	}
	named := map[string][]string{}
	for _, f := range p.Files {
		mark := map[string]string{"add": "A", "delete": "D"}[f.Kind]
		if mark == "" {
			mark = "M"
		}
		named[mark] = append(named[mark], mark+" "+in.name(f.Path))
	}
	return patched(began, slices.Concat(named["A"], named["M"], named["D"])), nil
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
func (in *call) patchOperations(list []patchOperation) (string, error) {
	began, lines := time.Now(), []string(nil)
	_, err := do[skill.Result](in, skill.Revise{By: func(r *skill.Revision) error {
		var names []string
		before, after := map[string]bool{}, map[string]bool{}
		for _, o := range list {
			for _, name := range []string{o.Path, o.Move} {
				if name != "" && !slices.Contains(names, name) {
					_, err := r.Text(name)
					names, before[name] = append(names, name), err == nil
				}
			}
			if err := o.change(r); err != nil {
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
	}})
	return in.changed(err, patched(began, lines))
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
func patchCall(in *call, a patchOperation) (string, error) {
	_, err := do[skill.Result](in, skill.Revise{By: a.change})
	did := map[string]string{"create_file": "Created", "update_file": "Updated", "delete_file": "Deleted"}[a.Type]
	return in.changed(err, did+" "+a.Path)
}

// change makes the change of the operation.
func (o patchOperation) change(r *skill.Revision) error {
	switch {
	case o.Path == "":
	case o.Type == "create_file":
		text, err := createdBy(o.Diff)
		if err != nil {
			return err
		}
		return because("Failed to write file "+o.Path, r.Set(o.Path, text))
	case o.Type == "update_file":
		text, err := r.Text(o.Path)
		if err != nil {
			return because("Failed to read file to update "+o.Path, err)
		}
		after, err := updatedBy(plainLines(text), o.Diff)
		if err == nil {
			err = r.Set(o.Path, likeLines(after, text))
		}
		if err == nil && o.Move != "" {
			err = r.Rename(o.Path, o.Move)
		}
		return err
	case o.Type == "delete_file":
		return because("Failed to delete file "+o.Path, r.Remove(o.Path))
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
func (in *call) patchBy(command ...string) (text string, ok bool, err error) {
	dir, patch, ok := patchIn(command)
	if ok {
		text, err = in.patchText(patch, dir)
	}
	return text, ok, err
}
