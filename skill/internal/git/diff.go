package git

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"textskill/skill/internal/refusal"
)

// A Diff is what has changed.
type Diff struct {
	Text   []byte   // in any encoding; of a long one the beginning and the end
	Cut    int64    // bytes left out
	NotRun []string // what the repository names and is not run: "filter lfs"
}

// Message says how much has changed.
func (r Diff) Message() string {
	return fmt.Sprintf("%d bytes of changes", int64(len(r.Text))+r.Cut)
}

// Diff shows the changes that are not committed, of one file if it is not "": those
// that are staged against the last commit, or those that are not against these.
func (x *Git) Diff(ctx context.Context, base, dir, file string, staged bool) (Diff, error) {
	if err := checkPath("file", file); err != nil {
		return Diff{}, err
	}
	r, err := x.openRepository(ctx, base, dir, false)
	if err != nil {
		return Diff{}, err
	}
	defer r.dir.Close()
	args := []string{"diff", "--no-color", "--submodule=short", "--ignore-submodules=dirty",
		"--src-prefix=a/", "--dst-prefix=b/", "--no-relative"}
	if !x.cfg.AllowHooks {
		args = append(args, "--no-ext-diff", "--no-textconv")
	}
	if staged {
		args = append(args, "--staged")
	}
	args = append(args, "--end-of-options", "--")
	if file != "" {
		args = append(args, r.name(file))
	}
	e, err := r.git(ctx, command{args: args})
	if err != nil {
		return Diff{}, err
	}
	return Diff{e.Stdout, e.StdoutCut, r.notRun()}, nil
}

// checkPath refuses a path that a reader would take for an option.
func checkPath(arg, path string) error {
	if strings.HasPrefix(path, "-") {
		return &refusal.ArgError{Arg: arg, Reason: fmt.Sprintf("%q begins with a dash, like an option; a file of that name is ./%s", path, path)}
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
