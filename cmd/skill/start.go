package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"textskill/skill/agent"
)

const startLong = `start is run for a person at a terminal: it asks for the expert and the query if they
are not given, prints a line for each step, asks for the answers that tools need, and
then for the next query. An empty line ends it. It takes the flags of skill run.`

func (c *cli) startCommand(o *options) *cobra.Command {
	r := runOptions{options: o}
	cmd := &cobra.Command{
		Use: "start [flags] [EXPERT] [QUERY]", Short: "Work with an expert, question by question", Long: startLong,
		Example: "  skill start\n  skill start file-organizer\n  skill start file-organizer --continue",
		Args:    arguments(0, 2, ""),
		RunE:    func(cmd *cobra.Command, args []string) error { return c.failed(c.start(cmd.Context(), &r, args)) },
	}
	r.addFlags(cmd)
	return cmd
}

// errLeft says that the person has ended the conversation.
var errLeft = errors.New("the conversation was ended")

// start is skill start.
func (c *cli) start(ctx context.Context, r *runOptions, args []string) error {
	cfg, err := r.prepare(ctx, c)
	if err != nil {
		return err
	}
	defer cfg.Executor.Close()
	ask, records := c.asker(ctx), agent.Records{Executor: cfg.Executor}
	last := cfg.From
	if cfg.Continue != "" {
		latest, err := records.Latest(ctx, cfg.Continue)
		if err != nil {
			return err
		}
		last = &latest
	}
	if len(args) > 0 {
		cfg.Expert = args[0]
	} else if cfg.Expert, err = c.whichExpert(ctx, cfg, last, ask); err != nil {
		return left(err)
	}
	query, question := "", c.nextQuestion(&cfg, last)
	if len(args) > 1 {
		query = args[1]
	} else if last == nil || cfg.Answer || last.Status == agent.Completed {
		if query, err = ask(question); err != nil {
			return left(err)
		}
	}
	for {
		runID, err := c.show(ctx, cfg, query)
		if err != nil {
			return c.ended(ctx, cfg, runID, err)
		}
		latest, err := records.Latest(ctx, runID)
		if errors.Is(err, agent.ErrNoCheckpoint) { // as under --read-only
			return nil
		}
		if err != nil {
			return err
		}
		cfg.RunID, cfg.From, cfg.Continue = "", nil, runID
		if query, err = ask(c.nextQuestion(&cfg, &latest)); err != nil {
			return left(err)
		}
	}
}

// nextQuestion returns what to ask after a checkpoint, nil for a new run, and sets
// cfg.Answer to whether the reply answers a tool. It shows the tool's call.
func (c *cli) nextQuestion(cfg *agent.Config, from *agent.Checkpoint) string {
	if from == nil {
		return "What should I do? "
	}
	if cfg.Answer = from.Status == agent.StoppedByInteractiveTool && len(from.PendingToolCalls) > 0; !cfg.Answer {
		return "What next? "
	}
	call := from.PendingToolCalls[0]
	fmt.Fprintf(c.stdout, "%3d  %s\n", from.StepNumber, oneLine(call.ToolName+" "+string(call.Args), lineWidth))
	return "Answer: "
}

// left returns err, nil if it says that the person has ended the conversation.
func left(err error) error {
	if err == errLeft {
		return nil
	}
	return err
}

// whichExpert returns the expert of the run that is continued from a checkpoint, else the
// only expert, else the one that the person names.
func (c *cli) whichExpert(ctx context.Context, cfg agent.Config, from *agent.Checkpoint, ask func(string) (string, error)) (string, error) {
	if from != nil {
		runs, err := agent.Records{Executor: cfg.Executor}.Runs(ctx)
		if i := slices.IndexFunc(runs, func(s agent.RunSetting) bool { return s.RunID == from.RunID }); i >= 0 {
			return runs[i].ExpertKey, err
		}
		return from.Expert.Key, err
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

// show runs an expert and prints a line for each event that matters to a person.
func (c *cli) show(ctx context.Context, cfg agent.Config, query string) (runID string, err error) {
	for e, err := range agent.Run(ctx, cfg, query) {
		if err != nil {
			return runID, err
		}
		runID = e.RunID
		switch e.Type {
		case agent.StartRun:
			if e.InitialCheckpoint.DelegatedBy != nil && e.InitialCheckpoint.Status == agent.Init {
				fmt.Fprintf(c.stdout, "%3d  %s\n", e.StepNumber, line(e, cfg.Budget.Price))
			}
		case agent.CallInteractiveTool, agent.CallDelegate, agent.StartGeneration, agent.FinishToolCall, agent.ContinueToNextStep, agent.StopRunByInteractiveTool, agent.StopRunByDelegate:
		case agent.CompleteRun:
			fmt.Fprintf(c.stdout, "\n%s\n\n", visible(*e.Text))
		default:
			fmt.Fprintf(c.stdout, "%3d  %s\n", e.StepNumber, line(e, cfg.Budget.Price))
		}
	}
	return runID, nil
}

// visible returns a text without the characters that control a terminal, except line
// ends and tabs.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0) {
			return -1
		}
		return r
	}, text)
}

// asker returns a function that asks a person for a line. An empty line and the end of
// the input are errLeft.
func (c *cli) asker(ctx context.Context) func(question string) (string, error) {
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
