package git

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"textskill/skill/internal/words"
	"textskill/skill/internal/workspace"
)

// A Status lists what has changed in a repository.
type Status struct {
	Dir    string // root of the working tree
	Branch string // "" if HEAD is detached
	// what is not finished: "merge", "rebase", "am", "cherry-pick", "revert" or "bisect"; "" is nothing
	State         string
	Upstream      string // such as "origin/main"; "" if the branch has none
	UpstreamGone  bool   // there is no such branch any more
	Ahead, Behind int    // number of commits, relative to Upstream
	Files         []FileState
	Truncated     bool     // Files is incomplete
	NotRun        []string // what the repository configures and git did not run: "filter lfs"
}

// Message says how many files have changed.
func (r Status) Message() string {
	return words.Count(len(r.Files), "changed file", "changed files") + " in " + r.Dir
}

// A FileState is the state of a changed file, in git's letters: M modified, A added, D
// deleted, R renamed, C copied, T type changed, U unmerged, ? untracked.
type FileState struct {
	Path     string // relative to the working tree's root; an untracked directory ends in a slash
	From     string // its former path if it was renamed or copied, otherwise ""
	Index    string // staged change against the last commit; "" for none
	Worktree string // unstaged change against the index; "" for none
	Unmerged bool   // a merge left it in conflict
}

// Status lists the files that differ from the last commit in the repository that
// contains dir, without the records of experts' runs. It changes nothing, not even the index.
func (x *Git) Status(ctx context.Context, base, dir string) (Status, error) {
	r, err := x.openRepository(ctx, base, dir, false)
	if err != nil {
		return Status{}, err
	}
	defer r.close()
	e, err := r.git(ctx, command{maxOutput: maxListing, patterns: true,
		args: []string{"status", "--porcelain=v2", "--branch", "-z",
			"--untracked-files=normal", "--ignore-submodules=dirty", "--renames", "--", everything,
			notRecords}})
	if err != nil {
		return Status{}, err
	}
	st := Status{Dir: r.top, State: r.state(), NotRun: r.notRun()}
	parts, cut := splitNUL(e)
	st.Truncated = cut
	for i := 0; i < len(parts); i++ {
		head, ok := strings.CutPrefix(parts[i], "# ")
		if ok {
			st.branch(head)
			continue
		}
		f, renamed := fileState(parts[i])
		if renamed && i+1 < len(parts) {
			i++
			f.From = parts[i]
		}
		if !slices.ContainsFunc(strings.Split(f.Path, "/"), workspace.Hidden) {
			st.Files = append(st.Files, f)
		}
	}
	return st, nil
}

// branch parses a header line of porcelain v2.
func (r *Status) branch(line string) {
	what, value, _ := strings.Cut(line, " ")
	switch what {
	case "branch.head":
		if value != "(detached)" {
			r.Branch = value
		}
	case "branch.upstream":
		r.Upstream, r.UpstreamGone = value, true
	case "branch.ab":
		r.UpstreamGone = false
		ahead, behind, _ := strings.Cut(value, " ")
		r.Ahead, _ = strconv.Atoi(strings.TrimPrefix(ahead, "+"))
		r.Behind, _ = strconv.Atoi(strings.TrimPrefix(behind, "-"))
	}
}

// fileState parses an entry of porcelain v2. If renamed, the next entry is the former
// path.
func fileState(entry string) (f FileState, renamed bool) {
	before := map[byte]int{'1': 8, '2': 9, 'u': 10, '?': 1, '!': 1}[entry[0]] // fields before the path
	parts := strings.SplitN(entry, " ", before+1)
	f.Path = parts[len(parts)-1]
	if before == 1 {
		f.Index, f.Worktree = entry[:1], entry[:1]
		return f, false
	}
	state := strings.ReplaceAll(parts[1], ".", " ")
	f.Index, f.Worktree = strings.TrimSpace(state[:1]), strings.TrimSpace(state[1:])
	f.Unmerged = entry[0] == 'u'
	return f, entry[0] == '2'
}
