package workspace

import (
	"path/filepath"
	"slices"
	"testing"

	"textskill/testdata/needs"
)

// inside describes the worktree wt and the submodule lib of a repository.
func (s *site) inside(t testing.TB) string {
	t.Helper()
	text := s.repository(t)
	for _, dir := range []string{"wt", "lib/deep"} {
		text += s.shell(t, `export GIT_OPTIONAL_LOCKS=0; cd `+dir+` 2>/dev/null || exit 0; pwd
git status --porcelain=v1 -b; git log -g --format='%H %gs'; git for-each-ref
git symbolic-ref -q HEAD || git rev-parse HEAD; git diff; git diff --cached; git log --format='%H %s'`)
	}
	return text
}

// A plain undo takes back a command in a linked worktree or a submodule, and git finds nothing to say.
func TestUndoOfGitInside(t *testing.T) {
	needs.Program(t, "git", "sh")
	for _, test := range []struct{ name, script string }{
		{"commit in a worktree", "cd wt; echo 2 >>f; git commit -qam 2"},
		{"switch -c in a worktree", "git -C wt switch -q -c fresh"},
		{"reset in a worktree", "git -C wt reset -q --hard HEAD~1"},
		{"worktree remove", "git worktree remove --force wt"},
		{"worktree move", "git worktree move wt wt2"},
		{"worktree add", "git worktree add -q wt3 -b third"},
		{"commit in a submodule", "cd lib/deep; echo 2 >>sub; git commit -qam 2"},
		{"commits in a submodule and above", "cd lib/deep; echo 2 >>sub; git commit -qam 2; cd ../..; git commit -qam lib"},
		{"checkout -b in a submodule", "git -C lib/deep checkout -q -b fresh"},
		{"submodule update --remote", "git -c protocol.file.allow=always submodule --quiet update --remote"},
		{"branch like a log", "git -C lib/deep branch logs/objects; git branch x/logs/y"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newSite(t, false)
			s.makeRepository(t)
			s.shell(t, `git init -q -b main ../lib; cd ../lib; echo 1 >sub; git add .; git commit -qm sub; echo 2 >sub; git commit -qam two
git checkout -q --detach; git branch -q -f main HEAD~1; cd `+s.dir+`
git -c protocol.file.allow=always submodule --quiet add -b main ../lib lib/deep; git commit -qm lib
git -C ../lib branch -q -f main HEAD
git worktree add -q wt -b side; cd wt; echo 1 >>f; git commit -qam 1`)
			w := s.open(Options{NoSync: true, AllowConfig: true})
			first := s.inside(t)
			change, left := s.ran(t, w, test.script)
			other := slices.ContainsFunc(left, func(l Untracked) bool { return filepath.Base(l.Path) != ".gitmodules" })
			if change.ID == "" || other {
				t.Errorf("recorded %+v, left %v", change, left)
			}
			last := s.inside(t)
			var o UndoOptions
			for round, want := range []string{first, last, first} {
				done, err := w.Undo(bg, o)
				if err != nil {
					t.Fatalf("undo %d: %v", round, err)
				}
				if got := s.inside(t); got != want {
					t.Fatalf("undo %d:\n%s", round, lineDifference(got, want))
				}
				s.healthy(t)
				o.ID = done[0].ID
			}
		})
	}
}

// A ref that git packed since is the same ref.
func TestUndoOfGitThatWasPacked(t *testing.T) {
	needs.Program(t, "git", "sh")
	for _, test := range []struct{ name, before, script string }{
		{"commit", "", "echo more >>f; git commit -qam third"},
		{"commit on a packed branch", "git pack-refs --all", "echo more >>f; git commit -qam third"},
		{"two commits on a packed branch", "git pack-refs --all",
			"echo more >>f; git commit -qam third; echo more >>f; git commit -qam fourth"},
		{"branch", "", "git branch fresh"},
		{"switch -c and commit", "git pack-refs --all", "git switch -q -c fresh; echo more >>f; git commit -qam third"},
		{"reset", "", "git reset -q --hard HEAD~1"},
		{"tag", "", "git tag fresh"},
		{"rename", "", "git branch -m topic fresh"},
	} {
		for _, pack := range []string{"git pack-refs --all", "git -c gc.reflogExpire=never -c gc.reflogExpireUnreachable=never gc -q"} {
			t.Run(test.name+", "+pack, func(t *testing.T) {
				s := newSite(t, false)
				s.makeRepository(t)
				s.shell(t, test.before+"\ntrue")
				w := s.open(Options{NoSync: true, AllowConfig: true})
				first := s.repository(t)
				change, _ := s.ran(t, w, test.script)
				s.shell(t, pack)
				if _, err := w.Undo(bg, UndoOptions{ID: change.ID}); err != nil {
					t.Fatal(err)
				}
				if got := s.repository(t); got != first {
					t.Fatalf("undo:\n%s", lineDifference(got, first))
				}
				s.healthy(t)
				s.shell(t, pack)
				if _, err := w.Undo(bg, UndoOptions{}); err == nil {
					t.Error("a second undo took something")
				}
			})
		}
	}
}
