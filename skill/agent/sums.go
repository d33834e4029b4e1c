package agent

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"textskill/skill"
)

// The records of a run lie in the workspace, where a command can write them. Their sums
// lie beside the history, where none can: a line "SUM NAME" for each record, written just
// before the record. A record that is replaced has several.
type sums map[string][]string // by the names of records

// void takes the place of the sum of a record that was not written after all, adoption the
// place of that of a record which was there when the program found the run. Older versions
// pass over the latter.
const (
	void     = "void"
	adoption = "adopted"
)

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// readSums reads the sums of a run's records, if any were kept.
func (r *Records) readSums(runID string) error {
	r.sums, r.last, r.adopted = nil, "", nil
	dir, err := r.Executor.Runs()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	f, err := dir.Open(runID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	r.sums, r.adopted = sums{}, map[string]bool{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		switch sum, name, ok := strings.Cut(lines.Text(), " "); {
		case sum == void:
			delete(r.sums, name)
		case sum == adoption:
			r.adopted[name] = true
		case ok && len(sum) == 2*sha256.Size:
			r.sums[name], r.last = append(r.sums[name], sum), name
		}
	}
	return lines.Err()
}

// openSums opens the file of a name that the sums of a run's records are added to. It removes
// the sums of deleted runs.
func openSums(x *skill.Executor, name string) (*os.File, error) {
	dir, err := x.Runs()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if entries, err := fs.ReadDir(dir.FS(), "."); err == nil {
		for _, e := range entries {
			info, err := e.Info()
			if _, gone := os.Lstat(path.Join(x.Dir(), runsDir, e.Name())); err == nil &&
				errors.Is(gone, fs.ErrNotExist) && time.Since(info.ModTime()) > 24*time.Hour {
				dir.Remove(e.Name())
			}
		}
	}
	return dir.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
}

// forgetSums removes the file of a name, if it is there.
func forgetSums(x *skill.Executor, name string) error {
	dir, err := x.Runs()
	if err != nil {
		return err
	}
	defer dir.Close()
	if err = dir.Remove(name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// addSum notes the sum of a record that is about to be written, or [void].
func (s *store) addSum(name, sum string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sums == nil {
		var err error
		if s.sums, err = openSums(s.x, s.run); err != nil {
			return err
		}
	}
	_, err := s.sums.WriteString(sum + " " + name + "\n")
	return err
}

// adopt notes the sums of all records as they are, so that what others write from
// now on is recognized. They count once the continuation is recorded, which says to the
// model that nothing confirms them: see adopted.
func (s *store) adopt(ctx context.Context) (err error) {
	if err = forgetSums(s.x, s.adopting()); err != nil {
		return err
	}
	if s.sums, err = openSums(s.x, s.adopting()); err != nil {
		return err
	}
	names, err := s.records().list(ctx, path.Join(runsDir, s.run))
	for _, name := range names {
		if _, ok := parseRecordName(name); !ok && name != settingFile {
			continue
		}
		data, err := s.records().bytes(ctx, path.Join(runsDir, s.run, name))
		if err == nil {
			err = errors.Join(s.addSum(name, adoption), s.addSum(name, sumOf(data)))
		}
		if err != nil {
			return err
		}
	}
	return err
}

// adopting is the name of the file of sums that do not count yet. No run has such an id.
func (s *store) adopting() string { return "." + s.run }

// adopted makes the sums that adopt noted count, and those since.
func (s *store) adopted() error {
	if err := s.flush(); err != nil {
		return err
	}
	dir, err := s.x.Runs()
	if err != nil {
		return err
	}
	return errors.Join(dir.Rename(s.adopting(), s.run), dir.Close())
}

// dropUnwritten notes that a record whose writing was interrupted is not to be missed.
func (s *store) dropUnwritten(ctx context.Context, r Records) error {
	files, err := r.Files(ctx, s.run)
	if _, name := r.missing(files); err == nil && name != "" {
		err = s.addSum(name, void)
	}
	return err
}

// Confirmed returns Records that refuse what this program did not record of a run, or what
// has changed since. known is false if nothing can be said of the run: it was recorded on
// another machine or by an older version, or its history is gone.
func (r Records) Confirmed(runID string) (confirmed Records, known bool, err error) {
	if err := checkRunID(runID); err != nil {
		return r, false, err
	}
	err = r.readSums(runID)
	return r, r.sums != nil, err
}

// adoptedCheckpoint reports whether a checkpoint was there when this program found the run.
func (r Records) adoptedCheckpoint(id string) bool {
	for name := range r.adopted {
		if n, ok := parseRecordName(name); ok && n.Kind == "checkpoint" && n.Of == id {
			return true
		}
	}
	return false
}

// missing returns the records that have a sum and are not there, in the order of their
// times. The one with the last sum may not have been written: then it is unwritten.
func (r Records) missing(files []RecordName) (names []RecordName, unwritten string) {
	there := map[RecordName]bool{}
	for _, n := range files {
		there[n] = true
	}
	for name := range r.sums {
		switch n, ok := parseRecordName(name); {
		case !ok || there[n]:
		case name == r.last:
			unwritten = name
		default:
			names = append(names, n)
		}
	}
	slices.SortFunc(names, func(a, b RecordName) int { return cmp.Compare(a.Timestamp, b.Timestamp) })
	return names, unwritten
}

// confirm checks a record against its sum.
func (r Records) confirm(name string, data []byte) error {
	switch {
	case r.sums == nil || slices.Contains(r.sums[name], sumOf(data)):
		return nil
	case r.sums[name] == nil:
		return errors.New("this program did not record it")
	}
	return errors.New("it has changed since it was recorded")
}
