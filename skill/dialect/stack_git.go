package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"textskill/skill"
)

// stackGit are the tools for git.
var stackGit = []Tool{
	{
		Name: "git_status", Doc: "List the changed files of a git repository, with the state of each and how far the branch is from its upstream.",
		Params: []Param{repoParam},
		Effect: Reads, Idempotent: true, reword: gitError,
		operation: func(in *call) (skill.Args, error) { return skill.GitStatus{Dir: in.str("repo_path")}, nil },
		reply:     typed(statusReply),
	},
	{
		Name: "git_commit", Doc: "Stage the files, or all changes, and commit what is staged. Hooks and filters of the repository do not run.",
		Params: []Param{repoParam,
			{Name: "message", Type: "string", Required: true, Doc: "the commit's message"},
			{Name: "files", Type: "array", Of: "string", Path: true, Doc: "files to stage, relative to repo_path; default: all changes"},
			{Name: "force", Type: "boolean", Default: false, Doc: "commit unmerged files and conflict markers too"}},
		Effect: Adds, reword: gitError,
		operation: func(in *call) (skill.Args, error) {
			return skill.GitCommit{Dir: in.str("repo_path"), Message: in.str("message"), Files: in.values.texts("files"), Force: in.flag("force")}, nil
		},
		reply: typed(func(in *call, c skill.Committed) string {
			if c.Nothing {
				return success(map[string]string{"message": c.Message()})
			}
			return success(struct {
				Message string   `json:"message"`
				Output  string   `json:"output"`
				NotRun  []string `json:"not_run,omitempty"`
			}{in.str("message"), c.Output, c.NotRun})
		}),
	},
	{
		Name: "git_push", Doc: "Push a branch, by default the one checked out, to a remote of the repository.",
		Params: []Param{repoParam, remoteParam,
			{Name: "branch", Type: "string", Doc: "default: the branch checked out"}},
		Effect: Adds, Open: true, Idempotent: true, reword: gitError,
		operation: func(in *call) (skill.Args, error) {
			return skill.GitPush{Dir: in.str("repo_path"), Remote: in.str("remote"), Branch: in.str("branch")}, nil
		},
		reply: typed(func(in *call, p skill.Pushed) string {
			return success(remoteReply{Remote: p.Remote, Branch: p.Branch, Output: p.Output, NotRun: p.NotRun})
		}),
	},
	{
		Name: "git_pull", Doc: "Fetch commits from a remote of the repository and merge them into the branch checked out.",
		Params: []Param{repoParam, remoteParam,
			{Name: "branch", Type: "string", Doc: "default: the upstream of the branch checked out"},
			{Name: "abort", Type: "boolean", Default: false, Doc: "go back from a merge that a pull left unfinished"}},
		Effect: Destroys, Open: true, reword: gitError,
		operation: func(in *call) (skill.Args, error) {
			return skill.GitPull{Dir: in.str("repo_path"), Remote: in.str("remote"), Branch: in.str("branch"), Abort: in.flag("abort")}, nil
		},
		reply: typed(func(in *call, p skill.Pulled) string {
			return success(remoteReply{p.Remote, in.values["branch"], p.Output, p.NotRun, undoable(p.Tracked)})
		}),
	},
	{
		Name: "git_branch", Doc: "List the branches of a git repository, create one and check it out, or delete one.",
		Params: []Param{repoParam,
			{Name: "create", Type: "string", Doc: "create a branch of this name and check it out"},
			{Name: "delete", Type: "string", Doc: "delete the branch of this name"},
			{Name: "force", Type: "boolean", Default: false, Doc: "delete it even if its commits are on no other branch"}},
		Effect: Destroys, reword: gitError,
		operation: func(in *call) (skill.Args, error) {
			return skill.GitBranch{Dir: in.str("repo_path"), Create: in.str("create"), Delete: in.str("delete"), Force: in.flag("force")}, nil
		},
		reply: typed(branchReply),
	},
	{
		Name: "git_log", Doc: "List commits, latest first: short hash and subject.",
		Params: []Param{repoParam,
			{Name: "limit", Type: "integer", Default: json.Number("10"), Doc: "most commits; a negative number means all"}},
		Effect: Reads, Idempotent: true, reword: gitError,
		operation: func(in *call) (skill.Args, error) {
			return skill.GitLog{Dir: in.str("repo_path"), Limit: in.int("limit")}, nil
		},
		reply: typed(func(_ *call, l skill.RepoLog) string {
			return success(struct {
				Commits   []string `json:"commits"`
				Count     int      `json:"count"`
				Truncated bool     `json:"truncated,omitempty"`
			}{append([]string{}, l.Commits...), len(l.Commits), l.Truncated})
		}),
	},
	{
		Name: "git_diff", Doc: "Show uncommitted changes: the unstaged ones, or with staged the staged ones.",
		Params: []Param{repoParam,
			{Name: "file", Type: "string", Path: true, Doc: "only this file, relative to repo_path"},
			{Name: "staged", Type: "boolean", Default: false, Doc: "show the staged changes instead"}},
		Effect: Reads, Idempotent: true, reword: gitError,
		operation: func(in *call) (skill.Args, error) {
			return skill.GitDiff{Dir: in.str("repo_path"), File: in.str("file"), Staged: in.flag("staged")}, nil
		},
		reply: typed(diffReply),
	},
}

var (
	repoParam   = Param{Name: "repo_path", Type: "string", Path: true, Default: ".", Doc: "a folder in the repository, which must be inside the workspace"}
	remoteParam = Param{Name: "remote", Type: "string", Default: "origin", Doc: "the name of a remote in the repository's configuration"}
)

// remoteReply is what a push or a pull answers.
type remoteReply struct {
	Remote string   `json:"remote"`
	Branch any      `json:"branch"`
	Output string   `json:"output"`
	NotRun []string `json:"not_run,omitempty"`
	undoKeys
}

// fileState is what has become of a file, in the letters of git.
type fileState struct {
	Path     string `json:"path"`
	From     string `json:"from,omitempty"`
	Index    string `json:"index,omitempty"`
	Worktree string `json:"worktree,omitempty"`
}

func statusReply(in *call, st skill.RepoStatus) string {
	a := struct {
		Files     []string    `json:"files"`
		Count     int         `json:"count"`
		Repo      string      `json:"repo"`
		States    []fileState `json:"states,omitempty"`
		Branch    string      `json:"branch,omitempty"`
		Detached  bool        `json:"detached,omitempty"`
		State     string      `json:"state,omitempty"` // "merge", "rebase": not finished
		Unmerged  []string    `json:"unmerged,omitempty"`
		Upstream  string      `json:"upstream,omitempty"`
		Ahead     int         `json:"ahead,omitempty"`
		Behind    int         `json:"behind,omitempty"`
		Truncated bool        `json:"truncated,omitempty"`
		NotRun    []string    `json:"not_run,omitempty"`
	}{Files: []string{}, Count: len(st.Files), Repo: in.str("repo_path"), Branch: st.Branch, Detached: st.Branch == "", State: st.State, Upstream: st.Upstream,
		Ahead: st.Ahead, Behind: st.Behind, Truncated: st.Truncated, NotRun: st.NotRun}
	for _, f := range st.Files {
		a.Files = append(a.Files, f.Path)
		if f.Unmerged {
			a.Unmerged = append(a.Unmerged, f.Path)
		}
		a.States = append(a.States, fileState{f.Path, f.From, f.Index, f.Worktree})
	}
	return success(a)
}

func branchReply(_ *call, b skill.Branches) string {
	if b.Created == "" && b.Deleted == "" {
		return success(struct {
			Branches  []string `json:"branches"`
			Count     int      `json:"count"`
			Current   string   `json:"current,omitempty"`
			Truncated bool     `json:"truncated,omitempty"`
		}{append([]string{}, b.Names...), len(b.Names), b.Current, b.Truncated})
	}
	return success(struct {
		Created string `json:"created,omitempty"`
		Deleted string `json:"deleted,omitempty"`
		Output  string `json:"output,omitempty"`
	}{b.Created, b.Deleted, b.Output})
}

func diffReply(_ *call, d skill.RepoDiff) string {
	a := struct {
		Diff    string   `json:"diff"`
		Changes bool     `json:"has_changes"`
		Omitted int64    `json:"omitted_bytes,omitempty"`
		Note    string   `json:"note,omitempty"`
		NotRun  []string `json:"not_run,omitempty"`
	}{Diff: string(d.Text), Changes: len(d.Text) > 0, Omitted: d.Cut, NotRun: d.NotRun}
	if d.Cut > 0 {
		a.Note = fmt.Sprintf("%d bytes are left out in the middle; name a file to see all of its changes", d.Cut)
	}
	return success(a)
}

// gitError adds to an error of git how the program ended.
func gitError(in *call, err error) error {
	if failed, ok := errors.AsType[*skill.GitError](err); ok {
		return withKeys(err, struct {
			Output string `json:"output"`
			Code   int    `json:"returncode"`
		}{failed.Output, failed.ExitCode})
	}
	if start, ok := errors.AsType[*skill.SpawnError](err); ok && errors.Is(start.Err, fs.ErrNotExist) {
		return failf("git not found")
	}
	if dir, ok := errors.AsType[*fs.PathError](err); ok && dir.Op == "chdir" && errors.Is(err, fs.ErrNotExist) {
		return failf("Path not found: %s", in.str("repo_path"))
	}
	return err
}
