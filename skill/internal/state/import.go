package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// Before there was a store, the journal of changes lay in the root: .skill/journal was
// one file of lines like those of a log, and .skill/images held all images.

const (
	oldJournal = "journal"
	oldDone    = "journal.imported"
	importName = "import"   // a log that is being made of the journal
	markName   = "imported" // which journal it was
)

type oldRecord struct {
	Record
	Time    time.Time `json:"time"`
	Steps   []oldStep `json:"steps"`
	Part    bool      `json:"part"`    // folders made for another change
	Parents int64     `json:"parents"` // the record of the folders that were made for this one
	Back    bool      `json:"back"`    // the steps are taken from after to before, the last one first
	Mark    End       `json:"mark"`    // says it of the record ID, and nothing else
}

type oldStep struct {
	How           string `json:"how"`
	Path, From    string // as Wide says
	Before, After oldState
	Image         string `json:"image"`
	Wide          bool   `json:"bytes"` // each rune of a name stands for a byte
}

type oldState struct {
	Is, Print string
	Mode      uint32
	Size      int64
	Time      int64
}

// importJournal makes a log of the journal of an older version, if this history has
// nothing in it yet. It is made aside, and takes the log's place in one step; an
// import that was killed starts again, with the images that are there already.
func (s *Store) importJournal() error {
	dir := filepath.Join(s.place.Root, Inside)
	info, err := os.Lstat(filepath.Join(dir, oldJournal))
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if err := s.importFrom(dir); err != nil {
		return fmt.Errorf("the journal of an older version in %s cannot be imported: %w", dir, err)
	}
	return nil
}

func (s *Store) importFrom(dir string) error {
	old, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer old.Close()
	top, err := old.Open(".") // what older versions lock
	if err != nil {
		return err
	}
	defer top.Close()
	if err := pollAlone(context.Background(), "the history", s.lock, s.o.LockWait); err != nil {
		return err
	}
	defer tree.Unlock(int(s.lock.Fd()))
	if err := pollAlone(context.Background(), "the journal", top, s.o.LockWait); err != nil {
		return err
	}
	f, err := old.Open(oldJournal)
	if errors.Is(err, fs.ErrNotExist) { // another process has imported it
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	id := tree.InfoOf(info).ID
	list, err := segments(s.dir.Load())
	if err != nil {
		return err
	}
	if len(list) > 0 {
		var imported tree.FileID
		if readJSON(s.dir.Load(), markName, &imported) == nil && imported == id {
			return old.Rename(oldJournal, oldDone)
		}
		return nil // an older version has begun another one: see Report.OldJournal
	}
	data, err := old.ReadFile(oldJournal)
	if err != nil {
		return err
	}
	if err := s.writeImport(old, convert(data)); err != nil {
		return err
	}
	if err := writeJSON(s.dir.Load(), markName, id, !s.o.NoSync); err != nil {
		return err
	}
	if err := s.dir.Load().Remove(logsName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.dir.Load().Rename(importName, logsName); err != nil {
		return err
	}
	if !s.o.NoSync {
		if err := syncName(s.dir.Load(), "."); err != nil {
			return err
		}
	}
	return old.Rename(oldJournal, oldDone)
}

// converted is a record and how it ended.
type converted struct {
	Record
	end End
}

// convert reads the records of a journal. Numbers stay.
func convert(data []byte) (list []*converted) {
	byID := map[int64]*converted{}
	holds := map[string]int64{} // for each image the record that it is of now: undo used the same one again
	for text := range bytes.Lines(data) {
		l := parse(bytes.TrimSuffix(text, []byte("\n")))
		var r oldRecord
		if l.kind != aRecord || json.Unmarshal(l.text, &r) != nil {
			continue
		}
		if r.Mark != "" {
			if c := byID[r.ID]; c != nil {
				c.end = r.Mark
			}
			continue
		}
		c := &converted{Record: r.Record}
		c.Time = r.Time
		if parents := byID[r.Parents]; parents != nil {
			c.Steps = append(c.Steps, parents.Steps...)
			parents.ID = 0
		}
		for _, step := range r.Steps {
			if note := step.unfit(r.Back); note != "" && c.Note == "" {
				c.Note = note
			}
			c.Steps = append(c.Steps, step.convert(r.Back))
			if step.Image != "" {
				holds[step.Image] = r.ID
			}
		}
		list, byID[r.ID] = append(list, c), c
	}
	kept := list[:0]
	for _, c := range list {
		for i := range c.Steps {
			if s := &c.Steps[i]; s.Before.Kind == "" || holds[s.Image] != c.ID {
				s.Image = ""
			}
		}
		if c.ID == 0 {
			continue
		}
		if len(kept) > 0 {
			c.Next = kept[len(kept)-1].ID
		}
		kept = append(kept, c)
	}
	return kept
}

// unfit says why a step cannot be undone any more.
func (s oldStep) unfit(back bool) string {
	if s.How == "tail" || back && s.How != "swap" && s.How != "place" {
		return "it was made by an older version, which kept too little of it"
	}
	return ""
}

func (s oldStep) convert(back bool) Step {
	n := Step{Path: s.name(s.Path), From: s.name(s.From), Before: s.Before.convert(), After: s.After.convert(), Image: s.Image}
	if back {
		n.Before, n.After = n.After, n.Before
	}
	return n
}

func (s oldStep) name(text string) Name {
	if !s.Wide {
		return Name(text)
	}
	var narrow []byte
	for _, r := range text {
		narrow = append(narrow, byte(r))
	}
	return Name(narrow)
}

// convert keeps a sum where it is one of all bytes. The others went by samples or times.
func (s oldState) convert() State {
	n := State{Kind: s.Is, Mode: s.Mode, Size: s.Size, MTime: s.Time}
	switch {
	case s.Is == "file" && len(s.Print) == 32:
		n.Sum = s.Print
	case s.Is == "link":
		n.Target = Name(s.Print)
	}
	return n
}

// writeImport makes segments of the records.
func (s *Store) writeImport(old *os.Root, list []*converted) error {
	for len(list) > 0 {
		n := 0
		for n < len(list) && list[n].ID < list[0].ID+maxRecords {
			n++
		}
		next := int64(0)
		if n < len(list) {
			next = list[n].ID
		}
		if err := s.importSegment(old, list[:n], next); err != nil {
			return err
		}
		list = list[n:]
	}
	if err := s.dir.Load().MkdirAll(importName, 0o700); err != nil || s.o.NoSync {
		return err
	}
	return syncName(s.dir.Load(), importName)
}

func (s *Store) importSegment(old *os.Root, list []*converted, next int64) error {
	path := importName + "/" + segmentName(list[0].ID)
	if err := s.dir.Load().MkdirAll(path+"/"+imagesName, 0o700); err != nil {
		return err
	}
	images, err := openFolder(filepath.Join(s.Path(), path, imagesName))
	if err != nil {
		return err
	}
	defer images.Close()
	var text []byte
	var errs []error
	put := func(v any) {
		line, err := encode(v)
		text, errs = append(text, line...), append(errs, err)
	}
	for _, c := range list {
		for i, step := range c.Steps {
			if step.Image != "" {
				errs = append(errs, importImage(old, step.Image, images))
				c.Steps[i].Image = filepath.Base(step.Image)
			}
		}
		put(c.Record)
		if c.end != "" {
			put(mark{Of: c.ID, End: c.end})
		}
	}
	if next > 0 {
		put(mark{Seal: next})
	} else {
		text = append(text, make([]byte, chunk-len(text)%chunk)...)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := s.dir.Load().WriteFile(path+"/log", text, 0o600); err != nil || s.o.NoSync {
		return err
	}
	return errors.Join(syncName(s.dir.Load(), path+"/log"), SyncFolder(images), syncName(s.dir.Load(), path))
}

// importImage moves an image, or copies it where the store is far. Trees that are far
// stay where they are.
func importImage(old *os.Root, name string, images tree.Folder) error {
	from, err := openFolder(filepath.Join(old.Name(), imagesName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer from.Close()
	err = from.Rename(name, images, name, false)
	if !errors.Is(err, syscall.EXDEV) {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it was moved before
		}
		return err
	}
	info, err := from.Lstat(name)
	if err != nil || !info.Mode.IsRegular() {
		return err
	}
	src, err := from.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer src.Close()
	images.Remove(name+"~", false)
	return copyPart(images, name, src, 0, info.Size, info.Size, true)
}
