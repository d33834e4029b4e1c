package skill

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// GitDiff shows the changes that are not committed, in unified format.
type GitDiff struct {
	Dir    string // in the repository
	File   string // only this one, from Dir; "" means all
	Staged bool   // what is staged against the last commit; else what is not, against what is staged
}

func (GitDiff) op() {}

// RepoDiff is what has changed.
type RepoDiff struct {
	Text   []byte   // in any encoding; of a long one the beginning and the end
	Cut    int64    // bytes left out
	NotRun []string // what the repository names and is not run: "filter lfs"
}

// Message says how much has changed.
func (r RepoDiff) Message() string {
	return fmt.Sprintf("%d bytes of changes", int64(len(r.Text))+r.Cut)
}

func (x *Executor) gitDiff(ctx context.Context, s *Session, a GitDiff) (Result, error) {
	if err := checkGitPath("file", a.File); err != nil {
		return nil, err
	}
	r, err := x.openRepository(ctx, s, a.Dir, false)
	if err != nil {
		return nil, err
	}
	defer r.dir.Close()
	args := []string{"diff", "--no-color", "--submodule=short", "--ignore-submodules=dirty",
		"--src-prefix=a/", "--dst-prefix=b/", "--no-relative"}
	if !x.cfg.AllowHooks {
		args = append(args, "--no-ext-diff", "--no-textconv")
	}
	if a.Staged {
		args = append(args, "--staged")
	}
	args = append(args, "--end-of-options", "--")
	if a.File != "" {
		args = append(args, r.name(a.File))
	}
	e, err := r.git(ctx, gitCommand{args: args})
	if err != nil {
		return nil, err
	}
	return RepoDiff{e.Stdout, e.StdoutCut, r.notRun()}, nil
}

// checkGitPath refuses a path that a reader would take for an option.
func checkGitPath(arg, path string) error {
	if strings.HasPrefix(path, "-") {
		return &ArgError{Arg: arg, Reason: fmt.Sprintf("%q begins with a dash, like an option; a file of that name is ./%s", path, path)}
	}
	return nil
}

// name is a file as git is told it: from the folder where git runs, which knows
// the workspace by one spelling only.
func (r *repository) name(file string) string {
	if !filepath.IsAbs(file) {
		return file
	}
	real, err := r.x.ws.Real("", file, false)
	if err != nil {
		return file
	}
	return real
}
