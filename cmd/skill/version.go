package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (c *cli) versionCommand(*options) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  skill version",
		Args:    arguments(0, 0, ""),
		RunE:    func(*cobra.Command, []string) error { return c.printVersion() },

		DisableFlagsInUseLine: true,
	}
}

func (c *cli) printVersion() error {
	_, err := fmt.Fprintln(c.stdout, "skill", version())
	return err
}

// version returns the module's version, with the commit if the program was built from a
// checkout.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}
