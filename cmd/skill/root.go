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

	"textskill/internal/usage"
	"textskill/parser/wire"
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
	var set configuration
	var o promptOptions
	subjects := o.subjects()
	root := &cobra.Command{
		Use:     c.shortName() + " [flags] OPERATION PATH [TEXT]",
		Short:   "Carry out what an agent asks of a workspace",
		Long:    rootLong,
		Example: rootExample,
		Args:    cobra.ArbitraryArgs,

		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: c.program()},

		ValidArgsFunction: completeOperation,

		SilenceErrors: true,
		SilenceUsage:  true,
	}
	f := root.Flags()
	f.SetInterspersed(false)
	f.SortFlags = false
	printVersion := f.Bool("version", false, "print the version")
	for _, s := range subjects {
		f.AddFlagSet(s.flags)
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
		return c.failed(c.configure(cmd, &set))
	}
	root.RunE = func(cmd *cobra.Command, words []string) error {
		if *printVersion {
			return c.printVersion()
		}
		return c.prompt(cmd, &set, &o, words)
	}
	root.SetFlagErrorFunc(usage.FlagError)
	root.AddGroup(groups...)
	ofCommand := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd.HasParent() {
			ofCommand(c.rename(cmd), args)
		} else {
			c.printHelp(cmd, &set)
		}
	})
	root.SetHelpCommand(c.helpCommand(subjects))
	c.prepare(root, &set, args)
	return root
}

type subcommand struct {
	group string // of the help; "" for none
	name  string
	build func(*configuration) *cobra.Command
}

func (c *cli) subcommands() []subcommand {
	return []subcommand{
		{"prompts", "tools", c.toolsCommand}, {"prompts", "explain", c.explainCommand},
		{"prompts", "test", c.testCommand}, {"prompts", "mcp", c.mcpCommand},
		{"runs", "init", c.initCommand}, {"runs", "run", c.runCommand}, {"runs", "start", c.startCommand},
		{"runs", "log", c.logCommand}, {"runs", "web", c.webCommand},
		{"undo", "undo", c.undoCommand}, {"undo", "history", c.historyCommand},
		{"undo", "diff", c.diffCommand}, {"undo", "restore", c.restoreCommand},
		{"undo", "exec", c.execCommand}, {"undo", "try", c.tryCommand},
		{"undo", "keep", c.keepCommand}, {"undo", "drop", c.dropCommand},
		{"hosts", "setup", c.setupCommand}, {"hosts", "hook", c.hookCommand},
		{"workspace", "doctor", c.doctorCommand}, {"workspace", "trust", c.trustCommand},
		{"workspace", "config", c.configCommand},
		{"", "version", c.versionCommand},
	}
}

// add gives root a subcommand.
func (c *console) add(root *cobra.Command, sub subcommand, set *configuration) {
	cmd := sub.build(set)
	cmd.Flags().SortFlags = false
	cmd.GroupID = sub.group
	hideSettings(cmd)
	root.AddCommand(cmd)
}

// addCommands gives root the subcommands that it lacks, for help and completion. All texts then have
// the name by which the program was started.
func (c *cli) addCommands(root *cobra.Command, set *configuration) {
	has := map[string]bool{}
	for _, sub := range root.Commands() {
		has[sub.Name()] = true
	}
	for _, sub := range c.subcommands() {
		if !has[sub.name] {
			c.add(root, sub, set)
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
		c.rename(sub)
	}
	c.rename(root)
}

// prompt is the root command: a prompt from the words or from standard input.
func (c *cli) prompt(cmd *cobra.Command, set *configuration, o *promptOptions, words []string) error {
	if err := c.checkPrompt(cmd, set, o, words); err != nil {
		return err
	}
	if len(words) == 0 && !o.lines && isTerminal(c.stdin) {
		return cmd.Help()
	}
	command, err := argvCommandOf(cmd, o.tools, words)
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
		return p.answer(cmd.Context(), joined(words, o.tools))
	}
	text, err := c.readInput(cmd.Context(), "a prompt")
	if err != nil {
		return c.failed(err)
	}
	return p.answer(cmd.Context(), text)
}

// checkPrompt refuses flags that contradict each other, and a mistyped command.
func (c *cli) checkPrompt(cmd *cobra.Command, set *configuration, o *promptOptions,
	words []string) error {
	switch d, err := o.dialect(); {
	case err != nil:
		return err
	case d == nil && o.wire != "" && wire.Named(o.wire).IsText():
		return fmt.Errorf("--wire %s reads a model's text for calls; name the tools that they may use: --tools DIALECT", o.wire)
	case o.lines && len(words) > 0:
		return errors.New("--lines reads standard input; give the command there or leave --lines out")
	case len(words) == 1 && cmd.ArgsLenAtDash() < 0 && dialect.Of(words[0]).Lookup(words[0]) == nil:
		c.addCommands(cmd, set)
		if similar(cmd, words[0]) != "" {
			return unknownCommand(cmd, words[0])
		}
	}
	return nil
}

// failed prints an error that is not the command line's.
func (c *console) failed(err error) error {
	if err == nil || errors.As(err, new(exit)) || errors.Is(err, errUnwritten) {
		return err
	}
	switch {
	case strings.Contains(err.Error(), "ulimit"):
	case errors.Is(err, syscall.EMFILE):
		err = fmt.Errorf("%w; \"ulimit -n 1024\" allows more", err)
	case errors.Is(err, syscall.EFBIG):
		err = fmt.Errorf("%w; if \"ulimit -f\" names a limit, \"ulimit -f unlimited\" lifts it", err)
	}
	c.say(err)
	return exit(exitFailed)
}

// maxPrompt is how many bytes a prompt may have.
const maxPrompt = 256 << 20

// patience is how long nothing is said while standard input is waited for.
const patience = 2 * time.Second

// readInput reads standard input whole. If that takes long it says what it waits for.
func (c *console) readInput(ctx context.Context, what string) (string, error) {
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
