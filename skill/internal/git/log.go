package git

import (
	"context"
	"strconv"
	"textskill/skill/internal/words"
)

// A Log is a list of commits.
type Log struct {
	Commits   []string // short hash and subject
	Truncated bool     // an answer does not carry all that were asked for
}

// Message says how many commits there are.
func (r Log) Message() string { return words.Count(len(r.Commits), "commit", "commits") }

// mostCommits is how many commits an answer carries.
const mostCommits = 10000

// Log lists the commits that lead to the one checked out, latest first. A negative
// limit means as many as an answer carries.
func (x *Git) Log(ctx context.Context, base, dir string, limit int) (Log, error) {
	r, err := x.openRepository(ctx, base, dir, false)
	if err != nil {
		return Log{}, err
	}
	defer r.dir.Close()
	if limit < 0 || limit > mostCommits {
		limit = mostCommits + 1
	}
	e, err := r.git(ctx, command{maxOutput: 4 << 20, args: []string{"log", "-z", "--max-count=" + strconv.Itoa(limit),
		"--format=%h %s", "--no-decorate", "--no-notes", "--no-show-signature", "--no-color", "--no-patch", "--encoding=UTF-8", "--end-of-options", "--"}})
	if err != nil {
		return Log{}, err
	}
	commits, cut := fields(e)
	if len(commits) > mostCommits {
		commits, cut = commits[:mostCommits], true
	}
	return Log{commits, cut}, nil
}
