package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	rawjson "textskill/parser/json"

	"textskill/cmd/internal/usage"
)

const configLong = `config prints the value of each flag, and where it is from: the command line, a profile,
your skill.toml, that of the workspace, a variable, or the default; and the rules for tools.

Your skill.toml lies in the folder skill of the configuration (on Linux ~/.config). It holds
flags by their names, rules for tools, and profiles, which --profile chooses:

  network = true
  allow = ["/home/you/data"]

  [tools]
  ask = ["delete*"]

  [profile.claude-code]
  tools = "workspace"
  audit = "/home/you/.local/state/skill-audit.jsonl"

A skill.toml of the workspace counts after "skill trust", and where you say nothing.`

func (c *cli) configCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "config [flags]",
		Short:   "Print the settings and where each comes from",
		Long:    configLong,
		Example: "  skill config\n  skill config -C ~/project --profile claude-code",
		Args:    usage.Arguments(0, 0, ""),
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.failed(c.printConfig(cmd, o)) },
	}
	o.obey(cmd, "workspace", "undo", "sandbox", "network", "model", "output")
	return cmd
}

// A layer is a set of flags that a file gives.
type layer struct {
	from  string
	flags map[string]any
	of    settings
	under string // the table of the flags with a dot after it; "" for none
}

// unsettable are the flags that only a command line gives.
var unsettable = []string{"workspace", "profile", "help", "version"}

// unconfigured are the commands that no file configures: what they do does not depend on
// flags, or, as for golden files, must not.
var unconfigured = []string{"help", "completion", "version", "trust", "setup", "test", "man", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}

// configure gives the flags of cmd that the command line does not set the values of the
// profile, else of the user's skill.toml, else of the workspace's if that is trusted. It
// keeps the rules for tools in o.
func (c *cli) configure(cmd *cobra.Command, o *options) error {
	if slices.Contains(unconfigured, cmd.Name()) || cmd.Flags().Lookup("workspace") == nil {
		return nil
	}
	o.from = map[string]string{}
	ruled := cmd.Flags().Lookup("ask") != nil || cmd.Name() == "config"
	return cmp.Or(c.configureByUser(cmd, o, ruled), c.configureByWorkspace(cmd, o, ruled))
}

// configureByUser is the part of configure that reads the user's skill.toml.
func (c *cli) configureByUser(cmd *cobra.Command, o *options, ruled bool) error {
	file := c.userRules()
	if file == "" {
		if o.profile != "" {
			return errors.New("--profile: there is no folder for your skill.toml, because the environment names no home folder")
		}
		return nil
	}
	s, err := readSettings(file)
	given, ok := s.Profile[o.profile]
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return err
	case o.profile != "" && !ok:
		return fmt.Errorf("--profile %s: %s has no [profile.%[1]s]", o.profile, file)
	case err != nil:
		return nil
	case o.profile == "":
		given = nil
	}
	o.user = s.Tools
	if o.holds(file) {
		if ruled && s.Tools.Allow != nil {
			c.sayf("allow in %s does not count, because the tools reach that file", file)
		}
		o.user.Allow = nil
		if len(s.flags)+len(given) > 0 {
			c.sayf("the flags in %s do not count, because the tools reach that file", file)
		}
		return nil
	}
	profile := "profile." + o.profile
	for _, l := range []layer{{"[" + profile + "] of " + file, given, s, profile + "."}, {file, s.flags, s, ""}} {
		if err := c.configureBy(cmd, o, l); err != nil {
			return err
		}
	}
	if o.holds(file) {
		return fmt.Errorf("%s: allow or fence-write lets the tools change this file, and with it what they may do; name other folders", file)
	}
	return nil
}

// configureByWorkspace is the part of configure that reads the workspace's skill.toml. What is
// wrong in one that is not trusted stops nothing.
func (c *cli) configureByWorkspace(cmd *cobra.Command, o *options, ruled bool) error {
	w, s, err := o.settings(c)
	if w == nil {
		return err
	}
	trusted, _ := w.isTrusted()
	if t := cmd.Flags().Lookup("trust-workspace"); t != nil && t.Value.String() == "true" {
		trusted = true
	}
	switch {
	case !trusted && err != nil:
		c.sayf("%s of the workspace does not count: %v", rulesFile, err)
		return nil
	case err != nil:
		return err
	case !trusted:
		if ruled || len(s.flags) > 0 {
			c.sayf("%s of the workspace does not count, because you have not trusted it as it is: type %s trust %s", rulesFile, c.program(), shellWord(w.dir))
		}
		return nil
	}
	o.theirs = s.Tools
	if err := c.configureBy(cmd, o, layer{w.file, s.flags, s, ""}); err != nil {
		return err
	}
	widened := o.from["allow"] == w.file || o.from["fence-write"] == w.file
	for _, name := range []string{c.userRules(), c.trustDir()} {
		if widened && name != "" && o.holds(name) {
			return fmt.Errorf("%s: allow or fence-write lets the tools change %s, and with it what they may do; name other folders", w.file, name)
		}
	}
	return nil
}

// configureBy gives flags of cmd that have no value yet those of a file.
func (c *cli) configureBy(cmd *cobra.Command, o *options, l layer) error {
	o.layers = append(o.layers, l)
	for _, name := range slices.Sorted(maps.Keys(l.flags)) {
		f := cmd.Flags().Lookup(name)
		switch {
		case slices.Contains(unsettable, name) || f == nil && !c.isFlag(cmd, o, name):
			return fmt.Errorf("%s: %s is not a flag that a file can set; %s config --help shows what it holds", l.of.at(l.under+name), name, c.program())
		case f == nil || f.Changed || o.from[name] != "":
			continue
		}
		if err := setFlag(f, l.flags[name]); err != nil {
			return fmt.Errorf("%s: %s = %s: %s", l.of.at(l.under+name), name, rawjson.Encode(l.flags[name]), usage.WrongValue(f, err))
		}
		o.from[name] = l.from
	}
	return nil
}

// isFlag reports whether some command has a flag of this name.
func (c *cli) isFlag(cmd *cobra.Command, o *options, name string) bool {
	for _, g := range o.groups {
		if g.flags.Lookup(name) != nil {
			return true
		}
	}
	c.addCommands(cmd.Root(), o)
	return slices.ContainsFunc(cmd.Root().Commands(), func(sub *cobra.Command) bool { return sub.Flags().Lookup(name) != nil })
}

// setFlag gives a flag a value of TOML.
func setFlag(f *pflag.Flag, value any) error {
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	words := make([]string, len(list))
	for i, v := range list {
		switch v.(type) {
		case string, bool, int64, float64:
			words[i] = fmt.Sprint(v)
		default:
			return errors.New("must be a text, a number, true or false, or a list of these")
		}
	}
	if isList && slices.Contains(words, "") {
		return errors.New("has an empty text in its list")
	}
	slice, takesList := f.Value.(pflag.SliceValue)
	switch {
	case !isList:
		return f.Value.Set(words[0])
	case takesList:
		return slice.Replace(words)
	}
	return errors.New("must be one value")
}

// A setting is a flag as skill config prints it.
type setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"`
}

// flagVariables are the variables that give flags their defaults.
var flagVariables = map[string]string{"state": "SKILL_STATE", "skill-model": "SKILL_MODEL", "openai-base-url": "OPENAI_BASE_URL"}

// printConfig is skill config.
func (c *cli) printConfig(cmd *cobra.Command, o *options) error {
	var list []setting
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		s := setting{f.Name, f.Value.String(), "default"}
		variable := flagVariables[f.Name]
		switch {
		case f.Name == "help":
			return
		case f.Changed:
			s.From = "command line"
		case o.from[f.Name] != "":
			s.From = o.from[f.Name]
		case variable != "" && c.getenv(variable) != "":
			s.Value, s.From = c.getenv(variable), "$"+variable
		}
		list = append(list, s)
	})
	for _, l := range o.layers {
		for _, name := range slices.Sorted(maps.Keys(l.flags)) {
			if cmd.Flags().Lookup(name) == nil && o.from[name] == "" { // a flag of one command alone
				list = append(list, setting{name, string(rawjson.Encode(l.flags[name])), l.from})
				o.from[name] = l.from
			}
		}
	}
	for _, rules := range []struct {
		toolRules
		from string
	}{{o.user, c.userRules()}, {o.theirs, rulesFile + " of the workspace"}} {
		for _, r := range rules.lists() {
			if len(r.patterns) > 0 {
				list = append(list, setting{"tools." + r.name, strings.Join(r.patterns, ","), rules.from})
			}
		}
	}
	if o.json {
		return c.printJSON(list)
	}
	w := tabwriter.NewWriter(c.stdout, 0, 4, 2, ' ', 0)
	for _, s := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, s.Value, s.From)
	}
	return w.Flush()
}
