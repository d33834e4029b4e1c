package process

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"textskill/testdata/needs"
)

// ownRunner returns a Runner on a directory below /tmp whose commands have directories of their own.
func ownRunner(t *testing.T, cfg Config) *Runner {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "own-")
	if err != nil {
		t.Skip("/tmp is needed:", err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil || !strings.HasPrefix(dir, "/tmp/") {
		t.Skip("/tmp is a link")
	}
	if err := os.MkdirAll(dir+"/deep/ws", 0o755); err != nil {
		t.Fatal(err)
	}
	cfg.Helper = self(t)
	x := newRunner(t, dir+"/deep/ws", cfg)
	needs.That(t, x.network() != nil && x.Fence().Sockets, "mount namespaces", "let users make them")
	return x
}

// Commands have a /tmp and a /dev/shm of their own, in which they find what other commands and
// servers of the workspace have left, also for another program, and nothing of this machine.
// The workspace is below that /tmp again.
func TestOwnDirectories(t *testing.T) {
	needs.Program(t, "cat", "sleep")
	for name, cfg := range map[string]Config{"alone": {}, "network": {Network: true}} {
		t.Run(name, func(t *testing.T) {
			x := ownRunner(t, cfg)
			for _, dir := range ownDirs {
				outside, err := os.CreateTemp(dir, "outside-")
				if err != nil {
					t.Skip(err)
				}
				defer os.Remove(outside.Name())
				got := mustExec(t, x, sh("cat "+outside.Name()+"; echo a > "+outside.Name()+"; echo b > "+
					dir+"/mine; ls "+dir+"; cat "+dir+"/mine"))
				if !strings.HasSuffix(string(got.Stdout), "\nb\n") {
					t.Errorf("%s: %s%s", dir, got.Stdout, got.Stderr)
				}
				if data, err := os.ReadFile(outside.Name()); err != nil || len(data) != 0 {
					t.Errorf("%s was written: %s, %v", outside.Name(), data, err)
				}
				if _, err := os.Lstat(dir + "/mine"); err == nil {
					t.Errorf("%s/mine is outside", dir)
				}
			}
			s, err := x.StartServer(t.Context(), "",
				ServerCommand{Command: "cat /tmp/mine; echo s > /tmp/of-server; sleep 100",
					Wait: time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			defer x.StopServer(ServerName{ID: s.ID})
			cfg.Helper = self(t)
			y, err := runnerOn(x.ws.Dir(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			defer y.ws.Close()
			defer y.Close()
			for wait := patient(5 * time.Second); !wait.over(); time.Sleep(pollInterval) {
				if log, _ := x.ServerLog(t.Context(), ServerName{ID: s.ID}, 0); string(log.Text) == "b\n" {
					break
				}
			}
			got := mustExec(t, y, sh("cat /tmp/of-server /dev/shm/mine; echo w > here; pwd; cat "+
				x.ws.Dir()+"/here"))
			if want := "s\nb\n" + x.ws.Dir() + "\nw\n"; string(got.Stdout) != want {
				t.Errorf("another program: %s%s, want %s", got.Stdout, got.Stderr, want)
			}
			if data, err := os.ReadFile(x.ws.Dir() + "/here"); err != nil || string(data) != "w\n" {
				t.Errorf("the workspace has %s, %v", data, err)
			}
		})
	}
}

// A command cannot put something in the place of what lies below its /tmp, for the next one or for
// the process that makes a view.
func TestOwnDirectoriesAreFixed(t *testing.T) {
	needs.Program(t, "mv", "ln", "mkdir")
	x := ownRunner(t, Config{})
	above := filepath.Dir(filepath.Dir(x.ws.Dir()))
	victim := t.TempDir()
	got := mustExec(t, x, sh("mv "+above+" /tmp/moved; mkdir "+above+"/new; rm -rf "+above+"/deep/ws; mv "+
		above+"/deep "+above+"/deeper; mkdir /tmp/a; ln -s "+victim+" /tmp/b; ln -s "+victim+
		" /tmp/c; pwd; ls -d "+x.ws.Dir()))
	if want := x.ws.Dir() + "\n" + x.ws.Dir() + "\n"; string(got.Stdout) != want {
		t.Errorf("%s%s", got.Stdout, got.Stderr)
	}
	// A program that shows more below /tmp, whose places commands have taken.
	for _, name := range []string{"/tmp/b", "/tmp/c"} {
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Skip(err)
		}
		defer os.RemoveAll(name)
	}
	if err := os.Mkdir("/tmp/b/sub", 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := x.StartServer(t.Context(), "", ServerCommand{Command: "sleep 100", Wait: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer x.StopServer(ServerName{ID: s.ID})
	y, err := runnerOn(x.ws.Dir(), Config{Helper: self(t), FenceRead: []string{"/tmp/b/sub", "/tmp/c"}})
	if err != nil {
		t.Fatal(err)
	}
	defer y.ws.Close()
	defer y.Close()
	got = mustExec(t, y, sh("ls -d /tmp/a /tmp/b/sub /tmp/c; mkdir /tmp/b/x /tmp/c/x"))
	if want := "/tmp/a\n/tmp/b/sub\n/tmp/c\n"; string(got.Stdout) != want || !got.Fence.Sockets {
		t.Errorf("%s%s", got.Stdout, got.Stderr)
	}
	for _, dir := range []string{victim, "/tmp/c"} {
		if list, err := os.ReadDir(dir); err != nil || len(list) != 0 {
			t.Errorf("%s has %v, %v", dir, list, err)
		}
	}
}

// Commands use git, and change neither what git runs at the user's next command nor where it looks
// for that, unless the user allows it.
func TestGitSettingsAreFixed(t *testing.T) {
	needs.Program(t, "git", "mv", "ln")
	x, _ := viewedRunner(t, Config{})
	secret := t.TempDir()
	if err := os.WriteFile(secret+"/config", []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	mustExec(t, x, sh("git init -q .; echo mine > .git/hooks/pre-commit.sample; git config user.name N; git config user.email e@example.org"))
	for _, tt := range []struct {
		script string
		failed bool
	}{
		{"echo x > a; git add a; git commit -qm a; git branch b; git stash list; git checkout -q b; git log --format=%an", false},
		{"git config core.fsmonitor ./evil", true},
		{"echo x >> .git/config", true},
		{"rm .git/config", true},
		{"mv .git/config .git/c", true},
		{"echo x > x; mv x .git/config", true},
		{"echo x > .git/hooks/post-checkout", true},
		{"chmod +x .git/hooks/pre-commit.sample", true},
		{"mv .git/hooks .git/h", true},
		{"mv .git g", true},
		{"ln -sfn " + secret + " .git", false}, // a link in it
		{"rm -rf .git", true},
	} {
		if got := mustExec(t, x, sh(tt.script)); got.Failed() != tt.failed {
			t.Errorf("%s: %d, %s%s", tt.script, got.ExitCode, got.Stdout, got.Stderr)
		}
	}
}

// A server that puts links in the place of .git does not get at a file outside.
func TestGitSettingsAreNotFollowed(t *testing.T) {
	x, _ := viewedRunner(t, Config{})
	need(t, x, "git", "python3")
	secret := t.TempDir()
	if err := os.WriteFile(secret+"/config", []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(x.ws.Dir()+"/.git/hooks", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(x.ws.Dir()+"/.git/config", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	stop := make(chan bool)
	done := make(chan bool)
	go func() { // outside, for a server cannot rename .git at all
		defer close(done)
		at := x.ws.Dir()
		for {
			select {
			case <-stop:
				return
			default:
			}
			os.Rename(at+"/.git", at+"/g")
			os.Symlink(secret, at+"/.git")
			os.Remove(at + "/.git")
			os.Rename(at+"/g", at+"/.git")
		}
	}()
	for range 60 {
		got, err := x.Exec(t.Context(), "", sh("cat .git/config"))
		if strings.Contains(string(got.Stdout), "secret") {
			t.Fatalf("%s%s", got.Stdout, got.Stderr)
		}
		if err == nil && !got.Fence.Sockets {
			t.Fatalf("%s", got.Fence)
		}
	}
	close(stop)
	<-done
	if got := mustExec(t, x, sh("echo x >> .git/config")); !got.Failed() || !got.Fence.Sockets {
		t.Errorf("afterwards: %s%s %s", got.Stdout, got.Stderr, got.Fence)
	}
}

// The answer names a directory in memory that is full, until there is room again.
func TestFullDirectoryIsNamed(t *testing.T) {
	needs.Root(t) // who else may make it small?
	needs.Program(t, "head", "rm")
	x, _ := viewedRunner(t, Config{})
	n := x.network()
	needs.That(t, n != nil, "mount namespaces", "let users make them")
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // and the thread ends with this function
		err := unix.Unshare(unix.CLONE_FS)
		if err == nil {
			err = unix.Setns(n.mount, unix.CLONE_NEWNS)
		}
		if err == nil {
			err = unix.Mount("", ownNames[0], "", unix.MS_REMOUNT, "mode=1777,size=64k")
		}
		made <- err
	}()
	if err := <-made; err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ script, said, full string }{
		{"echo x > /tmp/x", "", ""},
		{"head -c 200000 /dev/zero > /tmp/x", "No space left on device", "/tmp"},
		{"true", "", "/tmp"},
		{"rm /tmp/x", "", ""},
	} {
		got := mustExec(t, x, sh(tt.script))
		if !strings.Contains(string(got.Stderr), tt.said) || strings.Join(got.Full, " ") != tt.full {
			t.Errorf("%s: full is %q, %s", tt.script, got.Full, got.Stderr)
		}
	}
}
