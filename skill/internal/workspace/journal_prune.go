package workspace

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"textskill/skill/internal/workspace/tree"
)

// overLimit reports whether so much more than the limits is kept that pruning is worth
// its work.
func (j *journal) overLimit(now time.Time) bool {
	l := j.limit
	return l.Count > 0 && j.last.ID-j.first.ID > int64(l.Count)*5/4 ||
		l.Bytes > 0 && j.last.Sum-j.first.Sum > l.Bytes ||
		l.Age > 0 && now.Sub(j.first.Time) > l.Age*5/4
}

// prune removes all but the newest changes that the limits allow. It keeps the one that is
// being made and the one before it. The journal must be acquired.
func (j *journal) prune(now *record) error {
	data, err := j.readAll()
	if err != nil {
		return err
	}
	list := readRecords(data)
	from := len(list)
	for from > 0 {
		c := list[from-1]
		tooMany := j.limit.Count > 0 && len(list)-from >= j.limit.Count
		tooMuch := j.limit.Bytes > 0 && j.last.Sum-c.Sum+c.Bytes > j.limit.Bytes
		tooOld := j.limit.Age > 0 && now.Time.Sub(c.Time) > j.limit.Age
		if len(list)-from >= 2 && (tooMany || tooMuch || tooOld) && !(from < len(list) && list[from].Parents == c.ID) {
			break
		}
		from--
	}
	if from == 0 {
		return nil
	}
	kept := map[string]bool{}
	for _, c := range list[from:] {
		for _, s := range c.Steps {
			kept[s.Image] = true
		}
	}
	if err := j.rewrite(list[from:]); err != nil {
		return err
	}
	for _, c := range list[:from] {
		for _, s := range c.Steps {
			if s.Image != "" && !kept[s.Image] {
				discard(j.images.folder, s.Image)
			}
		}
	}
	return nil
}

// rewrite replaces the journal with one of these changes.
func (j *journal) rewrite(list []*change) error {
	f, err := j.dir.OpenFile(newJournalName, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) { // left by a process that was killed
		j.dir.Remove(newJournalName, false)
		f, err = j.dir.OpenFile(newJournalName, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err != nil {
		return err
	}
	var lines []byte
	for _, c := range list {
		line, err := c.encode()
		if err != nil {
			f.Close()
			return err
		}
		lines = append(lines, line...)
		for _, m := range []struct {
			set  bool
			mark string
		}{{c.done, markDone}, {c.void, markVoid}} {
			if m.set {
				line, _ = (&record{ID: c.ID, Mark: m.mark, Last: j.last.ID, Sum: j.last.Sum}).encode()
				lines = append(lines, line...)
			}
		}
	}
	_, err = f.Write(lines)
	if err == nil && j.sync {
		err = tree.Datasync(f)
	}
	if err == nil {
		err = j.dir.Rename(newJournalName, j.dir, journalName, true)
	}
	var info Info
	if err == nil {
		info, err = tree.StatRegular(f)
	}
	if err != nil {
		f.Close()
		j.dir.Remove(newJournalName, false)
		return tree.Cause(err)
	}
	j.log.Close()
	j.log, j.id, j.end, j.dirty = f, info.ID, int64(len(lines)), false
	j.first = record{ID: list[0].ID, Time: list[0].Time, Sum: list[0].Sum - list[0].Bytes}
	return nil
}

// unlink looks through the end of a journal for a move that was interrupted after the file
// that it replaces was linked as the image: the file would keep that second name.
func (j *journal) unlink(data []byte) {
	for whole := data; ; {
		start := bytes.LastIndexByte(bytes.TrimSuffix(data, []byte("\n")), '\n') + 1
		line := bytes.TrimSuffix(data[start:], []byte("\n"))
		if data = data[:start]; bytes.Contains(line, []byte(`"how":"move"`)) && bytes.Contains(line, []byte(`"before":{"is":"file"`)) {
			if r, err := decode(line); err == nil && len(r.Steps) == 1 && r.Undoes == 0 && bytes.Count(whole[start:], r.pathField()) == 1 {
				j.unlinkImage(r.Steps[0])
			}
		}
		if start == 0 || len(whole)-start > 16<<10 {
			return
		}
	}
}

// pathField returns the path of the first step as it is in the record's line.
func (r *record) pathField() []byte {
	text, _ := json.Marshal(escapeNames(r.Steps[:1])[0].Path) // a text can be encoded
	return append([]byte(`"path":`), text...)
}

func (j *journal) unlinkImage(s pathChange) {
	has, err := j.images.folder.Lstat(s.Image)
	if err != nil || has.Links < 2 || filepath.IsAbs(s.Path) {
		return
	}
	d, err := j.root.tree.OpenFolder(path.Dir(s.Path))
	if err != nil {
		return
	}
	defer d.Close()
	if there, err := d.Lstat(path.Base(s.Path)); err == nil && there.ID == has.ID && there.ID != (FileID{}) {
		discard(j.images.folder, s.Image)
	}
}

// findFirst reads the first record, which limits the age and number of changes.
func (j *journal) findFirst() error {
	if j.first.ID != 0 || j.end == 0 {
		return nil
	}
	var head []byte
	for size := int64(64 << 10); ; size *= 8 {
		head = make([]byte, min(j.end, size))
		if _, err := j.log.ReadAt(head, 0); err != nil && err != io.EOF {
			return tree.Cause(err)
		}
		if size >= j.end || size > maxJournal || bytes.IndexByte(head, '\n') >= 0 {
			break
		}
	}
	for _, c := range readRecords(head) {
		j.first = record{ID: c.ID, Time: c.Time, Sum: c.Sum - c.Bytes}
		break
	}
	return nil
}
