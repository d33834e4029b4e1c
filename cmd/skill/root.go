package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"textskill/skill"
	"textskill/skill/browser"
	"textskill/skill/dialect"
	"textskill/skill/mcpserver"
)

// options are the flags that all commands share.
type options struct {
	helper      string // not a flag: see cli
	workspace   string
	allow       []string
	tools       string
	json        bool
	lines       bool
	dryRun      bool
	readOnly    bool
	allowConfig bool
	noSync      bool
	journal     skill.Journal
	snapshot    int64
	network     bool
	private     bool
	hosts       []string
	fence       string
	fenceRead   []string
	fenceWrite  []string
	limits      skill.Limits
	allowHooks  bool
	engines     []string
	noSandbox   bool
	maxText     int // UTF-16 units; 0 is no limit, and below it the dialect's own holds
	verbose     bool
	model       modelOptions
}

const rootLong = `skill carries out what an agent asks of a workspace: a folder that nothing leaves.

A command is words on the command line, or a prompt on standard input. A prompt
whose first word is one of the nine operations is a text command; one that is a
JSON object is an envelope of tool_calls; anything else is put to the fallback.
With --tools stack it is a model's text with calls like read(path: 'a.txt').`

const rootExample = `  skill writeFile notes/a.txt content: hi
  echo 'listDirectory .' | skill --json
  skill copyFile a.txt destination: b.txt
  skill please create a folder called drafts
  echo '{"tool_calls":[{"id":"1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a.txt\"}"}}]}' | skill
  skill --dry-run deleteFile a.txt
  skill --lines < commands.txt
  skill --tools stack "grep(path: '.', pattern: 'TODO', context: 2)"`

// run carries out one command line and returns the exit code.
func (c *cli) run(ctx context.Context, args []string) int {
	if slices.Contains(args, "mcp") {
		go mcpserver.Warm()
	}
	root := c.command(args)
	root.SetArgs(goFlags(root, args))
	root.SetIn(c.stdin)
	root.SetOut(c.stdout)
	root.SetErr(c.stderr)
	err := root.ExecuteContext(ctx)
	var code exit
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	}
	fmt.Fprintln(c.stderr, "skill:", err)
	return exitUsage
}

// addCommands gives root the commands whose names are in args, or all if there are
// none: a server does not start later for what nobody asks for.
func (c *cli) addCommands(root *cobra.Command, o *options, args []string) {
	commands := []struct {
		name  string
		build func(*options) *cobra.Command
	}{
		{"tools", c.toolsCommand}, {"test", c.testCommand}, {"version", c.versionCommand}, {"mcp", c.mcpCommand},
		{"run", c.runCommand}, {"start", c.startCommand}, {"log", c.logCommand},
		{"undo", c.undoCommand}, {"history", c.historyCommand}, {"diff", c.diffCommand},
	}
	for _, all := range []bool{false, true} {
		for _, sub := range commands {
			if all || slices.Contains(args, sub.name) {
				root.AddCommand(sub.build(o))
			}
		}
		if root.HasSubCommands() {
			root.CompletionOptions.DisableDefaultCmd = !all && !slices.Contains(args, "completion")
			return
		}
	}
}

// command returns the command for a command line.
func (c *cli) command(args []string) *cobra.Command {
	o := options{helper: c.helper}
	root := &cobra.Command{
		Use:           "skill [flags] COMMAND WORDS…",
		Short:         "Carry out what an agent asks of a workspace",
		Long:          rootLong,
		Example:       rootExample,
		Args:          cobra.ArbitraryArgs,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, args []string) error { return c.prompt(cmd, &o, args) },
	}
	root.SetVersionTemplate("skill {{.Version}}\n")
	root.Flags().SetInterspersed(false)
	f := root.PersistentFlags()
	f.StringVarP(&o.workspace, "workspace", "C", "", "the workspace `DIR` (default the current folder)")
	f.StringArrayVar(&o.allow, "allow", nil, "a further `DIR` that counts as inside; may be repeated")
	f.StringVar(&o.tools, "tools", "", "the dialect, instead of a guess by the prompt's shape: "+strings.Join(dialectNames(), ", "))
	f.BoolVar(&o.json, "json", false, "answer with one line of JSON")
	f.BoolVar(&o.dryRun, "dry-run", false, "show every change and make none")
	f.BoolVar(&o.readOnly, "read-only", false, "refuse every change")
	f.BoolVar(&o.allowConfig, "allow-config", false, "let .git, perstack and perstack.toml be changed")
	f.BoolVar(&o.noSync, "no-sync", false, "do not wait until changes are on the disk")
	f.BoolVar(&o.journal.Off, "no-journal", false, "record no changes, so that none can be undone")
	f.IntVar(&o.journal.Count, "journal-changes", 1000, "how many changes are kept to be undone; 0 is the last alone, -1 any")
	f.DurationVar(&o.journal.Age, "journal-age", 30*24*time.Hour, "how long they are kept, like 48h; 0 is the last alone, -1s for ever")
	f.Int64Var(&o.journal.Bytes, "journal-bytes", 1<<30, "how many `BYTES` are kept of what they took away; 0 is the last change alone, -1 any")
	f.Int64Var(&o.snapshot, "snapshot-bytes", 256<<20, "how many `BYTES` are kept of the workspace, so that what commands change can be undone; 0 for none")
	f.BoolVar(&o.network, "network", false, "let tools reach other machines, but no private address")
	f.BoolVar(&o.private, "allow-private", false, "let them reach private addresses too, this machine included")
	f.StringSliceVar(&o.hosts, "allow-host", nil, "a `HOST` that may be reached though its address is private; may be repeated")
	f.StringSliceVar(&o.engines, "search", nil, "the search `ENGINE`s that web_search asks, in this order, like searxng=http://127.0.0.1:8888: "+strings.Join(skill.SearchEngines, ", "))
	f.BoolVar(&o.noSandbox, "browser-no-sandbox", false, "let the browser that takes screenshots run without its sandbox, as root has to")
	f.StringVar(&o.fence, "fence", string(skill.FenceAuto), "what the system itself forbids to commands: `MODE` auto for as much as it can, require for no command where it cannot, off")
	f.StringArrayVar(&o.fenceRead, "fence-read", nil, "a further `PATH` that commands may read; may be repeated")
	f.StringArrayVar(&o.fenceWrite, "fence-write", nil, "a further `PATH` that commands may write; may be repeated")
	f.Int64Var(&o.limits.FileSize, "limit-file", 0, "the most `BYTES` of a file that a command writes; 0 is 16 GiB, -1 any")
	f.Int64Var(&o.limits.Memory, "limit-memory", 0, "the most `BYTES` of address space of each process of a command; 0 is any")
	f.Int64Var(&o.limits.Processes, "limit-processes", 0, "the most processes and threads of the user while a command runs; 0 is any, and root has none")
	f.BoolVar(&o.allowHooks, "allow-hooks", false, "let git run what a repository's configuration names: hooks, filters, editors")
	f.IntVar(&o.maxText, "max-text", -1, "the longest text that a perstack tool takes, in UTF-16 `UNITS`, instead of the manual's; 0 for any")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "tell on standard error how a prompt was understood")
	root.Flags().BoolVar(&o.lines, "lines", false, "read one command per line and answer each as it is done")
	o.model.addFlags(f)
	root.RegisterFlagCompletionFunc("tools", cobra.FixedCompletions(dialectNames(), cobra.ShellCompDirectiveNoFileComp))
	root.RegisterFlagCompletionFunc("fence", cobra.FixedCompletions([]string{"auto", "require", "off"}, cobra.ShellCompDirectiveNoFileComp))
	root.RegisterFlagCompletionFunc("fallback", cobra.FixedCompletions([]string{"auto", "rules", "llm", "none"}, cobra.ShellCompDirectiveNoFileComp))
	c.addCommands(root, &o, args)
	return root
}

// executor opens the workspace that the flags name.
func (c *cli) executor(o *options) (*skill.Executor, error) {
	engines, err := o.searchEngines(c.getenv)
	if err != nil {
		return nil, err
	}
	journal := o.journal // of which 0 means the default
	journal.Count, journal.Age, journal.Bytes = cmp.Or(journal.Count, 1), cmp.Or(journal.Age, 1), cmp.Or(journal.Bytes, 1)
	return skill.New(skill.Config{
		Dir: o.workspace, Allow: o.allow, ReadOnly: o.readOnly, DryRun: o.dryRun,
		AllowConfig: o.allowConfig, NoSync: o.noSync, Journal: journal, Helper: o.helper,
		SnapshotBytes: cmp.Or(o.snapshot, -1),
		Network:       o.network, Private: o.private, Hosts: o.hosts, AllowHooks: o.allowHooks,
		Fence: skill.FenceMode(o.fence), FenceRead: o.fenceRead, FenceWrite: o.fenceWrite, Limits: o.limits,
		Search: engines, NoSandbox: o.noSandbox, Browser: browser.New(),
	})
}

// prompt is the root command: a prompt from the words or from standard input.
func (c *cli) prompt(cmd *cobra.Command, o *options, words []string) error {
	switch d, err := o.dialect(); {
	case err != nil:
		return err
	case d != nil && (d.Name == dialect.Perstack.Name || d.Name == dialect.Undo.Name):
		return fmt.Errorf("--tools %[1]s takes no prompts; \"skill mcp --tools %[1]s\" serves it", d.Name)
	}
	if len(words) == 0 && isTerminal(c.stdin) {
		cmd.SetOut(c.stderr)
		cmd.Help()
		return exit(exitUsage)
	}
	x, err := c.executor(o)
	if err != nil {
		return err
	}
	defer x.Close()
	ask, err := o.model.fallback(c, x, o)
	if err != nil {
		return err
	}
	p := &prompter{cli: c, o: o, x: x, s: &skill.Session{}, ask: ask}
	switch {
	case o.lines && len(words) > 0:
		return errors.New("--lines reads standard input; give the command there or leave --lines out")
	case o.lines:
		return c.failed(p.eachLine(cmd.Context(), c.stdin))
	case len(words) > 0:
		return p.answer(cmd.Context(), strings.Join(words, " "))
	}
	text, err := readPrompt(c.stdin)
	if err != nil {
		return c.failed(err)
	}
	return p.answer(cmd.Context(), text)
}

// failed prints an error that is not the command line's.
func (c *cli) failed(err error) error {
	if err == nil || errors.As(err, new(exit)) {
		return err
	}
	fmt.Fprintln(c.stderr, "skill:", err)
	return exit(exitFailed)
}

// maxPrompt is how many bytes a prompt may have.
const maxPrompt = 256 << 20

func readPrompt(r io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPrompt+1))
	switch {
	case err != nil:
		return "", err
	case len(data) > maxPrompt:
		return "", fmt.Errorf("the prompt is larger than %d bytes", maxPrompt)
	}
	return string(data), nil
}

func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	fi, err := f.Stat()
	return err == nil && fi.Mode()&os.ModeCharDevice != 0
}
