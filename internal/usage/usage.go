// Package usage words what is wrong with a command line, and ends programs with a code.
package usage

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"textskill/skill"
)

// An Exit ends the program with a code, after the message has been printed.
type Exit int

func (Exit) Error() string { return "" }

// PrintError says what is wrong with a command line, what cmd takes, and where to read
// more, in three lines.
func PrintError(w io.Writer, cmd *cobra.Command, err error) {
	program := cmd.Root().DisplayName()
	topic := strings.TrimPrefix(cmd.CommandPath(), program)
	if cmd.Name() == "help" {
		topic = ""
	}
	fmt.Fprintf(w, "%s: %s\nusage: %s\nhelp:  %s help%s\n", cmd.Root().Name(), Bounded(err.Error()),
		cmd.UseLine(), program, topic)
}

// Bounded leaves out the middle of each part of a text that has more than 10,000 bytes, as no
// message about two paths has. Parts end with a line or with "; ", as in lists of errors.
func Bounded(text string) string {
	const longest, side = 10_000, 1000
	if len(text) <= longest {
		return text
	}
	for _, end := range []string{"\n", "; "} {
		if first, rest, more := strings.Cut(text, end); more {
			return Bounded(first) + end + Bounded(rest)
		}
	}
	head, tail := strings.ToValidUTF8(text[:side], ""), strings.ToValidUTF8(text[len(text)-side:], "")
	return fmt.Sprintf("%s … (%d bytes are left out) … %s", head, len(text)-2*side, tail)
}

// Elsewhere is the annotation of a command that says where flags go which it does not take.
const Elsewhere = "elsewhere"

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
			return fmt.Errorf("--%s does not apply to %s%s", f.Name, cmd.CommandPath(), cmd.Annotations[Elsewhere])
		}
		if near := nearest(cmd, name); near != "" {
			return fmt.Errorf("unknown flag: --%s; is it --%s?", name, near)
		}
	case errors.As(err, &empty):
		return needsValue(empty.GetFlag())
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		return fmt.Errorf("--%s %s: %s", f.Name, invalid.GetValue(), WrongValue(f, invalid.Unwrap()))
	}
	return err
}

// nearest returns the flag of cmd whose name is nearly the given one; "" for none.
func nearest(cmd *cobra.Command, name string) (best string) {
	if len(name) > 32 { // none is as long
		return ""
	}
	least := min(3, (len(name)+1)/2)
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if n := skill.Distance(name, f.Name); n < least {
			best, least = f.Name, n
		}
	})
	return best
}

func needsValue(f *pflag.Flag) error {
	placeholder, _ := pflag.UnquoteUsage(f)
	return fmt.Errorf("--%s needs a value: %s", f.Name, placeholder)
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
	case "duration":
		return "must be a time like 90s or 10m"
	}
	return err.Error()
}

// CheckEmpty returns an error if a flag of cmd is given nothing, as where a variable of a shell
// is not set: it would mean the same as no flag. Those that unset names may be empty where
// the environment gives them a value, which that takes back.
func CheckEmpty(cmd *cobra.Command, unset ...string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		cleared := f.DefValue != "" && slices.Contains(unset, f.Name)
		list, several := f.Value.(pflag.SliceValue)
		if !cleared && (f.Value.String() == "" || several &&
			(len(list.GetSlice()) == 0 || slices.Contains(list.GetSlice(), ""))) {
			err = needsValue(f)
		}
	})
	return err
}

// CheckUseless returns an error if cmd is given a flag that has no effect.
// why is "without --start", for example.
func CheckUseless(cmd *cobra.Command, why string, names ...string) error {
	for _, name := range names {
		if cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s has no effect %s", name, why)
		}
	}
	return nil
}

// WrongTOML words an error of the TOML decoder, without its place and the Go types in it.
func WrongTOML(err error) string {
	why := strings.TrimPrefix(err.Error(), "toml: ")
	if kind, _, ok := strings.Cut(why, " into "); ok { // the Go type follows
		why = "a value of type " + strings.TrimPrefix(kind, "cannot decode TOML ") + " does not fit here"
	}
	return why
}

// Arguments accepts from least to most arguments; missing names the arguments that are
// needed, or, where none is taken, says what to type instead. One that is needed, and the only
// one that may be left out, is not empty, as where a variable of the shell is not set.
func Arguments(least, most int, missing string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		empty := slices.Index(args, "")
		switch {
		case len(args) < least, 0 <= empty && empty < least:
			return errors.New("missing " + missing)
		case len(args) > most && most == 0 && missing != "":
			return fmt.Errorf("unexpected argument %q; %s", args[0], missing)
		case len(args) > most:
			return fmt.Errorf("unexpected argument %q", args[most])
		case empty >= 0 && least == 0:
			return errors.New("the argument is empty; say what it is, or leave it out")
		}
		return nil
	}
}
