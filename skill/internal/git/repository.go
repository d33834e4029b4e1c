package git

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"textskill/skill/internal/process"
	"textskill/skill/internal/refusal"
	"textskill/skill/internal/workspace/tree"
)

// A repository is a git repository that lies completely inside the workspace.
type repository struct {
	x       *Git
	dir     process.Dir // the working directory of git
	program process.Found
	env     []string   // environment of every command
	writes  bool       // the command changes files or commits
	home    *tree.Temp // git's own home directory; nil for commands that only read
	reads   []string   // files outside the workspace that the user's configuration names

	top       string // root of the working tree; "" if bare
	gitDir    string
	commonDir string // differs from gitDir in a linked working tree
	config    []setting
	extra     []setting // passed to every command
	others    []setting // of the remotes that are directories of this machine
}

// with returns a repository like r whose git is run with p. It is closed with r.
func (r *repository) with(p *process.Runner) *repository {
	inner := *r
	inner.x = r.x.On(r.x.ws, p)
	return &inner
}

// openRepository finds the repository that contains the directory name, checks that it
// does not reach outside the workspace, and reads its configuration. The caller closes
// it.
func (x *Git) openRepository(ctx context.Context, base string, name string,
	writes bool) (*repository, error) {
	dir, err := x.process.OpenDir(base, name)
	if err != nil {
		return nil, err
	}
	r := &repository{x: x, dir: dir, writes: writes, env: x.environment(dir.Path)}
	if !writes {
		r.env = append(r.env, "GIT_OPTIONAL_LOCKS=0")
	}
	if r.program, err = x.process.FindProgram("git"); err == nil && writes {
		r.home, err = tree.MakeTemp("git-")
	}
	if err == nil {
		err = r.inspect(ctx)
	}
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// close removes git's home directory.
func (r *repository) close() {
	r.dir.Close()
	if r.home != nil {
		r.home.Remove()
	}
}

// inspect finds the repository's directories, refuses it if one of them, a link or a
// source of objects is outside the workspace, and reads its configuration.
func (r *repository) inspect(ctx context.Context) error {
	e, err := r.git(ctx, command{asUser: true, args: []string{"rev-parse", "--path-format=absolute",
		"--is-bare-repository", "--absolute-git-dir", "--git-common-dir", "--show-toplevel"}})
	lines := strings.Split(strings.TrimSuffix(string(e.Stdout), "\n"), "\n")
	switch {
	case err != nil && len(lines) != 3: // with three lines there is only no working tree
		return r.aroundWorkspace(err)
	case err == nil && len(lines) != 4:
		return fmt.Errorf("git does not say where the repository is: %q; git 2.31 or later is needed, and paths without line breaks", e.Stdout)
	}
	r.gitDir, r.commonDir = lines[1], lines[2]
	if len(lines) == 4 {
		r.top = lines[3]
		if err := r.checkInside("working tree", r.top); err != nil {
			return err
		}
	}
	if err := cmp.Or(r.checkInside("folder", r.gitDir), r.checkInside("folder", r.commonDir)); err != nil {
		return err
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
	if err := r.readConfig(ctx); err != nil {
		return err
	}
	r.addUserFiles()
	return nil
}

// checkInside refuses a path of the repository that leads outside the workspace.
func (r *repository) checkInside(what, path string) error {
	_, err := r.x.ws.Real("", path, true)
	if errors.Is(err, refusal.ErrOutside) {
		return fmt.Errorf("the repository's %s %w", what, err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// maxDepth is the deepest level of git's directories that is checked.
const maxDepth = 32

// checkLinks refuses links below dir that lead outside the workspace, and pipes and
// devices, on which git would block.
func (r *repository) checkLinks(dir string, depth int) error {
	entries, err := r.x.ws.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist): // removed by git meanwhile
		return nil
	case err != nil:
		return err
	case depth > maxDepth:
		return fmt.Errorf("the repository's directory %s is nested too deeply to be checked", dir)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name)
		switch {
		case e.Type.IsDir():
			err = r.checkLinks(path, depth+1)
		case e.Type&fs.ModeSymlink != 0:
			err = r.checkInside("link "+path+" leads outside:", path)
		case e.Type&(fs.ModeNamedPipe|fs.ModeDevice) != 0:
			err = fmt.Errorf("the repository's %s is not a regular file", path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkAlternates refuses object stores outside the workspace from which objects borrows.
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
		case line[0] == '"' || depth > 5: // git follows at most five alternates
			return fmt.Errorf("the repository borrows objects in a way that cannot be checked: %s in %s",
				line, f.Name())
		case !filepath.IsAbs(line):
			line = filepath.Join(objects, line)
		}
		if err := r.checkInside("source of borrowed objects", line); err != nil {
			return err
		}
		if err := r.checkAlternates(line, depth+1); err != nil {
			return err
		}
	}
	return lines.Err()
}

// readSubmodules checks the submodules, into which git looks when it commits, and adds
// their settings, so that [repository.settings] overrides them too.
func (r *repository) readSubmodules(ctx context.Context) error {
	e, err := r.git(ctx, command{args: []string{"ls-files", "--stage", "-z", "--", ":/"},
		maxOutput: 4 * maxListing, patterns: true})
	if err != nil {
		return err
	}
	names, cut := splitNUL(e)
	if cut {
		return fmt.Errorf("the repository has too many files to be checked")
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
		err = inner.readSubmodules(ctx)
		inner.close()
		if err != nil {
			return err
		}
		r.config = slices.Concat(r.config,
			slices.DeleteFunc(inner.config, func(s setting) bool { return !s.fromRepo }))
	}
	return nil
}
