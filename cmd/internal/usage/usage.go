// Package usage words what is wrong with a command line.
package usage

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// PrintError says what is wrong with a command line, what cmd takes, and where to read
// more, in three lines.
func PrintError(w io.Writer, cmd *cobra.Command, err error) {
	program := cmd.Root().Name()
	topic := strings.TrimPrefix(cmd.CommandPath(), program)
	if cmd.Name() == "help" {
		topic = ""
	}
	fmt.Fprintf(w, "%s: %v\nusage: %s\nhelp:  %[1]s help%[4]s\n", program, err, cmd.UseLine(), topic)
}

// FlagError words what pflag reports about the flags of cmd.
func FlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var empty *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		f := cmd.Root().Flags().Lookup(name)
		if unknown.GetSpecifiedShortnames() != "" {
			f = cmd.Root().Flags().ShorthandLookup(name)
		}
		if f != nil {
			return fmt.Errorf("--%s does not apply to %s", f.Name, cmd.CommandPath())
		}
	case errors.As(err, &empty):
		placeholder, _ := pflag.UnquoteUsage(empty.GetFlag())
		return fmt.Errorf("--%s needs a value: %s", empty.GetFlag().Name, placeholder)
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		return fmt.Errorf("--%s %s: %s", f.Name, invalid.GetValue(), WrongValue(f, invalid.Unwrap()))
	}
	return err
}

// WrongValue says what the value of a flag must be.
func WrongValue(f *pflag.Flag, err error) string {
	if errors.Is(err, strconv.ErrRange) {
		return "is out of range"
	}
	switch f.Value.Type() {
	case "bool":
		return "must be true or false"
	case "int", "int64":
		return "must be a whole number"
	case "float64":
		return "must be a number"
	}
	return err.Error()
}

// Arguments accepts from least to most arguments; missing names those of them that
// are needed.
func Arguments(least, most int, missing string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return errors.New("missing " + missing)
		case len(args) > most:
			return fmt.Errorf("unexpected argument %q", args[most])
		}
		return nil
	}
}
