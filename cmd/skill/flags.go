package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"textskill/skill/agent"
	"textskill/skill/dialect"
)

// unflagged are the flags that skill.toml sets, and no command line.
var unflagged = []string{
	"journal-changes", "journal-age", "journal-bytes", "snapshot-bytes", "limit-file", "limit-memory",
	"limit-processes", "share-cache",
	"allow-ssh", "browser-no-sandbox", "llm-mode", "llm-timeout", "llm-max-calls", "llm-max-tokens",
	"max-text", "http-host",
	"max-equal-calls", "max-wait", "model-tools", "prices", "strict", "take-over",
}

// hideSettings leaves the settings out of the help of a command.
func hideSettings(cmd *cobra.Command) {
	for _, name := range unflagged {
		if f := cmd.Flags().Lookup(name); f != nil {
			f.Hidden = true
		}
	}
}

// typedSetting is the error of a command line that has a setting.
func (c *console) typedSetting(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(unflagged, f.Name) {
			err = fmt.Errorf("%s is a setting and no flag: write it in skill.toml, as \"%s help config\" shows", f.Name, c.program())
		}
	})
	return err
}

// only adds the named flags of a group of flags.
func only(f *pflag.FlagSet, group func(*pflag.FlagSet), names ...string) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	group(all)
	for _, name := range names {
		f.AddFlag(all.Lookup(name))
	}
}

func addJSON(f *pflag.FlagSet, json *bool) {
	f.BoolVar(json, "json", false, "answer with one line of JSON")
}

func addVerbose(f *pflag.FlagSet, verbose *bool) {
	f.BoolVarP(verbose, "verbose", "v", false, "explain on standard error how a prompt was understood")
}

// addMaxText adds a limit in UTF-16 units. With 0 nothing is limited; below 0 each tool has its own limit.
func addMaxText(f *pflag.FlagSet, units *int) {
	f.IntVar(units, "max-text", -1,
		"let perstack tools take texts of at most `UNITS` of UTF-16 (0: no limit, -1: the tool's own)")
}

// completeValues lets shells complete the flags that take one of a few words.
func completeValues(root *cobra.Command) {
	for _, cmd := range append(root.Commands(), root) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			var words []string
			if c, ok := f.Value.(interface{ choices() []string }); ok {
				words = c.choices()
			} else if f.Name == "tools" && f.Value.Type() != "bool" {
				words = dialect.Names()
			}
			if words != nil {
				cmd.RegisterFlagCompletionFunc(f.Name,
					cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
			}
		})
	}
}

// A choice is the value of a flag that must be one of a few words.
type choice[S ~string] struct {
	value       *S
	placeholder string // in help
	words       []string
}

func (c choice[S]) String() string    { return string(*c.value) }
func (c choice[S]) Type() string      { return c.placeholder }
func (c choice[S]) choices() []string { return c.words }

func (c choice[S]) Set(word string) error {
	if !slices.Contains(c.words, word) {
		last := len(c.words) - 1
		return errors.New("must be " + strings.Join(c.words[:last], ", ") + " or " + c.words[last])
	}
	*c.value = S(word)
	return nil
}

// A reasoning is the value of a flag that says how much a model thinks.
type reasoning struct{ value *string }

func (r reasoning) String() string { return *r.value }
func (r reasoning) Type() string   { return "HOW" }

func (r reasoning) Set(word string) (err error) {
	budget, ok := agent.Reasoning(word)
	if !ok {
		return fmt.Errorf("must be %s or a number of tokens", strings.Join(agent.ReasoningBudgets, ", "))
	}
	*r.value = budget
	return nil
}

// A duration is the value of a flag that is a length of time.
type duration struct{ value *time.Duration }

// A unit is what people count in.
type unit[N time.Duration | int64] struct {
	name string
	is   N
}

var (
	timeUnits = []unit[time.Duration]{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute},
		{"second", time.Second}}
	sizeUnits = []unit[int64]{{"TB", 1 << 40}, {"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}}
)

// counted returns a number in the largest unit that it is a multiple of, "" for none.
func counted[N time.Duration | int64](n N, units []unit[N]) string {
	for _, u := range units {
		switch many := n / u.is; {
		case n <= 0 || n%u.is != 0:
		case many > 1 && u.name == strings.ToLower(u.name):
			return fmt.Sprintf("%d %ss", many, u.name)
		default:
			return fmt.Sprintf("%d %s", many, u.name)
		}
	}
	return ""
}

// uncounted reads a number and the first letters of a unit, with or without a blank between.
func uncounted[N time.Duration | int64](text string, units []unit[N]) (N, bool) {
	number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	word := strings.ToLower(strings.Replace(text[len(number):], "iB", "B", 1))
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err != nil || word == "" {
		return 0, false
	}
	for _, u := range units {
		most := N(math.MaxInt64) / u.is
		if strings.HasPrefix(strings.ToLower(u.name)+"s", word) && N(n) <= most && N(n) >= -most {
			return N(n) * u.is, true
		}
	}
	return 0, false
}

func (d duration) String() string {
	if *d.value == 0 {
		return "0" // so that help says no default
	}
	return cmp.Or(counted(*d.value, timeUnits), d.value.String())
}
func (d duration) Type() string { return "DURATION" }

func (d duration) Set(text string) (err error) {
	if n, ok := uncounted(text, timeUnits); ok {
		*d.value = n
	} else if *d.value, err = time.ParseDuration(text); err != nil {
		return errors.New("must be a duration like 90s, 48h or 30 days")
	}
	return nil
}

// A size is the value of a flag that is a number of bytes.
type size struct{ value *int64 }

func (s size) String() string {
	return cmp.Or(counted(*s.value, sizeUnits), strconv.FormatInt(*s.value, 10))
}
func (s size) Type() string { return "SIZE" }

func (s size) Set(text string) (err error) {
	if n, ok := uncounted(text, sizeUnits); ok {
		*s.value = n
	} else if *s.value, err = strconv.ParseInt(text, 10, 64); errors.Is(err, strconv.ErrRange) {
		return err
	} else if err != nil {
		return errors.New("must be a number of bytes, or a size like 512 MB")
	}
	return nil
}
