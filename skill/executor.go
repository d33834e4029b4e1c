package skill

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"textskill/skill/internal/egress"
	"textskill/skill/internal/git"
	"textskill/skill/internal/process"
	"textskill/skill/internal/project"
	"textskill/skill/internal/web"
	"textskill/skill/internal/workspace"
)

// Config configures an Executor. The zero Config works in the current directory, allows
// everything inside it, and nothing outside.
type Config struct {
	Dir      string   // the workspace; "" means the current directory
	Allow    []string // additional directories that count as inside
	ReadOnly bool     // refuse every change
	DryRun   bool     // describe every change and apply none
	Guard    Guard    // of changes, against changes of others; "" means the guard of the tools
	// allow changes to .git, perstack.toml, .mcp.json and other files through which programs run code
	AllowConfig bool
	NoSync      bool   // do not wait for the disk
	Program     string // how a person starts this program, for messages that say what to type; "" means skill
	// flags that a person types after Program to reach this workspace, such as -C DIR
	ProgramFlags []string

	// bytes of the workspace kept before a program runs, for undo; 0 means 512 MiB, negative none
	SnapshotBytes int64
	Journal       Journal // limits of the recorded changes; the zero value is right for most
	// the folder in which histories are kept, outside the workspace; "" means one that is found
	State   string
	MaxRead int64 // bytes of a file in one answer; 0 means 1 MiB
	// absolute path of a program that calls HelperMain first and supervises and fences each
	// command; "" means none
	Helper     string
	Unfenced   bool // run commands although no Helper fences them; without both they are refused
	KeepHelper bool // keep a helper ready for the next command: for programs that run many
	// on Linux, this process has no children of other packages: it adopts, and ends, what a helper
	// that is killed leaves behind
	Subreaper bool
	// names of variables that commands do not get, in addition to those that look like credentials
	Secrets []string
	PassEnv []string // names of variables that commands do get, whatever they look like
	Network bool     // let operations reach other machines
	// hosts that operations reach without Network: HOST, *.HOST, HOST:PORT, *, or npm, go, pypi,
	// cargo, debian, github
	AllowDomains []string
	DenyDomains  []string // hosts that they do not reach, whatever allows them
	// let commands write the user's cache of Go's builds, which the user's own builds then trust
	ShareGo    bool
	AllowLocal []int     // ports of this machine, such as a database's, that operations reach without Network
	Private    bool      // with Network, also reach private addresses, this machine included
	Hosts      []string  // hosts, with or without a port, that may be reached even if they are private
	Fence      FenceMode // whether the kernel restricts commands
	FenceRead  []string  // additional files and directories that commands may read; must exist
	FenceWrite []string  // additional directories that commands may write; must exist
	Limits     Limits    // resource limits of commands; the zero value is right for most
	AllowHooks bool      // let git run the programs that a repository configures: hooks, filters, editors
	AllowSSH   bool      // let git reach remotes over ssh, with the keys of the user's agent

	// Called receives each call of a tool after it was answered, reads included. Several
	// goroutines may call it at a time. It may be nil.
	Called func(Call) `json:"-"`

	NoSandbox bool           // run the browser without its sandbox, which root must do
	Browser   Browser        `json:"-"` // takes screenshots: see package browser; nil refuses them
	Search    []SearchEngine `json:"-"` // tried in this order; nil means those that need no configuration
}

// Reaches reports whether operations reach any other machine.
func (cfg Config) Reaches() bool { return cfg.Network || len(cfg.AllowDomains) > 0 }

// An Executor runs operations on one workspace. It is safe for concurrent use: changes of
// one file run one after another, also between processes.
type Executor struct {
	cfg     Config
	ws      *workspace.Workspace
	process *process.Runner
	web     *web.Client
	git     *git.Git
	project *project.Tools
	opened  time.Time
	helpers *process.Helpers // shared with those that [Executor.Narrow] returns
	narrow  bool             // helpers are another Executor's, which closes them
}

// New opens the workspace. The caller closes the Executor.
func New(cfg Config) (*Executor, error) {
	if cfg.MaxRead == 0 {
		cfg.MaxRead = 1 << 20
	}
	cfg.Program = cmp.Or(cfg.Program, "skill")
	ws, err := workspace.Open(workspace.Options{
		Dir: cfg.Dir, Allow: cfg.Allow, ReadOnly: cfg.ReadOnly, DryRun: cfg.DryRun,
		AllowConfig: cfg.AllowConfig, NoSync: cfg.NoSync, Journal: cfg.Journal, State: cfg.State,
	})
	if err != nil {
		return nil, err
	}
	return newExecutorOn(cfg, ws, &process.Helpers{One: !cfg.KeepHelper})
}

// Program returns how a person starts the program: see [Config].
func (x *Executor) Program() string { return x.cfg.Program }

// CommandLine returns what a person types in a shell to start the program with these arguments in
// this workspace: see [Config].
func (x *Executor) CommandLine(args ...string) string {
	line := x.cfg.Program
	for _, arg := range slices.Concat(x.cfg.ProgramFlags, args) {
		line += " " + ShellWord(arg)
	}
	return line
}

// ShellWord quotes a word for a POSIX shell where that is needed.
func ShellWord(word string) string {
	special := func(r rune) bool {
		return !(r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r))) && !strings.ContainsRune("_@%+=:,./-", r)
	}
	if word != "" && !strings.ContainsFunc(word, special) {
		return word
	}
	if strings.Contains(word, "'") && !strings.ContainsAny(word, "\"$`\\!\r\n") {
		return `"` + word + `"`
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// SafePath returns a PATH without the folders in which commands may write: what lies there is no
// program of the user.
func (x *Executor) SafePath(path string) string { return x.process.SafePathOf(path) }

// SafeVariable returns the value of a variable without what makes a program load files from where
// commands may write.
func (x *Executor) SafeVariable(name, value string) string {
	return x.process.SafeVariable(name, value)
}

// WithDomains returns an Executor like x whose operations reach these domains only, each with the
// names below it; "*.NAME" stands for the latter alone. Commands have no other network. It
// shares everything else with x, and is not closed.
func (x *Executor) WithDomains(domains []string) *Executor {
	y := *x
	y.process = x.process.Within(domains)
	y.connect(domains)
	return &y
}

// AllowHost has operations reach a HOST or HOST:PORT from now on, as Config.AllowDomains does.
func (x *Executor) AllowHost(host string) error { return x.process.Policy().Allow(host) }

// connect sets what reaches other machines. No domains mean all.
func (x *Executor) connect(domains []string) {
	cfg := x.cfg
	var policy *egress.Policy
	if !cfg.Network {
		policy = x.process.Policy()
	}
	x.web = web.New(web.Config{
		Egress:  policy,
		Private: cfg.Private, Hosts: cfg.Hosts, Domains: domains, Search: cfg.Search, Browser: cfg.Browser,
		NoSandbox: cfg.NoSandbox,
	}, x.process)
	x.git = git.New(git.Config{Allow: cfg.Allow, AllowHooks: cfg.AllowHooks, AllowSSH: cfg.AllowSSH},
		x.ws, x.process, x.web)
	x.project = project.New(cfg.Reaches(), x.ws, x.process)
}

// newExecutorOn returns an Executor that owns ws, and closes ws on an error.
func newExecutorOn(cfg Config, ws *workspace.Workspace, helpers *process.Helpers) (*Executor, error) {
	run, err := process.New(process.Config{
		ReadOnly: cfg.ReadOnly, DryRun: cfg.DryRun, Network: cfg.Network, Helper: cfg.Helper,
		Unfenced: cfg.Unfenced, Ready: helpers, Subreaper: cfg.Subreaper, Secrets: cfg.Secrets,
		PassEnv: cfg.PassEnv,
		Egress:  egress.Rules{Allow: cfg.AllowDomains, Deny: cfg.DenyDomains}, Local: cfg.AllowLocal,
		ShareGo: cfg.ShareGo,
		Allow:   cfg.Allow, SnapshotBytes: cfg.SnapshotBytes,
		Fence: cfg.Fence, FenceRead: cfg.FenceRead, FenceWrite: cfg.FenceWrite, Limits: cfg.Limits,
	}, ws)
	if err != nil {
		ws.Close()
		return nil, err
	}
	x := &Executor{cfg: cfg, ws: ws, process: run, opened: time.Now(), helpers: helpers}
	x.connect(nil)
	return x, nil
}

// Narrow returns an Executor on directories inside the workspace: dirs[0] as its
// workspace, and the others as Config.Allow. It records its changes in the history of x, and
// must be closed before x.
func (x *Executor) Narrow(dirs []string) (*Executor, error) {
	ws, err := x.ws.Narrow(dirs[0], dirs[1:]...)
	if err != nil {
		return nil, err
	}
	cfg := x.cfg
	cfg.Dir, cfg.Allow = dirs[0], dirs[1:]
	y, err := newExecutorOn(cfg, ws, x.helpers)
	if err == nil {
		y.narrow = true
	}
	return y, err
}

// CheckReplaced fails if the workspace or a directory of Config.Allow was removed, or if
// something else is at its path.
func (x *Executor) CheckReplaced() error { return x.ws.CheckReplaced() }

// Close closes the workspace and removes the temporary files of commands.
func (x *Executor) Close() error {
	x.process.Close()
	if !x.narrow {
		x.helpers.Close()
	}
	return x.ws.Close()
}

// Dir returns the workspace's absolute path without symbolic links.
func (x *Executor) Dir() string { return x.ws.Dir() }

// Called returns Config.Called.
func (x *Executor) Called() func(Call) { return x.cfg.Called }

// A Call is one call of a tool, as Config.Called receives it.
type Call struct {
	Dialect   string         // whose tool it is
	Tool      string         // its name, as the client sent it if there is no such tool
	Arguments map[string]any // bounded, and without contents of files; empty if they could not be read
	Began     time.Time
	Took      time.Duration
	Failure   string // the message of the error; "" if the call succeeded
	Undo      string // ID that undoes its change; "" if it made none
	Trace     string // traceparent of W3C that its client sent; "" if none
}

// Config returns the executor's configuration, with its defaults filled in.
func (x *Executor) Config() Config { return x.cfg }

// Real returns the absolute path of name with links resolved; a link at its end is
// resolved only if follow is set. For a name that leads outside the workspace the error
// matches [ErrOutside].
func (x *Executor) Real(s *Session, name string, follow bool) (string, error) {
	if strings.IndexByte(name, 0) >= 0 {
		return x.path(s, "path", name)
	}
	return x.ws.Real(s.Dir, name, follow)
}

// Abs makes name absolute and clean: relative names start at the session's directory, and
// "" is that directory. It does not access the disk, and the result may be outside.
func (x *Executor) Abs(s *Session, name string) string { return x.ws.Abs(s.Dir, name) }

// Flush writes the content of files to the disk. The paths must be absolute and lead to
// regular files of the workspace.
func (x *Executor) Flush(abs ...string) error { return x.ws.Flush(abs...) }

// Look describes the file at name; a link at its end is followed only if follow is set.
// Errors are *fs.PathError with Op "stat", or those with which the workspace refuses a
// path.
func (x *Executor) Look(s *Session, name string, follow bool) (Info, error) {
	abs, err := x.path(s, "path", name)
	if err != nil {
		return Info{}, err
	}
	return x.ws.Stat(abs, follow)
}

// Enter returns a Session with the directory dir, which must be inside the workspace. It
// shares the todos of s.
func (x *Executor) Enter(s *Session, dir string) (*Session, error) {
	abs, err := x.ws.Real(s.Dir, dir, true)
	if err != nil {
		return nil, err
	}
	return s.within(filepath.Clean(abs)), nil
}
