package process

import (
	"cmp"
	"encoding/binary"
	"iter"
	"os"
	"path/filepath"
	"slices"
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
	// a /dev/pts of its own; -1 for none
	terminals int
	own       [len(ownDirs)]int32 // their roots; 0 for none
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
	next, err := v.make(places, in)
	if err != nil || v.none {
		return view{}, err
	}
	v.last.close()
	next.key = key
	v.last = next
	return next, nil
}

// make makes a view of places, or sets v.none.
func (v *views) make(places []place, in *network) (next view, err error) {
	plan, err := planView(places, in)
	if err != nil {
		return view{}, err
	}
	plan.pids = !v.noPIDs && wholeProc()
	next, err = plan.make()
	if err != nil && plan.pids && !isTransient(err) {
		v.noPIDs, plan.pids = true, false
		next, err = plan.make()
	}
	if err != nil && !isTransient(err) {
		v.none = true
		return view{}, nil
	}
	return next, err
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
	return slices.Contains([]error{unix.ENOMEM, unix.EAGAIN, unix.EMFILE, unix.ENFILE, errKilled}, err)
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
	for _, fd := range append(v.own[:], int32(v.mounts), int32(v.users), int32(v.terminals)) {
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
func planView(places []place, in *network) (v viewPlan, err error) {
	places = slices.Clone(places)
	if in != nil {
		places = withOwn(places)
	}
	for _, dir := range shownWhole {
		places = append(places, place{path: dir, dir: true})
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.path, b.path) })
	v = viewPlan{in: in, made: map[string]string{}}
	for _, p := range places {
		if v.adds(p) {
			v.shown = append(v.shown, p)
		}
	}
	tops, err := os.ReadDir("/")
	if err != nil {
		return v, err
	}
	for _, e := range tops {
		switch path := "/" + e.Name(); {
		case e.IsDir():
			v.note(path, "")
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
			v.note(link, target)
		}
	}
	for _, p := range v.shown {
		for dir := range above(p.path) {
			v.made[dir] = ""
		}
		if p.dir {
			v.made[p.path] = ""
		}
	}
	return v, nil
}

// adds reports whether a place is not shown with another one: it is fixed, or a folder to write in what
// is only read.
func (v *viewPlan) adds(p place) bool {
	if !filepath.IsAbs(p.path) {
		return false
	}
	if p.write && p.dir && !v.shows(p.path, true) {
		return true
	}
	return p.fixed || !v.shows(p.path, false)
}

// shows reports whether a path lies in what is shown; with write, in what commands write.
func (v *viewPlan) shows(path string, write bool) bool {
	return slices.ContainsFunc(v.shown,
		func(s place) bool { return s.own == 0 && (s.write || !write) && Contains(s.path, path) })
}

// note has the view have a directory, or a link to a target, and the directories that it lies in.
func (v *viewPlan) note(path, target string) {
	if v.shows(path, false) {
		return
	}
	v.made[path] = target
	for dir := range above(path) {
		v.made[dir] = ""
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
