package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"textskill/skill/internal/workspace/tree"
)

// A plan is what is recorded of a change before it is made. The zero plan is of a
// change that is not recorded.
type plan struct {
	root        *root // has the journal; nil for none
	steps       []pathChange
	bytes       int64  // size of what the change takes away
	notUndoable string // why it cannot be undone; "" if it can
	markDone    bool   // it is not made in one step: the journal also says when it is complete
	part        bool   // it makes folders for the change that comes next

	command string // the program that was run; "" for none
}

// planFolders plans to make p and the folders above it, as far as they are missing.
func (w *Workspace) planFolders(p location, part bool) plan {
	j := w.journal(p.root)
	if j == nil {
		return plan{}
	}
	planned := plan{root: p.root, part: part, markDone: true}
	for at := p; ; at = at.parent() {
		if _, err := at.root.tree.Stat(at.rel); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		planned.steps = append(planned.steps, pathChange{How: asFolder, Path: j.name(at), After: fileState{Type: "folder", Mode: 0o777}})
	}
	if len(planned.steps) == 0 {
		return plan{}
	}
	slices.Reverse(planned.steps)
	return planned
}

// planReplace plans to give the file p, in d, the content of full.
func (w *Workspace) planReplace(p location, d tree.Folder, how method, full *os.File) (plan, error) {
	j := w.journal(p.root)
	if j == nil {
		return plan{}, nil
	}
	before, err := stateAt(d, p.base())
	if err != nil {
		return plan{}, err
	}
	after, err := stateOf(full)
	if err != nil {
		return plan{}, err
	}
	planned := plan{root: p.root, bytes: before.Size, markDone: how == inPlace,
		steps: []pathChange{{How: how, Path: j.name(p), Before: before, After: after}}}
	if (how == inPlace || j.root.id.Dev != d.ID().Dev) && before.Size > maxCopied {
		planned.notUndoable = tooBig(before.Size)
	}
	return planned, nil
}

func tooBig(size int64) string {
	return fmt.Sprintf("what was there holds %d bytes, and more than %d are not copied to be kept", size, maxCopied)
}

// planAppend plans to add data to the end of the file p.
func (w *Workspace) planAppend(p location, info Info, data []byte) plan {
	j := w.journal(p.root)
	if j == nil {
		return plan{}
	}
	return plan{root: p.root, markDone: true, steps: []pathChange{{
		How: byAppend, Path: j.name(p),
		Before: fileState{Type: "file", Size: info.Size, Time: info.ModTime.UnixNano()},
		After:  fileState{Type: "file", Size: info.Size + int64(len(data)), Digest: digest(data)},
	}}}
}

// planTree plans to make the complete folder tempName of d appear as p.
func (w *Workspace) planTree(p location, d tree.Folder) plan {
	j := w.journal(p.root)
	if j == nil {
		return plan{}
	}
	after, err := stateAt(d, tempName)
	planned := plan{root: p.root, steps: []pathChange{{How: bySwap, Path: j.name(p), After: after}}}
	if err != nil {
		planned.notUndoable = "the copy cannot be read: " + err.Error()
	}
	return planned
}

// planRemove plans to remove what is at p, in d.
func (w *Workspace) planRemove(p location, d tree.Folder) (plan, error) {
	j := w.journal(p.root)
	if j == nil {
		return plan{}, nil
	}
	before, err := stateAt(d, p.base())
	if err != nil {
		return plan{}, err
	}
	planned := plan{root: p.root, bytes: before.Size, steps: []pathChange{{How: bySwap, Path: j.name(p), Before: before}}}
	switch elsewhere := j.root.id.Dev != d.ID().Dev; {
	case elsewhere && before.Type == "folder" && before.Digest != emptyTreeDigest:
		planned.notUndoable = "it was on another file system than the journal"
	case elsewhere && before.Size > maxCopied:
		planned.notUndoable = tooBig(before.Size)
	}
	return planned, nil
}

// planMove plans to move src, in from, to dst, in to.
func (w *Workspace) planMove(src, dst location, from, to tree.Folder) (plan, error) {
	j := w.journal(dst.root)
	if j == nil || src == dst {
		return plan{}, nil
	}
	before, err := stateAt(to, dst.base())
	if err != nil {
		return plan{}, err
	}
	info, err := from.Lstat(src.base())
	if err != nil {
		return plan{}, err
	}
	after := fileState{Type: "folder"}
	if !info.IsDir() { // a folder can be moved back even if its content has changed since
		if after, err = stateAt(from, src.base()); err != nil {
			return plan{}, err
		}
	}
	planned := plan{root: dst.root, bytes: before.Size,
		steps: []pathChange{{How: byMove, Path: j.name(dst), From: j.name(src), Before: before, After: after}}}
	if j.root.id.Dev != to.ID().Dev && before.Size > maxCopied {
		planned.notUndoable = tooBig(before.Size)
	}
	return planned, nil
}
