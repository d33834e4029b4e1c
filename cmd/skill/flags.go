package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"textskill/parser/wire"
	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/dialect"
)

// options are the flags that commands share, by subject. A command obeys those that
// it is given by obey, and refuses the others.
type options struct {
	helper     string            // not a flag: see cli
	program    string            // not a flag: see cli
	keepHelper bool              // not a flag: this command runs many programs
	args       []string          // the whole command line
	from       map[string]source // the skill.toml that sets a flag, by the name of the flag
	user       toolRules         // for tools, of the user's skill.toml
	theirs     toolRules         // likewise of the workspace's, if that is trusted
	groups     []flagGroup

	workspaceFlags
	undoFlags
	sandboxFlags
	networkFlags
	modelFlags
	outputFlags
}

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
func (c *cli) typedSetting(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(unflagged, f.Name) {
			err = fmt.Errorf("%s is a setting and no flag: write it in skill.toml, as \"%s help config\" shows", f.Name, c.program())
		}
	})
	return err
}

// A flagGroup holds the flags of one subject.
type flagGroup struct {
	name  string
	title string // in help
	flags *pflag.FlagSet
}

func newOptions(helper string) *options {
	o := &options{helper: helper}
	group := func(name, title string, add func(*pflag.FlagSet)) {
		f := pflag.NewFlagSet(name, pflag.ContinueOnError)
		f.SortFlags = false
		add(f)
		o.groups = append(o.groups, flagGroup{name, title, f})
	}
	group("workspace", "Workspace", o.workspaceFlags.add)
	group("undo", "Undo", o.undoFlags.add)
	group("sandbox", "Sandbox", o.sandboxFlags.add)
	group("network", "Network", o.networkFlags.add)
	group("model", "Model", o.modelFlags.add)
	group("output", "Input and output", o.outputFlags.add)
	return o
}

// obey gives cmd shared flags: a group, "undo", or one flag, "--json".
func (o *options) obey(cmd *cobra.Command, names ...string) {
	cmd.Flags().SortFlags = false
	for _, name := range names {
		flag, single := strings.CutPrefix(name, "--")
		i := slices.IndexFunc(o.groups, func(g flagGroup) bool {
			return single && g.flags.Lookup(flag) != nil || g.name == name
		})
		switch {
		case i < 0:
			panic("no shared flag or group of flags is called " + name)
		case single:
			cmd.Flags().AddFlag(o.groups[i].flags.Lookup(flag))
		default:
			cmd.Flags().AddFlagSet(o.groups[i].flags)
		}
	}
}

// completeValues lets shells complete the flags that take one of a few words.
func completeValues(root *cobra.Command) {
	words := map[string][]string{"tools": dialect.Names()}
	root.Flags().VisitAll(func(f *pflag.Flag) {
		if c, ok := f.Value.(choice); ok {
			words[f.Name] = c.words
		}
	})
	for name, list := range words {
		root.RegisterFlagCompletionFunc(name,
			cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp))
	}
}

// A choice is the value of a flag that must be one of a few words.
type choice struct {
	value       *string
	placeholder string // in help
	words       []string
}

func (c choice) String() string { return *c.value }
func (c choice) Type() string   { return c.placeholder }

func (c choice) Set(word string) error {
	if !slices.Contains(c.words, word) {
		last := len(c.words) - 1
		return errors.New("must be " + strings.Join(c.words[:last], ", ") + " or " + c.words[last])
	}
	*c.value = word
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

type workspaceFlags struct {
	workspace   string
	allow       []string
	readOnly    bool
	dryRun      bool
	stale       string
	allowConfig bool
	noSync      bool
	audit       string
}

func (w *workspaceFlags) add(f *pflag.FlagSet) {
	f.StringVarP(&w.workspace, "workspace", "C", "",
		"use `DIR` as the workspace (default the current directory)")
	f.StringArrayVar(&w.allow, "allow", nil, "allow access to `DIR` too; may be repeated")
	f.BoolVar(&w.readOnly, "read-only", false, "refuse every change")
	f.BoolVar(&w.dryRun, "dry-run", false, "show what would change, and change nothing")
	f.Var(choice{&w.stale, "GUARD", []string{"on", "off", "strict"}}, "guard",
		"refuse to change a file that another program changed after it was read: on, off, or strict (refuse unread files too) (default on for --tools workspace)")
	f.BoolVar(&w.allowConfig, "allow-config", false,
		"allow changes to files that make other programs run code, such as .git, perstack.toml, .mcp.json and .vscode")
	f.BoolVar(&w.noSync, "no-sync", false,
		"do not wait until changes are on disk: faster, but a power failure can lose them")
	f.StringVar(&w.audit, "audit", "",
		"append a line of JSON to `FILE` for each call, reads included; FILE must be outside the workspace")
}

type undoFlags struct {
	journal  skill.Journal
	state    string
	snapshot int64
}

func (u *undoFlags) add(f *pflag.FlagSet) {
	u.journal.Age, u.journal.Bytes, u.snapshot = 30*24*time.Hour, 1<<30, 512<<20
	f.BoolVar(&u.journal.Off, "no-journal", false, "do not record changes: nothing can undo them")
	f.IntVar(&u.journal.Count, "journal-changes", 1000,
		"keep the last `N` changes, and at most two blocks of 256 more (-1: all)")
	f.Var(duration{&u.journal.Age}, "journal-age",
		"keep changes this long with all of their block of 256 (-1s: forever)")
	f.Var(size{&u.journal.Bytes}, "journal-bytes",
		"keep at most `SIZE` of overwritten and deleted content, and the last block of changes (-1: no limit)")
	f.StringVar(&u.state, "state", "",
		"keep the history in `DIR`, outside the workspace (default $SKILL_STATE; \"skill doctor\" prints it)")
	f.Var(size{&u.snapshot}, "snapshot-bytes",
		"save at most `SIZE` of the workspace before a command runs, to undo its changes (0: nothing)")
}

// kept returns what is kept of changes. In a Journal 0 means the default; on the
// command line it leaves only the last change.
func (u *undoFlags) kept() skill.Journal {
	j := u.journal
	j.Count, j.Age, j.Bytes = cmp.Or(j.Count, 1), cmp.Or(j.Age, 1), cmp.Or(j.Bytes, 1)
	return j
}

type sandboxFlags struct {
	fence      string
	share      string
	fenceRead  []string
	fenceWrite []string
	limits     skill.Limits
	allowHooks bool
	allowSSH   bool
	passEnv    []string
	noSandbox  bool
}

func (s *sandboxFlags) add(f *pflag.FlagSet) {
	s.fence = string(skill.FenceAuto)
	f.Var(choice{&s.fence, "MODE", []string{string(skill.FenceAuto), string(skill.FenceRequire),
		string(skill.FenceOff)}},
		"fence", "run commands in a sandbox: auto (as much as the system can), require (or refuse them), off")
	f.StringArrayVar(&s.fenceRead, "fence-read", nil, "let commands read `PATH` too; may be repeated")
	f.StringArrayVar(&s.fenceWrite, "fence-write", nil, "let commands write `PATH` too; may be repeated")
	f.Var(choice{&s.share, "TOOL", []string{"go"}},
		"share-cache", "let commands write your build cache of `TOOL`, which saves their first build but lets them change your own later builds: go")
	f.Var(size{&s.limits.FileSize}, "limit-file",
		"limit each file that a command writes to `SIZE` (0: 16 GB, -1: no limit)")
	f.Var(size{&s.limits.Memory}, "limit-memory",
		"limit the address space of each process of a command to `SIZE` (0: no limit)")
	f.Int64Var(&s.limits.Processes, "limit-processes", 0,
		"limit the user to `N` processes and threads while a command runs (0: no limit; root has none)")
	f.BoolVar(&s.allowHooks, "allow-hooks", false,
		"let git run the hooks, filters and editors that the repository names")
	f.BoolVar(&s.allowSSH, "allow-ssh", false,
		"with --network, let git reach remotes over ssh, with the keys of your agent")
	f.StringArrayVar(&s.passEnv, "pass-env", nil,
		"let commands see the variable `NAME`, even if its name suggests a password or key; may be repeated")
	f.BoolVar(&s.noSandbox, "browser-no-sandbox", false,
		"run the browser for screenshots without its own sandbox, as root must")
}

type networkFlags struct {
	network bool
	private bool
	allowed []string
	denied  []string
	local   []int
	hosts   []string
	engines []string
}

func (n *networkFlags) add(f *pflag.FlagSet) {
	f.BoolVar(&n.network, "network", false,
		"let tools reach public addresses, and commands any address, also private addresses")
	f.StringSliceVar(&n.allowed, "allow-domain", nil,
		"let tools and commands reach `HOST`: NAME, *.NAME or NAME:PORT; npm, go, pypi, cargo, debian and github mean all their hosts; may be repeated")
	f.StringSliceVar(&n.denied, "deny-domain", nil,
		"with --allow-domain, never let tools or commands reach `HOST` or *.HOST; may be repeated")
	f.IntSliceVar(&n.local, "allow-local", nil,
		"let tools and commands reach `PORT` of this machine, such as a database; may be repeated")
	f.BoolVar(&n.private, "allow-private", false,
		"with --network, also allow private addresses and localhost")
	f.StringSliceVar(&n.hosts, "allow-host", nil,
		"with --network, also allow `HOST` or HOST:PORT at a private address; may be repeated")
	f.StringSliceVar(&n.engines, "search", nil,
		"search the web with `ENGINE`, or ENGINE=URL; repeat the flag for engines to try next: "+
			strings.Join(skill.SearchEngines, ", "))
}

// searchEngines returns the engines that --search names, with the key from the
// environment for the one that needs a key. With a key and no flag, that one is
// asked first.
func (n *networkFlags) searchEngines(getenv func(string) string) ([]skill.SearchEngine, error) {
	names, key := n.engines, getenv("BRAVE_API_KEY")
	if len(names) == 0 && key != "" {
		names = []string{"brave", "duckduckgo"}
	}
	var list []skill.SearchEngine
	for _, name := range names {
		kind, url, _ := strings.Cut(name, "=")
		if !slices.Contains(skill.SearchEngines, kind) {
			return nil, fmt.Errorf("--search %s is not a search engine; there are %s", kind,
				strings.Join(skill.SearchEngines, ", "))
		}
		e := skill.SearchEngine{Kind: kind, URL: url}
		if kind == "brave" {
			e.Key = key
		}
		list = append(list, e)
	}
	return list, nil
}

type modelFlags struct {
	fallback   string
	trust      bool
	policy     string
	strict     bool
	baseURL    string
	keyFile    string
	modelName  string
	rung       string
	llmTimeout time.Duration
	maxCalls   int
	maxTokens  int
}

func (m *modelFlags) add(f *pflag.FlagSet) {
	m.fallback, m.policy, m.llmTimeout = "auto", "ask", 20*time.Second
	f.Var(choice{&m.fallback, "MODE", []string{"auto", "rules", "llm", "none"}},
		"fallback", "read plain words (a request in English) by rules, by the model (llm), by rules and then the model (auto), or not at all (none)")
	f.StringVar(&m.baseURL, "openai-base-url", "",
		"ask the model at `URL`, any OpenAI-compatible endpoint (default $OPENAI_BASE_URL)")
	f.StringVar(&m.keyFile, "openai-api-key-file", "",
		"send the key in `FILE` to the model's endpoint (default $OPENAI_API_KEY)")
	f.StringVar(&m.modelName, "skill-model", "", "use the model `NAME` (default $SKILL_MODEL)")
	f.BoolVar(&m.trust, "trust-llm", false, "carry out the model's first answer without checks")
	f.Var(choice{&m.policy, "POLICY", []string{"ask", "refuse", "allow"}},
		"llm", "when plain words may mean to delete or overwrite: ask (y/N on a terminal, else exit code 3), refuse, allow")
	f.BoolVar(&m.strict, "strict", false, "refuse a text command on standard input that has extra words")
	f.Var(choice{&m.rung, "MODE", []string{"json_schema", "json_object", "tool", "text"}},
		"llm-mode", "how to ask the model for an answer first: json_schema, json_object, tool, text (default found by trying)")
	f.Var(duration{&m.llmTimeout}, "llm-timeout",
		"give up on a prompt after this long, all requests to the model included")
	f.IntVar(&m.maxCalls, "llm-max-calls", 0, "send the model at most `N` requests (0: no limit)")
	f.IntVar(&m.maxTokens, "llm-max-tokens", 0, "use at most `N` tokens of the model (0: no limit)")
}

// givenKey returns the key in the file of --openai-api-key-file, "" without the flag.
func (m *modelFlags) givenKey() (string, error) {
	if m.keyFile == "" {
		return "", nil
	}
	data, err := readRegular(m.keyFile)
	key := strings.TrimSpace(string(data))
	switch {
	case err != nil:
		return "", fmt.Errorf("--openai-api-key-file: %w", err)
	case key == "":
		return "", fmt.Errorf("--openai-api-key-file: %w",
			&fs.PathError{Op: "read", Path: m.keyFile, Err: errors.New("it holds no key")})
	}
	return key, nil
}

type outputFlags struct {
	tools   string
	wire    string
	maxText int // UTF-16 units; 0 is no limit, less than 0 the limit of each tool
	lines   bool
	json    bool
	verbose bool
}

func (p *outputFlags) add(f *pflag.FlagSet) {
	f.StringVar(&p.tools, "tools", "",
		"read the input as calls of `DIALECT`, a set of tools, instead of guessing from its form: "+
			strings.Join(dialect.Names(), ", "))
	f.Var(choice{&p.wire, "WIRE", wire.Names(func(*wire.Wire) bool { return true })},
		"wire", "read the input as a message in the format WIRE, and answer in it, instead of guessing from its form: "+strings.Join(wire.Names(func(*wire.Wire) bool { return true }), ", "))
	f.BoolVar(&p.lines, "lines", false,
		"read one command per line of standard input, and answer each at once")
	f.BoolVar(&p.json, "json", false, "answer with one line of JSON")
	f.BoolVarP(&p.verbose, "verbose", "v", false, "explain on standard error how a prompt was understood")
	f.IntVar(&p.maxText, "max-text", -1,
		"let perstack tools take texts of at most `UNITS` of UTF-16 (0: no limit, -1: the tool's own)")
}
