package skill

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"textskill/testdata/needs"
)

// do executes an operation that must succeed.
func do[R Result](t *testing.T, x *Executor, a Args) R {
	t.Helper()
	r, err := x.Execute(t.Context(), &Session{}, a)
	if err != nil {
		t.Fatalf("%#v: %v", a, err)
	}
	return r.(R)
}

func TestGitStatusFiles(t *testing.T) {
	b := newGitBed(t)
	for _, name := range []string{"modified", "staged", "both", "removed", "was", "in/conflict"} {
		b.write("repo/"+name, "some lines\nof "+name+"\n")
	}
	b.git("repo", "add", "-A")
	b.git("repo", "commit", "-qm", "more")
	b.git("repo", "checkout", "-qb", "side")
	b.write("repo/in/conflict", "side\n")
	b.git("repo", "commit", "-qam", "side")
	b.git("repo", "checkout", "-q", "main")
	b.write("repo/in/conflict", "main\n")
	b.git("repo", "commit", "-qam", "main")
	b.try("repo", "merge", "side")
	b.write("repo/modified", "x\n")
	b.write("repo/staged", "x\n")
	b.write("repo/both", "x\n")
	b.write("repo/ä ö\n\"ü\"", "x\n")
	b.write("repo/ -> ", "x\n")
	b.git("repo", "add", "staged", "both")
	b.git("repo", "rm", "-q", "removed")
	b.git("repo", "mv", "was", "is now")
	b.write("repo/both", "y\n")
	b.write("repo/new/x", "")
	b.write("repo/.skill/records", "")
	st := do[RepoStatus](t, b.executor(Config{ReadOnly: true}), GitStatus{Dir: "repo/in"})
	want := []FileState{
		{Path: "both", Index: "M", Worktree: "M"}, {Path: "is now", From: "was", Index: "R"},
		{Path: "modified", Worktree: "M"},
		{Path: "removed", Index: "D"}, {Path: "staged", Index: "M"},
		{Path: "in/conflict", Index: "U", Worktree: "U", Unmerged: true},
		{Path: " -> ", Index: "?", Worktree: "?"}, {Path: "new/", Index: "?", Worktree: "?"},
		{Path: "ä ö\n\"ü\"", Index: "?", Worktree: "?"},
	}
	if !reflect.DeepEqual(st.Files, want) || st.Branch != "main" || st.Dir != b.repo {
		t.Errorf("got %+v\nwant %+v", st, want)
	}
}

func TestGitStatusBranch(t *testing.T) {
	b := newGitBed(t)
	b.remote()
	b.fork()
	b.git("repo", "fetch", "-q")
	st := do[RepoStatus](t, b.executor(Config{}), GitStatus{Dir: "repo"})
	if st.Upstream != "origin/main" || st.Ahead != 1 || st.Behind != 1 {
		t.Errorf("%+v", st)
	}
	b.git("repo", "checkout", "-q", "--detach")
	if st := do[RepoStatus](t, b.executor(Config{}), GitStatus{Dir: "repo"}); st.Branch != "" {
		t.Errorf("%+v", st)
	}
}

// TestGitReadOnly checks that only reading operations run, and that they change no byte.
func TestGitReadOnly(t *testing.T) {
	for _, cfg := range []Config{{ReadOnly: true, Network: true}, {DryRun: true, Network: true}} {
		b := newGitBed(t)
		b.remote()
		later := time.Now().Add(-time.Hour) // the index no longer shows that the file is unchanged
		if err := os.Chtimes(filepath.Join(b.repo, "a.txt"), later, later); err != nil {
			t.Fatal(err)
		}
		before := contents(t, b.dir)
		x := b.executor(cfg)
		do[RepoStatus](t, x, GitStatus{Dir: "repo"})
		do[RepoDiff](t, x, GitDiff{Dir: "repo"})
		do[RepoLog](t, x, GitLog{Dir: "repo"})
		do[Branches](t, x, GitBranch{Dir: "repo"})
		for _, a := range []Args{GitCommit{Dir: "repo", Message: "m"}, GitBranch{Dir: "repo", Create: "x"},
			GitBranch{Dir: "repo", Delete: "main"},
			GitPush{Dir: "repo", Remote: "origin"}, GitPull{Dir: "repo", Remote: "origin"}} {
			_, err := x.Execute(t.Context(), &Session{}, a)
			if _, refused := errors.AsType[*RefusedError](err); !refused {
				t.Errorf("%#v: %v", a, err)
			}
		}
		if contents(t, b.dir) != before {
			t.Errorf("%+v: something has changed", cfg)
		}
	}
}

// TestGitRefusesNames checks arguments that git would read as something else.
func TestGitRefusesNames(t *testing.T) {
	b := newGitBed(t)
	b.remote()
	b.git("repo", "branch", "dev")
	before := contents(t, b.dir)
	x := b.executor(Config{Network: true})
	for _, a := range []Args{
		GitDiff{Dir: "repo", File: "--output=" + b.mark}, GitDiff{Dir: "repo", File: "-R"},
		GitCommit{Dir: "repo", Message: "m", Files: []string{"-A"}},
		GitCommit{Dir: "repo", Message: "m", Files: []string{"--all"}},
		GitCommit{Dir: "repo", Message: "m", Files: []string{"*"}},
		GitCommit{Dir: "repo", Message: "m", Files: []string{":/"}},
		GitBranch{Dir: "repo", Create: "--orphan"}, GitBranch{Dir: "repo", Create: "-D"},
		GitBranch{Dir: "repo", Delete: "-r"}, GitBranch{Dir: "repo", Delete: "@{-1}"},
		GitPush{Dir: "repo", Remote: "--exec=touch " + b.mark + ";"},
		GitPush{Dir: "repo", Remote: "ext::touch " + b.mark},
		GitPush{Dir: "repo", Remote: filepath.Join(b.dir, "remote.git")},
		GitPush{Dir: "repo", Remote: "../remote.git"}, GitPush{Dir: "repo", Remote: "."},
		GitPush{Dir: "repo", Remote: "origin", Branch: ":main"},
		GitPush{Dir: "repo", Remote: "origin", Branch: "+main"},
		GitPush{Dir: "repo", Remote: "origin", Branch: "--mirror"},
		GitPush{Dir: "repo", Remote: "origin", Branch: "refs/heads/*"},
		GitPull{Dir: "repo", Remote: "--upload-pack=touch " + b.mark},
		GitPull{Dir: "repo", Remote: "origin", Branch: "--force"},
		GitPull{Dir: "repo", Remote: "origin", Branch: "main:dev"},
		GitStatus{Dir: "--git-dir=x"}, GitStatus{Dir: "../.."}, GitStatus{Dir: "repo/a.txt"},
	} {
		if r, err := x.Execute(t.Context(), &Session{}, a); err == nil {
			t.Errorf("%#v: %+v", a, r)
		}
	}
	if b.ran() || contents(t, b.dir) != before {
		t.Errorf("something has changed")
	}
}

// TestGitRemotes lists addresses that may be reached, and others.
func TestGitRemotes(t *testing.T) {
	tests := []struct {
		address string
		network bool
		says    string
	}{
		{"https://user:secret@127.0.0.1:9/x", false,
			"a git push is off; start skill with --network to allow it"},
		{"ssh://git@127.0.0.1:9/x", false, "with --network"},
		{"git@127.0.0.1:x", false, "is off"},
		{"http://127.0.0.1:9/x", true, "https, ssh, or a path inside"},
		{"git://127.0.0.1:9/x", true, "https, ssh, or a path inside"},
		{"ext::sh -c true", true, "runs a program"},
		{"fd::7", true, "runs a program"},
		{"/etc", true, "is outside the workspace"},
		{"file:///etc", true, "is outside the workspace"},
		{"../../outside", true, "is outside the workspace"},
		{"../missing", true, "no such file"},
		{"..", true, "not a git repository"},
		{"https://user:secret@127.0.0.1:9/x", true, "127.0.0.1 is a private address; --allow-host 127.0.0.1"},
		{"https://localhost:9/x", true, "1) is a private address; --allow-host localhost"},
		{"https://2130706433:9/x", true, "does not name a host that can be checked"},
		{"https://0x7f.1:9/x", true, "does not name a host that can be checked"},
		{"ssh://git@[::1]:9/x", true, "::1 is a private address"},
		{"ssh://169.254.169.254/x", true, "169.254.169.254 is a private address"},
		{"git@localhost:x", true, "1) is a private address; --allow-host localhost"},
		{"git@127.1:x", true, "does not name a host that can be checked"},
		{"git@[::1]:x", true, "does not name a host that can be checked"},
	}
	for _, test := range tests {
		b := newGitBed(t)
		b.git("repo", "remote", "add", "there", test.address)
		_, err := b.executor(Config{Network: test.network, AllowSSH: true}).Execute(t.Context(), &Session{},
			GitPush{Dir: "repo", Remote: "there"})
		if err == nil || !strings.Contains(err.Error(), test.says) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s, network %t: %v", test.address, test.network, err)
		}
	}
}

// TestGitGuard checks that git reaches an allowed private host, but not another one to
// which it redirects.
func TestGitGuard(t *testing.T) {
	asked := 0
	far := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked++ }))
	defer far.Close()
	near := httptest.NewTLSServer(http.RedirectHandler(far.URL+"/x/info/refs?service=git-upload-pack",
		http.StatusFound))
	defer near.Close()
	b := newGitBed(t)
	address := near.Listener.Addr().String()
	t.Setenv("NO_PROXY", "*")
	b.git("repo", "remote", "add", "there", "https://"+address+"/x")
	_, err := b.executor(Config{Network: true, Hosts: []string{address}}).Execute(t.Context(), &Session{},
		GitPull{Dir: "repo", Remote: "there", Branch: "main"})
	if _, failed := errors.AsType[*GitError](err); !failed || asked > 0 {
		t.Errorf("asked %d times: %v", asked, err)
	}
	b.executor(Config{Network: true, Private: true}).Execute(t.Context(), &Session{},
		GitPull{Dir: "repo", Remote: "there", Branch: "main"})
	if asked == 0 {
		t.Error("with --allow-private the redirect leads nowhere either")
	}
}

// TestGitHTTPS pushes to a web server and pulls from it, through the guard.
func TestGitHTTPS(t *testing.T) {
	b := newGitBed(t)
	b.remote()
	b.git("remote.git", "config", "http.receivepack", "true")
	b.git("", "clone", "-q", "remote.git", "other")
	server := httptest.NewTLSServer(&cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(b.git("", "--exec-path")), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + b.dir, "GIT_HTTP_EXPORT_ALL=1"},
	})
	defer server.Close()
	for _, repo := range []string{"repo", "other"} {
		b.git(repo, "remote", "set-url", "origin", server.URL+"/remote.git")
	}
	b.write("repo/b", "1\n")
	b.git("repo", "add", "b")
	b.git("repo", "commit", "-qm", "by https")
	x := b.executor(Config{Network: true, Hosts: []string{"127.0.0.1"}, Helper: self(t)})
	do[Pushed](t, x, GitPush{Dir: "repo", Remote: "origin", Branch: "main"})
	if p := do[Pulled](t, x, GitPull{Dir: "other", Remote: "origin"}); !strings.Contains(p.Output, "Fast-forward") {
		t.Errorf("%+v", p)
	}
	if l := do[RepoLog](t, x, GitLog{Dir: "other", Limit: 1}); !strings.HasSuffix(l.Commits[0], " by https") {
		t.Errorf("%+v", l)
	}
}

// TestGitSSH pushes with a fake ssh that runs the remote command locally. It must be
// called with BatchMode.
func TestGitSSH(t *testing.T) {
	b := newGitBed(t)
	b.remote()
	programs := t.TempDir()
	script := "#!/bin/sh\necho \"$*\" >" + b.mark + "\nfor last; do :; done\nexec sh -c \"$last\"\n"
	if err := os.WriteFile(filepath.Join(programs, "ssh"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	b.git("repo", "remote", "set-url", "origin", "git@box:"+filepath.Join(b.dir, "remote.git"))
	b.git("repo", "config", "core.sshCommand", "false")
	x := b.executor(Config{Network: true, AllowSSH: true, Hosts: []string{"box"}})
	t.Setenv("PATH", programs+":"+os.Getenv("PATH"))
	t.Setenv("GIT_SSH_COMMAND", "false")
	do[Branches](t, x, GitBranch{Dir: "repo", Create: "side"})
	do[Pushed](t, x, GitPush{Dir: "repo", Remote: "origin"})
	said, err := os.ReadFile(b.mark)
	if err != nil || !strings.HasPrefix(string(said), "-o BatchMode=yes ") ||
		!strings.Contains(string(said), " git@box git-receive-pack ") {
		t.Errorf("ssh was called with %s, %v", said, err)
	}
	if got := b.git("remote.git", "branch", "--format=%(refname:short)"); got != "main\nside\n" {
		t.Errorf("%q", got)
	}
}

// TestGitSSHPassesTheGuard has the user's ssh reach the port of an allowed host, by way of the guard.
func TestGitSSHPassesTheGuard(t *testing.T) {
	needs.Program(t, "ssh")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	greeted := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		said := make([]byte, 8)
		io.ReadFull(c, said)
		greeted <- string(said)
	}()
	b := newGitBed(t)
	b.git("repo", "remote", "add", "there", "ssh://git@"+l.Addr().String()+"/x")
	x := b.executor(Config{Network: true, AllowSSH: true, Hosts: []string{l.Addr().String()},
		Helper: self(t)})
	_, err = x.Execute(t.Context(), &Session{}, GitPush{Dir: "repo", Remote: "there"})
	if _, failed := errors.AsType[*GitError](err); !failed {
		t.Errorf("a server that ends at once: %v", err)
	}
	select {
	case said := <-greeted:
		if said != "SSH-2.0-" {
			t.Errorf("the server was greeted with %q", said)
		}
	case <-time.After(10 * time.Second):
		t.Errorf("the server was not reached: %v", err)
	}
	l.Close()
	if _, err := x.Execute(t.Context(), &Session{}, GitPush{Dir: "repo", Remote: "there"}); err == nil ||
		!strings.Contains(err.Error(), "connection refused") {
		t.Errorf("where nothing listens: %v", err)
	}
}

// TestGitRoundTrip pushes, pulls and merges with a remote in the workspace.
func TestGitRoundTrip(t *testing.T) {
	b := newGitBed(t)
	b.remote()
	b.git("", "clone", "-q", "remote.git", "other")
	b.git("other", "config", "pull.rebase", "false")
	x := b.executor(Config{Network: true, Helper: self(t)})
	b.write("repo/b", "1\n")
	if c := do[Committed](t, x, GitCommit{Dir: "repo", Message: "second\n\nbody"}); !strings.Contains(c.Message(), "] second") {
		t.Errorf("%+v", c)
	}
	if c := do[Committed](t, x, GitCommit{Dir: "repo", Message: "third"}); !c.Nothing {
		t.Errorf("%+v", c)
	}
	if p := do[Pushed](t, x, GitPush{Dir: "repo", Remote: "origin"}); p.Branch != "main" ||
		!strings.Contains(p.Output, "main -> main") {
		t.Errorf("%+v", p)
	}
	do[Pulled](t, x, GitPull{Dir: "other", Remote: "origin"})
	if l := do[RepoLog](t, x, GitLog{Dir: "other", Limit: -1}); len(l.Commits) != 2 ||
		!strings.HasSuffix(l.Commits[0], " second") {
		t.Errorf("%+v", l)
	}
	b.git("repo", "checkout", "-q", "--detach")
	if _, err := x.Execute(t.Context(), &Session{}, GitPush{Dir: "repo", Remote: "origin"}); err == nil {
		t.Error("an invalid branch name was pushed")
	}
}

// TestGitCommitFiles checks that named files are staged, and .skill never.
func TestGitCommitFiles(t *testing.T) {
	b := newGitBed(t)
	for _, name := range []string{"b", "*", "in/c", "in/.skill/x", ".skill/x", "ä", "-A"} {
		b.write("repo/"+name, "x\n")
	}
	x := b.executor(Config{})
	do[Committed](t, x, GitCommit{Dir: "repo", Message: "one",
		Files: []string{"*", "./-A", filepath.Join(b.repo, "ä")}})
	if got := b.git("repo", "-c", "core.quotePath=false", "ls-files"); got != "*\n-A\na.txt\nä\n" {
		t.Errorf("%q", got)
	}
	if err := os.Remove(filepath.Join(b.repo, "a.txt")); err != nil {
		t.Fatal(err)
	}
	do[Committed](t, x, GitCommit{Dir: "repo/in", Message: "two"})
	if got := b.git("repo", "-c", "core.quotePath=false", "ls-files"); got != "*\n-A\nb\nin/c\nä\n" {
		t.Errorf("%q", got)
	}
	b.write("repo/in/d", "x\n")
	do[Committed](t, x, GitCommit{Dir: "repo/in", Message: "three", Files: []string{"."}})
	if got := b.git("repo", "ls-files", "in"); got != "in/c\nin/d\n" {
		t.Errorf("%q", got)
	}
	_, err := x.Execute(t.Context(), &Session{},
		GitCommit{Dir: "repo", Message: "m", Files: []string{"missing"}})
	failed, ok := errors.AsType[*GitError](err)
	if !ok || failed.Command != "add" || failed.ExitCode != 128 ||
		failed.Words != "fatal: pathspec 'missing' did not match any files" {
		t.Errorf("%+v", err)
	}
}

// TestGitCommitRemoved names files that git rm and git mv have removed and staged.
func TestGitCommitRemoved(t *testing.T) {
	b := newGitBed(t)
	for _, name := range []string{"b", "in/c", "in/d", "e", "f"} {
		b.write("repo/"+name, name+"\n")
	}
	x := b.executor(Config{})
	do[Committed](t, x, GitCommit{Dir: "repo", Message: "one"})
	b.git("repo", "mv", "a.txt", "moved.txt")
	b.git("repo", "rm", "-q", "-r", "in")
	do[Committed](t, x, GitCommit{Dir: "repo", Message: "two",
		Files: []string{"a.txt", "moved.txt", filepath.Join(b.repo, "in")}})
	b.git("repo", "rm", "-q", "b")
	do[Committed](t, x, GitCommit{Dir: "repo", Message: "three", Files: []string{"./b"}})
	if got := b.git("repo", "ls-files"); got != "e\nf\nmoved.txt\n" {
		t.Errorf("%q", got)
	}
	b.git("repo", "rm", "-q", "e")
	_, err := x.Execute(t.Context(), &Session{},
		GitCommit{Dir: "repo", Message: "m", Files: []string{"e", "missing"}})
	if err == nil || !strings.Contains(err.Error(), "pathspec 'missing' did not match any files") {
		t.Errorf("%v", err)
	}
}

// TestGitCommitNeedsFilter checks that a file with a required filter cannot be committed.
func TestGitCommitNeedsFilter(t *testing.T) {
	b := newGitBed(t)
	b.git("repo", "config", "--global", "filter.lfs.clean", "git-lfs clean")
	b.write("repo/.gitattributes", "*.bin filter=lfs\n")
	b.write("repo/x.bin", "large\n")
	x := b.executor(Config{})
	_, err := x.Execute(t.Context(), &Session{}, GitCommit{Dir: "repo", Message: "m"})
	if err == nil || !strings.Contains(err.Error(),
		"clean filter 'lfs' failed; filters are off, for they are programs; --allow-hooks lets them run") {
		t.Errorf("%v", err)
	}
	if st := do[RepoStatus](t, x, GitStatus{Dir: "repo"}); !slices.Equal(st.NotRun, []string{"filter lfs"}) {
		t.Errorf("%+v", st)
	}
}

func TestGitBranches(t *testing.T) {
	b := newGitBed(t)
	x := b.executor(Config{})
	do[Branches](t, x, GitBranch{Dir: "repo", Create: "feature/ä"})
	b.write("repo/b", "1\n")
	do[Committed](t, x, GitCommit{Dir: "repo", Message: "on it"})
	b.git("repo", "checkout", "-q", "main")
	if l := do[Branches](t, x, GitBranch{Dir: "repo"}); l.Current != "main" ||
		!slices.Equal(l.Names, []string{"feature/ä", "main"}) {
		t.Errorf("%+v", l)
	}
	_, err := x.Execute(t.Context(), &Session{}, GitBranch{Dir: "repo", Delete: "feature/ä"})
	if err == nil || !strings.Contains(err.Error(), "is not fully merged.; force: true") &&
		!strings.Contains(err.Error(), "is not fully merged; force: true") {
		t.Errorf("%v", err)
	}
	if d := do[Branches](t, x, GitBranch{Dir: "repo", Delete: "feature/ä", Force: true}); !strings.Contains(d.Output, "Deleted branch feature/ä (was ") {
		t.Errorf("%+v", d)
	}
}

// TestGitDiffIsBounded cuts a long diff in the middle and says so.
func TestGitDiffIsBounded(t *testing.T) {
	b := newGitBed(t)
	var text strings.Builder
	for i := range 100000 {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	b.write("repo/a.txt", text.String())
	d := do[RepoDiff](t, b.executor(Config{}), GitDiff{Dir: "repo"})
	if len(d.Text) > 256<<10+100 || d.Cut == 0 ||
		!strings.Contains(string(d.Text), fmt.Sprintf("[… %d bytes left out …]", d.Cut)) {
		t.Errorf("%d bytes, %d cut", len(d.Text), d.Cut)
	}
	if _, err := b.executor(Config{}).Execute(t.Context(), &Session{}, GitDiff{Dir: "repo", File: "./b"}); err == nil || !strings.Contains(err.Error(), `"./b" does not exist`) {
		t.Errorf("of a file that does not exist: %v", err)
	}
}

// TestGitConflict refuses to commit what a merge left, until it is resolved and named.
func TestGitConflict(t *testing.T) {
	b := newGitBed(t)
	b.write("repo/c", "base\n")
	b.git("repo", "add", ".")
	b.git("repo", "commit", "-qm", "base")
	b.git("repo", "checkout", "-qb", "other")
	b.write("repo/c", "theirs\n")
	b.git("repo", "commit", "-qam", "theirs")
	b.git("repo", "checkout", "-q", "-")
	b.write("repo/c", "ours\n")
	b.git("repo", "commit", "-qam", "ours")
	exec.Command("git", "-C", b.repo, "merge", "other").Run() // fails: there is a conflict
	x := b.executor(Config{})
	if st := do[RepoStatus](t, x, GitStatus{Dir: "repo"}); st.State != "merge" || len(st.Files) != 1 ||
		!st.Files[0].Unmerged {
		t.Errorf("status %+v", st)
	}
	refused := func(a GitCommit, says string) {
		t.Helper()
		a.Dir, a.Message = "repo", "m"
		if _, err := x.Execute(t.Context(), &Session{}, a); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%+v: %v", a, err)
		}
	}
	refused(GitCommit{}, "unmerged: c")
	refused(GitCommit{Files: []string{"c"}}, "conflict markers are left in c")
	b.write("repo/c", "both\n")
	refused(GitCommit{}, "unmerged: c")
	do[Committed](t, x, GitCommit{Dir: "repo", Message: "m", Files: []string{"c"}})
	if st := do[RepoStatus](t, x, GitStatus{Dir: "repo"}); st.State != "" || len(st.Files) != 0 {
		t.Errorf("after the commit: status %+v", st)
	}
	b.write("repo/c", "<<<<<<< a\n=======\n>>>>>>> b\n")
	refused(GitCommit{}, "conflict markers are left in c")
	do[Committed](t, x, GitCommit{Dir: "repo", Message: "m", Force: true})
	b.write("repo/c", "Title\n=======\n")
	do[Committed](t, x, GitCommit{Dir: "repo", Message: "m"})
	b.write("repo/c", strings.Repeat("line\n", 2<<20)+"<<<<<<< a\n"+strings.Repeat("l", 1<<20)+
		"\n=======\n>>>>>>> b\n")
	refused(GitCommit{}, "conflict markers are left in c")
	b.write("repo/c", strings.Repeat("l", 4096)+"<<<<<<< a\n>>>>>>> b\n")
	do[Committed](t, x, GitCommit{Dir: "repo", Message: "m"})
}

// TestGitStatusInTheMiddle tells what a repository is in the middle of, by git's own files,
// and an upstream that is gone from one that is up to date.
func TestGitStatusInTheMiddle(t *testing.T) {
	b := newGitBed(t)
	b.remote()
	x := b.executor(Config{})
	status := func() RepoStatus { return do[RepoStatus](t, x, GitStatus{Dir: "repo"}) }
	b.git("repo", "checkout", "-qb", "side")
	for _, text := range []string{"one", "two"} {
		b.write("repo/a.txt", text)
		b.git("repo", "commit", "-qam", text)
	}
	b.git("repo", "checkout", "-q", "main")
	b.write("repo/a.txt", "main\n")
	b.git("repo", "commit", "-qam", "main")
	b.try("repo", "cherry-pick", "side~2..side")
	if st := status(); st.State != "cherry-pick" {
		t.Errorf("a pick: %+v", st)
	}
	b.git("repo", "add", "a.txt")
	b.git("repo", "commit", "-qm", "picked")
	if st := status(); st.State != "cherry-pick" {
		t.Errorf("picks that go on: %+v", st)
	}
	b.git("repo", "cherry-pick", "--abort")
	b.try("repo", "revert", "--no-edit", "side~1", "side")
	if st := status(); st.State != "revert" {
		t.Errorf("a revert: %+v", st)
	}
	b.git("repo", "revert", "--abort")
	b.git("repo", "format-patch", "-q", "-1", "side", "-o", "..")
	b.try("repo", "am", "../0001-two.patch")
	if st := status(); st.State != "am" {
		t.Errorf("am: %+v", st)
	}
	b.git("repo", "am", "--abort")
	if st := status(); st.State != "" || st.UpstreamGone {
		t.Errorf("in the end: %+v", st)
	}
	for _, name := range []string{".git/sequencer/todo", ".gitattributes"} {
		b.write("repo/"+name, "")
		if err := os.Truncate(filepath.Join(x.Dir(), "repo", name), 256<<20); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		status()
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 100<<20 {
			t.Errorf("%s takes %d bytes of memory", name, after.TotalAlloc-before.TotalAlloc)
		}
		os.Remove(filepath.Join(x.Dir(), "repo", name))
	}
	b.git("repo", "branch", "-q", "-D", "-r", "origin/main")
	if st := status(); st.Upstream != "origin/main" || !st.UpstreamGone {
		t.Errorf("without its upstream: %+v", st)
	}
}

// TestGitPullFails fails to pull while something goes on that no pull began: the error is
// git's own. Where no branch is checked out, the error asks for one.
func TestGitPullFails(t *testing.T) {
	b := newGitBed(t)
	b.git("", "init", "-q", "--bare", "far")
	b.git("repo", "remote", "add", "origin", filepath.Join(b.dir, "far"))
	b.write("repo/c", "1\n")
	b.git("repo", "add", ".")
	b.git("repo", "commit", "-qm", "c")
	b.git("repo", "bisect", "start")
	b.git("repo", "bisect", "bad")
	x := b.executor(Config{Network: true})
	_, err := x.Execute(t.Context(), &Session{}, GitPull{Dir: "repo", Remote: "origin", Branch: "none"})
	if err == nil || strings.Contains(err.Error(), "not finished") ||
		!strings.Contains(err.Error(), "remote ref none") {
		t.Errorf("a pull during a bisect: %v", err)
	}
	b.git("repo", "checkout", "-q", "--detach")
	for _, a := range []Args{GitPull{Dir: "repo", Remote: "origin"}, GitPush{Dir: "repo", Remote: "origin"}} {
		if _, err := x.Execute(t.Context(), &Session{}, a); err == nil ||
			!strings.Contains(err.Error(), "branch must be named: no branch is checked out") {
			t.Errorf("%T without a branch: %v", a, err)
		}
	}
}

// TestGitErrorsSayWhy checks that errors contain git's own message.
func TestGitErrorsSayWhy(t *testing.T) {
	b := newGitBed(t)
	b.git("", "init", "-q", "empty")
	x := b.executor(Config{})
	_, err := x.Execute(t.Context(), &Session{}, GitLog{Dir: "empty", Limit: 3})
	if failed, ok := errors.AsType[*GitError](err); !ok || failed.ExitCode != 128 ||
		!strings.Contains(failed.Words, "does not have any commits yet") {
		t.Errorf("%v", err)
	}
	b.git("repo", "config", "--global", "--unset", "user.name")
	b.git("repo", "config", "--global", "user.useConfigOnly", "true")
	b.git("repo", "config", "--global", "--unset", "user.email")
	b.write("repo/b", "1\n")
	_, err = x.Execute(t.Context(), &Session{}, GitCommit{Dir: "repo", Message: "m"})
	if failed, ok := errors.AsType[*GitError](err); !ok || failed.Command != "commit" ||
		!strings.Contains(failed.Words, "Please tell me who you are") {
		t.Errorf("%v", err)
	}
}

// TestGitSecondRoot works in an additional allowed directory, and not above it.
func TestGitSecondRoot(t *testing.T) {
	b := newGitBed(t)
	further := filepath.Join(filepath.Dir(b.dir), "further")
	b.git("..", "init", "-q", further)
	b.git("..", "init", "-q", filepath.Join(further, "in"))
	cfg := Config{Dir: b.dir, Allow: []string{filepath.Join(further, "in"), further}}
	x := newExecutor(t, cfg)
	if st := do[RepoStatus](t, x, GitStatus{Dir: further}); st.Dir != further || len(st.Files) != 1 {
		t.Errorf("%+v", st)
	}
	if err := os.RemoveAll(filepath.Join(further, ".git")); err != nil {
		t.Fatal(err)
	}
	b.git("..", "init", "-q")
	if _, err := x.Execute(t.Context(), &Session{}, GitStatus{Dir: further}); err == nil {
		t.Error("a repository above was found")
	}
}
