package skill

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"textskill/testdata/needs"
)

// fenced returns an executor whose commands run inside a complete fence.
func fenced(t testing.TB, cfg Config) *Executor {
	t.Helper()
	cfg.Helper = self(t)
	x := newExecutor(t, cfg)
	held := x.process.Fence()
	needs.That(t, held.ABI >= 6, fmt.Sprintf("Landlock ABI 6 (here the fence is %s)", held),
		"use Linux 6.12 or later")
	return x
}

// outside returns a directory outside the workspace with a file that contains "secret".
func outside(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, dir+"/secret", "secret", 0o644)
	return dir
}

func TestFenceFiles(t *testing.T) {
	needs.Shell(t)
	needs.Program(t, "git")
	out, allowed, more, home := outside(t), t.TempDir(), t.TempDir(), t.TempDir()
	writeFile(t, more+"/known", "known", 0o644)
	t.Setenv("HOME", home)
	t.Setenv("GIT_CONFIG_GLOBAL", home+"/.gitconfig")
	for name, content := range map[string]string{".ssh/id": "secret", ".bashrc": "secret",
		".gitconfig": "[user]\n\tname = N\n", ".cargo/credentials.toml": "secret", ".cargo/bin/x": ""} {
		if err := os.MkdirAll(filepath.Dir(home+"/"+name), 0o755); err != nil {
			t.Fatal(err)
		}
		writeFile(t, home+"/"+name, content, 0o644)
	}
	t.Setenv("PATH", home+"/.cargo/bin:"+os.Getenv("PATH"))
	x := fenced(t, Config{Allow: []string{allowed}, FenceRead: []string{more}})
	dir := x.Dir()
	for name, target := range map[string]string{"out": out, "shadow": "/etc/shadow", "file": out + "/new",
		"up": "../../.."} {
		if err := os.Symlink(target, dir+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, dir+"/in", "in", 0o644)
	for _, tt := range []struct {
		script string
		denied bool
	}{
		{"echo x > new && mkdir sub && mv new sub/moved && ln in hard && rm hard && cat sub/moved", false},
		{"echo x > " + allowed + "/new", false},
		{"mv sub/moved " + allowed + "/moved", false},
		{"echo x > $TMPDIR/new && cp /bin/true $TMPDIR/run && $TMPDIR/run", false},
		{"cat " + more + "/known", false},
		{"cat /etc/passwd /proc/self/status /usr/bin/env > /dev/null; echo x > /dev/shm/fence-$$ && rm /dev/shm/fence-$$", false},
		{"git config user.name && head -c 1 /dev/urandom | wc -c", false},

		{"echo x > " + out + "/new", true},
		{"echo x >> " + out + "/secret", true},
		{"truncate -s 0 " + out + "/secret", true},
		{"mkdir " + out + "/sub", true},
		{"rm " + out + "/secret", true},
		{"mv in " + out + "/moved", true},
		{"ln " + out + "/secret stolen", true},
		{"ln -s in " + out + "/link", true},
		{"echo x > " + more + "/new", true},
		{"echo x > out/new", true},
		{"echo x > file", true},
		{"echo x > ../new", true},
		{"cat out/secret", true},
		{"cat " + out + "/secret", true},
		{"cat /proc/self/root" + out + "/secret", true},
		{"cat /proc/self/cwd/up/../../../../../.." + out + "/secret", true},
		{"ls " + out, true},
		{"ls /", true},
		{"echo x > " + filepath.Dir(out) + "/new", true},
		{"cat ~/.ssh/id", true},
		{"cat ~/.bashrc", true},
		{"cat ~/.cargo/credentials.toml", true},
		{"echo x >> ~/.gitconfig", true},
		{"cat /etc/shadow", true},
		{"cat shadow", true},
		{"ls /etc", true},
		{"ls /dev", true},
		{"echo 0 > /proc/self/oom_score_adj", true},
		{"mknod disk b 8 0", true},
	} {
		got := mustExec(t, x, sh(tt.script))
		if said := string(got.Stderr); got.Failed() != tt.denied ||
			strings.Contains(string(got.Stdout), "secret") ||
			tt.denied && !strings.Contains(said, "ermission denied") &&
				!strings.Contains(said, "not permitted") && !strings.Contains(said, "cross-device") &&
				!strings.Contains(said, "Read-only") && !isAbsent(said) {
			t.Errorf("%s: %d, %s%s", tt.script, got.ExitCode, got.Stdout, got.Stderr)
		}
		if got.Fence != x.process.Fence() || !got.Fence.TCP || !got.Fence.UDP {
			t.Fatalf("%s", got.Fence)
		}
	}
	writeFile(t, filepath.Dir(dir)+"/private", "", 0o644)
	// in a /tmp of its own, it sees the folders that it may use
	got := mustExec(t, x, sh("ls -a .. ~; echo x > ${TMPDIR%/*}/fence-new"))
	if said := string(got.Stdout); strings.Contains(said, "private") || strings.Contains(said, "bashrc") {
		t.Errorf("the folders above have %s", said)
	}
	if _, err := os.Lstat(filepath.Join(os.TempDir(), "fence-new")); err == nil {
		t.Error("the folder of temporary files of this machine was written")
	}
	if data, _ := os.ReadFile(out + "/secret"); string(data) != "secret" {
		t.Errorf("the file outside contains %q", data)
	}
	if list, _ := os.ReadDir(out); len(list) != 1 {
		t.Errorf("the directory outside contains %v", list)
	}
}

// isAbsent reports whether a program says that a file is not there, which may only not be
// in its view.
func isAbsent(said string) bool {
	return strings.Contains(said, "No such file") || strings.Contains(said, "nonexistent")
}

func TestFenceSignals(t *testing.T) {
	needs.Shell(t)
	other := exec.Command("sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Process.Kill()
	x := fenced(t, Config{})
	got := mustExec(t, x, sh(`for pid in "$@"; do kill -0 $pid || echo denied; done; sleep 1000 & kill $! && echo own`, fmt.Sprint(os.Getpid()), fmt.Sprint(other.Process.Pid)))
	if string(got.Stdout) != "denied\ndenied\nown\n" {
		t.Errorf("%s%s", got.Stdout, got.Stderr)
	}
	l, err := net.Listen("unix", "@"+marker(t))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	name := l.Addr().String()[1:]
	need(t, x, "python3")
	got = mustExec(t, x, Exec{Command: "python3",
		Args: []string{"-c", `import socket,sys; socket.socket(socket.AF_UNIX).connect("\0" + sys.argv[1])`, name}})
	if said := string(got.Stderr); !strings.Contains(said, "PermissionError") &&
		!strings.Contains(said, "ConnectionRefusedError") {
		t.Errorf("an abstract socket: %s", got.Stderr)
	}
	got = mustExec(t, x, sh("cat /proc/$1/environ; cat /proc/$1/maps; readlink -v /proc/$1/fd/0",
		fmt.Sprint(os.Getpid())))
	if denied := strings.Count(string(got.Stderr), "ermission denied") +
		strings.Count(string(got.Stderr), "No such file"); len(got.Stdout) > 0 || denied != 3 {
		t.Errorf("of another process: %.100s%s", got.Stdout, got.Stderr)
	}
}

// Common programs work inside the fence.
func TestFenceLetsProgramsWork(t *testing.T) {
	needs.Long(t, "6 s")
	needs.GoCache(t)
	x := fenced(t, Config{ShareGo: true})
	layout(t, x.Dir(), "m/go.mod=module example.org/m\n\ngo 1.26\n",
		"m/m.go=package main\n\nfunc main() { println(f()) }\n\nfunc f() int { return 1 }\n",
		"m/m_test.go=package main\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestF(t *testing.T) {\n\tif err := os.WriteFile(t.TempDir()+\"/x\", nil, 0o600); err != nil || f() != 1 {\n\t\tt.Error(err)\n\t}\n}\n",
		"a.py=import tempfile, multiprocessing, subprocess\nlock = multiprocessing.Lock()\nwith tempfile.NamedTemporaryFile() as f: f.write(b'x')\nprint(subprocess.run(['echo', 'py'], capture_output=True, text=True).stdout, end='')\n",
		"a.js=const fs = require('fs'), os = require('os'); fs.writeFileSync(os.tmpdir() + '/x', ''); console.log('js', fs.readdirSync('.').length > 0)\n",
		"a.sh=#!/bin/sh\nx=$(mktemp) && echo \"$0 <<$1>>\" > $x && cat $x\n")
	if err := os.Chmod(x.Dir()+"/a.sh", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ program, script, want string }{
		{"go", "cd m && go build -buildvcs=false -o prog . && ./prog 2>&1", "1\n"},
		{"go", "cd m && go vet ./... && go test ./... | cut -c1-2", "ok\n"},
		{"python3", "python3 a.py", "py\n"},
		{"node", "node a.js", "js true\n"},
		{"sh", "./a.sh 'a  b'", "./a.sh <<a  b>>\n"},
		{"git", "git init -q g && cd g && git config user.name N && git config user.email e && echo x > f && git add f && git commit -qm one && git status --short && git log --format=%s", "one\n"},
		{"sh", "printf 'b\\na\\n' | sort | tee list | wc -l | tr -d ' '", "2\n"},
		{"sh", "echo out > /dev/stdout; echo x | cat /dev/stdin", "out\nx\n"},
		{"tar", "mkdir d && echo x >d/f && chmod 640 d/f && tar --owner=1234 -cf a.tar d && mkdir o && tar -xf a.tar -C o && stat -c %a o/d/f", "640\n"},
		{"sh", "if [ $(id -u) = 0 ]; then echo x >own && chown 12345:12345 own && stat -c %u own; else echo 0; fi", "0\n"},
		{"sh", "echo x >p && touch -d 2001-02-03 p && chmod 600 p && cp -p p q && stat -c '%a %y' q | cut -c1-14", "600 2001-02-03\n"},
		{"make", "printf 'install:\n\tinstall -D -m 755 a.sh $(DESTDIR)/bin/a\n' >Makefile && make -s install DESTDIR=root && root/bin/a x | wc -l", "1\n"},
		{"npm", "mkdir n && cd n && npm init -y >/dev/null && npm pkg set scripts.x='echo ran' && npm run -s x", "ran\n"},
		{"python3", "python3 -m venv --without-pip v && v/bin/python -c 'import threading, os; os.sched_setaffinity(0, {0}); print(1)'", "1\n"},
		{"python3", "python3 -c \"import multiprocessing as m; s = m.Manager(); print(len(s.list([1, 2])))\"", "2\n"},
		{"sh", "sleep 9 & kill $! && wait $!; echo $?", "143\n"},
		{"ps", "sleep 9 & ps -e -o pid= -o comm= | grep -c \"$! sleep\"", "1\n"},
		{"timeout", "timeout 0.1 sleep 9; echo $?", "124\n"},
		{"python3", "python3 -c 'import os, subprocess as s; p = s.Popen([\"sleep\", \"9\"]); print(os.readlink(f\"/proc/{p.pid}/cwd\") == os.getcwd(), os.path.exists(f\"/proc/{os.getpid()}/task/{os.getpid()}\")); p.kill()'", "True True\n"},
		{"node", "node -e 'const c = require(\"child_process\").spawn(\"sleep\", [\"9\"]); process.kill(c.pid, 0); c.on(\"exit\", (n, s) => console.log(s)); c.kill()'", "SIGTERM\n"},
		{"sh", "nice -n 5 true && (ulimit -n 256; ulimit -n)", "256\n"},
	} {
		t.Run(tt.script, func(t *testing.T) {
			need(t, x, tt.program)
			if got := mustExec(t, x, sh(tt.script)); string(got.Stdout) != tt.want || got.Failed() {
				t.Errorf("%s\n%s", got.Stdout, got.Stderr)
			}
		})
	}
}

func TestFenceLimits(t *testing.T) {
	x := fenced(t, Config{Limits: Limits{FileSize: 1 << 20, Memory: 256 << 20, Processes: 5000}})
	got := mustExec(t, x, sh("ulimit -c; ulimit -v; ulimit -p 2>/dev/null || ulimit -u; head -c 2000000 /dev/zero > big; wc -c < big; ulimit -c unlimited || echo stays"))
	if fields := strings.Fields(string(got.Stdout)); strings.Join(fields, " ") != "0 262144 5000 1048576 stays" {
		t.Errorf("%q\n%s", fields, got.Stderr)
	}
	need(t, x, "python3")
	if got := mustExec(t, x, Exec{Command: "python3", Args: []string{"-c", "x = bytearray(1 << 30)"}}); !strings.Contains(string(got.Stderr), "MemoryError") {
		t.Errorf("%s", got.Stderr)
	}
	if got := mustExec(t, fenced(t, Config{Limits: Limits{FileSize: -1}}), sh("ulimit -f")); string(got.Stdout) != "unlimited\n" {
		t.Errorf("without a limit: %s", got.Stdout)
	}
	if got := mustExec(t, x, sh("grep -E 'NoNewPrivs' /proc/self/status")); string(got.Stdout) != "NoNewPrivs:\t1\n" {
		t.Errorf("%s", got.Stdout)
	}
}

func TestFenceModes(t *testing.T) {
	needs.Shell(t)
	out := outside(t)
	now := fenced(t, Config{}).process.Fence()
	abi, seen, network := now.ABI, "", "TCP, UDP"
	if now.Alone {
		network = "network"
	}
	if now.Processes {
		seen = ", processes"
	}
	if now.Sockets {
		seen += ", named sockets"
	}
	for _, tt := range []struct {
		cfg    Config
		want   string // how the fence is; "" where the command is refused
		denied bool
	}{
		{Config{Helper: self(t), Fence: FenceRequire},
			fmt.Sprintf("Landlock ABI %d: files, %s, signals%s", abi, network, seen), true},
		{Config{Helper: self(t), Fence: FenceRequire, Network: true},
			fmt.Sprintf("Landlock ABI %d: files, signals%s", abi, seen), true},
		{Config{Helper: self(t), Fence: FenceOff}, "none: --fence=off", false},
		{Config{Unfenced: true}, "none: no helper watches the command", false},
		{Config{Fence: FenceRequire, Unfenced: true}, "", false},
	} {
		x := newExecutor(t, tt.cfg)
		health := must[HealthReport](t, x, Health{}).Fence.String()
		r, err := x.Execute(t.Context(), &Session{}, sh("cat $1/secret; echo ${TMPDIR##*/}", out))
		if tt.want == "" {
			if _, ok := errors.AsType[*RefusedError](err); !ok ||
				err.Error() != "running a program is refused under --fence=require: no helper watches the command" {
				t.Errorf("%+v: %v", tt.cfg, err)
			}
			continue
		}
		if err != nil || r.(Executed).Fence.String() != tt.want || health != tt.want ||
			strings.Contains(string(r.(Executed).Stdout), "secret") == tt.denied {
			t.Errorf("%+v: %+v, %v; health says %s", tt.cfg, r, err, health)
		}
	}
	if _, err := New(Config{Dir: t.TempDir(), Fence: "no"}); err == nil ||
		err.Error() != `fence must be auto, require or off, not "no"` {
		t.Errorf("%v", err)
	}
	if _, err := New(Config{Dir: t.TempDir(), FenceRead: []string{"/nowhere/at/all"}}); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("%v", err)
	}
}

// The error for a program that the fence hides says so, and not that it does not exist.
func TestFenceTellsOfAHiddenProgram(t *testing.T) {
	needs.Shell(t)
	out := t.TempDir()
	writeFile(t, out+"/tool", "#!/bin/sh\n", 0o755)
	for _, command := range []string{out + "/tool", "link"} {
		x := fenced(t, Config{})
		if err := os.Symlink(out+"/tool", x.Dir()+"/link"); err != nil {
			t.Fatal(err)
		}
		run := Exec{Command: command, Env: []string{"PATH=" + x.Dir()}}
		_, err := x.Execute(t.Context(), &Session{}, run)
		if spawn, ok := errors.AsType[*SpawnError](err); !ok || !spawn.Fenced || spawn.Err != syscall.EACCES {
			t.Errorf("%s: %v", command, err)
		}
	}
	if got := mustExec(t, fenced(t, Config{FenceRead: []string{out}}), Exec{Command: out + "/tool"}); got.Failed() {
		t.Errorf("%+v", got)
	}
}

// The kernel allows sixteen nested fences. Inside the last one no further fence can be set.
func TestFenceWhereThereIsNone(t *testing.T) {
	needs.Shell(t)
	cmd := exec.Command(self(t), t.TempDir())
	cmd.Env = append(os.Environ(), "EXEC_TEST_ROLE=nested")
	out, err := cmd.CombinedOutput()
	want := "auto: ran, none: Landlock could not be used\nrequire: running a program is refused under --fence=require: Landlock could not be used\n"
	if err != nil || string(out) != want {
		t.Errorf("%v\n%s", err, out)
	}
}

// nested goes on as [innermost] inside sixteen nested fences. They are of one thread, and hold
// for the whole process after it is replaced.
func nested(dir string) int {
	runtime.LockOSThread()
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	denied := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK}
	for range 16 {
		rules, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&denied)),
			unsafe.Sizeof(denied.Handled_access_fs), 0)
		if errno == 0 {
			_, _, errno = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, rules, 0, 0)
		}
		if errno != 0 {
			err = errno
		}
	}
	if err == nil {
		os.Setenv("EXEC_TEST_ROLE", "innermost")
		err = unix.Exec("/proc/self/exe", []string{os.Args[0], dir}, os.Environ())
	}
	fmt.Println(err)
	return 1
}

// innermost runs a command where no further fence can be set.
func innermost(dir string) int {
	os.Setenv("EXEC_TEST_ROLE", "")
	for _, mode := range []FenceMode{FenceAuto, FenceRequire} {
		x, err := New(Config{Dir: dir, Helper: "/proc/self/exe", Fence: mode})
		if err != nil {
			return 1
		}
		r, err := x.Execute(context.Background(), &Session{}, Exec{Command: "true"})
		if err != nil {
			fmt.Printf("%s: %v\n", mode, err)
		} else {
			fmt.Printf("%s: ran, %s\n", mode, r.(Executed).Fence)
		}
		x.Close()
	}
	return 0
}

func TestFenceRemovesTemporaryFiles(t *testing.T) {
	x := fenced(t, Config{})
	first := string(mustExec(t, x, sh("echo kept > $TMPDIR/x; echo $TMPDIR")).Stdout)
	second := mustExec(t, x, sh("echo $TMPDIR; cat $TMPDIR/x"))
	if string(second.Stdout) != first+"kept\n" {
		t.Errorf("%q, then %q", first, second.Stdout)
	}
	var st unix.Stat_t
	if err := unix.Stat(strings.TrimSpace(first), &st); err != nil || st.Mode&0o777 != 0o700 {
		t.Errorf("%v, %o", err, st.Mode)
	}
	x.Close()
	if err := unix.Stat(strings.TrimSpace(first), &st); err != unix.ENOENT {
		t.Errorf("the temporary directory still exists: %v", err)
	}
}
