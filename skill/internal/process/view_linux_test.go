//go:build amd64 || arm64

package process

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"textskill/testdata/needs"
)

// viewedRunner returns a Runner whose commands have a view, and a directory that is not in it.
func viewedRunner(t *testing.T, cfg Config) (x *Runner, out string) {
	t.Helper()
	needs.Mounts(t)
	fenced(t, t.TempDir()) // skips where there is no whole fence
	cfg.Helper = self(t)
	if cfg.Ready == nil {
		cfg.Ready = &Helpers{}
		t.Cleanup(cfg.Ready.Close)
	}
	out, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return newRunner(t, t.TempDir(), cfg), out
}

// connects says which of the sockets a command of x connects to.
func connects(t *testing.T, x *Runner, paths ...string) string {
	t.Helper()
	got := mustExec(t, x, Command{Name: self(t), Args: paths, Env: []string{probeRole + "=connect"}})
	if got.Failed() || !got.Fence.Sockets {
		t.Errorf("%s%s %s", got.Stdout, got.Stderr, got.Fence)
	}
	return strings.ReplaceAll(string(got.Stdout), "\n", "; ")
}

func listen(t *testing.T, path string) string {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return path
}

// A command has the sockets whose variables are passed, and none beside them.
func TestPassedSocketsAreShown(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "sockets") // a name of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	agent, bus, other := listen(t, dir+"/agent"), listen(t, dir+"/bus"), listen(t, dir+"/other")
	t.Setenv("SSH_AUTH_SOCK", agent)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:abstract=x;unix:path="+bus+",guid=12")
	t.Setenv("DOCKER_HOST", "unix://"+other)
	const no = "no such file or directory; "
	for want, pass := range map[string][]string{
		no + no + no:          nil,
		"<nil>; " + no + no:   {"SSH_AUTH_SOCK"},
		"<nil>; <nil>; " + no: {"SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS"},
		no + no + "<nil>; ":   {"DOCKER_HOST"},
	} {
		x, _ := viewedRunner(t, Config{PassEnv: pass})
		if got := connects(t, x, agent, bus, other); got != want {
			t.Errorf("with %q: %s", pass, got)
		}
	}
	x, _ := viewedRunner(t, Config{FenceRead: []string{other}})
	if got := connects(t, x, agent, bus, other); got != no+no+"<nil>; " {
		t.Errorf("with --fence-read: %s", got)
	}
	later, _ := viewedRunner(t, Config{})
	connects(t, later, agent)
	if got := connects(t, later, listen(t, dir+"/later"), agent); got != no+no {
		t.Errorf("a socket that is made later: %s", got)
	}
}

// The sockets by which users are looked up are there for each command, those for hosts with the
// network, and what else lies in /run is not.
func TestSocketsOfLookups(t *testing.T) {
	if !asRoot(t, "true") {
		return
	}
	if err := errors.Join(unix.Mount("none", "/run", "tmpfs", 0, ""), os.Mkdir("/run/nslcd", 0o755),
		os.Mkdir("/run/nscd", 0o755)); err != nil {
		t.Fatal(err)
	}
	users, hosts, other := listen(t, "/run/nslcd/socket"), listen(t, "/run/nscd/socket"),
		listen(t, "/run/docker.sock")
	const no = "no such file or directory; "
	for network, want := range map[bool]string{false: "<nil>; " + no + no, true: "<nil>; <nil>; " + no} {
		x, _ := viewedRunner(t, Config{Network: network})
		if got := connects(t, x, users, hosts, other); got != want {
			t.Errorf("with network %t: %s", network, got)
		}
		if got := mustExec(t, x, sh("ls /run; echo a > /run/a")); got.ExitCode == 0 ||
			strings.Contains(string(got.Stdout), "docker") {
			t.Errorf("with network %t: %s%s", network, got.Stdout, got.Stderr)
		}
	}
}

// Files that a command may use are found by the names that lead to it through links.
func TestViewHasLinks(t *testing.T) {
	_, top := viewedRunner(t, Config{})
	for _, dir := range []string{"/home", "/data/tool/bin", "/data/extra", "/real/ws"} {
		if err := os.MkdirAll(top+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tool := "#!/bin/sh\necho tool\n"
	err := errors.Join(os.WriteFile(top+"/data/tool/bin/tool", []byte(tool), 0o755),
		os.WriteFile(top+"/data/extra/file", []byte("extra\n"), 0o644),
		os.WriteFile(top+"/real/ws/file", []byte("inside\n"), 0o644))
	for link, target := range map[string]string{"/home/.pyenv": "../data/current",
		"/data/current": top + "/data/tool", "/ws": "real/ws", "/secret": "/etc/shadow"} {
		err = errors.Join(err, os.Symlink(target, top+link))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", top+"/home")
	t.Setenv("PATH", top+"/home/.pyenv/bin:"+os.Getenv("PATH"))
	x := newRunner(t, top+"/ws", Config{Helper: self(t), FenceRead: []string{top + "/data/extra"}})
	got := mustExec(t, x, sh("tool; $1/home/.pyenv/bin/tool; cat $1/ws/file $1/real/ws/file $1/data/extra/file; pwd; cat $1/secret", top))
	want := "tool\ntool\ninside\ninside\nextra\n" + top + "/real/ws\n"
	if string(got.Stdout) != want || !got.Fence.Sockets {
		t.Errorf("%s%s %s", got.Stdout, got.Stderr, got.Fence)
	}
}

// Each name of what a command may use leads there, also where another rule covers it, and
// what only a link that commands may change leads to has no name.
func TestViewHasEveryName(t *testing.T) {
	_, top := viewedRunner(t, Config{})
	for _, dir := range []string{"/home", "/data/go/bin", "/data/extra", "/data/lone", "/data/cache/go-build",
		"/ccache/0", "/ws", "/secret"} {
		if err := os.MkdirAll(top+dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	err := errors.Join(os.WriteFile(top+"/data/go/bin/tool", []byte("#!/bin/sh\necho tool\n"), 0o755),
		os.WriteFile(top+"/data/extra/file", []byte("extra\n"), 0o644),
		os.WriteFile(top+"/data/lone/file", nil, 0o644),
		os.WriteFile(top+"/ccache/ccache.conf", []byte("conf\n"), 0o644))
	for link, target := range map[string]string{
		"/home/go": "../data/go", "/home/.cache": "../data/cache", "/read": "data/extra", "/one": "read/file",
		"/ws/in":   "../data/extra/file",
		"/ws/turn": top + "/secret/link", "/secret/link": "../ws",
	} {
		err = errors.Join(err, os.Symlink(target, top+link))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", top+"/home")
	t.Setenv("XDG_CACHE_HOME", top+"/home/.cache")
	t.Setenv("GOPATH", top+"/data/go")
	x := newRunner(t, top+"/ws", Config{
		Helper: self(t), FenceWrite: []string{top + "/home/.cache"},
		FenceRead: []string{top + "/read", top + "/one", top + "/ws/in", top + "/ws/turn", top + "/ccache",
			top + "/data/lone/file"},
	})
	got := mustExec(t, x, sh("cd $1; home/go/bin/tool; cat read/file one ws/in ccache/ccache.conf; echo cache > home/.cache/a && cat home/.cache/a; test -L secret/link", top))
	if string(got.Stdout) != "tool\nextra\nextra\nextra\nconf\ncache\n" || got.ExitCode != 1 ||
		!got.Fence.Sockets {
		t.Errorf("%s%s %d %s", got.Stdout, got.Stderr, got.ExitCode, got.Fence)
	}
	if held := x.Fence(); held != got.Fence {
		t.Errorf("promised: %s; held: %s", held, got.Fence)
	}
}

// Git finds the repository around the workspace, in a view another file system.
func TestGitFindsTheRepositoryAbove(t *testing.T) {
	needs.Program(t, "git")
	_, top := viewedRunner(t, Config{})
	if err := os.Mkdir(top+"/part", 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "init", top).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	x := newRunner(t, top+"/part", Config{Helper: self(t), FenceRead: []string{top + "/.git"}})
	if got := mustExec(t, x, sh("git rev-parse --show-toplevel")); string(got.Stdout) != top+"\n" ||
		!got.Fence.Sockets {
		t.Errorf("%s%s %s", got.Stdout, got.Stderr, got.Fence)
	}
}

// The view of a helper that is kept follows what is replaced, and what is mounted.
func TestViewIsOfNow(t *testing.T) {
	_, out := viewedRunner(t, Config{})
	write := func(text string) {
		dir := out + "/read"
		if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755),
			os.WriteFile(dir+"/file", []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	x, _ := viewedRunner(t, Config{FenceRead: []string{out + "/read"}})
	for _, want := range []string{"first", "first", "second", "third"} {
		write(want)
		if got := mustExec(t, x, sh("cat $1/read/file", out)); string(got.Stdout) != want ||
			!got.Fence.Sockets {
			t.Errorf("%s instead of %s: %s %s", got.Stdout, want, got.Stderr, got.Fence)
		}
	}
	dir := x.ws.Dir()
	if err := os.Rename(dir, dir+"-moved"); err != nil {
		t.Fatal(err)
	}
	_, err := x.Run(t.Context(), Command{Name: "cat"}, Spec{Path: "/bin/cat", Args: []string{"cat"},
		Dir: dir + "-moved", Needs: Needs{Workspace: ReadAccess}})
	if spawn, ok := errors.AsType[*SpawnError](err); !ok || spawn.Err != syscall.ESTALE {
		t.Errorf("in a workspace that was moved: %v", err)
	}
}

func TestLinksOn(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"a": "b", "b": top + "/c/..", "loop": "loop",
		"mine": "theirs", "theirs": "a"} {
		if err := os.Symlink(target, top+"/"+link); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"a/x": "a b", "mine/x": "mine", "none": "",
		"loop/x": "loop", "": ""} {
		var got []string
		for link := range linksOn(top+"/"+name, func(path string) bool { return path == top+"/theirs" }) {
			got = append(got, strings.TrimPrefix(link, top+"/"))
		}
		if slices.Sort(got); strings.Join(got, " ") != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// asRoot reports whether this process is root in a user namespace of its own, with mounts
// of its own that are private. If not, it runs the test in one that is, after script.
func asRoot(t *testing.T, script string) bool {
	const role = "SKILL_TEST_AS_ROOT"
	if os.Getenv(role) != "" {
		return true
	}
	viewedRunner(t, Config{}) // skips where no namespaces can be made
	c := exec.Command("/bin/sh", "-c", script+` && exec "$0" -test.run "$1"`, self(t), "^"+t.Name()+"$")
	c.Env = append(os.Environ(), role+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}},
	}
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	return false
}

// Where the system allows no mount namespaces, commands run without a view.
func TestNoViewWithoutMountNamespaces(t *testing.T) {
	if !asRoot(t, "echo 0 > /proc/sys/user/max_mnt_namespaces") {
		return
	}
	x := newRunner(t, t.TempDir(), Config{Helper: self(t)})
	if got := mustExec(t, x, sh("echo ran")); string(got.Stdout) != "ran\n" || got.Fence.Sockets ||
		got.Fence != x.Fence() {
		t.Errorf("%s%s %s", got.Stdout, got.Stderr, got.Fence)
	}
}

// A command sees what it has started, until that has ended, and its own ids are no other command's.
func TestACommandSeesItsOwnProcesses(t *testing.T) {
	x, _ := viewedRunner(t, Config{})
	needs.That(t, x.Fence().Processes, "PID namespaces", "run the tests where /proc is whole")
	ids := map[string]bool{}
	for range 3 {
		x.cfg.Ready.Close() // each has a helper, and so a view, of its own
		x.cfg.Ready = &Helpers{}
		got := mustExec(t, x, sh("(sleep 0.01 &); (sleep 0.01 &); until set -- /proc/[0-9]*; [ $# = 2 ]; do :; done; echo $$; ls -d /proc/[0-9]*; kill -TERM $$"))
		id, list, _ := strings.Cut(string(got.Stdout), "\n")
		if strings.Count(list, "\n") != 2 || !strings.HasPrefix(list, "/proc/1\n") ||
			!strings.Contains(list, "/proc/"+id+"\n") || got.Signal != "SIGTERM" || got.Survivors != 0 ||
			!got.Fence.Processes {
			t.Errorf("%s%s %+v", got.Stdout, got.Stderr, got)
		}
		if ids[id] {
			t.Errorf("another command has %s, too", id)
		}
		ids[id] = true
	}
	x.cfg.Ready.Close()
}

// Where the system allows no PID namespaces, or hides a part of /proc, commands have a view
// without one.
func TestNoProcessesWithoutPIDNamespaces(t *testing.T) {
	needs.Program(t, "mount")
	for how, script := range map[string]string{"off": "echo 0 > /proc/sys/user/max_pid_namespaces",
		"hidden": "mount -t tmpfs none /proc/tty"} {
		t.Run(how, func(t *testing.T) {
			if !asRoot(t, script) {
				return
			}
			for range 2 {
				x := newRunner(t, t.TempDir(), Config{Helper: self(t)})
				got := mustExec(t, x, sh("echo ran; sleep 100 & ls -d /proc/$PPID"))
				if !strings.HasPrefix(string(got.Stdout), "ran\n/proc/") || got.Failed() ||
					!got.Fence.Sockets || got.Fence.Processes || got.Fence != x.Fence() {
					t.Errorf("%s%s %s", got.Stdout, got.Stderr, got.Fence)
				}
			}
		})
	}
}

// A command sees what was mounted in the workspace before it, and not what was unmounted,
// where mounts do not propagate either.
func TestViewFollowsMounts(t *testing.T) {
	if !asRoot(t, "true") {
		return
	}
	ready := &Helpers{}
	defer ready.Close()
	x := newRunner(t, t.TempDir(), Config{Helper: self(t), Ready: ready})
	dir := x.ws.Dir()
	disk := dir + "/disk"
	if err := os.Mkdir(disk, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"", "file\n", "", "file\n"} {
		if want != "" {
			if err := errors.Join(unix.Mount("none", disk, "tmpfs", 0, ""),
				os.WriteFile(disk+"/file", nil, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if got := mustExec(t, x, sh("ls disk")); string(got.Stdout) != want || !got.Fence.Sockets {
				t.Errorf("%q instead of %q: %s %s", got.Stdout, want, got.Stderr, got.Fence)
			}
		}
		if want != "" {
			if err := unix.Unmount(disk, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A view that shows everything hides nothing, and is not told as one.
func TestNoViewOfEverything(t *testing.T) {
	viewedRunner(t, Config{}) // skips where there are none anyway
	if rules := []fenceRule{{path: "/usr"}}; canView(rules) == 0 ||
		canView(append(rules, fenceRule{path: "/"})) != 0 {
		t.Error("a view of / was made, or none of /usr")
	}
}
