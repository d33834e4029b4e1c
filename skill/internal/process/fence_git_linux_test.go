//go:build amd64 || arm64

package process

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"textskill/skill/internal/workspace"
	"textskill/testdata/needs"
)

// gitBed is a workspace with repositories, submodules and linked worktrees, which a person looks at with git
// all the time. If git starts a program that a command has chosen, the program makes a file outside.
type gitBed struct {
	t        *testing.T
	x        *Runner
	ws, mark string
}

func newGitBed(t *testing.T) *gitBed {
	t.Helper()
	needs.Program(t, "git", "cp", "mv", "ln", "python3")
	x, out := viewedRunner(t, Config{})
	b := &gitBed{t, x, x.ws.Dir(), out + "/mark"}
	b.git("init", "-q", "-b", "master", "--template=", "../lib")
	b.git("-C", "../lib", "commit", "-q", "--allow-empty", "-m", "lib")
	b.write(".gitignore", "/ignored\n", 0o644)
	for _, top := range gitTops {
		b.git("init", "-q", "-b", "master", "--template=", top)
		b.git("-C", top, "submodule", "--quiet", "add", b.ws+"/../lib", "deep/sub")
		os.RemoveAll(b.ws + "/" + top + "/.git/modules/deep/sub/hooks")
		b.git("-C", top, "commit", "-q", "-m", "a")
		b.git("-C", top, "worktree", "add", "-q", "wt")
		b.write(top+"/fs.sh", "#!/bin/sh\n: > "+b.mark+"\n", 0o755)
		b.write(top+"/evil/config",
			"[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "+b.ws+"/fs.sh\n", 0o644)
		b.write(top+"/evil/hooks/post-index-change", "#!/bin/sh\n: > "+b.mark+"\n", 0o755)
		b.write(top+"/evil/head", "ref: refs/heads/master\n", 0o644)
		b.write(top+"/evil/refs/x", "", 0o644)
		b.write(top+"/evil/objects/x", "", 0o644)
	}
	b.git("clone", "-q", "--bare", "--template=", "../lib", "bare")
	return b
}

// gitTops are the folders of a gitBed with repositories.
var gitTops = []string{".", "in/nested", "ignored/clone"}

func (b *gitBed) write(name, text string, mode os.FileMode) {
	b.t.Helper()
	if err := os.MkdirAll(filepath.Dir(b.ws+"/"+name), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(b.ws+"/"+name, []byte(text), mode); err != nil {
		b.t.Fatal(err)
	}
}

// run runs git as a person does, outside the sandbox.
func (b *gitBed) run(args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "protocol.file.allow=always", "-c", "user.name=N",
		"-c", "user.email=e@example.org"}, args...)...)
	cmd.Dir = b.ws
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_OPTIONAL_LOCKS=1")
	text, err := cmd.CombinedOutput()
	return string(text), err
}

func (b *gitBed) git(args ...string) {
	b.t.Helper()
	if text, err := b.run(args...); err != nil {
		b.t.Fatalf("git %q: %v\n%s", args, err, text)
	}
}

// watch runs git status every 50 ms until stop is called.
func (b *gitBed) watch() (stop func()) {
	end, ended := make(chan bool), make(chan bool)
	go func() {
		defer close(ended)
		for at := 0; ; at++ {
			dir := gitTops[at%3] + []string{"", "/deep/sub", "/wt"}[at/3%3]
			text, err := b.run("-C", dir, "status")
			// a command may truncate HEAD just now
			for wait := patient(2 * time.Second); err != nil && !wait.over(); time.Sleep(time.Millisecond) {
				text, err = b.run("-C", dir, "status")
			}
			if err != nil {
				b.t.Errorf("git status in %s: %v\n%s", dir, err, text)
			}
			select {
			case <-end:
				return
			case <-time.After(15 * time.Millisecond):
			}
		}
	}()
	return func() { close(end); <-ended }
}

// left returns the files that commands may not change, and fails if a program has run.
func (b *gitBed) left(after string) string {
	b.t.Helper()
	if _, err := os.Lstat(b.mark); err == nil {
		b.t.Errorf("%s: git started a program of the command", after)
		os.Remove(b.mark)
	}
	var list strings.Builder
	filepath.WalkDir(b.ws, func(path string, e os.DirEntry, err error) error {
		name := strings.TrimPrefix(path, b.ws+"/")
		base := filepath.Base(path)
		switch {
		case base == "evil" && e.IsDir():
			return filepath.SkipDir
		case e.IsDir():
		case base == ".git" || strings.Contains(name, ".git/hooks/") || slices.Contains([]string{"config",
			"config.worktree", "commondir", "gitdir", "attributes", "alternates", stubMark}, base):
			text, _ := os.ReadFile(path)
			list.WriteString(name + ": " + string(text) + "\n")
		}
		return nil
	})
	return list.String()
}

// gitWays are scripts that try to have git outside the sandbox start fs.sh, or read another repository.
var gitWays = []string{
	// the folder that git takes settings and hooks from
	"echo ../evil > .git/commondir",
	"ln -s ../evil/commondir .git/commondir",
	"echo ../evil > c; mv c .git/commondir",
	"echo ../evil > c; mv -f c .git/commondir",
	"echo ../evil > c; ln c .git/commondir",
	"echo ../evil > c; ln -f c .git/commondir",
	"rm -f .git/commondir; echo ../evil > .git/commondir",
	"mv .git/commondir .git/c; echo ../evil > .git/commondir",
	"mkdir .git/d && mv .git/d .git/commondir",
	"echo ../evil > c; python3 -c 'import os; os.replace(\"c\", \".git/commondir\")'",
	"cd .git; echo ../evil > ./commondir",
	"exec 3< .git; echo ../evil > /proc/self/fd/3/commondir",
	"echo ../evil > /proc/self/root$PWD/.git/commondir",
	"truncate -s 0 .git/commondir; echo ../evil >> .git/commondir",
	"chmod 777 .git/commondir; dd if=/dev/zero of=.git/commondir bs=1 count=1",
	"python3 -c 'import os; os.rename(\".git/commondir\", \"x\")'; cp evil/config .git/commondir",
	"(sleep 0.05; echo ../evil > .git/commondir) & sleep 0.15; wait",
	"for i in 1 2 3 4 5 6 7 8; do echo ../evil > .git/commondir; rm -f .git/commondir; done",
	// settings
	"cp evil/config .git/config",
	"cat evil/config >> .git/config",
	"mv .git/config .git/c; cp evil/config .git/config",
	"rm .git/config; cp evil/config .git/config",
	"git config core.fsmonitor $PWD/fs.sh",
	"git config core.fsmonitor $PWD/fs.sh --worktree",
	"cp evil/config .git/config.worktree; git config extensions.worktreeConfig true",
	"git sparse-checkout set x",
	"mv .git/config.worktree .git/c; cp evil/config .git/config.worktree",
	// hooks
	"mkdir .git/hooks; cp evil/hooks/* .git/hooks/",
	"ln -s ../evil/hooks .git/hooks",
	"cp -r evil/hooks .git/",
	"mv evil/hooks .git/",
	"ren .git/hooks .git/h; cp -r evil/hooks .git/hooks",
	"rm -rf .git/hooks; cp -r evil/hooks .git/hooks",
	// .git itself
	"ren .git g; cp -r g .git; cp evil/config .git/config",
	"rm -rf .git/config .git/hooks .git/commondir; cp -r evil/. .git",
	"ren .git g; ln -s evil .git",
	"ren .git g; echo gitdir: evil > .git",
	"python3 -c 'import ctypes; ctypes.CDLL(None).renameat2(-100, b\".git\", -100, b\"evil\", 2)'",
	"umount .git/commondir; umount .git; echo ../evil > .git/commondir",
	"unshare -rm sh -c 'umount -l .git/commondir; echo ../evil > .git/commondir'",
	"mount -o remount,rw .git/config; cp evil/config .git/config",
	// attributes and objects of another repository
	"echo '* filter=x' > .git/info/attributes",
	"ren .git/info .git/i; mkdir .git/info; echo '* filter=x' > .git/info/attributes",
	"mkdir -p .git/info; echo '* filter=x' > .git/info/attributes",
	"echo $PWD/evil/objects > .git/objects/info/alternates",
	"ren .git/objects/info .git/objects/i; mkdir .git/objects/info; echo /x > .git/objects/info/alternates",
	"ren .git/objects .git/o; ln -s ../evil/objects .git/objects",
	// submodules
	"cp evil/config .git/modules/deep/sub/config",
	"echo $PWD/evil > .git/modules/deep/sub/commondir",
	"mkdir .git/modules/deep/sub/hooks; cp evil/hooks/* .git/modules/deep/sub/hooks/",
	"ren .git/modules .git/m; cp -rT .git/m .git/modules; cp evil/config .git/modules/deep/sub/config",
	"ren .git/modules/deep .git/m; mkdir -p .git/modules/deep; cp -rT evil .git/modules/deep/sub",
	"ren .git/modules/deep/sub .git/m; cp -rT evil .git/modules/deep/sub",
	"echo gitdir: $PWD/evil > deep/sub/.git",
	"rm deep/sub/.git; cp -rT evil deep/sub/.git",
	"git -C deep/sub config core.fsmonitor $PWD/fs.sh",
	"git config -f .git/modules/deep/sub/config core.fsmonitor $PWD/fs.sh",
	// worktrees
	"echo $PWD/evil > .git/worktrees/wt/commondir",
	"echo $PWD/evil > c; mv -f c .git/worktrees/wt/commondir",
	"rm .git/worktrees/wt/commondir; cp evil/head .git/worktrees/wt/commondir",
	"ren .git/worktrees .git/w; mkdir -p .git/worktrees; cp -r .git/w/wt .git/worktrees/; echo $PWD/evil > .git/worktrees/wt/commondir",
	"echo /etc > .git/worktrees/wt/gitdir",
	"cp evil/config .git/worktrees/wt/config.worktree",
	"echo gitdir: $PWD/evil > wt/.git",
	"mv wt/.git wt/g; cp -rT evil wt/.git",
	"git worktree add -q -f wt2; echo $PWD/evil > .git/commondir; git worktree remove -f wt2",
}

// rename is a function of the shell that copies nothing, as mv would do.
const rename = "ren() { python3 -c 'import os, sys; os.rename(*sys.argv[1:])' \"$@\"; }; "

// While a command runs, and after it, git outside starts no program of the command's choice in the
// repositories that there were before. Git works all the time, and no placeholder stays.
func TestGitIsNotLedElsewhere(t *testing.T) {
	b := newGitBed(t)
	before := b.left("before")
	defer b.watch()()
	for ways := range slices.Chunk(gitWays, 6) {
		script := rename + "for d in " + strings.Join(gitTops, " ") + "; do (cd $d; cp evil/head evil/HEAD; (" +
			strings.Join(ways, "); sleep 0.06; (") + "); sleep 0.06; rm -f evil/HEAD) & done; wait\n" +
			"cp evil/config bare/config"
		got := mustExec(t, b.x, sh(script))
		if !got.Fence.Sockets {
			t.Fatalf("%s", got.Fence)
		}
		if after := b.left(script); after != before {
			t.Fatalf("%s: %s%s\nleft %s\nnot  %s", script, got.Stdout, got.Stderr, after, before)
		}
	}
}

// The settings of a repository are guarded wherever it lies: also below an ignored folder, behind a link or a
// file .git, in a server, and where no history is kept, so that nothing else looks at the workspace.
func TestGitGuardFindsRepositories(t *testing.T) {
	needs.Program(t, "git")
	x, _ := viewedRunner(t, Config{})
	b := &gitBed{t: t, x: x, ws: x.ws.Dir()}
	b.write("lib/a", "", 0o644)
	b.git("init", "-q", "-b", "master", "lib")
	b.git("-C", "lib", "commit", "-q", "--allow-empty", "-m", "a")
	b.git("init", "-q", ".")
	b.write(".gitignore", "ignored\n", 0o644)
	for _, to := range []string{"a/b", "ignored/c", "project/.bare", "link/git"} {
		b.git("clone", "-q", "--template=", "lib", to)
	}
	b.git("clone", "-q", "--bare", "lib", "bare/d")
	b.git("-C", "project/.bare", "worktree", "add", "-q", "../main")
	for from, to := range map[string]string{"project/.git": ".bare/.git", "link/.git": "git/.git"} {
		if err := os.Symlink(to, b.ws+"/"+from); err != nil {
			t.Fatal(err)
		}
	}
	const script = `for d in . lib a/b ignored/c project/.bare project link link/git project/main bare/d; do
	cd $ROOT/$d; at=$(git rev-parse --git-common-dir 2>/dev/null)
	git config user.x y && echo "$d: its settings changed"
	for name in config commondir hooks/x info/attributes; do echo x >> $at/$name; done
	[ -e .git ] && rm -f .git && echo "$d: .git was removed"
done; echo done > $ROOT/done`
	ws, err := workspace.Open(workspace.Options{Dir: b.ws, Journal: workspace.Journal{Off: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	y, err := New(Config{Helper: self(t)}, ws)
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	for _, x := range []*Runner{x, y} {
		got := mustExec(t, x, Command{Name: "sh", Args: []string{"-c", script}, Env: []string{"ROOT=" + b.ws}})
		if len(got.Stdout) > 0 {
			t.Errorf("%s%s", got.Stdout, got.Stderr)
		}
	}
	os.Remove(b.ws + "/done")
	s, err := x.StartServer(t.Context(), "", ServerCommand{Command: "ROOT=" + b.ws + "\n" + script + "; sleep 100"})
	if err != nil {
		t.Fatal(err)
	}
	b.await("done")
	log, err := x.ServerLog(t.Context(), ServerName{ID: s.ID}, 100)
	if text := string(log.Text); err != nil || strings.Contains(text, ": its settings") ||
		strings.Contains(text, ": .git was") {
		t.Errorf("%s, %v", text, err)
	}
	if _, err := x.StopServer(ServerName{ID: s.ID}); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"a/b/.git/commondir", "bare/d/commondir", "project/.bare/.git/hooks"} {
		if _, err := os.Lstat(b.ws + "/" + name); err == nil {
			t.Errorf("%s is left", name)
		}
	}
}

// A command cannot change files of the workspace that the settings of a repository or of the user include, and
// the answer names one that it makes.
func TestGitGuardsIncludes(t *testing.T) {
	needs.Program(t, "git")
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_CONFIG_GLOBAL", "")
	x, _ := viewedRunner(t, Config{})
	b := &gitBed{t: t, x: x, ws: x.ws.Dir()}
	b.git("init", "-q", ".")
	b.git("init", "-q", "nested")
	names := []string{".gitconfig", "ci/git.inc", "further", "nested/own", "users", "link", "target",
		"said", "quoted", "system", "worktree", "of-user", "of-prefix"}
	for _, name := range names {
		b.write(name, "[user]\n", 0o644)
	}
	b.write(".gitconfig", "[include]\n\tpath = \"further\"\n", 0o644)
	os.Remove(b.ws + "/link")
	os.Symlink("target", b.ws+"/link")
	os.WriteFile(home+"/.gitconfig", []byte("[includeIf \"gitdir:~/\"]\n path = "+b.ws+"/users\n"), 0o644)
	for dir, list := range map[string][]string{".": {"../.gitconfig", "../missing", "../link"},
		"nested": {"../own"}} {
		for _, path := range list {
			b.git("-C", dir, "config", "--add", "include.path", path)
		}
	}
	b.git("config", "includeIf.onbranch:x.path", b.ws+"/ci/git.inc")
	if u, err := user.Current(); err == nil {
		if rel, err := filepath.Rel(u.HomeDir, b.ws); err == nil {
			b.git("config", "--add", "include.path", "~"+u.Username+"/"+rel+"/of-user")
		}
	}
	if git, err := exec.LookPath("git"); err == nil {
		if rel, err := filepath.Rel(filepath.Dir(filepath.Dir(git)), b.ws); err == nil {
			b.git("config", "--add", "include.path", "%(prefix)/"+rel+"/of-prefix")
		}
	}
	own, _ := os.ReadFile(b.ws + "/.git/config")
	b.write(".git/config", string(own)+"[include]\n\tpath = ../said ; why\n[a][include]\n\tpath = \"../quo\"\\\nted # x\n", 0o644)
	t.Setenv("GIT_CONFIG_SYSTEM", home+"/system")
	os.WriteFile(home+"/system", []byte("[include]\n path = "+b.ws+"/system\n"), 0o644)
	b.git("commit", "-q", "--allow-empty", "-m", "m")
	b.git("worktree", "add", "-q", "tree")
	b.write(".git/worktrees/tree/config.worktree", "[include]\n path = "+b.ws+"/worktree\n", 0o644)
	const program = "[core]\n\tfsmonitor = x\n"
	script := "for f in " + strings.Join(names, " ") + "; do echo x >> $f; rm -f $f; echo x > n; mv -f n $f; done\n" +
		"printf '[core]\\n\\tfsmonitor = x\\n' > missing; mv ci c; mkdir ci; cp missing ci/git.inc; rm -rf n"
	before := map[string]string{}
	for _, name := range names {
		text, _ := os.ReadFile(b.ws + "/" + name)
		before[name] = string(text)
	}
	before["ci/git.inc"] = program
	got := mustExec(t, x, sh(script))
	for _, name := range names {
		if text, err := os.ReadFile(b.ws + "/" + name); err != nil || string(text) != before[name] {
			t.Errorf("%s: %q, %v\n%s", name, text, err, got.Stderr)
		}
	}
	want := []string{b.ws + "/ci/git.inc: core.fsmonitor", b.ws + "/missing: core.fsmonitor"}
	if named := slices.Sorted(slices.Values(got.GitPrograms)); !slices.Equal(named, want) {
		t.Errorf("%q\n%s", named, got.Stderr)
	}
}

// A command that fails at the guard says so, and what allows it. Other commands say nothing of it.
func TestGitGuardIsExplained(t *testing.T) {
	b := newGitBed(t)
	for _, script := range []string{"git worktree remove -f wt", "git submodule deinit -f deep/sub",
		"git -C in/nested worktree remove -f wt", "rm -rf in/nested 2>&1", "mv .git/config c", "echo >> .git/config",
		"git remote add o x", "python3 -c 'import os; os.remove(\".git/hooks/skill-placeholder\")'",
		"git checkout -q --track -b t master"} {
		if got := mustExec(t, b.x, sh(script)); !slices.Contains(got.Hints, guardNote) {
			t.Errorf("%s: %s\n%s%s", script, got.Message(), got.Stdout, got.Stderr)
		}
	}
	for _, script := range []string{"echo x: Device or resource busy", "exit 1", "touch /usr/x", "cat .git/x"} {
		if got := mustExec(t, b.x, sh(script)); slices.Contains(got.Hints, guardNote) {
			t.Errorf("%s: %s", script, got.Stderr)
		}
	}
}

// A person's own hook and settings, made while a command runs, stay. So do a hook and settings that were
// there, as links, too.
func TestGitGuardKeepsOtherFiles(t *testing.T) {
	b := newGitBed(t)
	b.git("config", "extensions.worktreeConfig", "true")
	b.write("hooks/pre-commit", "true", 0o755)
	if err := os.Symlink("../../../../hooks", b.ws+"/.git/modules/deep/sub/hooks"); err != nil {
		t.Fatal(err)
	}
	ended := make(chan Executed)
	go func() {
		ended <- mustExec(t, b.x, sh(`: > begun; until [ -e go ]; do sleep 0.01; done
rm .git/modules/deep/sub/hooks; echo x > .git/hooks/pre-commit; ls .git/hooks`))
	}()
	b.await("begun")
	b.git("sparse-checkout", "set", "deep")
	b.write(".git/hooks/pre-commit", "mine", 0o755)
	want, _ := os.ReadFile(b.ws + "/.git/config.worktree")
	b.write("go", "", 0o644)
	got := <-ended
	for name, want := range map[string]string{".git/hooks/pre-commit": "mine",
		".git/modules/deep/sub/hooks/pre-commit": "true", ".git/config.worktree": string(want)} {
		if text, err := os.ReadFile(b.ws + "/" + name); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v\n%s%s", name, text, err, got.Stdout, got.Stderr)
		}
	}
	for _, name := range []string{".git/commondir", ".git/hooks/" + stubMark, ".git/info/attributes"} {
		if _, err := os.Lstat(b.ws + "/" + name); err == nil {
			t.Errorf("%s is left", name)
		}
	}
}

func (b *gitBed) await(name string) {
	b.t.Helper()
	for wait := patient(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err := os.Lstat(b.ws + "/" + name); err == nil {
			return
		}
		if wait.over() {
			b.t.Fatalf("%s did not come", name)
		}
	}
}

// The placeholders are there as long as any command or server of the workspace runs, in which program ever.
// After the last one they are removed, and those that a killed helper has left by the next command.
func TestGitGuardIsShared(t *testing.T) {
	b := newGitBed(t)
	before := b.left("before")
	y, err := runnerOn(b.ws, Config{Helper: self(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer y.ws.Close()
	defer y.Close()
	s, err := y.StartServer(t.Context(), "", ServerCommand{Wait: time.Millisecond,
		Command: "while sleep 0.01; do echo ../evil > .git/commondir; [ -e kill ] && kill -9 $PPID; done"})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := mustExec(t, b.x, sh("mkdir .git/hooks; echo ../evil > .git/commondir")); !got.Failed() {
			t.Errorf("beside a server: %s", got.Message())
		}
	}
	if text, _ := os.ReadFile(b.ws + "/.git/commondir"); string(text) != string(stubTexts[commonStub]) {
		t.Errorf("commondir of a server is %q", text)
	}
	if _, err := y.StopServer(ServerName{ID: s.ID}); err != nil {
		t.Fatal(err)
	}
	if after := b.left("a server"); after != before {
		t.Errorf("a server left %s", after)
	}
	s, err = y.StartServer(t.Context(), "", ServerCommand{Command: ": > begun; sleep 100", Wait: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	b.await("begun")
	_, r, err := y.findServer(ServerName{ID: s.ID})
	if err != nil {
		t.Fatal(err)
	}
	process, err := os.FindProcess(int(r.Helper.Pid))
	if err != nil {
		t.Fatal(err)
	}
	process.Kill()
	for wait := patient(10 * time.Second); r.Helper.isRunning() && !wait.over(); time.Sleep(time.Millisecond) {
	}
	if text, _ := os.ReadFile(b.ws + "/.git/commondir"); string(text) != string(stubTexts[commonStub]) {
		t.Errorf("commondir of a killed helper is %q", text)
	}
	b.git("status")
	mustExec(t, b.x, sh("true"))
	if after := b.left("a killed server"); after != before {
		t.Errorf("a killed server left %s", after)
	}
}

// No command runs while another program holds an exclusive lock on .git, and no command gets such a lock.
func TestGitGuardMeetsALock(t *testing.T) {
	b := newGitBed(t)
	dir, err := os.Open(b.ws + "/.git")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	_, err = b.x.Exec(t.Context(), "", sh("true"))
	if err == nil || !strings.Contains(err.Error(), "holds a lock on a .git folder") {
		t.Errorf("%v", err)
	}
	unix.Flock(int(dir.Fd()), unix.LOCK_UN)
	const lock = "import fcntl, os; fcntl.flock(os.open('.git', 0), fcntl.LOCK_EX | fcntl.LOCK_NB)"
	if got := mustExec(t, b.x, Command{Name: "python3", Args: []string{"-c", lock}}); !got.Failed() {
		t.Errorf("a command locked .git")
	}
}

// The answer names the settings, hooks and links by which git starts programs or writes elsewhere in a repository that a command
// makes or that has none of its own mounts.
func TestGitProgramsAreNamed(t *testing.T) {
	x, _ := viewedRunner(t, Config{})
	got := mustExec(t, x, sh(`git init -q --template= a && git -C a config user.name N
git init -q --template= b && git -C b config core.fsMonitor ./x && git -C b config alias.st status && git -C b config alias.x '!y'
mkdir b/.git/hooks && echo true > b/.git/hooks/pre-commit && cp b/.git/hooks/pre-commit b/.git/hooks/x.sample
echo ../c > b/.git/commondir; git init -q --bare c && git -C c config 'diff.x.textConv' y; mkdir d; echo '[core] pager = y' > d/config
for d in e f g h i j k l; do git init -q --template= $d; mkdir $d/.git/hooks; done; cd e/.git
printf '\357\273\277[core]\npager = y\n[a][core]askpass=y\n[filter "a]b\\"c"]clean = y\n[alias]\nz = \\\n!y\n[url "u"]\npushInsteadOf = y' > config
cd ../..; ln -s /bin/true f/.git/hooks/pre-push
head -c 2000000 /dev/zero > g/.git/hooks/pre-push; head -c 2000000 /dev/zero | tr '\0' '\n' >> h/.git/config; ln -sf /etc/passwd i/.git/config
git -C j config gc.recentObjectsHook y; git -C j config sendemail.toCmd y; git -C j config sendemail.a.sendmailCmd y
mkdir k/common; cp -r k/.git/objects k/.git/refs k/common; mv k/.git k/own; cp k/own/config k/common; echo ../common > k/own/commondir
echo 'gitdir: own' > k/.git; git config -f k/common/config core.pager y; git config -f k/own/config.worktree core.editor y
mkdir l/.git/logs k/own/hooks hooks; ln -s /var/gone l/.git/COMMIT_EDITMSG; ln -s ../../../../.. l/.git/logs/HEAD; ln -s HEAD l/.git/FETCH_HEAD
ln -s gone l/.git/ORIG_HEAD; echo true > k/own/hooks/post-commit; echo true > hooks/x`))
	ws := x.ws.Dir()
	want := []string{ws + "/b/.git/commondir", ws + "/b/.git/config: alias.x", ws + "/b/.git/config: core.fsMonitor",
		ws + "/b/.git/hooks/pre-commit", ws + "/c/config: diff.x.textConv",
		ws + "/e/.git/config: alias.z", ws + "/e/.git/config: core.askpass", ws + "/e/.git/config: core.pager",
		ws + "/e/.git/config: filter.a]b\"c.clean", ws + "/e/.git/config: url.u.pushInsteadOf",
		ws + "/f/.git/hooks/pre-push (a link that leads out)", ws + "/g/.git/hooks/pre-push", ws + "/h/.git/config", ws + "/i/.git/config (a link that leads out)",
		ws + "/j/.git/config: gc.recentObjectsHook", ws + "/j/.git/config: sendemail.a.sendmailCmd",
		ws + "/j/.git/config: sendemail.toCmd",
		ws + "/k/common/config: core.pager", ws + "/k/own/config.worktree: core.editor",
		ws + "/k/own/hooks/post-commit", ws + "/l/.git/COMMIT_EDITMSG (a link that leads out)",
		ws + "/l/.git/logs/HEAD (a link that leads out)"}
	named := slices.Sorted(slices.Values(got.GitPrograms))
	if !slices.Equal(named, want) {
		t.Errorf("%q, %s", named, got.Stderr)
	}
}

// Commands cannot add, change or replace the settings of Mercurial's repositories that there were before, and the
// answer names such settings in repositories that a command makes.
func TestMercurialIsGuarded(t *testing.T) {
	needs.Program(t, "mv", "ln")
	x, _ := viewedRunner(t, Config{})
	b := &gitBed{t: t, x: x, ws: x.ws.Dir()}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("HGRCPATH", home+"/hgrc")
	os.WriteFile(home+"/hgrc", []byte("%include "+b.ws+"/users.rc\n"), 0o644)
	for name, text := range map[string]string{".hg/requires": "share-safe\n", "in/n/.hg/requires": "x\n",
		"in/n/.hg/hgrc": "%include ../../team.rc\n[paths]\ndefault = x\n", "in/team.rc": "[ui]\n", "users.rc": "[ui]\n",
		"s/.hg/sharedpath": b.ws + "/in/n/.hg\n", "s/.hg/requires": "shared\n"} {
		b.write(name, text, 0o644)
	}
	os.MkdirAll(b.ws+"/link", 0o755)
	if err := os.Symlink("../in/n/.hg", b.ws+"/link/.hg"); err != nil {
		t.Fatal(err)
	}
	before := pictureOf(t, b.ws)
	got := mustExec(t, x, sh(`for d in . in/n s link; do
	for f in hgrc hgrc-not-shared sharedpath requires; do
		echo '[hooks]' > $d/.hg/$f; echo x > f; mv -f f $d/.hg/$f; ln -sf /x $d/.hg/$f; rm -f $d/.hg/$f; mv $d/.hg/$f $d/.hg/g
	done
	python3 -c 'import os, sys; os.rename(*sys.argv[1:])' $d/.hg $d/hg; rm -f $d/.hg
done; for f in in/team.rc users.rc; do echo '[hooks]' > $f; rm -f $f; done; rm -f f`))
	if after := pictureOf(t, b.ws); after != before {
		t.Errorf("it has\n%s\nnot\n%s", after, before)
	}
	if len(got.NotUndoable)+len(got.GitPrograms) > 0 || got.Undo != "" || !slices.Contains(got.Hints, guardNote) {
		t.Errorf("%+v", got)
	}
	got = mustExec(t, x, sh(`mkdir -p a/.hg b/.hg; printf '[paths]\ndefault = x\n[ui]\nusername = u\nssh = y\n# c\n k = v\n%%include z\n[hooks]\nstatus = w\n' > a/.hg/hgrc
cp a/.hg/hgrc b/.hg/hgrc-not-shared; echo /x > b/.hg/sharedpath; ln -s /var/gone b/.hg/last-message.txt; mkdir hg; cp a/.hg/hgrc hg/hgrc`))
	keys := func(name string) (list []string) {
		for _, key := range []string{"%include", "hooks.status", "ui.ssh"} {
			list = append(list, b.ws+name+": "+key)
		}
		return list
	}
	want := slices.Concat(keys("/a/.hg/hgrc"), keys("/b/.hg/hgrc-not-shared"),
		[]string{b.ws + "/b/.hg/last-message.txt (a link that leads out)", b.ws + "/b/.hg/sharedpath"})
	if named := slices.Sorted(slices.Values(got.GitPrograms)); !slices.Equal(named, want) {
		t.Errorf("%q", named)
	}
}

// pictureOf lists the files below a folder with their contents.
func pictureOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, _ := os.ReadFile(path)
		link, _ := os.Readlink(path)
		b.WriteString(strings.TrimPrefix(path, dir) + " " + link + " " + string(text) + "\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
