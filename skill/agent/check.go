package agent

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Check reads all records of a run. It returns their number and what is wrong, a
// sentence for each file. The error is one of reading the directory, or that there are no
// records.
func (r Records) Check(ctx context.Context, runID string) (n int, wrong []string, err error) {
	r, _, err = r.Confirmed(runID)
	if err != nil {
		return 0, nil, err
	}
	files, err := r.Files(ctx, runID)
	if err != nil {
		return 0, nil, err
	}
	names, err := r.list(ctx, path.Join(runsDir, runID))
	if err != nil {
		return 0, nil, err
	}
	if len(names) == 0 {
		_, err := r.Find(ctx, runID)
		return 0, nil, err
	}
	report := func(name string, err error) {
		if err != nil {
			why := strings.TrimPrefix(err.Error(), path.Join(runsDir, runID, name)+": ")
			wrong = append(wrong, name+": "+strings.TrimPrefix(why, name+": "))
		}
	}
	_, err = r.Setting(ctx, runID)
	report(settingFile, err)
	for _, name := range names {
		if _, ok := parseRecordName(name); !ok && name != settingFile && name != leaseFile {
			report(name, errors.New("is not a record"))
		}
	}
	missing, _ := r.missing(files)
	for _, n := range missing {
		report(n.String(), errors.New("is missing"))
	}
	for _, n := range files {
		if err := ctx.Err(); err != nil {
			return 0, nil, err
		}
		report(n.String(), r.checkFile(ctx, runID, n, files))
	}
	return len(files) + 1 + len(missing), wrong, nil
}

// checkFile says what is wrong with one of the records of a run.
func (r Records) checkFile(ctx context.Context, runID string, n RecordName, all []RecordName) error {
	if n.Kind == "event" {
		e, err := r.Event(ctx, runID, n)
		if err == nil && (RecordName{"event", e.Timestamp, e.StepNumber, string(e.Type)} != n ||
			e.RunID != runID) {
			err = fmt.Errorf("holds the event %s of step %d of the run %q", e.Type, e.StepNumber, e.RunID)
		}
		return err
	}
	c, err := r.checkpoint(ctx, runID, n)
	if err == nil && c.ParentID != "" &&
		!slices.ContainsFunc(all, func(n RecordName) bool { return n.Of == c.ParentID }) {
		err = fmt.Errorf("the checkpoint %s before it is not there", c.ParentID)
	}
	return err
}
