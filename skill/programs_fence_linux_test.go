package skill

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"textskill/testdata/needs"
)

// talker is a Browser that returns what the program writes to its DevTools as the title.
type talker struct{}

func (talker) Picture(_ context.Context, devtools io.ReadWriteCloser, p Page) (Picture, error) {
	said, err := bufio.NewReader(devtools).ReadString(0)
	return Picture{URL: p.URL, PNG: []byte("png"), Title: strings.TrimSuffix(said, "\x00")}, err
}

// programDir returns a directory that is first in PATH.
func programDir(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return dir
}

// A command could have written a program of the workspace: none is started in place of
// git, the browser or the search program.
func TestProgramsOfTheWorkspaceAreNotStarted(t *testing.T) {
	b := newGitBed(t)
	out := programDir(t, t.TempDir())
	for _, dir := range []string{programDir(t, b.dir+"/.venv/bin"), programDir(t, b.dir+"/linked")} {
		for _, name := range []string{"git", "chromium", "brave-search"} {
			b.copyEvil(strings.TrimPrefix(dir, b.dir+"/") + "/" + name)
		}
	}
	if err := os.Rename(b.dir+"/linked/git", b.dir+"/theirs"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(b.dir+"/theirs", out+"/git"); err != nil {
		t.Fatal(err)
	}
	cfg := Config{Network: true, Private: true, NoSandbox: true, Browser: talker{},
		Search: []SearchEngine{{Kind: "brave-search"}}}
	x := b.executor(cfg)
	do[RepoStatus](t, x, GitStatus{Dir: "repo"})
	path := os.Getenv("PATH")
	t.Setenv("PATH", out+":"+b.dir+"/.venv/bin")
	for _, tt := range []struct {
		args Args
		says string
	}{
		{GitStatus{Dir: "repo"}, `cannot run "git": PATH has only ` + out + "/git, " + b.dir +
			"/.venv/bin/git, which commands may write"},
		{Screenshot{URL: "http://127.0.0.1:9/", Dest: "s.png"},
			b.dir + "/.venv/bin/chromium, which commands may write"},
		{WebSearch{Query: "q", Count: 1}, b.dir + "/.venv/bin/brave-search, which commands may write"},
	} {
		if _, err := x.Execute(t.Context(), &Session{}, tt.args); err == nil ||
			!strings.Contains(err.Error(), tt.says) {
			t.Errorf("%T: %v", tt.args, err)
		}
	}
	t.Setenv("PATH", path)
	if b.ran() {
		t.Error("a program of the workspace was started")
	}
}

// trials is a script that tries to leave the fence, and prints what it could do.
func trials(x *Executor, out, address string) string {
	return fmt.Sprintf(`cat %[1]s/secret 2>&1; echo x >%[1]s/new 2>&1; cat %[2]s/in 2>&1; echo x >%[2]s/new 2>&1; cat /etc/shadow 2>&1
python3 -c "import socket; socket.create_connection(('127.0.0.1', %[3]s)); print('connected')" 2>&1 | tail -1; printenv OPENAI_API_KEY
`, out, x.Dir(), address[strings.LastIndexByte(address, ':')+1:])
}

func TestBrowserIsFenced(t *testing.T) {
	need(t, fenced(t, Config{}), "python3", "printenv", "tail")
	out, tools := outside(t), programDir(t, t.TempDir())
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	web, requests := counted(t, hello)
	x := fenced(t, Config{Network: true, Private: true, NoSandbox: true, Browser: talker{}})
	writeFile(t, x.Dir()+"/in", "secret", 0o644)
	script := "#!/bin/sh\nexec >&4 2>&4\necho \"$@\"\necho x >$HOME/own && cat $HOME/own\nreadlink /proc/self/ns/net\n" + trials(x, out, web.URL) + "printf '\\0'\nread wait <&3\n"
	writeFile(t, tools+"/chromium", script, 0o755)
	said := must[Shot](t, x, Screenshot{URL: web.URL, Dest: "s.png"}).Title
	if !strings.Contains(said, "--remote-debugging-pipe") ||
		strings.Contains(said, "--remote-debugging-port") || !strings.Contains(said, "\nx\n") {
		t.Errorf("the browser said %s", said)
	}
	if link, _ := os.Readlink("/proc/self/ns/net"); fenced(t, Config{}).process.Fence().Alone == strings.Contains(said, link) {
		t.Errorf("the browser is in this machine's network: %s", said)
	}
	if strings.Contains(said, "secret\n") || strings.Contains(said, "connected") ||
		strings.Contains(said, "root:") || requests.Load() > 0 {
		t.Errorf("the browser left the fence: %s", said)
	}
	for _, path := range []string{out + "/new", x.Dir() + "/new"} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("the browser made %s", path)
		}
	}
}

func TestSearchProgramIsFenced(t *testing.T) {
	need(t, fenced(t, Config{}), "python3", "printenv", "tail")
	out, tools := outside(t), programDir(t, t.TempDir())
	web, _ := counted(t, hello)
	x := fenced(t, Config{Network: true, Search: []SearchEngine{{Kind: "brave-search"}}})
	writeFile(t, x.Dir()+"/in", "secret", 0o644)
	script := "#!/bin/sh\n{\n" + trials(x, out, web.URL) +
		`} | python3 -c "import json, sys; print(json.dumps([{'Title': sys.stdin.read()}]))"` + "\n"
	writeFile(t, tools+"/brave-search", script, 0o755)
	said := must[Searched](t, x, WebSearch{Query: "q", Count: 1}).Hits[0].Title
	if !strings.Contains(said, "/secret: Permission denied") &&
		!strings.Contains(said, "/secret: No such file") || strings.Contains(said, "root:") ||
		!strings.Contains(said, "connected") {
		t.Errorf("the search program: %s", said)
	}
	if _, err := os.Lstat(out + "/new"); err == nil {
		t.Error("the search program wrote outside")
	}
}

// hookRunner is a git that runs every hook in the configuration, whatever switches it off:
// what it starts must not reach out of the workspace.
const hookRunner = `#!/bin/sh
[ -z "$GIT_HOOK_RUNNER" ] || exec %[1]s "$@"
export GIT_HOOK_RUNNER=1
%[1]s config --get-regexp '^hook\..*\.command$' | while read -r key command; do sh -c "$command" >/dev/null 2>&1 </dev/null; done
exec %[1]s "$@"
`

func TestGitIsFenced(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // other programs of this machine make such folders, too
	b := newGitBed(t)
	b.remote()
	out := outside(t)
	real, err := exePath("git")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, programDir(t, t.TempDir())+"/git", fmt.Sprintf(hookRunner, real), 0o755)
	web, requests := counted(t, hello)
	b.write("repo/.git/config",
		fmt.Sprintf("%s\n[hook \"e\"]\n\tevent = pre-commit\n\tcommand = \"touch %s/ran %s/new $HOME/new; curl -s %s; kill -9 %d; touch %s\"\n",
			readFile(t, b.repo+"/.git/config"), b.dir, out, web.URL, os.Getppid(), b.mark))
	x := b.executor(Config{Network: true, Private: true})
	needs.That(t, x.process.Fence().ABI >= 6, "Landlock ABI 6", "use Linux 6.12 or later")
	b.write("repo/b", "1\n")
	for _, a := range []Args{GitStatus{Dir: "repo"}, GitDiff{Dir: "repo"}, GitLog{Dir: "repo"},
		GitBranch{Dir: "repo"},
		GitCommit{Dir: "repo", Message: "m"}, GitBranch{Dir: "repo", Create: "made"},
		GitPush{Dir: "repo", Remote: "origin"}, GitPull{Dir: "repo", Remote: "origin", Branch: "main"}} {
		if _, err := x.Execute(t.Context(), &Session{}, a); err != nil {
			t.Errorf("%#v: %v", a, err)
		}
		if writes := strings.Contains(fmt.Sprintf("%T", a), "Commit"); writes && !b.ran() {
			t.Errorf("%T: the hook did not run, so this test shows nothing", a)
		} else if _, reads := a.(GitLog); reads && b.ran() {
			t.Errorf("%T: a git that only reads could write", a)
		}
	}
	if list, _ := os.ReadDir(out); len(list) != 1 || requests.Load() > 0 {
		t.Errorf("a hook left the fence: %v, %d requests", list, requests.Load())
	}
	if list, _ := filepath.Glob(os.TempDir() + "/skill-git-*"); len(list) > 0 {
		t.Errorf("home directories of git remain: %v", list)
	}
}

// git gets the data of the user's configuration, whatever it includes, and the repository's
// own settings come first.
func TestGitGetsTheUsersData(t *testing.T) {
	b := newGitBed(t)
	home := filepath.Dir(b.dir)
	b.write("../gitconfig", "[user]\n\tname = N\n\temail = other@x\n[includeIf \"gitdir:"+b.repo+
		"/\"]\n\tpath = "+home+"/work\n[core]\n\tautocrlf = input\n\texcludesFile = ~/ignored\n\tabbrev = 12\n[hook \"u\"]\n\tevent = pre-commit\n\tcommand = "+b.evil+"\n[include]\n\tpath = more\n")
	b.write("../work", "[user]\n\temail = work@x\n")
	b.write("../more", "[init]\n\tdefaultBranch = main\n")
	b.write("../ignored", "*.log\n")
	b.git("repo", "config", "core.abbrev", "9")
	b.write("repo/x.log", "")
	b.write("repo/crlf", "1\r\n")
	x := b.executor(Config{})
	if c := do[Committed](t, x, GitCommit{Dir: "repo", Message: "second"}); !strings.Contains(c.Output, "crlf") || strings.Contains(c.Output, "x.log") {
		t.Errorf("%+v", c)
	}
	if got := b.git("repo", "log", "-1", "--format=%an %ae"); got != "N work@x\n" {
		t.Errorf("the author is %q", got)
	}
	if got := b.git("repo", "cat-file", "blob", "HEAD:crlf"); got != "1\n" {
		t.Errorf("the blob is %q", got)
	}
	if hash, _, _ := strings.Cut(do[RepoLog](t, x, GitLog{Dir: "repo", Limit: 1}).Commits[0], " "); len(hash) != 9 {
		t.Errorf("the short hash is %s", hash)
	}
	if b.ran() {
		t.Error("a hook of the user's configuration ran")
	}
}

// A login is asked of the user's helper, and given to the one host that asked.
func TestGitLogin(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var asked, kept []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, password, ok := r.BasicAuth()
		if asked = append(asked, name+":"+password); !ok {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		// after a kill now, all this would remain
		filepath.WalkDir(os.TempDir(), func(path string, d fs.DirEntry, err error) error {
			data, _ := os.ReadFile(path)
			kept = append(kept, path+"\n"+string(data))
			return nil
		})
	}))
	defer server.Close()
	b := newGitBed(t)
	out := outside(t)
	b.git("repo", "remote", "add", "origin", server.URL+"/x.git")
	b.write("../helper", "#!/bin/sh\ncat "+out+
		"/secret >/dev/null && echo username=me && echo password='p@ss/word'\necho \"$1\" >>"+out+"/asked\n")
	if err := os.Chmod(filepath.Dir(b.dir)+"/helper", 0o755); err != nil {
		t.Fatal(err)
	}
	b.git("repo", "config", "--global", "credential.helper", filepath.Dir(b.dir)+"/helper")
	b.git("repo", "config", "credential.helper", b.evil)
	x := b.executor(Config{Network: true, Private: true})
	_, err := x.Execute(t.Context(), &Session{}, GitPull{Dir: "repo", Remote: "origin", Branch: "main"})
	if _, failed := errors.AsType[*GitError](err); !failed || b.ran() {
		t.Errorf("ran %t, %v", b.ran(), err)
	}
	if last := asked[len(asked)-1]; last != "me:p@ss/word" || asked[0] != ":" {
		t.Errorf("the server was given %q", asked)
	}
	if got := readFile(t, out+"/asked"); got != "get\n" {
		t.Errorf("the helper was asked to %q", got)
	}
	for _, file := range kept {
		if strings.Contains(file, "p@ss") || strings.Contains(file, "p%40ss") {
			t.Errorf("while git runs, a file holds the login: %s", file)
		}
	}
	if !strings.Contains(strings.Join(kept, "\n"), "skill-git-") {
		t.Errorf("git's own folder is not there: %q", kept)
	}
	if strings.Contains(contents(t, b.dir), "p@ss") || strings.Contains(contents(t, b.dir), "p%40ss") {
		t.Error("the login remains in the workspace")
	}
}

// An address cannot ask the user's helper for the login of another host.
func TestGitLoginOfAnotherHost(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	for _, address := range []string{server.URL + "/x%0ahost=github.com",
		strings.Replace(server.URL, "://", "://u%0ahost=github.com@", 1) + "/x",
		server.URL + "/x%0d%0ahost=github.com%0a"} {
		b := newGitBed(t)
		out := outside(t)
		b.git("repo", "remote", "add", "origin", address)
		b.write("../helper", "#!/bin/sh\ncat >>"+out+"/asked\necho username=me\necho password=pass\n")
		if err := os.Chmod(filepath.Dir(b.dir)+"/helper", 0o755); err != nil {
			t.Fatal(err)
		}
		b.git("repo", "config", "--global", "credential.helper", filepath.Dir(b.dir)+"/helper")
		b.git("repo", "config", "--global", "credential.useHttpPath", "true")
		b.executor(Config{Network: true, Private: true}).Execute(t.Context(), &Session{},
			GitPull{Dir: "repo", Remote: "origin", Branch: "main"})
		if asked, _ := os.ReadFile(out + "/asked"); strings.Contains(string(asked), "host=github.com") {
			t.Errorf("%s: the helper was asked for %s", address, asked)
		}
	}
}

func exePath(name string) (string, error) {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if path, err := filepath.EvalSymlinks(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", os.ErrNotExist
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
