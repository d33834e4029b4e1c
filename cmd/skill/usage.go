package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"textskill/skill"
)

// printUsageError says what is wrong with a command line, what cmd takes, and where
// to read more.
func (c *cli) printUsageError(cmd *cobra.Command, err error) {
	topic := strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name())
	if cmd.Name() == "help" {
		topic = ""
	}
	fmt.Fprintf(c.stderr, "skill: %v\nusage: %s\nhelp:  skill help%s\n", err, cmd.UseLine(), topic)
}

// flagError words what pflag reports about the flags of cmd.
func flagError(cmd *cobra.Command, err error) error {
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
		return fmt.Errorf("--%s %s: %s", f.Name, invalid.GetValue(), wrongValue(f, invalid.Unwrap()))
	}
	return err
}

// wrongValue says what the value of a flag must be.
func wrongValue(f *pflag.Flag, err error) string {
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

// arguments accepts from least to most arguments; missing names those of them that
// are needed.
func arguments(least, most int, missing string) cobra.PositionalArgs {
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

// similar returns the subcommand whose name a word begins or resembles, "" if there
// is none.
func similar(root *cobra.Command, word string) string {
	const shortest, longest = 3, 16 // letters
	if len(word) < shortest || len(word) > longest || strings.ContainsAny(word, " \t\r\n") {
		return ""
	}
	word = strings.ToLower(word)
	best, least := "", longest
	for _, sub := range root.Commands() {
		name := sub.Name()
		if strings.HasPrefix(name, word) {
			return name
		}
		if d := skill.Distance(word, name); d <= len(name)/3 && d < least {
			best, least = name, d
		}
	}
	return best
}
