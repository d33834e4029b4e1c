package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"textskill/skill/internal/egress"
	"textskill/skill/internal/refusal"
	"textskill/skill/internal/workspace"
	"textskill/skill/internal/workspace/tree"
)

// FenceMode selects how commands are sandboxed by the kernel: the fence. The zero
// value is FenceAuto.
type FenceMode string

// The fence modes.
const (
	FenceAuto    FenceMode = "auto"    // best effort; the result says what was enforced
	FenceRequire FenceMode = "require" // refuse to run commands if the kernel cannot enforce the fence: SECURITY.md
	FenceOff     FenceMode = "off"
)

// Limits are the resource limits of each process of a command. Core dumps are always
// off. A negative number means no limit.
type Limits struct {
	FileSize int64 // bytes of each file that it writes; 0 means 16 GiB
	Memory   int64 // bytes of address space; 0 means no limit
	// processes and threads of the user in all programs; 0 means no limit, which root always has
	Processes int64
}

const defaultFileSize = 16 << 30

// A Fence says what the kernel denied to a command. The zero Fence denied nothing.
type Fence struct {
	ABI int    // the version of Landlock that was enforced; 0 means no fence
	TCP bool   // TCP was denied
	UDP bool   // UDP and all other ways to reach a machine were denied
	Why string // the reason for ABI 0

	// sockets that have a name in the file system, but for those in directories of the command, were denied
	Sockets bool
	Alone   bool // its network has no other machine: only commands of the same workspace meet there
	// processes that the command did not start were not there for it, and what it started ends with
	// its helper
	Processes bool
}

// String lists what was enforced, or says why nothing was.
func (f Fence) String() string {
	if f.ABI == 0 {
		return "none: " + f.Why
	}
	held := []string{"files"}
	for _, h := range []struct {
		holds bool
		what  string
	}{
		{f.Alone, "network"}, {f.TCP && !f.Alone, "TCP"}, {f.UDP && !f.Alone, "UDP"},
		{f.ABI >= abiSignals, "signals"}, {f.Processes, "processes"}, {f.Sockets, "named sockets"},
	} {
		if h.holds {
			held = append(held, h.what)
		}
	}
	return fmt.Sprintf("Landlock ABI %d: %s", f.ABI, strings.Join(held, ", "))
}

// Whole reports whether f is all that [FenceRequire] demands.
func (f Fence) Whole() bool { return f.ABI > 0 && refusedFor(f) == nil }

// The versions of Landlock that added what the fence needs.
const (
	abiRefer   = 2 // allows moves between directories
	abiTCP     = 4 // denies TCP
	abiSignals = 6 // denies signals to processes outside

	abiNamedSockets = 9 // denies sockets that have a name in the file system
)

// The bits that a helper adds to the version of Landlock.
const (
	callsFiltered = 1 << (16 + iota) // the filter of system calls is in place
	viewed                           // the command has a [view]
	apart                            // and a PID namespace
	alone                            // the command has a [network]

	helperBits = callsFiltered | viewed | apart | alone
)

// fenceUnavailable is the error of a command that was not run because [FenceRequire]
// demands more than the kernel can enforce.
func fenceUnavailable(why string) error {
	return refusal.Under("running a program", "--fence=require: "+why)
}

// fence is the sandbox that the helper applies before it starts a command. The zero
// fence is not a sandbox.
type fence struct {
	on       bool
	possible bool // the kernel can enforce rules
	require  bool
	network  bool
	own      *network // what the command has in common with others of the workspace; nil for nothing
	port     int      // TCP port on which the command may listen without the network; 0 means none
	connect  int      // TCP port to which it may connect without the network; 0 means none
	plain    bool     // without a [view]
	temp     string   // directory for temporary files, which the helper of a server empties
	limits   Limits
	rules    []fenceRule
}

// fenceRule allows a command to read and execute one file, or all files of one
// directory tree.
type fenceRule struct {
	path  string // without symbolic links
	name  string // the path by which programs know it, if that leads through links; else ""
	write bool   // also allow changes
	shown bool   // allow nothing: a [view] shows it for its name
	// a view shows it as a mount of its own, so that it is not renamed; unless write is set,
	// nothing changes it
	fixed bool
	stub  stub             // a view shows this for a path that does not exist
	id    workspace.FileID // ignore the rule if path has another id by then; zero means any
}

// fenceFor returns the fence of a command that may listen on port, and what its
// environment must hold in it. In a [view] the workspace is another file system than a
// repository above it that the user lets commands read; there Git else does not look.
func (x *Runner) fenceFor(port int, temp func() (string, error)) (f fence, env []string, err error) {
	if f, err = x.newFence(); err != nil || !f.possible {
		return f, nil, err
	}
	f.network, f.port, f.own = x.cfg.Network, port, x.network()
	if f.temp, err = temp(); err != nil {
		return f, nil, err
	}
	f.rules = append(x.fenceRules(), fenceRule{path: f.temp, write: true})
	env = append(slices.Clip(x.caches()), "TMPDIR="+f.temp)
	if f.own.alone() {
		env = append(env, withoutProxies()...)
	}
	if len(x.cfg.FenceRead)+len(x.cfg.FenceWrite) > 0 || len(x.ws.Roots()) > 1 {
		env = append(env, "GIT_DISCOVERY_ACROSS_FILESYSTEM=1")
	}
	return f, env, nil
}

// withoutProxies empties the variables that lead to a proxy of the user, which a command with a
// network of its own does not reach.
func withoutProxies() (env []string) {
	for _, name := range egress.Variables {
		if os.Getenv(name) != "" {
			env = append(env, name+"=")
		}
	}
	return env
}

// newFence returns a fence without rules, or an error if [FenceRequire] demands more than
// this system can enforce.
func (x *Runner) newFence() (f fence, err error) {
	if x.cfg.Fence == FenceOff {
		return f, nil
	}
	held := x.fenceWith(landlock())
	if x.cfg.Fence == FenceRequire && !held.Whole() {
		if held.ABI == 0 {
			return f, fenceUnavailable(held.Why)
		}
		held.Alone = x.network().alone()
		if l := refusedFor(held); l != nil {
			return f, fenceUnavailable(l.String() + "; --fence auto runs it with the rest of the fence")
		}
	}
	return fence{on: true, possible: held.ABI > 0, plain: x.cfg.plain, require: x.cfg.Fence == FenceRequire,
		limits: x.cfg.Limits}, nil
}

// Needs lists what a program that this one starts for itself may use besides the system's
// programs and libraries. The zero Needs is right for one that only prints.
type Needs struct {
	// files, directories and sockets outside the workspace; absolute paths, which need not exist
	Read, Write []string
	Temp        string // one of them, which is removed if this process is killed meanwhile; "" for none
	Workspace   Access // to the whole workspace
	Gate        *Gate  // how it reaches other machines; nil means not at all
	Network     bool   // it may reach any machine, without a Gate
	Unfenced    bool   // it is a program of the user, and may do what the user may
	AsCommand   bool   // it may use in addition all that a command may: it runs programs of the workspace
}

// Access says what a program may do in the workspace.
type Access int

// The kinds of access.
const (
	NoAccess Access = iota
	ReadAccess
	WriteAccess // includes ReadAccess
)

// fenceForNeeds returns the fence of a program that this one starts for itself.
func (x *Runner) fenceForNeeds(n Needs) (f fence, err error) {
	if n.Unfenced {
		return f, nil
	}
	if f, err = x.newFence(); err != nil || !f.possible {
		return f, err
	}
	f.network, f.temp = n.Network, n.Temp
	if n.Gate != nil {
		f.own, f.connect = n.Gate.own, n.Gate.port
	}
	var list ruleList
	switch {
	case n.AsCommand:
		f.network = f.network || x.cfg.Network
		if f.temp, err = x.tempDir(); err != nil {
			return f, err
		}
		list = append(list, fenceRule{path: f.temp, write: true})
		list = append(list, x.fenceRules()...)
	case n.Workspace != NoAccess:
		list = x.rootRules(n.Workspace == WriteAccess)
		fallthrough
	default:
		list = append(list, x.programRules()...)
	}
	for _, path := range n.Write {
		list.add(path, true)
	}
	for _, path := range n.Read {
		if !x.commandsWrite(path) {
			list.add(path, false)
		}
	}
	f.rules = list
	return f, nil
}

// Fence returns the fence that a command would get now.
func (x *Runner) Fence() Fence {
	held := landlock()
	held |= canView(append(x.rootRules(true), x.pathRules()...))
	if x.Apart() {
		held |= alone
	}
	return x.fenceWith(held)
}

func (x *Runner) pathRules() (list ruleList) {
	for _, path := range slices.Concat(x.cfg.FenceRead, x.cfg.FenceWrite) {
		list.add(path, false)
	}
	return list
}

// fenceWith returns the Fence of a version of Landlock, 0 for none, with the bits of a
// helper.
func (x *Runner) fenceWith(held uint32) Fence {
	f := fenceOf(held)
	switch {
	case x.cfg.Fence == FenceOff:
		return Fence{Why: "--fence=off"}
	case !canSupervise:
		return Fence{Why: "only Linux has it"}
	case x.cfg.Helper == "":
		return Fence{Why: "no helper watches the command"}
	case f.ABI == 0 && landlockABI() > 0:
		return Fence{Why: "Landlock could not be used"}
	case f.ABI == 0:
		return Fence{Why: "the kernel has no Landlock, or has it switched off"}
	}
	f.TCP, f.UDP = (f.ABI >= abiTCP || f.Alone) && !x.cfg.Network, f.UDP && !x.cfg.Network
	return f
}

// fenceOf returns what a version of Landlock with the bits of a helper says by itself: without
// TCP, and with UDP where the filter is in place.
func fenceOf(held uint32) Fence {
	abi := int(held &^ helperBits)
	return Fence{ABI: abi, UDP: held&callsFiltered != 0, Sockets: held&viewed != 0 || abi >= abiNamedSockets,
		Alone: held&alone != 0, Processes: held&apart != 0}
}

// landlock returns what a helper reports where the kernel does all but make a view.
func landlock() uint32 {
	held := uint32(landlockABI())
	if held != 0 && canFilter() {
		held |= callsFiltered
	}
	return held
}

// fenceOfRun returns the Fence of a command that has run.
func (x *Runner) fenceOfRun(spec Spec, held uint32) Fence {
	if !spec.fence.on && x.cfg.Fence != FenceOff {
		return Fence{Why: "this command is run without it"}
	}
	return x.fenceWith(held)
}

// check refuses invalid fields and makes the fence's paths absolute.
func (cfg *Config) check() error {
	switch cfg.Fence {
	case "":
		cfg.Fence = FenceAuto
	case FenceAuto, FenceRequire, FenceOff:
	default:
		return &refusal.ArgError{Arg: "fence",
			Reason: fmt.Sprintf("must be auto, require or off, not %q", cfg.Fence)}
	}
	for _, port := range cfg.Local {
		if port < 1 || port > 65535 {
			return &refusal.ArgError{Arg: "allow-local",
				Reason: fmt.Sprintf("must be a port from 1 to 65535, not %d", port)}
		}
	}
	if cfg.Network && len(cfg.Egress.Allow)+len(cfg.Egress.Deny) > 0 {
		return &refusal.ArgError{Arg: "network",
			Reason: "lets commands reach every host; leave it out to name hosts with --allow-domain and --deny-domain"}
	}
	for k, list := range []*[]string{&cfg.FenceRead, &cfg.FenceWrite} {
		paths := slices.Clone(*list)
		for i, path := range paths {
			abs, err := filepath.Abs(path)
			if err == nil {
				paths[i], err = filepath.EvalSymlinks(abs)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", [...]string{"fence-read", "fence-write"}[k], err)
			}
			if abs != paths[i] {
				cfg.named = append(cfg.named, fenceRule{path: paths[i], name: abs, shown: true})
			}
		}
		*list = paths
	}
	return nil
}

// tempDir returns the directory for the temporary files of commands, and creates it if
// necessary. [Runner.Close] removes it.
func (x *Runner) tempDir() (string, error) {
	x.temp.Lock()
	defer x.temp.Unlock()
	if x.temp.dir != nil {
		if _, err := os.Lstat(x.temp.dir.Path); err == nil {
			return x.temp.dir.Path, nil
		}
		x.temp.dir.Remove()
	}
	var err error
	if x.temp.dir, err = tree.MakeTemp(""); err != nil {
		return "", err
	}
	return x.temp.dir.Path, nil
}

// explain sets Fenced in the error of an executable program that the fence made
// unreadable. Other errors are returned as they are.
func (f fence) explain(err error, path, dir string) error {
	spawn, ok := errors.AsType[*SpawnError](err)
	if !ok || spawn.Err != syscall.EACCES && spawn.Err != syscall.ENOENT || len(f.rules) == 0 {
		return err
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return spawn
	}
	info, err := os.Stat(real)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 ||
		slices.ContainsFunc(f.rules, func(r fenceRule) bool { return !r.shown && Contains(r.path, real) }) {
		return spawn
	}
	return &SpawnError{Command: spawn.Command, Err: syscall.EACCES, Fenced: true} // in a view it is ENOENT
}
