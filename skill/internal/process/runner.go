// Package process starts programs: commands that it waits for, programs that talk over
// their standard input and output, and servers that outlive this process. On Linux a
// command runs in a sandbox of Landlock and seccomp, the fence, and under a helper: a
// process that ends everything that the command started.
//
//	exec.go      run a command and wait          server*.go  servers and the records by which to find them
//	process.go   run a program with pipes        track.go    record what a program changed, for undo
//	fence*.go    what the kernel denies          helper*.go  the process that supervises a command
//	view*.go     what is not there for a command               net*.go      the network and /tmp of a workspace's commands
package process

import (
	"encoding/json"
	"slices"
	"sync"

	"textskill/skill/internal/egress"
	"textskill/skill/internal/workspace"
	"textskill/skill/internal/workspace/tree"
)

// Config configures a Runner. The zero Config runs programs that this one needs, but no
// commands: it has no helper.
type Config struct {
	ReadOnly, DryRun bool // refuse to run any program
	Network          bool // let programs reach other machines
	// absolute path of a program that calls HelperMain first and supervises each command; "" means none
	Helper   string
	Unfenced bool     // run commands even without a helper, and therefore without a fence
	Ready    *Helpers // keeps a helper ready; nil starts one for each command
	// on Linux, adopt what a helper that is killed leaves behind, and end it; every child that this
	// package has not started counts as that
	Subreaper bool
	// names of variables that commands do not get, in addition to those that look like credentials
	Secrets []string
	PassEnv []string // names of variables that commands do get, whatever they look like
	Allow   []string // additional directories of the workspace, whose changes are not tracked
	// bytes of the workspace kept before a command, for undo; 0 means 512 MiB, negative none
	SnapshotBytes int64

	Fence      FenceMode
	FenceRead  []string // additional files and directories that commands may read; must exist
	FenceWrite []string // additional directories that commands may write; must exist
	Limits     Limits
	Egress     egress.Rules // the hosts that commands reach without Network
	Local      []int        // ports of this machine that commands reach without Network
	ShareGo    bool         // let commands write the user's cache of Go's builds, in the place of their own
	plain      bool         // make no view, as where the kernel lets this process make none
	shared     bool         // make no network, as where the kernel lets this process make none

	hosts map[string]string // see [egress.Dialer]

	named []fenceRule // of the paths of FenceRead and FenceWrite that lead through links
}

// A Runner starts programs for one workspace. It is safe for concurrent use.
type Runner struct {
	cfg          Config
	policy       *egress.Policy // the hosts that commands reach without Config.Network
	ws           *workspace.Workspace
	fenceRules   func() []fenceRule // of commands
	programRules func() []fenceRule // of programs that this one starts for itself
	writable     func() []string    // directories that commands may write
	caches       func() []string    // the variables of [Runner.Caches]
	session      *session
	temp         *temporary
	tracked      *tracked // the record of a program in which commands are run; nil outside of one
}

// temporary is removed when a Runner is closed. The Runners of [Runner.On] share it.
type temporary struct {
	sync.Mutex
	dir   *tree.Temp // nil until first used
	below []*Runner  // of [Runner.Within]
}

// New returns a Runner. Its errors say which field of cfg is invalid. The caller closes
// the Runner, and then the workspace.
func New(cfg Config, ws *workspace.Workspace) (*Runner, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Subreaper && canSupervise {
		if err := adoptOrphans(); err != nil {
			return nil, err
		}
	}
	policy, err := egress.NewPolicy(cfg.Egress)
	if err != nil {
		return nil, err
	}
	return runnerFor(cfg, policy, ws), nil
}

func runnerFor(cfg Config, policy *egress.Policy, ws *workspace.Workspace) *Runner {
	x := &Runner{cfg: cfg, policy: policy, ws: ws, session: new(session), temp: new(temporary)}
	x.fenceRules = sync.OnceValue(x.findFenceRules)
	x.writable = sync.OnceValue(x.findWritable)
	x.caches = sync.OnceValue(x.findCaches)
	x.programRules = sync.OnceValue(x.findProgramRules)
	return x
}

// Within returns a Runner like x whose commands reach these domains only, as [egress.Within] reads
// them. They have no other network. It is closed with x.
func (x *Runner) Within(domains []string) *Runner {
	cfg, rules := x.cfg, x.policy.Rules()
	if cfg.Network {
		cfg.Network, rules.Allow = false, []string{"*"}
	}
	rules.Within = slices.Concat([]string{}, domains)
	policy, _ := egress.NewPolicy(rules) // another Policy has accepted these hosts
	y := runnerFor(cfg, policy, x.ws)
	x.temp.Lock()
	defer x.temp.Unlock()
	x.temp.below = append(x.temp.below, y)
	return y
}

// On returns a Runner like x that records what commands change in the name of ws's author. It shares
// everything else with x, and is not closed.
func (x *Runner) On(ws *workspace.Workspace) *Runner {
	y := *x
	y.ws = ws
	return &y
}

// Policy says which hosts commands reach without Config.Network.
func (x *Runner) Policy() *egress.Policy { return x.policy }

// Close removes the temporary files of commands. It does not close the workspace.
func (x *Runner) Close() {
	x.session.close()
	x.temp.Lock()
	defer x.temp.Unlock()
	for _, y := range x.temp.below {
		y.Close()
	}
	if x.temp.dir != nil {
		x.temp.dir.Remove()
		x.temp.dir = nil
	}
}

// A reach says which hosts a command reaches from a network of its own.
type reach struct {
	egress.Rules
	All   bool              `json:",omitempty"` // the network of this machine, or a [Gate]
	Local []int             `json:",omitempty"` // ports of this machine
	Hosts map[string]string `json:",omitempty"` // see [egress.Dialer]
}

// String identifies r.
func (r reach) String() string {
	data, _ := json.Marshal(r)
	return string(data)
}

// reach returns the hosts that commands reach.
func (x *Runner) reach() reach {
	return reach{x.policy.Rules(), x.cfg.Network, x.cfg.Local, x.cfg.hosts}
}
