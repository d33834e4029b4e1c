//go:build unix

package skill

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestGitOutside checks that repositories that lead outside the workspace are refused.
func TestGitOutside(t *testing.T) {
	tests := []struct {
		name  string
		setup func(b *gitBed, outside string)
		says  string
	}{
		{"a repository above", func(b *gitBed, _ string) {
			b.git("..", "init", "-q")
			os.RemoveAll(filepath.Join(b.repo, ".git"))
		}, "holds the workspace, and lies outside it; start skill with --allow"},
		{"a gitdir file", func(b *gitBed, outside string) {
			os.RemoveAll(filepath.Join(b.repo, ".git"))
			b.write("repo/.git", "gitdir: "+outside+"/.git\n")
		}, "is outside the workspace"},
		{"a link", func(b *gitBed, outside string) {
			os.RemoveAll(filepath.Join(b.repo, ".git"))
			os.Symlink(outside+"/.git", filepath.Join(b.repo, ".git"))
		}, "is outside the workspace"},
		{"commondir", func(b *gitBed, outside string) { b.write("repo/.git/commondir", outside+"/.git\n") },
			"is outside the workspace"},
		{"alternates", func(b *gitBed, outside string) {
			b.write("repo/.git/objects/info/alternates", outside+"/.git/objects\n")
		}, "source of borrowed objects"},
		{"alternates of alternates", func(b *gitBed, outside string) {
			b.write("repo/.git/objects/info/alternates", "../../../store\n")
			b.write("store/info/alternates", outside+"/.git/objects\n")
		}, "source of borrowed objects"},
		{"core.worktree", func(b *gitBed, outside string) { b.git("repo", "config", "core.worktree", outside) }, "working tree"},
		{"objects", func(b *gitBed, outside string) {
			os.RemoveAll(filepath.Join(b.repo, ".git/objects"))
			os.Symlink(outside+"/.git/objects", filepath.Join(b.repo, ".git/objects"))
		}, "is outside the workspace"},
		{"a ref", func(b *gitBed, outside string) {
			os.Symlink(outside, filepath.Join(b.repo, ".git/refs/heads/out"))
		}, "is outside the workspace"},
		{"an include", func(b *gitBed, outside string) { b.git("repo", "config", "include.path", outside+"/c") }, "included configuration"},
		{"an include from home", func(b *gitBed, _ string) { b.git("repo", "config", "includeIf.gitdir:/.path", "~/c") }, "home folder"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newGitBed(t)
			outside := filepath.Join(filepath.Dir(b.dir), "outside")
			b.git("..", "init", "-q", outside)
			test.setup(b, outside)
			x := b.executor(Config{Network: true, Private: true})
			before := contents(t, outside)
			for _, a := range []Args{GitStatus{Dir: "repo"}, GitLog{Dir: "repo"}, GitDiff{Dir: "repo"},
				GitCommit{Dir: "repo", Message: "m"},
				GitBranch{Dir: "repo", Create: "x"}, GitPull{Dir: "repo", Remote: "origin"},
				GitPush{Dir: "repo", Remote: "origin"}} {
				if _, err := x.Execute(t.Context(), &Session{}, a); err == nil ||
					!strings.Contains(err.Error(), test.says) {
					t.Errorf("%#v: %v", a, err)
				}
			}
			if after := contents(t, outside); after != before {
				t.Errorf("outside has changed:\n%s\nwas\n%s", after, before)
			}
		})
	}
	t.Run("a pipe", func(t *testing.T) {
		b := newGitBed(t)
		if err := syscall.Mkfifo(filepath.Join(b.repo, ".git/refs/heads/pipe"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := b.executor(Config{}).Execute(t.Context(), &Session{}, GitBranch{Dir: "repo"}); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
			t.Errorf("%v", err)
		}
	})
	t.Run("PATH", func(t *testing.T) {
		b := newGitBed(t)
		b.copyEvil("repo/git")
		x := b.executor(Config{})
		t.Setenv("PATH", ".::"+os.Getenv("PATH"))
		if do[RepoStatus](t, x, GitStatus{Dir: "repo"}); b.ran() {
			t.Error("a program in the workspace was run as git")
		}
		t.Setenv("PATH", ".")
		_, err := x.Execute(t.Context(), &Session{}, GitStatus{Dir: "repo"})
		if _, missing := errors.AsType[*SpawnError](err); !missing || b.ran() {
			t.Errorf("%v", err)
		}
	})
	t.Run("the environment", func(t *testing.T) {
		b := newGitBed(t)
		outside := filepath.Join(filepath.Dir(b.dir), "outside")
		b.git("..", "init", "-q", outside)
		x := b.executor(Config{})
		t.Setenv("GIT_DIR", outside+"/.git")
		t.Setenv("GIT_WORK_TREE", outside)
		t.Setenv("GIT_INDEX_FILE", outside+"/index")
		t.Setenv("GIT_TRACE", outside+"/trace")
		t.Setenv("GIT_EXTERNAL_DIFF", b.evil)
		r, err := x.Execute(t.Context(), &Session{}, GitStatus{Dir: "repo"})
		if _, traced := os.Stat(outside + "/trace"); err != nil || r.(RepoStatus).Dir != b.repo ||
			traced == nil {
			t.Errorf("%+v, %v; traced: %v", r, err, traced)
		}
	})
}

// TestGitNeedsOutside says which folder git needs outside the workspace.
func TestGitNeedsOutside(t *testing.T) {
	b := newGitBed(t)
	b.git("repo", "commit", "-q", "--allow-empty", "-m", "first")
	b.git("repo", "worktree", "add", "-q", "../linked")
	b.write("repo/below/f", "x")
	b.write("false/.git", "gitdir: "+filepath.Join(b.dir, "repo/.git/worktrees/linked")+"\n")
	for dir, want := range map[string]string{"linked": "repo/.git", "repo/below": "repo", "repo": "",
		"false": ""} {
		x := newExecutor(t, Config{Dir: filepath.Join(b.dir, dir), NoSync: true})
		if want != "" {
			want = filepath.Join(b.dir, want)
		}
		for _, to := range []string{">&2; exit 128", ">&2", ""} {
			got, err := x.Execute(t.Context(), &Session{}, Exec{Command: "sh",
				Args: []string{"-c", "echo 'fatal: not a git repository (or any of the parent directories): .git'" + to}})
			if err != nil {
				t.Fatal(err)
			}
			hints := strings.Join(got.(Executed).Hints, "\n")
			if !strings.HasPrefix(hints, "git needs "+want+",") && hints != want {
				t.Errorf("%s: %q, want %s", dir, hints, want)
			}
		}
	}
}
