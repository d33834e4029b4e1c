package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"textskill/skill/internal/refusal"
	"textskill/skill/internal/workspace"
)

// FenceMode says what is done about the fence: what the system itself forbids to
// commands, whatever they try. The zero value is FenceAuto.
type FenceMode string

// The modes of the fence.
const (
	FenceAuto    FenceMode = "auto"    // as much as the system can do; the result says how much
	FenceRequire FenceMode = "require" // no command runs where the system cannot do it
	FenceOff     FenceMode = "off"
)

// Limits bound what each process of a command may take; none of them may leave a
// core dump. A number below 0 is no limit.
type Limits struct {
	FileSize  int64 // bytes of a file that it writes; 0 means 16 GiB
	Memory    int64 // bytes of address space; 0 means no limit
	Processes int64 // of the user, all programs together, threads counted; 0 means no limit, and root has none
}

const defaultFileSize = 16 << 30

// A Fence is what a command was kept to. The zero Fence is none at all.
type Fence struct {
	ABI int    // the version of Landlock that held; 0 means that nothing did
	TCP bool   // TCP was denied
	UDP bool   // UDP and all other ways to reach a machine were denied
	Why string // there is no fence
}

// String tells what held.
func (f Fence) String() string {
	if f.ABI == 0 {
		return "none: " + f.Why
	}
	held := []string{"files"}
	if f.TCP {
		held = append(held, "TCP")
	}
	if f.UDP {
		held = append(held, "UDP")
	}
	if f.ABI >= abiSignals {
		held = append(held, "signals")
	}
	return fmt.Sprintf("Landlock ABI %d: %s", f.ABI, strings.Join(held, ", "))
}

// The versions of Landlock with which a kernel can forbid something new.
const (
	abiRefer   = 2 // moves between folders can be allowed
	abiTCP     = 4
	abiSignals = 6
)

// heldSockets is the bit beside the version of Landlock by which a helper tells that
// the filter of sockets holds.
const heldSockets = 1 << 16

// unfenced reports a command that was not run because [FenceRequire] asks for more
// than there is.
func unfenced(why string) error {
	return &refusal.RefusedError{What: "running a program", Flag: "--fence=require", Why: why}
}

// fence is what the helper puts up around a command. The zero fence is none.
type fence struct {
	on      bool
	require bool
	network bool
	port    int    // where it may listen without the network; 0 is none
	temp    string // emptied by a helper that stays
	limits  Limits
	rules   []fenceRule
}

// fenceRule lets a command read a file or what is in a folder, and programs there
// be run.
type fenceRule struct {
	path  string
	write bool             // and change it
	id    workspace.FileID // if it is still this one; the zero id is any
}

// fenceFor returns the fence of a command that may listen on a port, and the
// variable that tells it of its folder for temporary files.
func (x *Runner) fenceFor(port int, temp func() (string, error)) (f fence, env []string, err error) {
	if x.cfg.Fence == FenceOff {
		return f, nil, nil
	}
	held := x.Fence()
	if x.cfg.Fence == FenceRequire && held.ABI < abiTCP {
		why := held.Why
		if held.ABI > 0 {
			why = fmt.Sprintf("Landlock of this kernel has ABI %d, and %d is the first that denies TCP", held.ABI, abiTCP)
		}
		return f, nil, unfenced(why)
	}
	f = fence{on: true, require: x.cfg.Fence == FenceRequire, network: x.cfg.Network, port: port, limits: x.cfg.Limits}
	if held.ABI == 0 {
		return f, nil, nil
	}
	if f.temp, err = temp(); err != nil {
		return f, nil, err
	}
	f.rules = append(x.fenceRules(), fenceRule{path: f.temp, write: true})
	return f, []string{"TMPDIR=" + f.temp}, nil
}

// Fence returns what would hold a command that is started now.
func (x *Runner) Fence() Fence {
	switch {
	case x.cfg.Fence == FenceOff:
		return Fence{Why: "--fence=off"}
	case !canHelp:
		return Fence{Why: "only Linux has it"}
	case x.cfg.Helper == "":
		return Fence{Why: "no helper watches the command"}
	}
	return x.fenceAt(landlockABI(), canDenySockets())
}

// fenceAt is the fence with a version of Landlock, 0 for none, and with the filter of
// sockets where there is no network.
func (x *Runner) fenceAt(abi int, sockets bool) Fence {
	switch {
	case x.cfg.Fence == FenceOff:
		return Fence{Why: "--fence=off"}
	case abi == 0 && landlockABI() > 0:
		return Fence{Why: "Landlock could not be used"}
	case abi == 0:
		return Fence{Why: "the kernel has no Landlock, or has it switched off"}
	}
	return Fence{ABI: abi, TCP: abi >= abiTCP && !x.cfg.Network, UDP: sockets && !x.cfg.Network}
}

// fenceOf tells what held a command that was run.
func (x *Runner) fenceOf(o Spec, held uint32) Fence {
	switch {
	case !o.fence.on && x.cfg.Fence != FenceOff:
		return Fence{Why: "this command is run without it"}
	case canHelp && x.cfg.Helper != "":
		return x.fenceAt(int(held&^heldSockets), held&heldSockets != 0)
	}
	return x.Fence()
}

// check refuses what cannot be meant, and makes the names absolute.
func (cfg *Config) check() error {
	switch cfg.Fence {
	case "":
		cfg.Fence = FenceAuto
	case FenceAuto, FenceRequire, FenceOff:
	default:
		return &refusal.ArgError{Arg: "fence", Reason: fmt.Sprintf("must be auto, require or off, not %q", cfg.Fence)}
	}
	for _, list := range []*[]string{&cfg.FenceRead, &cfg.FenceWrite} {
		paths := slices.Clone(*list)
		for i, path := range paths {
			abs, err := filepath.Abs(path)
			if err == nil {
				paths[i], err = filepath.EvalSymlinks(abs)
			}
			if err != nil {
				return err
			}
		}
		*list = paths
	}
	return nil
}

// tempDir returns the folder for the temporary files of commands. It goes with the
// executor.
func (x *Runner) tempDir() (string, error) {
	x.temp.Lock()
	defer x.temp.Unlock()
	if x.temp.dir != "" {
		if _, err := os.Lstat(x.temp.dir); err == nil {
			return x.temp.dir, nil
		}
	}
	dir, err := os.MkdirTemp("", "skill-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	x.temp.dir = dir
	return dir, err
}

// fenced adds to a command that could not be started for want of permission that
// the fence is why.
func (f fence) fenced(err error, path, dir string) error {
	spawn, ok := errors.AsType[*SpawnError](err)
	if !ok || spawn.Err != syscall.EACCES || len(f.rules) == 0 {
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
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return spawn
	}
	for _, r := range f.rules {
		if Holds(r.path, real) {
			return spawn
		}
	}
	return &SpawnError{spawn.Command, spawn.Err, true}
}
