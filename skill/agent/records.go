package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"textskill/skill"
	"textskill/skill/internal/words"
)

// runsDir is the directory of the recorded runs, relative to the workspace.
const runsDir = "perstack/runs"

// Records reads the recorded runs of a workspace. Other programs may have changed the
// records, so it validates them.
type Records struct {
	Executor *skill.Executor // on the workspace

	sums    sums            // nil to read records whoever wrote them; see Confirmed
	last    string          // the record whose sum was noted last
	adopted map[string]bool // records whose sums were noted when they were found
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
	return n.Kind + "-" + strconv.FormatInt(n.Timestamp, 10) + "-" + strconv.Itoa(n.StepNumber) + "-" +
		n.Of + ".json"
}

var recordName = words.Pattern(`^(checkpoint|event)-(\d{1,18})-(\d{1,9})-([A-Za-z0-9]+)\.json$`)

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

// Runs returns the settings of all runs, the most recently updated run first. Of a run
// whose setting is damaged it returns what the other records say; a run without any is left
// out.
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
		s, err := r.Setting(ctx, name)
		if err != nil {
			files, _ := r.Files(ctx, name)
			if len(files) == 0 {
				continue
			}
			s = RunSetting{RunID: name, UpdatedAt: files[len(files)-1].Timestamp, Damage: err.Error()}
			if e, err := r.Event(ctx, name, files[0]); err == nil {
				s.ExpertKey = e.ExpertKey
			}
		}
		runs = append(runs, s)
	}
	slices.SortStableFunc(runs, func(a, b RunSetting) int { return cmp.Compare(b.UpdatedAt, a.UpdatedAt) })
	return runs, nil
}

// Setting returns how a run was started.
func (r Records) Setting(ctx context.Context, runID string) (s RunSetting, err error) {
	file := path.Join(runsDir, runID, settingFile)
	if err = r.read(ctx, file, &s); err == nil && s.RunID != runID {
		err = fmt.Errorf("%s: it is of the run %q", file, s.RunID)
	}
	return s, err
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

// Find is Files, and an error if there is no such run or nothing is recorded of it.
func (r Records) Find(ctx context.Context, runID string) ([]RecordName, error) {
	files, err := r.Files(ctx, runID)
	if err != nil || len(files) > 0 {
		return files, err
	}
	if _, err := r.Setting(ctx, runID); err == nil {
		return nil, fmt.Errorf("nothing is recorded of the run %s", runID)
	}
	return nil, fmt.Errorf("there is no run %s; \"%s log\" lists the runs", runID, r.Executor.Program())
}

// Event returns an event of a run.
func (r Records) Event(ctx context.Context, runID string, n RecordName) (e Event, err error) {
	return e, r.read(ctx, path.Join(runsDir, runID, n.String()), &e)
}

// Latest returns the last checkpoint of a run that can be read together with all
// checkpoints before it. It has the messages of all steps. Messages that a damaged checkpoint
// lacks are taken from the event that ended its step. For a run without checkpoints
// the error is [ErrNoCheckpoint]; if no checkpoint can be read, it is that of the last one.
func (r Records) Latest(ctx context.Context, runID string) (Checkpoint, error) {
	files, err := r.Files(ctx, runID)
	if err != nil {
		return Checkpoint{}, err
	}
	c, _, _, err := r.lastCheckpoint(ctx, runID, files)
	return c, err
}

// lastCheckpoint is Latest. It also returns the index of the checkpoint among the files,
// and what is damaged.
func (r Records) lastCheckpoint(ctx context.Context, runID string, files []RecordName) (c Checkpoint,
	at int, damage []string, err error) {
	err = ErrNoCheckpoint
	tried := map[string]bool{}
	for i, n := range slices.Backward(files) {
		id := n.Of
		if n.Kind == "event" {
			e, err := r.ending(ctx, runID, n)
			if err != nil {
				continue
			}
			id = e.Checkpoint.ID
		}
		if tried[id] {
			continue
		}
		tried[id] = true
		found, repaired, wrong := r.complete(ctx, runID, files, id)
		damage = append(damage, repaired...)
		if wrong == nil || ctx.Err() != nil {
			return found, i, damage, wrong
		}
		damage = append(damage, wrong.Error())
		if err == ErrNoCheckpoint {
			err = wrong
		}
	}
	return c, -1, damage, err
}

// errNoEnding says that an event does not end a step.
var errNoEnding = errors.New("the event holds no checkpoint")

// ending reads an event that ends a step.
func (r Records) ending(ctx context.Context, runID string, n RecordName) (Event, error) {
	if n.Kind != "event" || !endsStep(n.Of) {
		return Event{}, errNoEnding
	}
	e, err := r.Event(ctx, runID, n)
	if err == nil && (e.Checkpoint == nil ||
		e.Step == nil || e.Checkpoint.ID == "" ||
		e.Checkpoint.RunID != runID) {
		err = errNoEnding
	}
	return e, err
}

// Checkpoint returns a checkpoint of a run with the messages of all steps. The name is its
// id, or the part of its file name between "checkpoint-" and ".json".
func (r Records) Checkpoint(ctx context.Context, runID, name string) (Checkpoint, error) {
	n, err := r.find(ctx, runID, name)
	if err != nil {
		return Checkpoint{}, err
	}
	files, err := r.Files(ctx, runID)
	if err != nil {
		return Checkpoint{}, err
	}
	c, _, err := r.complete(ctx, runID, files, n.Of)
	return c, err
}

// Recorded returns a checkpoint as it is stored, with the messages of its own step only.
// The name is that of [Records.Checkpoint].
func (r Records) Recorded(ctx context.Context, runID, name string) (Checkpoint, error) {
	n, err := r.find(ctx, runID, name)
	if err != nil {
		return Checkpoint{}, err
	}
	return r.checkpoint(ctx, runID, n)
}

// find returns the record of the checkpoint of a run with this name.
func (r Records) find(ctx context.Context, runID, name string) (RecordName, error) {
	files, err := r.Find(ctx, runID)
	if err != nil {
		return RecordName{}, err
	}
	files = slices.DeleteFunc(files, func(n RecordName) bool { return n.Kind != "checkpoint" })
	file := "checkpoint-" + name + ".json"
	i := slices.IndexFunc(files, func(n RecordName) bool { return n.Of == name || n.String() == file })
	if i < 0 {
		file = path.Join(r.Executor.Dir(), runsDir, runID, file)
		return RecordName{}, fmt.Errorf("ENOENT: no such file or directory, open '%s'\n\"%s\" shows its checkpoints",
			file, r.Executor.CommandLine("log", "--run", runID))
	}
	return files[i], nil
}

// complete reads a checkpoint and adds the messages of those before it. It also returns
// which of them are damaged.
func (r Records) complete(ctx context.Context, runID string, files []RecordName, id string) (last Checkpoint,
	damage []string, err error) {
	var chain [][]Message
	after, seen := "the run "+runID, map[string]bool{} // a loop of parents ends at seen
	for next := id; next != ""; {
		c, name, repaired, err := r.stored(ctx, runID, files, next)
		switch {
		case seen[next]:
			err = fmt.Errorf("%s: the checkpoint %s before it is also after it", after, next)
		case errors.Is(err, fs.ErrNotExist):
			err = fmt.Errorf("%s: the checkpoint %s before it is not there", after, next)
		}
		if err != nil {
			return last, damage, err
		}
		if repaired != "" {
			damage = append(damage, repaired)
		}
		if next == id {
			last = c
		} else if last.Session == nil {
			last.Session = c.Session.withoutFiles()
		}
		seen[next], after = true, name
		chain = append(chain, c.Messages)
		if next = c.ParentID; c.Compacted {
			break
		}
	}
	slices.Reverse(chain)
	last.Messages = slices.Concat(chain...)
	return last, damage, nil
}

// stored returns a checkpoint by its id, with the messages of its step, and the name of
// its file. If the file is damaged or missing, the event that ended the step takes its
// place, and repaired says so.
func (r Records) stored(ctx context.Context, runID string, files []RecordName, id string) (c Checkpoint,
	name, repaired string, err error) {
	name, err = "the checkpoint "+id, fs.ErrNotExist
	if i := slices.IndexFunc(files, func(n RecordName) bool { return n.Kind == "checkpoint" && n.Of == id }); i >= 0 {
		name = files[i].String()
		if c, err = r.checkpoint(ctx, runID, files[i]); err == nil {
			return c, name, "", nil
		}
	}
	for _, n := range files {
		e, wrong := r.ending(ctx, runID, n)
		if wrong != nil || e.Checkpoint.ID != id {
			continue
		}
		c = *e.Checkpoint
		c.Messages = slices.Concat(e.Step.InputMessages, e.Step.NewMessages)
		for i := range c.Messages {
			c.Messages[i].Contents = withoutLostMedia(c.Messages[i].Contents)
		}
		return c, name, fmt.Sprintf("%s is damaged or missing; what %s holds of it is used", name, n), nil
	}
	return c, name, "", err
}

// withoutLostMedia puts a text in the place of images and files whose data is not in the
// events.
func withoutLostMedia(parts []Part) []Part {
	for i, p := range parts {
		if (p.Type == ImageInlinePart || p.Type == FileInlinePart) && p.EncodedData == "" {
			parts[i] = textPart(lostMedia)
		}
		parts[i].Contents = withoutLostMedia(p.Contents)
	}
	return parts
}

func (r Records) checkpoint(ctx context.Context, runID string, n RecordName) (c Checkpoint, err error) {
	if err = r.read(ctx, path.Join(runsDir, runID, n.String()), &c); err != nil {
		return c, err
	}
	if c.ID != n.Of || c.StepNumber != n.StepNumber || c.RunID != runID {
		return c, fmt.Errorf("%s holds the checkpoint %q of step %d of the run %q", n, c.ID,
			c.StepNumber, c.RunID)
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

// maxRecord is the size in bytes of the largest record that is read.
const maxRecord = 256 << 20

func (r Records) read(ctx context.Context, file string, v any) error {
	data, err := r.bytes(ctx, file)
	if err != nil {
		return err
	}
	err = json.Unmarshal(data, v)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s: %s holds a %s", file, cmp.Or(wrong.Field, "the file"), wrong.Value)
	}
	if err == nil {
		err = r.confirm(path.Base(file), data)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

func (r Records) bytes(ctx context.Context, file string) ([]byte, error) {
	data, err := r.Executor.Execute(ctx, &skill.Session{}, skill.ReadFile{Path: file, MaxBytes: maxRecord})
	if err != nil {
		return nil, err
	}
	return data.(skill.FileRead).Content, nil
}

// checkRunID returns an error if id cannot be the name of a run's directory.
func checkRunID(id string) error {
	if id == "" || len(id) > 128 ||
		strings.HasPrefix(id, ".") || strings.HasSuffix(id, ".") ||
		strings.ContainsFunc(id, func(c rune) bool { return !strings.ContainsRune(runIDChars, c) }) {
		return fmt.Errorf("invalid run ID %q: use letters, digits, - _ . (at most 128, no . at an end)", id)
	}
	return nil
}

const runIDChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
