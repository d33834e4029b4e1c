package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/audit"
	"textskill/skill/browser"
)

// workspaceOptions say which workspace is opened, and how. Flags set the fields of
// [skill.Config] directly. A command adds the groups of flags that it obeys.
type workspaceOptions struct {
	skill.Config
	audit   string
	cacheOf string   // the tool whose build cache commands may write
	engines []string // of --search
	limited bool     // flags limit what is kept of changes: see kept
}

// addPlace adds the flags that say where the workspace is.
func (w *workspaceOptions) addPlace(f *pflag.FlagSet) {
	f.StringVarP(&w.Dir, "workspace", "C", "",
		"use `DIR` as the workspace (default the current directory)")
	f.StringArrayVar(&w.Allow, "allow", nil, "allow access to `DIR` too; may be repeated")
}

func (w *workspaceOptions) addWorkspace(f *pflag.FlagSet) {
	w.addPlace(f)
	f.BoolVar(&w.ReadOnly, "read-only", false, "refuse every change")
	f.BoolVar(&w.DryRun, "dry-run", false, "show what would change, and change nothing")
	f.Var(choice[skill.Guard]{&w.Guard, "GUARD", []string{"on", "off", "strict"}}, "guard",
		"refuse to change a file that another program changed after it was read: on, off, or strict (refuse unread files too) (default on for --tools workspace)")
	f.BoolVar(&w.AllowConfig, "allow-config", false,
		"allow changes to files that make other programs run code, such as .git, perstack.toml, .mcp.json and .vscode")
	f.BoolVar(&w.NoSync, "no-sync", false,
		"do not wait until changes are on disk: faster, but a power failure can lose them")
	f.StringVar(&w.audit, "audit", "",
		"append a line of JSON to `FILE` for each call, reads included; FILE must be outside the workspace")
}

func (w *workspaceOptions) addUndo(f *pflag.FlagSet) {
	w.limited, w.SnapshotBytes = true, 512<<20
	w.Journal = skill.Journal{Age: 30 * 24 * time.Hour, Bytes: 1 << 30}
	f.BoolVar(&w.Journal.Off, "no-journal", false, "do not record changes: nothing can undo them")
	f.IntVar(&w.Journal.Count, "journal-changes", 1000,
		"keep the last `N` changes, and at most two blocks of 256 more (-1: all)")
	f.Var(duration{&w.Journal.Age}, "journal-age",
		"keep changes this long with all of their block of 256 (-1s: forever)")
	f.Var(size{&w.Journal.Bytes}, "journal-bytes",
		"keep at most `SIZE` of overwritten and deleted content, and the last block of changes (-1: no limit)")
	f.StringVar(&w.State, "state", "",
		"keep the history in `DIR`, outside the workspace (default $SKILL_STATE; \"skill doctor\" prints it)")
	f.Var(size{&w.SnapshotBytes}, "snapshot-bytes",
		"save at most `SIZE` of the workspace before a command runs, to undo its changes (0: nothing)")
}

// keptFlags are the flags of addUndo that say where changes are kept, and how many.
var keptFlags = []string{"journal-changes", "journal-age", "journal-bytes", "state"}

// kept limits what cfg keeps of changes. In cfg, 0 means the default. In a flag, 0 leaves only
// the last change, and no snapshot.
func (w *workspaceOptions) kept(cfg *skill.Config) {
	if j := &cfg.Journal; w.limited {
		j.Count, j.Age, j.Bytes = cmp.Or(j.Count, 1), cmp.Or(j.Age, 1), cmp.Or(j.Bytes, 1)
		cfg.SnapshotBytes = cmp.Or(cfg.SnapshotBytes, -1)
	}
}

func (w *workspaceOptions) addSandbox(f *pflag.FlagSet) {
	w.Fence = skill.FenceAuto
	f.Var(choice[skill.FenceMode]{&w.Fence, "MODE", []string{string(skill.FenceAuto),
		string(skill.FenceRequire), string(skill.FenceOff)}},
		"fence", "run commands in a sandbox: auto (as much as the system can), require (or refuse them), off")
	f.StringArrayVar(&w.FenceRead, "fence-read", nil, "let commands read `PATH` too; may be repeated")
	f.StringArrayVar(&w.FenceWrite, "fence-write", nil, "let commands write `PATH` too; may be repeated")
	f.Var(choice[string]{&w.cacheOf, "TOOL", []string{"go"}},
		"share-cache", "let commands write your build cache of `TOOL`, which saves their first build but lets them change your own later builds: go")
	f.Var(size{&w.Limits.FileSize}, "limit-file",
		"limit each file that a command writes to `SIZE` (0: 16 GB, -1: no limit)")
	f.Var(size{&w.Limits.Memory}, "limit-memory",
		"limit the address space of each process of a command to `SIZE` (0: no limit)")
	f.Int64Var(&w.Limits.Processes, "limit-processes", 0,
		"limit the user to `N` processes and threads while a command runs (0: no limit; root has none)")
	f.BoolVar(&w.AllowHooks, "allow-hooks", false,
		"let git run the hooks, filters and editors that the repository names")
	f.BoolVar(&w.AllowSSH, "allow-ssh", false,
		"with --network, let git reach remotes over ssh, with the keys of your agent")
	f.StringArrayVar(&w.PassEnv, "pass-env", nil,
		"let commands see the variable `NAME`, even if its name suggests a password or key; may be repeated")
	f.BoolVar(&w.NoSandbox, "browser-no-sandbox", false,
		"run the browser for screenshots without its own sandbox, as root must")
}

func (w *workspaceOptions) addNetwork(f *pflag.FlagSet) {
	f.BoolVar(&w.Network, "network", false,
		"let tools reach public addresses, and commands any address, also private addresses")
	f.StringSliceVar(&w.AllowDomains, "allow-domain", nil,
		"let tools and commands reach `HOST`: NAME, *.NAME or NAME:PORT; npm, go, pypi, cargo, debian and github mean all their hosts; may be repeated")
	f.StringSliceVar(&w.DenyDomains, "deny-domain", nil,
		"with --allow-domain, never let tools or commands reach `HOST` or *.HOST; may be repeated")
	f.IntSliceVar(&w.AllowLocal, "allow-local", nil,
		"let tools and commands reach `PORT` of this machine, such as a database; may be repeated")
	f.BoolVar(&w.Private, "allow-private", false,
		"with --network, also allow private addresses and localhost")
	f.StringSliceVar(&w.Hosts, "allow-host", nil,
		"with --network, also allow `HOST` or HOST:PORT at a private address; may be repeated")
	f.StringSliceVar(&w.engines, "search", nil,
		"search the web with `ENGINE`, or ENGINE=URL; repeat the flag for engines to try next: "+
			strings.Join(skill.SearchEngines, ", "))
}

// searchEngines returns the engines of some names. The engine that needs a key gets it from the
// environment. With a key and no names, that engine is the first.
func searchEngines(names []string, getenv func(string) string) ([]skill.SearchEngine, error) {
	key := getenv("BRAVE_API_KEY")
	if len(names) == 0 && key != "" {
		names = []string{"brave", "duckduckgo"}
	}
	var list []skill.SearchEngine
	for _, name := range names {
		kind, address, _ := strings.Cut(name, "=")
		if !slices.Contains(skill.SearchEngines, kind) {
			return nil, fmt.Errorf("--search %s is not a search engine; there are %s", kind,
				strings.Join(skill.SearchEngines, ", "))
		}
		if u, err := url.Parse(address); err == nil && u.User != nil {
			return nil, fmt.Errorf("--search %s=%s has a login, which every user of this machine sees in the list of processes; leave it out",
				kind, u.Redacted())
		}
		e := skill.SearchEngine{Kind: kind, URL: address}
		if kind == "brave" {
			e.Key = key
		}
		list = append(list, e)
	}
	return list, nil
}

// executor opens a workspace.
func (c *cli) executor(w *workspaceOptions) (*skill.Executor, error) {
	cfg := w.Config
	engines, err := searchEngines(w.engines, c.getenv)
	if err != nil {
		return nil, err
	}
	called, err := c.record(w)
	if err != nil {
		return nil, err
	}
	w.kept(&cfg)
	cfg.State = c.getenv.historyDir(w)
	cfg.NoSync = w.NoSync || c.unlasting
	cfg.ShareGo = w.cacheOf == "go"
	cfg.Search, cfg.Browser, cfg.Called = engines, browser.New(), called
	// there are helpers only on Linux
	cfg.ProgramFlags = w.placeFlags()
	cfg.Program, cfg.Helper, cfg.Unfenced, cfg.Subreaper = c.program(), c.helper, c.helper == "", true
	return skill.New(cfg)
}

// record returns the function that gets each call of a tool: it writes the log of --audit
// and the trace. It is nil if neither is wanted.
func (c *cli) record(w *workspaceOptions) (func(skill.Call), error) {
	if w.audit == "" {
		return c.called, nil
	}
	inside := fmt.Errorf("--audit: %w", &fs.PathError{Op: "open", Path: w.audit,
		Err: errors.New("it lies in the workspace, where the tools can change it; name a file outside")})
	if w.holds(w.audit) {
		return nil, inside
	}
	log, err := audit.Open(w.audit)
	if err != nil {
		return nil, fmt.Errorf("--audit: %w", err)
	}
	if w.holds(w.audit) { // a link led to no file before
		return nil, inside
	}
	log.Redact = agent.NewRedactor((&variables{}).secrets()).JSON
	return func(call skill.Call) {
		if err := log.Add(call); err != nil {
			c.say("--audit:", err)
		}
		if c.called != nil {
			c.called(call)
		}
	}, nil
}

// holds reports whether a file, or the link that leads to it, lies in the workspace, in a
// directory of --allow or below a path of --fence-write: whether tools can change it.
func (w *workspaceOptions) holds(file string) bool {
	file, err := filepath.Abs(file)
	link := filepath.Join(realDir(filepath.Dir(file)), filepath.Base(file))
	for _, root := range slices.Concat([]string{w.Dir}, w.Allow, w.FenceWrite) {
		root, rootErr := filepath.Abs(root)
		for _, name := range []string{link, realDir(file)} {
			rel, relErr := filepath.Rel(realDir(root), name)
			if err != nil || rootErr != nil || relErr != nil || filepath.IsLocal(rel) {
				return true
			}
		}
	}
	return false
}

// placeFlags returns the flags that say where the workspace and its history are, if they were given.
func (w *workspaceOptions) placeFlags() (flags []string) {
	if w.Dir != "" {
		flags = []string{"-C", w.Dir}
	}
	if w.State != "" {
		flags = append(flags, "--state", w.State)
	}
	return flags
}

// again returns a command line for the same workspace and history.
func (c *console) again(w *workspaceOptions, command string, words ...string) string {
	return shellLine(c.program(), slices.Concat([]string{command}, w.placeFlags(), words))
}
