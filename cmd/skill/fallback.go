package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/pflag"

	"textskill/llmfallback"
	"textskill/skill"
	"textskill/skill/dialect"
)

// baseURLFlag is what errors call the base URL that the flag gives.
const baseURLFlag = "--openai-base-url"

// endpointOptions name an endpoint that is compatible with OpenAI's, and a model there.
type endpointOptions struct{ baseURL, keyFile, modelName string }

func (e *endpointOptions) addEndpoint(f *pflag.FlagSet) {
	f.StringVar(&e.baseURL, "openai-base-url", "",
		"ask the model at `URL`, any OpenAI-compatible endpoint (default $OPENAI_BASE_URL)")
	f.StringVar(&e.keyFile, "openai-api-key-file", "",
		"send the key in `FILE` to the model's endpoint (default $OPENAI_API_KEY)")
	f.StringVar(&e.modelName, "skill-model", "", "use the model `NAME` (default $SKILL_MODEL)")
}

// givenKey returns the key in the file of --openai-api-key-file, "" without the flag.
func (e *endpointOptions) givenKey() (string, error) {
	if e.keyFile == "" {
		return "", nil
	}
	return secretIn(e.keyFile, "--openai-api-key-file", "key", readRegular)
}

// fallbackOptions say how plain words are read. Flags set the fields of [llmfallback.Config]
// directly.
type fallbackOptions struct {
	endpointOptions
	llm llmfallback.Config
}

func (o *fallbackOptions) addFallback(f *pflag.FlagSet) {
	o.llm.Mode, o.llm.Policy, o.llm.Model.Timeout = llmfallback.Auto, llmfallback.Ask, 0
	f.Var(choice[llmfallback.Mode]{&o.llm.Mode, "MODE", []string{"auto", "rules", "llm", "none"}},
		"fallback", "read plain words (a request in English) by rules, by the model (llm), by rules and then the model (auto), or not at all (none)")
	o.addEndpoint(f)
	f.BoolVar(&o.llm.Trust, "trust-llm", false, "carry out the model's first answer without checks")
	f.Var(choice[llmfallback.Policy]{&o.llm.Policy, "POLICY", []string{"ask", "refuse", "allow"}},
		"llm", "when plain words may mean to delete or overwrite: ask (y/N on a terminal, else exit code 3), refuse, allow")
	f.Var(choice[string]{&o.llm.Model.Rung, "MODE", []string{"json_schema", "json_object", "tool", "text"}},
		"llm-mode", "how to ask the model for an answer first: json_schema, json_object, tool, text (default found by trying)")
	f.Var(duration{&o.llm.Model.Timeout}, "llm-timeout",
		"give up on a prompt after this long, all requests to the model included (default 20s, or 60s for a model on this machine)")
	f.IntVar(&o.llm.MaxCalls, "llm-max-calls", 0, "send the model at most `N` requests (0: no limit)")
	f.IntVar(&o.llm.MaxTokens, "llm-max-tokens", 0, "use at most `N` tokens of the model (0: no limit)")
}

// interpreter returns what reads a prompt that is not a command; nil if nothing does.
func (o *promptOptions) interpreter(c *cli, x *skill.Executor) (dialect.Fallback, error) {
	key, err := o.givenKey()
	if err != nil {
		return nil, err
	}
	cfg := o.llm
	cfg.Model.BaseURL = cmp.Or(o.baseURL, c.getenv("OPENAI_BASE_URL"))
	if o.baseURL != "" {
		cfg.Model.BaseURLFrom = baseURLFlag
	}
	cfg.Model.Key = cmp.Or(key, c.getenv("OPENAI_API_KEY"))
	cfg.Model.Name = cmp.Or(o.modelName, c.getenv("SKILL_MODEL"))
	cfg.Stat = folderAt(x)
	if c.agent != nil {
		cfg.Complete = c.agent.complete
	}
	if cfg.Model.Key != "" {
		if err := skill.Undumpable(); err != nil {
			return nil, err
		}
	}
	extractor, err := llmfallback.New(cfg)
	if err != nil {
		wrong := err
		cfg.Model = llmfallback.Model{} // a model that cannot be asked does not keep commands from running
		if _, err := llmfallback.New(cfg); err != nil {
			return nil, err
		}
		return func(context.Context, string, string) (dialect.Extraction, error) {
			return dialect.Extraction{}, &dialect.Failure{Message: wrong.Error(), Cause: wrong}
		}, nil
	}
	i := &interpreter{console: &c.console, o: o, x: x, extractor: extractor}
	return i.read, nil
}

// An interpreter reads prompts in plain words for a person or a program.
type interpreter struct {
	*console
	o         *promptOptions
	x         *skill.Executor
	extractor *llmfallback.Extractor
	told      atomic.Bool // that no model is set
}

// read implements [dialect.Fallback].
func (i *interpreter) read(ctx context.Context, prompt, operation string) (dialect.Extraction, error) {
	if flag := lastFlag(prompt); flag != "" && !llmfallback.Read(prompt).Answered {
		return dialect.Extraction{}, &dialect.Failure{Message: "the request ends with the flag " + flag,
			Hint: "nothing was done; flags count before the request: " + i.program() + " " + flag + " …"}
	}
	r, err := i.extractor.Extract(ctx, prompt)
	if i.o.verbose {
		i.explain(r, err)
	}
	confirm, asks := errors.AsType[*llmfallback.ConfirmError](err)
	if asks && i.o.llm.Policy == llmfallback.Ask && i.confirmed(ctx, r.Via, confirm) {
		r.Extraction, r.Lines, err = confirm.Extraction, confirm.Lines, nil
	}
	if r.Lines && r.Operation == "writeFile" {
		r.Content += "\n"
	}
	if err == nil && !i.o.llm.Trust && r.Via == "llm" && r.Path == "" {
		return dialect.Extraction{}, &dialect.Failure{Message: "Invalid input: operation and path are required.",
			Hint: "the model's answer has no path; name the file in the request"}
	}
	e := dialect.Extraction{Operation: r.Operation, Path: r.Path, Content: r.Content,
		Destination: r.Destination, Lines: r.Lines, Via: r.Via}
	return e, i.worded(err, prompt, operation, r.Via)
}

// lastFlag returns the flag that a request ends with, with its value if it has one; "" for none.
func lastFlag(prompt string) string {
	words := strings.Fields(prompt)
	for n, word := range slices.Backward(words[max(0, len(words)-2):]) {
		name, ok := strings.CutPrefix(word, "--")
		name, _, _ = strings.Cut(name, "=")
		for _, s := range (&promptOptions{}).subjects() {
			if f := s.flags.Lookup(name); ok && f != nil && (n > 0 || len(words) < 2 || f.NoOptDefVal == "") {
				return strings.Join(words[max(0, len(words)-2)+n:], " ")
			}
		}
	}
	return ""
}

// explain says for -v who read the prompt, as what, and what a model cost.
func (i *interpreter) explain(r llmfallback.Result, err error) {
	t := r.Telemetry
	command, refused := r.Extraction, ""
	if confirm, asks := errors.AsType[*llmfallback.ConfirmError](err); asks {
		command, refused = confirm.Extraction, ", and that needs to be confirmed"
	}
	switch {
	case t.Attempts > 0:
		tokens := ""
		if t.PromptTokens != nil && t.CompletionTokens != nil {
			tokens = fmt.Sprintf(" and used %d tokens", *t.PromptTokens+*t.CompletionTokens)
		}
		i.sayf("the model %s was asked in %s, took %s%s", cmp.Or(t.Model, i.o.modelName, i.getenv("SKILL_MODEL"), "of the endpoint"),
			requests(t.Attempts), t.Latency.Round(time.Millisecond), tokens)
		if len(t.Repairs) > 0 {
			i.say("the answer of the model was repaired:", strings.Join(t.Repairs, ", "))
		}
	case r.Via == "" && command.Operation == "":
		i.say("the rules did not understand the prompt, and no model was asked")
	}
	who := map[string]string{"rules": "the rules", "llm": "the model"}[r.Via]
	if command.Operation != "" && who != "" && (err == nil || refused != "") {
		i.sayf("%s read the prompt as: %s%s", who, oneLine(command.Command(), maxAsked), refused)
	}
}

func requests(n int) string {
	if n == 1 {
		return "one request"
	}
	return fmt.Sprintf("%d requests", n)
}

// worded turns what the extractor reports into what a person reads: how far the prompt was
// understood, what a model proposed, or that no model is set.
func (i *interpreter) worded(err error, prompt, operation, via string) error {
	confirm, asks := errors.AsType[*llmfallback.ConfirmError](err)
	wrong, isArgument := errors.AsType[*llmfallback.ArgumentError](err)
	known := dialect.Achilles.Lookup(operation)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, llmfallback.ErrSilent):
		return i.silent(err, prompt, operation)
	case asks:
		f := &dialect.Failure{Message: confirm.Reason, Hint: "nothing was done; ", Cause: err}
		if via == "llm" {
			f.Message = "the model proposed " + oneLine(confirm.Command, lineWidth) + "; " + confirm.Reason
			flag := "--trust-llm"
			if confirm.Allowed {
				flag = "--llm allow"
			}
			f.Hint += flag + " before the request lets the model do it; "
		}
		f.Hint += "to do it, type: " + i.typed(&i.o.workspaceOptions, confirm.Extraction)
		return f
	case isArgument:
		f := &dialect.Failure{Message: err.Error(), Code: wrong.Code(), Cause: err}
		if wrong.Got == "" {
			f.Hint = "say it in the command: " + wrong.Operation + " PATH content: TEXT"
		}
		return f
	case i.o.llm.Trust && !errors.Is(err, llmfallback.ErrNotArray):
		return err
	case errors.Is(err, llmfallback.ErrUnavailable), errors.Is(err, llmfallback.ErrBudget):
		f := &dialect.Failure{Message: oneLine(err.Error(), maxAsked),
			Hint: cmp.Or(i.useInstead(operation), i.understood(&i.o.workspaceOptions, prompt)), Cause: err}
		if errors.Is(err, context.DeadlineExceeded) {
			f.Hint = `llm-timeout = "2 minutes" in skill.toml waits longer`
		}
		return f
	}
	cause := "the model's answer was not used: " + strings.Join(strings.Fields(err.Error()), " ")
	if known != nil && !errors.Is(err, llmfallback.ErrNotArray) {
		return &dialect.Failure{Message: "Invalid input: operation and path are required.",
			Hint: known.Usage() + " (" + cause + ")", Cause: err}
	}
	return &dialect.Failure{Message: "Unknown operation: " + operation,
		Hint: strings.TrimSuffix(cause+"\n"+i.understood(&i.o.workspaceOptions, prompt), "\n"), Cause: err}
}

// silent returns the error of a prompt that nobody understood.
func (i *interpreter) silent(err error, prompt, operation string) error {
	f := &dialect.Failure{Message: "Unknown operation: " + operation, Hint: i.understood(&i.o.workspaceOptions, prompt), Cause: err}
	use := dialect.Achilles.Meaning(i.x, prompt)
	if read := strings.HasPrefix(f.Hint, "I understood "); use != "" && i.useInstead(operation) == "" &&
		!(read && strings.HasPrefix(use, "did you mean ")) {
		f.Hint = use
		return f
	}
	if use := i.useInstead(operation); use != "" && (f.Hint == "" || strings.HasPrefix(f.Hint, "type: ")) {
		f.Hint = use
		return f
	}
	if f.Hint == "" && strings.Contains(prompt, "tool_calls") {
		f.Hint = "calls in the text of a model are read with --tools filesystem"
		return f
	}
	unset := errors.Is(err, llmfallback.ErrNoModel)
	switch {
	case i.o.llm.Mode == llmfallback.None, dialect.Achilles.Lookup(operation) != nil, f.Hint == "" &&
		dialect.Nearest(operation, dialect.Achilles) != nil:
		return fmt.Errorf("%w: %w", dialect.ErrSilent, err)
	case f.Hint == "" && unset && i.told.CompareAndSwap(false, true):
		f.Hint = "no model is set: to have one read such prompts, set OPENAI_BASE_URL or OPENAI_API_KEY, and SKILL_MODEL; a command is like: " + i.program() + " readFile a.txt"
	case f.Hint == "":
		f.Hint = "nothing in it is understood; a command is like: " + i.program() + " readFile a.txt"
	case unset && !strings.HasPrefix(f.Hint, "type: ") && i.told.CompareAndSwap(false, true):
		f.Hint += ", or set a model that reads it: OPENAI_BASE_URL, SKILL_MODEL"
	}
	return f
}

// understood says how far the rules read a prompt, and what to type, "" if they read nothing.
func (c *console) understood(w *workspaceOptions, prompt string) string {
	r := llmfallback.Read(prompt)
	switch {
	case r.Subcommand != "":
		return "type: " + c.again(w, r.Subcommand)
	case r.Why == "":
		return ""
	}
	return r.Why + "; type: " + c.typed(w, r.Nearest)
}

// typed returns the line for a shell that does e.
func (c *console) typed(w *workspaceOptions, e llmfallback.Extraction) string {
	name := e.Path
	if strings.HasPrefix(name, "-") {
		name = "./" + name
	}
	words := append(w.placeFlags(), e.Operation, name)
	switch {
	case e.HasContent:
		words = append(words, "content:", e.Content)
	case e.Destination != "":
		words = append(words, "destination:", e.Destination)
	}
	return shellLine(c.program(), words)
}

// confirmed asks the person at the terminal whether to do what needs to be confirmed. The terminal
// itself is asked, for standard input may be the prompt.
func (i *interpreter) confirmed(ctx context.Context, via string, c *llmfallback.ConfirmError) bool {
	if i.o.json {
		return false
	}
	who := "understood: "
	if via == "llm" {
		who = "the model proposed: "
	}
	return i.asks(ctx, fmt.Sprintf("%s%s\n%s. Do it?", who, i.typed(&i.o.workspaceOptions, c.Extraction), c.Reason))
}

// asks puts a question to the person at the terminal, and reports whether the answer is yes. Without a
// terminal it asks nothing.
func (c *console) asks(ctx context.Context, question string) bool {
	if !onTerminal(c.stderr) && !isTerminal(c.stdin) || runtime.GOOS == "windows" {
		return false
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	out := newOutput(tty) // which shows no control characters
	fmt.Fprint(out, question+" [y/N] ")
	reply := make(chan string, 1)
	go func() { // it ends with the line, at the latest with the program
		line, _ := bufio.NewReader(io.LimitReader(tty, 1<<10)).ReadString('\n')
		reply <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case text := <-reply:
		return text == "y" || text == "yes"
	case <-ctx.Done():
		return false
	}
}

// folderAt returns a function that reports whether a path is a directory.
func folderAt(x *skill.Executor) func(path string) (folder bool, err error) {
	return func(path string) (bool, error) {
		r, err := x.Execute(context.Background(), &skill.Session{}, skill.Stat{Path: path})
		if err != nil {
			return false, err
		}
		return r.(skill.Described).Info.IsDir(), nil
	}
}

// A scriptedAgent answers with its replies one after another, for golden files and
// tests.
type scriptedAgent struct {
	replies []string
	err     error    // instead of a reply
	prompts []string // what it was asked so far
}

func (a *scriptedAgent) complete(_ context.Context, prompt string) (string, error) {
	a.prompts = append(a.prompts, prompt)
	if a.err != nil {
		return "", a.err
	}
	if len(a.prompts) > len(a.replies) {
		return "", io.ErrUnexpectedEOF
	}
	return a.replies[len(a.prompts)-1], nil
}
