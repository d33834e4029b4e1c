package git

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"textskill/skill/internal/refusal"
)

// A Diff is a patch.
type Diff struct {
	Text   []byte   // in any encoding; of a long patch the start and the end
	Cut    int64    // bytes left out
	NotRun []string // what the repository configures and git did not run: "filter lfs"
}

// Message says how long the patch is.
func (r Diff) Message() string {
	return fmt.Sprintf("%d bytes of changes", int64(len(r.Text))+r.Cut)
}

// Diff returns the staged changes against the last commit, or the unstaged changes
// against the staged ones. If file is not "", it returns the changes of that file only.
func (x *Git) Diff(ctx context.Context, base, dir, file string, staged bool) (Diff, error) {
	if err := checkPath("file", file); err != nil {
		return Diff{}, err
	}
	r, err := x.openRepository(ctx, base, dir, false)
	if err != nil {
		return Diff{}, err
	}
	defer r.close()
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
		args = append(args, r.pathspec(file))
	}
	e, err := r.git(ctx, command{args: args})
	if err != nil {
		return Diff{}, err
	}
	if file != "" && len(e.Stdout) == 0 {
		if err := r.checkKnown(ctx, file); err != nil {
			return Diff{}, err
		}
	}
	return Diff{e.Stdout, e.StdoutCut, r.notRun()}, nil
}

// checkKnown refuses a name that neither the working tree, the index nor the last commit
// has.
func (r *repository) checkKnown(ctx context.Context, file string) error {
	if r.exists(file) {
		return nil
	}
	for _, args := range [][]string{{"ls-files", "-z", "--"},
		{"ls-tree", "-r", "-z", "--name-only", "HEAD", "--"}} {
		if e, err := r.git(ctx, command{args: append(args, r.pathspec(file))}); err == nil &&
			len(e.Stdout) > 0 {
			return nil
		}
	}
	return &refusal.ArgError{Arg: "file",
		Reason: fmt.Sprintf("%q does not exist, and git does not know it; git_status lists what has changed", file)}
}

func (r *repository) exists(file string) bool {
	_, err := r.x.ws.Stat(r.x.ws.Abs(r.dir.Path, r.pathspec(file)), false)
	return err == nil
}

// checkPath refuses a path that looks like an option.
func checkPath(arg, path string) error {
	if strings.HasPrefix(path, "-") {
		return &refusal.ArgError{Arg: arg,
			Reason: fmt.Sprintf("%q begins with a dash, like an option; a file of that name is ./%s",
				path, path)}
	}
	return nil
}

// pathspec returns the path of a file for git. Of an absolute path it resolves the links,
// because git knows the workspace by its resolved path only.
func (r *repository) pathspec(file string) string {
	if !filepath.IsAbs(file) {
		return file
	}
	real, err := r.x.ws.Real("", file, false)
	if err != nil {
		return file
	}
	return real
}
