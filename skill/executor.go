package skill

import (
	"path/filepath"
	"strings"
	"time"

	"textskill/skill/internal/git"
	"textskill/skill/internal/process"
	"textskill/skill/internal/project"
	"textskill/skill/internal/web"
	"textskill/skill/internal/workspace"
)

// Config is what an Executor needs to know of the world. The zero Config works
// in the current folder, with everything inside it allowed and nothing outside.
type Config struct {
	Dir         string   // the workspace; "" means the current folder
	Allow       []string // further folders that count as inside
	ReadOnly    bool     // refuse every change
	DryRun      bool     // describe every change and apply none
	AllowConfig bool     // let .git, perstack and perstack.toml be changed
	NoSync      bool     // do not wait for the disk

	SnapshotBytes int64     // kept of the workspace, so that what programs change can be undone; 0 means 256 MiB, less than 0 none
	Journal       Journal   // how much is kept of changes; the zero value is right for most
	MaxRead       int64     // bytes that one answer carries of a file; 0 means 64 MiB
	Helper        string    // absolute path of a program that calls HelperMain first, to watch each command; "" means none
	Secrets       []string  // variables kept from commands, besides those this program takes credentials from
	Network       bool      // let operations reach other machines
	Private       bool      // let them reach private addresses too, this machine included
	Hosts         []string  // names or addresses that may be reached though they are private
	Fence         FenceMode // what the system itself is to forbid to commands
	FenceRead     []string  // files and folders that they may read beside the usual; they must exist
	FenceWrite    []string  // folders that they may write beside the workspace and the caches; they must exist
	Limits        Limits    // of what commands take; the zero value is right for most
	AllowHooks    bool      // let git run what a repository's configuration names: hooks, filters, editors

	// NoSandbox lets the browser that takes screenshots run without its sandbox, as
	// root has to.
	NoSandbox bool
	// Browser takes screenshots: package browser has one. nil refuses them.
	Browser Browser
	// Search are asked in this order; none means those that take no configuration.
	Search []SearchEngine
}

// An Executor carries out operations on one workspace. It is safe for concurrent
// use: changes of one file run one after another, also between processes.
type Executor struct {
	cfg     Config
	ws      *workspace.Workspace
	process *process.Runner
	web     *web.Client
	git     *git.Git
	project *project.Tools
	opened  time.Time
}

// New opens the workspace. Close releases it.
func New(cfg Config) (*Executor, error) {
	if cfg.MaxRead == 0 {
		cfg.MaxRead = 64 << 20
	}
	ws, err := workspace.Open(workspace.Options{
		Dir: cfg.Dir, Allow: cfg.Allow, ReadOnly: cfg.ReadOnly, DryRun: cfg.DryRun,
		AllowConfig: cfg.AllowConfig, NoSync: cfg.NoSync, Journal: cfg.Journal,
	})
	if err != nil {
		return nil, err
	}
	return newExecutorOn(cfg, ws)
}

// newExecutorOn takes over ws.
func newExecutorOn(cfg Config, ws *workspace.Workspace) (*Executor, error) {
	run, err := process.New(process.Config{
		ReadOnly: cfg.ReadOnly, DryRun: cfg.DryRun, Network: cfg.Network, Helper: cfg.Helper, Secrets: cfg.Secrets,
		Allow: cfg.Allow, SnapshotBytes: cfg.SnapshotBytes,
		Fence: cfg.Fence, FenceRead: cfg.FenceRead, FenceWrite: cfg.FenceWrite, Limits: cfg.Limits,
	}, ws)
	if err != nil {
		ws.Close()
		return nil, err
	}
	reach := web.New(web.Config{
		Private: cfg.Private, Hosts: cfg.Hosts, Search: cfg.Search, Browser: cfg.Browser, NoSandbox: cfg.NoSandbox,
	}, run, ws.Dir())
	return &Executor{
		cfg: cfg, ws: ws, process: run, web: reach, opened: time.Now(),
		git:     git.New(git.Config{Allow: cfg.Allow, AllowHooks: cfg.AllowHooks}, ws, run, reach),
		project: project.New(cfg.Network, ws, run),
	}, nil
}

// Narrow opens an Executor on folders inside the workspace, the first of them its own
// and the others allowed. Its changes are recorded with those of x, which must be
// closed after it.
func (x *Executor) Narrow(dirs []string) (*Executor, error) {
	ws, err := x.ws.Narrow(dirs[0], dirs[1:]...)
	if err != nil {
		return nil, err
	}
	cfg := x.cfg
	cfg.Dir, cfg.Allow = dirs[0], dirs[1:]
	return newExecutorOn(cfg, ws)
}

// Close releases the workspace, and removes the temporary files of commands.
func (x *Executor) Close() error {
	x.process.Close()
	return x.ws.Close()
}

// Dir returns the workspace's absolute path without symbolic links.
func (x *Executor) Dir() string { return x.ws.Dir() }

// Config returns what the executor was made with, defaults filled in.
func (x *Executor) Config() Config { return x.cfg }

// Real returns the absolute name that name leads to, with the links above it
// followed, and the one at its end if follow is set. A name that leads outside is
// an [*OutsideError].
func (x *Executor) Real(s *Session, name string, follow bool) (string, error) {
	if strings.IndexByte(name, 0) >= 0 {
		return x.path(s, "path", name)
	}
	return x.ws.Real(s.Dir, name, follow)
}

// Abs makes name absolute and clean: relative names start at the session's folder,
// and "" is that folder. The disk is not looked at; it may be outside.
func (x *Executor) Abs(s *Session, name string) string { return x.ws.Abs(s.Dir, name) }

// Flush makes the content of files durable. The names are absolute; what is no
// regular file of the workspace is an error.
func (x *Executor) Flush(abs ...string) error { return x.ws.Flush(abs...) }

// Look describes what is at name, where the link at its end leads if follow is
// set. Errors are *fs.PathError with Op "stat", or those with which the workspace refuses a path.
func (x *Executor) Look(s *Session, name string, follow bool) (Info, error) {
	abs, err := x.path(s, "path", name)
	if err != nil {
		return Info{}, err
	}
	return x.ws.Stat(abs, follow)
}

// Enter returns a Session that starts at dir, which must lie inside. It shares the
// todos of s.
func (x *Executor) Enter(s *Session, dir string) (*Session, error) {
	abs, err := x.ws.Real(s.Dir, dir, true)
	if err != nil {
		return nil, err
	}
	return s.within(filepath.Clean(abs)), nil
}
