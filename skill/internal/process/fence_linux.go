package process

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"textskill/skill/internal/workspace"
)

const newestABI = 11 // version of Landlock that this package knows

var errUnfenced = errors.New("the fence could not be set")

// launch starts spec inside its fence. It returns with held the version of Landlock that
// is enforced, 0 for none, with the bits of a helper. Where the fence is not required and
// the kernel refuses a part of it, the command runs without that part.
func (f fence) launch(spec Spec, files []uintptr, v *views, g *guard) (pid, pidfd int, held uint32, err error) {
	l, err := newLaunch(spec, files)
	if err != nil {
		return 0, -1, 0, err
	}
	l.limits = f.limits.resources(f.on)
	if f.on {
		l.noNewPrivs, l.bounding, l.net = true, f.bounding(), f.own
		places, prepared, err := f.prepare(&l)
		if held = prepared; err != nil && f.require {
			return 0, -1, 0, errUnfenced
		}
		if l.rules >= 0 {
			defer unix.Close(l.rules)
			if f.plain {
				places = nil
			}
			if f.own.alone() {
				held |= alone
			}
			seen, err := l.enter(v, places, int(held&^helperBits))
			if err != nil {
				return 0, -1, 0, err
			}
			held |= seen
			if seen != 0 {
				if l.stubs, err = g.hold(f.rules); err != nil {
					return 0, -1, 0, err
				}
			}
		}
	}
	if spec.terminal != nil {
		if err := l.seat(spec.terminal); err != nil {
			return 0, -1, 0, err
		}
	}
	for {
		pid, pidfd, part, err := l.start()
		switch {
		case err == nil || part == partExec:
			return pid, pidfd, held, err
		case f.require:
			return 0, -1, 0, errUnfenced
		case part == partFilter:
			held &^= callsFiltered
		default:
			l.rules, held = -1, held&(viewed|apart|alone)
		}
		l.private, l.shared = nil, nil
	}
}

// enter gives l a view of places, if one can be made, and returns the bits of what that holds.
func (l *launch) enter(v *views, places []place, abi int) (held uint32, err error) {
	if l.view, err = v.of(places, l.net); err != nil || l.view.key == "" {
		return 0, err
	}
	l.noteDir()
	handled := deniedBy(abi).Handled_access_fs
	for _, fd := range l.view.own { // the rules are about those outside
		if fd <= 0 {
			continue
		}
		own := fenceRule{path: fmt.Sprint("/proc/self/fd/", fd), write: true}
		if _, _, err := own.addTo(l.rules, handled); err != nil {
			return 0, err
		}
	}
	if l.view.terminals > 0 {
		if err := allowTerminals(l.rules, l.view.terminals, handled); err != nil {
			return 0, err
		}
	}
	if l.view.first == 0 {
		return viewed, nil
	}
	for _, p := range places {
		if p.path == "/proc" { // the rules are about the one outside
			own := fenceRule{path: fmt.Sprint("/proc/self/fd/", l.view.proc), write: p.write}
			if _, _, err := own.addTo(l.rules, handled); err != nil {
				return 0, err
			}
		}
	}
	return viewed | apart, nil
}

// seat opens the terminal of the program, of its view if that has terminals.
func (l *launch) seat(t *terminal) error {
	if t.ours == 0 && t.open(l.view.terminals) != nil {
		return unix.ENOTTY
	}
	l.files, l.terminal = replace(t.seat, l.files, uintptr(t.theirs)), bits.TrailingZeros8(t.Streams)
	return nil
}

// allowTerminals allows the use of all in a /dev/pts, and of its ptmx, which has another name, too.
func allowTerminals(rules, pts int, handled uint64) error {
	const use = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	for name, access := range map[string]uint64{"": use | unix.LANDLOCK_ACCESS_FS_READ_DIR, "/ptmx": use} {
		fd, err := unix.Open(fmt.Sprint("/proc/self/fd/", pts, name), unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		err = addRule(rules, unix.LANDLOCK_RULE_PATH_BENEATH,
			&unix.LandlockPathBeneathAttr{Parent_fd: int32(fd), Allowed_access: access & handled})
		unix.Close(fd)
		if err != nil {
			return err
		}
	}
	return nil
}

// prepare adds the rules and the filter to l, and returns the places of the rules.
func (f fence) prepare(l *launch) (places []place, held uint32, err error) {
	abi := landlockABI()
	if abi == 0 || len(f.rules) == 0 {
		return nil, 0, errors.ErrUnsupported
	}
	rules, places, err := f.ruleset(abi)
	if err != nil {
		return nil, 0, err
	}
	defer unix.Close(rules)
	if l.rules, err = unix.FcntlInt(uintptr(rules), unix.F_DUPFD_CLOEXEC, highFD); err != nil {
		l.rules = -1
		return nil, 0, err
	}
	held = uint32(abi)
	if !canFilter() {
		return places, held, errors.ErrUnsupported
	}
	of := filterOf{network: f.network, own: f.own.alone(), tcp: f.port != 0 || f.connect != 0,
		root: os.Geteuid() == 0}
	l.shared = of.program().pointer()
	of.sysV = true
	l.private, l.ownIPC = of.program().pointer(), true
	return places, held | callsFiltered, nil
}

// keptCapabilities are the capabilities of a command that root runs: it reaches all
// files that the fence leaves it and may change its user, but it cannot give files to
// others, change what belongs to others, set capabilities or set-id bits, make devices,
// read other processes or mount.
var keptCapabilities = []uintptr{
	unix.CAP_DAC_OVERRIDE, unix.CAP_KILL, unix.CAP_SETGID, unix.CAP_SETUID, unix.CAP_SETPCAP,
	unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_CHROOT,
}

// bounding lists the capabilities that commands lose. For users other than root this has
// no effect.
func (f fence) bounding() (drop []uintptr) {
	for c := range uintptr(unix.CAP_LAST_CAP + 1) {
		if !slices.Contains(keptCapabilities, c) && !(f.network && c == unix.CAP_NET_RAW) {
			drop = append(drop, c)
		}
	}
	return drop
}

// Sets of Landlock's access rights. Whatever may be read may also be executed.
const (
	mayReadFile  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	mayReadDir   = mayReadFile | unix.LANDLOCK_ACCESS_FS_READ_DIR
	mayWriteFile = mayReadFile | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	mayWriteDir  = mayReadDir | mayWriteFile | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	mayMakeDevice = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
)

// handled lists the access rights that each version of Landlock can deny first.
var handled = []struct {
	abi                int
	files, net, scoped uint64
}{
	{1, mayWriteDir&^(unix.LANDLOCK_ACCESS_FS_REFER|unix.LANDLOCK_ACCESS_FS_TRUNCATE) | mayMakeDevice, 0, 0},
	{2, unix.LANDLOCK_ACCESS_FS_REFER, 0, 0},
	{3, unix.LANDLOCK_ACCESS_FS_TRUNCATE, 0, 0},
	{abiTCP, 0, unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, 0},
	{5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV, 0, 0},
	{abiSignals, 0, 0, unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL},
	{9, unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX, 0, 0},
	{10, 0, unix.LANDLOCK_ACCESS_NET_BIND_UDP | unix.LANDLOCK_ACCESS_NET_CONNECT_SEND_UDP, 0},
}

// deniedBy returns what a version of Landlock denies where no rule allows it.
func deniedBy(abi int) (attr unix.LandlockRulesetAttr) {
	for _, h := range handled {
		if h.abi <= abi {
			attr.Handled_access_fs |= h.files
			attr.Handled_access_net |= h.net
			attr.Scoped |= h.scoped
		}
	}
	return attr
}

// ruleset returns a descriptor of f's rules, which the caller closes, and their places. It
// ignores rules whose file does not exist or has been replaced.
func (f fence) ruleset(abi int) (fd int, places []place, err error) {
	attr := deniedBy(abi)
	if f.network || f.own.alone() {
		attr.Handled_access_net = 0
	}
	if fd, err = newRuleset(&attr); err != nil {
		return -1, nil, err
	}
	for _, r := range f.rules {
		p, ok, failed := r.addTo(fd, attr.Handled_access_fs)
		if err = failed; err != nil {
			break
		}
		if ok {
			places = append(places, p)
		}
	}
	ports := map[uint64]int{unix.LANDLOCK_ACCESS_NET_BIND_TCP: f.port,
		unix.LANDLOCK_ACCESS_NET_CONNECT_TCP: f.connect}
	for access, port := range ports {
		if err == nil && port != 0 && attr.Handled_access_net != 0 {
			err = addRule(fd, rulePort, &portRule{access, uint64(port)})
		}
	}
	if err != nil {
		unix.Close(fd)
	}
	return fd, places, err
}

// addTo adds r to a ruleset that denies the rights in handled, and returns its place. It
// returns false if r is ignored.
func (r fenceRule) addTo(rules int, handled uint64) (p place, ok bool, err error) {
	flags := unix.O_PATH | unix.O_CLOEXEC
	if r.fixed {
		flags |= unix.O_NOFOLLOW
	}
	fd, err := unix.Open(r.path, flags, 0)
	if err != nil || r.stub != noStub {
		unix.Close(fd)
		return p, false, nil
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return p, false, err
	}
	if r.id != (workspace.FileID{}) && r.id != (workspace.FileID{Dev: uint64(st.Dev), Ino: st.Ino}) {
		return p, false, nil
	}
	p = place{path: r.path, name: r.name, dev: uint64(st.Dev), ino: st.Ino,
		dir: st.Mode&unix.S_IFMT == unix.S_IFDIR, write: r.write, fixed: r.fixed}
	var access uint64
	switch dir := p.dir; {
	case r.shown:
	case st.Mode&unix.S_IFMT == unix.S_IFSOCK:
		access = unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	case dir && r.write:
		access = mayWriteDir | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	case dir:
		access = mayReadDir
	case r.write:
		access = mayWriteFile | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	default:
		access = mayReadFile
	}
	if access &= handled; access == 0 {
		return p, true, nil
	}
	return p, true, addRule(rules, unix.LANDLOCK_RULE_PATH_BENEATH,
		&unix.LandlockPathBeneathAttr{Parent_fd: int32(fd), Allowed_access: access})
}

// resources returns the limits, which the command sets for itself before its program
// begins. None is higher than that of the helper.
func (l Limits) resources(fenced bool) (list []resourceLimit) {
	add := func(resource int, most uint64) {
		var now unix.Rlimit
		if unix.Prlimit(0, resource, nil, &now) == nil {
			list = append(list, resourceLimit{uintptr(resource),
				unix.Rlimit{Cur: min(most, now.Cur), Max: min(most, now.Max)}})
		}
	}
	if l.Memory > 0 {
		add(unix.RLIMIT_AS, uint64(l.Memory))
	}
	if l.Processes > 0 {
		add(unix.RLIMIT_NPROC, uint64(l.Processes))
	}
	if size := cmp.Or(l.FileSize, defaultFileSize); fenced && size > 0 {
		add(unix.RLIMIT_FSIZE, uint64(size))
	}
	if fenced {
		add(unix.RLIMIT_CORE, 0)
	}
	return list
}
