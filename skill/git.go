package skill

import (
	"context"

	"textskill/skill/internal/git"
)

// GitStatus finds out which files of a repository differ from its last commit. It
// changes nothing, the index neither.
type GitStatus struct {
	Dir string // in the repository; "" means the session's folder
}

// GitCommit stages files and commits what is staged.
type GitCommit struct {
	Dir     string // in the repository
	Message string
	Files   []string // names from Dir, not patterns; none means all that has changed
}

// GitPush sends commits to a remote.
type GitPush struct {
	Dir    string // in the repository
	Remote string // a name from its configuration
	Branch string // "" means the one checked out
}

// GitPull fetches commits from a remote and merges them, or puts the branch's own
// on top of them, as the configuration says.
type GitPull struct {
	Dir    string // in the repository
	Remote string // a name from its configuration
	Branch string // "" means the one that the branch checked out follows
}

// GitBranch lists the branches of a repository, makes one or deletes one.
type GitBranch struct {
	Dir    string // in the repository
	Create string // the name of a branch to make at the commit checked out, and to check out; "" for none
	Delete string // the name of a branch to delete, if none is made; "" for none
	Force  bool   // delete it even if it holds commits that are nowhere else
}

// GitLog lists the commits that lead to the one checked out, latest first.
type GitLog struct {
	Dir   string // in the repository
	Limit int    // how many; a negative one means as many as an answer carries
}

// GitDiff shows the changes that are not committed, in unified format.
type GitDiff struct {
	Dir    string // in the repository
	File   string // only this one, from Dir; "" means all
	Staged bool   // what is staged against the last commit; else what is not, against what is staged
}

func (GitStatus) op() {}
func (GitCommit) op() {}
func (GitPush) op()   {}
func (GitPull) op()   {}
func (GitBranch) op() {}
func (GitLog) op()    {}
func (GitDiff) op()   {}

// What git found or did.
type (
	RepoStatus = git.Status
	FileState  = git.FileState
	Committed  = git.Committed
	Pushed     = git.Pushed
	Pulled     = git.Pulled
	Branches   = git.Branches
	RepoLog    = git.Log
	RepoDiff   = git.Diff
)

// A GitError reports a git command that did not succeed.
type GitError = git.Error

func (x *Executor) gitStatus(ctx context.Context, s *Session, a GitStatus) (Result, error) {
	return x.git.Status(ctx, s.Dir, a.Dir)
}

func (x *Executor) gitCommit(ctx context.Context, s *Session, a GitCommit) (Result, error) {
	return x.git.Commit(ctx, s.Dir, a.Dir, a.Message, a.Files)
}

func (x *Executor) gitPush(ctx context.Context, s *Session, a GitPush) (Result, error) {
	return x.git.Push(ctx, s.Dir, a.Dir, a.Remote, a.Branch)
}

func (x *Executor) gitPull(ctx context.Context, s *Session, a GitPull) (Result, error) {
	return x.git.Pull(ctx, s.Dir, a.Dir, a.Remote, a.Branch)
}

func (x *Executor) gitBranch(ctx context.Context, s *Session, a GitBranch) (Result, error) {
	return x.git.Branch(ctx, s.Dir, git.BranchChange(a))
}

func (x *Executor) gitLog(ctx context.Context, s *Session, a GitLog) (Result, error) {
	return x.git.Log(ctx, s.Dir, a.Dir, a.Limit)
}

func (x *Executor) gitDiff(ctx context.Context, s *Session, a GitDiff) (Result, error) {
	return x.git.Diff(ctx, s.Dir, a.Dir, a.File, a.Staged)
}
