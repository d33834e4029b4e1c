package skill

import (
	"context"

	"textskill/skill/internal/git"
)

// GitStatus lists the files that differ from the last commit. It changes nothing, not even
// the index. It returns a [RepoStatus].
type GitStatus struct {
	Dir string // any directory of the repository; "" means the session's directory
}

// GitCommit stages files and commits what is staged. It returns a [Committed].
type GitCommit struct {
	Dir     string // any directory of the repository; "" means the session's directory
	Message string
	Files   []string // paths relative to Dir, not patterns; none means all that have changed
	Force   bool     // commit unmerged paths and conflict markers too
}

// GitPush pushes a branch to a remote. It returns a [Pushed].
type GitPush struct {
	Dir    string // any directory of the repository; "" means the session's directory
	Remote string // a name from its configuration
	Branch string // "" means the branch that is checked out
}

// GitPull pulls from a remote. Whether it merges or rebases depends on git's configuration.
// It returns a [Pulled].
type GitPull struct {
	Dir    string // any directory of the repository; "" means the session's directory
	Remote string // a name from its configuration
	Branch string // "" means the upstream branch
	Abort  bool   // instead, go back from a merge or rebase that a pull left unfinished
}

// GitBranch lists the branches of a repository, creates one or deletes one. It returns a
// [Branches].
type GitBranch struct {
	Dir    string // any directory of the repository; "" means the session's directory
	Create string // branch to create at HEAD and check out; "" for none
	Delete string // branch to delete if Create is ""; "" for none
	Force  bool   // delete the branch even if it is not fully merged
}

// GitLog lists the commits that HEAD reaches, the latest first. It returns a [RepoLog].
type GitLog struct {
	Dir   string // any directory of the repository; "" means the session's directory
	Limit int    // maximum number of commits; negative means 10,000
}

// GitDiff returns the changes that are not committed, as a unified diff. It returns a
// [RepoDiff].
type GitDiff struct {
	Dir  string // any directory of the repository; "" means the session's directory
	File string // path relative to Dir; "" means all files
	// staged changes against the last commit, instead of unstaged changes against the staged ones
	Staged bool
}

func (GitStatus) op() {}
func (GitCommit) op() {}
func (GitPush) op()   {}
func (GitPull) op()   {}
func (GitBranch) op() {}
func (GitLog) op()    {}
func (GitDiff) op()   {}

// Results of the operations on repositories.
type (
	RepoStatus = git.Status    // of GitStatus
	FileState  = git.FileState // a changed file of a RepoStatus
	Committed  = git.Committed // of GitCommit
	Pushed     = git.Pushed    // of GitPush
	Pulled     = git.Pulled    // of GitPull
	Branches   = git.Branches  // of GitBranch
	RepoLog    = git.Log       // of GitLog
	RepoDiff   = git.Diff      // of GitDiff
)

// A GitError reports a git command that failed.
type GitError = git.Error

func (x *Executor) GitStatus(ctx context.Context, s *Session, a GitStatus) (RepoStatus, error) {
	return x.git.Status(ctx, s.Dir, a.Dir)
}

func (x *Executor) GitCommit(ctx context.Context, s *Session, a GitCommit) (done Committed, err error) {
	defer x.followed(s, "gitcommit", &done)()
	return x.git.Commit(ctx, s.Dir, a.Dir, a.Message, a.Files, a.Force)
}

func (x *Executor) GitPush(ctx context.Context, s *Session, a GitPush) (Pushed, error) {
	return x.git.Push(ctx, s.Dir, a.Dir, a.Remote, a.Branch)
}

func (x *Executor) GitPull(ctx context.Context, s *Session, a GitPull) (done Pulled, err error) {
	defer x.followed(s, "gitpull", &done)()
	if a.Abort {
		return x.git.Abort(ctx, s.Dir, a.Dir)
	}
	return x.git.Pull(ctx, s.Dir, a.Dir, a.Remote, a.Branch)
}

func (x *Executor) GitBranch(ctx context.Context, s *Session, a GitBranch) (done Branches, err error) {
	defer x.followed(s, "gitbranch", &done)()
	return x.git.Branch(ctx, s.Dir, git.BranchChange(a))
}

func (x *Executor) GitLog(ctx context.Context, s *Session, a GitLog) (RepoLog, error) {
	return x.git.Log(ctx, s.Dir, a.Dir, a.Limit)
}

func (x *Executor) GitDiff(ctx context.Context, s *Session, a GitDiff) (RepoDiff, error) {
	return x.git.Diff(ctx, s.Dir, a.Dir, a.File, a.Staged)
}
