package process

import (
	"cmp"
	"encoding/binary"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A view is a mount namespace in which nothing exists but what the rules of a fence name
// and the directories of the system. A socket that lies elsewhere, such as Docker's, has
// no name there, whenever it was made. With it goes a PID namespace, where one can be made.
type view struct {
	key    string // of what it shows; "" in the zero view
	users  int    // the user namespace that owns it; -1 for root, who needs none
	mounts int
	own    [len(ownDirs)]int32 // their roots; 0 for none
	processes
}

// shownWhole lists the directories of the system that a view shows whole. Landlock
// limits what of them can be read.
var shownWhole = []string{"/dev", "/etc", "/proc", "/sys"}

// A place is a file or directory that a rule names.
type place struct {
	path, name string // as in fenceRule
	dev, ino   uint64
	dir, write bool
	fixed      bool
	own        int // one more than the index in [ownDirs] if that takes its place
}

// views keeps the view of the last command, for the next one mostly needs the same: to
// make one takes as long as to start a command. The zero views is ready for use.
type views struct {
	last   view
	none   bool // this process can make none
	noPIDs bool // nor a PID namespace
	table  int  // the table of mounts, open since the first view; 0 before
}

// of returns a view of places, for a command in a network. It returns the zero view if none can be
// made, or would hide anything, or there are no places, and an error if one could be made at
// another time.
func (v *views) of(places []place, in *network) (view, error) {
	if v.none || len(places) == 0 ||
		slices.ContainsFunc(places, func(p place) bool { return p.path == "/" }) {
		return view{}, nil
	}
	key, changed := keyOf(places, in), v.mountsChanged()
	if key == v.last.key && !changed && !v.last.killed() {
		return v.last, nil
	}
	plan, err := planView(places, in != nil)
	if err != nil {
		return view{}, err
	}
	if in != nil {
		plan.mount = in.mount
	}
	if in != nil && in.users >= 0 {
		plan.within, plan.ids = in.users, nil
	}
	plan.withProcesses(!v.noPIDs && wholeProc())
	next, err := plan.make()
	if err != nil && plan.pids && !isTransient(err) {
		v.noPIDs = true
		plan.withProcesses(false)
		next, err = plan.make()
	}
	switch {
	case isTransient(err):
		return view{}, err
	case err != nil:
		v.none = true
		return view{}, nil
	}
	v.last.close()
	next.key = key
	v.last = next
	return next, nil
}

// mountsChanged reports whether something was mounted or unmounted since the last call. In
// many containers mounts do not propagate, and a view would keep the old ones.
func (v *views) mountsChanged() bool {
	if v.table == 0 {
		table, err := unix.Open("/proc/self/mounts", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return true
		}
		v.table = table
	}
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(v.table), Events: unix.POLLPRI}}, 0)
	return n != 0 || err != nil
}

// isTransient reports whether a view could not be made for the lack of what commands may
// have used up: that must not rid the next command of its view.
func isTransient(err error) bool {
	if err == unix.ENOSPC {
		for _, kind := range []string{"user", "mnt", "pid"} {
			most, _ := os.ReadFile("/proc/sys/user/max_" + kind + "_namespaces")
			if strings.TrimSpace(string(most)) == "0" { // this system allows none
				return false
			}
		}
		return true
	}
	return slices.Contains([]error{unix.ENOMEM, unix.EAGAIN, unix.EMFILE, unix.ENFILE, errViewKilled}, err)
}

func (v *views) close() {
	v.last.close()
	if v.table != 0 {
		unix.Close(v.table)
	}
}

// close ends the processes of v.
func (v *view) close() {
	if v.key == "" {
		return
	}
	for _, fd := range append(v.own[:], int32(v.mounts), int32(v.users)) {
		if fd > 0 {
			unix.Close(int(fd))
		}
	}
	v.processes.close()
	*v = view{}
}

// wholeProc reports whether nothing hides a part of /proc, as containers do: a /proc of a
// PID namespace would show it.
func wholeProc() bool {
	table, err := os.ReadFile("/proc/self/mounts")
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) > 1 && strings.HasPrefix(fields[1], "/proc/") &&
			fields[1] != "/proc/sys/fs/binfmt_misc" {
			return false
		}
	}
	return err == nil
}

func keyOf(places []place, in *network) string {
	key := make([]byte, 0, 4096)
	if in != nil {
		key = binary.LittleEndian.AppendUint64(key, in.ino)
	}
	for _, p := range places {
		key = append(append(key, p.path...), 0)
		if p.write {
			key = append(key, 1)
		}
		if p.fixed {
			key = append(key, 2)
		}
		key = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(key, p.dev), p.ino)
	}
	return string(key)
}

// withOwn returns places with the own directories of commands, but for those that a place is or lies
// above of: the user wants commands to have them.
func withOwn(places []place) []place {
	at := slices.IndexFunc(places, func(p place) bool { return p.path == ownDirs[1] })
	if at >= 0 && !slices.ContainsFunc(places,
		func(p place) bool { return p.path != ownDirs[1] && Contains(ownDirs[1], p.path) }) {
		places[at].own = 2
	}
	info, err := os.Lstat(ownDirs[0])
	if err == nil && info.IsDir() &&
		!slices.ContainsFunc(places, func(p place) bool { return Contains(p.path, ownDirs[0]) }) {
		places = append(places, place{path: ownDirs[0], dir: true, write: true, own: 1})
	}
	return places
}

// planView returns the plan of a view that shows places, and empty directories in the
// place of the others at the top of the file system.
func planView(places []place, own bool) (*viewPlan, error) {
	places = slices.Clone(places)
	if own {
		places = withOwn(places)
	}
	for _, dir := range shownWhole {
		places = append(places, place{path: dir, dir: true})
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.path, b.path) })
	var shown []place // without what lies inside another, but for folders to write in what is only read
	inShown := func(path string) bool {
		return slices.ContainsFunc(shown, func(s place) bool { return s.own == 0 && Contains(s.path, path) })
	}
	for _, p := range places {
		written := slices.ContainsFunc(shown,
			func(s place) bool { return s.own == 0 && s.write && Contains(s.path, p.path) })
		if filepath.IsAbs(p.path) &&
			(p.fixed || !inShown(p.path) ||
				p.write && p.dir && !written) {
			shown = append(shown, p)
		}
	}
	made := map[string]string{} // directories, and links with their targets
	add := func(path, target string) {
		if inShown(path) {
			return
		}
		made[path] = target
		for dir := range above(path) {
			made[dir] = ""
		}
	}
	tops, err := os.ReadDir("/")
	if err != nil {
		return nil, err
	}
	for _, e := range tops {
		switch path := "/" + e.Name(); {
		case e.IsDir():
			add(path, "")
		case e.Type()&os.ModeSymlink != 0:
			places = append(places, place{name: path})
		}
	}
	writable := func(path string) bool {
		return slices.ContainsFunc(places,
			func(p place) bool { return p.own == 0 && p.write && Contains(p.path, path) })
	}
	for _, p := range places {
		for link, target := range linksOn(p.name, writable) {
			add(link, target)
		}
	}
	return newViewPlan(shown, made), nil
}

func newViewPlan(shown []place, made map[string]string) *viewPlan {
	plan := &viewPlan{within: -1, mount: -1, ids: idMaps(),
		last: textFor{cWord("/proc/sys/kernel/ns_last_pid"), anyPID()}}
	for _, p := range shown {
		at := shownPath{path: cWord(p.path), target: cWord(p.path[1:]), write: p.write, own: p.own,
			fixed: p.fixed, dev: p.dev, ino: p.ino}
		if p.own > 0 {
			at.path = cWord(ownNames[p.own-1])
		}
		plan.shown = append(plan.shown, at)
		for dir := range above(p.path) {
			made[dir] = ""
		}
		if p.dir {
			made[p.path] = ""
		} else {
			plan.files = append(plan.files, at.target)
		}
	}
	var dirs []string
	for path, target := range made {
		if target == "" {
			dirs = append(dirs, path)
		} else {
			plan.links = append(plan.links, madeLink{cWord(target), cWord(path[1:])})
		}
	}
	slices.Sort(dirs) // each before what lies in it
	for _, dir := range dirs {
		plan.dirs = append(plan.dirs, cWord(dir[1:]))
	}
	for i := range plan.shown {
		if plan.shown[i].own == 1 {
			plan.shown[i].below = entriesOf(ownDirs[0], shown, made)
		}
	}
	return plan
}

// entriesOf returns what a view has in an own directory.
func entriesOf(own string, shown []place, made map[string]string) (list []entry) {
	seen := map[string]entry{}
	note := func(path, link string, dir bool) {
		name, inside := strings.CutPrefix(path, own+"/")
		first, _, deeper := strings.Cut(name, "/")
		e := entry{name: cWord(first), target: cWord(own[1:] + "/" + first), dir: dir || deeper}
		if link != "" && !deeper {
			e.link = cWord(link)
		}
		if inside {
			seen[first] = e
		}
	}
	for path, link := range made {
		note(path, link, link == "")
	}
	for _, p := range shown {
		note(p.path, "", p.dir)
	}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		list = append(list, seen[name])
	}
	return list
}

// anyPID returns one of the ids that processes may have.
func anyPID() []byte {
	text, _ := os.ReadFile("/proc/sys/kernel/pid_max")
	most, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || most < 2 {
		most = 1 << 15
	}
	return strconv.AppendInt(nil, 1+rand.Int64N(int64(most)-1), 10)
}

// withProcesses says whether the view has a PID namespace, which has a /proc of its own.
func (p *viewPlan) withProcesses(on bool) {
	p.pids = on
	for i := range p.shown {
		p.shown[i].proc = on && unix.BytePtrToString(p.shown[i].path) == "/proc"
	}
}

// above yields the directories that path, which is absolute, lies in, but for /.
func above(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for dir := filepath.Dir(path); len(dir) > 1 && yield(dir); dir = filepath.Dir(dir) {
		}
	}
}

// linksOn returns the symbolic links through which name leads, and their targets, up to
// the first that a command may have made.
func linksOn(name string, writable func(path string) bool) map[string]string {
	links := map[string]string{}
	at, rest := "/", strings.Split(name, "/")
	for left := 255; len(rest) > 0 && left > 0; left-- { // a link may lead to itself
		next := filepath.Join(at, rest[0]) // at is without links, so that ".." may be cut
		rest = rest[1:]
		if writable(next) {
			break
		}
		target, err := os.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		links[next] = target
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return links
}

// canView returns what can be made of a view that hides what rules do not name.
func canView(rules []fenceRule) (held uint32) {
	places := make([]place, len(rules))
	for i, r := range rules {
		info, err := os.Stat(r.path)
		places[i] = place{path: r.path, dir: err == nil && info.IsDir()}
	}
	family.RLock() // as for any child
	defer family.RUnlock()
	var v views
	defer v.close()
	switch made, err := v.of(places, nil); {
	case err != nil || made.key == "":
		return 0
	case made.first == 0:
		return viewed
	}
	return viewed | apart
}
