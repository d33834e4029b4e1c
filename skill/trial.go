package skill

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"textskill/skill/internal/process"
	"textskill/skill/internal/trial"
	"textskill/skill/internal/words"
	"textskill/skill/internal/workspace"
	"textskill/skill/internal/workspace/tree"
)

// A Trial is a command that has run on a copy-on-write view of the workspace: see package trial.
type Trial = trial.Trial

// A TrialChange is a path that a trial changes, relative to the workspace.
type TrialChange = trial.Change

// A TrialConflictError lists the paths that others changed since a trial began.
type TrialConflictError = trial.ConflictError

// A TrialConfigError lists the files of a trial through which programs run code.
type TrialConfigError struct {
	ID    string
	Paths []string
}

func (e *TrialConfigError) Error() string {
	return fmt.Sprintf("%s changes files that can make other programs run code: %s", e.ID, strings.Join(e.Paths, ", "))
}

// trials returns the folder of trials.
func (x *Executor) trials() (string, error) {
	dir, err := x.ws.State("trials")
	if err != nil {
		return "", err
	}
	defer dir.Close()
	return dir.Name(), nil
}

// TrialReport says where trials of commands hold their changes, and how much each holds.
func (x *Executor) TrialReport(found Inspected) string {
	where, err := x.trialPlace(found)
	if err != nil {
		return "no command can be tried here: " + err.Error()
	}
	text := "trials of commands hold their changes in " + where
	list, _ := x.Trials() // an error means that there is no trial
	for _, t := range list {
		text += fmt.Sprintf("\n  %s holds %s: %s", t.ID, words.Size(t.Bytes()), t.Command)
	}
	return text
}

// trialPlace runs a trial, which it drops. Its error says why none can be.
func (x *Executor) trialPlace(found Inspected) (string, error) {
	if x.cfg.Helper == "" {
		return "", errors.New("no helper runs it on a view of the workspace")
	}
	dir := found.List[0].Place.Path // it may not exist
	for _, err := os.Stat(dir); err != nil && dir != filepath.Dir(dir); _, err = os.Stat(dir) {
		dir = filepath.Dir(dir)
	}
	tried, err := tree.MakeTempIn(dir, "trial-")
	if err != nil {
		return "", err
	}
	defer tried.Remove()
	t, err := trial.New(tried.Path, "")
	if err != nil {
		return "", err
	}
	defer t.Drop()
	if err := t.Run(x.cfg.Helper, x.Dir(), []string{viewName}, make([]*os.File, 3)); err != nil {
		return "", err
	}
	if t.Layers == filepath.Join(tried.Path, t.ID) {
		return "the history", nil
	}
	return filepath.Dir(t.Layers), nil
}

// Trials returns the trials of the workspace, the oldest first.
func (x *Executor) Trials() ([]*Trial, error) {
	dir, err := x.trials()
	if err != nil {
		return nil, err
	}
	return trial.List(dir)
}

// Trial returns a trial of the workspace.
func (x *Executor) Trial(id string) (*Trial, error) {
	dir, err := x.trials()
	if err != nil {
		return nil, err
	}
	t, err := trial.Open(dir, id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no trial %s: it was kept or dropped, or was older than a day", id)
	}
	return t, err
}

// Keep makes the changes of a trial as one change of the workspace, which undo takes back as that of a
// command, and drops the trial. Errors are [*TrialConflictError] and [*TrialConfigError], after which
// nothing was made, and the system's. With force it makes what conflicts, too. After a keep that was killed
// ([Trial].Begun), it makes the rest as another change.
func (x *Executor) Keep(ctx context.Context, t *Trial, force bool) (process.Tracked, error) {
	if err := x.process.CheckAllowed("keeping a trial"); err != nil {
		return process.Tracked{}, err
	}
	config := &TrialConfigError{ID: t.ID}
	for _, c := range t.Changes {
		if x.ws.RunsCode(c.Path) {
			config.Paths = append(config.Paths, c.Path)
		}
	}
	if len(config.Paths) > 0 {
		return process.Tracked{}, config
	}
	defer t.Release()
	if err := t.Check(x.Dir(), force); err != nil {
		return process.Tracked{}, err
	}
	var failed error
	begun := t.Begun != ""
	done, err := x.process.Track(ctx, t.Command, func(*process.Runner) error {
		failed = t.Make(x.Dir())
		return nil
	})
	if err != nil {
		return done, err
	}
	if failed != nil {
		if done.Undo != "" {
			_, err = x.ws.Undo(ctx, workspace.UndoOptions{ID: done.Undo})
		}
		if err == nil && !begun {
			err = t.Unmade()
		}
		return process.Tracked{}, errors.Join(failed, err)
	}
	return done, t.Drop()
}

// A TrialDiff tells of a path that a trial changes.
type TrialDiff struct {
	Path    string `json:"path"`
	Change  string `json:"change"` // "added", "changed" or "removed"
	Added   int    `json:"lines_added"`
	Removed int    `json:"lines_removed"`
	Links   bool   `json:"links,omitempty"` // the file has other names, which the trial leaves as they are
	Diff    string `json:"diff,omitempty"`  // unified
}

// String returns the line of the path, without the diff.
func (d TrialDiff) String() string {
	line := d.Change + " " + d.Path
	if d.Added+d.Removed > 0 {
		line += fmt.Sprintf(" +%d -%d", d.Added, d.Removed)
	}
	if d.Links {
		line += " (a hard link: a trial leaves its other names as they are)"
	}
	return line + "\n"
}

// DiffTrial describes a change of a trial. Of files over 1 MiB it tells no lines.
func (x *Executor) DiffTrial(t *Trial, c TrialChange) TrialDiff {
	const most = 1 << 20
	d := TrialDiff{Path: c.Path, Change: c.Verb(), Links: c.Before.Links > 1 && c.After.Exists}
	if max(c.Before.Size, c.After.Size) > most {
		return d
	}
	before, after, err := t.Contents(x.Dir(), c)
	if err != nil || before == nil && after == nil {
		return d
	}
	d.Diff = workspace.Unified(c.Path, c.Path, before, after)
	lines := slices.Collect(strings.Lines(d.Diff))
	for _, line := range lines[min(2, len(lines)):] { // the first two name the files
		switch line[0] {
		case '+':
			d.Added++
		case '-':
			d.Removed++
		}
	}
	return d
}
