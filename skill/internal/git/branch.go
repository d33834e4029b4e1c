package git

import (
	"context"
	"fmt"
	"strings"
	"textskill/skill/internal/refusal"
	"textskill/skill/internal/words"
)

// A BranchChange says which branch is made or deleted, if any.
type BranchChange struct {
	Dir    string // in the repository
	Create string // the name of a branch to make at the commit checked out, and to check out; "" for none
	Delete string // the name of a branch to delete, if none is made; "" for none
	Force  bool   // delete it even if it holds commits that are nowhere else
}

// Branches are the branches of a repository, or the one that was made or deleted.
type Branches struct {
	Names            []string // local ones, then remotes/…
	Current          string   // "" where none is checked out, or it has no commit
	Created, Deleted string
	Output           string // what git printed when it made or deleted one
	Truncated        bool   // there are more
}

// Message says what was done, or how many branches there are.
func (b Branches) Message() string {
	switch {
	case b.Created != "":
		return "Created branch " + b.Created
	case b.Deleted != "":
		return "Deleted branch " + b.Deleted
	}
	return words.Count(len(b.Names), "branch", "branches")
}

// Branch lists the branches of a repository, makes one or deletes one.
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
	defer r.dir.Close()
	switch {
	case a.Create != "":
		e, err := r.git(ctx, command{args: []string{"checkout", "--quiet", "--no-track", "--no-recurse-submodules", "-b", a.Create, "--"}})
		return Branches{Created: a.Create, Output: printed(e)}, err
	case a.Delete != "":
		return r.deleteBranch(ctx, a)
	}
	return r.branches(ctx)
}

func (r *repository) deleteBranch(ctx context.Context, a BranchChange) (Branches, error) {
	how := "-d"
	if a.Force {
		how = "-D"
	}
	e, err := r.git(ctx, command{args: []string{"branch", how, "--end-of-options", a.Delete}})
	if failed, ok := err.(*Error); ok && strings.Contains(failed.Words, "not fully merged") {
		failed.Words, _, _ = strings.Cut(failed.Words, "\n")
		failed.Hint = "force: true deletes it with its commits"
	}
	return Branches{Deleted: a.Delete, Output: printed(e)}, err
}

func (r *repository) branches(ctx context.Context) (b Branches, err error) {
	e, err := r.git(ctx, command{maxOutput: listing, args: []string{"for-each-ref",
		"--format=%(HEAD)%(refname)%00%(symref)%00", "refs/heads", "refs/remotes"}})
	if err != nil {
		return b, err
	}
	parts, cut := fields(e)
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

// shortRef is a branch as git lists it: main, remotes/origin/main.
func shortRef(ref string) string {
	if name, ok := strings.CutPrefix(ref, "refs/heads/"); ok {
		return name
	}
	return strings.TrimPrefix(ref, "refs/")
}

// checkBranch refuses what cannot be the name of one branch, but stands for
// something else: an option, a former branch, a force, two names.
func checkBranch(arg, name string) error {
	if strings.HasPrefix(name, "-") || strings.HasPrefix(name, "+") || strings.Contains(name, "@{") || strings.ContainsAny(name, ":^~*?[\\") {
		return &refusal.ArgError{Arg: arg, Reason: fmt.Sprintf("%q is not the name of a branch", name)}
	}
	return nil
}
