package skill

import (
	"context"
	"fmt"
	"strings"
	"time"

	"textskill/skill/internal/state"
	"textskill/skill/internal/words"
)

// Inspect says where the history of each folder of the workspace is, why, and in which
// state. It changes nothing.
func (x *Executor) Inspect(ctx context.Context) (Inspected, error) {
	list, err := x.ws.Inspect(ctx)
	return Inspected{list}, err
}

// Inspected describes histories, the workspace's own first.
type Inspected struct {
	List []state.Report
}

// Message describes each history in some lines.
func (i Inspected) Message() string {
	var lines []string
	for _, r := range i.List {
		lines = append(lines, r.Place.Explain())
		lines = append(lines, inspected(r)...)
	}
	return strings.Join(lines, "\n")
}

func inspected(r state.Report) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, "  "+fmt.Sprintf(format, args...)) }
	if len(r.Segments) == 0 {
		add("it holds no changes")
	} else {
		last := len(r.Segments) - 1
		add("it holds changes %d to %d in %s, %d bytes in all", r.Segments[0].First, r.Segments[last].Last, words.Count(len(r.Segments), "block", "blocks"), r.Bytes)
	}
	if len(r.Damaged) > 0 {
		add("damaged records, of which nothing is known: %v", r.Damaged)
	}
	if len(r.NoImage) > 0 {
		add("changes that cannot be undone, because what they took away is missing: %v", r.NoImage)
	}
	for _, path := range r.NoRecord {
		add("kept without a record, until its block is dropped: %s", path)
	}
	for _, path := range r.Gone {
		add("waits to be deleted: %s", path)
	}
	for _, h := range r.Holders {
		add("process %d (%s) holds the lock %s", h.PID, h.Command, h.Lock)
	}
	for _, e := range r.Earlier {
		add("an earlier history of this path, last used %s: %s", e.Used.Local().Format(time.DateTime), e.Key)
	}
	if r.OldJournal != "" {
		add("the journal of an older version, which the next change imports: %s", r.OldJournal)
	}
	return lines
}

// damagedNote says how many records are damaged; "" if none is.
func damagedNote(n int, program string) string {
	if n == 0 {
		return ""
	}
	return words.Count(n, "record", "records") + " of the history damaged; " + program + " doctor lists the changes"
}
