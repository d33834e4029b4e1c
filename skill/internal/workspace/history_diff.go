package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"textskill/skill/internal/workspace/tree"
)

// Difference returns what a change did as a unified diff, with a line for each version that
// is no longer kept.
func (w *Workspace) Difference(ctx context.Context, id string) (string, error) {
	j, n, ok := w.byID(id)
	if !ok {
		return "", &UndoError{ID: id, Reason: "is not one of this workspace; history lists those that are"}
	}
	all, err := j.read(ctx)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(all, func(c *change) bool { return c.ID == n && c.applied() && w.holdsAll(j, c) })
	if i < 0 {
		return "", &UndoError{ID: id, Reason: "is not in the journal"}
	}
	images, err := j.root.tree.OpenFolder(StateDir + "/" + imagesName)
	if err != nil {
		return "", err
	}
	defer images.Close()
	var out strings.Builder
	d := differ{w, j, all, images}
	for _, s := range w.newUndo(j, all[i], all, false).steps {
		text, err := d.step(s, all[i].Back)
		if err != nil {
			return "", wrap("open", j.path(s.Path), err)
		}
		out.WriteString(text)
	}
	return out.String(), nil
}

// A differ prints steps.
type differ struct {
	w      *Workspace
	j      *journal
	all    []*change
	images tree.Folder
}

func (d differ) step(s pathChange, back bool) (string, error) {
	abs := d.j.path(s.Path)
	before, after := s.Before, s.After
	if back {
		before, after = after, before
	}
	switch {
	case s.How == asFolder && after.Type == "":
		return "removed directory " + abs + "\n", nil
	case s.How == asFolder:
		return "created directory " + abs + "\n", nil
	case s.How == asMode:
		return fmt.Sprintf("changed the permissions of %s from %o to %o\n", abs, before.Mode, after.Mode), nil
	case s.How == byAppend:
		return d.tail(s, back)
	case s.How == byMove && back:
		return "moved " + abs + " to " + d.j.path(s.From) + "\n", nil
	case s.How == byMove:
		text := "moved " + d.j.path(s.From) + " to " + abs + "\n"
		if before.Type == "" {
			return text, nil
		}
		more, err := d.contents(s.Path, before, after)
		return text + more, err
	}
	return d.contents(s.Path, before, after)
}

// contents prints the difference between two versions of a file, link or folder.
func (d differ) contents(name string, before, after fileState) (string, error) {
	abs := d.j.path(name)
	head, text, whole := header(abs, abs), "", false
	switch {
	case before.Type == "":
		head = header("/dev/null", abs)
		text, whole = d.folder(name, after, false)
	case after.Type == "":
		head = header(abs, "/dev/null")
		text, whole = d.folder(name, before, true)
	}
	if whole {
		return text, nil
	}
	if !before.isFileOrNothing() || !after.isFileOrNothing() {
		return head + describe("was", before) + describe("is", after), nil
	}
	if max(before.Size, after.Size) > maxDiff {
		return head + largeSummary(before.Size, after.Size), nil
	}
	was, err := d.content(name, before)
	if err != nil {
		return "", err
	}
	is, err := d.content(name, after)
	if err != nil {
		return "", err
	}
	if before.Type != "" && was == nil || after.Type != "" && is == nil {
		return head + "Not kept any more: what it was or what it became\n", nil
	}
	return Unified(abs, abs, was, is), nil
}

func (s fileState) isFileOrNothing() bool { return s.Type == "" || s.Type == "file" }

func describe(when string, s fileState) string {
	switch s.Type {
	case "":
		return ""
	case "link":
		return when + " a link to " + s.Digest + "\n"
	case "folder":
		return fmt.Sprintf("%s a folder of %d bytes\n", when, s.Size)
	case "other":
		return when + " not a regular file\n"
	}
	return fmt.Sprintf("%s a file of %d bytes\n", when, s.Size)
}

// content returns the content of a state, from the file itself or an image. It is nil if
// neither has it, and for the state of nothing.
func (d differ) content(name string, s fileState) ([]byte, error) {
	if s.Type == "" {
		return nil, nil
	}
	if data, err := d.inPlace(name, s); data != nil || err != nil {
		return data, err
	}
	for _, c := range d.all {
		for _, t := range c.Steps {
			if data, err := d.contentOf(t, s); data != nil || err != nil {
				return data, err
			}
		}
	}
	return nil, nil
}

// contentOf returns the content of a state from the image of a step, or from the file that
// the step changed: it may have been moved there. It is nil if neither has it.
func (d differ) contentOf(t pathChange, s fileState) ([]byte, error) {
	if !t.Before.sameContent(s) && !t.After.sameContent(s) {
		return nil, nil
	}
	if t.Image != "" {
		if has, err := stateAt(d.images, t.Image); err == nil && has.sameContent(s) {
			return readImage(d.images, t.Image)
		}
	}
	return d.inPlace(t.Path, s)
}

// inPlace returns the content of the file name if it is in that state, else nil.
func (d differ) inPlace(name string, s fileState) ([]byte, error) {
	b := &undoStep{undo: &undo{w: d.w, j: d.j}}
	p, in, err := b.open(name)
	if err != nil {
		return nil, nil
	}
	defer in.Close()
	if there, err := stateAt(in, p.base()); err != nil || !there.sameContent(s) {
		return nil, nil
	}
	return readImage(in, p.base())
}

func readImage(in tree.Folder, name string) ([]byte, error) {
	f, err := in.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxDiff+1))
	return append([]byte{}, data...), tree.Cause(err)
}

// tail prints what was appended, with the lines before it.
func (d differ) tail(s pathChange, back bool) (string, error) {
	abs := d.j.path(s.Path)
	added := s.After.Size - s.Before.Size
	head := header(abs, abs)
	gone := head + "Not kept any more: what was appended\n"
	if added > maxDiff || added < 0 {
		return head + largeSummary(s.Before.Size, s.After.Size), nil
	}
	b := &undoStep{undo: &undo{w: d.w, j: d.j}}
	p, in, err := b.open(s.Path)
	if err != nil {
		return gone, nil
	}
	defer in.Close()
	f, err := in.OpenFile(p.base(), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) {
		return gone, nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	tail := make([]byte, added)
	if n, _ := f.ReadAt(tail, s.Before.Size); int64(n) < added || digest(tail) != s.After.Digest {
		if tail, err = readImage(d.images, s.Image); err != nil || digest(tail) != s.After.Digest {
			return gone, nil
		}
	}
	if back {
		return "taken off again:\n" + head + largeSummary(s.After.Size, s.Before.Size), nil
	}
	text, err := spliceDiff(abs, io.NewSectionReader(f, 0, s.Before.Size), s.Before.Size, Splice{Offset: s.Before.Size, New: tail})
	if err != nil {
		return gone, nil
	}
	return text, nil
}
