package workspace

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"

	"textskill/skill/internal/history"
	"textskill/skill/internal/workspace/tree"
)

// A plan is the op that commit records before it makes a change. The zero plan records
// nothing.
type plan struct {
	root       *root // the root whose history records the op; nil for no record
	history.Op       // a Kind of "" means the Kind of the Change
	parents    bool  // the op makes missing folders for a change, whose own op will replace it
	steps      int   // number of steps of the change; before more than one, the op is flushed
}

// planOf returns the plan of a change with one delta.
func (w *Workspace) planOf(p location, d history.Delta) plan {
	return plan{root: p.root, Op: history.Op{Deltas: []history.Delta{d}}}
}

// planFolders plans to make p and the missing folders above it.
func (w *Workspace) planFolders(p location) plan {
	j := w.recorder(p.root)
	if j == nil {
		return plan{}
	}
	planned := plan{root: p.root}
	for at := p; ; at = at.parent() {
		if _, err := at.root.tree.Stat(at.rel); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		planned.Deltas = append(planned.Deltas, history.Delta{Path: j.name(at), After: madeFolder})
	}
	if len(planned.Deltas) == 0 {
		return plan{}
	}
	planned.steps = len(planned.Deltas)
	slices.Reverse(planned.Deltas)
	return planned
}

// madeFolder is the entry of a new folder.
var madeFolder = history.Entry{Kind: history.Dir, Mode: history.UsualMode}

// near reports whether files of d can probably be renamed into the blobs of j.
func (j *journal) near(d tree.Folder) bool {
	s, err := j.open()
	return err == nil && !j.options.Portable && s.Place().Near && d.ID().Dev == j.root.id.Dev
}

// describeTaken describes the file p in d, which the change will replace or remove. note is the reason
// why the file cannot be kept, "" if it can. copied means that it must be copied to keep it. whole means
// that a folder is taken with everything in it.
func (j *journal) describeTaken(l *heldLocks, p location, d tree.Folder,
	copied, whole bool) (before history.Entry, note string, err error) {
	var want []history.Entry
	if whole {
		want = []history.Entry{{Kind: history.Dir, Whole: true, Sum: "wanted"}}
	}
	before, err = history.At(d, p.base(), want...)
	if err != nil {
		return before, "", err
	}
	if whole && before.Kind == history.Dir {
		before.Ino = 0
	}
	if copied = copied || !j.near(d); copied {
		if note = history.CopyNote(before.Size); note == "" && holdsSpecial(d, p.base()) {
			note = "a pipe, socket or device cannot be copied to be kept"
		}
	}
	if tx := l.tx(j); tx != nil && note == "" {
		before = tx.Describe(j.name(p), before)
	}
	return before, note, nil
}

// holdsSpecial reports whether name or a file below it is a pipe, socket or device. These cannot be
// copied.
func holdsSpecial(d tree.Folder, name string) bool {
	info, err := d.Lstat(name)
	if err != nil || !info.IsDir() {
		return err == nil && history.EntryOf(info).Kind == history.Other
	}
	in, err := d.OpenFolder(name)
	if err != nil {
		return false
	}
	defer in.Close()
	entries, _ := in.Entries()
	return slices.ContainsFunc(entries, func(e Entry) bool {
		return !e.Type.IsRegular() && e.Type != fs.ModeSymlink && holdsSpecial(in, e.Name)
	})
}

// describeNew describes the new content of a file, if possible before the lock is taken.
func (w *Workspace) describeNew(n *newFile, splice *Splice) (err error) {
	info, err := tree.StatRegular(n.File)
	if err != nil {
		return err
	}
	n.after = history.EntryOf(info)
	switch {
	case n.data != nil:
		n.after = n.after.Holds(n.data)
	case splice == nil || info.Size <= maxSummed:
		n.after, err = history.Content(n.File, info)
	}
	return err
}

// maxSummed limits the size of a file that is read only to compute its hash, in bytes.
const maxSummed = 1 << 20

// planReplace plans to give the file p, in d, the content of n. With n.InPlace it is
// overwritten in place.
func (w *Workspace) planReplace(l *heldLocks, p location, d tree.Folder, n *newFile) (plan, error) {
	j := w.recorder(p.root)
	if j == nil {
		return plan{}, nil
	}
	delta := history.Delta{Path: j.name(p), After: n.after, InPlace: n.InPlace && n.old != nil &&
		n.old.Links > 1, Torn: n.InPlace}
	note := ""
	switch tx := l.tx(j); {
	case n.before.Kind != "" && tx != nil && j.near(d):
		delta.Before = tx.Describe(delta.Path, n.before)
	case n.InPlace || n.old != nil:
		var err error
		if delta.Before, note, err = j.describeTaken(l, p, d, n.InPlace, false); err != nil {
			return plan{}, err
		}
	}
	if n.InPlace {
		delta.After.Mode, delta.After.Ino = delta.Before.Mode, delta.Before.Ino
		if delta.After.Sum == "" {
			info, err := tree.StatRegular(n.File)
			if err != nil {
				return plan{}, err
			}
			whole, err := history.Content(n.File, info)
			if err != nil {
				return plan{}, err
			}
			delta.After.Sum = whole.Sum
		}
	}
	delta.Splice = n.splice
	planned := w.planOf(p, delta)
	planned.Note = note
	if n.InPlace {
		planned.steps = 2
	}
	return planned, nil
}

// describeOld describes the file was, which n will replace, and how the content changes.
func (n *newFile) describeOld(was tree.File, info Info, splice *Splice) {
	if splice != nil {
		n.splice = smallSplice(&history.Splice{Offset: splice.Offset, Old: splice.Old, New: splice.New})
	}
	if was == (tree.File{}) || n.InPlace || !sameStamp(info, *n.old) {
		return
	}
	if info.Size > maxSummed {
		n.before = history.EntryOf(info)
		return
	}
	content, err := was.ReadAll(maxSummed)
	if err != nil {
		return
	}
	n.before = history.EntryOf(info).Holds(content).WithAttributes(was)
	if splice == nil && n.data != nil && len(n.data) <= maxSummed {
		head := commonPrefix(content, n.data)
		tail := commonSuffix(content[head:], n.data[head:])
		n.splice = smallSplice(&history.Splice{
			Offset: int64(head), Old: int64(len(content) - head - tail), New: n.data[head : len(n.data)-tail],
		})
	}
}

// smallSplice returns a copy of s, or nil if s is too large to be recorded.
func smallSplice(s *history.Splice) *history.Splice {
	if len(s.New) > history.MaxSplice {
		return nil
	}
	s.New = bytes.Clone(s.New)
	return s
}

func commonPrefix(a, b []byte) (n int) {
	const block = 64
	for n+block <= min(len(a), len(b)) && bytes.Equal(a[n:n+block], b[n:n+block]) {
		n += block
	}
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func commonSuffix(a, b []byte) (n int) {
	for n < min(len(a), len(b)) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// planAppend plans to append data to the file p, in d. A small file is kept as if it were replaced. Of
// a larger file, undo truncates the end.
func (w *Workspace) planAppend(l *heldLocks, p location, d tree.Folder, info Info,
	data []byte) (plan, error) {
	j := w.recorder(p.root)
	if j == nil {
		return plan{}, nil
	}
	splice := smallSplice(&history.Splice{Offset: info.Size, New: data})
	delta := history.Delta{Path: j.name(p), InPlace: info.Links > 1, Torn: true, Splice: splice}
	if info.Size > maxSummed || !info.Mode.IsRegular() {
		delta.Before, delta.Added = history.EntryOf(info), true
		delta.After = delta.Before
		delta.After.Size += int64(len(data))
		return w.planOf(p, delta), nil
	}
	before, note, err := j.describeTaken(l, p, d, true, false)
	if err != nil {
		return plan{}, err
	}
	content, err := readWhole(d, p.base(), maxSummed)
	if err != nil {
		return plan{}, err
	}
	delta.Before = before
	delta.After = history.EntryOf(info).Holds(append(content, data...))
	planned := w.planOf(p, delta)
	planned.Note, planned.steps = note, 2
	return planned, nil
}

func readWhole(d tree.Folder, name string, limit int64) ([]byte, error) {
	f, _, err := d.OpenContent(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadAll(limit)
}

// planTree plans to rename the complete folder tempName of d to p.
func (w *Workspace) planTree(p location, d tree.Folder) plan {
	j := w.recorder(p.root)
	if j == nil {
		return plan{}
	}
	after, err := history.At(d, tempName, history.Entry{Kind: history.Dir, Whole: true, Sum: "wanted"})
	after.Ino = 0
	planned := w.planOf(p, history.Delta{Path: j.name(p), After: after})
	if err != nil {
		planned.Note = "the copy cannot be read: " + err.Error()
	}
	return planned
}

// planRemove plans to remove p, in d. Without whole, a folder must be empty.
func (w *Workspace) planRemove(l *heldLocks, p location, d tree.Folder, whole bool) (plan, error) {
	j := w.recorder(p.root)
	if j == nil {
		return plan{}, nil
	}
	before, note, err := j.describeTaken(l, p, d, false, whole)
	if err != nil {
		return plan{}, err
	}
	planned := w.planOf(p, history.Delta{Path: j.name(p), Before: before})
	planned.Note = note
	return planned, nil
}

// planMove plans to move src, in the folder from, to dst, in the folder to.
func (w *Workspace) planMove(l *heldLocks, src, dst location, from, to tree.Folder) (plan, error) {
	j := w.recorder(dst.root)
	if j == nil || src == dst {
		return plan{}, nil
	}
	replaced, note, err := j.describeTaken(l, dst, to, false, false)
	if err != nil {
		return plan{}, err
	}
	moved, err := history.At(from, src.base(), history.Entry{Kind: history.Dir, Whole: true, Sum: "wanted"})
	if err != nil {
		return plan{}, err
	}
	planned := plan{root: dst.root, Op: history.Op{Note: note, Deltas: []history.Delta{
		{Path: j.name(src), Before: moved},
		{Path: j.name(dst), From: j.name(src), Before: replaced, After: moved},
	}}}
	if replaced.Kind != "" {
		planned.steps = 2
	}
	return planned, nil
}
