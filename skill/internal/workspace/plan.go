package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"textskill/skill/internal/workspace/tree"
)

// A plan is a change that is about to be made, as it is recorded.
type plan struct {
	root        *root // whose journal; nil for what is in none
	steps       []pathChange
	bytes       int64  // of what it takes away
	notUndoable string // why it cannot be undone; "" if it can
	markDone    bool   // it takes more than a moment: whether it was completed is recorded, too
	part        bool   // the folders of the change that comes next

	command string // the program that was run
}

// planFolders is of p and the folders above it, as far as they are missing.
func (w *Workspace) planFolders(p location, part bool) plan {
	j := w.journal(p.root)
	if j == nil {
		return plan{}
	}
	d := plan{root: p.root, part: part, markDone: true}
	for at := p; ; at = at.parent() {
		if _, err := at.root.tree.Stat(at.rel); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		d.steps = append(d.steps, pathChange{How: asFolder, Path: j.name(at), After: fileState{Type: "folder", Mode: 0o777}})
	}
	if len(d.steps) == 0 {
		return plan{}
	}
	slices.Reverse(d.steps)
	return d
}

// planReplace is of the file p, which gets the content of full.
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

// planAppend is of data at the end of the file p.
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

// planTree is of a folder that stands in d, complete, and is to appear as p.
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

// planRemove is of what is at p.
func (w *Workspace) planRemove(p location, d tree.Folder, info Info) (plan, error) {
	j := w.journal(p.root)
	if j == nil {
		return plan{}, nil
	}
	before, err := stateAt(d, p.base())
	if err != nil {
		return plan{}, err
	}
	planned := plan{root: p.root, bytes: before.Size, steps: []pathChange{{How: bySwap, Path: j.name(p), Before: before}}}
	switch apart := j.root.id.Dev != d.ID().Dev; {
	case apart && before.Type == "folder" && before.Digest != emptyTreeDigest:
		planned.notUndoable = "it was on another file system than the journal"
	case apart && before.Size > maxCopied:
		planned.notUndoable = tooBig(before.Size)
	}
	return planned, nil
}

// planMove is of src, which becomes dst.
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
	if !info.IsDir() { // of a folder the content may change, and it is moved back all the same
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
