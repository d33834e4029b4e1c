package skill

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"textskill/testdata/needs"
)

func TestMain(m *testing.M) {
	HelperMain()
	if role := os.Getenv("EXEC_TEST_ROLE"); role != "" {
		os.Exit(playRole(role))
	}
	os.Exit(needs.Run(m))
}

// self is the path of the test binary, which is its own helper.
func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func newExecutor(t testing.TB, cfg Config) *Executor {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	cfg.Unfenced = true // most tests are about something else
	x, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

// eachWay runs a test with a helper and without one.
func eachWay(t *testing.T, test func(t *testing.T, helper string)) {
	if runtime.GOOS == "windows" {
		t.Fatal("these tests run programs of a Unix system")
	}
	needs.Shell(t)
	t.Run("helper", func(t *testing.T) { test(t, self(t)) })
	t.Run("group", func(t *testing.T) { test(t, "") })
}

// eventually waits at most a minute until ok returns true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain: " + what)
		}
	}
}

// hasFile reports whether a file exists.
func hasFile(x *Executor, name string) func() bool {
	return func() bool {
		_, err := os.Stat(filepath.Join(x.Dir(), name))
		return err == nil
	}
}

func mustExec(t testing.TB, x *Executor, a Exec) Executed {
	t.Helper()
	needs.Shell(t)
	r, err := x.Execute(t.Context(), &Session{}, a)
	if err != nil {
		t.Fatalf("%+v: %v", a, err)
	}
	return r.(Executed)
}

// need needs programs where x runs commands.
func need(t testing.TB, x *Executor, names ...string) {
	t.Helper()
	needs.Shell(t)
	needs.ProgramIn(t, func(name string, args ...string) string {
		r, err := x.Execute(t.Context(), &Session{}, Exec{Command: name, Args: args})
		if err != nil || r.(Executed).Failed() {
			return ""
		}
		return string(r.(Executed).Stdout)
	}, names...)
}

func sh(script string, args ...string) Exec {
	return Exec{Command: "sh", Args: append([]string{"-c", script, "sh"}, args...)}
}

func TestExecEnds(t *testing.T) {
	tests := []struct {
		run            Exec
		stdout, stderr string
		code           int
		signal         string
		message        string
	}{
		{Exec{Command: "true"}, "", "", 0, "", "true exited with 0"},
		{Exec{Command: "printf", Args: []string{"%s|", "$HOME *; echo x", "", "it's"}},
			"$HOME *; echo x||it's|", "", 0, "", "printf exited with 0"},
		{sh("printf E1 >&2; printf O1; printf E2 >&2; printf O2"), "O1O2", "E1E2", 0, "", "sh exited with 0"},
		{sh("printf out; printf err >&2; exit 3"), "out", "err", 3, "", "sh exited with 3"},
		{sh("exit 255"), "", "", 255, "", "sh exited with 255"},
		{sh("kill -KILL $$"), "", "", -9, "SIGKILL", "sh was ended by SIGKILL"},
		{sh("printf x; kill -TERM $$"), "x", "", -15, "SIGTERM", "sh was ended by SIGTERM"},
		{sh(`printf '\377\000\303('`), "\xff\x00\xc3(", "", 0, "", "sh exited with 0"},
		{Exec{Command: "cat"}, "", "", 0, "", "cat exited with 0"},
		{Exec{Command: "./plain"}, "no first line\n", "", 0, "", "./plain exited with 0"},
	}
	eachWay(t, func(t *testing.T, helper string) {
		x := newExecutor(t, Config{Helper: helper})
		writeFile(t, x.Dir()+"/plain", "echo no first line\n", 0o755)
		for _, tt := range tests {
			got := mustExec(t, x, tt.run)
			if string(got.Stdout) != tt.stdout || string(got.Stderr) != tt.stderr ||
				got.ExitCode != tt.code ||
				got.Signal != tt.signal || got.Message() != tt.message || got.Failed() != (tt.code != 0) {
				t.Errorf("%+v\n got %+v\nwant %+v", tt.run, got, tt)
			}
			if got.TimedOut || got.Cancelled ||
				got.Lost || got.Survivors != 0 ||
				got.Supervised != (helper != "" && runtime.GOOS == "linux") || got.Elapsed <= 0 {
				t.Errorf("%+v: %+v", tt.run, got)
			}
		}
	})
}

func writeFile(t testing.TB, path, content string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestExecCannotStart(t *testing.T) {
	eachWay(t, func(t *testing.T, helper string) {
		x := newExecutor(t, Config{Helper: helper})
		writeFile(t, x.Dir()+"/plain", "x", 0o644)
		writeFile(t, x.Dir()+"/lost", "#!/nowhere/at/all\n", 0o755)
		if err := os.Mkdir(x.Dir()+"/sub", 0o755); err != nil {
			t.Fatal(err)
		}
		tests := []struct {
			run  Exec
			want syscall.Errno
		}{
			{Exec{Command: "definitely-not-a-command"}, syscall.ENOENT},
			{Exec{Command: "./nope.sh"}, syscall.ENOENT},
			{Exec{Command: "plain/x"}, syscall.ENOTDIR},
			{Exec{Command: "./lost"}, syscall.ENOENT},
			{Exec{Command: "./plain"}, syscall.EACCES},
			{Exec{Command: x.Dir() + "/plain"}, syscall.EACCES},
			{Exec{Command: "./sub"}, syscall.EACCES},
			{Exec{Command: "plain", Env: []string{"PATH=" + x.Dir()}}, syscall.EACCES},
			{Exec{Command: "true", Env: []string{"PATH=/nowhere"}}, syscall.ENOENT},
			{Exec{Command: "true", Args: []string{strings.Repeat("x", 8<<20)}}, syscall.E2BIG},
		}
		for _, tt := range tests {
			_, err := x.Execute(t.Context(), &Session{}, tt.run)
			spawn, ok := errors.AsType[*SpawnError](err)
			if !ok || spawn.Err != tt.want || spawn.Command != tt.run.Command {
				t.Errorf("%.80v\n got %v\nwant %v", tt.run, err, tt.want)
			}
		}
	})
}

func TestSpawnErrorTellsWhatIsWrong(t *testing.T) {
	for want, err := range map[string]SpawnError{
		`cannot run "nope": PATH has no program of that name`:                                                          {Command: "nope", Err: syscall.ENOENT},
		`cannot run "./nope": no such file or directory`:                                                               {Command: "./nope", Err: syscall.ENOENT},
		`cannot run "a b": it is not an executable file`:                                                               {Command: "a b", Err: syscall.EACCES},
		`cannot run "x": argument list too long`:                                                                       {Command: "x", Err: syscall.E2BIG},
		`cannot run "/y": it is outside the directories that commands may read; allow its directory with --fence-read`: {Command: "/y", Err: syscall.EACCES, Fenced: true},
	} {
		if err.Error() != want || !errors.Is(&err, err.Err) {
			t.Errorf("%v, want %s", &err, want)
		}
	}
}

func TestExecFindsProgramsInItsOwnPATH(t *testing.T) {
	eachWay(t, func(t *testing.T, helper string) {
		x := newExecutor(t, Config{Helper: helper})
		os.MkdirAll(x.Dir()+"/a/bin", 0o755)
		writeFile(t, x.Dir()+"/a/bin/mine", "#!/bin/sh\necho \"$0\"\n", 0o755)
		for _, path := range []string{x.Dir() + "/a/bin", "/nowhere:bin"} {
			got := mustExec(t, x, Exec{Command: "mine", Dir: "a", Env: []string{"PATH=" + path}})
			if want := x.Dir() + "/a/bin/mine\n"; string(got.Stdout) != want {
				t.Errorf("PATH=%s: %q, want %q", path, got.Stdout, want)
			}
		}
	})
}

func TestExecRefusesArguments(t *testing.T) {
	x := newExecutor(t, Config{})
	tests := []struct {
		run Exec
		arg string
	}{
		{Exec{}, "command"},
		{Exec{Command: "a\x00b"}, "command"},
		{Exec{Command: "printf", Args: []string{"ok", "a\x00b"}}, "args[1]"},
		{Exec{Command: "true", Env: []string{"X=a\x00b"}}, "env.X"},
		{Exec{Command: "true", Env: []string{"=x"}}, "env"},
		{Exec{Command: "true", Env: []string{"X"}}, "env"},
		{Exec{Command: "true", Dir: "a\x00b"}, "dir"},
	}
	for _, tt := range tests {
		_, err := x.Execute(t.Context(), &Session{}, tt.run)
		bad, ok := errors.AsType[*ArgError](err)
		if !ok || bad.Arg != tt.arg || bad.Code != "ERR_INVALID_ARG_VALUE" {
			t.Errorf("%+v: %v, want an ArgError on %s", tt.run, err, tt.arg)
		}
	}
}

func TestExecIsRefusedWhereNothingMayChange(t *testing.T) {
	for flag, cfg := range map[string]Config{"--read-only": {ReadOnly: true}, "--dry-run": {DryRun: true}} {
		x := newExecutor(t, cfg)
		_, err := x.Execute(t.Context(), &Session{}, Exec{Command: "touch", Args: []string{"made"}})
		if !errors.Is(err, fs.ErrPermission) || !strings.HasPrefix(err.Error(), "running a program is refused under "+flag) {
			t.Errorf("%s: %v", flag, err)
		}
		if names, _ := os.ReadDir(x.Dir()); len(names) > 0 {
			t.Errorf("%s: the program ran and made %v", flag, names)
		}
	}
}

func TestExecEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-one")
	t.Setenv("SKILL_HTTP_TOKEN", "tok-two")
	t.Setenv("EXTRA_PASSWORD", "pw-three")
	t.Setenv("PLAIN", "old")
	t.Setenv("KEPT", "kept")
	t.Setenv("PWD", "/somewhere/else")
	eachWay(t, func(t *testing.T, helper string) {
		x := newExecutor(t, Config{Helper: helper, Secrets: []string{"EXTRA_PASSWORD"}})
		got := mustExec(t, x, Exec{Command: "env", Env: []string{"Z=1", "PLAIN=new\nline=2", "A=", "Z=3"}})
		out := string(got.Stdout)
		for _, secret := range []string{"sk-one", "tok-two", "pw-three", "OPENAI_API_KEY", "SKILL_HTTP_TOKEN",
			"EXTRA_PASSWORD"} {
			if strings.Contains(out, secret) {
				t.Errorf("%s is in the environment", secret)
			}
		}
		if !strings.HasSuffix(out, "\nZ=3\nA=\n") {
			t.Errorf("what was set is not at the end, in its order: %q", out)
		}
		for _, want := range []string{"\nPLAIN=new\nline=2\n", "\nKEPT=kept\n", "\nPWD=" + x.Dir() + "\n"} {
			if strings.Count("\n"+out, want) != 1 {
				t.Errorf("%q is not there once: %q", want, out)
			}
		}
	})
	if v := os.Getenv("OPENAI_API_KEY"); v != "sk-one" {
		t.Errorf("the process itself lost its key: %q", v)
	}
}

func TestExecDir(t *testing.T) {
	outside := t.TempDir()
	eachWay(t, func(t *testing.T, helper string) {
		x := newExecutor(t, Config{Helper: helper})
		dir := x.Dir()
		os.MkdirAll(dir+"/sub/deep", 0o755)
		os.Mkdir(dir+"/.skill", 0o755)
		writeFile(t, dir+"/file", "x", 0o644)
		up, err := filepath.Rel(dir, outside)
		if err != nil {
			t.Fatal(err)
		}
		for link, target := range map[string]string{"in": "sub/deep", "out": outside, "dangling": "nowhere",
			"climb": up} {
			if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
				t.Fatal(err)
			}
		}
		inside := map[string]string{"": "", ".": "", "sub": "/sub", "in": "/sub/deep", "in/..": "/sub",
			dir + "/sub": "/sub"}
		for name, want := range inside {
			got := mustExec(t, x, Exec{Command: "pwd", Args: []string{"-P"}, Dir: name})
			if string(got.Stdout) != dir+want+"\n" {
				t.Errorf("%q: ran in %q, want %q", name, got.Stdout, dir+want)
			}
		}
		refused := map[string]func(error) bool{
			"out": isOutside, "out/x": isOutside, "..": isOutside, "/": isOutside, dir + "-evil": isOutside,
			outside: isOutside, "climb": isOutside,
			"file":     func(err error) bool { return isChdir(err, syscall.ENOTDIR) },
			"dangling": func(err error) bool { return isChdir(err, syscall.ENOENT) },
			"a/b":      func(err error) bool { return isChdir(err, syscall.ENOENT) },
			".skill":   func(err error) bool { _, ok := errors.AsType[*RefusedError](err); return ok && !isOutside(err) },
		}
		for name, ok := range refused {
			r, err := x.Execute(t.Context(), &Session{}, Exec{Command: "pwd", Dir: name})
			if err == nil || !ok(err) {
				t.Errorf("%q: %v, %v", name, r, err)
			}
		}
		s, err := x.Enter(&Session{}, "sub")
		if err != nil {
			t.Fatal(err)
		}
		if r, err := x.Execute(t.Context(), s, Exec{Command: "pwd", Dir: "deep"}); err != nil ||
			string(r.(Executed).Stdout) != dir+"/sub/deep\n" {
			t.Errorf("from the session's folder: %v, %v", r, err)
		}
	})
}

func isOutside(err error) bool {
	return errors.Is(err, ErrOutside)
}

func isChdir(err error, want syscall.Errno) bool {
	e, ok := errors.AsType[*fs.PathError](err)
	return ok && e.Op == "chdir" && e.Err == want
}

func TestExecInParallel(t *testing.T) {
	eachWay(t, func(t *testing.T, helper string) {
		x := newExecutor(t, Config{Helper: helper})
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				r, err := x.Execute(t.Context(), &Session{},
					sh("cat; printf \"$1\"; printf \"$1\" >&2; exit \"$1\"", fmt.Sprint(i)))
				want := fmt.Sprint(i)
				if err != nil || string(r.(Executed).Stdout) != want || string(r.(Executed).Stderr) != want ||
					r.(Executed).ExitCode != i {
					t.Errorf("%d: %+v, %v", i, r, err)
				}
			})
		}
		wg.Wait()
	})
}

// timedOut runs a command whose time is over after it has printed something. It has more time
// the next time if it was over before, on a machine that stopped.
func timedOut(t *testing.T, x *Executor, a Exec) Executed {
	t.Helper()
	for a.Timeout = time.Second; ; a.Timeout *= 4 {
		if got := mustExec(t, x, a); len(got.Stdout) > 0 || a.Timeout > 10*time.Second {
			return got
		}
	}
}

func TestExecTimesOut(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, helper string) {
		x := newExecutor(t, Config{Helper: helper})
		got := timedOut(t, x, sh("printf er >&2; printf part; sleep 1000"))
		if !got.TimedOut || got.Cancelled ||
			!got.Failed() || got.Signal != "SIGTERM" ||
			string(got.Stdout) != "part" || string(got.Stderr) != "er" {
			t.Errorf("%+v", got)
		}
		if got.Elapsed > 30*time.Second ||
			!strings.HasPrefix(got.Message(), "sh was stopped: its time ran out after ") {
			t.Errorf("%v: %s", got.Elapsed, got.Message())
		}
		for limit, command := range map[time.Duration]string{-time.Millisecond: "true",
			time.Microsecond: "sleep 1000"} {
			a := sh(command)
			a.Timeout = limit
			if got := mustExec(t, x, a); !got.TimedOut {
				t.Errorf("%v: %+v", limit, got)
			}
		}
		if got := mustExec(t, x, Exec{Command: "true", Timeout: time.Minute}); got.TimedOut {
			t.Errorf("%+v", got)
		}
	})
}

func TestExecIsCancelled(t *testing.T) {
	eachWay(t, func(t *testing.T, helper string) {
		x := newExecutor(t, Config{Helper: helper})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer cancel()
			eventually(t, "it to begin", hasFile(x, "begun"))
		}()
		r, err := x.Execute(ctx, &Session{}, sh("printf part; : > begun; sleep 1000"))
		if err != nil {
			t.Fatal(err)
		}
		got := r.(Executed)
		if !got.Cancelled || got.TimedOut ||
			!got.Failed() || string(got.Stdout) != "part" ||
			got.Message() != "sh was stopped: the call was cancelled" {
			t.Errorf("%+v", got)
		}
		if _, err := x.Execute(ctx, &Session{}, Exec{Command: "true"}); err != context.Canceled {
			t.Errorf("after the end of its context: %v", err)
		}
	})
}

func TestExecOvercomesWhatIgnoresSIGTERM(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, helper string) {
		x := newExecutor(t, Config{Helper: helper})
		got := timedOut(t, x, sh(`trap "" TERM; echo ready; while :; do sleep 1000; done`))
		if !got.TimedOut || got.Signal != "SIGKILL" || got.ExitCode != -9 ||
			string(got.Stdout) != "ready\n" || got.Elapsed > 30*time.Second {
			t.Errorf("%+v", got)
		}
	})
}

func TestExecLetsSIGTERMBeAnswered(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, helper string) {
		x := newExecutor(t, Config{Helper: helper})
		got := timedOut(t, x, sh(`trap "echo tidy; exit 7" TERM; echo ready; while :; do sleep 0.05; done`))
		if !got.TimedOut || got.ExitCode != 7 || string(got.Stdout) != "ready\ntidy\n" {
			t.Errorf("%+v", got)
		}
	})
}
