// Command skill-fleet runs experts on many machines. A run can move to another machine with its
// files. "skill-fleet help" lists the commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"textskill/internal/usage"
	"textskill/skill"
	"textskill/skill/fleet"
)

func main() {
	skill.HelperMain()
	if err := skill.GuardSecrets(); err != nil {
		fmt.Fprintln(os.Stderr, "skill-fleet:", err)
		os.Exit(exitFailed)
	}
	end := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores SIGHUP
		end = append(end, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), end...)
	context.AfterFunc(ctx, stop) // a second signal ends the program
	c := &cli{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, helper: ownProgram()}
	os.Exit(c.run(ctx, os.Args[1:]))
}

// cli is the program without the process, for tests.
type cli struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	helper         string // the program that builds the sandbox of commands; "" for none
}

// Exit codes.
const (
	exitOK      = 0
	exitFailed  = 1
	exitUsage   = 2
	exitStopped = 3 // the followed run stopped at a limit or waits for an answer
	exitQuota   = 4 // the tenant has too many waiting runs
)

type exit = usage.Exit

// ownProgram returns the helper of commands: this program. The name stays valid after the file of
// the program was replaced.
func ownProgram() string {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe"
	}
	return ""
}

const rootLong = `skill-fleet runs experts, the agents of perstack.toml, on many machines. submit sends a
folder and a query, and a worker takes them. After each step the worker stores the files,
the events and the state of the run together. If a machine is lost, another worker continues
from the last finished step, with the same files.`

const rootExample = `  skill-fleet dev
  skill-fleet worker --slots 16
  skill-fleet submit file-organizer "Organize files by type" -C ~/photos
  skill-fleet runs --follow 4kx2…
  skill-fleet fetch 4kx2… -C ~/organized`

// run carries out a command line and returns the exit code.
func (c *cli) run(ctx context.Context, args []string) int {
	root := c.command()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	var code exit
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	}
	usage.PrintError(c.stderr, cmd, err)
	return exitUsage
}

// command returns the command with all of its subcommands.
func (c *cli) command() *cobra.Command {
	o := &options{}
	root := &cobra.Command{
		Use:           "skill-fleet [flags] COMMAND",
		Short:         "Run experts on many machines",
		Long:          rootLong,
		Example:       rootExample,
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return usage.CheckEmpty(cmd, "creds")
		},
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetFlagErrorFunc(usage.FlagError)
	root.Flags().Bool("version", false, "print the version")
	o.add(root.PersistentFlags(), c)
	root.AddCommand(c.devCommand(o), c.workerCommand(o), c.submitCommand(o), c.runsCommand(o),
		c.cancelCommand(o), c.fetchCommand(o), c.callCommand(o), c.mcpCommand(o), c.webCommand(o),
		c.checkCommand(o))
	root.SetIn(c.stdin)
	root.SetOut(c.stdout)
	root.SetErr(c.stderr)
	return root
}

// failed prints an error other than a usage error, and returns the exit code.
func (c *cli) failed(err error) error {
	if err == nil || errors.As(err, new(exit)) {
		return err
	}
	switch {
	case errors.Is(err, context.Canceled):
		err = errors.New("interrupted")
	case errors.Is(err, fleet.ErrNoRun):
		err = fmt.Errorf("%w; \"skill-fleet runs\" lists them", err)
	}
	fmt.Fprintln(c.stderr, "skill-fleet:", err)
	return exit(exitFailed)
}
