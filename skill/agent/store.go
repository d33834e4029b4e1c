package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"
	"time"

	rawjson "textskill/parser/json"
	"textskill/skill"
)

// A store writes the records of one run. It is safe for concurrent use.
type store struct {
	run string

	// Separate executors that may write in perstack; nil if nothing is recorded.
	durable  *skill.Executor // waits until writes are on the disk
	unsynced *skill.Executor // does not wait

	held    *lease // nil until this process owns the run
	point   func() // see Config
	mu      sync.Mutex
	last    int64    // the last result of now
	pending []string // absolute paths of events that may not be on the disk yet
}

// openStore opens the records of a run. In a read-only workspace or a dry run the store
// records nothing.
func openStore(ctx context.Context, x *skill.Executor, run string) (*store, error) {
	s := &store{run: run}
	c := x.Config()
	if c.ReadOnly || c.DryRun {
		return s, nil
	}
	own := skill.Config{Dir: x.Dir(), AllowConfig: true, NoSync: c.NoSync, State: c.State}
	own.Journal.Off = true
	var err error
	if s.durable, err = skill.New(own); err != nil {
		return nil, err
	}
	own.NoSync = true
	if s.unsynced, err = skill.New(own); err != nil {
		s.durable.Close()
		return nil, err
	}
	files, err := s.records().Files(ctx, run)
	if err != nil {
		s.close()
		return nil, err
	}
	if len(files) > 0 {
		s.last = files[len(files)-1].Timestamp
	}
	return s, nil
}

func (s *store) records() Records { return Records{s.durable} }

func (s *store) close() {
	if s.durable != nil {
		s.flush()
		s.held.release()
		s.durable.Close()
		s.unsynced.Close()
	}
}

// now returns the time, or a later timestamp if this run has used that one.
func (s *store) now() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last+1, time.Now().UnixMilli())
	return s.last
}

// event sets the timestamp of an event and writes it. Only the next checkpoint waits until
// it is on the disk.
func (s *store) event(ctx context.Context, e *Event) error {
	return s.write(ctx, s.unsynced, RecordName{"event", 0, e.StepNumber, string(e.Type)}, func(at int64) any {
		e.Timestamp = at
		return e
	})
}

// checkpoint writes a checkpoint, and waits until that and the earlier events are on the
// disk, for both together.
func (s *store) checkpoint(ctx context.Context, c *Checkpoint) error {
	flushed := make(chan error, 1)
	go func(events []string) { flushed <- s.flushEvents(events) }(s.take())
	err := s.write(ctx, s.durable, RecordName{"checkpoint", 0, c.StepNumber, c.ID}, func(int64) any { return c })
	return errors.Join(err, <-flushed)
}

// flush waits until the events written so far are on the disk.
func (s *store) flush() error { return s.flushEvents(s.take()) }

// take returns the events that may not be on the disk yet, and forgets them.
func (s *store) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := s.pending
	s.pending = nil
	return events
}

func (s *store) flushEvents(events []string) error {
	if len(events) == 0 || s.durable.Config().NoSync {
		return nil
	}
	return s.durable.Flush(events...)
}

// write creates the file of a record with the timestamp of now. If another process that
// continues the same run has used the name, it takes the next timestamp.
func (s *store) write(ctx context.Context, x *skill.Executor, n RecordName, value func(at int64) any) error {
	for {
		n.Timestamp = s.now()
		v := value(n.Timestamp)
		if x == nil {
			return nil
		}
		s.point()
		r, err := x.Execute(ctx, &skill.Session{}, skill.WriteFile{
			Path: path.Join(runsDir, s.run, n.String()), Content: string(rawjson.Encode(v)),
			Parents: true, NoReplace: true,
		})
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil && x == s.unsynced {
			s.mu.Lock()
			s.pending = append(s.pending, r.(skill.Changed).Path)
			s.mu.Unlock()
		}
		return err
	}
}

// takenError returns the error of a new run whose id is taken.
func (s *store) takenError() error {
	return fmt.Errorf("there is a run %s already; continue it, or choose another id", s.run)
}

// createSetting writes the setting of a new run, whose owner this process becomes. If
// several processes start a run with the same id, all but one fail.
func (s *store) createSetting(ctx context.Context, setting RunSetting, clean Redactor) error {
	now := time.Now().UnixMilli()
	setting.StartedAt, setting.UpdatedAt = now, now
	if s.durable == nil {
		return nil
	}
	if err := s.lease(ctx, false); err != nil {
		return errors.Join(s.takenError(), err)
	}
	s.point()
	_, err := s.durable.Execute(ctx, &skill.Session{}, skill.WriteFile{
		Path: path.Join(runsDir, s.run, settingFile), Content: string(clean.JSON(rawjson.Encode(setting))), Parents: true, NoReplace: true,
	})
	if errors.Is(err, fs.ErrExist) {
		return s.takenError()
	}
	return err
}

// updateSetting sets the time of update in the setting of a continued run. If the setting
// is missing or damaged, it writes this one.
func (s *store) updateSetting(ctx context.Context, setting RunSetting, clean Redactor) error {
	now := time.Now().UnixMilli()
	setting.StartedAt, setting.UpdatedAt = now, now
	if s.durable == nil {
		return nil
	}
	file := path.Join(runsDir, s.run, settingFile)
	data, err := s.records().bytes(ctx, file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var before RunSetting
	if json.Unmarshal(data, &before) == nil {
		setting = before
		setting.UpdatedAt = max(now, before.UpdatedAt+1)
	}
	_, err = s.durable.Execute(ctx, &skill.Session{}, skill.WriteFile{
		Path: file, Content: string(clean.JSON(rawjson.Encode(setting))), Parents: true,
	})
	return err
}

// exists reports whether the run has any records. A lease alone is none: its run ended
// before it began.
func (s *store) exists(ctx context.Context) bool {
	if s.durable == nil {
		return false
	}
	names, err := s.records().list(ctx, path.Join(runsDir, s.run))
	return err == nil && slices.ContainsFunc(names, func(name string) bool { return name != leaseFile })
}
