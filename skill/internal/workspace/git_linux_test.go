package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"textskill/skill/internal/workspace/tree"
	"textskill/testdata/needs"
)

// shell runs a command in the workspace, with git's settings of this test only.
func (s *site) shell(t testing.TB, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "HOME="+s.base, "GIT_CONFIG_NOSYSTEM=1", "GIT_EDITOR=true",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@example.org",
		"GIT_AUTHOR_DATE=2001-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2001-01-01T00:00:00Z")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// gitWalk is walk of a workspace in which git ignores some names.
func (s *site) gitWalk(ignored ...string) Walker {
	return func(_ context.Context, visit func(int, Visited) error) error {
		return filepath.WalkDir(s.dir, func(p string, d fs.DirEntry, err error) error {
			rel, _ := filepath.Rel(s.dir, p)
			if errors.Is(err, fs.ErrPermission) {
				return nil
			}
			if err != nil || rel == "." {
				return err
			}
			folder := filepath.Dir(rel)
			if folder == "." {
				folder = ""
			}
			file := statFunc(func() (Info, error) {
				info, err := d.Info()
				if err != nil {
					return Info{}, err
				}
				return tree.InfoOf(info), nil
			})
			return visit(0, Visited{Folder: folder, Name: []byte(d.Name()),
				Ignored: slices.Contains(ignored, rel), File: file})
		})
	}
}

// ran runs a shell command as a command of the workspace.
func (s *site) ran(t testing.TB, w *Workspace, script string) (Change, []Untracked) {
	t.Helper()
	c, err := w.Begin(bg, script, 64<<20, s.gitWalk(".env", "data", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	s.shell(t, script)
	change, left, err := c.End(bg)
	if err != nil {
		t.Fatal(err)
	}
	return change, left
}

// repository describes the repository by git's output and by its files.
func (s *site) repository(t testing.TB) string {
	t.Helper()
	return s.shell(t, `export GIT_OPTIONAL_LOCKS=0
git status --porcelain=v1 -b --ignored | grep -v node_modules
git log -g --format='%H %gs' || true
git for-each-ref; git symbolic-ref -q HEAD || git rev-parse HEAD; git stash list; git diff; git diff --cached
git log --format='%H %s'
cat .git/MERGE_HEAD .git/CHERRY_PICK_HEAD 2>/dev/null || true; test -d .git/rebase-merge && echo rebasing
find . -path ./.git -prune -o -path ./node_modules -prune -o -print | sort
find . -path ./.git -prune -o -path ./node_modules -prune -o -type f -print | sort | xargs grep -H ''
true`)
}

// healthy fails the test if git finds an error in the repository.
func (s *site) healthy(t testing.TB) {
	t.Helper()
	if out := s.shell(t, "git fsck --no-dangling 2>&1"); strings.Contains(out, "error") ||
		strings.Contains(out, "missing") {
		t.Errorf("git fsck: %s", out)
	}
}

func (s *site) makeRepository(t testing.TB) {
	t.Helper()
	s.shell(t, `git init -q -b main .
printf '.env\ndata/\nnode_modules/\n' >.gitignore
printf 'one\ntwo\n' >f; mkdir d; echo g >d/g; git add .; git commit -qm first
git checkout -q -b topic; echo topic >topic; git add .; git commit -qm topic
git checkout -q -b other main; echo other >f; git commit -qam other
git checkout -q main; echo three >>f; git commit -qam second
git tag light; git tag -a heavy -m heavy
echo SECRET=1 >.env; mkdir data node_modules; echo rows >data/rows; echo m >node_modules/m; echo new >untracked`)
}

// Undo and redo of a command include its changes in .git.
func TestUndoOfGit(t *testing.T) {
	needs.InMemory(t)
	needs.Program(t, "git", "sh")
	for _, test := range []struct {
		name, before, script, named string
		config                      bool
	}{
		{name: "commit", before: "echo more >>f", script: "git commit -qam third"},
		{name: "commit all", script: "git add -A; git commit -qm third"},
		{name: "amend", script: "git commit -q --amend -m changed"},
		{name: "add", script: "git add untracked"},
		{name: "rm", script: "git rm -q f"},
		{name: "mv", script: "git mv f h"},
		{name: "reset", before: "echo more >>f", script: "git reset -q --hard HEAD~1"},
		{name: "soft reset", script: "git reset -q --soft HEAD~1"},
		{name: "rebase", script: "git checkout -q topic; git rebase -q main"},
		{name: "rebase that stops", script: "git rebase -q other || true"},
		{name: "merge", script: "git merge -q -m merged topic"},
		{name: "merge that stops", script: "git merge -q other || true"},
		{name: "cherry-pick", script: "git cherry-pick topic"},
		{name: "branch -D", script: "git branch -q -D topic"},
		{name: "branch -D in packed refs", before: "git pack-refs --all", script: "git branch -q -D topic"},
		{name: "branch", script: "git branch fresh; git branch deep/er/name"},
		{name: "checkout", script: "git checkout -q -b fresh topic"},
		{name: "detached", script: "git checkout -q --detach HEAD~1"},
		{name: "tag -d", script: "git tag -d light heavy"},
		{name: "pack-refs", script: "git pack-refs --all --prune"},
		{name: "stash", before: "echo more >>f", script: "git stash -q -u"},
		{name: "stash pop", before: "echo more >>f; git stash -q", script: "git stash pop -q"},
		{name: "clean", script: "git clean -qfdx", named: "node_modules"},
		{name: "rm of refs", script: "rm -rf .git/refs"},
		{name: "rm of refs and packed refs", before: "git pack-refs --all",
			script: "rm -rf .git/refs .git/packed-refs"},
		{name: "rm of HEAD and index", script: "rm .git/HEAD .git/index"},
		{name: "rm of logs", script: "rm -rf .git/logs"},
		{name: "gc", script: "git gc -q"},
		{name: "gc after a reset", before: "git config gc.auto 0",
			script: "git reset -q --hard HEAD~1; git gc -q"},
		{name: "prune after branch -D", script: "git branch -q -D topic; git reflog expire --expire=now --all; git prune --expire=now"},
		{name: "gc of packed commits", before: "git gc -q", script: `git branch -q -D topic
git reflog expire --expire=now --all; git gc -q --prune=now`},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newSite(t, false)
			s.makeRepository(t)
			s.shell(t, test.before+"\ntrue")
			w := s.open(Options{NoSync: true, AllowConfig: test.config})
			first := s.repository(t)
			change, left := s.ran(t, w, test.script)
			if change.ID == "" {
				t.Fatalf("nothing recorded; left %v", left)
			}
			named := slices.ContainsFunc(left,
				func(l Untracked) bool { return strings.Contains(l.Path, test.named) })
			if test.named != "" && !named || test.named == "" && len(left) > 0 {
				t.Errorf("left are %v; want %q", left, test.named)
			}
			var last string
			broken := strings.HasPrefix(test.name, "rm of ") // what git cannot read
			if !broken {
				last = s.repository(t)
			}
			id := change.ID
			for round, want := range []string{first, last, first} {
				done, err := w.Undo(bg, UndoOptions{ID: id})
				if err != nil {
					t.Fatalf("undo %d: %v", round, err)
				}
				id = done[0].ID
				if broken && round == 1 {
					continue
				}
				if got := s.repository(t); got != want {
					t.Fatalf("undo %d:\n%s", round, lineDifference(got, want))
				}
				s.healthy(t)
			}
		})
	}
}

// lineDifference lists the lines of one text that are not in the other.
func lineDifference(got, want string) string {
	var b strings.Builder
	for line := range strings.Lines(got) {
		if !strings.Contains(want, line) {
			b.WriteString("+ " + line)
		}
	}
	for line := range strings.Lines(want) {
		if !strings.Contains(got, line) {
			b.WriteString("- " + line)
		}
	}
	if b.Len() == 0 {
		return "other order:\n" + got + "\nwant\n" + want
	}
	return b.String()
}

// If the repository has newer commits, undo is a conflict that names the ref, and changes nothing.
func TestUndoOfGitThatMovedOn(t *testing.T) {
	needs.InMemory(t)
	needs.Program(t, "git", "sh")
	for name, script := range map[string]string{
		"a commit":           "echo later >>f; git commit -qam later",
		"an amended commit":  "git commit -q --amend -m other",
		"a reset":            "git reset -q --hard HEAD~2",
		"a branch elsewhere": "git update-ref refs/heads/main topic",
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, false)
			s.makeRepository(t)
			w := s.open(Options{NoSync: true})
			change, _ := s.ran(t, w, "echo third >>f; git commit -qam third")
			s.shell(t, script)
			before := s.repository(t)
			_, err := w.Undo(bg, UndoOptions{ID: change.ID})
			no, ok := errors.AsType[*UndoError](err)
			if !ok || !strings.Contains(no.Error(), "refs/heads/main") {
				t.Errorf("%v", err)
			}
			if got := s.repository(t); got != before {
				t.Errorf("changed:\n%s", lineDifference(got, before))
			}
		})
	}
}

// A command that only reads records nothing, even if git rewrites its index.
func TestGitStatusRecordsNothing(t *testing.T) {
	needs.Program(t, "git", "sh")
	s := newSite(t, false)
	s.makeRepository(t)
	w := s.open(Options{NoSync: true})
	for _, script := range []string{"git status", "touch f; git status", "git diff", "git log", "git fsck",
		"git stash list", "git branch -a"} {
		before, err := listed(w.History(bg))
		if err != nil {
			t.Fatal(err)
		}
		change, left := s.ran(t, w, script)
		after, err := listed(w.History(bg))
		if err != nil || change.ID != "" || len(left) > 0 || len(after) != len(before) {
			t.Errorf("%s: %+v, %v, %d entries, then %d, %v", script, change, left, len(before),
				len(after), err)
		}
	}
}

// An undo does not wait for git: a lock file of git is a conflict that names the file.
func TestUndoWhileGitHoldsALock(t *testing.T) {
	needs.Program(t, "git", "sh")
	s := newSite(t, false)
	s.makeRepository(t)
	w := s.open(Options{NoSync: true})
	change, _ := s.ran(t, w, "git commit -q --allow-empty -m third")
	s.put(s.p(".git/index.lock"), "")
	s.put(s.p(".git/refs/heads/main.lock"), "")
	before := s.repository(t)
	_, err := w.Undo(bg, UndoOptions{ID: change.ID})
	if no, ok := errors.AsType[*UndoError](err); !ok || !strings.Contains(no.Error(), ".lock") {
		t.Errorf("%v", err)
	}
	if got := s.repository(t); got != before {
		t.Errorf("changed:\n%s", lineDifference(got, before))
	}
	for _, name := range []string{".git/index.lock", ".git/refs/heads/main.lock"} {
		os.Remove(s.p(name))
	}
	if _, err := w.Undo(bg, UndoOptions{ID: change.ID}); err != nil {
		t.Error(err)
	}
	locks, _ := filepath.Glob(s.p(".git/*.lock"))
	if len(locks) > 0 {
		t.Errorf("left: %q", locks)
	}
}

// An undo by a tool does not write files that make programs run code; an undo by a person does.
func TestUndoOfGitConfig(t *testing.T) {
	needs.Program(t, "git", "sh")
	s := newSite(t, false)
	s.makeRepository(t)
	w := s.open(Options{NoSync: true})
	config, err := os.ReadFile(s.p(".git/config"))
	if err != nil {
		t.Fatal(err)
	}
	change, left := s.ran(t, w,
		"git config core.pager less; echo x >f; printf '#!/bin/sh\n' >.git/hooks/pre-commit")
	if len(left) == 0 {
		t.Error("the answer names nothing that a tool's undo leaves")
	}
	if _, err := w.Undo(bg, UndoOptions{ID: change.ID}); err == nil ||
		!strings.Contains(err.Error(), "--allow-config") {
		t.Errorf("%v", err)
	}
	person := s.open(Options{NoSync: true, AllowConfig: true})
	if _, err := person.Undo(bg, UndoOptions{ID: change.ID}); err != nil {
		t.Fatal(err)
	}
	s.has(".git/config", string(config))
	s.lacks(".git/hooks/pre-commit")
}

// The undo of git init takes the objects too, which no change names. Only a person makes the repository again:
// its hooks and settings run programs.
func TestUndoOfGitInit(t *testing.T) {
	needs.Program(t, "git", "sh")
	s := newSite(t, false)
	w := s.open(Options{NoSync: true, AllowConfig: true})
	change, _ := s.ran(t, w, "git init -q sub; cd sub; echo x >x; git add x; git commit -qm sub")
	done, err := w.Undo(bg, UndoOptions{ID: change.ID})
	if err != nil {
		t.Fatal(err)
	}
	s.lacks("sub")
	if len(done[0].Stays) > 0 || done[0].More < 10 {
		t.Errorf("%q stay, and %d files more were undone", done[0].Stays, done[0].More)
	}
	tool := s.open(Options{NoSync: true})
	if _, err := tool.Undo(bg, UndoOptions{ID: done[0].ID}); err == nil || !strings.Contains(err.Error(), "--allow-config") {
		t.Errorf("%v", err)
	}
	redone, err := w.Undo(bg, UndoOptions{ID: done[0].ID})
	if err != nil {
		t.Fatal(err)
	}
	if out := s.shell(t, "cd sub; git status --porcelain; git log --format=%s; git fsck"); out != "sub\n" {
		t.Errorf("made again: %q, %v", out, redone)
	}
}

// The undo of a removed repository brings back its objects, of all kinds, and making the removal again removes them.
func TestUndoOfRemovedRepository(t *testing.T) {
	needs.Program(t, "git", "sh")
	const look = `git -C sub fsck --no-dangling; git -C sub log --all --format=%s; git -C sub status --short
git -C sub/deep/module log --format=%s; find sub -type f -path '*/objects/*' ! -path '*/info/*' | sort
find sub -path '*/lfs/*' | sort`
	for _, script := range []string{"rm -rf sub", "rm -rf sub/.git", "rm -rf sub/.git/objects",
		"find sub -name '*.pack' -delete -o -name '??????*' -path '*/objects/??/*' -delete"} {
		t.Run(script, func(t *testing.T) {
			s := newSite(t, false)
			s.shell(t, `git init -q -b main sub; cd sub; echo one >f; git add f; git commit -qm packed; git gc -q
git init -q -b main ../other; cd ../other; git commit -q --allow-empty -m module; cd ../sub
git -c protocol.file.allow=always submodule --quiet add ../other deep/module
git commit -qm loose; git branch topic; rm -rf ../other
sum=$(printf large | sha256sum | cut -c1-64); dir=.git/lfs/objects/$(echo $sum | cut -c1-2)/$(echo $sum | cut -c3-4)
mkdir -p $dir; printf large >$dir/$sum`)
			w := s.open(Options{NoSync: true, AllowConfig: true})
			s.ran(t, w, "true")
			first := s.shell(t, look)
			change, left := s.ran(t, w, script)
			for _, l := range left {
				if strings.HasSuffix(l.Path, "objects") {
					t.Errorf("left: %v", l)
				}
			}
			gone := s.shell(t, "find . -path '*objects*' -o -name sub -o -name .git")
			for round := range 2 {
				done, err := w.Undo(bg, UndoOptions{})
				if err != nil || round == 0 && done[0].Of != change.ID {
					t.Fatalf("undo %d: %v, %v", round, done, err)
				}
				if got := s.shell(t, look); got != first {
					t.Errorf("undo %d:\n%s", round, lineDifference(got, first))
				}
				if round > 0 || script != "rm -rf sub" && script != "rm -rf sub/.git" {
					break
				}
				again, err := w.Undo(bg, UndoOptions{ID: done[0].ID})
				if err != nil {
					t.Fatalf("again: %v", err)
				}
				if now := s.shell(t, "find . -path '*objects*' -o -name sub -o -name .git"); now != gone {
					t.Errorf("removed again:\n%s\n%v", lineDifference(now, gone), again[0].Stays)
				}
				change.ID = again[0].ID
			}
		})
	}
}

// An object that is damaged in the history is not brought back.
func TestUndoOfDamagedObject(t *testing.T) {
	needs.Program(t, "git", "sh")
	s := newSite(t, false)
	s.makeRepository(t)
	w := s.open(Options{NoSync: true})
	change, _ := s.ran(t, w, "git branch -q -D topic; git reflog expire --expire=now --all; git prune --expire=now")
	kept, err := filepath.Glob(s.history() + "/blobs/git.*/objects/??/*")
	if err != nil || len(kept) == 0 {
		t.Fatalf("%q, %v", kept, err)
	}
	for _, name := range kept {
		if err := os.Chmod(name, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := s.shell(t, "find .git/objects -type f | sort")
	w.Undo(bg, UndoOptions{ID: change.ID, Force: true})
	if got := s.shell(t, "find .git/objects -type f | sort"); got != before {
		t.Errorf("damaged objects came back:\n%s", lineDifference(got, before))
	}
}

// An undo does not set a ref to a missing commit.
func TestUndoOfGitWithoutObjects(t *testing.T) {
	needs.Program(t, "git", "sh")
	s := newSite(t, false)
	s.makeRepository(t)
	w := s.open(Options{NoSync: true})
	change, _ := s.ran(t, w, "git branch -q -D topic")
	s.shell(t, "git reflog expire --expire=now --all; git gc -q --prune=now")
	before := s.repository(t)
	_, err := w.Undo(bg, UndoOptions{ID: change.ID})
	if no, ok := errors.AsType[*UndoError](err); !ok || !strings.Contains(no.Error(), "refs") {
		t.Errorf("%v", err)
	}
	if got := s.repository(t); got != before {
		t.Errorf("changed:\n%s", lineDifference(got, before))
	}
	s.healthy(t)
}
