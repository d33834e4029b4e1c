package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"textskill/internal/usage"
	"textskill/skill"
	"textskill/skill/agent"
)

const startLong = `start is a conversation with an expert. It asks which expert you want, and what to do,
unless you say so. It prints what the model says and does, and asks you the questions of
tools. Then it asks what to do next. Ctrl-C interrupts the model or its tools. An empty
line or /exit ends the conversation. start has the flags of "skill run".

Between queries, /undo takes back the last change, and /diff and /history show changes.
They have the arguments of the commands undo, diff and history. /help lists them.`

// talkHelp is what /help prints.
const talkHelp = `  /undo [ID]     take back the last change of this workspace, or the change ID
  /diff [ID]     show the last change of this workspace, or the change ID
  /history       list the changes
  /help          print this
  /exit          end the conversation
An empty line ends the conversation. Everything else is for the expert.
`

// typedBare are words that a person may mean as commands.
var typedBare = []string{"help", "exit", "quit", "undo", "diff", "history"}

// commanded asks a person until the reply is for the expert, and carries out the commands
// that come before it.
func (c *cli) commanded(ctx context.Context, r *runOptions, x *skill.Executor,
	ask func(string) (string, error)) func(string) (string, error) {
	return func(question string) (string, error) {
		for doubted := ""; ; {
			reply, err := ask(question)
			if err != nil {
				return reply, err
			}
			if slices.Contains(typedBare, reply) && reply != doubted {
				c.sayf("/%s is the command; to say %[1]q to the expert, type it again", reply)
				doubted = reply
				continue
			}
			words := typedCommand(reply)
			if words == nil {
				return reply, nil
			}
			if err := c.runTyped(ctx, r, x, words); err != nil {
				return "", err
			}
		}
	}
}

// typedCommand returns the words of a command like /undo 12 or :q. It returns nil if the reply is
// for the expert, like a path or a sentence that begins with a slash.
func typedCommand(reply string) []string {
	words := strings.Fields(reply)
	if len(words) == 0 {
		return nil
	}
	name, slash := strings.CutPrefix(words[0], "/")
	name, colon := strings.CutPrefix(name, ":")
	known := slices.Contains(append(typedBare, "q"), name)
	alone := slash && !colon && len(words) == 1 // a path has another slash
	if known && slash != colon || alone && !strings.Contains(name, "/") {
		words[0] = name
		return words
	}
	return nil
}

// runTyped carries out a command of a conversation. The error is errLeft for the one that ends it.
func (c *cli) runTyped(ctx context.Context, r *runOptions, x *skill.Executor, words []string) error {
	switch words[0] {
	case "undo", "history":
	case "diff":
		if list := changesOf(ctx, x).List; len(words) == 1 && len(list) > 0 {
			words = append(words, list[0].ID)
		} else if len(words) == 1 {
			words[0] = "history" // which says that there are no changes
		}
	case "exit", "quit", "q":
		return errLeft
	case "help":
		_, err := fmt.Fprint(c.stdout, talkHelp)
		return err
	default:
		c.sayf("there is no command /%s; /help lists them", words[0])
		return nil
	}
	c.execute(ctx, slices.Concat(words[:1], r.placeFlags(), words[1:]))
	return nil
}

func (c *cli) startCommand(set *configuration) *cobra.Command {
	r := runOptions{set: set}
	cmd := &cobra.Command{
		Use: "start [flags] [EXPERT] [QUERY]", Short: "Talk with an expert, query by query", Long: startLong,
		Example: "  skill start\n  skill start file-organizer\n  skill start file-organizer --continue",
		Args:    usage.Arguments(0, 2, ""), ValidArgsFunction: r.completeExpert,
		RunE: func(cmd *cobra.Command, args []string) error { return c.failed(c.start(cmd.Context(), &r, args)) },
	}
	r.addFlags(cmd)
	return cmd
}

// errLeft says that the person has ended the conversation.
var errLeft = errors.New("the conversation was ended")

// A talk is the conversation of a person with an expert.
type talk struct {
	*cli
	cfg     agent.Config
	records agent.Records
	ask     func(question string) (string, error)
	steps   *interrupter
	last    *agent.Checkpoint // that the next query goes on from; nil for none
}

// start is skill start.
func (c *cli) start(ctx context.Context, r *runOptions, args []string) error {
	if len(args) > 0 {
		r.expert = args[0]
	}
	cfg, err := r.prepare(ctx, c)
	if err != nil {
		return err
	}
	defer cfg.Executor.Close()
	ctx, steps := c.interruptible(ctx)
	ask := c.asker(ctx)
	when := askNever
	if editable(c.stdin) {
		when = askDestroy
	}
	c.setGate(&cfg, r, when, ask)
	cfg.Talk = true
	t := &talk{c, cfg, agent.Records{Executor: cfg.Executor}, c.commanded(ctx, r, cfg.Executor, ask),
		steps, cfg.From}
	query, err := t.begin(ctx, args)
	for err == nil {
		var over bool
		if over, err = t.turn(ctx, query); over {
			return err
		}
		if err == nil {
			query, err = t.ask(c.nextQuestion(&t.cfg, t.last))
		}
	}
	return left(err)
}

// begin returns the first query, and asks for what the arguments leave open.
func (t *talk) begin(ctx context.Context, args []string) (query string, err error) {
	if t.cfg.Continue != "" {
		if t.last, err = latest(ctx, t.records, t.cfg.Continue); err != nil {
			return "", err
		}
	}
	if len(args) > 0 {
		t.cfg.Expert = args[0]
	} else if t.cfg.Expert, err = t.whichExpert(ctx, t.cfg, t.last, t.ask); err != nil {
		return "", err
	}
	if t.cfg.From != nil && !t.cfg.Files {
		if t.cfg.Files, err = t.wantsFiles(ctx, t.cfg, t.ask); err != nil {
			return "", err
		}
	}
	question := t.nextQuestion(&t.cfg, t.last)
	isNew := t.last == nil && t.cfg.Continue == ""
	completed := t.last != nil && t.last.Status == agent.Completed
	switch {
	case len(args) > 1:
		return args[1], nil
	case isNew || t.cfg.Answer || completed:
		return t.ask(question)
	}
	return "", nil
}

// turn gives a query to the expert. It reports whether the conversation is over.
func (t *talk) turn(ctx context.Context, query string) (over bool, err error) {
	step, end := t.steps.begin(ctx)
	shown, err := t.show(step, t.cfg, query)
	runID := shown.RunID
	interrupted := step.Err() != nil || errors.Is(err, errInterrupted)
	end()
	switch {
	case ctx.Err() != nil || err != nil && runID == "":
		return true, t.ended(ctx, t.cfg, runID, err)
	case interrupted:
		fmt.Fprintln(t.stdout, "\ninterrupted; what was done is kept")
	case err != nil:
		t.say(t.cfg.Redactor().Text(err.Error()))
	}
	if x := t.cfg.Executor.Config(); x.ReadOnly || x.DryRun { // nothing is recorded to go on from
		return true, nil
	}
	t.last, err = latest(ctx, t.records, runID)
	t.cfg.RunID, t.cfg.From, t.cfg.Files, t.cfg.Continue = "", nil, false, runID
	return false, err
}

// wantsFiles asks whether the files are to be taken back to the checkpoint that the run is
// continued from, if the run has changed any since.
func (c *console) wantsFiles(ctx context.Context, cfg agent.Config,
	ask func(string) (string, error)) (bool, error) {
	since, err := cfg.From.ChangesAfter(ctx, cfg.Executor)
	some := false
	for _, e := range since.List {
		some = some || e.NotKept == ""
	}
	if err != nil || !some {
		return false, nil // there is nothing to ask
	}
	fmt.Fprintln(c.stdout, since.Message())
	reply, err := ask("The run made these changes after step " + strconv.Itoa(cfg.From.StepNumber) +
		". Undo them first? (yes or no) ")
	return strings.HasPrefix(strings.ToLower(reply), "y"), err
}

// latest returns the last checkpoint of a run, nil if it has none yet.
func latest(ctx context.Context, records agent.Records, runID string) (*agent.Checkpoint, error) {
	c, err := records.Latest(ctx, runID)
	if errors.Is(err, agent.ErrNoCheckpoint) {
		return nil, nil
	}
	return &c, err
}

// errInterrupted is the cause of a step that the person interrupted, also at a question.
var errInterrupted = errors.New("interrupted")

// An interrupter ends the step under way when the person presses Ctrl-C, or the
// conversation if none is.
type interrupter struct {
	mu   sync.Mutex
	step context.CancelCauseFunc // nil between steps
}

// interruptible returns a context that an interrupt between two steps ends.
func (c *cli) interruptible(ctx context.Context) (context.Context, *interrupter) {
	i := &interrupter{}
	if c.interrupts == nil {
		return ctx, i
	}
	ctx, cancel := context.WithCancelCause(ctx)
	received := c.interrupts()
	go func() { // it ends with the program
		for range received {
			i.mu.Lock()
			if i.step != nil {
				i.step(errInterrupted)
			} else {
				cancel(stopSignal{os.Interrupt})
			}
			i.mu.Unlock()
		}
	}()
	return ctx, i
}

// begin returns the context of a step, and what ends the step.
func (i *interrupter) begin(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	i.mu.Lock()
	i.step = cancel
	i.mu.Unlock()
	return ctx, func() {
		i.mu.Lock()
		i.step = nil
		i.mu.Unlock()
		cancel(nil)
	}
}

// nextQuestion returns what to ask after a checkpoint, nil for a new run, and sets
// cfg.Answer to whether the reply answers a tool. It shows the tool's call.
func (c *console) nextQuestion(cfg *agent.Config, from *agent.Checkpoint) string {
	switch {
	case from == nil && cfg.Continue == "":
		return "What should I do? "
	case from == nil:
		cfg.Answer = false
		return "What next? "
	}
	if cfg.Answer = from.Status == agent.StoppedByInteractiveTool && len(from.PendingToolCalls) > 0; !cfg.Answer {
		return "What next? "
	}
	c.showQuestion(from)
	return "Answer: "
}

// showQuestion shows the call that waits for an answer of a person.
func (c *console) showQuestion(from *agent.Checkpoint) {
	call := from.PendingToolCalls[0]
	fmt.Fprintf(c.stdout, "%3d  %s\n", from.StepNumber,
		oneLine(call.ToolName+" "+string(call.Args), lineWidth))
}

// left returns err, nil if it says that the person has ended the conversation.
func left(err error) error {
	if err == errLeft || err == errInterrupted {
		return nil
	}
	return err
}

// whichExpert returns the expert of the run that is continued from a checkpoint, else the
// only expert, else the one that the person names.
func (c *console) whichExpert(ctx context.Context, cfg agent.Config, from *agent.Checkpoint,
	ask func(string) (string, error)) (string, error) {
	run := cfg.Continue
	if from != nil {
		run = from.RunID
	}
	if run != "" {
		s, err := agent.Records{Executor: cfg.Executor}.Setting(ctx, run)
		if err != nil && from != nil {
			return from.Expert.Key, nil
		}
		return s.ExpertKey, err
	}
	keys := slices.Sorted(maps.Keys(cfg.Experts))
	if len(keys) == 1 {
		return keys[0], nil
	}
	for _, key := range keys {
		fmt.Fprintf(c.stdout, "  %s  %s\n", key, oneLine(cfg.Experts[key].Description, 80))
	}
	return ask("Which expert? ")
}

// asker returns a function that asks a person for a line. An empty line and the end of
// the input are errLeft.
func (c *console) asker(ctx context.Context) func(question string) (string, error) {
	if editable(c.stdin) {
		return askTerminal(ctx)
	}
	lines := make(chan string)
	go func() { // it ends with the input, at the latest with the program
		defer close(lines)
		in := bufio.NewReader(io.LimitReader(c.stdin, maxPrompt))
		for {
			text, err := in.ReadString('\n')
			if text != "" {
				select {
				case lines <- strings.TrimSpace(text):
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return func(question string) (string, error) {
		fmt.Fprint(c.stdout, question)
		select {
		case text := <-lines:
			if text == "" {
				fmt.Fprintln(c.stdout)
				return "", errLeft
			}
			return text, nil
		case <-ctx.Done():
			fmt.Fprintln(c.stdout)
			return "", errLeft
		}
	}
}
