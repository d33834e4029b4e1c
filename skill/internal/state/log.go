package state

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// Add writes the record of a change that is about to be made. It gives the record its
// number and time, and a name to the image of each step with Keep set. The record is
// not flushed yet: see [Change.Flush]. The caller closes the Change.
//
// The numbers of records go up from 1 and are never used again, whatever is damaged;
// they have gaps only after damage.
//
// Next is where the search for what a bare undo takes back goes on below the record:
// all between the two is settled. Where r.Next is 0, Add sets it. The record of an
// undo that takes back what a bare undo would have, X, has the Next of X; a redo of
// such an undo has X itself; other undos leave it 0. It counts once the undo has the
// end [Done].
//
// An error means that the record is not there, and that the change must not be made:
// a [*BusyError], or the system's.
func (s *Store) Add(ctx context.Context, r *Record) (*Change, error) {
	if s.o.ReadOnly {
		return nil, syscall.EROFS
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	err := s.writable(r.Undoes == 0) // an undo must not drop what is undone next
	if err == nil {
		err = s.add(r)
	}
	err = named(s.Path(), err)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return nil, fmt.Errorf("no room for the record of the change: %w; make room with %s gc, or go without undo with --no-journal", err, s.o.Program)
	}
	if err != nil {
		return nil, err
	}
	s.cur.enter()
	return &Change{Record: r, s: s, g: s.cur}, nil
}

func (s *Store) add(r *Record) error {
	g := s.cur
	r.ID, r.Time = g.last+1, time.Now().UTC()
	if r.Next == 0 {
		r.Next = g.leaves
	}
	for i := range r.Steps {
		switch {
		case !r.Steps[i].Keep:
		case len(r.Steps) == 1:
			r.Steps[i].Image = fmt.Sprint(r.ID)
		default:
			r.Steps[i].Image = fmt.Sprintf("%d.%d", r.ID, i)
		}
	}
	text, err := encode(r)
	if err != nil {
		return err
	}
	if err := g.append(text); err != nil {
		return err
	}
	g.count(text[sumLength:])
	g.last, g.leaves = r.ID, r.leaves(false)
	g.newest = Record{ID: r.ID, Undoes: r.Undoes, Next: r.Next}
	return nil
}

// An Entry is a record with what was written about it since. The record is decoded when it is asked
// for: of 100,000 later ones, an undo needs few.
type Entry struct {
	ID      int64
	Undoes  int64 // the Undoes of the record
	End     End
	Gone    string  // why its images are not kept any more; "" if they are
	text    []byte  // JSON of the record; nil once it is decoded
	record  *Record // decoded
	damaged bool
}

// Record returns the record; of a damaged one, all but ID is zero.
func (e *Entry) Record() *Record {
	if e.record == nil {
		e.record = &Record{}
		if e.damaged = json.Unmarshal(e.text, e.record) != nil; e.damaged {
			e.record = &Record{ID: e.ID}
		}
		e.text = nil
	}
	return e.record
}

// Damaged reports whether the record cannot be read.
func (e *Entry) Damaged() bool {
	e.Record()
	return e.damaged
}

// MayHave reports whether the JSON of the record may have a text in it, without decoding it: false is certain.
// Where it has a backslash, the text may be written in another way.
func (e *Entry) MayHave(text string) bool {
	return e.text == nil || bytes.Contains(e.text, []byte(text)) || bytes.IndexByte(e.text, '\\') >= 0
}

// Newest iterates over the records, the newest first, from the number below which they
// are wanted, or from the last one if that is 0. It reads a segment at a time. After an error
// it ends.
func (s *Store) Newest(ctx context.Context, below int64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		list, err := s.list(ctx)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		for _, first := range slices.Backward(list) {
			if below > 0 && first >= below {
				continue
			}
			p, err := s.page(ctx, first)
			if errors.Is(err, fs.ErrNotExist) { // dropped meanwhile
				continue
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for _, l := range slices.Backward(p.lines) {
				if below > 0 && l.id >= below {
					continue
				}
				if !yield(p.entry(l), nil) {
					return
				}
			}
		}
	}
}

// First returns the number from which on no change was dropped, 0 if nothing is recorded. What has
// that number may be dropped, if it did not count as a change.
func (s *Store) First(ctx context.Context) (int64, error) {
	list, err := s.list(ctx)
	if len(list) == 0 {
		return 0, err
	}
	return list[0], err
}

// list returns the segments.
func (s *Store) list(ctx context.Context) ([]int64, error) {
	if err := s.enter(ctx); err != nil { // nothing is half made then
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	defer s.leave()
	list, err := segments(s.dir.Load())
	return list, named(s.Path(), err)
}

// A page is a segment that was read.
type page struct {
	lines []line           // the records, and what is damaged
	marks map[int64][]line // by the numbers of the records
}

// page reads a segment. Nobody may be writing to it, also not to an old one, of which a
// change may just end.
func (s *Store) page(ctx context.Context, first int64) (page, error) {
	if err := s.enter(ctx); err != nil {
		return page{}, err
	}
	defer s.leave()
	p, err := s.pageOf(first)
	return p, named(s.Path(), err)
}

func (s *Store) pageOf(first int64) (p page, err error) {
	damaged := []int64{first}
	g, err := openSegment(s.dir.Load(), first, true)
	switch _, there := s.dir.Load().Lstat(logsName + "/" + segmentName(first)); {
	case err == nil:
		defer g.close()
		if s.cur != nil && s.cur.first == first {
			g.zeros = s.cur.end
		}
		p, err = readPage(g)
		damaged = g.damaged
	case errors.Is(err, fs.ErrNotExist) && there == nil: // its log was removed
		p, err = page{lines: []line{{id: first}}}, nil
	}
	if err == nil && len(damaged) > 0 && !s.o.ReadOnly {
		s.noteDamage(damaged)
	}
	return p, err
}

func readPage(g *segment) (page, error) {
	p := page{marks: map[int64][]line{}}
	err := g.read(func(l line) {
		switch l.kind {
		case damaged:
			p.lines = append(p.lines, line{id: g.last})
		case aRecord:
			p.lines = append(p.lines, l)
		case aMark:
			p.marks[l.id] = append(p.marks[l.id], l)
		}
	})
	slices.Sort(g.damaged)
	g.damaged = slices.Compact(g.damaged)
	for _, id := range g.damaged {
		if !slices.ContainsFunc(p.lines, func(l line) bool { return l.id == id }) {
			p.lines = append(p.lines, line{id: id}) // the end was cut off
		}
	}
	slices.SortStableFunc(p.lines, func(a, b line) int { return cmp.Compare(a.id, b.id) })
	return p, err
}

func (p page) entry(l line) Entry {
	e := Entry{ID: l.id, text: l.text}
	if bytes.Contains(l.text, []byte(`"undoes":`)) { // in no string, as in noted
		e.Undoes = e.Record().Undoes
	}
	m := p.mark(l.id)
	e.End, e.Gone = m.End, m.Gone
	return e
}

// mark returns what the marks of a record say together.
func (p page) mark(id int64) (all mark) {
	for _, l := range p.marks[id] {
		json.Unmarshal(l.text, &all) // a line whose sum holds is JSON
	}
	return all
}

// OpenImages opens the images folder of the segment that has the record. The caller closes it.
func (s *Store) OpenImages(id int64) (tree.Tree, error) {
	list, err := segments(s.dir.Load())
	if err != nil {
		return nil, named(s.Path(), err)
	}
	first, err := segmentOf(list, id)
	if err != nil {
		return nil, err
	}
	return tree.Open(filepath.Join(s.Path(), logsName, segmentName(first), imagesName), false)
}

const damageName = "damaged"

// noteDamage remembers damaged records, so that whoever asks next is told.
func (s *Store) noteDamage(ids []int64) {
	known := s.knownDamage()
	all := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(known), ids...))))
	if len(all) > len(known) {
		writeJSON(s.dir.Load(), damageName, all, false)
	}
}

func (s *Store) knownDamage() (ids []int64) {
	readJSON(s.dir.Load(), damageName, &ids)
	return ids
}

// Damaged returns the numbers of damaged records that were met so far, by whichever
// process, and that are not dropped yet.
func (s *Store) Damaged() []int64 {
	list, err := segments(s.dir.Load())
	if err != nil || len(list) == 0 {
		return nil
	}
	return slices.DeleteFunc(s.knownDamage(), func(id int64) bool { return id < list[0] })
}
