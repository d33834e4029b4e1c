package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"sync"
	"time"

	"textskill/parser/rawjson"
	"textskill/skill"
)

// A store writes the records of one run. It is safe for concurrent use.
type store struct {
	run string

	x    *skill.Executor // may write in perstack, and does not wait for the disk; nil if nothing is recorded
	sync bool            // flush waits until what was written is on the disk

	held    *lease       // nil until this process owns the run
	point   func(moment) // see Config
	wrote   func(path string)
	mu      sync.Mutex
	last    int64    // the last result of now
	sums    *os.File // nil until the first record is written; see sums
	pending []string // absolute paths of records that may not be on the disk yet
}

// openStore opens the records of a run. In a read-only workspace or a dry run the store
// records nothing.
func openStore(ctx context.Context, x *skill.Executor, run string) (*store, error) {
	s := &store{run: run}
	c := x.Config()
	if c.ReadOnly || c.DryRun {
		return s, nil
	}
	own := skill.Config{Dir: x.Dir(), AllowConfig: true, NoSync: true, State: c.State}
	own.Journal.Off = true
	var err error
	if s.x, err = skill.New(own); err != nil {
		return nil, err
	}
	s.sync = !c.NoSync
	records, _, err := s.records().Confirmed(run)
	var files []RecordName
	if err == nil {
		files, err = records.Files(ctx, run)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	for _, n := range files {
		if _, ok := records.sums[n.String()]; ok || records.sums == nil {
			s.last = max(s.last, n.Timestamp)
		}
	}
	return s, nil
}

func (s *store) records() Records { return Records{Executor: s.x} }

func (s *store) close() {
	if s.x != nil {
		s.flush()
		s.held.release()
		s.x.Close()
	}
	if s.sums != nil {
		s.sums.Close()
	}
}

// now returns the time, or a later timestamp if this run has used that one.
func (s *store) now() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last+1, time.Now().UnixMilli())
	return s.last
}

// event writes an event, and sets its timestamp unless it has one. The next flush waits until
// it is on the disk.
func (s *store) event(ctx context.Context, e *Event) error {
	return s.write(ctx, RecordName{"event", e.Timestamp, e.StepNumber, string(e.Type)}, func(at int64) any {
		e.Timestamp = at
		return e
	})
}

// checkpoint writes a checkpoint, and waits until that and the earlier events are on the
// disk.
func (s *store) checkpoint(ctx context.Context, c *Checkpoint) error {
	err := s.write(ctx, RecordName{"checkpoint", 0, c.StepNumber, c.ID}, func(int64) any { return c })
	return errors.Join(err, s.flush())
}

// flush waits until the records written so far are on the disk.
func (s *store) flush() error {
	s.mu.Lock()
	pending, sums := s.pending, s.sums
	s.pending = nil
	s.mu.Unlock()
	if len(pending) == 0 || !s.sync {
		return nil
	}
	s.point(beforeFlush)
	flushed := make(chan error, 1)
	go func() { flushed <- sums.Sync() }()
	return errors.Join(s.x.Flush(pending...), <-flushed)
}

// write creates the file of a record, with the timestamp of now if it has none. If another
// process that continues the same run has used the name, it takes the next timestamp.
func (s *store) write(ctx context.Context, n RecordName, value func(at int64) any) error {
	for ; ; n.Timestamp = 0 {
		n.Timestamp = cmp.Or(n.Timestamp, s.now())
		data := value(n.Timestamp)
		if s.x == nil {
			return nil
		}
		err := s.put(ctx, n.String(), rawjson.Encode(data), true)
		used, ok := errors.AsType[*fs.PathError](err)
		// mkdir fails so where a file has the name of a folder
		if !errors.Is(err, fs.ErrExist) || !ok || used.Op != "open" {
			return err
		}
	}
}

// put writes a record for the next flush; one that is not fresh waits for the disk, before it
// replaces what is there.
func (s *store) put(ctx context.Context, name string, data []byte, fresh bool) error {
	s.point(beforeChange)
	if err := s.addSum(name, sumOf(data)); err != nil {
		return err
	}
	s.point(beforeChange)
	x := s.x
	if !fresh && s.sync {
		own := x.Config()
		own.NoSync = false
		var err error
		if x, err = skill.New(own); err != nil {
			return err
		}
		defer x.Close()
		if err := s.sums.Sync(); err != nil {
			return err
		}
	}
	name = path.Join(runsDir, s.run, name)
	r, err := x.Execute(ctx, &skill.Session{}, skill.WriteFile{
		Path: name, Content: string(data), Parents: true, NoReplace: fresh,
	})
	if err == nil {
		s.mu.Lock()
		s.pending = append(s.pending, r.(skill.Changed).Path)
		s.mu.Unlock()
		if s.wrote != nil {
			s.wrote(name)
		}
	}
	return err
}

// takenError returns the error of a new run whose id is taken.
func (s *store) takenError() error {
	return fmt.Errorf("there is a run %s already; continue it, or choose another id", s.run)
}

// createSetting writes the setting of a new run, whose owner this process becomes. If
// several processes start a run with the same id, all but one fail.
func (s *store) createSetting(ctx context.Context, setting RunSetting, clean Redactor) error {
	if s.x == nil {
		return nil
	}
	if err := s.lease(ctx, false); err != nil {
		return errors.Join(s.takenError(), err)
	}
	if err := forgetSums(s.x, s.run); err != nil {
		return err
	}
	err := s.put(ctx, settingFile, clean.JSON(rawjson.Encode(setting)), true)
	if errors.Is(err, fs.ErrExist) {
		return s.takenError()
	}
	return errors.Join(err, s.flush())
}

// updateSetting sets the time of update and what was learned of the same model in the setting of
// a run. If the setting is missing or damaged, it writes this one.
func (s *store) updateSetting(ctx context.Context, setting RunSetting, clean Redactor) error {
	if s.x == nil {
		return nil
	}
	file := path.Join(runsDir, s.run, settingFile)
	data, err := s.records().bytes(ctx, file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var before RunSetting
	if json.Unmarshal(data, &before) == nil {
		before.UpdatedAt = max(setting.UpdatedAt, before.UpdatedAt+1)
		if before.sameModel(setting) {
			before.Rules, before.Window = setting.Rules, setting.Window
		}
		setting = before
	}
	return errors.Join(s.put(ctx, settingFile, clean.JSON(rawjson.Encode(setting)), false), s.flush())
}

// exists reports whether the run has any records. A lease alone does not count: its run ended
// before it began.
func (s *store) exists(ctx context.Context) bool {
	if s.x == nil {
		return false
	}
	names, err := s.records().list(ctx, path.Join(runsDir, s.run))
	return err == nil && slices.ContainsFunc(names, func(name string) bool { return name != leaseFile })
}
