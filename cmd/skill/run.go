package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"textskill/internal/usage"
	"textskill/skill/agent"
	"textskill/skill/agent/trace"
)

const runLong = `run gives a query to an expert of perstack.toml, and prints what the expert does. On a
terminal it prints text. Elsewhere, or with --json, it prints a line of JSON for each event.
With "-" as the query, or with a pipe, run reads the query from standard input.

The expert works until it is done, --max-steps is reached, or you interrupt it. run records
every step in perstack/runs. --continue goes on from the last step, with or without a query.

run takes the provider of the model from the first of these that names one: --provider,
perstack.toml, a base URL of OpenAI, and the model's name, if the key of its provider is
set. Else it takes openai. -v prints the choice. These variables set keys and addresses:

  openai     OPENAI_API_KEY, OPENAI_BASE_URL; also for any OpenAI-compatible endpoint
  anthropic  ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL
  google     GOOGLE_API_KEY or GEMINI_API_KEY, GOOGLE_GEMINI_BASE_URL
  deepseek   DEEPSEEK_API_KEY, DEEPSEEK_BASE_URL
  ollama     OLLAMA_BASE_URL (default http://localhost:11434/v1)

run reads them from the environment, then from .env and .env.local of the workspace.
A workspace can set endpoints, keys and commands only after "skill trust".`

const runExample = `  skill run file-organizer "Organize files in this directory by type" --max-steps 50
  skill run file-organizer --continue --max-steps 50
  skill run file-organizer "and now the archives" --continue-run c3b5wj…
  skill run file-organizer "Blue" --continue -i
  git diff | skill run reviewer --output-schema findings.json --last-message out.json`

// runOptions are the flags of skill run.
type runOptions struct {
	projectOptions
	endpointOptions
	set         *configuration
	expert      string // that is given the query; "" if the person is asked
	reasoning   string
	provider    string
	api         string
	model       string
	temperature string
	maxSteps    string
	maxRetries  string
	timeout     string
	window      int
	modelTools  string
	maxText     int
	json        bool
	verbose     bool
	runID       string
	last        bool
	lastOf      string
	from        string
	ask         string
	files       bool
	takeOver    bool
	answer      bool
	maxWait     time.Duration
	lastMessage string
	schema      string
	budget      agent.Budget
	prices      string
	record      string

	trustWorkspace bool
}

func (c *cli) runCommand(set *configuration) *cobra.Command {
	r := runOptions{set: set}
	cmd := &cobra.Command{
		Use:               "run [flags] EXPERT [QUERY]",
		Short:             "Give a query to an expert, an agent that perstack.toml defines",
		Long:              runLong,
		Example:           runExample,
		Args:              usage.Arguments(1, 2, "EXPERT: the name of an expert in perstack.toml"),
		ValidArgsFunction: r.completeExpert,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.failed(c.runExpert(cmd, &r, args))
		},
	}
	r.addFlags(cmd)
	cmd.Flags().StringVar(&r.record, "record", "",
		"at the end, write the run to the golden `FILE`, which \"skill test\" plays")
	return cmd
}

// instead says what to type for flags of Perstack's manual that are not here.
var instead = map[string]string{
	"job-id":       "a run has no job; --run-id names it",
	"continue-job": "a run has no job; --continue-run ID continues it",
	"job":          "a run has no job; --run ID names it",
	"runtime":      "leave it out: experts run in this program, and their commands in its sandbox",
	"env":          "leave it out: a skill gets the variables that its requiredEnv names",
	"delegations":  "use --type callDelegate",
	"filter":       "use --json, and filter its lines by jq",
	"pretty":       "leave it out; only --json is not for people",
	"offset":       "use --take 0, and head or tail",
	"context":      "use --take 0, and grep -C",
	"messages":     "use --checkpoint ID, which has all messages",
	"summary":      "leave --run out: the list of runs has a line for each",
}

// perstackFlag words what pflag reports, and what to type for a flag of Perstack.
func perstackFlag(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok &&
		instead[unknown.GetSpecifiedName()] != "" {
		return fmt.Errorf("there is no --%s: %s", unknown.GetSpecifiedName(),
			instead[unknown.GetSpecifiedName()])
	}
	return usage.FlagError(cmd, err)
}

// continued reports whether the flags name a run to continue.
func (r *runOptions) continued() bool { return r.last || r.lastOf != "" || r.from != "" }

// addFlags gives cmd the flags of a run.
func (r *runOptions) addFlags(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(perstackFlag)
	f := cmd.Flags()
	r.addProject(f)
	f.BoolVar(&r.trustWorkspace, "trust-workspace", false,
		"for this run, trust the settings and commands that \"skill help trust\" lists")
	f.StringVar(&r.provider, "provider", "",
		"ask the model provider `NAME`: openai (any compatible endpoint), anthropic, google (default as in \"skill help run\")")
	r.api = "auto"
	f.Var(choice[string]{&r.api, "API", []string{"auto", "chat", "responses"}}, "openai-api",
		"use this API of the provider openai: chat, responses, auto (responses for reasoning models at OpenAI's own address)")
	f.StringVar(&r.model, "model", "",
		"use the model `NAME` (default the one in perstack.toml, then --skill-model)")
	f.StringVar(&r.temperature, "temperature", "",
		"sample the model at temperature `T`: 0 to 2, or \"default\" to leave it to the endpoint (default 0)")
	f.Var(reasoning{&r.reasoning}, "reasoning-budget", "let the model think this much: "+
		strings.Join(agent.ReasoningBudgets, ", ")+
		", or a number of tokens (default from perstack.toml, else the model's own)")
	f.IntVar(&r.window, "context-window", 0,
		"compact the conversation to fit a context window of `N` tokens (default the model's, if known)")
	f.Var(choice[string]{&r.modelTools, "HOW", []string{"native", agent.TextTools}}, "model-tools",
		"offer tools to the model: native, or text for a model without tools (default native, or what its endpoint was found to take)")
	f.StringVar(&r.maxSteps, "max-steps", "", "stop after `N` steps (default no limit)")
	f.IntVar(&r.budget.Tokens, "max-tokens", 0, "stop after `N` tokens of requests and answers (0: no limit)")
	f.Float64Var(&r.budget.Cost, "max-cost", 0, "stop after spending `DOLLARS` on the model (0: no limit)")
	f.StringVar(&r.prices, "prices", "",
		"read prices of models from `FILE`: {\"MODEL\":{\"input\":2.5,\"output\":10}}, per million tokens (default list prices of "+agent.PricesDate+")")
	f.Var(duration{&r.budget.Time}, "max-time", "stop after this long (0: no limit)")
	f.IntVar(&r.budget.EqualCalls, "max-equal-calls", 25,
		"stop when the model makes the same call `N` times in a row, or goes round in a few calls (0: no limit)")
	f.StringVar(&r.maxRetries, "max-retries", "",
		"retry a failed request to the model up to `N` times (default 5)")
	r.maxWait = agent.DefaultMaxWait
	f.StringVar(&r.timeout, "timeout", "",
		"give up on an answer of the model after `MS` milliseconds of silence (default 300000)")
	f.Var(duration{&r.maxWait}, "max-wait", "wait for the model's endpoint as long as it asks, up to this")
	f.StringVar(&r.lastMessage, "last-message", "", "write the final report to `FILE`")
	f.StringVar(&r.schema, "output-schema", "",
		"require a final report in JSON that fits the JSON Schema in `FILE`")
	f.StringVar(&r.runID, "run-id", "", "give a new run this `ID`")
	f.BoolVar(&r.last, "continue", false, "continue the latest run")
	f.StringVar(&r.lastOf, "continue-run", "", "continue the run `ID`")
	f.StringVar(&r.from, "resume-from", "", "continue from `CHECKPOINT`: an ID, or TIMESTAMP-STEP-ID")
	f.Var(choice[string]{&r.ask, "WHAT", append(slices.Clip(asks), askHosts)}, "ask",
		"ask before calls that `WHAT`: destroy (replace or remove), change or never; or hosts: ask after a command about hosts that were refused (default destroy in start on a terminal, else never)")
	f.BoolVar(&r.files, "files", false,
		"with --resume-from, first undo the run's changes of files after CHECKPOINT")
	f.BoolVar(&r.takeOver, "take-over", false,
		"continue a run whose process has died, where the system has no file locks to say so")
	f.BoolVarP(&r.answer, "interactive-tool-call-result", "i", false,
		"use the query as the answer to the tool call that the run waits for")
	r.addWorkspace(f)
	r.addUndo(f)
	only(f, r.addSandbox, "fence", "fence-read", "fence-write", "limit-file", "limit-memory",
		"limit-processes")
	only(f, r.addNetwork, "network", "allow-domain", "deny-domain", "allow-local")
	r.addEndpoint(f)
	addMaxText(f, &r.maxText)
	addJSON(f, &r.json)
	addVerbose(f, &r.verbose)
}

// runExpert is skill run.
func (c *cli) runExpert(cmd *cobra.Command, r *runOptions, args []string) error {
	ctx := cmd.Context()
	r.expert = args[0]
	cfg, err := r.prepare(ctx, c)
	if err != nil {
		return err
	}
	defer cfg.Executor.Close()
	cfg.Expert = r.expert
	query, err := c.query(ctx, r, args)
	if err != nil {
		return err
	}
	var made *recording
	if r.record != "" {
		if made, err = c.recordRun(cmd, r, &cfg); err != nil {
			return err
		}
	}
	run := c.printEvents
	people := onTerminal(c.stdout) && !r.json
	switch {
	case people:
		run = c.show
	case c.agent != nil && !r.json:
		run = c.transcript
	}
	var ask func(string) (string, error)
	if people && isTerminal(c.stdin) {
		ask = c.asker(ctx)
	}
	c.setGate(&cfg, r, askNever, ask)
	last, err := run(ctx, cfg, query)
	if made != nil {
		made.add("run", r.expert+" "+query+"\n")
		err = errors.Join(err, c.finish(ctx, made))
	}
	switch {
	case errors.Is(err, errUnasked) || errors.Is(err, errRuled):
		return c.unasked(cfg, r, last.RunID, err)
	case err != nil:
		return c.ended(ctx, cfg, last.RunID, err)
	}
	return c.afterRun(cfg, r, last, people)
}

// afterRun writes the report, and says how a run that has stopped goes on. people says that its events
// were shown to a person.
func (c *console) afterRun(cfg agent.Config, r *runOptions, last agent.Event, people bool) error {
	if last.Type == agent.CompleteRun && last.ExpertKey == cfg.Expert && r.lastMessage != "" {
		if err := os.WriteFile(r.lastMessage, []byte(*last.Text), 0o666); err != nil {
			return err
		}
	}
	if last.Type == agent.StopRunByExceededMaxSteps && last.Reason != "" && !people {
		c.sayf("stopped: %s; --continue goes on", last.ReasonText())
	}
	if people {
		c.howToGoOn(cfg, r, last)
	}
	if last.Type == agent.StopRunByDelegate || last.Type == agent.CompleteRun &&
		last.ExpertKey != cfg.Expert {
		c.say("out of steps before the delegate's result was used; --continue resumes there")
	}
	return nil
}

// howToGoOn shows a person what a run waits for, and the line that continues it.
func (c *console) howToGoOn(cfg agent.Config, r *runOptions, last agent.Event) {
	switch {
	case last.Type == agent.StopRunByInteractiveTool && len(last.Checkpoint.PendingToolCalls) > 0:
		c.showQuestion(last.Checkpoint)
		fmt.Fprintf(c.stdout, "\nto answer: %s\n",
			c.again(&r.workspaceOptions, "run", cfg.Expert, "ANSWER", "--continue-run", last.RunID, "-i"))
	case last.Type == agent.StopRunByExceededMaxSteps:
		fmt.Fprintf(c.stdout, "to go on: %s\n", c.again(&r.workspaceOptions, "run", cfg.Expert, "--continue-run", last.RunID))
	}
}

// unasked says how to go on after a call that nobody could be asked about.
func (c *console) unasked(cfg agent.Config, r *runOptions, runID string, err error) error {
	how := "--ask never does it; so does allow under [tools] in " + c.rulesToEdit()
	if errors.Is(err, errRuled) {
		how = "asks you on a terminal; elsewhere, " + c.notToAsk("the tool") + " first"
	}
	c.sayf("%s\n%s %s", cfg.Redactor().Text(err.Error()),
		c.again(&r.workspaceOptions, "run", cfg.Expert, "--continue-run", runID), how)
	return exit(exitConfirm)
}

// query returns the query of the command line, or of standard input where that is "-" or,
// for a new run, left out.
func (c *console) query(ctx context.Context, r *runOptions, args []string) (string, error) {
	continued := r.continued()
	if len(args) > 1 && args[1] != "-" {
		return args[1], nil
	}
	if len(args) < 2 && continued {
		return "", nil
	}
	text, err := "", error(nil)
	if !isTerminal(c.stdin) || len(args) > 1 {
		text, err = c.readInput(ctx, "a query")
	}
	text = strings.TrimRight(text, "\r\n")
	if text == "" && err == nil && len(args) < 2 {
		return "", errors.New("error: missing required argument 'query'") // in the original's words
	}
	return text, err
}

// printEvents runs an expert and prints each event as a line of JSON. It returns the last one.
func (c *console) printEvents(ctx context.Context, cfg agent.Config, query string) (last agent.Event, err error) {
	return c.eachEvent(ctx, cfg, query, func(e agent.Event) error { return c.printJSON(e) })
}

// eachEvent runs an expert and calls print with each event. It returns the last one.
func (c *console) eachEvent(ctx context.Context, cfg agent.Config, query string,
	print func(agent.Event) error) (last agent.Event, err error) {
	for e, err := range c.events(ctx, cfg, query) {
		if err == nil {
			last = e
			err = print(e)
		}
		if err != nil {
			return last, err
		}
	}
	return last, nil
}

// events runs an expert. If the environment names a collector of OpenTelemetry, it is sent
// the spans of the run at its end.
func (c *console) events(ctx context.Context, cfg agent.Config, query string) iter.Seq2[agent.Event, error] {
	recorder, err := trace.New(c.getenv, cfg)
	if err != nil {
		c.say(err)
	}
	if recorder == nil {
		return agent.Run(ctx, cfg, query)
	}
	cfg.Traceparent = recorder.Traceparent
	return func(yield func(agent.Event, error) bool) {
		var failed error
		defer func() {
			if err := recorder.Close(failed); err != nil {
				c.say(cfg.Redactor().Text(err.Error()))
			}
		}()
		for e, err := range agent.Run(ctx, cfg, query) {
			if failed = err; err == nil {
				recorder.Event(e)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// prepare returns what a run needs, except for the expert. The caller closes the
// executor.
func (r *runOptions) prepare(ctx context.Context, c *cli) (cfg agent.Config, err error) {
	w, err := r.stranger(c)
	if err != nil {
		return cfg, err
	}
	if r.expert != "" && !r.continued() {
		if _, err := w.project.Expert(r.expert); err != nil {
			if w.project.Near(r.expert) != "" {
				return cfg, err
			}
			return cfg, fmt.Errorf("%w\nto run a command of yours: %s exec -- COMMAND", err, c.program())
		}
	}
	if cfg, err = r.runConfig(c, w); err != nil {
		return cfg, err
	}
	r.KeepHelper = true
	if cfg.Executor, err = c.executor(&r.workspaceOptions); err != nil {
		return cfg, err
	}
	if err = r.resume(ctx, &cfg); err != nil {
		cfg.Executor.Close()
	}
	return cfg, err
}

// ended turns the error of a run into the error of the program. The ID is "" if no
// run has begun.
func (c *console) ended(ctx context.Context, cfg agent.Config, runID string, err error) error {
	if ctx.Err() == nil && !errors.Is(err, errInterrupted) {
		return errors.New(cfg.Redactor().Text(err.Error()))
	}
	if runID != "" {
		c.say("stopped; --continue resumes where it stopped")
	}
	by := syscall.SIGINT
	if stop, ok := errors.AsType[stopSignal](context.Cause(ctx)); ok {
		by = stop.Signal.(syscall.Signal)
	}
	return exit(128 + int(by)) // as a shell has it of a program that a signal ended
}

// resume sets where the flags say that a run is continued.
func (r *runOptions) resume(ctx context.Context, cfg *agent.Config) error {
	switch {
	case r.files && r.from == "":
		return errors.New("--files takes the files back to a checkpoint; name it with --resume-from")
	case r.continued():
	case r.answer:
		return errors.New("-i answers a run that waits; name it with --continue, --continue-run or --resume-from")
	default:
		return nil
	}
	records, run := agent.Records{Executor: cfg.Executor}, r.lastOf
	if run == "" {
		runs, err := records.Runs(ctx)
		if err != nil {
			return err
		}
		if len(runs) == 0 {
			//lint:ignore ST1005 the wording of the original runtime
			return errors.New("No runs found")
		}
		run = runs[0].RunID
	}
	if r.from == "" {
		cfg.Continue = run
		return nil
	}
	records, _, err := records.Confirmed(run)
	if err != nil {
		return err
	}
	from, err := records.Checkpoint(ctx, run, r.from)
	cfg.From, cfg.Files = &from, r.files
	return err
}
