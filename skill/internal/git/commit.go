package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"textskill/skill/internal/refusal"
)

// Committed is a commit that was made.
type Committed struct {
	Nothing bool     // there was nothing to commit, and nothing was done
	Output  string   // what git printed
	NotRun  []string // what the repository names and was not run: "pre-commit", "signing"
}

// Message says what was committed.
func (c Committed) Message() string {
	if c.Nothing {
		return "No changes to commit"
	}
	first, _, _ := strings.Cut(c.Output, "\n")
	return first
}

// Paths for git: this program's own records are left out of all others.
const (
	everything = ":/"
	notOurs    = ":(exclude,top,glob)**/.skill/**"
	noPattern  = ":(literal)"
)

// Commit stages files, by names from dir, and commits what is staged. No files means
// all that has changed.
func (x *Git) Commit(ctx context.Context, base, dir, message string, files []string) (c Committed, err error) {
	if err := x.process.CheckAllowed("a git commit"); err != nil {
		return c, err
	}
	for i, file := range files {
		arg := fmt.Sprintf("files[%d]", i)
		if file == "" {
			return c, &refusal.ArgError{Arg: arg, Reason: "is empty; no files at all, or \".\", mean all that has changed"}
		}
		if err := checkPath(arg, file); err != nil {
			return c, err
		}
	}
	r, err := x.openRepository(ctx, base, dir, true)
	if err != nil {
		return c, err
	}
	defer r.dir.Close()
	if err := r.addSubmodules(ctx); err != nil {
		return c, err
	}
	if err := r.add(ctx, files); err != nil {
		return c, err
	}
	e, err := r.git(ctx, command{args: []string{"status", "--porcelain", "-z", "--ignore-submodules=dirty", "--", everything, notOurs}, patterns: true})
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
	e, err = r.git(ctx, command{args: append(append([]string{"commit", "--no-edit", "--no-verbose"}, sign...), "--message="+message)})
	if err != nil {
		return c, err
	}
	return Committed{Output: printed(e), NotRun: r.notRun("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")}, nil
}

// add stages the files of those names, or all.
func (r *repository) add(ctx context.Context, files []string) error {
	args := []string{"add", "-A", "--", notOurs}
	for _, file := range files {
		args = append(args, noPattern+r.name(file))
	}
	if len(files) == 0 {
		args = append(args, everything)
	}
	_, err := r.git(ctx, command{args: args, patterns: true})
	if failed, ok := errors.AsType[*Error](err); ok {
		failed.Words = strings.ReplaceAll(failed.Words, noPattern, "")
		failed.Output = strings.ReplaceAll(failed.Output, noPattern, "")
	}
	return err
}
