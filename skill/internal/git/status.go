package git

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"textskill/skill/internal/words"
	"textskill/skill/internal/workspace"
)

// A Status is what has changed in a repository.
type Status struct {
	Dir           string // the top of the working tree
	Branch        string // "" where none is checked out
	Upstream      string // what the branch follows: "origin/main"; "" where it follows nothing
	Ahead, Behind int    // commits, against Upstream
	Files         []FileState
	Truncated     bool     // there are more files
	NotRun        []string // what the repository names and is not run: "filter lfs"
}

// Message says how many files have changed.
func (r Status) Message() string {
	return words.Count(len(r.Files), "changed file", "changed files") + " in " + r.Dir
}

// A FileState is a file that has changed, in git's letters: M modified, A added, D
// deleted, R renamed, C copied, T of another type, U in conflict, ? unknown to git.
type FileState struct {
	Path     string // from the top of the repository; a folder of which nothing is known ends in a slash
	From     string // its name before; "" where it had none
	Index    string // what was staged, against the last commit; "" for nothing
	Worktree string // what was not, against the index; "" for nothing
}

// Status finds out which files of the repository that holds dir differ from its last
// commit. It changes nothing, the index neither.
func (x *Git) Status(ctx context.Context, base, dir string) (Status, error) {
	r, err := x.openRepository(ctx, base, dir, false)
	if err != nil {
		return Status{}, err
	}
	defer r.dir.Close()
	e, err := r.git(ctx, command{maxOutput: listing, args: []string{"status", "--porcelain=v2", "--branch", "-z",
		"--untracked-files=normal", "--ignore-submodules=dirty", "--renames"}})
	if err != nil {
		return Status{}, err
	}
	st := Status{Dir: r.top, NotRun: r.notRun()}
	parts, cut := fields(e)
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

// branch reads a line about the branch.
func (r *Status) branch(line string) {
	what, value, _ := strings.Cut(line, " ")
	switch what {
	case "branch.head":
		if value != "(detached)" {
			r.Branch = value
		}
	case "branch.upstream":
		r.Upstream = value
	case "branch.ab":
		ahead, behind, _ := strings.Cut(value, " ")
		r.Ahead, _ = strconv.Atoi(strings.TrimPrefix(ahead, "+"))
		r.Behind, _ = strconv.Atoi(strings.TrimPrefix(behind, "-"))
	}
}

// fileState reads an entry of porcelain v2. The old name of a renamed file comes
// after it.
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
	return f, entry[0] == '2'
}
