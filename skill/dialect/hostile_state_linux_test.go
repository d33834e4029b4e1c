package dialect

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"textskill/parser"
	"textskill/skill"
	"textskill/testdata/needs"
)

// An adversity is a state of the world in which changes fail.
type adversity struct {
	name string
	uid  int // who makes the changes; 0 is the user of the test
	// begin brings it about once the workspace is opened, and returns what ends it.
	begin func(s *hostileSite, n int) (end func())
	says  string // what a failure says; "" for anything
	some  bool   // some changes may succeed
	times int    // how often each call is made, with n from 0; 0 is once
	path  string // what every path is given; "" is what each takes best
}

// adversities need a mount namespace of their own.
var adversities = []adversity{
	{name: "full", says: "ENOSPC|no space left|No space left", some: true,
		begin: func(s *hostileSite, _ int) func() {
			f, err := os.Create(s.ws + "/filler")
			s.do(err)
			for _, size := range []int{64 << 10, 4096, 1} {
				for err = nil; err == nil; {
					_, err = f.Write(make([]byte, size))
				}
			}
			f.Close()
			return func() { s.do(os.Remove(s.ws + "/filler")) }
		}},
	{name: "read-only", says: "EROFS|read-only file system|Read-only file system|is not writable",
		begin: func(s *hostileSite, _ int) func() {
			// nothing may be open for writing
			s.do(unix.Mount("", s.ws, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
			return func() { s.do(unix.Mount("", s.ws, "", unix.MS_REMOUNT, "")) }
		}},
	{name: "denied", uid: 65534,
		says: "EACCES|EPERM|permission denied|Permission denied|not permitted|is not writable",
		begin: func(s *hostileSite, _ int) func() {
			return s.modes(0o555, 0o444)
		}},
	{name: "files", some: true, times: 16, begin: func(s *hostileSite, n int) func() {
		var was unix.Rlimit
		s.do(unix.Getrlimit(unix.RLIMIT_NOFILE, &was))
		fds, err := os.ReadDir("/proc/self/fd")
		s.do(err)
		s.do(unix.Setrlimit(unix.RLIMIT_NOFILE,
			&unix.Rlimit{Cur: uint64(max(len(fds)-7+n, 0)), Max: was.Max}))
		return func() { s.do(unix.Setrlimit(unix.RLIMIT_NOFILE, &was)) }
	}},
	{name: "moved", some: true, begin: func(s *hostileSite, _ int) func() {
		s.do(os.Rename(s.ws+"/w", s.ws+"/moved"))
		s.do(os.Symlink(s.base+"/outside", s.ws+"/w"))
		return func() {
			s.do(os.Remove(s.ws + "/w"))
			s.do(os.Rename(s.ws+"/moved", s.ws+"/w"))
		}
	}},
	{name: "bound", some: true, path: "dir", begin: func(s *hostileSite, _ int) func() {
		s.do(unix.Mount(s.base+"/outside", s.ws+"/w/dir/sub", "", unix.MS_BIND, ""))
		return func() { // wherever it has gone with the folder around it
			s.do(filepath.WalkDir(s.ws+"/w", func(p string, d os.DirEntry, err error) error {
				if err == nil && d.Name() == "sub" {
					return cmp.Or(unix.Unmount(p, unix.MNT_DETACH), filepath.SkipDir)
				}
				return err
			}))
		}
	}},
	{name: "removed", begin: func(s *hostileSite, _ int) func() {
		s.do(os.RemoveAll(s.ws + "/w"))
		return func() {}
	}},
}

// modes gives the workspace's folders and files modes, until what it returns is called.
func (s *hostileSite) modes(dir, file os.FileMode) func() {
	set := func(dir, file os.FileMode) {
		s.do(filepath.WalkDir(s.ws+"/w", func(p string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				return os.Chmod(p, dir)
			}
			return os.Chmod(p, file)
		}))
	}
	set(dir, file)
	return func() { set(0o755, 0o644) }
}

// TestAdversity makes every change of every dialect while the disk is full, cannot be
// written, belongs to others, no file can be opened, a folder outside is mounted inside, or
// the workspace is moved away or removed. A failure says why, and leaves everything as it was.
func TestAdversity(t *testing.T) {
	needs.Long(t, "5 s")
	needs.Shell(t)
	needs.Program(t, "git")
	for _, a := range adversities {
		t.Run(a.name, func(t *testing.T) {
			cmd := exec.Command("/proc/self/exe", "-test.v", "-test.run", "^TestAdverse$")
			cmd.Env = append(os.Environ(), "HOSTILE_ADVERSITY="+a.name, "GORACE=atexit_sleep_ms=0")
			if os.Geteuid() == 0 || a.uid == 0 { // no mount is needed to be denied something
				cmd.SysProcAttr = needs.Mounts(t)
			}
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "--- PASS: TestAdverse") {
				t.Errorf("%v\n%.20000s", err, out)
			}
		})
	}
}

// TestAdverse is what the process does that TestAdversity starts.
func TestAdverse(t *testing.T) {
	at := slices.IndexFunc(adversities,
		func(a adversity) bool { return a.name == os.Getenv("HOSTILE_ADVERSITY") })
	if at < 0 {
		return
	}
	a := adversities[at]
	s := newHostileSite(t)
	s.do(os.Mkdir(s.ws, 0o755))
	if os.Geteuid() == 0 {
		s.do(unix.Mount("tmpfs", s.ws, "tmpfs", 0, "size=1m,mode=755"))
		defer unix.Unmount(s.ws, unix.MNT_DETACH)
	}
	url := loopback(t)
	for _, d := range filled {
		for i := range d.Tools {
			if tool := &d.Tools[i]; (tool.Effect != Reads || a.name == "files") && !tool.Open &&
				tool.Name != "healthCheck" && tool.Name != "restore" && !startsPrograms(tool.Name) {
				for n := range max(a.times, 1) {
					for _, warm := range []bool{true, false} {
						if !warm && (d == Undo || tool.Name == "undo") {
							continue // there is nothing to undo
						}
						c := hostileCall{d: d, t: tool, args: arguments(tool, nil, nil, url)}
						s.suffer(a, n, warm, c)
						for i := range tool.Params() {
							if p := &tool.Params()[i]; p.Path && a.path != "" {
								c.args = arguments(tool, p, quoted(a.path), url)
								s.suffer(a, n, warm, c)
							}
						}
					}
				}
			}
		}
	}
}

// suffer makes a call in an adversity. With warm there is a journal already.
func (s *hostileSite) suffer(a adversity, n int, warm bool, c hostileCall) {
	s.t.Helper()
	s.do(os.RemoveAll(s.ws + "/w"))
	s.do(os.RemoveAll(s.history()))
	for _, name := range []string{"a.txt", "keep.txt", "dir/b.txt", "dir/sub/c.txt"} {
		s.put(s.ws+"/w/"+name, "text of "+name)
	}
	s.put(s.ws+"/w/.tasks.json", `[{"id":"x","title":"x","status":"pending"}]`)
	s.put(s.ws+"/w/.plans.json", `[{"id":"x","goal":"x","steps":["x"],"status":"created"}]`)
	open := func() *skill.Executor {
		x, err := skill.New(skill.Config{Dir: s.ws + "/w", NoSync: true})
		s.do(err)
		return x
	}
	x := open()
	defer func() { x.Close() }()
	if warm {
		s.make(x, Filesystem, "write_file", `{"path":"warm.txt","content":"x"}`)
	}
	if a.name == "read-only" {
		x.Close()
	}
	before, outside := s.snapshot(s.ws), s.snapshot(s.base+"/outside")
	end := a.begin(s, n)
	if a.name == "read-only" {
		x = open()
	}
	back := s.as(a.uid)
	do := func() Reply {
		return c.d.Do(s.t.Context(), x, &skill.Session{}, parser.ToolCall{Name: c.t.Name, Arguments: c.args})
	}
	r := do()
	back()
	end()
	if c.t.Effect == Reads && r.Err == nil {
		if peace := do(); peace.Body != r.Body && !strings.Contains(r.Body, `"skipped":`) {
			s.t.Errorf("%s: %s %s %s, n %d, answers %.300s, and otherwise %.300s", a.name, c.d.Name,
				c.t.Name, c.args, n, r.Body, peace.Body)
		}
	}
	what := fmt.Sprintf("%s: %s %s, n %d, warm %t: %.300s", a.name, c.d.Name, c.t.Name, n, warm, r.Body)
	after := s.snapshot(s.ws)
	for name := range after {
		if strings.HasPrefix(filepath.Base(name), ".skill.tmp") {
			s.t.Errorf("%s\nit left %s", what, name)
		}
	}
	switch d := differ(s.own(before), s.own(after)); {
	case a.name == "removed":
		if _, err := os.Lstat(s.ws + "/w"); err == nil || r.Err == nil &&
			!strings.Contains(r.Body, "already not exists") &&
			!strings.Contains(strings.ToLower(c.t.Name), "todo") {
			s.t.Errorf("%s\nsucceeded, or made the workspace anew: %v", what, err)
		}
	case r.Err != nil && d != "":
		s.t.Errorf("%s\nfailed, and changed %s", what, d)
	case r.Err == nil && !a.some && c.t.Name != "todo" &&
		c.t.Name != "clearTodo" && d == "" &&
		!strings.Contains(r.Body, "already"):
		s.t.Errorf("%s\nchanged nothing and does not say so", what)
	}
	if d := differ(outside, s.snapshot(s.base+"/outside")); d != "" {
		s.t.Fatalf("%s\noutside changed: %s", what, d)
	}
	if unprintable.MatchString(r.Body) {
		s.t.Errorf("%s\nholds %s", what, unprintable.FindString(r.Body))
	}
	if a.says != "" && r.Err != nil && !says(a.says, r.Body) {
		s.t.Errorf("%s\ndoes not say why", what)
	}
	if a.name != "removed" {
		s.make(x, Undo, "history", `{}`)
		s.make(x, Filesystem, "write_file", `{"path":"later.txt","content":"x"}`)
		s.make(x, Undo, "undo", `{}`)
		if _, err := os.Stat(s.ws + "/w/later.txt"); err == nil {
			s.t.Errorf("%s\nundo does not undo afterwards", what)
		}
	}
}

func says(list, text string) bool {
	return slices.ContainsFunc(strings.Split(list, "|"),
		func(one string) bool { return strings.Contains(text, one) })
}

// history returns the folder that holds the history, as the workspace is on its own mount.
func (s *hostileSite) history() string { return fmt.Sprintf("%s/.skill-%d", s.ws, os.Getuid()) }

// own leaves out the history.
func (s *hostileSite) own(seen map[string]string) map[string]string {
	kept := map[string]string{}
	for name, state := range seen {
		if !strings.HasPrefix(s.ws+"/"+name, s.history()) && name != "" && name != "w" {
			kept[name] = state
		}
	}
	return kept
}

// make makes a call that succeeds.
func (s *hostileSite) make(x *skill.Executor, d *Dialect, tool, args string) {
	s.t.Helper()
	if r := d.Do(s.t.Context(), x, &skill.Session{}, parser.ToolCall{Name: tool, Arguments: []byte(args)}); r.Err != nil {
		s.t.Errorf("%s: %s", tool, r.Body)
	}
}

// as makes this process another user's, for the files it opens.
func (s *hostileSite) as(uid int) func() {
	if uid == 0 || os.Geteuid() != 0 {
		return func() {}
	}
	s.do(syscall.Setresgid(-1, uid, -1))
	s.do(syscall.Setresuid(-1, uid, -1))
	return func() {
		s.do(syscall.Setresuid(-1, 0, -1))
		s.do(syscall.Setresgid(-1, 0, -1))
	}
}
