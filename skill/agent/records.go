package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"textskill/skill"
)

// runsDir is the directory of the recorded runs, relative to the workspace.
const runsDir = "perstack/runs"

// Records reads the recorded runs of a workspace. Other programs may have changed the
// records, so it validates them.
type Records struct {
	Executor *skill.Executor // on the workspace
}

// ErrNoCheckpoint is the error of [Records.Latest] for a run without checkpoints.
//
//lint:ignore ST1005 the wording of the original runtime
var ErrNoCheckpoint = errors.New("No checkpoint found")

// A RecordName is the file name of a checkpoint or event, in parts.
type RecordName struct {
	Kind       string // "checkpoint" or "event"
	Timestamp  int64  // milliseconds since 1970
	StepNumber int
	Of         string // the checkpoint's id or the event's type
}

// String returns the name of the file.
func (n RecordName) String() string {
	return n.Kind + "-" + strconv.FormatInt(n.Timestamp, 10) + "-" + strconv.Itoa(n.StepNumber) + "-" + n.Of + ".json"
}

var recordName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(checkpoint|event)-(\d{1,18})-(\d{1,9})-([A-Za-z0-9]+)\.json$`)
})

func parseRecordName(file string) (RecordName, bool) {
	m := recordName().FindStringSubmatch(file)
	if m == nil {
		return RecordName{}, false
	}
	n := RecordName{Kind: m[1], Of: m[4]}
	n.Timestamp, _ = strconv.ParseInt(m[2], 10, 64)
	n.StepNumber, _ = strconv.Atoi(m[3])
	return n, true
}

// Runs returns the settings of all runs, the most recently updated run first. It leaves out
// runs whose setting cannot be read.
func (r Records) Runs(ctx context.Context) ([]RunSetting, error) {
	names, err := r.list(ctx, runsDir)
	if err != nil {
		return nil, err
	}
	var runs []RunSetting
	for _, name := range names {
		if checkRunID(name) != nil {
			continue
		}
		var s RunSetting
		if r.read(ctx, path.Join(runsDir, name, settingFile), &s) == nil && s.RunID == name {
			runs = append(runs, s)
		}
	}
	slices.SortStableFunc(runs, func(a, b RunSetting) int { return cmp.Compare(b.UpdatedAt, a.UpdatedAt) })
	return runs, nil
}

// Files returns the names of a run's checkpoints and events, the oldest first.
func (r Records) Files(ctx context.Context, runID string) ([]RecordName, error) {
	if err := checkRunID(runID); err != nil {
		return nil, err
	}
	names, err := r.list(ctx, path.Join(runsDir, runID))
	if err != nil {
		return nil, err
	}
	var files []RecordName
	for _, name := range names {
		if n, ok := parseRecordName(name); ok {
			files = append(files, n)
		}
	}
	slices.SortStableFunc(files, func(a, b RecordName) int { return cmp.Compare(a.Timestamp, b.Timestamp) })
	return files, nil
}

// Event returns an event of a run.
func (r Records) Event(ctx context.Context, runID string, n RecordName) (e Event, err error) {
	return e, r.read(ctx, path.Join(runsDir, runID, n.String()), &e)
}

// Latest returns the last checkpoint of a run that can be read together with all
// checkpoints before it. It has the messages of all steps. For a run without checkpoints
// the error is [ErrNoCheckpoint]; if no checkpoint can be read, it is that of the last one.
func (r Records) Latest(ctx context.Context, runID string) (Checkpoint, error) {
	files, err := r.checkpoints(ctx, runID)
	if err != nil {
		return Checkpoint{}, err
	}
	if len(files) == 0 {
		return Checkpoint{}, ErrNoCheckpoint
	}
	var first error
	for _, n := range slices.Backward(files) {
		c, err := r.complete(ctx, runID, files, n)
		if err == nil || ctx.Err() != nil {
			return c, err
		}
		first = cmp.Or(first, err)
	}
	return Checkpoint{}, first
}

// Checkpoint returns a checkpoint of a run with the messages of all steps. The name is its
// id, or the part of its file name between "checkpoint-" and ".json".
func (r Records) Checkpoint(ctx context.Context, runID, name string) (Checkpoint, error) {
	files, n, err := r.find(ctx, runID, name)
	if err != nil {
		return Checkpoint{}, err
	}
	return r.complete(ctx, runID, files, n)
}

// Recorded returns a checkpoint as it is stored, with the messages of its own step only.
// The name is that of [Records.Checkpoint].
func (r Records) Recorded(ctx context.Context, runID, name string) (Checkpoint, error) {
	_, n, err := r.find(ctx, runID, name)
	if err != nil {
		return Checkpoint{}, err
	}
	return r.checkpoint(ctx, runID, n)
}

// find returns all checkpoints of a run, and the one with this name.
func (r Records) find(ctx context.Context, runID, name string) ([]RecordName, RecordName, error) {
	files, err := r.checkpoints(ctx, runID)
	if err != nil {
		return nil, RecordName{}, err
	}
	file := "checkpoint-" + name + ".json"
	i := slices.IndexFunc(files, func(n RecordName) bool { return n.Of == name || n.String() == file })
	if i < 0 {
		file = path.Join(r.Executor.Dir(), runsDir, runID, file)
		return nil, RecordName{}, errors.New("ENOENT: no such file or directory, open '" + file + "'")
	}
	return files, files[i], nil
}

func (r Records) checkpoints(ctx context.Context, runID string) ([]RecordName, error) {
	files, err := r.Files(ctx, runID)
	return slices.DeleteFunc(files, func(n RecordName) bool { return n.Kind != "checkpoint" }), err
}

// complete reads a checkpoint and adds the messages of those before it.
func (r Records) complete(ctx context.Context, runID string, files []RecordName, n RecordName) (Checkpoint, error) {
	last, err := r.checkpoint(ctx, runID, n)
	if err != nil {
		return last, err
	}
	chain := [][]Message{last.Messages}
	for parent := last.ParentID; parent != ""; {
		i := slices.IndexFunc(files, func(n RecordName) bool { return n.Of == parent })
		if i < 0 {
			return last, fmt.Errorf("%s: the checkpoint %s before it is not there", n, parent)
		}
		c, err := r.checkpoint(ctx, runID, files[i])
		if err != nil {
			return last, err
		}
		files = slices.Delete(slices.Clone(files), i, i+1) // a loop of parents ends here
		chain = append(chain, c.Messages)
		parent = c.ParentID
	}
	slices.Reverse(chain)
	last.Messages = slices.Concat(chain...)
	return last, nil
}

func (r Records) checkpoint(ctx context.Context, runID string, n RecordName) (c Checkpoint, err error) {
	if err = r.read(ctx, path.Join(runsDir, runID, n.String()), &c); err != nil {
		return c, err
	}
	if c.ID != n.Of || c.StepNumber != n.StepNumber || c.RunID != runID {
		return c, fmt.Errorf("%s holds the checkpoint %q of step %d of the run %q", n, c.ID, c.StepNumber, c.RunID)
	}
	return c, nil
}

// list returns the names in a directory, none if it does not exist.
func (r Records) list(ctx context.Context, dir string) (names []string, err error) {
	l, err := r.Executor.Execute(ctx, &skill.Session{}, skill.ListFolder{Path: dir})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range l.(skill.Listed).Entries {
		names = append(names, e.Name)
	}
	return names, nil
}

func (r Records) read(ctx context.Context, file string, v any) error {
	data, err := r.Executor.Execute(ctx, &skill.Session{}, skill.ReadFile{Path: file})
	if err != nil {
		return err
	}
	err = json.Unmarshal(data.(skill.FileRead).Content, v)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return &damagedError{file, cmp.Or(wrong.Field, "the file") + " holds a " + wrong.Value}
	}
	if err != nil {
		return &damagedError{file, err.Error()}
	}
	return nil
}

// A damagedError reports a record that cannot be parsed.
type damagedError struct{ file, why string }

func (e *damagedError) Error() string { return e.file + ": " + e.why }

// checkRunID returns an error if id cannot be the name of a run's directory.
func checkRunID(id string) error {
	if id == "" || len(id) > 128 || strings.HasPrefix(id, ".") || strings.HasSuffix(id, ".") ||
		strings.ContainsFunc(id, func(c rune) bool { return !strings.ContainsRune(runIDChars, c) }) {
		return fmt.Errorf("run id %q is none: it is letters, digits and - _ . inside, at most 128", id)
	}
	return nil
}

const runIDChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
