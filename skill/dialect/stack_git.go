package dialect

import (
	"errors"
	"fmt"
	"io/fs"

	"textskill/skill"
)

var stackGit = []Tool{
	row(Tool{Name: "git_status", Idempotent: true, Doc: "List the changed files of a git repository, with " +
		"the state of each and how far the branch is from its upstream."}, gitStatus),
	row(Tool{Name: "git_commit", Effect: Adds, Doc: "Stage the files, or all changes, and commit what is " +
		"staged. Hooks and filters of the repository do not run."},
		func(in *call, a struct {
			repoPath
			Message string   `arg:"message" is:"required" doc:"the commit's message"`
			Files   []string `arg:"files" is:"path" doc:"files to stage, relative to repo_path; default: all changes"`
			Force   bool     `arg:"force" default:"false" doc:"commit unmerged files and conflict markers too"`
		}) (string, error) {
			c, err := do[skill.Committed](in, skill.GitCommit{Dir: a.Repo, Message: a.Message, Files: a.Files,
				Force: a.Force})
			if c.Nothing {
				return success(keys{"message", c.Message()}), gitError(a.Repo, err)
			}
			return success(keys{"message", a.Message, "output", c.Output, "not_run?", c.NotRun}),
				gitError(a.Repo, err)
		}),
	row(Tool{Name: "git_push", Effect: Adds, Open: true, Idempotent: true,
		Doc: "Push a branch, by default the one checked out, to a remote of the repository."},
		func(in *call, a struct {
			repoRemote
			Branch string `arg:"branch" doc:"default: the branch checked out"`
		}) (string, error) {
			p, err := do[skill.Pushed](in, skill.GitPush{Dir: a.Repo, Remote: a.Remote, Branch: a.Branch})
			return success(keys{"remote", p.Remote, "branch", p.Branch, "output", p.Output,
				"not_run?", p.NotRun}), gitError(a.Repo, err)
		}),
	row(Tool{Name: "git_pull", Effect: Destroys, Open: true,
		Doc: "Fetch commits from a remote of the repository and merge them into the branch checked out."},
		func(in *call, a struct {
			repoRemote
			Branch any  `arg:"branch" type:"string" doc:"default: the upstream of the branch checked out"`
			Abort  bool `arg:"abort" default:"false" doc:"go back from a merge that a pull left unfinished"`
		}) (string, error) {
			branch, _ := a.Branch.(string)
			p, err := do[skill.Pulled](in, skill.GitPull{Dir: a.Repo, Remote: a.Remote, Branch: branch,
				Abort: a.Abort})
			return success(keys{"remote", p.Remote, "branch", a.Branch, "output", p.Output,
				"not_run?", p.NotRun}, undoable(p.Tracked)), gitError(a.Repo, err)
		}),
	row(Tool{Name: "git_branch", Effect: Destroys,
		Doc: "List the branches of a git repository, create one and check it out, or delete one."},
		func(in *call, a struct {
			repoPath
			Create string `arg:"create" doc:"create a branch of this name and check it out"`
			Delete string `arg:"delete" doc:"delete the branch of this name"`
			Force  bool   `arg:"force" default:"false" doc:"delete it even if its commits are on no other branch"`
		}) (string, error) {
			b, err := do[skill.Branches](in, skill.GitBranch{Dir: a.Repo, Create: a.Create, Delete: a.Delete,
				Force: a.Force})
			if b.Created == "" && b.Deleted == "" {
				return success(keys{"branches", append([]string{}, b.Names...), "count", len(b.Names),
					"current?", b.Current, "truncated?", b.Truncated}), gitError(a.Repo, err)
			}
			return success(keys{"created?", b.Created, "deleted?", b.Deleted, "output?", b.Output}),
				gitError(a.Repo, err)
		}),
	row(Tool{Name: "git_log", Idempotent: true, Doc: "List commits, latest first: short hash and subject."},
		func(in *call, a struct {
			repoPath
			Limit int `arg:"limit" default:"10" doc:"most commits; a negative number means all"`
		}) (string, error) {
			l, err := do[skill.RepoLog](in, skill.GitLog{Dir: a.Repo, Limit: a.Limit})
			return success(keys{"commits", append([]string{}, l.Commits...), "count", len(l.Commits),
				"truncated?", l.Truncated}), gitError(a.Repo, err)
		}),
	row(Tool{Name: "git_diff", Idempotent: true,
		Doc: "Show uncommitted changes: the unstaged ones, or with staged the staged ones."},
		func(in *call, a struct {
			repoPath
			File   string `arg:"file" is:"path" doc:"only this file, relative to repo_path"`
			Staged bool   `arg:"staged" default:"false" doc:"show the staged changes instead"`
		}) (string, error) {
			d, err := do[skill.RepoDiff](in, skill.GitDiff{Dir: a.Repo, File: a.File, Staged: a.Staged})
			var note string
			if d.Cut > 0 {
				note = fmt.Sprintf("%d bytes are left out in the middle; name a file to see all of its changes",
					d.Cut)
			}
			return success(keys{"diff", string(d.Text), "has_changes", len(d.Text) > 0, "omitted_bytes?", d.Cut,
				"note?", note, "not_run?", d.NotRun}), gitError(a.Repo, err)
		}),
}

type repoPath struct {
	Repo string `arg:"repo_path" is:"path" default:"." doc:"a folder in the repository, which must be inside the workspace"`
}

type repoRemote struct {
	repoPath
	Remote string `arg:"remote" default:"origin" doc:"the name of a remote in the repository's configuration"`
}

func gitStatus(in *call, a repoPath) (string, error) {
	st, err := do[skill.RepoStatus](in, skill.GitStatus{Dir: a.Repo})
	files := []string{}
	var unmerged []string
	var states []keys // in the letters of git
	for _, f := range st.Files {
		files = append(files, f.Path)
		if f.Unmerged {
			unmerged = append(unmerged, f.Path)
		}
		states = append(states, keys{"path", f.Path, "from?", f.From, "index?", f.Index, "worktree?",
			f.Worktree})
	}
	return success(keys{"files", files, "count", len(files), "repo", a.Repo, "states?", states,
		"branch?", st.Branch, "detached?", st.Branch == "", "state?", st.State, "unmerged?", unmerged,
		"upstream?", st.Upstream, "upstream_gone?", st.UpstreamGone, "ahead?", st.Ahead, "behind?", st.Behind,
		"truncated?", st.Truncated, "not_run?", st.NotRun}), gitError(a.Repo, err)
}

// gitError adds to an error of git how the program ended.
func gitError(repo string, err error) error {
	if failed, ok := errors.AsType[*skill.GitError](err); ok {
		return withKeys(err, keys{"output", failed.Output, "returncode", failed.ExitCode})
	}
	if start, ok := errors.AsType[*skill.SpawnError](err); ok && errors.Is(start.Err, fs.ErrNotExist) {
		return failf("git not found")
	}
	if dir, ok := errors.AsType[*fs.PathError](err); ok && dir.Op == "chdir" &&
		errors.Is(err, fs.ErrNotExist) {
		return failf("Path not found: %s", repo)
	}
	return err
}
