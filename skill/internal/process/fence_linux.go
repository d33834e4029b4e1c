package process

import (
	"errors"
	"os"
	"slices"

	kernel "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"textskill/skill/internal/workspace"
)

// The versions of Landlock.
const (
	abiThreadSync = 8  // the kernel restricts all threads of a process at once
	newestABI     = 11 // that this package knows
)

// erratumSignals is set by kernels that let a restricted thread signal the other
// threads of its process.
const erratumSignals = 1 << 1

// landlockABI returns the version of Landlock to use, 0 if the kernel has none.
func landlockABI() int {
	v, err := kernel.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	if errata, err := kernel.LandlockGetErrata(); v >= abiSignals && (err != nil || errata&erratumSignals == 0) {
		return abiSignals - 1
	}
	return min(v, newestABI)
}

// apply restricts this process and all that it starts, irreversibly. It returns the
// version of Landlock that is enforced, 0 for none, with [socketsFiltered].
//
// It restricts the whole process because a command may read the memory of any thread
// that is under the same restrictions.
func (f fence) apply() (held uint32, err error) {
	if !f.on {
		return 0, nil
	}
	if err := f.limits.apply(); err != nil {
		return 0, err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	f.dropCapabilities()
	abi := landlockABI()
	if abi == 0 || len(f.rules) == 0 {
		return 0, errors.ErrUnsupported
	}
	if err := f.restrict(abi); err != nil {
		return 0, err
	}
	held = uint32(abi)
	if f.network {
		return held, nil
	}
	if err = denySockets(); err == nil {
		held |= socketsFiltered
	}
	return held, err
}

// restrict applies the Landlock rules to all threads of this process.
func (f fence) restrict(abi int) error {
	rules, err := f.ruleset(abi)
	if err != nil {
		return err
	}
	defer unix.Close(rules)
	if abi >= abiThreadSync {
		return kernel.LandlockRestrictSelf(rules, kernel.FlagRestrictSelfTSync)
	}
	if err := kernel.AllThreadsPrctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return kernel.AllThreadsLandlockRestrictSelf(rules, 0)
}

// keptCapabilities are the capabilities of a command that root runs: it can work on
// files and change its user, but not make devices, read other processes or mount.
var keptCapabilities = []uintptr{
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_KILL,
	unix.CAP_SETGID, unix.CAP_SETUID, unix.CAP_SETPCAP, unix.CAP_SETFCAP, unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_CHROOT,
}

// dropCapabilities removes capabilities from the commands that this thread starts. The
// helper itself keeps them, so that no command may read its memory. For users other
// than root this has no effect.
func (f fence) dropCapabilities() {
	for c := range uintptr(unix.CAP_LAST_CAP + 1) {
		if !slices.Contains(keptCapabilities, c) && !(f.network && c == unix.CAP_NET_RAW) {
			unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		}
	}
}

// Sets of Landlock's access rights. Whatever may be read may also be executed.
const (
	mayReadFile  = kernel.AccessFSExecute | kernel.AccessFSReadFile
	mayReadDir   = mayReadFile | kernel.AccessFSReadDir
	mayWriteFile = mayReadFile | kernel.AccessFSWriteFile | kernel.AccessFSTruncate
	mayWriteDir  = mayReadDir | mayWriteFile | kernel.AccessFSRemoveDir | kernel.AccessFSRemoveFile | kernel.AccessFSMakeDir | kernel.AccessFSMakeReg |
		kernel.AccessFSMakeSock | kernel.AccessFSMakeFifo | kernel.AccessFSMakeSym | kernel.AccessFSRefer
	mayMakeDevice = kernel.AccessFSMakeChar | kernel.AccessFSMakeBlock
)

// handled lists the access rights that each version of Landlock can deny first.
var handled = []struct {
	abi                int
	files, net, scoped uint64
}{
	{1, mayWriteDir&^(kernel.AccessFSRefer|kernel.AccessFSTruncate) | mayMakeDevice, 0, 0},
	{2, kernel.AccessFSRefer, 0, 0},
	{3, kernel.AccessFSTruncate, 0, 0},
	{abiTCP, 0, kernel.AccessNetBindTCP | kernel.AccessNetConnectTCP, 0},
	{5, kernel.AccessFSIoctlDev, 0, 0},
	{abiSignals, 0, 0, kernel.ScopeAbstractUnixSocket | kernel.ScopeSignal},
	{9, kernel.AccessFSResolveUnix, 0, 0},
	{10, 0, kernel.AccessNetBindUDP | kernel.AccessNetConnectSendUDP, 0},
}

// ruleset returns a descriptor of f's rules, which the caller closes. It ignores rules
// whose file does not exist or has been replaced.
func (f fence) ruleset(abi int) (fd int, err error) {
	var attr kernel.RulesetAttr
	for _, h := range handled {
		if h.abi <= abi {
			attr.HandledAccessFS |= h.files
			attr.HandledAccessNet |= h.net
			attr.Scoped |= h.scoped
		}
	}
	if f.network {
		attr.HandledAccessNet = 0
	}
	if fd, err = kernel.LandlockCreateRuleset(&attr, 0); err != nil {
		return -1, err
	}
	for _, r := range f.rules {
		if err = r.addTo(fd, attr.HandledAccessFS); err != nil {
			break
		}
	}
	ports := map[uint64]int{kernel.AccessNetBindTCP: f.port, kernel.AccessNetConnectTCP: f.connect}
	for access, port := range ports {
		if err == nil && port != 0 && attr.HandledAccessNet != 0 {
			err = kernel.LandlockAddNetPortRule(fd, &kernel.NetPortAttr{AllowedAccess: access, Port: uint64(port)}, 0)
		}
	}
	if err != nil {
		unix.Close(fd)
	}
	return fd, err
}

// addTo adds r to a ruleset that denies the rights in handled.
func (r fenceRule) addTo(rules int, handled uint64) error {
	fd, err := unix.Open(r.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if r.id != (workspace.FileID{}) && r.id != (workspace.FileID{Dev: uint64(st.Dev), Ino: st.Ino}) {
		return nil
	}
	var access uint64
	switch dir := st.Mode&unix.S_IFMT == unix.S_IFDIR; {
	case st.Mode&unix.S_IFMT == unix.S_IFSOCK:
		access = kernel.AccessFSResolveUnix
	case dir && r.write:
		access = mayWriteDir
	case dir:
		access = mayReadDir
	case r.write:
		access = mayWriteFile | kernel.AccessFSIoctlDev
	default:
		access = mayReadFile
	}
	if access &= handled; access == 0 {
		return nil
	}
	return kernel.LandlockAddPathBeneathRule(rules, &kernel.PathBeneathAttr{ParentFd: fd, AllowedAccess: access}, 0)
}

// apply sets the limits that may also apply to the helper itself.
func (l Limits) apply() error {
	if err := limit(0, unix.RLIMIT_CORE, 0); err != nil {
		return err
	}
	if l.FileSize == 0 {
		l.FileSize = defaultFileSize
	}
	return limit(0, unix.RLIMIT_FSIZE, l.FileSize)
}

// startUnder calls start, which starts a command, under the limits that would break the
// helper. It lifts them from the helper afterwards and makes them final for the command.
func (l Limits) startUnder(start func() (pid int, err error)) error {
	most := map[int]int64{unix.RLIMIT_AS: l.Memory, unix.RLIMIT_NPROC: l.Processes}
	before := map[int]unix.Rlimit{}
	for resource, n := range most {
		var now unix.Rlimit
		if n > 0 && unix.Prlimit(0, resource, nil, &now) == nil {
			before[resource] = now
			unix.Prlimit(0, resource, &unix.Rlimit{Cur: min(uint64(n), now.Cur), Max: now.Max}, nil)
		}
	}
	pid, err := start()
	for resource, old := range before {
		unix.Prlimit(0, resource, &old, nil)
		if err == nil {
			limit(pid, resource, most[resource])
		}
	}
	return err
}

// limit lowers a limit of a process, pid 0 for this one. It never raises a limit.
func limit(pid, resource int, most int64) error {
	if most < 0 {
		return nil
	}
	var now unix.Rlimit
	if err := unix.Prlimit(pid, resource, nil, &now); err != nil {
		return err
	}
	least := min(uint64(most), now.Max)
	return unix.Prlimit(pid, resource, &unix.Rlimit{Cur: min(least, now.Cur), Max: least}, nil)
}

// emptyTemp removes all files from the directory for temporary files.
func (f fence) emptyTemp() {
	if f.temp == "" {
		return
	}
	root, err := os.OpenRoot(f.temp)
	if err != nil {
		return
	}
	defer root.Close()
	d, err := root.Open(".")
	if err != nil {
		return
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	for _, name := range names {
		root.RemoveAll(name)
	}
}
