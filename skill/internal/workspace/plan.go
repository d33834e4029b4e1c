package workspace

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"slices"

	"textskill/skill/internal/history"
	"textskill/skill/internal/workspace/tree"
)

// A plan is what is recorded of a change before it is made. The zero plan is of a
// change that is not recorded.
type plan struct {
	root       *root // whose history it is; nil for none
	history.Op       // with a Kind of "", that of the Change
	parents    bool  // folders that are made for a change, which takes their deltas over
	steps      int   // in how many steps it is made: of more than one, the op is made durable before
}

// one is the plan of a change of one path.
func (w *Workspace) one(p location, d history.Delta) plan {
	return plan{root: p.root, Op: history.Op{Deltas: []history.Delta{d}}}
}

// planFolders plans to make p and the folders above it, as far as they are missing.
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

// near reports whether what is in d can be moved to the blobs of j, so far as is known.
func (j *journal) near(d tree.Folder) bool {
	s, err := j.open()
	return err == nil && !j.options.Portable && s.Place().Near && d.ID().Dev == j.root.id.Dev
}

// taken describes what is at name in d and about to be taken away, and returns the reason why it
// cannot be kept, if it must be copied for that. whole means that a folder goes with everything in it.
func (j *journal) taken(l *heldLocks, p location, d tree.Folder, copied, whole bool) (before history.Entry,
	note string, err error) {
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

// holdsSpecial reports whether there is a pipe, socket or device at name or below it, which
// cannot be copied.
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

// describeNew describes the new content of a file, before the lock is taken.
func (w *Workspace) describeNew(n *newFile, splice *Splice) (err error) {
	info, err := tree.StatRegular(n.file)
	if err != nil {
		return err
	}
	n.after = history.EntryOf(info)
	switch {
	case n.data != nil:
		n.after = n.after.Holds(n.data)
	case splice == nil || info.Size <= maxSummed:
		n.after, err = history.Content(n.file, info)
	}
	return err
}

// maxSummed is the size in bytes up to which the result of an edit is read to learn its sum.
const maxSummed = 1 << 20

// planReplace plans to give the file p, in d, the content of n, in place if that is a misfit. was is
// what it replaces.
func (w *Workspace) planReplace(l *heldLocks, p location, d tree.Folder, n *newFile) (plan, error) {
	j := w.recorder(p.root)
	if j == nil {
		return plan{}, nil
	}
	delta := history.Delta{Path: j.name(p), After: n.after, InPlace: n.misfit && n.old != nil &&
		n.old.Links > 1, Torn: n.misfit}
	note := ""
	switch tx := l.tx(j); {
	case n.before.Kind != "" && tx != nil && j.near(d):
		delta.Before = tx.Describe(delta.Path, n.before)
	case n.misfit || n.old != nil:
		var err error
		if delta.Before, note, err = j.taken(l, p, d, n.misfit, false); err != nil {
			return plan{}, err
		}
	}
	if n.misfit {
		delta.After.Mode, delta.After.Ino = delta.Before.Mode, delta.Before.Ino
		if delta.After.Sum == "" {
			info, err := tree.StatRegular(n.file)
			if err == nil {
				delta.After.Sum, err = sumOf(n.file, info.Size)
			}
			if err != nil {
				return plan{}, err
			}
		}
	}
	delta.Splice = n.splice
	planned := w.one(p, delta)
	planned.Note = note
	if n.misfit {
		planned.steps = 2
	}
	return planned, nil
}

func sumOf(f *os.File, size int64) (string, error) {
	info, err := tree.StatRegular(f)
	if err != nil {
		return "", err
	}
	info.Size = size
	e, err := history.Content(f, info)
	return e.Sum, err
}

// describeOld describes what a file replaces, and how its content changes.
func (n *newFile) describeOld(was tree.File, info Info, splice *Splice) {
	if splice != nil {
		n.splice = smallSplice(&history.Splice{Offset: splice.Offset, Old: splice.Old, New: splice.New})
	}
	if was == (tree.File{}) || n.misfit || !sameStamp(info, *n.old) {
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
	n.before = history.EntryOf(info).Holds(content)
	if splice == nil && n.data != nil && len(n.data) <= maxSummed {
		head := commonPrefix(content, n.data)
		tail := commonSuffix(content[head:], n.data[head:])
		n.splice = smallSplice(&history.Splice{
			Offset: int64(head), Old: int64(len(content) - head - tail), New: n.data[head : len(n.data)-tail],
		})
	}
}

// smallSplice returns a splice that is small enough to be recorded; else nil.
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

// planAppend plans to add data to the end of the file p, in d. A small file is kept like one that is
// replaced; of a larger one, undo takes the end off.
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
		return w.one(p, delta), nil
	}
	before, note, err := j.taken(l, p, d, true, false)
	if err != nil {
		return plan{}, err
	}
	content, err := readWhole(d, p.base(), maxSummed)
	if err != nil {
		return plan{}, err
	}
	delta.Before = before
	delta.After = history.EntryOf(info).Holds(append(content, data...))
	planned := w.one(p, delta)
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

// planTree plans to make the complete folder tempName of d appear as p.
func (w *Workspace) planTree(p location, d tree.Folder) plan {
	j := w.recorder(p.root)
	if j == nil {
		return plan{}
	}
	after, err := history.At(d, tempName, history.Entry{Kind: history.Dir, Whole: true, Sum: "wanted"})
	after.Ino = 0
	planned := w.one(p, history.Delta{Path: j.name(p), After: after})
	if err != nil {
		planned.Note = "the copy cannot be read: " + err.Error()
	}
	return planned
}

// planRemove plans to remove what is at p, in d. Without whole a folder is empty.
func (w *Workspace) planRemove(l *heldLocks, p location, d tree.Folder, whole bool) (plan, error) {
	j := w.recorder(p.root)
	if j == nil {
		return plan{}, nil
	}
	before, note, err := j.taken(l, p, d, false, whole)
	if err != nil {
		return plan{}, err
	}
	planned := w.one(p, history.Delta{Path: j.name(p), Before: before})
	planned.Note = note
	return planned, nil
}

// planMove plans to move src, in from, to dst, in to.
func (w *Workspace) planMove(l *heldLocks, src, dst location, from, to tree.Folder) (plan, error) {
	j := w.recorder(dst.root)
	if j == nil || src == dst {
		return plan{}, nil
	}
	replaced, note, err := j.taken(l, dst, to, false, false)
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
