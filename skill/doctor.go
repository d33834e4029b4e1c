package skill

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"textskill/skill/internal/history"
	"textskill/skill/internal/process"
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
	List []history.Report
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

func inspected(r history.Report) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, "  "+fmt.Sprintf(format, args...)) }
	if r.Last == 0 {
		add("it holds no changes")
	} else {
		add("it holds changes %d to %d, and is %s large", r.First, r.Last, words.Size(r.Bytes))
	}
	if len(r.Damaged) > 0 {
		add("damaged records, of which nothing is known: %v", r.Damaged)
	}
	if len(r.Missing) > 0 {
		add("changes that cannot be undone, because what they took away is missing: %v", r.Missing)
	}
	for _, path := range r.Packs {
		add("damaged, and some contents of it are lost: %s", path)
	}
	for _, path := range r.Orphans {
		add("kept for 30 days, though no change names it: %s", path)
	}
	for _, path := range r.Gone {
		add("waits to be deleted: %s", path)
	}
	for _, h := range r.Holders {
		add("process %d (%s) holds the lock", h.PID, h.Command)
	}
	if r.Calls > 0 {
		add("%s", words.Count(r.Calls, "call of another agent has not ended",
			"calls of other agents have not ended"))
	}
	if r.Running > 0 {
		add("%s now", words.Count(r.Running, "command runs", "commands run"))
	}
	if r.Apart {
		add("it lies on another file system than the folder: git's objects that a command removes do not come back")
	}
	for _, path := range r.Older {
		add("an older version of skill left a history, which this one does not read: %s", path)
	}
	return lines
}

// damagedNote says how many records are damaged; "" if none is.
func damagedNote(n int, program string) string {
	if n == 0 {
		return ""
	}
	return words.Count(n, "record of the history is", "records of the history are") + " damaged; " +
		program + " doctor lists the changes"
}

// Health reports on the running program. It returns a [HealthReport].
type Health struct{}

func (Health) op() {}

// HealthReport is the result of [Health]. It contains nothing of the environment.
type HealthReport struct {
	Workspace           string        // absolute
	Uptime              time.Duration // since the executor was opened
	HeapUsed, HeapTotal uint64        // bytes of heap objects; bytes of heap obtained from the system
	PID                 int
	Fence               Fence // the fence that a command would get now
}

// Message names the workspace.
func (h HealthReport) Message() string { return "ready at " + h.Workspace }

func (x *Executor) Health(context.Context, *Session, Health) (HealthReport, error) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return HealthReport{
		Workspace: x.Dir(),
		Uptime:    time.Since(x.opened),
		HeapUsed:  m.HeapAlloc,
		HeapTotal: m.HeapSys - m.HeapReleased,
		PID:       os.Getpid(),
		Fence:     x.process.Fence(),
	}, nil
}

// FenceReport says what commands may use: see [Executor.FenceReport].
type FenceReport = process.FenceReport

// FenceReport returns what commands may read and write, and which variables they do not get.
func (x *Executor) FenceReport() FenceReport { return x.process.FenceReport() }
