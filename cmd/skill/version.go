package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"textskill/cmd/internal/usage"
)

func (c *cli) versionCommand(*options) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  skill version",
		Args:    usage.Arguments(0, 0, ""),
		RunE:    func(*cobra.Command, []string) error { return c.printVersion() },

		DisableFlagsInUseLine: true,
	}
}

func (c *cli) printVersion() error {
	_, err := fmt.Fprintln(c.stdout, c.program(), version())
	return err
}

// released is the version and commit of a released program; "" for others. .ci/release
// sets it.
var released string

// version returns that of the release, or the module's, with the commit if the program
// was built from a checkout.
func version() string {
	if released != "" {
		return released
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}
