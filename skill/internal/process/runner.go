// Package process starts programs: commands that are waited for, programs that are
// talked to, and servers that outlive this one. On Linux a command runs inside a fence
// of Landlock and seccomp, below a helper that ends all that the command started.
//
//	exec.go      a command, waited for           server.go   a server, started and found again
//	process.go   a program, talked to            track.go    what a program changed, for undo
//	fence.go     what the kernel denies          helper*.go  the process that watches a command
package process

import (
	"os"
	"sync"

	"textskill/skill/internal/workspace"
)

// Config is what a Runner needs to know of the world.
type Config struct {
	ReadOnly, DryRun bool     // refuse all programs
	Network          bool     // let them reach other machines
	Helper           string   // absolute path of a program that calls HelperMain first, to watch each command; "" means none
	Secrets          []string // variables kept from commands, besides those this program takes credentials from
	Allow            []string // folders of the workspace besides its own, whose changes are not tracked
	SnapshotBytes    int64    // kept of the workspace before a command; 0 means 256 MiB, less than 0 none

	Fence      FenceMode
	FenceRead  []string // files and folders that commands may read beside the usual; they must exist
	FenceWrite []string // folders that they may write beside the workspace and the caches; they must exist
	Limits     Limits
}

// A Runner starts programs for one workspace. It is safe for concurrent use.
type Runner struct {
	cfg        Config
	ws         *workspace.Workspace
	fenceRules func() []fenceRule
	temp       struct {
		sync.Mutex
		dir string // "" until it is needed
	}
}

// New returns a Runner. Errors say which of cfg's fields is wrong. Close removes what
// the Runner keeps for commands; the workspace stays open.
func New(cfg Config, ws *workspace.Workspace) (*Runner, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	x := &Runner{cfg: cfg, ws: ws}
	x.fenceRules = sync.OnceValue(x.findFenceRules)
	return x, nil
}

// Close removes the temporary files of commands.
func (x *Runner) Close() {
	x.temp.Lock()
	defer x.temp.Unlock()
	if x.temp.dir != "" {
		os.RemoveAll(x.temp.dir)
		x.temp.dir = ""
	}
}
