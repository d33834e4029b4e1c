package process

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A viewPlan is the plan of the process that makes a view. It is forked, as in [launch]: a user
// namespace is for processes of one thread only.
type viewPlan struct {
	*plan
	shown []place
	trees []result          // the mounts of shown
	made  map[string]string // directories, and links with their targets
	in    *network          // whose namespaces the view has; nil for none
	pids  bool              // with a PID namespace, whose first process this one is from then on

	users, mounts, processes, proc result
	terminals                      result // a /dev/pts of its own
	own                            [len(ownDirs)]result
}

// make makes the view.
func (v viewPlan) make() (view, error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return view{}, err
	}
	defer unix.Close(ends[1]) // which the child shares
	v.prepare(ends[1])
	first := processes{socket: ends[0], pids: -1, proc: -1}
	first.first = int(v.fork(uintptr(ends[1])))
	if first.first < 0 {
		unix.Close(ends[0])
		return view{}, syscall.Errno(-first.first)
	}
	first.pidfd = v.pidfd
	r, err := first.report()
	if r.next > 0 {
		unix.Close(int(first.pidfd))
		awaitChild(first.first)
		first.first, first.pidfd = int(r.next), r.pidfd
		r, err = first.report()
	}
	if err != nil || !v.pids {
		first.close()
	}
	if err != nil {
		return view{}, err
	}
	first.pids, first.proc = r.fd(v.processes), r.fd(v.proc)
	made := view{users: r.fd(v.users), mounts: r.fd(v.mounts), terminals: r.fd(v.terminals), processes: first}
	for i, own := range v.own {
		made.own[i] = int32(r.fd(own))
	}
	return made, nil
}

// report returns what the process that makes the view reports, or an error if it ended before.
func (p *processes) report() (r report, err error) {
	fds := []unix.PollFd{{Fd: int32(p.socket), Events: unix.POLLIN}, {Fd: p.pidfd, Events: unix.POLLIN}}
	for fds[0].Revents == 0 && fds[1].Revents == 0 {
		unix.Poll(fds, -1)
	}
	if fds[0].Revents == 0 {
		return r, errKilled
	}
	return r, r.receive(p.socket)
}

func awaitChild(pid int) {
	err := error(syscall.EINTR)
	for err == syscall.EINTR {
		_, err = syscall.Wait4(pid, nil, unix.WALL, nil)
	}
}

// prepare adds all steps. The process tells its reports to a socket. The descriptors that it opens
// appear among the descriptors of this process.
func (v *viewPlan) prepare(socket int) {
	v.begin()
	base := "/proc" // hidden meanwhile
	for _, s := range v.shown {
		v.trees = append(v.trees, v.openShown(s))
	}
	if v.in != nil {
		base = viewRoot
		v.enterOwn()
	}
	v.tmpfs(base, "mode=755")
	v.call(unix.SYS_CHDIR, base)
	v.fill()
	for i, s := range v.shown {
		switch {
		case s.own > 0:
			v.placeOwn(s.own - 1)
		case s.fixed: // it may have been replaced just now
			v.moveMount(v.trees[i], unix.AT_FDCWD, s.path[1:]).fails(syscall.EAGAIN)
		default:
			v.moveMount(v.trees[i], unix.AT_FDCWD, s.path[1:])
		}
	}
	v.mountTerminals()
	v.pivot()
	v.call(unix.SYS_CHDIR, "/")
	if v.flags&unix.CLONE_NEWUSER != 0 {
		v.open("/proc/self/ns/user", v.users)
	}
	if v.pids {
		v.open("/proc/self/ns/pid", v.processes)
	}
	v.open("/proc/self/ns/mnt", v.mounts)
	for _, tree := range v.trees {
		if tree != v.proc {
			v.close(tree)
		}
	}
	if v.pids {
		v.becomeFirst(socket)
	}
}

// begin has the process enter new namespaces.
func (v *viewPlan) begin() {
	v.plan = newPlan(0)
	v.users, v.mounts, v.processes, v.proc = v.result(), v.result(), v.result(), v.result()
	v.terminals = v.result()
	for i := range v.own {
		v.own[i] = v.result()
	}
	// and no signal at its end: see [helper.reap]
	const shared = unix.CLONE_FILES | unix.CLONE_PIDFD
	namespaces := unix.CLONE_NEWNS
	if v.pids {
		namespaces |= unix.CLONE_NEWPID
	}
	within := v.in != nil && v.in.users >= 0
	if within { // in that user namespace only a child makes others
		v.flags = shared
		v.join(v.in.users, unix.CLONE_NEWUSER)
		v.call(unix.SYS_CLONE, shared|namespaces|unix.CLONE_PARENT)
	} else {
		v.flags = uintptr(shared | namespaces)
	}
	v.call(unix.SYS_UMASK, 0).mayFail()
	if needsUsers() && !within {
		v.flags |= unix.CLONE_NEWUSER
		v.keepUser()
	}
	if v.pids { // not all ids of commands may begin with 2: files are named by ids
		v.write("/proc/sys/kernel/ns_last_pid", anyPID(), true)
	}
	// Later mounts of the user appear here, too, and not the other way round.
	v.call(unix.SYS_MOUNT, 0, "/", 0, unix.MS_REC|unix.MS_SLAVE, 0)
}

// openShown opens a place as a mount, which has no name yet. A place that is not there is left out.
func (v *viewPlan) openShown(s place) (tree result) {
	switch {
	case s.own > 0: // see [viewPlan.enterOwn]
		return v.result()
	case v.pids && s.path == "/proc": // the PID namespace has its own
		fs := v.result()
		v.call(unix.SYS_FSOPEN, "proc", unix.FSOPEN_CLOEXEC).into(fs)
		v.call(unix.SYS_FSCONFIG, fs, unix.FSCONFIG_CMD_CREATE, 0, 0, 0)
		v.call(unix.SYS_FSMOUNT, fs, unix.FSMOUNT_CLOEXEC,
			unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC).into(v.proc)
		v.close(fs)
		return v.proc
	}
	tree = v.result()
	v.openTree(s.path, unix.AT_RECURSIVE, tree).mayMiss = true
	if s.fixed {
		v.is(tree, "", unix.Statx_t{Ino: s.ino, Dev_major: unix.Major(s.dev),
			Dev_minor: unix.Minor(s.dev)}).when(tree).fails(syscall.EAGAIN)
	}
	if !s.write {
		v.readOnly(tree, unix.AT_RECURSIVE)
	}
	return tree
}

func (v *viewPlan) openTree(path string, flags int, tree result) *step {
	return v.call(unix.SYS_OPEN_TREE, unix.AT_FDCWD, path,
		unix.OPEN_TREE_CLONE|unix.AT_SYMLINK_NOFOLLOW|unix.O_CLOEXEC|flags).into(tree)
}

func (v *viewPlan) readOnly(tree result, flags int) {
	attr := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	v.call(unix.SYS_MOUNT_SETATTR, tree, "", unix.AT_EMPTY_PATH|flags, unsafe.Pointer(attr),
		unsafe.Sizeof(*attr)).when(tree)
}

// moveMount mounts a tree that has no name yet. It follows no link at the end of the name.
func (v *viewPlan) moveMount(tree result, dir any, name string) *step {
	return v.call(unix.SYS_MOVE_MOUNT, tree, "", dir, name, unix.MOVE_MOUNT_F_EMPTY_PATH).when(tree)
}

// add makes a file or a directory.
func (v *viewPlan) add(at any, name string, dir bool) *step {
	if dir {
		return v.call(unix.SYS_MKDIRAT, at, name, 0o755).mayFail()
	}
	return v.call(unix.SYS_MKNODAT, at, name, unix.S_IFREG|0o644, 0).mayFail()
}

// fill makes what the root of the view has besides the places, and what they are mounted on.
func (v *viewPlan) fill() {
	for _, path := range slices.Sorted(maps.Keys(v.made)) { // each before what lies in it
		if target := v.made[path]; target != "" {
			v.call(unix.SYS_SYMLINKAT, target, unix.AT_FDCWD, path[1:]).mayFail()
		} else {
			v.add(unix.AT_FDCWD, path[1:], true)
		}
	}
	for _, s := range v.shown {
		if !s.dir {
			v.add(unix.AT_FDCWD, s.path[1:], false)
		}
	}
}

// mountTerminals mounts a /dev/pts in which a command finds only the terminals that it makes. A system that
// has none goes without.
func (v *viewPlan) mountTerminals() {
	fs, configured, master := v.result(), v.result(), v.result()
	v.call(unix.SYS_FSOPEN, "devpts", unix.FSOPEN_CLOEXEC).into(fs).mayFail()
	for name, value := range map[string]string{"ptmxmode": "666", "mode": "600"} {
		v.call(unix.SYS_FSCONFIG, fs, unix.FSCONFIG_SET_STRING, name, value, 0).when(fs).mayFail()
	}
	v.call(unix.SYS_FSCONFIG, fs, unix.FSCONFIG_CMD_CREATE, 0, 0, 0).when(fs).into(configured).mayFail()
	v.call(unix.SYS_FSMOUNT, fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC).
		when(configured).into(v.terminals).mayFail()
	v.close(fs)
	v.moveMount(v.terminals, unix.AT_FDCWD, "dev/pts").mayFail()
	// where /dev/ptmx is a link, it leads there already
	if info, err := os.Lstat("/dev/ptmx"); err == nil && info.Mode().Type()&os.ModeSymlink == 0 {
		v.openTree("dev/pts/ptmx", 0, master).when(v.terminals).mayFail()
		v.moveMount(master, unix.AT_FDCWD, "dev/ptmx").mayFail()
		v.close(master)
	}
}

// enterOwn moves the process into a copy of the network's mount namespace, and opens what is own there.
func (v *viewPlan) enterOwn() {
	v.join(v.in.mount, unix.CLONE_NEWNS)
	v.call(unix.SYS_UNSHARE, unix.CLONE_NEWNS)
	for _, s := range v.shown {
		if s.own > 0 {
			v.openTree(ownNames[s.own-1], 0, v.own[s.own-1])
		}
	}
}

// placeOwn mounts an own directory, and in it what the view has there. A command could put a link in the
// place of an entry, or rename it, so a mount lies on each.
func (v *viewPlan) placeOwn(own int) {
	dir, tree := ownDirs[own][1:], v.own[own]
	entries := v.entriesOf(ownDirs[own])
	names := slices.Sorted(maps.Keys(entries))
	mounts := make([]result, len(names))
	for i, name := range names {
		if entries[name].link == "" {
			mounts[i] = v.result()
			v.openTree(dir+"/"+name, 0, mounts[i])
			v.readOnly(mounts[i], 0)
		}
	}
	v.moveMount(tree, unix.AT_FDCWD, dir)
	for i, name := range names {
		if link := entries[name].link; link != "" {
			v.call(unix.SYS_SYMLINKAT, link, tree, name).mayFail()
			continue
		}
		done := v.result()
		v.add(tree, name, entries[name].dir)
		v.moveMount(mounts[i], tree, name).into(done).mayFail()
		// a command has put something else there
		v.call(unix.SYS_UNLINKAT, tree, name, 0).without(done).mayFail()
		v.add(tree, name, entries[name].dir).without(done)
		v.moveMount(mounts[i], tree, name).without(done).fails(syscall.EAGAIN)
		v.close(mounts[i])
	}
}

// An entry is a file or directory of an own directory.
type entry struct {
	dir  bool
	link string // its target, if it is a symbolic link
}

// entriesOf returns what the view has in an own directory, by name.
func (v *viewPlan) entriesOf(own string) map[string]entry {
	entries := map[string]entry{}
	note := func(path, link string, dir bool) {
		name, inside := strings.CutPrefix(path, own+"/")
		first, _, deeper := strings.Cut(name, "/")
		switch {
		case !inside:
		case deeper:
			entries[first] = entry{dir: true}
		default:
			entries[first] = entry{dir, link}
		}
	}
	for path, link := range v.made {
		note(path, link, link == "")
	}
	for _, s := range v.shown {
		note(s.path, "", s.dir)
	}
	return entries
}

// becomeFirst readies the process to be the first of its PID namespace. It keeps the socket only.
func (v *viewPlan) becomeFirst(socket int) {
	ignore := &[8]uintptr{1} // SIG_IGN: the kernel reaps
	v.call(unix.SYS_RT_SIGACTION, int(syscall.SIGCHLD), unsafe.Pointer(ignore), 0, 8).mayFail()
	v.call(unix.SYS_PRCTL, unix.PR_SET_DUMPABLE, 0).mayFail()
	v.call(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, int(syscall.SIGKILL)).mayFail()
	v.call(unix.SYS_UNSHARE, unix.CLONE_FILES)
	v.call(unix.SYS_CLOSE_RANGE, 0, socket-1, 0).mayFail()
	v.call(unix.SYS_CLOSE_RANGE, socket+1, uintptr(^uint32(0)), 0).mayFail()
	v.answers = true
}

// anyPID returns one of the ids that processes may have.
func anyPID() string {
	text, _ := os.ReadFile("/proc/sys/kernel/pid_max")
	most, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || most < 2 {
		most = 1 << 15
	}
	return strconv.FormatInt(1+rand.Int64N(int64(most)-1), 10)
}
