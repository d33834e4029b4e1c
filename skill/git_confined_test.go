package skill

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"textskill/testdata/needs"
)

// A gitBed is a workspace with a repository, and an "evil" program that creates a file
// when it is run. Both lie in the workspace, where the fence allows it.
type gitBed struct {
	t    *testing.T
	dir  string // the workspace
	repo string // dir/repo, with one commit of a.txt
	evil string // the program
	mark string // the file that it makes
}

func newGitBed(t *testing.T) *gitBed {
	t.Helper()
	needs.Program(t, "git", "sh")
	parent := t.TempDir()
	b := &gitBed{t: t, dir: filepath.Join(parent, "ws"), evil: filepath.Join(parent, "ws", "evil"),
		mark: filepath.Join(parent, "ws", "ran")}
	b.repo = filepath.Join(b.dir, "repo")
	t.Setenv("HOME", parent)
	t.Setenv("XDG_CONFIG_HOME", parent)
	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(parent, "gitconfig"))
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	b.write("../gitconfig", "[user]\n\tname = A U Thor\n\temail = a@example.com\n[init]\n\tdefaultBranch = main\n[http]\n\tsslVerify = false\n")
	b.write("evil", "#!/bin/sh\necho \"$0 $*\" >>"+b.mark+"\ncat >/dev/null 2>&1 </dev/null\nexit 1\n")
	if err := os.Chmod(b.evil, 0o755); err != nil {
		t.Fatal(err)
	}
	b.git("", "init", "-q", "repo")
	b.write("repo/a.txt", "1\n")
	b.git("repo", "add", "-A")
	b.git("repo", "commit", "-q", "-m", "first")
	return b
}

// write creates a file in the workspace.
func (b *gitBed) write(name, content string) {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// copyEvil creates a copy of the evil program.
func (b *gitBed) copyEvil(name string) {
	b.t.Helper()
	text, err := os.ReadFile(b.evil)
	if err != nil {
		b.t.Fatal(err)
	}
	b.write(name, string(text))
	if err := os.Chmod(filepath.Join(b.dir, name), 0o755); err != nil {
		b.t.Fatal(err)
	}
}

// git runs git as a user would.
func (b *gitBed) git(dir string, args ...string) string {
	b.t.Helper()
	out, err := b.try(dir, args...)
	if err != nil {
		b.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (b *gitBed) try(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = filepath.Join(b.dir, dir)
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// remote creates a bare repository as the upstream of repo.
func (b *gitBed) remote() {
	b.t.Helper()
	b.git("", "init", "-q", "--bare", "remote.git")
	b.git("repo", "remote", "add", "origin", filepath.Join(b.dir, "remote.git"))
	b.git("repo", "push", "-q", "-u", "origin", "main")
}

// fork makes a commit in the remote and one in repo that change the same line.
func (b *gitBed) fork() {
	b.t.Helper()
	b.git("", "clone", "-q", "remote.git", "other")
	b.write("other/a.txt", "other\n")
	b.git("other", "commit", "-qam", "other")
	b.git("other", "push", "-q")
	b.write("repo/a.txt", "ours\n")
	b.git("repo", "commit", "-qam", "ours")
	b.git("repo", "config", "pull.rebase", "false")
}

// executor returns an executor on the workspace.
func (b *gitBed) executor(cfg Config) *Executor {
	cfg.Dir, cfg.Helper = b.dir, self(b.t)
	return newExecutor(b.t, cfg)
}

func (b *gitBed) ran() bool {
	_, err := os.Stat(b.mark)
	return err == nil
}

// TestGitRunsNothing configures the evil program in every place of a repository where git
// would run it. No operation runs it.
func TestGitRunsNothing(t *testing.T) {
	all := []Args{GitStatus{Dir: "repo"}, GitDiff{Dir: "repo"}, GitDiff{Dir: "repo", Staged: true},
		GitLog{Dir: "repo", Limit: 5}, GitBranch{Dir: "repo"},
		GitCommit{Dir: "repo", Message: "m", Files: []string{"a.txt"}}, GitCommit{Dir: "repo", Message: "m"},
		GitBranch{Dir: "repo", Create: "made"},
		GitPush{Dir: "repo", Remote: "origin"}, GitPull{Dir: "repo", Remote: "origin", Branch: "main"},
		GitStatus{Dir: "repo"}}
	tests := []struct {
		name  string
		setup func(b *gitBed)
		git   []string // in repo: runs the program
	}{
		{"pre-commit", func(b *gitBed) { b.copyEvil("repo/.git/hooks/pre-commit"); b.write("repo/a.txt", "2\n") }, []string{"commit", "-am", "m"}},
		{"hooks that are links", func(b *gitBed) { b.write("repo/a.txt", "2\n"); b.hookLinks() },
			[]string{"commit", "-am", "m"}},
		{"hooksPath", func(b *gitBed) {
			b.copyEvil("repo/h/post-checkout")
			b.copyEvil("repo/h/pre-push")
			b.copyEvil("repo/h/reference-transaction")
			b.git("repo", "config", "core.hooksPath", "h")
		}, []string{"checkout", "-b", "x"}},
		{"hooksPath of an included file", func(b *gitBed) {
			b.copyEvil("repo/h/post-checkout")
			b.write("repo/more", "[core]\n\thooksPath = h\n")
			b.git("repo", "config", "include.path", "../more")
		}, []string{"checkout", "-b", "x"}},
		{"fsmonitor", func(b *gitBed) { b.git("repo", "config", "core.fsmonitor", b.evil) },
			[]string{"status"}},
		{"clean filter", func(b *gitBed) {
			b.git("repo", "config", "filter.x.clean", b.evil)
			b.write("repo/.gitattributes", "* filter=x\n")
			b.write("repo/a.txt", "2\n")
		}, []string{"add", "-A"}},
		{"process filter", func(b *gitBed) {
			b.git("repo", "config", "filter.x.process", b.evil)
			b.write("repo/.gitattributes", "* filter=x\n")
			b.write("repo/a.txt", "2\n")
		}, []string{"add", "-A"}},
		{"smudge filter", func(b *gitBed) {
			b.remote()
			b.fork()
			b.git("repo", "reset", "-q", "--hard", "HEAD~1")
			b.write("repo/.git/info/attributes", "* filter=x\n")
			b.git("repo", "config", "filter.x.smudge", b.evil)
		}, []string{"pull", "origin", "main"}},
		{"external diff", func(b *gitBed) { b.git("repo", "config", "diff.external", b.evil); b.write("repo/a.txt", "2\n") }, []string{"diff"}},
		{"diff command", func(b *gitBed) {
			b.git("repo", "config", "diff.x.command", b.evil)
			b.write("repo/.gitattributes", "* diff=x\n")
			b.write("repo/a.txt", "2\n")
		}, []string{"diff"}},
		{"textconv", func(b *gitBed) {
			b.git("repo", "config", "diff.x.textconv", b.evil)
			b.write("repo/.gitattributes", "* diff=x\n")
			b.write("repo/a.txt", "2\n")
		}, []string{"diff"}},
		{"merge driver", func(b *gitBed) {
			b.remote()
			b.fork()
			b.git("repo", "config", "merge.x.driver", b.evil)
			b.write("repo/.git/info/attributes", "* merge=x\n")
		}, []string{"pull", "origin", "main"}},
		{"gpg", func(b *gitBed) {
			b.git("repo", "config", "gpg.program", b.evil)
			b.git("repo", "config", "commit.gpgSign", "true")
			b.write("repo/a.txt", "2\n")
		}, []string{"commit", "-am", "m"}},
		{"sshCommand", func(b *gitBed) {
			b.git("repo", "config", "core.sshCommand", b.evil)
			b.git("repo", "remote", "add", "origin", "ssh://127.0.0.1:9/x")
		}, []string{"fetch"}},
		{"uploadpack", func(b *gitBed) { b.remote(); b.git("repo", "config", "remote.origin.uploadpack", b.evil) }, []string{"fetch"}},
		{"receivepack", func(b *gitBed) { b.remote(); b.git("repo", "config", "remote.origin.receivepack", b.evil) }, []string{"push"}},
		{"ext", func(b *gitBed) { b.git("repo", "remote", "add", "origin", "ext::"+b.evil) },
			[]string{"-c", "protocol.ext.allow=always", "fetch"}},
		{"insteadOf", func(b *gitBed) {
			b.git("repo", "remote", "add", "origin", "https://example.com/x")
			b.git("repo", "config", "url.ext::"+b.evil+" %S .insteadOf", "https://example.com/")
			b.git("repo", "config", "protocol.ext.allow", "always")
		}, []string{"fetch"}},
		{"hook of the remote", func(b *gitBed) {
			b.remote()
			b.copyEvil("remote.git/hooks/pre-receive")
			b.write("repo/a.txt", "2\n")
		}, []string{"push", "origin", "HEAD:x"}},
		{"alternate refs of the remote", func(b *gitBed) {
			b.remote()
			b.write("remote.git/objects/info/alternates", filepath.Join(b.repo, ".git/objects")+"\n")
			b.git("remote.git", "config", "core.alternateRefsCommand", b.evil)
			b.write("repo/a.txt", "2\n")
		}, []string{"push", "origin", "HEAD:x"}},
		{"lazy fetch", func(b *gitBed) {
			b.remote()
			b.git("repo", "config", "remote.origin.promisor", "true")
			b.git("repo", "config", "remote.origin.uploadpack", b.evil)
			b.git("repo", "config", "extensions.partialClone", "origin")
			id := strings.TrimSpace(b.git("repo", "rev-parse", "HEAD:a.txt"))
			if err := os.Remove(filepath.Join(b.repo, ".git/objects", id[:2], id[2:])); err != nil {
				b.t.Fatal(err)
			}
			b.write("repo/a.txt", "2\n")
		}, []string{"diff"}},
		{"filter of a submodule", func(b *gitBed) {
			b.git("repo", "init", "-q", "sub")
			b.write("repo/sub/s.txt", "1\n")
			b.git("repo/sub", "add", "-A")
			b.git("repo/sub", "commit", "-qm", "s")
			b.git("repo", "-c", "advice.addEmbeddedRepo=false", "add", "sub")
			b.git("repo", "commit", "-qm", "with sub")
			b.git("repo/sub", "config", "filter.x.clean", b.evil)
			b.write("repo/sub/.git/info/attributes", "* filter=x\n")
			b.write("repo/sub/s.txt", "2\n")
		}, []string{"add", "-A"}},
	}
	for i := 0; i < len(tests); i += needs.Step(4) {
		test := tests[i]
		t.Run(test.name, func(t *testing.T) {
			b := newGitBed(t)
			test.setup(b)
			os.Remove(b.mark)
			x := b.executor(Config{Network: true, Private: true})
			for _, a := range all {
				r, err := x.Execute(t.Context(), &Session{}, a)
				if b.ran() {
					text, _ := os.ReadFile(b.mark)
					t.Fatalf("%#v ran the program: %s%+v, %v", a, text, r, err)
				}
			}
			b = newGitBed(t)
			test.setup(b)
			os.Remove(b.mark)
			if out, err := b.try("repo", test.git...); !b.ran() {
				t.Errorf("git %v does not run the program either: %v\n%s", test.git, err, out)
			}
		})
	}
}

// hookLinks creates hooks that are links to a program in the workspace.
func (b *gitBed) hookLinks() {
	for _, hook := range []string{"pre-commit", "post-commit"} {
		if err := os.Symlink(filepath.Join(b.dir, "evil"), filepath.Join(b.repo, ".git/hooks", hook)); err != nil {
			b.t.Fatal(err)
		}
	}
}

// TestGitAsksNobody uses a server that requires a password. Git asks the user's own
// credential helper, and none that the repository configures.
func TestGitAsksNobody(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	for _, key := range []string{"credential.helper", "credential." + server.URL + ".helper",
		"core.askPass"} {
		b := newGitBed(t)
		t.Setenv("SSH_ASKPASS", b.evil)
		b.git("repo", "remote", "add", "origin", server.URL+"/x.git")
		b.git("repo", "config", key, b.evil)
		x := b.executor(Config{Network: true, Private: true})
		_, err := x.Execute(t.Context(), &Session{}, GitPull{Dir: "repo", Remote: "origin", Branch: "main"})
		if failed, ok := errors.AsType[*GitError](err); !ok || b.ran() ||
			!strings.Contains(failed.Words, "could not read Username") {
			t.Errorf("%s: ran %t, %v", key, b.ran(), err)
		}
		if b.try("repo", "fetch"); !b.ran() {
			t.Errorf("git itself does not ask %s", key)
		}
		os.Remove(b.mark)
		b.git("repo", "config", "--global", "credential.helper", b.evil)
		x.Execute(t.Context(), &Session{}, GitPull{Dir: "repo", Remote: "origin", Branch: "main"})
		if !b.ran() {
			t.Errorf("with %s in the repository, the user's own helper is not asked", key)
		}
	}
}

// TestGitAllowHooks lets a repository's hook and filter run.
func TestGitAllowHooks(t *testing.T) {
	b := newGitBed(t)
	b.copyEvil("repo/.git/hooks/pre-commit")
	b.write("repo/b", "1\n")
	_, err := b.executor(Config{AllowHooks: true}).Execute(t.Context(), &Session{},
		GitCommit{Dir: "repo", Message: "m"})
	if _, ok := errors.AsType[*GitError](err); !ok || !b.ran() {
		t.Errorf("with --allow-hooks the hook ran: %t; the commit: %v", b.ran(), err)
	}
	os.Remove(b.mark)
	r, err := b.executor(Config{}).Execute(t.Context(), &Session{}, GitCommit{Dir: "repo", Message: "m"})
	if err != nil || b.ran() || strings.Join(r.(Committed).NotRun, " ") != "pre-commit" {
		t.Errorf("without it the hook ran: %t; the commit: %+v, %v", b.ran(), r, err)
	}
}
