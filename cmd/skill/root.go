package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"textskill/dialect"
	"textskill/operation"
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
	maxText     int // UTF-16 units; 0 is no limit, and below it the dialect's own holds
	verbose     bool
	model       modelOptions
}

const rootLong = `skill carries out what an agent asks of a workspace: a folder that nothing leaves.

A command is words on the command line, or a prompt on standard input. A prompt
whose first word is one of the nine operations is a text command; one that is a
JSON object is an envelope of tool_calls; anything else is put to the fallback.`

const rootExample = `  skill writeFile notes/a.txt content: hi
  echo 'listDirectory .' | skill --json
  skill copyFile a.txt destination: b.txt
  skill please create a folder called drafts
  echo '{"tool_calls":[{"id":"1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a.txt\"}"}}]}' | skill
  skill --dry-run deleteFile a.txt
  skill --lines < commands.txt`

// run carries out one command line and returns the exit code.
func (c *cli) run(ctx context.Context, args []string) int {
	root := c.command()
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

func (c *cli) command() *cobra.Command {
	o := options{helper: c.helper}
	root := &cobra.Command{
		Use:           "skill [flags] COMMAND WORDS…",
		Short:         "Carry out what an agent asks of a workspace",
		Long:          rootLong,
		Example:       rootExample,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, args []string) error { return c.prompt(cmd, &o, args) },
	}
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
	f.IntVar(&o.maxText, "max-text", -1, "the longest text that a perstack tool takes, in UTF-16 `UNITS`, instead of the manual's; 0 for any")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "tell on standard error how a prompt was understood")
	root.Flags().BoolVar(&o.lines, "lines", false, "read one command per line and answer each as it is done")
	o.model.addFlags(f)
	root.RegisterFlagCompletionFunc("tools", cobra.FixedCompletions(dialectNames(), cobra.ShellCompDirectiveNoFileComp))
	root.RegisterFlagCompletionFunc("fallback", cobra.FixedCompletions([]string{"auto", "rules", "llm", "none"}, cobra.ShellCompDirectiveNoFileComp))
	root.AddCommand(c.toolsCommand(&o), c.testCommand(), c.versionCommand(), c.mcpCommand(&o))
	return root
}

// executor opens the workspace that the flags name.
func (o *options) executor() (*operation.Executor, error) {
	return operation.New(operation.Config{
		Dir: o.workspace, Allow: o.allow, ReadOnly: o.readOnly, DryRun: o.dryRun,
		AllowConfig: o.allowConfig, NoSync: o.noSync, Helper: o.helper,
	})
}

// prompt is the root command: a prompt from the words or from standard input.
func (c *cli) prompt(cmd *cobra.Command, o *options, words []string) error {
	switch d, err := o.dialect(); {
	case err != nil:
		return err
	case d != nil && d.Name == dialect.Perstack.Name:
		return errors.New("--tools perstack takes no prompts; \"skill mcp --tools perstack\" serves it")
	}
	if len(words) == 0 && isTerminal(c.stdin) {
		cmd.SetOut(c.stderr)
		cmd.Help()
		return exit(exitUsage)
	}
	x, err := o.executor()
	if err != nil {
		return err
	}
	defer x.Close()
	ask, err := o.model.fallback(c, x, o)
	if err != nil {
		return err
	}
	p := &prompter{cli: c, o: o, x: x, s: &operation.Session{}, ask: ask}
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
