package operation

import (
	"path/filepath"
	"strings"
	"time"

	"textskill/operation/workspace"
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
	MaxRead     int64    // bytes that one answer carries of a file; 0 means 64 MiB
	Helper      string   // absolute path of a program that calls HelperMain first, to watch each command; "" means none
	Secrets     []string // variables kept from commands, besides those this program takes credentials from
}

// An Executor carries out operations on one workspace. It is safe for concurrent
// use: changes of one file run one after another, also between processes.
type Executor struct {
	cfg    Config
	ws     *workspace.Workspace
	opened time.Time
}

// New opens the workspace. Close releases it.
func New(cfg Config) (*Executor, error) {
	if cfg.MaxRead == 0 {
		cfg.MaxRead = 64 << 20
	}
	ws, err := workspace.Open(workspace.Options{
		Dir: cfg.Dir, Allow: cfg.Allow, ReadOnly: cfg.ReadOnly, DryRun: cfg.DryRun,
		AllowConfig: cfg.AllowConfig, NoSync: cfg.NoSync,
	})
	if err != nil {
		return nil, err
	}
	return &Executor{cfg: cfg, ws: ws, opened: time.Now()}, nil
}

// Close releases the workspace.
func (x *Executor) Close() error { return x.ws.Close() }

// Dir returns the workspace's absolute path without symbolic links.
func (x *Executor) Dir() string { return x.ws.Dir() }

// Config returns what the executor was made with, defaults filled in.
func (x *Executor) Config() Config { return x.cfg }

// Real returns the absolute name that name leads to, with the links above it
// followed, and the one at its end if follow is set. A name that leads outside is
// an [*workspace.OutsideError].
func (x *Executor) Real(s *Session, name string, follow bool) (string, error) {
	if strings.IndexByte(name, 0) >= 0 {
		return x.path(s, "path", name)
	}
	return x.ws.Real(s.Dir, name, follow)
}

// Abs makes name absolute and clean: relative names start at the session's folder,
// and "" is that folder. The disk is not looked at; it may be outside.
func (x *Executor) Abs(s *Session, name string) string { return x.ws.Abs(s.Dir, name) }

// Look describes what is at name, where the link at its end leads if follow is
// set. Errors are *fs.PathError with Op "stat", or those of package workspace.
func (x *Executor) Look(s *Session, name string, follow bool) (workspace.Info, error) {
	abs, err := x.path(s, "path", name)
	if err != nil {
		return workspace.Info{}, err
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
