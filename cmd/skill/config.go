package main

import (
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
		Short:   "Print the settings that hold, and where they are from",
		Long:    configLong,
		Example: "  skill config\n  skill config -C ~/project --profile claude-code",
		Args:    arguments(0, 0, ""),
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.failed(c.printConfig(cmd, o)) },
	}
	o.obey(cmd, "workspace", "undo", "sandbox", "network", "model", "output")
	return cmd
}

// A layer is a set of flags that a file gives.
type layer struct {
	from  string
	flags map[string]any
}

// unsettable are the flags that only a command line gives.
var unsettable = []string{"workspace", "profile", "help", "version"}

// unconfigured are the commands that no file configures: what they do does not depend on
// flags, or, as for golden files, must not.
var unconfigured = []string{"help", "completion", "version", "trust", "setup", "test", "man", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}

// configure gives the flags of cmd that the command line does not set the values of the
// profile, else of the user's skill.toml, else of the workspace's if that is trusted.
func (c *cli) configure(cmd *cobra.Command, o *options) error {
	if slices.Contains(unconfigured, cmd.Name()) || cmd.Flags().Lookup("workspace") == nil {
		return nil
	}
	layers, err := c.layers(cmd, o)
	if err != nil {
		return err
	}
	o.layers, o.from = layers, map[string]string{}
	for _, l := range layers {
		for _, name := range slices.Sorted(maps.Keys(l.flags)) {
			f := cmd.Flags().Lookup(name)
			switch {
			case slices.Contains(unsettable, name) || f == nil && !c.isFlag(cmd, o, name):
				return fmt.Errorf("%s: %s is not a flag that a file can set; skill config --help shows what it holds", l.from, name)
			case f == nil || f.Changed || o.from[name] != "":
				continue
			}
			if err := setFlag(f, l.flags[name]); err != nil {
				return fmt.Errorf("%s: %s = %s: %s", l.from, name, rawjson.Encode(l.flags[name]), wrongValue(f, err))
			}
			o.from[name] = l.from
		}
	}
	return nil
}

// layers returns what files say of flags, what counts most first.
func (c *cli) layers(cmd *cobra.Command, o *options) (layers []layer, err error) {
	if file := c.userRules(); file != "" {
		s, err := readSettings(file)
		switch given, ok := s.Profile[o.profile]; {
		case err != nil && !errors.Is(err, os.ErrNotExist):
			return nil, err
		case o.profile != "" && !ok:
			return nil, fmt.Errorf("--profile %s: %s has no [profile.%[1]s]", o.profile, file)
		case len(s.flags)+len(given) > 0 && o.holds(file):
			fmt.Fprintf(c.stderr, "skill: the flags in %s do not count, because the tools reach that file\n", file)
		default:
			layers = append(layers, layer{"[profile." + o.profile + "] of " + file, given}, layer{file, s.flags})
		}
	} else if o.profile != "" {
		return nil, errors.New("--profile: there is no folder for your skill.toml, because the environment names no home folder")
	}
	w, s, err := o.settings(c)
	if w == nil || err != nil || len(s.flags) == 0 {
		return layers, err
	}
	trusted, _ := w.isTrusted()
	if t := cmd.Flags().Lookup("trust-workspace"); t != nil && t.Value.String() == "true" {
		trusted = true
	}
	switch {
	case trusted:
		layers = append(layers, layer{w.file, s.flags})
	case cmd.Flags().Lookup("ask") == nil && cmd.Name() != "config": // else the rules for tools are read, which says the same
		fmt.Fprintf(c.stderr, "skill: %s of the workspace does not count, because you have not trusted it as it is: type skill trust %s\n", rulesFile, shellWord(w.dir))
	}
	return layers, nil
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
	slice, takesList := f.Value.(pflag.SliceValue)
	switch {
	case isList && takesList:
		words := make([]string, len(list))
		for i, v := range list {
			words[i] = fmt.Sprint(v)
		}
		return slice.Replace(words)
	case takesList:
		return slice.Replace([]string{fmt.Sprint(value)})
	case isList:
		return errors.New("must be one value")
	}
	return f.Value.Set(fmt.Sprint(value))
}

// A setting is a flag as skill config prints it.
type setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"`
}

// flagVariables are the variables that give flags their defaults.
var flagVariables = map[string]string{"state": "SKILL_STATE", "skill-model": "SKILL_MODEL", "openai-base-url": "OPENAI_BASE_URL", "openai-api-key": "OPENAI_API_KEY"}

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
		if slices.Contains(secretFlags[:], "--"+f.Name) && s.Value != "" {
			s.Value = "[a secret]"
		}
		list = append(list, s)
	})
	for _, l := range o.layers {
		for _, name := range slices.Sorted(maps.Keys(l.flags)) {
			if cmd.Flags().Lookup(name) == nil { // a flag of one command alone
				list = append(list, setting{name, string(rawjson.Encode(l.flags[name])), l.from})
			}
		}
	}
	rules, err := c.readRules(o, false, false)
	if err != nil {
		return err
	}
	for _, r := range []struct {
		name     string
		patterns []string
	}{{"tools.allow", rules.Allow}, {"tools.ask", rules.Ask}, {"tools.deny", rules.Deny}} {
		if len(r.patterns) > 0 {
			list = append(list, setting{r.name, strings.Join(r.patterns, ","), rulesFile})
		}
	}
	if o.json {
		_, err := fmt.Fprintf(c.stdout, "%s\n", rawjson.Encode(list))
		return err
	}
	w := tabwriter.NewWriter(c.stdout, 0, 4, 2, ' ', 0)
	for _, s := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, s.Value, s.From)
	}
	return w.Flush()
}
