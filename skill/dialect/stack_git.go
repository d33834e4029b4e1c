package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"textskill/skill"
)

var stackGit = []Tool{
	{
		Name: "git_status", Doc: "List the changed files of a git repository, with the state of each and how far the branch is from its upstream.",
		Params:     []Param{repoParam},
		Idempotent: true, reword: gitError,
		operation: func(in *call) (skill.Args, error) { return skill.GitStatus{Dir: in.str("repo_path")}, nil },
		reply:     typed(statusReply),
	},
	{
		Name: "git_commit", Doc: "Stage the files, or all changes, and commit what is staged. Hooks and filters of the repository do not run.",
		Params: []Param{repoParam,
			{Name: "message", Type: "string", Required: true, Doc: "the commit's message"},
			{Name: "files", Type: "array", Of: "string", Path: true,
				Doc: "files to stage, relative to repo_path; default: all changes"},
			{Name: "force", Type: "boolean", Default: false,
				Doc: "commit unmerged files and conflict markers too"}},
		Effect: Adds, reword: gitError,
		operation: func(in *call) (skill.Args, error) {
			return skill.GitCommit{Dir: in.str("repo_path"), Message: in.str("message"),
				Files: in.values.texts("files"), Force: in.flag("force")}, nil
		},
		reply: typed(func(in *call, c skill.Committed) string {
			if c.Nothing {
				return success(keys{"message", c.Message()})
			}
			return success(keys{"message", in.str("message"), "output", c.Output, "not_run?", c.NotRun})
		}),
	},
	{
		Name: "git_push", Doc: "Push a branch, by default the one checked out, to a remote of the repository.",
		Params: []Param{repoParam, remoteParam,
			{Name: "branch", Type: "string", Doc: "default: the branch checked out"}},
		Effect: Adds, Open: true, Idempotent: true, reword: gitError,
		operation: func(in *call) (skill.Args, error) {
			return skill.GitPush{Dir: in.str("repo_path"), Remote: in.str("remote"),
				Branch: in.str("branch")}, nil
		},
		reply: typed(func(in *call, p skill.Pushed) string {
			return success(keys{"remote", p.Remote, "branch", p.Branch, "output", p.Output,
				"not_run?", p.NotRun})
		}),
	},
	{
		Name: "git_pull", Doc: "Fetch commits from a remote of the repository and merge them into the branch checked out.",
		Params: []Param{repoParam, remoteParam,
			{Name: "branch", Type: "string", Doc: "default: the upstream of the branch checked out"},
			{Name: "abort", Type: "boolean", Default: false,
				Doc: "go back from a merge that a pull left unfinished"}},
		Effect: Destroys, Open: true, reword: gitError,
		operation: func(in *call) (skill.Args, error) {
			return skill.GitPull{Dir: in.str("repo_path"), Remote: in.str("remote"), Branch: in.str("branch"),
				Abort: in.flag("abort")}, nil
		},
		reply: typed(func(in *call, p skill.Pulled) string {
			return success(keys{"remote", p.Remote, "branch", in.values["branch"], "output", p.Output,
				"not_run?", p.NotRun}, undoable(p.Tracked))
		}),
	},
	{
		Name: "git_branch", Doc: "List the branches of a git repository, create one and check it out, or delete one.",
		Params: []Param{repoParam,
			{Name: "create", Type: "string", Doc: "create a branch of this name and check it out"},
			{Name: "delete", Type: "string", Doc: "delete the branch of this name"},
			{Name: "force", Type: "boolean", Default: false,
				Doc: "delete it even if its commits are on no other branch"}},
		Effect: Destroys, reword: gitError,
		operation: func(in *call) (skill.Args, error) {
			return skill.GitBranch{Dir: in.str("repo_path"), Create: in.str("create"),
				Delete: in.str("delete"), Force: in.flag("force")}, nil
		},
		reply: typed(branchReply),
	},
	{
		Name: "git_log", Doc: "List commits, latest first: short hash and subject.",
		Params: []Param{repoParam,
			{Name: "limit", Type: "integer", Default: json.Number("10"),
				Doc: "most commits; a negative number means all"}},
		Idempotent: true, reword: gitError,
		operation: func(in *call) (skill.Args, error) {
			return skill.GitLog{Dir: in.str("repo_path"), Limit: in.int("limit")}, nil
		},
		reply: typed(func(_ *call, l skill.RepoLog) string {
			return success(keys{"commits", append([]string{}, l.Commits...), "count", len(l.Commits),
				"truncated?", l.Truncated})
		}),
	},
	{
		Name: "git_diff", Doc: "Show uncommitted changes: the unstaged ones, or with staged the staged ones.",
		Params: []Param{repoParam,
			{Name: "file", Type: "string", Path: true, Doc: "only this file, relative to repo_path"},
			{Name: "staged", Type: "boolean", Default: false, Doc: "show the staged changes instead"}},
		Idempotent: true, reword: gitError,
		operation: func(in *call) (skill.Args, error) {
			return skill.GitDiff{Dir: in.str("repo_path"), File: in.str("file"),
				Staged: in.flag("staged")}, nil
		},
		reply: typed(diffReply),
	},
}

var (
	repoParam = Param{Name: "repo_path", Type: "string", Path: true, Default: ".",
		Doc: "a folder in the repository, which must be inside the workspace"}
	remoteParam = Param{Name: "remote", Type: "string", Default: "origin",
		Doc: "the name of a remote in the repository's configuration"}
)

func statusReply(in *call, st skill.RepoStatus) string {
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
	return success(keys{"files", files, "count", len(files), "repo", in.str("repo_path"), "states?", states,
		"branch?", st.Branch, "detached?", st.Branch == "", "state?", st.State, "unmerged?", unmerged,
		"upstream?", st.Upstream, "upstream_gone?", st.UpstreamGone, "ahead?", st.Ahead, "behind?", st.Behind,
		"truncated?", st.Truncated, "not_run?", st.NotRun})
}

func branchReply(_ *call, b skill.Branches) string {
	if b.Created == "" && b.Deleted == "" {
		return success(keys{"branches", append([]string{}, b.Names...), "count", len(b.Names), "current?",
			b.Current, "truncated?", b.Truncated})
	}
	return success(keys{"created?", b.Created, "deleted?", b.Deleted, "output?", b.Output})
}

func diffReply(_ *call, d skill.RepoDiff) string {
	var note string
	if d.Cut > 0 {
		note = fmt.Sprintf("%d bytes are left out in the middle; name a file to see all of its changes", d.Cut)
	}
	return success(keys{"diff", string(d.Text), "has_changes", len(d.Text) > 0, "omitted_bytes?", d.Cut,
		"note?", note, "not_run?", d.NotRun})
}

// gitError adds to an error of git how the program ended.
func gitError(in *call, err error) error {
	if failed, ok := errors.AsType[*skill.GitError](err); ok {
		return withKeys(err, keys{"output", failed.Output, "returncode", failed.ExitCode})
	}
	if start, ok := errors.AsType[*skill.SpawnError](err); ok && errors.Is(start.Err, fs.ErrNotExist) {
		return failf("git not found")
	}
	if dir, ok := errors.AsType[*fs.PathError](err); ok && dir.Op == "chdir" &&
		errors.Is(err, fs.ErrNotExist) {
		return failf("Path not found: %s", in.str("repo_path"))
	}
	return err
}
