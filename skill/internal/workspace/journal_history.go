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
	"time"

	"textskill/skill/internal/workspace/tree"
)

// A Recorded is one change in the journal.
type Recorded struct {
	ID            string
	Time          time.Time
	Dialect, Tool string // that made it; "" where it is not known
	Kind          Kind
	Path          string   // absolute
	From          string   // absolute; the source of a move
	Command       string   // of a run, the program
	Paths         []string // of a run, all that it changed, absolute
	Of            string   // of an undo, the change that it took back
	Undone        bool     // it was taken back
	NotKept       string   // why it cannot be undone; "" if it can
}

// String is the entry as one line.
func (e Recorded) String() string {
	what := string(e.Kind) + " " + e.Path
	switch {
	case e.From != "":
		what = string(e.Kind) + " " + e.From + " to " + e.Path
	case e.Command != "" && len(e.Paths) > 1:
		what = fmt.Sprintf("%s %s: %s and %d more", e.Kind, e.Command, e.Path, len(e.Paths)-1)
	case e.Command != "":
		what = string(e.Kind) + " " + e.Command + ": " + e.Path
	case e.Of != "":
		what = string(e.Kind) + " " + e.Of + ": " + e.Path
	}
	var notes []string
	if e.Tool != "" {
		notes = append(notes, e.Tool)
	}
	if e.Undone {
		notes = append(notes, "undone")
	}
	if e.NotKept != "" {
		notes = append(notes, "not kept: "+e.NotKept)
	}
	if len(notes) > 0 {
		what += " (" + strings.Join(notes, ", ") + ")"
	}
	return e.ID + "  " + e.Time.Local().Format(time.DateTime) + "  " + what
}

// History returns the changes that are kept, the oldest first. Folders that were made
// for a change belong to it.
func (w *Workspace) History(ctx context.Context) ([]Recorded, error) {
	var list []Recorded
	for _, j := range w.journals {
		all, err := j.read(ctx)
		if err != nil {
			return nil, wrap("open", j.path(StateDir+"/"+journalName), err)
		}
		for _, c := range all {
			if c.made() && !c.part && w.reaches(j, c) {
				list = append(list, w.entry(j, c))
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Recorded) int {
		if strings.Contains(a.ID, "@") == strings.Contains(b.ID, "@") {
			return 0
		}
		return a.Time.Compare(b.Time)
	})
	return list, nil
}

func (w *Workspace) entry(j *journal, c *change) Recorded {
	e := Recorded{ID: w.changeID(j, c.ID), Time: c.Time, Dialect: c.Dialect, Tool: c.Tool, Kind: c.Kind, Command: c.Command, Undone: c.undone, NotKept: c.Note}
	if len(c.Steps) > 0 {
		main := c.Steps[len(c.Steps)-1]
		e.Path = j.path(main.Path)
		if main.From != "" && c.Undoes == 0 {
			e.From = j.path(main.From)
		}
	}
	for _, s := range c.Steps {
		if c.Kind == Run {
			e.Paths = append(e.Paths, j.path(s.Path))
		}
	}
	if c.Undoes > 0 {
		e.Of = w.changeID(j, c.Undoes)
	}
	return e
}

// Difference prints what a change did, as a unified diff. What is not kept is said.
func (w *Workspace) Difference(ctx context.Context, id string) (string, error) {
	j, n, ok := w.byID(id)
	if !ok {
		return "", &NoChangeError{id, "is not one of this workspace; its changes are listed as its history"}
	}
	all, err := j.read(ctx)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(all, func(c *change) bool { return c.ID == n && c.made() && w.reaches(j, c) })
	if i < 0 {
		return "", &NoChangeError{id, "is not in the journal"}
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

// differ prints steps.
type differ struct {
	w      *Workspace
	j      *journal
	all    []*change
	images tree.Folder
}

func (d differ) step(s step, back bool) (string, error) {
	abs := d.j.path(s.Path)
	before, after := s.Before, s.After
	if back {
		before, after = after, before
	}
	switch {
	case s.How == asFolder && after.Is == "":
		return "removed directory " + abs + "\n", nil
	case s.How == asFolder:
		return "created directory " + abs + "\n", nil
	case s.How == asMode:
		return fmt.Sprintf("changed the permissions of %s from %o to %o\n", abs, before.Mode, after.Mode), nil
	case s.How == byTail:
		return d.tail(s, back)
	case s.How == byMove && back:
		return "moved " + abs + " to " + d.j.path(s.From) + "\n", nil
	case s.How == byMove:
		text := "moved " + d.j.path(s.From) + " to " + abs + "\n"
		if before.Is == "" {
			return text, nil
		}
		more, err := d.contents(s.Path, before, after)
		return text + more, err
	}
	return d.contents(s.Path, before, after)
}

// contents prints what became of a file, link or folder.
func (d differ) contents(name string, before, after state) (string, error) {
	abs := d.j.path(name)
	head := header(abs, abs)
	switch {
	case before.Is == "":
		head = header("/dev/null", abs)
	case after.Is == "":
		head = header(abs, "/dev/null")
	}
	if whole, gone := after, after.Is == ""; before.Is == "" || gone {
		if gone {
			whole = before
		}
		if whole.Is == "folder" {
			if text, ok := d.folder(name, whole, gone); ok {
				return text, nil
			}
		}
	}
	for _, s := range []state{before, after} {
		if s.Is != "" && s.Is != "file" {
			return head + describe("was", before) + describe("is", after), nil
		}
	}
	if max(before.Size, after.Size) > maxDiff {
		return head + large(before.Size, after.Size), nil
	}
	was, err := d.content(name, before)
	if err != nil {
		return "", err
	}
	is, err := d.content(name, after)
	if err != nil {
		return "", err
	}
	if before.Is != "" && was == nil || after.Is != "" && is == nil {
		return head + "Not kept any more: what it was or what it became\n", nil
	}
	return Unified(abs, abs, was, is), nil
}

func describe(when string, s state) string {
	switch s.Is {
	case "":
		return ""
	case "link":
		return when + " a link to " + s.Print + "\n"
	case "folder":
		return fmt.Sprintf("%s a folder of %d bytes\n", when, s.Size)
	case "other":
		return when + " no regular file\n"
	}
	return fmt.Sprintf("%s a file of %d bytes\n", when, s.Size)
}

// content finds the bytes of a state: in place, or in an image. It is nil where they
// are not to be found, and of nothing.
func (d differ) content(name string, s state) ([]byte, error) {
	if s.Is == "" {
		return nil, nil
	}
	if data, err := d.inPlace(name, s); data != nil || err != nil {
		return data, err
	}
	for _, c := range d.all {
		for _, t := range c.Steps {
			if !t.Before.is(s) && !t.After.is(s) {
				continue
			}
			if t.Image != "" {
				if has, err := stateAt(d.images, t.Image); err == nil && has.is(s) {
					return readImage(d.images, t.Image)
				}
			}
			if data, err := d.inPlace(t.Path, s); data != nil || err != nil { // it was moved, or is the same
				return data, err
			}
		}
	}
	return nil, nil
}

// inPlace returns the bytes of the file name if it is in that state, else nil.
func (d differ) inPlace(name string, s state) ([]byte, error) {
	b := &stepBack{undo: &undo{w: d.w, j: d.j}}
	p, in, err := b.open(name)
	if err != nil {
		return nil, nil
	}
	defer in.Close()
	if there, err := stateAt(in, p.base()); err != nil || !there.is(s) {
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

// tail prints what was appended or taken off, with the lines before it.
func (d differ) tail(s step, back bool) (string, error) {
	abs := d.j.path(s.Path)
	added := s.After.Size - s.Before.Size
	head := header(abs, abs)
	gone := head + "Not kept any more: what was appended\n"
	if added > maxDiff || added < 0 {
		return head + large(s.Before.Size, s.After.Size), nil
	}
	b := &stepBack{undo: &undo{w: d.w, j: d.j}}
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
	if n, _ := f.ReadAt(tail, s.Before.Size); int64(n) < added || bytesPrint(tail) != s.After.Print {
		if tail, err = readImage(d.images, s.Image); err != nil || bytesPrint(tail) != s.After.Print {
			return gone, nil
		}
	}
	if back {
		return "taken off again:\n" + head + large(s.After.Size, s.Before.Size), nil
	}
	text, err := spliceDiff(abs, io.NewSectionReader(f, 0, s.Before.Size), s.Before.Size, Splice{Offset: s.Before.Size, New: tail})
	if err != nil {
		return gone, nil
	}
	return text, nil
}
