//go:build linux || darwin

package skill

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRunRecords keeps the records of experts' runs out of searches, of git and of what
// commands change, unless they are named.
func TestRunRecords(t *testing.T) {
	b := newGitBed(t)
	b.write("repo/perstack/runs/r/event.json", "needle")
	b.write("repo/perstack/notes", "needle")
	b.write("repo/sub/runs/f", "needle")
	x := newExecutor(t, Config{Dir: b.repo, NoSync: true})
	for _, tt := range []struct {
		args Args
		want string
	}{
		{Grep{Path: ".", Pattern: "needle"}, "perstack/notes sub/runs/f"},
		{Grep{Path: "perstack", Pattern: "needle"}, "perstack/notes"},
		{Grep{Path: "perstack/runs", Pattern: "needle"}, "perstack/runs/r/event.json"},
	} {
		var names []string
		for _, m := range do[Grepped](t, x, tt.args).Matches {
			names = append(names, strings.TrimPrefix(m.File, b.repo+"/"))
		}
		if got := strings.Join(names, " "); got != tt.want {
			t.Errorf("%+v finds %s, want %s", tt.args, got, tt.want)
		}
	}
	for path, want := range map[string]string{".": "perstack/notes", "perstack": "notes",
		"perstack/runs": "r/event.json"} {
		for _, ignored := range []bool{false, true} {
			if got := shownTree(do[TreeListed](t, x,
				ListTree{Path: path, Depth: 9, SkipIgnored: ignored}).Tree, ""); !strings.Contains(got, want) || strings.Contains(got, "event.json") != (path == "perstack/runs") {
				t.Errorf("the tree of %s is %s", path, got)
			}
		}
	}
	var changed []string
	for _, f := range do[RepoStatus](t, x, GitStatus{}).Files {
		changed = append(changed, f.Path)
	}
	if got := strings.Join(changed, " "); got != "perstack/ sub/" {
		t.Errorf("the status lists %s", got)
	}
	do[Committed](t, x, GitCommit{Message: "all"})
	if got := strings.TrimSpace(b.git("repo", "ls-files", "perstack")); got != "perstack/notes" {
		t.Errorf("committed: %s", got)
	}
	if c := do[Committed](t, x, GitCommit{Message: "nothing is left"}); !c.Nothing {
		t.Errorf("committed: %+v", c)
	}
	do[Committed](t, x, GitCommit{Message: "named", Files: []string{"perstack/runs/r/event.json"}})
	if got := strings.TrimSpace(b.git("repo", "ls-files", "perstack/runs")); got != "perstack/runs/r/event.json" {
		t.Errorf("committed when named: %s", got)
	}
	shell(t, x, "echo more >> perstack/runs/r/event.json; echo more >> sub/runs/f")
	history := do[Changes](t, x, History{}).List
	if got := history[0].Paths; len(got) != 1 || got[0] != filepath.Join(b.repo, "sub/runs/f") {
		t.Errorf("the command changed %s", got)
	}
	if data, err := os.ReadFile(filepath.Join(b.repo, "perstack/runs/r/event.json")); err != nil ||
		string(data) != "needlemore\n" {
		t.Errorf("the record holds %q, %v", data, err)
	}
}

// shownTree returns the paths of a tree, each with a space in front.
func shownTree(t *Tree, in string) (text string) {
	for _, e := range t.Entries {
		text += " " + in + e.Name + shownTree(e, in+e.Name+"/")
	}
	return text
}
