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

	"textskill/parser/rawjson"

	"textskill/internal/usage"
)

const configLong = `config prints each setting and its source: the command line, your skill.toml, the skill.toml
of the workspace, an environment variable, or the default. config also prints the rules for
tools.

Your skill.toml is in the folder skill of your configuration folder (on Linux ~/.config). It
holds flags by their names, settings, and rules for tools:

  network = true
  allow = ["/home/you/data"]
  journal-age = "90 days"

  [tools]
  ask = ["delete*"]

A workspace can have its own skill.toml. Once you trust it ("skill trust"), it counts
for the settings that yours leaves out.

skill.toml alone sets these; no flag does:

  journal-changes = 1000        keep about this many changes (-1: all)
  journal-age = "30 days"       keep changes for this long (-1s: forever)
  journal-bytes = "1 GB"        keep this much of old contents (-1: all)
  snapshot-bytes = "512 MB"     save this much before a command, to undo it (0: nothing)
  limit-file = "16 GB"          the largest file that a command may write (-1: any)
  limit-memory = "0"            most memory of each process of a command (0: no limit)
  limit-processes = 0           most processes of yours while a command runs (0: no limit)
  share-cache = "go"            commands may write your own build cache of Go
  allow-ssh = true              with network, git may use ssh and the keys of your agent
  browser-no-sandbox = true     run the browser without its own sandbox, as root must
  llm-mode = "json_schema"      format to ask a model for first; or json_object, tool, text
  llm-timeout = "20s"           give up on plain words then; a model here may need "60s"
  llm-max-calls = 0             most requests to the model for a prompt (0: no limit)
  llm-max-tokens = 0            most tokens of the model for a prompt (0: no limit)
  max-text = -1                 longest text for a perstack tool, in UTF-16 units (0: any)
  http-host = ["example.org"]   mcp and web accept requests for these hosts too
  max-equal-calls = 25          a run stops after this many equal calls in a row
  max-wait = "5m"               longest wait that a model's endpoint can ask of a run
  model-tools = "text"          for a model that cannot call tools; else native
  strict = true                 refuse a text command on standard input with extra words
  take-over = true              continue runs of dead processes, if the system has no locks
  prices = "prices.json"        {"MODEL":{"input":2.5,"output":10}}, per million tokens`

func (c *console) configCommand(set *configuration) *cobra.Command {
	var o promptOptions
	cmd := &cobra.Command{
		Use:     "config [flags]",
		Short:   "Print each setting and its source",
		Long:    configLong,
		Example: "  skill config\n  skill config -C ~/project",
		Args:    usage.Arguments(0, 0, ""),
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.failed(c.printConfig(cmd, set, o.json)) },
	}
	for _, s := range o.subjects() {
		cmd.Flags().AddFlagSet(s.flags)
	}
	return cmd
}

// unsettable are the flags that no file sets.
var unsettable = []string{"workspace", "help", "version"}

// unconfigured are the commands that read no skill.toml: they have no use for flags, or, like
// golden files, must not depend on one.
var unconfigured = []string{"help", "completion", "version", "trust", "setup", "hook", "test", "man",
	cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}

// A source is the skill.toml that sets a flag, and the value there as JSON.
type source struct{ file, value string }

// A configuration is what the files skill.toml say to a command line.
type configuration struct {
	from         map[string]source // by the name of the flag that the file sets
	user, theirs toolRules         // of the user's file, and of the workspace's, if that is trusted
}

// workspaceOf returns the folders that a command line names.
func workspaceOf(cmd *cobra.Command) *workspaceOptions {
	w := &workspaceOptions{}
	w.Dir, _ = cmd.Flags().GetString("workspace") // a command without the flag has the default
	w.Allow, _ = cmd.Flags().GetStringArray("allow")
	w.FenceWrite, _ = cmd.Flags().GetStringArray("fence-write")
	return w
}

// configure sets the flags of cmd that the command line leaves alone: by the user's skill.toml,
// then by the workspace's if the user trusts that. It keeps the rules for tools in set.
func (c *cli) configure(cmd *cobra.Command, set *configuration) error {
	if slices.Contains(unconfigured, cmd.Name()) || cmd.Flags().Lookup("workspace") == nil {
		return nil
	}
	ruled := cmd.Flags().Lookup("ask") != nil || cmd.Name() == "config"
	if err := c.configureByUser(cmd, set, ruled); err != nil {
		return err
	}
	return c.configureByWorkspace(cmd, set, ruled)
}

// configureByUser applies the user's skill.toml.
func (c *cli) configureByUser(cmd *cobra.Command, set *configuration, ruled bool) error {
	file := c.getenv.userRules()
	if file == "" {
		return nil
	}
	s, err := readSettings(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if errors.As(err, new(*os.PathError)) {
		return fmt.Errorf("%w; HOME, or XDG_CONFIG_HOME, has to name a folder of yours", err)
	}
	if err != nil {
		return err
	}
	set.user = s.Tools
	if !workspaceOf(cmd).holds(file) {
		if err := c.setFlags(cmd, set, s); err != nil {
			return err
		}
		return workspaceOf(cmd).guard(file, file)
	}
	set.user.Allow = nil
	if ruled && s.Tools.Allow != nil {
		c.sayf("allow in %s does not count, because the tools reach that file", file)
	}
	if len(s.flags) > 0 {
		c.sayf("the flags in %s do not count, because the tools reach that file", file)
	}
	return nil
}

// configureByWorkspace applies the workspace's skill.toml if the user trusts it. An error in
// one without trust is only printed.
func (c *cli) configureByWorkspace(cmd *cobra.Command, set *configuration, ruled bool) error {
	w, s, err := workspaceOf(cmd).settings(c)
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
	case !trusted && (ruled || len(s.flags) > 0):
		c.sayf("%s of the workspace does not count, because you have not trusted it as it is: type %s trust %s", rulesFile, c.program(), shellWord(w.dir))
		return nil
	case !trusted:
		return nil
	}
	set.theirs = s.Tools
	if err := c.setFlags(cmd, set, s); err != nil {
		return err
	}
	if set.from["allow"].file != w.file && set.from["fence-write"].file != w.file {
		return nil
	}
	return workspaceOf(cmd).guard(w.file, c.getenv.userRules(), c.getenv.inState("trust"))
}

// guard returns an error if the flags of a file let tools change one of some files, which say
// what tools may do.
func (w *workspaceOptions) guard(by string, files ...string) error {
	for _, name := range files {
		if name != "" && w.holds(name) {
			return fmt.Errorf("%s: allow or fence-write lets the tools change %s, and with it what they may do; name other folders", by, name)
		}
	}
	return nil
}

// setFlags sets the flags of cmd that have no value yet.
func (c *cli) setFlags(cmd *cobra.Command, set *configuration, s settings) error {
	if set.from == nil {
		set.from = map[string]source{}
	}
	for _, name := range slices.Sorted(maps.Keys(s.flags)) {
		f := cmd.Flags().Lookup(name)
		switch {
		case slices.Contains(unsettable, name) || f == nil && !c.isFlag(cmd, set, name):
			return fmt.Errorf("%s: %s is not a setting of skill.toml; \"%s help config\" lists the settings",
				s.at(name), name, c.program())
		case set.from[name].file != "" || f != nil && f.Changed:
			continue
		}
		if f != nil {
			if err := setFlag(f, s.flags[name]); err != nil {
				return fmt.Errorf("%s: %s = %s: %s", s.at(name), name, rawjson.Encode(s.flags[name]),
					usage.WrongValue(f, err))
			}
		}
		set.from[name] = source{s.file, string(rawjson.Encode(s.flags[name]))}
	}
	return nil
}

// isFlag reports whether some command has a flag of this name.
func (c *cli) isFlag(cmd *cobra.Command, set *configuration, name string) bool {
	if cmd.Root().Flags().Lookup(name) != nil {
		return true
	}
	c.addCommands(cmd.Root(), set)
	return slices.ContainsFunc(cmd.Root().Commands(),
		func(sub *cobra.Command) bool { return sub.Flags().Lookup(name) != nil })
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
var flagVariables = map[string]string{"state": "SKILL_STATE", "skill-model": "SKILL_MODEL",
	"openai-base-url": "OPENAI_BASE_URL"}

// printConfig is skill config.
func (c *console) printConfig(cmd *cobra.Command, set *configuration, json bool) error {
	var list []setting
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		s := setting{f.Name, f.Value.String(), "default"}
		variable := flagVariables[f.Name]
		switch {
		case f.Name == "help":
			return
		case f.Changed:
			s.From = "command line"
		case set.from[f.Name].file != "":
			s.From = set.from[f.Name].file
		case variable != "" && c.getenv(variable) != "":
			s.Value, s.From = c.getenv(variable), "$"+variable
		}
		list = append(list, s)
	})
	for _, name := range slices.Sorted(maps.Keys(set.from)) {
		if cmd.Flags().Lookup(name) == nil { // a flag of one command alone
			list = append(list, setting{name, set.from[name].value, set.from[name].file})
		}
	}
	for _, rules := range []struct {
		toolRules
		from string
	}{{set.user, c.getenv.userRules()}, {set.theirs, rulesFile + " of the workspace"}} {
		for _, r := range rules.lists() {
			if len(r.patterns) > 0 {
				list = append(list, setting{"tools." + r.name, strings.Join(r.patterns, ","), rules.from})
			}
		}
	}
	if json {
		return c.printJSON(list)
	}
	w := tabwriter.NewWriter(c.stdout, 0, 4, 2, ' ', 0)
	for _, s := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, s.Value, s.From)
	}
	return w.Flush()
}
