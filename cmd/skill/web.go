package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"textskill/internal/usage"
	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/page"
	"textskill/skill/page/runs"
)

const webLong = `web serves a page about the workspace. The page shows the runs of experts as they go on,
with messages, calls and costs. It shows changes with diffs, and a button to undo or redo
each. It shows trials of commands, and servers and their logs. With --results it shows the
results of golden files.

web prints an address with a token, which is new at each start. Keep the address secret:
whoever has it can read and undo what you can.

With --addr 0.0.0.0:PORT, other machines reach the page by the name or address of this
machine, with the same token. web does not encrypt. In a network that others use, forward a
port with ssh -L instead.`

const webExample = `  skill web
  skill web -C ~/project --addr 127.0.0.1:3901
  skill test --json testdata > results.jsonl; skill web --results results.jsonl`

// webOptions are the flags of skill web.
type webOptions struct {
	workspaceOptions
	addr    string
	hosts   []string
	results string
	prices  string
}

func (c *cli) webCommand(*configuration) *cobra.Command {
	var w webOptions
	cmd := &cobra.Command{
		Use:     "web [flags]",
		Short:   "Show runs, changes, servers and tests in a browser",
		Long:    webLong,
		Example: webExample,
		Args:    usage.Arguments(0, 0, ""),
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.web(cmd.Context(), &w) },
	}
	f := cmd.Flags()
	f.StringVar(&w.addr, "addr", "127.0.0.1:0", "serve at `ADDR`; port 0 means any free port")
	f.StringSliceVar(&w.hosts, "http-host", nil, "also accept requests for the host `NAME`; may be repeated")
	f.StringVar(&w.results, "results", "",
		"show the results of golden files in `FILE`, the output of \"skill test --json\"")
	f.StringVar(&w.prices, "prices", "", "read prices of models from `FILE`, as \"skill run\" does")
	w.addWorkspace(f)
	only(f, w.addUndo, keptFlags...)
	return cmd
}

// check returns the prices of models. It names all that is wrong with the flags.
func (w *webOptions) check() (agent.Prices, error) {
	prices, wrong := readPrices(w.prices)
	if _, err := os.Stat(w.results); w.results != "" && err != nil {
		wrong = errors.Join(wrong, fmt.Errorf("--results: %w", err))
	}
	if err := page.CheckAddress(w.addr); err != nil {
		wrong = errors.Join(wrong, fmt.Errorf("--addr: %w", err))
	}
	return prices, wrong
}

// web is skill web.
func (c *cli) web(ctx context.Context, w *webOptions) error {
	prices, err := w.check()
	if err != nil {
		return err
	}
	x, err := c.executor(&w.workspaceOptions)
	if err != nil {
		return err
	}
	defer x.Close()
	if err := skill.Undumpable(); err != nil {
		return err
	}
	if c.getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(mcpGarbage))
	}
	workspace := page.Workspace{Executor: x,
		Hide: agent.NewRedactor((&variables{}).secrets()).Text}
	shown := page.Config{
		Title: x.Dir(), Program: c.program(), Token: rand.Text(), Hosts: w.hosts,
		ReadOnly: w.ReadOnly || w.DryRun,
		Runs:     runs.Of(agent.Records{Executor: x}, prices), Changes: workspace.Changes(),
	}
	if !w.ReadOnly { // which refuses to look for servers too
		shown.Servers = workspace.Servers()
	}
	if !shown.ReadOnly {
		shown.Trials = workspace.Trials()
	}
	if w.results != "" {
		shown.Tests = testResults{w.results, c.program()}
	}
	err = page.Serve(ctx, shown, w.addr, func(link string) {
		fmt.Fprintln(c.stdout, link)
		c.say("open this address in a browser; Ctrl-C ends the page")
	})
	var network *net.OpError
	if errors.As(err, &network) {
		return c.failed(err)
	}
	if err != nil {
		return fmt.Errorf("--addr: %w", err)
	}
	return nil
}

// testResults is a file of results that skill test has printed as JSON.
type testResults struct{ name, program string }

// maxResults is how many bytes of results are read.
const maxResults = 16 << 20

// Results implements [page.Tests].
func (f testResults) Results(context.Context) (t page.TestRun, err error) {
	info, err := os.Stat(f.name)
	if err != nil {
		return t, err
	}
	data, err := readAtMost(f.name, maxResults)
	if err != nil {
		return t, err
	}
	t.Source, t.Time = f.name, info.ModTime()
	for line := range bytes.Lines(data) {
		var r struct {
			goldenResult
			Passed *int `json:"passed"` // of the last line
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if err := json.Unmarshal(line, &r); err != nil || r.File == "" && r.Passed == nil {
			return t, fmt.Errorf("%s holds a line that is no result of %s test --json: %q", f.name, f.program,
				line[:min(len(line), 80)])
		}
		if r.Passed != nil {
			t.Done = true
			continue
		}
		if r.OK {
			t.Passed++
		}
		t.Results = append(t.Results, page.Result{File: r.File, OK: r.OK, Text: cmp.Or(r.Error, r.Diff),
			More: f.program + " test " + shellWord(r.File)})
	}
	return t, nil
}
