package skill

import (
	"context"
	"strconv"
	"textskill/skill/internal/words"
)

// GitLog lists the commits that lead to the one checked out, latest first.
type GitLog struct {
	Dir   string // in the repository
	Limit int    // how many; a negative one means as many as an answer carries
}

func (GitLog) op() {}

// RepoLog is a list of commits.
type RepoLog struct {
	Commits   []string // short hash and subject
	Truncated bool     // an answer does not carry all that were asked for
}

// Message says how many commits there are.
func (r RepoLog) Message() string { return words.Count(len(r.Commits), "commit", "commits") }

// mostCommits is how many commits an answer carries.
const mostCommits = 10000

func (x *Executor) gitLog(ctx context.Context, s *Session, a GitLog) (Result, error) {
	r, err := x.openRepository(ctx, s, a.Dir, false)
	if err != nil {
		return nil, err
	}
	defer r.dir.Close()
	limit := a.Limit
	if limit < 0 || limit > mostCommits {
		limit = mostCommits + 1
	}
	e, err := r.git(ctx, gitCommand{maxOutput: 4 << 20, args: []string{"log", "-z", "--max-count=" + strconv.Itoa(limit),
		"--format=%h %s", "--no-decorate", "--no-notes", "--no-show-signature", "--no-color", "--no-patch", "--encoding=UTF-8", "--end-of-options", "--"}})
	if err != nil {
		return nil, err
	}
	commits, cut := fields(e)
	if len(commits) > mostCommits {
		commits, cut = commits[:mostCommits], true
	}
	return RepoLog{commits, cut}, nil
}
