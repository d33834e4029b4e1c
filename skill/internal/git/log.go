package git

import (
	"context"
	"strconv"

	"textskill/skill/internal/words"
)

// A Log is a list of commits.
type Log struct {
	Commits   []string // short hash and subject of each, the latest first
	Truncated bool     // fewer commits than requested: see maxCommits
}

// Message says how many commits there are.
func (r Log) Message() string { return words.Count(len(r.Commits), "commit", "commits") }

// maxCommits is how many commits a Log holds at most.
const maxCommits = 10000

// Log lists the commits that HEAD reaches, the latest first: at most limit, or as many
// as a Log holds if limit is negative.
func (x *Git) Log(ctx context.Context, base, dir string, limit int) (Log, error) {
	r, err := x.openRepository(ctx, base, dir, false)
	if err != nil {
		return Log{}, err
	}
	defer r.close()
	if limit < 0 || limit > maxCommits {
		limit = maxCommits + 1
	}
	e, err := r.git(ctx, command{maxOutput: 4 << 20,
		args: []string{"log", "-z", "--max-count=" + strconv.Itoa(limit),
			"--format=%h %s", "--no-decorate", "--no-notes", "--no-show-signature", "--no-color",
			"--no-patch", "--encoding=UTF-8", "--end-of-options", "--"}})
	if err != nil {
		return Log{}, err
	}
	commits, cut := splitNUL(e)
	if len(commits) > maxCommits {
		commits, cut = commits[:maxCommits], true
	}
	return Log{commits, cut}, nil
}
