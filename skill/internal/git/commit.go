package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"textskill/skill/internal/refusal"
)

// Committed is the result of a commit.
type Committed struct {
	Nothing bool     // there was nothing to commit
	Output  string   // git's output
	NotRun  []string // what the repository configures and git did not run: "pre-commit", "signing"
}

// Message returns the first line of git's output, or says that there was nothing to commit.
func (c Committed) Message() string {
	if c.Nothing {
		return "No changes to commit"
	}
	first, _, _ := strings.Cut(c.Output, "\n")
	return first
}

// Pathspecs of git. The state directory of this program is never committed, and the records
// of experts' runs only if they are named.
const (
	everything = ":/"
	notState   = ":(exclude,top,glob)**/.skill/**"
	notRecords = ":(exclude,top,glob)**/" + records + "/**"
	literal    = ":(literal)"
	records    = "perstack/runs"
)

// Commit stages files, whose names start at dir, and commits what is staged. No files
// means all that have changed. Unmerged paths and conflict markers are refused unless
// force is set.
func (x *Git) Commit(ctx context.Context, base, dir, message string, files []string, force bool) (c Committed,
	err error) {
	if err := x.process.CheckAllowed("a git commit"); err != nil {
		return c, err
	}
	for i, file := range files {
		arg := fmt.Sprintf("files[%d]", i)
		if file == "" {
			return c, &refusal.ArgError{Arg: arg,
				Reason: "is empty; no files at all, or \".\", mean all that has changed"}
		}
		if err := checkPath(arg, file); err != nil {
			return c, err
		}
	}
	r, err := x.openRepository(ctx, base, dir, true)
	if err != nil {
		return c, err
	}
	defer r.close()
	if err := r.readSubmodules(ctx); err != nil {
		return c, err
	}
	if !force {
		if err := r.checkCommit(ctx, files); err != nil {
			return c, err
		}
	}
	if err := r.add(ctx, files); err != nil {
		return c, err
	}
	e, err := r.git(ctx, command{args: append([]string{"status", "--porcelain", "-z",
		"--ignore-submodules=dirty", "--", everything}, leftOut(files)...), patterns: true})
	if err != nil {
		return c, err
	}
	if len(e.Stdout) == 0 {
		return Committed{Nothing: true}, nil
	}
	sign := []string{"--no-gpg-sign"}
	if x.cfg.AllowHooks {
		sign = nil
	}
	e, err = r.git(ctx, command{args: append(append([]string{"commit", "--no-edit", "--no-verbose"}, sign...),
		"--message="+message)})
	if err != nil {
		return c, err
	}
	return Committed{Output: output(e), NotRun: r.notRun("pre-commit", "prepare-commit-msg", "commit-msg",
		"post-commit")}, nil
}

// leftOut returns the pathspecs of what is not committed with files.
func leftOut(files []string) []string {
	if slices.ContainsFunc(files, func(file string) bool { return strings.Contains(file+"/", records+"/") }) {
		return []string{notState}
	}
	return []string{notState, notRecords}
}

// add stages the named files, or all if there are none. Those that are staged as removed
// already, which git add does not find, are passed over.
func (r *repository) add(ctx context.Context, files []string) error {
	args := append([]string{"add", "-A", "--"}, leftOut(files)...)
	for _, file := range files {
		args = append(args, literal+r.pathspec(file))
	}
	if len(files) == 0 {
		args = append(args, everything)
	}
	_, err := r.git(ctx, command{args: args, patterns: true})
	if failed, ok := errors.AsType[*Error](err); ok {
		rest := slices.DeleteFunc(slices.Clone(files), func(file string) bool { return r.removed(ctx, file) })
		switch {
		case len(files) > 0 && len(rest) == 0:
			return nil
		case len(rest) < len(files):
			return r.add(ctx, rest)
		}
		failed.Words = strings.ReplaceAll(failed.Words, literal, "")
		failed.Output = strings.ReplaceAll(failed.Output, literal, "")
	}
	return err
}

// removed reports whether a file is neither in the working tree nor in the index, but in
// the last commit: git rm and git mv leave it so.
func (r *repository) removed(ctx context.Context, file string) bool {
	if r.exists(file) {
		return false
	}
	e, err := r.git(ctx, command{args: []string{"diff", "--cached", "--name-only", "--no-renames",
		"--diff-filter=D", "-z", "--", r.pathspec(file)}})
	return err == nil && len(e.Stdout) > 0
}
