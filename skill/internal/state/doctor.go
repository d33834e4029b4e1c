package state

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// A Report is what can be said of a history.
type Report struct {
	Place      Place
	Segments   []SegmentReport // the oldest first
	Damaged    []int64         // records that cannot be read
	NoImage    []int64         // records whose image is not there, though nothing says why
	NoRecord   []string        // images of no change, or of one that failed, as paths; they go with their segment
	Gone       []string        // what waits to be deleted, as paths
	Bytes      int64           // of all files of the history
	Holders    []Holder        // of its locks, now
	Earlier    []Earlier       // other histories of the same path
	OldJournal string          // a journal of an older version that is not imported; "" if there is none
}

// A SegmentReport is about one segment.
type SegmentReport struct {
	First, Last int64 // numbers of records
	Bytes       int64 // of its images, as their records say
	Damaged     int   // lines
}

// A Holder is a process that holds a lock.
type Holder struct {
	Lock    string // "log", "root", or the number of a folder's lock
	PID     int    // 0 where the system does not say
	Command string
}

// Inspect looks at a history, and changes nothing. Where there is none, the report has
// its place only.
func Inspect(ctx context.Context, o Options) (Report, error) {
	p, err := Find(o)
	if err != nil {
		return Report{}, err
	}
	r := Report{Place: p, Earlier: earlierHistories(p)}
	old := filepath.Join(p.Root, Inside, oldJournal)
	if _, err := os.Lstat(old); err == nil {
		r.OldJournal = old
	}
	o.ReadOnly = true
	s, err := Open(o)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	defer s.Close()
	r.Holders = s.holders()
	if err := s.enter(ctx); err != nil {
		return r, err
	}
	defer s.leave()
	list, err := segments(s.dir.Load())
	if err != nil {
		return r, err
	}
	undone := map[int64]bool{}
	for _, first := range slices.Backward(list) {
		if err := s.inspect(&r, first, undone); err != nil {
			return r, err
		}
	}
	slices.Reverse(r.Segments)
	slices.Sort(r.Damaged)
	slices.Sort(r.NoImage)
	r.Gone, _ = filepath.Glob(filepath.Join(s.Path(), goneName+"*"))
	err = filepath.WalkDir(s.Path(), func(_ string, d fs.DirEntry, err error) error {
		if info, ierr := d.Info(); err == nil && ierr == nil && info.Mode().IsRegular() {
			r.Bytes += info.Size()
		}
		return nil
	})
	return r, err
}

// inspect adds a segment to the report. An undo may have moved the images of what it has
// undone.
func (s *Store) inspect(r *Report, first int64, undone map[int64]bool) error {
	p, err := s.pageOf(first)
	if err != nil {
		return err
	}
	path := logsName + "/" + segmentName(first) + "/" + imagesName
	images := map[string]bool{}
	found, _ := namesIn(s.dir.Load(), path)
	for _, name := range found {
		images[name] = true
	}
	g := SegmentReport{First: first, Last: first - 1}
	for _, l := range slices.Backward(p.lines) {
		e := p.entry(l)
		g.Last = max(g.Last, e.ID)
		if e.Damaged() {
			g.Damaged++
			r.Damaged = append(r.Damaged, e.ID)
			continue
		}
		g.Bytes += e.Record().Bytes
		undone[e.Undoes] = undone[e.Undoes] || e.End != Void
		lacks := false
		for _, step := range e.Record().Steps {
			lacks = lacks || step.Image != "" && !images[step.Image]
			if e.End != Void {
				delete(images, step.Image)
			}
		}
		if lacks && e.Gone == "" && e.Record().Note == "" && e.End != Void && !undone[e.ID] {
			r.NoImage = append(r.NoImage, e.ID)
		}
	}
	r.Segments = append(r.Segments, g)
	for name := range images {
		r.NoRecord = append(r.NoRecord, filepath.Join(s.Path(), path, name))
	}
	return nil
}

// holders asks which locks are held.
func (s *Store) holders() (list []Holder) {
	paths, _ := filepath.Glob(filepath.Join(s.place.Path, locksName, "*"))
	for _, path := range append(paths, filepath.Join(s.Path(), lockName), filepath.Join(s.Path(), locksName, "root")) {
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		for _, pid := range holders(f) {
			lock := filepath.Base(path)
			if lock == lockName {
				lock = "log"
			}
			list = append(list, Holder{lock, pid, commandOf(pid)})
		}
		f.Close()
	}
	return list
}
