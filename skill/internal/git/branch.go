package git

import (
	"context"
	"fmt"
	"strings"

	"textskill/skill/internal/refusal"
	"textskill/skill/internal/words"
)

// A BranchChange creates a branch, or deletes one, or does neither.
type BranchChange struct {
	Dir    string // any directory of the repository
	Create string // branch to create at HEAD and check out; "" for none
	Delete string // branch to delete if Create is ""; "" for none
	Force  bool   // delete the branch even if it is not fully merged
}

// Branches is the list of a repository's branches, or the branch that was created or
// deleted.
type Branches struct {
	Names            []string // local branches, then remotes/…
	Current          string   // "" if HEAD is detached or the branch has no commit
	Created, Deleted string
	Output           string // git's output when it created or deleted a branch
	Truncated        bool   // Names is incomplete
}

// Message says which branch was created or deleted, or how many branches there are.
func (b Branches) Message() string {
	switch {
	case b.Created != "":
		return "Created branch " + b.Created
	case b.Deleted != "":
		return "Deleted branch " + b.Deleted
	}
	return words.Count(len(b.Names), "branch", "branches")
}

// Branch lists the branches of a repository, creates one or deletes one.
func (x *Git) Branch(ctx context.Context, base string, a BranchChange) (b Branches, err error) {
	changes := a.Create != "" || a.Delete != ""
	if changes {
		if err := x.process.CheckAllowed("changing a git branch"); err != nil {
			return b, err
		}
	}
	for _, given := range [][2]string{{"create", a.Create}, {"delete", a.Delete}} {
		if err := checkBranch(given[0], given[1]); err != nil {
			return b, err
		}
	}
	r, err := x.openRepository(ctx, base, a.Dir, changes)
	if err != nil {
		return b, err
	}
	defer r.close()
	switch {
	case a.Create != "":
		e, err := r.git(ctx, command{args: []string{"checkout", "--quiet", "--no-track",
			"--no-recurse-submodules", "-b", a.Create, "--"}})
		return Branches{Created: a.Create, Output: output(e)}, err
	case a.Delete != "":
		return r.deleteBranch(ctx, a)
	}
	return r.branches(ctx)
}

func (r *repository) deleteBranch(ctx context.Context, a BranchChange) (Branches, error) {
	flag := "-d"
	if a.Force {
		flag = "-D"
	}
	e, err := r.git(ctx, command{args: []string{"branch", flag, "--end-of-options", a.Delete}})
	if failed, ok := err.(*Error); ok && strings.Contains(failed.Words, "not fully merged") {
		failed.Words, _, _ = strings.Cut(failed.Words, "\n")
		failed.Hint = "force: true deletes it with its commits"
	}
	return Branches{Deleted: a.Delete, Output: output(e)}, err
}

func (r *repository) branches(ctx context.Context) (b Branches, err error) {
	e, err := r.git(ctx, command{maxOutput: maxListing, args: []string{"for-each-ref",
		"--format=%(HEAD)%(refname)%00%(symref)%00", "refs/heads", "refs/remotes"}})
	if err != nil {
		return b, err
	}
	parts, cut := splitNUL(e)
	b.Truncated = cut
	for i := 0; i+1 < len(parts); i += 2 {
		ref := strings.TrimPrefix(parts[i], "\n")
		name := shortRef(ref[1:])
		if ref[0] == '*' {
			b.Current = name
		}
		if to := parts[i+1]; to != "" {
			name += " -> " + strings.TrimPrefix(shortRef(to), "remotes/")
		}
		b.Names = append(b.Names, name)
	}
	return b, nil
}

// shortRef returns the name by which git lists a branch: main, remotes/origin/main.
func shortRef(ref string) string {
	if name, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
		return name
	}
	return strings.TrimPrefix(ref, "refs/")
}

// checkBranch refuses a name that git would read as something else than one branch: an
// option, an earlier branch, a forced update, a pair of names.
func checkBranch(arg, name string) error {
	if strings.HasPrefix(name, "-") || strings.HasPrefix(name, "+") || strings.Contains(name, "@{") ||
		strings.ContainsAny(name, ":^~*?[\\") {
		return &refusal.ArgError{Arg: arg, Reason: fmt.Sprintf("%q is not the name of a branch", name)}
	}
	return nil
}
