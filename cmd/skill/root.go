package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"textskill/cmd/internal/usage"
	"textskill/parser/wire"
	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/audit"
	"textskill/skill/browser"
	"textskill/skill/dialect"
)

// run carries out one command line and returns the exit code.
func (c *cli) run(ctx context.Context, args []string) int {
	stdout, stderr := newOutput(c.stdout), newOutput(c.stderr)
	own := *c
	own.stdout, own.stderr = stdout, stderr
	code := own.execute(ctx, args)
	// a reader that has gone wants no answer
	if err := stdout.failure(); err != nil && !errors.Is(err, syscall.EPIPE) {
		own.say(err)
		code = cmp.Or(code, exitFailed)
	}
	return code
}

// execute is run on outputs that are safe for a terminal.
func (c *cli) execute(ctx context.Context, args []string) int {
	root := c.command(args)
	root.SetArgs(goFlags(root, args))
	root.SetIn(c.stdin)
	root.SetOut(c.stdout)
	root.SetErr(c.stderr)
	cmd, err := root.ExecuteContextC(ctx)
	var code exit
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	case errors.Is(err, errUnwritten):
		return exitFailed
	case errors.As(err, new(*fs.PathError)), errors.As(err, new(syscall.Errno)):
		// the command line is right, but not here
		c.say(err)
		return exitFailed
	}
	usage.PrintError(c.stderr, cmd, err)
	return exitUsage
}

// command returns the command for a command line.
func (c *cli) command(args []string) *cobra.Command {
	o := newOptions(c.helper)
	o.program, o.args = c.program(), args
	root := &cobra.Command{
		Use:     c.program() + " [flags] OPERATION PATH [TEXT]",
		Short:   "Carry out what an agent asks of a workspace",
		Long:    rootLong,
		Example: rootExample,
		Args:    cobra.ArbitraryArgs,

		ValidArgsFunction: completeOperation,

		SilenceErrors: true,
		SilenceUsage:  true,
	}
	f := root.Flags()
	f.SetInterspersed(false)
	f.SortFlags = false
	printVersion := f.Bool("version", false, "print the version")
	for _, g := range o.groups {
		f.AddFlagSet(g.flags)
	}
	hideSettings(root)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := usage.CheckEmpty(cmd); err != nil {
			return err
		}
		if c.allowed != nil {
			if err := c.allowed(cmd); err != nil {
				return err
			}
		}
		if err := c.typedSetting(cmd); err != nil {
			return err
		}
		return c.failed(c.configure(cmd, o))
	}
	root.RunE = func(cmd *cobra.Command, words []string) error {
		if *printVersion {
			return c.printVersion()
		}
		return c.prompt(cmd, o, words)
	}
	root.SetFlagErrorFunc(usage.FlagError)
	root.AddGroup(groups...)
	ofCommand := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd.HasParent() {
			ofCommand(cmd, args)
		} else {
			c.printHelp(cmd, o)
		}
	})
	root.SetHelpCommand(c.rename(c.helpCommand(o)))
	c.prepare(root, o, args)
	return c.rename(root)
}

type subcommand struct {
	group string // of the help; "" for none
	name  string
	build func(*options) *cobra.Command
}

func (c *cli) subcommands() []subcommand {
	return []subcommand{
		{"agents", "mcp", c.mcpCommand}, {"agents", "setup", c.setupCommand},
		{"agents", "hook", c.hookCommand}, {"agents", "init", c.initCommand},
		{"agents", "run", c.runCommand}, {"agents", "start", c.startCommand},
		{"agents", "log", c.logCommand}, {"agents", "web", c.webCommand},
		{"history", "undo", c.undoCommand}, {"history", "history", c.historyCommand},
		{"history", "diff", c.diffCommand},
		{"history", "restore", c.restoreCommand},
		{"workspace", "exec", c.execCommand}, {"workspace", "doctor", c.doctorCommand},
		{"workspace", "trust", c.trustCommand}, {"workspace", "config", c.configCommand},
		{"workspace", "tools", c.toolsCommand}, {"workspace", "test", c.testCommand},
		{"workspace", "explain", c.explainCommand},
		{"", "version", c.versionCommand},
	}
}

// add gives root a subcommand.
func (c *cli) add(root *cobra.Command, sub subcommand, o *options) {
	cmd := sub.build(o)
	cmd.GroupID = sub.group
	hideSettings(cmd)
	root.AddCommand(c.rename(cmd))
}

// addCommands gives root the subcommands that it lacks.
func (c *cli) addCommands(root *cobra.Command, o *options) {
	has := map[string]bool{}
	for _, sub := range root.Commands() {
		has[sub.Name()] = true
	}
	for _, sub := range c.subcommands() {
		if !has[sub.name] {
			c.add(root, sub, o)
		}
	}
	root.CompletionOptions.DisableDefaultCmd = false
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, sub := range root.Commands() {
		if sub.Name() == "completion" {
			sub.Short, sub.Long = "Print the script that lets a shell complete words",
				strings.ReplaceAll(completionLong, "PROGRAM", c.program())
			sub.Use, sub.Args, sub.RunE = "completion SHELL", cobra.ArbitraryArgs, needsShell
			withBashWords(sub)
		}
	}
}

// executor opens the workspace that the flags name.
func (c *cli) executor(o *options) (*skill.Executor, error) {
	engines, err := o.searchEngines(c.getenv)
	if err != nil {
		return nil, err
	}
	called, err := c.record(o)
	if err != nil {
		return nil, err
	}
	return skill.New(skill.Config{
		Dir: o.workspace, Allow: o.allow, ReadOnly: o.readOnly, DryRun: o.dryRun, Guard: skill.Guard(o.stale),
		// but for Linux, there are no helpers
		AllowConfig: o.allowConfig, NoSync: o.noSync || c.unlasting, Program: c.program(), Journal: o.kept(),
		State: cmp.Or(o.state, c.getenv("SKILL_STATE")), Helper: o.helper, Unfenced: o.helper == "",
		SnapshotBytes: cmp.Or(o.snapshot, -1),
		AllowDomains:  o.allowed, DenyDomains: o.denied, AllowLocal: o.local, ShareGo: o.share == "go",
		Network: o.network, Private: o.private, Hosts: o.hosts, AllowHooks: o.allowHooks,
		AllowSSH: o.allowSSH,
		Fence:    skill.FenceMode(o.fence), FenceRead: o.fenceRead, FenceWrite: o.fenceWrite,
		Limits: o.limits, PassEnv: o.passEnv, Subreaper: true, KeepHelper: o.keepHelper,
		Search: engines, NoSandbox: o.noSandbox, Browser: browser.New(), Called: called,
	})
}

// record returns the function that gets each call of a tool: it writes the log of --audit
// and the trace. It is nil if neither is wanted.
func (c *cli) record(o *options) (func(skill.Call), error) {
	if o.audit == "" {
		return c.called, nil
	}
	inside := fmt.Errorf("--audit: %w", &fs.PathError{Op: "open", Path: o.audit,
		Err: errors.New("it lies in the workspace, where the tools can change it; name a file outside")})
	if o.holds(o.audit) {
		return nil, inside
	}
	log, err := audit.Open(o.audit)
	if err != nil {
		return nil, fmt.Errorf("--audit: %w", err)
	}
	if o.holds(o.audit) { // a link led to no file before
		return nil, inside
	}
	log.Redact = agent.NewRedactor((&variables{}).secrets()).JSON
	return func(call skill.Call) {
		if err := log.Add(call); err != nil {
			c.say("--audit:", err)
		}
		if c.called != nil {
			c.called(call)
		}
	}, nil
}

// prompt is the root command: a prompt from the words or from standard input.
func (c *cli) prompt(cmd *cobra.Command, o *options, words []string) error {
	if err := c.checkPrompt(cmd, o, words); err != nil {
		return err
	}
	if len(words) == 0 && !o.lines && isTerminal(c.stdin) {
		return cmd.Help()
	}
	command, err := o.argvCommand(cmd, words)
	if err != nil {
		return err
	}
	p, err := c.prompter(o)
	if err != nil {
		return err
	}
	defer p.x.Close()
	switch {
	case o.lines:
		return c.failed(p.eachLine(cmd.Context(), c.stdin))
	case command != nil:
		return p.carryOut(cmd.Context(), words[0], command)
	case len(words) > 0:
		return p.answer(cmd.Context(), o.joined(words))
	}
	text, err := c.readInput(cmd.Context(), "a prompt")
	if err != nil {
		return c.failed(err)
	}
	return p.answer(cmd.Context(), text)
}

// checkPrompt refuses flags that contradict each other, and a mistyped command.
func (c *cli) checkPrompt(cmd *cobra.Command, o *options, words []string) error {
	switch d, err := o.dialect(); {
	case err != nil:
		return err
	case d == nil && o.wire != "" && wire.Named(o.wire).IsText():
		return fmt.Errorf("--wire %s reads a model's text for calls; name the tools that they may use: --tools DIALECT", o.wire)
	case o.lines && len(words) > 0:
		return errors.New("--lines reads standard input; give the command there or leave --lines out")
	case len(words) == 1 && cmd.ArgsLenAtDash() < 0 && dialect.Of(words[0]).Lookup(words[0]) == nil:
		c.addCommands(cmd, o)
		if similar(cmd, words[0]) != "" {
			return unknownCommand(cmd, words[0])
		}
	}
	return nil
}

// failed prints an error that is not the command line's.
func (c *cli) failed(err error) error {
	if err == nil || errors.As(err, new(exit)) || errors.Is(err, errUnwritten) {
		return err
	}
	c.say(err)
	return exit(exitFailed)
}

// maxPrompt is how many bytes a prompt may have.
const maxPrompt = 256 << 20

// patience is how long nothing is said while standard input is waited for.
const patience = 2 * time.Second

// readInput reads standard input whole. If that takes long it says what it waits for.
func (c *cli) readInput(ctx context.Context, what string) (string, error) {
	var data []byte
	var err error
	read := make(chan struct{})
	go func() { // it ends with the input, at the latest with the program
		data, err = io.ReadAll(io.LimitReader(c.stdin, maxPrompt+1))
		close(read)
	}()
	slow := time.NewTimer(patience)
	defer slow.Stop()
	for {
		select {
		case <-read:
			if len(data) > maxPrompt {
				return "", fmt.Errorf("standard input is larger than %d bytes", maxPrompt)
			}
			return string(data), err
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-slow.C:
			c.sayf("waiting for %s on standard input", what)
		}
	}
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	fi, err := f.Stat()
	// /dev/null is such a device, too
	return err == nil && fi.Mode()&os.ModeCharDevice != 0 && term.IsTerminal(int(f.Fd()))
}

// isSent reports whether r is what another program or the shell passes on: a pipe, a
// socket or a regular file.
func isSent(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return true
	}
	info, err := f.Stat()
	return err == nil && (info.Mode().IsRegular() || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0)
}
