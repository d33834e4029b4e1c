package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"textskill/skill/internal/state"
	"textskill/skill/internal/workspace/tree"
)

// A plan is what is recorded of a change before it is made. The zero plan is of a
// change that is not recorded.
type plan struct {
	root         *root // whose history it is; nil for none
	state.Record       // with a Kind of "", that of the Change
	parents      bool  // folders that are made for a change, which takes their steps over
	end          bool  // it is not made in one step: that it is complete is recorded, too
}

// planFolders plans to make p and the folders above it, as far as they are missing.
func (w *Workspace) planFolders(p location) plan {
	h := w.journal(p.root)
	if h == nil {
		return plan{}
	}
	planned := plan{root: p.root, end: true}
	for at := p; ; at = at.parent() {
		if _, err := at.root.tree.Stat(at.rel); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		planned.Steps = append(planned.Steps, state.Step{Path: h.name(at), After: madeFolder(0o777)})
	}
	if len(planned.Steps) == 0 {
		return plan{}
	}
	slices.Reverse(planned.Steps)
	return planned
}

// madeFolder is the state of an empty folder.
func madeFolder(mode fs.FileMode) state.State {
	return state.State{Kind: kindFolder, Mode: uint32(mode.Perm()), Sum: emptySum}
}

// near reports whether what is in d can be moved to the images of h, so far as is known.
func (h *history) near(d tree.Folder) bool {
	s, err := h.open()
	return err == nil && !h.portable && s.Place().Near && d.ID().Dev == h.root.id.Dev
}

// takenFrom returns the state of what is at name in d and about to be taken away, and the reason
// why it cannot be kept, if copied says that it must be copied for that.
func (h *history) takenFrom(d tree.Folder, name string, copied bool) (before state.State, note string, err error) {
	limit := int64(maxSum)
	if copied = copied || !h.near(d); copied {
		limit = allBytes // a copy has another stamp
	}
	if before, err = stateAt(d, name, limit); err == nil && copied {
		if note = state.CopyNote(before.Size); holdsSpecial(d, name) {
			note = "what is not a regular file is not copied to be kept"
		}
	}
	return before, note, err
}

// planReplace plans to give the file p, in d, the content of n, in place if that is a misfit.
// patch is from patchOf.
func (w *Workspace) planReplace(p location, d tree.Folder, n *newFile, was oldFile, patch <-chan patched) (plan, error) {
	h := w.journal(p.root)
	if h == nil {
		return plan{}, nil
	}
	limit := int64(allBytes)
	if patch != nil || n.data != nil { // the sum is known without reading the file
		limit = noBytes
	}
	after, err := stateOf(n.file, limit)
	if err != nil {
		return plan{}, err
	}
	if n.data != nil {
		after.Sum = sumOf(n.data)
	}
	after.Stamp = state.Stamp{} // it changes with the name
	step := state.Step{Path: h.name(p), After: after}
	if patch != nil {
		r := <-patch
		if r.err != nil {
			return plan{}, tree.Cause(r.err)
		}
		step.Before, step.Patch, step.After.Sum = r.before, r.patch, r.after
		step.Keep = len(r.patch.Old) < int(r.patch.Length)
		return plan{root: p.root, Record: state.Record{Bytes: r.patch.Length, Steps: []state.Step{step}}}, nil
	}
	var note string
	if was.File != (tree.File{}) && h.near(d) {
		step.Before, err = stateOfContent(was, was.info, maxSum)
	} else if n.misfit || n.old != nil {
		step.Before, note, err = h.takenFrom(d, p.base(), n.misfit)
	}
	if err != nil {
		return plan{}, err
	}
	if n.misfit {
		step.After.Mode = step.Before.Mode
		keepNames(&step)
	}
	step.Keep = step.Before.Kind != ""
	return plan{root: p.root, end: n.misfit, Record: state.Record{Bytes: step.Before.Size, Note: note, Steps: []state.Step{step}}}, nil
}

// keepNames notes in a step that the file stays the same, with all its names.
func keepNames(s *state.Step) { s.After.Stamp.Ino, s.After.Links = s.Before.Stamp.Ino, s.Before.Links }

// A patched is what patchOf finds.
type patched struct {
	before state.State
	patch  *state.Patch // what the splice takes away
	after  string       // sum of the file after it
	err    error
}

// patchOf finds out about a splice of a file while the new file is written. It is nil where
// nothing is recorded, or more is taken away than a patch holds.
func (w *Workspace) patchOf(p location, d tree.Folder, s *Splice) <-chan patched {
	if s == nil || s.Old > state.MaxCopied || w.journal(p.root) == nil {
		return nil
	}
	found := make(chan patched, 1)
	f, err := d.OpenFile(p.base(), os.O_RDONLY, 0)
	if err != nil {
		found <- patched{err: err}
		return found
	}
	go func() {
		defer f.Close()
		r := patched{patch: &state.Patch{Offset: s.Offset, Length: s.Old, New: int64(len(s.New))}}
		if s.Old <= state.MaxInline {
			r.patch.Old = make([]byte, s.Old)
			if _, r.err = f.ReadAt(r.patch.Old, s.Offset); r.err == io.EOF {
				r.err = nil
			}
		}
		if r.err == nil {
			r.before, r.err = stateOf(f, noBytes)
		}
		if r.err == nil {
			r.before.Sum, r.after, r.err = splicedSums(f, r.before.Size, *s)
		}
		found <- r
	}()
	return found
}

// planAppend plans to add data to the end of the file p.
func (w *Workspace) planAppend(p location, info Info, data []byte) plan {
	h := w.journal(p.root)
	if h == nil {
		return plan{}
	}
	before := stateFrom(info)
	after := state.State{Kind: kindFile, Mode: before.Mode, Size: before.Size + int64(len(data))}
	step := state.Step{Path: h.name(p), Before: before, After: after, Patch: &state.Patch{Offset: before.Size, New: int64(len(data)), Sum: sumOf(data)}}
	keepNames(&step)
	return plan{root: p.root, end: true, Record: state.Record{Steps: []state.Step{step}}}
}

// planTree plans to make the complete folder tempName of d appear as p.
func (w *Workspace) planTree(p location, d tree.Folder) plan {
	h := w.journal(p.root)
	if h == nil {
		return plan{}
	}
	after, err := stateAt(d, tempName, allBytes)
	planned := plan{root: p.root, Record: state.Record{Steps: []state.Step{{Path: h.name(p), After: after}}}}
	if err != nil {
		planned.Note = "the copy cannot be read: " + err.Error()
	}
	return planned
}

// planRemove plans to remove what is at p, in d. Without whole a folder is empty.
func (w *Workspace) planRemove(p location, d tree.Folder, whole bool) (plan, error) {
	h := w.journal(p.root)
	if h == nil {
		return plan{}, nil
	}
	before, note, err := h.takenFrom(d, p.base(), false)
	if err != nil {
		return plan{}, err
	}
	keep := true
	if before.Kind == kindFolder && !whole {
		before.Sum, keep = emptySum, false
	}
	return plan{root: p.root, Record: state.Record{Bytes: before.Size, Note: note, Steps: []state.Step{{Path: h.name(p), Before: before, Keep: keep}}}}, nil
}

// planMove plans to move src, in from, to dst, in to.
func (w *Workspace) planMove(src, dst location, from, to tree.Folder) (plan, error) {
	h := w.journal(dst.root)
	if h == nil || src == dst {
		return plan{}, nil
	}
	before, note, err := h.takenFrom(to, dst.base(), false)
	if err != nil {
		return plan{}, err
	}
	after, err := stateAt(from, src.base(), maxSum)
	if err != nil {
		return plan{}, err
	}
	keep := before.Kind != "" && before.Kind != kindFolder
	if before.Kind == kindFolder {
		before.Sum = emptySum // else it cannot be replaced
	}
	return plan{root: dst.root, Record: state.Record{Bytes: before.Size, Note: note,
		Steps: []state.Step{{Path: h.name(dst), From: h.name(src), Before: before, After: after, Keep: keep}}}}, nil
}
