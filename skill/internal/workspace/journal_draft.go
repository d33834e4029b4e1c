package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"textskill/skill/internal/workspace/tree"
)

type labelKey struct{}

type label struct{ dialect, tool string }

// WithLabel returns a context under which changes are recorded as those of a tool of
// a dialect.
func WithLabel(ctx context.Context, dialect, tool string) context.Context {
	return context.WithValue(ctx, labelKey{}, label{dialect, tool})
}

func labelOf(ctx context.Context) (dialect, tool string) {
	l, _ := ctx.Value(labelKey{}).(label)
	return l.dialect, l.tool
}

// journal returns the journal of changes below a root, nil where there is none.
func (w *Workspace) journal(r *root) *journal {
	if r == nil {
		return nil
	}
	for _, j := range w.journals {
		if j.root == r {
			return j
		}
	}
	for _, j := range w.journals {
		if _, ok := below(j.root.dir, r.dir); ok {
			return j
		}
	}
	return nil
}

// changeID names a change: by its number, and of an allowed folder by that, too.
func (w *Workspace) changeID(j *journal, id int64) string {
	if len(w.journals) > 0 && j == w.journals[0] {
		return strconv.FormatInt(id, 10)
	}
	return strconv.FormatInt(id, 10) + "@" + j.root.dir
}

// byID is the inverse of changeID; ok is false for what is no ID here.
func (w *Workspace) byID(text string) (j *journal, id int64, ok bool) {
	number, dir, other := strings.Cut(text, "@")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || id <= 0 {
		return nil, 0, false
	}
	i := slices.IndexFunc(w.journals, func(j *journal) bool { return !other || j.root.dir == filepath.Clean(dir) })
	if i < 0 {
		return nil, 0, false
	}
	return w.journals[i], id, true
}

// name is how a place is written in the journal.
func (j *journal) name(p place) string {
	if rel, ok := below(j.root.dir, p.path()); ok {
		return rel
	}
	return p.path()
}

// path is the inverse of name.
func (j *journal) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(j.root.dir, filepath.FromSlash(name))
}

// draftFolders is of p and the folders above it, as far as they are missing.
func (w *Workspace) draftFolders(p place, part bool) draft {
	j := w.journal(p.root)
	if j == nil {
		return draft{}
	}
	d := draft{root: p.root, part: part, slow: true}
	for at := p; ; at = at.parent() {
		if _, err := at.root.tree.Stat(at.rel); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		d.steps = append(d.steps, step{How: asFolder, Path: j.name(at), After: state{Is: "folder", Mode: 0o777}})
	}
	if len(d.steps) == 0 {
		return draft{}
	}
	slices.Reverse(d.steps)
	return d
}

// draftReplace is of the file p, which gets the content of full.
func (w *Workspace) draftReplace(p place, d tree.Folder, how way, full *os.File) (draft, error) {
	j := w.journal(p.root)
	if j == nil {
		return draft{}, nil
	}
	before, err := stateAt(d, p.base())
	if err != nil {
		return draft{}, err
	}
	after, err := fileState(full)
	if err != nil {
		return draft{}, err
	}
	dr := draft{root: p.root, bytes: before.Size, slow: how == inPlace,
		steps: []step{{How: how, Path: j.name(p), Before: before, After: after}}}
	if (how == inPlace || j.root.id.Dev != d.ID().Dev) && before.Size > maxCopied {
		dr.note = tooBig(before.Size)
	}
	return dr, nil
}

func tooBig(size int64) string {
	return fmt.Sprintf("what was there holds %d bytes, and more than %d are not copied to be kept", size, maxCopied)
}

// draftAppend is of data at the end of the file p.
func (w *Workspace) draftAppend(p place, info Info, data []byte) draft {
	j := w.journal(p.root)
	if j == nil {
		return draft{}
	}
	return draft{root: p.root, slow: true, steps: []step{{
		How: byTail, Path: j.name(p),
		Before: state{Is: "file", Size: info.Size, Time: info.ModTime.UnixNano()},
		After:  state{Is: "file", Size: info.Size + int64(len(data)), Print: bytesPrint(data)},
	}}}
}

// draftTree is of a folder that stands in d, complete, and is to appear as p.
func (w *Workspace) draftTree(p place, d tree.Folder) draft {
	j := w.journal(p.root)
	if j == nil {
		return draft{}
	}
	after, err := stateAt(d, tempName)
	dr := draft{root: p.root, steps: []step{{How: bySwap, Path: j.name(p), After: after}}}
	if err != nil {
		dr.note = "the copy cannot be read: " + err.Error()
	}
	return dr
}

// draftRemove is of what is at p.
func (w *Workspace) draftRemove(p place, d tree.Folder, info Info) (draft, error) {
	j := w.journal(p.root)
	if j == nil {
		return draft{}, nil
	}
	before, err := stateAt(d, p.base())
	if err != nil {
		return draft{}, err
	}
	dr := draft{root: p.root, bytes: before.Size, steps: []step{{How: bySwap, Path: j.name(p), Before: before}}}
	switch apart := j.root.id.Dev != d.ID().Dev; {
	case apart && before.Is == "folder" && before.Print != emptyTree:
		dr.note = "it was on another file system than the journal"
	case apart && before.Size > maxCopied:
		dr.note = tooBig(before.Size)
	}
	return dr, nil
}

// draftMove is of src, which becomes dst.
func (w *Workspace) draftMove(src, dst place, from, to tree.Folder) (draft, error) {
	j := w.journal(dst.root)
	if j == nil || src == dst {
		return draft{}, nil
	}
	before, err := stateAt(to, dst.base())
	if err != nil {
		return draft{}, err
	}
	info, err := from.Lstat(src.base())
	if err != nil {
		return draft{}, err
	}
	after := state{Is: "folder"}
	if !info.IsDir() { // of a folder the content may change, and it is moved back all the same
		if after, err = stateAt(from, src.base()); err != nil {
			return draft{}, err
		}
	}
	dr := draft{root: dst.root, bytes: before.Size,
		steps: []step{{How: byMove, Path: j.name(dst), From: j.name(src), Before: before, After: after}}}
	if j.root.id.Dev != to.ID().Dev && before.Size > maxCopied {
		dr.note = tooBig(before.Size)
	}
	return dr, nil
}

// kept is where one change puts what it takes away.
type kept struct {
	folder tree.Folder
	steps  []step
}

func (k *kept) image() string { return k.steps[0].Image }

// drop removes the image of a change that was not made.
func (k *kept) drop() { discard(k.folder, k.image()) }

// free makes the name of the image free, which one of a lost journal may bear.
func (k *kept) free(put func() error) error {
	err := put()
	if errors.Is(err, fs.ErrExist) {
		k.drop()
		err = put()
	}
	return err
}

// trade puts a new file in the place of the one called name, which becomes the
// image. done is false where the caller has to do it, with an image that is made.
func (k *kept) trade(n *newFile, name string) (done bool, err error) {
	err = errors.ErrUnsupported
	if !n.named {
		err = k.free(func() error { return k.folder.LinkUnnamed(n.file, k.image()) })
	}
	if err != nil {
		return false, k.take(n.dir, name)
	}
	if err = k.folder.Exchange(k.image(), n.dir, name); err != nil {
		if err := k.folder.Rename(k.image(), n.dir, tempName, false); err != nil {
			return true, err
		}
		n.named = true // a file that has lost its only name gets no other
		return false, k.take(n.dir, name)
	}
	if info, err := k.folder.Lstat(k.image()); err == nil && info.IsDir() { // it came there just now
		if err := k.folder.Exchange(k.image(), n.dir, name); err != nil {
			return true, err
		}
		k.drop()
		return true, syscall.EISDIR
	}
	return true, nil
}

// take makes an image of what is at name and is about to be replaced: the file itself
// under another name, or a copy. An empty folder is made anew.
func (k *kept) take(d tree.Folder, name string) error {
	info, err := d.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
		return nil
	}
	if err != nil {
		return err
	}
	if k.free(func() error { return d.Link(name, k.folder, k.image()) }) == nil {
		return nil
	}
	return k.copy(d, name)
}

// copy makes an image that is a copy.
func (k *kept) copy(d tree.Folder, name string) error {
	return k.free(func() error { return copyOut(d, name, k.folder, k.image()) })
}

// copyOut copies a file or a link to a new name.
func copyOut(d tree.Folder, name string, to tree.Folder, newName string) error {
	target, err := d.Readlink(name)
	if err == nil {
		return to.Symlink(target, newName)
	}
	if err := d.CopyFile(name, to, newName, true); err != nil {
		return err
	}
	info, err := d.Lstat(name)
	if err != nil {
		return err
	}
	if f, err := to.OpenFile(newName, os.O_RDONLY, 0); err == nil { // else its owner may not read it, and so not keep more of it
		defer f.Close()
		tree.CopyMetadata(f, d, name, info)
	}
	return nil
}

// putBy makes what is at name the image. done is false where it is still there, and
// a copy of it is the image.
func (k *kept) putBy(d tree.Folder, name string, info Info) (done bool, err error) {
	err = k.free(func() error { return d.Rename(name, k.folder, k.image(), false) })
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return true, err
	case info.IsDir():
		return false, nil
	}
	return false, k.copy(d, name)
}
