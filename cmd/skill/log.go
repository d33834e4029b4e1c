package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"textskill/internal/usage"
	"textskill/skill/agent"
)

const logLong = `log lists the runs of experts in a workspace, the latest first. With --run or --last it
prints one line for each of the last 100 events of a run; --take sets how many.
--step, --type, --errors and --tools select events.

--checkpoint prints the state of a run after one step as JSON, with all messages so far.
--check reads all records of a run. It lists the files that are damaged or that another
program wrote, and the step from which the run can continue.`

const logExample = `  skill log
  skill log --run c3b5wj… --tools --step 2-5
  skill log --last --errors
  skill log --last --take 0 --json | jq .type
  skill log --checkpoint cq7x…
  skill log --check c3b5wj…`

// logOptions are the flags of skill log.
type logOptions struct {
	workspaceOptions
	json       bool
	run        string
	last       bool
	checkpoint string
	check      string
	step       string
	types      []string
	errors     bool
	tools      bool
	take       int
	prices     string
}

func (c *cli) logCommand(*configuration) *cobra.Command {
	var l logOptions
	cmd := &cobra.Command{
		Use: "log [flags]", Short: "List the runs of experts, or show one run", Long: logLong,
		Example: logExample,
		Args:    usage.Arguments(0, 0, "--run ID shows a run"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			inStep, wrong := steps(l.step)
			for _, name := range l.types {
				if !slices.Contains(agent.EventTypes, agent.EventType(name)) {
					wrong = errors.Join(wrong, fmt.Errorf("--type %s is not a type of event; there are %s", name,
						strings.ReplaceAll(strings.Trim(fmt.Sprint(agent.EventTypes), "[]"), " ", ", ")))
				}
			}
			if l.take < 0 {
				wrong = errors.Join(wrong, fmt.Errorf("--take %d: must be how many events to show; 0 shows all", l.take))
			}
			if wrong != nil {
				return wrong
			}
			return c.failed(c.log(cmd.Context(), &l, inStep))
		},
	}
	cmd.SetFlagErrorFunc(perstackFlag)
	f := cmd.Flags()
	f.StringVar(&l.run, "run", "", "show the run `ID`")
	f.BoolVar(&l.last, "last", false, "show the latest run")
	f.StringVar(&l.checkpoint, "checkpoint", "",
		"print the checkpoint `ID`, or TIMESTAMP-STEP-ID, of --run or of the latest run")
	f.StringVar(&l.check, "check", "", "check the records of the run `ID`")
	f.StringVar(&l.step, "step", "", "show only these `STEPS`: 5, 2-5, >5, >=5, <5 or <=5")
	f.StringSliceVar(&l.types, "type", nil, "show only events of this `TYPE`; may be repeated")
	f.BoolVar(&l.errors, "errors", false, "show only what went wrong")
	f.BoolVar(&l.tools, "tools", false, "show only tool calls and their results")
	f.IntVar(&l.take, "take", 100, "show the last `N` events; 0 shows all")
	f.StringVar(&l.prices, "prices", "", "read prices of models from `FILE`, as \"skill run\" does")
	l.addPlace(f)
	addJSON(f, &l.json)
	return cmd
}

// selects reports whether the flags are about one run, the last one if none is named.
func (l *logOptions) selects() bool {
	events := l.step != "" || l.types != nil || l.errors
	return events || l.tools || l.last || l.checkpoint != ""
}

// log is skill log.
func (c *cli) log(ctx context.Context, l *logOptions, inStep stepRange) error {
	x, err := c.executor(&l.workspaceOptions)
	if err != nil {
		return err
	}
	defer x.Close()
	records := agent.Records{Executor: x}
	if l.check != "" {
		return c.checkRun(ctx, records, l.check)
	}
	if l.run == "" {
		runs, err := records.Runs(ctx)
		if err != nil {
			return err
		}
		if !l.selects() {
			return c.listRuns(ctx, l, records, runs)
		}
		if len(runs) == 0 {
			return errors.New("no run is recorded in " + x.Dir())
		}
		l.run = runs[0].RunID
	}
	if l.checkpoint != "" {
		checkpoint, err := records.Checkpoint(ctx, l.run, l.checkpoint)
		if err != nil {
			return err
		}
		return c.printJSON(checkpoint)
	}
	return c.showRun(ctx, l, records, inStep)
}

// checkRun says which records of a run are damaged, and fails if there are any.
func (c *console) checkRun(ctx context.Context, records agent.Records, run string) error {
	n, wrong, err := records.Check(ctx, run)
	if err != nil {
		return err
	}
	for _, what := range wrong {
		fmt.Fprintln(c.stdout, oneLine(what, 2*lineWidth))
	}
	confirmed, known, err := records.Confirmed(run)
	if err != nil {
		return err
	}
	step, err := confirmed.Step(ctx, run)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "%d of %d records are whole; the run continues in step %d\n", n-len(wrong), n, step)
	if !known {
		fmt.Fprintln(c.stdout, "nothing confirms them: the run was recorded on another machine or by an older version, or others wrote them")
	}
	if len(wrong) > 0 {
		return exit(exitFailed)
	}
	return nil
}

// listRuns prints a line for each run.
func (c *console) listRuns(ctx context.Context, l *logOptions, records agent.Records,
	runs []agent.RunSetting) error {
	if len(runs) == 0 && !l.json {
		fmt.Fprintln(c.stdout, "No data found")
		c.sayf("no run is recorded in %s; %s run begins one", records.Executor.Dir(), c.program())
		return nil
	}
	prices, err := readPrices(l.prices)
	if err != nil {
		return err
	}
	for _, r := range runs {
		if l.json {
			c.printJSON(r)
			continue
		}
		state := "nothing recorded"
		if last, err := records.Latest(ctx, r.RunID); err == nil {
			state = fmt.Sprintf("%s at step %d, %s", last.Status, last.StepNumber,
				spent(last.Usage, prices.Of(r.Model)))
		}
		if r.Damage != "" {
			state += "; " + r.Damage
		}
		fmt.Fprintf(c.stdout, "%s  %s  %s  %s  %s\n", r.RunID,
			time.UnixMilli(r.UpdatedAt).Format(time.DateTime),
			oneLine(r.ExpertKey, lineWidth), oneLine(state, lineWidth), oneLine(r.Input.Text, 80))
	}
	return nil
}

// showRun prints the events of a run that the flags select. If some cannot be read it
// prints the others, and fails.
func (c *console) showRun(ctx context.Context, l *logOptions, records agent.Records,
	inStep stepRange) error {
	files, err := records.Find(ctx, l.run)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(files, func(n agent.RecordName) bool { return inStep.has(n.StepNumber) }) {
		return fmt.Errorf("--step %s: the run %s has no such step; its last step is %d", l.step, l.run,
			files[len(files)-1].StepNumber)
	}
	files = slices.DeleteFunc(files, func(n agent.RecordName) bool {
		return n.Kind != "event" || !inStep.has(n.StepNumber) || l.types != nil && !slices.Contains(l.types, n.Of)
	})
	prices, err := readPrices(l.prices)
	if err != nil {
		return err
	}
	var price *agent.Price
	if setting, err := records.Setting(ctx, l.run); err == nil {
		price = prices.Of(setting.Model)
	}
	chosen, more, damaged := l.choose(ctx, records, files)
	switch {
	case more:
		c.sayf("these are the last %d events; --take 0 shows all", len(chosen))
	case len(chosen) == 0 && damaged == nil && !l.json:
		c.sayf("the run %s has no such events", l.run)
	}
	for _, e := range chosen {
		if l.json {
			c.printJSON(e)
		} else {
			fmt.Fprintf(c.stdout, "%3d  %-25s  %s%s\n", e.StepNumber, oneLine(string(e.Type), lineWidth),
				line(e, price), changes(e))
		}
	}
	return damaged
}

// choose reads the last events that the flags select. more says that there may be earlier ones. The error is
// that of the first one that cannot be read.
func (l *logOptions) choose(ctx context.Context, records agent.Records,
	files []agent.RecordName) (chosen []agent.Event, more bool, damaged error) {
	for _, n := range slices.Backward(files) {
		if l.take > 0 && len(chosen) == l.take {
			more = true
			break
		}
		e, err := records.Event(ctx, l.run, n)
		if err != nil {
			damaged = err
			continue
		}
		ofTool := e.ToolCall != nil || e.ToolResult != nil
		if (ofTool || !l.tools) && (!l.errors || wentWrong(e)) {
			chosen = append(chosen, e)
		}
	}
	slices.Reverse(chosen)
	return chosen, more, damaged
}

// wentWrong reports whether an event is of a failure: of the model, or of a tool.
func wentWrong(e agent.Event) bool {
	return e.Type == agent.Retry || e.Error != nil || e.ToolResult != nil && e.ToolResult.IsError
}

// changes names the changes that a call made.
func changes(e agent.Event) string {
	if e.ToolResult == nil || e.ToolResult.Session == nil || e.ToolResult.Session.Changes == nil {
		return ""
	}
	return " (change " + strings.Join(e.ToolResult.Session.Changes, ", ") + ")"
}

// lineWidth is how many characters of an event are shown.
const lineWidth = 160

// spent says how many tokens were used and, if the price is known, what they cost.
func spent(u agent.Usage, price *agent.Price) string {
	text := fmt.Sprintf("%d tokens", u.TotalTokens)
	if price != nil {
		text += fmt.Sprintf(", $%.4f", price.Cost(u))
	}
	return text
}

// line returns what an event says, as one line for a person. The price is of the model;
// nil if it is not known.
func line(e agent.Event, price *agent.Price) string {
	switch {
	case e.Error != nil:
		return oneLine(e.Error.Message, lineWidth)
	case e.Text != nil || e.Reason != "":
		return oneLine(ending(e, price), lineWidth)
	case e.ToolCall != nil:
		return oneLine(e.ToolCall.ToolName+" "+string(e.ToolCall.Args), lineWidth)
	case e.ToolResult != nil:
		var texts []string
		for _, p := range e.ToolResult.Result {
			texts = append(texts, p.Text)
		}
		return oneLine(e.ToolResult.ToolName+": "+strings.Join(texts, " "), lineWidth)
	case e.Type == agent.StartGeneration:
		return fmt.Sprintf("%d new messages", len(e.Messages))
	case e.Type == agent.StartRun:
		text := e.ExpertKey
		for _, m := range e.InputMessages {
			if m.Type == agent.UserMessage && len(m.Contents) > 0 {
				text += ": " + m.Contents[0].Text
			}
		}
		return oneLine(text, lineWidth)
	}
	return oneLine(ending(e, price), lineWidth)
}

// ending returns what the event at the end of a step says.
func ending(e agent.Event, price *agent.Price) string {
	used := ""
	if e.Step != nil {
		used = spent(e.Step.Usage, price)
	}
	switch {
	case e.Text != nil && used != "" && e.Step.Usage.TotalTokens > 0:
		return used + ": " + *e.Text
	case e.Text != nil:
		return *e.Text
	case e.Reason != "" && used != "":
		return e.ReasonText() + "; " + used
	case e.Reason != "":
		return e.ReasonText()
	case used == "" || e.Checkpoint == nil:
		return ""
	case e.Type == agent.CompactConversation:
		return fmt.Sprintf("checkpoint %s, shortened to %d messages, %s", e.Checkpoint.ID,
			len(e.Step.NewMessages), used)
	}
	return "checkpoint " + e.Checkpoint.ID + ", " + used
}

// oneLine returns a text without line ends and control characters, cut to n characters.
func oneLine(text string, n int) string {
	runes := []rune(strings.Join(strings.FieldsFunc(text,
		func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }), " "))
	if len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return string(runes)
}

// A stepRange is a selection of steps.
type stepRange struct{ low, high int }

func (r stepRange) has(step int) bool { return r.low <= step && step <= r.high }

// steps reads a selection of steps; "" selects all.
func steps(text string) (stepRange, error) {
	wrong := errors.New("--step " + text + ": must be a step or a range: 5, 2-5, >5, >=5, <5 or <=5")
	if text == "" {
		return stepRange{0, math.MaxInt}, nil
	}
	if from, to, ok := strings.Cut(text, "-"); ok {
		low, err1 := strconv.Atoi(from)
		high, err2 := strconv.Atoi(to)
		switch {
		case err1 != nil || err2 != nil:
			return stepRange{}, wrong
		case low > high:
			return stepRange{}, fmt.Errorf("--step %s holds no step; %d-%d does", text, high, low)
		}
		return stepRange{low, high}, nil
	}
	number := strings.TrimLeft(text, "<>=")
	n, err := strconv.Atoi(number)
	r, known := map[string]stepRange{"": {n, n}, "=": {n, n}, ">": {n + 1, math.MaxInt},
		">=": {n, math.MaxInt}, "<": {0, n - 1}, "<=": {0, n}}[strings.TrimSuffix(text, number)]
	if err != nil || !known {
		return r, wrong
	}
	return r, nil
}
