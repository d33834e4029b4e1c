package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"textskill/skill/internal/process"
)

// maxRepoFile is how many bytes are read of a file of the repository, which may have any size.
const maxRepoFile = 8 << 20

// state returns what the repository is in the middle of, such as "merge"; "" is nothing.
func (r *repository) state() string {
	for _, s := range []struct{ file, name string }{
		{"rebase-merge", "rebase"}, {"rebase-apply/applying", "am"}, {"rebase-apply", "rebase"},
		{"MERGE_HEAD", "merge"},
		{"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"}, {"BISECT_LOG", "bisect"},
	} {
		if _, err := r.x.ws.Stat(filepath.Join(r.gitDir, s.file), false); err == nil {
			return s.name
		}
	}
	// between two of several
	next, _ := r.x.ws.ReadUpTo(filepath.Join(r.gitDir, "sequencer/todo"), maxRepoFile)
	switch word, _, _ := bytes.Cut(next, []byte(" ")); string(word) {
	case "":
		return ""
	case "revert":
		return "revert"
	}
	return "cherry-pick"
}

// checkCommit refuses a commit of unmerged paths that files does not name, and of files
// with conflict markers. No files means all.
func (r *repository) checkCommit(ctx context.Context, files []string) error {
	e, err := r.git(ctx, command{maxOutput: maxListing, args: []string{"status", "--porcelain=v2", "-z",
		"--untracked-files=all", "--ignore-submodules=dirty"}})
	if err != nil {
		return err
	}
	parts, _ := splitNUL(e)
	var unmerged, marked []string
	for i := 0; i < len(parts); i++ {
		f, renamed := fileState(parts[i])
		if renamed {
			i++
		}
		named := r.names(files, f.Path)
		switch {
		case f.Unmerged && !named:
			unmerged = append(unmerged, f.Path)
		case (named || len(files) == 0 ||
			f.Index != "" && f.Index != "?") &&
			r.hasMarkers(f.Path):
			marked = append(marked, f.Path)
		}
	}
	switch {
	case len(marked) > 0:
		return fmt.Errorf("conflict markers are left in %s; edit them away, or commit them with force: true",
			someNames(marked))
	case len(unmerged) > 0:
		return fmt.Errorf("unmerged: %s; resolve what the %s left, then name each in files, or commit them as they are with force: true", someNames(unmerged), r.state())
	}
	return nil
}

// names reports whether one of the files, whose names start at the directory of r, is the
// path or a directory above it.
func (r *repository) names(files []string, path string) bool {
	abs := filepath.Join(r.top, path)
	return slices.ContainsFunc(files, func(file string) bool {
		return process.Contains(r.x.ws.Abs(r.dir.Path, r.pathspec(file)), abs)
	})
}

// hasMarkers reports whether a file has lines that begin and end a conflict.
func (r *repository) hasMarkers(path string) bool {
	f, _, err := r.x.ws.Open(filepath.Join(r.top, path))
	if err != nil {
		return false
	}
	defer f.Close()
	begin, end := false, false
	for lines := bufio.NewReader(f); err == nil && !end; {
		var line []byte
		line, err = lines.ReadSlice('\n')
		begin = begin || bytes.HasPrefix(line, []byte("<<<<<<< "))
		end = begin && bytes.HasPrefix(line, []byte(">>>>>>> "))
		for err == bufio.ErrBufferFull { // the rest of a long line
			_, err = lines.ReadSlice('\n')
		}
	}
	return end
}

// someNames lists up to ten names.
func someNames(names []string) string {
	if len(names) > 10 {
		return strings.Join(names[:10], ", ") + fmt.Sprintf(" and %d more", len(names)-10)
	}
	return strings.Join(names, ", ")
}

// leftOver adds to an error of git pull how it left the repository, and what to do.
func (r *repository) leftOver(ctx context.Context, err error) error {
	failed, ok := errors.AsType[*Error](err)
	state := r.state()
	if !ok || state != "merge" && state != "rebase" {
		return err
	}
	e, derr := r.git(ctx, command{args: []string{"diff", "--name-only", "--diff-filter=U", "-z"}})
	if derr != nil {
		return err
	}
	paths, _ := splitNUL(e)
	if len(paths) == 0 {
		failed.Words = "the " + state + " is not finished"
		failed.Hint = "commit it, or go back with git_pull(abort: true)"
		return failed
	}
	failed.Words = fmt.Sprintf("the %s is not finished, with conflicts in %s", state, someNames(paths))
	failed.Hint = "resolve them and commit with files that names each, or go back with git_pull(abort: true)"
	return failed
}

// Abort ends a merge or rebase that a pull left unfinished, and restores the branch as it
// was.
func (x *Git) Abort(ctx context.Context, base, dir string) (p Pulled, err error) {
	if err := x.process.CheckAllowed("a git pull"); err != nil {
		return p, err
	}
	r, err := x.openRepository(ctx, base, dir, true)
	if err != nil {
		return p, err
	}
	defer r.close()
	state := r.state()
	if state != "merge" && state != "rebase" {
		return p, errors.New("there is no merge or rebase to go back from")
	}
	p.Tracked, err = x.process.Track(ctx, "git", func(inner *process.Runner) error {
		e, err := r.with(inner).git(ctx, command{args: []string{state, "--abort"}})
		p.Output = output(e)
		return err
	})
	return p, err
}

// aroundWorkspace names in an error of git the repository that the workspace lies in, if
// there is one.
func (r *repository) aroundWorkspace(err error) error {
	failed, ok := errors.AsType[*Error](err)
	if !ok || !strings.Contains(failed.Words, "not a git repository") {
		return err
	}
	if dir := r.x.Outside(); dir != "" {
		failed.Words = "the repository " + dir + " holds the workspace, and lies outside it"
		failed.Hint = "start skill with --allow " + dir
		return failed
	}
	return err
}

// Outside returns the folder outside the workspace that git needs there: the repository that the
// workspace lies in, or the folder of git that a linked worktree names. "" means that git needs none.
func (x *Git) Outside() string {
	top := x.ws.Dir()
	if info, err := os.Lstat(filepath.Join(top, ".git")); err == nil {
		if !info.Mode().IsRegular() {
			return ""
		}
		return linkedFrom(filepath.Join(top, ".git"))
	}
	for dir := filepath.Dir(top); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// linkedFrom returns the folder of git that a linked worktree shares, if that knows the worktree
// by its file .git.
func linkedFrom(file string) string {
	own := firstLine(file, "gitdir: ")
	if !filepath.IsAbs(own) || firstLine(filepath.Join(own, "gitdir"), "") != file {
		return ""
	}
	shared := firstLine(filepath.Join(own, "commondir"), "")
	if shared != "" && !filepath.IsAbs(shared) {
		shared = filepath.Join(own, shared)
	}
	return shared
}

// firstLine returns the first line of a small file after a prefix, "" if it has none.
func firstLine(name, prefix string) string {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 8<<10 {
		return ""
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	rest, _ := strings.CutPrefix(strings.TrimSuffix(line, "\r"), prefix)
	return rest
}
