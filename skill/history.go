package skill

import (
	"context"
	"fmt"
	"strings"

	"textskill/skill/internal/words"
	"textskill/skill/internal/workspace"
)

// History lists the recorded changes, which can be undone. It returns [Changes].
type History struct {
	Path  string   // only changes of this file, or in this directory; "" means all
	Run   string   // only changes of this run of an expert; "" means all
	After []string // only changes after this [Executor.Position]; nil means all
	Limit int      // maximum number of changes; 0 means all
}

// Difference returns what a recorded change did, as a unified diff. It returns a
// [Compared].
type Difference struct{ ID string }

func (History) op()    {}
func (Difference) op() {}

// An Untracked is something that a command changed and that undo leaves as it is.
type Untracked = workspace.Untracked

// Changes is the result of [History].
type Changes struct {
	List    []workspace.HistoryEntry // the newest first
	More    int                      // number of changes beyond the limit; at [MaxMore] there may be more
	Damaged int                      // records that cannot be read

	of      string // the file and the run that were asked for
	program string // what to type for the program
}

// Message returns one line for each change.
func (c Changes) Message() string {
	damaged := damagedNote(c.Damaged, c.program)
	if len(c.List) == 0 && damaged == "" {
		return "no changes" + c.of + " are recorded"
	}
	lines := make([]string, len(c.List))
	for i, r := range c.List {
		lines[i] = strings.ReplaceAll(r.String(), "\n", `\n`) // a name can hold one
	}
	switch {
	case c.More == MaxMore:
		lines = append(lines, fmt.Sprintf("and %d older changes or more; a larger limit lists more", c.More))
	case c.More > 0:
		lines = append(lines, "and "+words.Count(c.More, "older change", "older changes")+
			"; a larger limit lists more")
	}
	if damaged != "" {
		lines = append(lines, damaged)
	}
	return strings.Join(lines, "\n")
}

// Compared is the result of [Difference].
type Compared struct{ ID, Diff string }

// Message returns the diff, or says that it is empty.
func (c Compared) Message() string {
	if c.Diff == "" {
		return "change " + c.ID + " left the content as it was"
	}
	return strings.TrimSuffix(c.Diff, "\n")
}

// MaxMore is how many changes beyond the limit are counted.
const MaxMore = 100

func (x *Executor) History(ctx context.Context, s *Session, a History) (Changes, error) {
	c := Changes{program: x.cfg.Program}
	var of string
	if a.Path != "" {
		abs, err := x.path(s, "path", a.Path)
		if err != nil {
			return Changes{}, err
		}
		of, c.of = abs, " of "+abs
	}
	if a.Run != "" {
		c.of += " of the run " + a.Run
	}
	if err := x.ws.SeeCalls(ctx, x.process.WalkAll); err != nil {
		return Changes{}, err
	}
	found := false
	for r, err := range x.ws.HistoryOf(ctx, of, a.After...) {
		if err != nil {
			return Changes{}, err
		}
		found = true
		switch {
		case a.Run != "" && r.Run != a.Run:
		case a.Limit <= 0 || len(c.List) < a.Limit:
			c.List = append(c.List, r)
		default:
			c.More++
		}
		if c.More == MaxMore {
			break
		}
	}
	if of != "" && !found {
		if _, err := x.ws.Stat(of, false); err != nil { // it is outside, or a mistake
			return Changes{}, err
		}
	}
	c.Damaged = x.ws.Damaged()
	return c, nil
}

func (x *Executor) Difference(ctx context.Context, _ *Session, a Difference) (Compared, error) {
	if a.ID == "" {
		return Compared{}, &ArgError{Arg: "id", Reason: "is required: the change to show"}
	}
	diff, err := x.ws.Difference(ctx, a.ID)
	return Compared{a.ID, diff}, err
}
