package history

import (
	"cmp"
	"slices"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// An Op is one line of the log: a change of the workspace by a tool, a command or an undo.
type Op struct {
	ID      int64     `json:"id"`               // from 1; given by [Tx.Add]
	Undoes  int64     `json:"undoes,omitempty"` // ID of the op that this op undoes
	Void    bool      `json:"void,omitempty"`   // the op with this ID counts as never made
	Time    time.Time `json:"time"`             // given by [Tx.Add]
	Kind    string    `json:"kind,omitempty"`
	Dialect string    `json:"dialect,omitempty"`
	Tool    string    `json:"tool,omitempty"`
	Command string    `json:"command,omitempty"`
	Run     string    `json:"run,omitempty"` // the run of an expert, or the session of another agent
	RunStep int       `json:"runStep,omitempty"`
	Host    string    `json:"host,omitempty"`  // the program of another agent, which reported the change
	Agent   string    `json:"agent,omitempty"` // the kind of the agent's sub-agent; "" for the agent itself
	Note    string    `json:"note,omitempty"`  // why the op cannot be undone; "" if it can
	// the commands in whose windows the changes were made; nil for a tool, an edit or an undo
	Owners  []Owner `json:"owners,omitempty"`
	Unsure  string  `json:"unsure,omitempty"`  // why no change of the op is proven
	Part    bool    `json:"part,omitempty"`    // of an undo: some paths of the change stayed
	NotSeen []Name  `json:"notSeen,omitempty"` // folders in which a look did not see changes
	Left    []Left  `json:"left,omitempty"`    // other changes, which undo does not revert
	More    int     `json:"more,omitempty"`    // how many further changes Left omits
	// the begin of the windows and the end of the look, by the file system's clock in nanoseconds; 0 if not known
	Began  int64    `json:"began,omitempty"`
	Ended  int64    `json:"ended,omitempty"`
	Opened []Opened `json:"opened,omitempty"` // of an undo: folders that were read-only
	// the change times of files without a sum, in nanoseconds: as the op left them, if it moved them
	Times   map[Name]int64 `json:"times,omitempty"`
	Quiet   bool           `json:"quiet,omitempty"`   // an undo without an ID skips the op
	Objects []Lost         `json:"objects,omitempty"` // git's objects that a command removed
	Deltas  []Delta        `json:"deltas,omitempty"`
}

// A Left is a change of an op that undo does not revert.
type Left struct {
	Path Name   `json:"path,omitempty"` // "" if it is not about one path
	Why  string `json:"why"`
	Lost bool   `json:"lost,omitempty"` // the change is the op's own, and its earlier state is not known
}

// A Delta is the change of an op at one path.
type Delta struct {
	Path    Name  `json:"path"`
	From    Name  `json:"from,omitempty"` // of a move by a tool: the earlier path
	Before  Entry `json:"before,omitzero"`
	After   Entry `json:"after,omitzero"`
	InPlace bool  `json:"inPlace,omitempty"` // the file has hard links, and keeps its inode
	Linked  Name  `json:"linked,omitempty"`  // another name of the file before, which had hard links
	// the file is written in place: after a kill it may hold a part of the content
	Torn   bool    `json:"torn,omitempty"`
	Added  bool    `json:"added,omitempty"`  // After is Before with more at the end
	Splice *Splice `json:"splice,omitempty"` // how Before becomes After
	// when the path changed, by the file system's clock in nanoseconds; only if an owner's end was not told
	Changed int64 `json:"changed,omitempty"`
	Unsure  bool  `json:"unsure,omitempty"` // others may have made the change
}

// A Splice replaces Old bytes at Offset of a content with New.
type Splice struct {
	Offset int64  `json:"at"`
	Old    int64  `json:"old,omitempty"`
	New    []byte `json:"new,omitempty"`
}

// MaxSplice is the largest number of new bytes in a splice.
const MaxSplice = 16 << 10

// isMode reports whether a delta changes only permissions.
func (d Delta) isMode() bool { return d.Before.Kind != absent && d.Before.Same(d.After) }

// reversed returns the deltas that undo the given deltas, in reverse order.
func reversed(deltas []Delta) []Delta {
	back := make([]Delta, 0, len(deltas))
	moved := map[Name]Name{}
	for _, d := range deltas {
		if d.From != "" {
			moved[d.From] = d.Path
		}
	}
	for _, d := range slices.Backward(deltas) {
		back = append(back, Delta{
			Path: d.Path, From: moved[d.Path], Before: d.After, After: d.Before, InPlace: d.InPlace,
			Torn: d.Torn, Added: d.Added, Linked: d.Linked,
		})
	}
	return back
}

// byPath compares paths such that a folder comes right before its entries.
func byPath(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] == b[i] {
			continue
		}
		switch {
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		}
		return int(a[i]) - int(b[i])
	}
	return len(a) - len(b)
}

func sortedEntries(d tree.Folder) ([]tree.Entry, error) {
	entries, err := d.Entries()
	slices.SortFunc(entries, func(a, b tree.Entry) int { return cmp.Compare(a.Name, b.Name) })
	return entries, err
}
