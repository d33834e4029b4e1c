package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync"
	"time"

	rawjson "textskill/parser/json"
	"textskill/skill"
)

// A store writes the records of one run. It is safe for concurrent use.
type store struct {
	run string

	// Executors of its own, which may write where tools may not; nil where nothing
	// is recorded.
	durable *skill.Executor // waits for the disk
	hasty   *skill.Executor // does not

	mu      sync.Mutex
	last    int64    // the timestamp given out last
	pending []string // events whose content is not on the disk yet, by absolute name
}

// openStore readies the records of a run. Where the workspace may not be changed
// nothing is recorded.
func openStore(ctx context.Context, x *skill.Executor, run string) (*store, error) {
	s := &store{run: run}
	c := x.Config()
	if c.ReadOnly || c.DryRun {
		return s, nil
	}
	own := skill.Config{Dir: x.Dir(), AllowConfig: true, NoSync: c.NoSync}
	own.Journal.Off = true
	var err error
	if s.durable, err = skill.New(own); err != nil {
		return nil, err
	}
	own.NoSync = true
	if s.hasty, err = skill.New(own); err != nil {
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
		s.durable.Close()
		s.hasty.Close()
	}
}

// now returns a timestamp that this run has not had.
func (s *store) now() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last+1, time.Now().UnixMilli())
	return s.last
}

// event gives an event its time and writes it. The disk is waited for with the
// next checkpoint.
func (s *store) event(ctx context.Context, e *Event) error {
	return s.write(ctx, s.hasty, RecordName{"event", 0, e.StepNumber, string(e.Type)}, func(at int64) any {
		e.Timestamp = at
		return e
	})
}

// checkpoint writes a checkpoint, once the events before it are on the disk.
func (s *store) checkpoint(ctx context.Context, c *Checkpoint) error {
	if err := s.flush(); err != nil {
		return err
	}
	return s.write(ctx, s.durable, RecordName{"checkpoint", 0, c.StepNumber, c.ID}, func(int64) any { return c })
}

// flush waits until the events written so far are on the disk.
func (s *store) flush() error {
	s.mu.Lock()
	events := s.pending
	s.pending = nil
	s.mu.Unlock()
	if len(events) == 0 || s.durable.Config().NoSync {
		return nil
	}
	return s.durable.Flush(events...)
}

// write writes a new file under the time of now. If somebody else who continues
// the same run has just used that name, the next is tried.
func (s *store) write(ctx context.Context, x *skill.Executor, n RecordName, value func(at int64) any) error {
	for {
		n.Timestamp = s.now()
		v := value(n.Timestamp)
		if x == nil {
			return nil
		}
		r, err := x.Execute(ctx, &skill.Session{}, skill.WriteFile{
			Path: path.Join(runsDir, s.run, n.String()), Content: string(rawjson.Encode(v)),
			Parents: true, NoReplace: true,
		})
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil && x == s.hasty {
			s.mu.Lock()
			s.pending = append(s.pending, r.(skill.Changed).Path)
			s.mu.Unlock()
		}
		return err
	}
}

// begun is the error of a new run whose id is taken.
func (s *store) begun() error {
	return fmt.Errorf("there is a run %s already; continue it, or choose another id", s.run)
}

// first writes the setting of a new run. Of several that begin it at the same time
// all but one fail.
func (s *store) first(ctx context.Context, setting RunSetting, clean Redactor) error {
	now := time.Now().UnixMilli()
	setting.StartedAt, setting.UpdatedAt = now, now
	if s.durable == nil {
		return nil
	}
	_, err := s.durable.Execute(ctx, &skill.Session{}, skill.WriteFile{
		Path: path.Join(runsDir, s.run, settingFile), Content: string(clean.JSON(rawjson.Encode(setting))), Parents: true, NoReplace: true,
	})
	if errors.Is(err, fs.ErrExist) {
		return s.begun()
	}
	return err
}

// again writes the new time into the setting of a run that is gone on with; where
// there is none that can be read, this one.
func (s *store) again(ctx context.Context, setting RunSetting, clean Redactor) error {
	now := time.Now().UnixMilli()
	setting.StartedAt, setting.UpdatedAt = now, now
	if s.durable == nil {
		return nil
	}
	file := path.Join(runsDir, s.run, settingFile)
	var before RunSetting
	switch err := s.records().read(ctx, file, &before); {
	case err == nil:
		setting = before
		setting.UpdatedAt = max(now, before.UpdatedAt+1)
	case !errors.Is(err, fs.ErrNotExist) && !errors.As(err, new(*damagedError)):
		return err
	}
	_, err := s.durable.Execute(ctx, &skill.Session{}, skill.WriteFile{
		Path: file, Content: string(clean.JSON(rawjson.Encode(setting))), Parents: true,
	})
	return err
}

// existed tells whether anything is recorded of the run.
func (s *store) existed(ctx context.Context) bool {
	if s.durable == nil {
		return false
	}
	names, err := s.records().list(ctx, path.Join(runsDir, s.run))
	return err == nil && len(names) > 0
}
