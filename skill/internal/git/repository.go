package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"textskill/skill/internal/process"
	"textskill/skill/internal/workspace"
)

// repository is a git repository all of which is inside the workspace.
type repository struct {
	x       *Git
	dir     process.Dir // where git runs
	program string      // git's file
	env     []string    // of every command
	writes  bool        // the command changes files or commits

	top       string // of the working tree; "" where there is none
	gitDir    string
	commonDir string // gitDir, but for a linked working tree
	config    []setting
	further   []setting // of our own, for every command
}

// openRepository finds the repository that holds the folder name, judges it, and
// reads its configuration. The caller closes its dir.
func (x *Git) openRepository(ctx context.Context, base string, name string, writes bool) (*repository, error) {
	dir, err := x.process.OpenDir(base, name)
	if err != nil {
		return nil, err
	}
	r := &repository{x: x, dir: dir, writes: writes, env: x.environment(dir.Path)}
	if !writes {
		r.env = append(r.env, "GIT_OPTIONAL_LOCKS=0")
	}
	if r.program, err = process.LookProgram("git", dir.Path, r.env); err == nil {
		err = r.judge(ctx)
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return r, nil
}

// judge finds out where the repository is, refuses one that leads outside, and
// reads its configuration.
func (r *repository) judge(ctx context.Context) error {
	e, err := r.git(ctx, command{args: []string{"rev-parse", "--path-format=absolute",
		"--is-bare-repository", "--absolute-git-dir", "--git-common-dir", "--show-toplevel"}})
	lines := strings.Split(strings.TrimSuffix(string(e.Stdout), "\n"), "\n")
	switch {
	case err != nil && len(lines) != 3: // there is no working tree to be shown where there are three
		return err
	case err == nil && len(lines) != 4:
		return fmt.Errorf("this git cannot say where the repository is: %q; it takes 2.31, and names without line ends", e.Stdout)
	}
	r.gitDir, r.commonDir = lines[1], lines[2]
	if len(lines) == 4 {
		r.top = lines[3]
		if err := r.inside("working tree", r.top); err != nil {
			return err
		}
	}
	for _, err := range []error{r.inside("folder", r.gitDir), r.inside("folder", r.commonDir)} {
		if err != nil {
			return err
		}
	}
	if err := r.checkLinks(r.commonDir, 0); err != nil {
		return err
	}
	if !process.Contains(r.commonDir, r.gitDir) {
		if err := r.checkLinks(r.gitDir, 0); err != nil {
			return err
		}
	}
	if err := r.checkAlternates(filepath.Join(r.commonDir, "objects"), 0); err != nil {
		return err
	}
	return r.readConfig(ctx)
}

// inside refuses what belongs to the repository and leads outside.
func (r *repository) inside(what, path string) error {
	_, err := r.x.ws.Real("", path, true)
	if outside, ok := errors.AsType[*workspace.OutsideError](err); ok {
		return fmt.Errorf("the repository's %s %w", what, outside)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// deepest is how far down a folder of git is looked into.
const deepest = 32

// checkLinks refuses links below a folder of git that lead outside, and what git
// would wait for.
func (r *repository) checkLinks(dir string, depth int) error {
	entries, err := r.x.ws.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist): // git may be at work
		return nil
	case err != nil:
		return err
	case depth > deepest:
		return fmt.Errorf("the repository's folder %s is too deep to be judged", dir)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name)
		switch {
		case e.Type.IsDir():
			err = r.checkLinks(path, depth+1)
		case e.Type&fs.ModeSymlink != 0:
			err = r.inside("link "+path+" leads outside:", path)
		case e.Type&(fs.ModeNamedPipe|fs.ModeDevice) != 0:
			err = fmt.Errorf("the repository's %s is no file", path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkAlternates refuses stores of objects outside that one inside borrows from.
func (r *repository) checkAlternates(objects string, depth int) error {
	f, _, err := r.x.ws.Open(filepath.Join(objects, "info", "alternates"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, 1<<20))
	for lines.Scan() {
		line := lines.Text()
		switch {
		case line == "" || line[0] == '#':
			continue
		case line[0] == '"' || depth > 5: // git reads no more than five in a row
			return fmt.Errorf("the repository borrows objects in a way that cannot be judged: %s in %s", line, f.Name())
		case !filepath.IsAbs(line):
			line = filepath.Join(objects, line)
		}
		if err := r.inside("source of borrowed objects", line); err != nil {
			return err
		}
		if err := r.checkAlternates(line, depth+1); err != nil {
			return err
		}
	}
	return lines.Err()
}

// addSubmodules judges the repositories inside this one, which git looks into when
// it commits, and adds their settings to those to be neutral.
func (r *repository) addSubmodules(ctx context.Context) error {
	e, err := r.git(ctx, command{args: []string{"ls-files", "--stage", "-z", "--", ":/"}, maxOutput: 4 * listing, patterns: true})
	if err != nil {
		return err
	}
	names, cut := fields(e)
	if cut {
		return fmt.Errorf("the repository has too many files to be judged")
	}
	for _, line := range names {
		link, ok := strings.CutPrefix(line, "160000 ")
		_, name, _ := strings.Cut(link, "\t")
		if !ok {
			continue
		}
		dir := filepath.Join(r.dir.Path, name)
		if _, err := r.x.ws.Stat(filepath.Join(dir, ".git"), false); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		inner, err := r.x.openRepository(ctx, "", dir, true)
		if err != nil {
			return fmt.Errorf("submodule %s: %w", name, err)
		}
		err = inner.addSubmodules(ctx)
		inner.dir.Close()
		if err != nil {
			return err
		}
		r.config = slices.Concat(r.config, slices.DeleteFunc(inner.config, func(s setting) bool { return !s.own }))
	}
	return nil
}
