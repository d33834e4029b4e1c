package workspace

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"textskill/skill/internal/history"
	"textskill/skill/internal/workspace/tree"
)

// Difference returns the diff of a recorded change, with a line for each version that is no longer
// kept.
func (w *Workspace) Difference(ctx context.Context, id string) (string, error) {
	j, s, op, err := w.recorded(ctx, id)
	if err != nil {
		return "", err
	}
	if len(op.Deltas) == 0 && op.Note != "" { // the changes of the command are unknown
		return op.Note + "\n", nil
	}
	var out strings.Builder
	d := differ{j: j, s: s}
	moved := map[history.Name]bool{}
	for _, o := range op.Deltas {
		moved[o.From] = o.From != ""
	}
	for _, o := range op.Deltas {
		if moved[o.Path] && o.After.Kind == "" { // the delta of the new name shows the move
			continue
		}
		text, err := d.delta(o)
		if err != nil {
			return "", wrap("open", j.path(o.Path), err)
		}
		out.WriteString(text)
	}
	for _, l := range op.Left {
		if l.Path == "" {
			fmt.Fprintf(&out, "Not shown: %s.\n", l.Why)
			continue
		}
		fmt.Fprintf(&out, "Not shown: the command also changed %s, which undo leaves alone: %s.\n",
			j.path(l.Path), l.Why)
	}
	if op.More > 0 {
		fmt.Fprintf(&out, "Not shown: %d more.\n", op.More)
	}
	return out.String(), nil
}

// recorded returns the op of a change ID, with its journal and history.
func (w *Workspace) recorded(ctx context.Context, id string) (*journal, *history.Store, *history.Op, error) {
	j, n, ok := w.byID(id)
	if !ok {
		return nil, nil, nil, unknown(id)
	}
	s, err := j.open()
	if err != nil {
		return nil, nil, nil, cmp.Or(ignoreNone(err), notRecorded(id))
	}
	l, ok, err := s.Find(ctx, n)
	switch {
	case err != nil:
		return nil, nil, nil, err
	case !ok || l.Unmade || !w.holdsAll(j, l.Op):
		return nil, nil, nil, notRecorded(id)
	case l.IsDamaged():
		return nil, nil, nil, &UndoError{ID: id, Reason: "has a damaged record"}
	}
	return j, s, l.Op, nil
}

// ignoreNone returns err, or nil if err says that the history does not exist.
func ignoreNone(err error) error {
	if err == errNoHistory {
		return nil
	}
	return err
}

// A differ prints the deltas of a change.
type differ struct {
	j     *journal
	s     *history.Store
	texts map[string][]byte // contents that are not kept, by their sum
}

// delta returns the diff of one delta.
func (d differ) delta(o history.Delta) (string, error) {
	abs := d.j.path(o.Path)
	plain := func(e history.Entry) bool { return e.Kind == history.Dir && !e.Whole }
	switch {
	case plain(o.Before) && o.After.Kind == "":
		return "removed directory " + abs + "\n", nil
	case o.Before.Kind == "" && plain(o.After):
		return "created directory " + abs + "\n", nil
	case o.From != "":
		text := "moved " + d.j.path(o.From) + " to " + abs + "\n"
		if o.Before.Kind == "" || plain(o.Before) {
			return text, nil
		}
		more, err := d.contents(o)
		return text + more, err
	case o.Before.Kind != "" && o.Before.Same(o.After) && o.Before.Mode != o.After.Mode:
		return fmt.Sprintf("changed the permissions of %s from %o to %o\n", abs, o.Before.Mode,
			o.After.Mode), nil
	case o.Added:
		return d.added(o)
	}
	return d.contents(o)
}

// contents returns the difference between two versions of a file, link or folder.
func (d differ) contents(o history.Delta) (string, error) {
	abs, before, after := d.j.path(o.Path), o.Before, o.After
	head := header(abs, abs)
	switch {
	case before.Kind == "":
		head = header("/dev/null", abs)
	case after.Kind == "":
		head = header(abs, "/dev/null")
	}
	if one := cmp.Or(before.Kind, after.Kind); one == history.Dir && (before.Kind == "" || after.Kind == "") {
		if text, found := d.folder(o); found {
			return text, nil
		}
	}
	isText := func(e history.Entry) bool { return e.Kind == "" || e.Kind == history.File }
	if !isText(before) || !isText(after) {
		return head + describeEntry("was", before) + describeEntry("is", after), nil
	}
	if max(before.Size, after.Size) > maxDiff {
		return d.large(o, head)
	}
	was, err := d.content(o.Path, before)
	if err != nil {
		return "", err
	}
	is, err := d.content(o.Path, after)
	if err != nil {
		return "", err
	}
	if is == nil && was != nil && o.Splice != nil {
		is = slices.Concat(was[:o.Splice.Offset], o.Splice.New, was[o.Splice.Offset+o.Splice.Old:])
	}
	if before.Kind != "" && was == nil || after.Kind != "" && is == nil {
		return head + missing(before, was, after, is), nil
	}
	return Unified(abs, abs, was, is), nil
}

// missing says which version of a file is no longer kept, and what the user can still do.
func missing(before history.Entry, was []byte, after history.Entry, is []byte) string {
	switch {
	case after.Kind == "" || is != nil:
		return "Not shown: what it was before is not kept any more.\n"
	case before.Kind == "":
		return "Not shown: what it became was kept in the file only, which has changed since.\n"
	case was != nil:
		return "Not shown: what it became was kept in the file only, which has changed since. restore brings back what it was before.\n"
	}
	return "Not shown: neither what it was before nor what it became is kept any more.\n"
}

func describeEntry(when string, e history.Entry) string {
	switch e.Kind {
	case "":
		return ""
	case history.Link:
		return when + " a link to " + string(e.Target) + "\n"
	case history.Dir:
		return when + " a folder\n"
	case history.Other:
		return when + " not a regular file\n"
	}
	return fmt.Sprintf("%s a file of %d bytes\n", when, e.Size)
}

// content returns the content of a file, nil if the file does not exist or its content is not kept.
func (d differ) content(name history.Name, e history.Entry) (data []byte, err error) {
	if e.Kind == "" {
		return nil, nil
	}
	if text, ok := d.texts[e.Sum]; ok {
		return text, nil
	}
	_, err = d.s.Read(name, e, func(size int64, content io.ReaderAt) error {
		data, err = io.ReadAll(io.NewSectionReader(content, 0, min(size, maxDiff+1)))
		if data == nil {
			data = []byte{}
		}
		return err
	})
	return data, err
}

// large returns the difference of a large file: the lines around the replaced part, if the old version
// is kept.
func (d differ) large(o history.Delta, head string) (text string, err error) {
	if o.Splice == nil {
		return head + largeSummary(o.Before.Size, o.After.Size), nil
	}
	found, err := d.s.Read(o.Path, o.Before, func(size int64, content io.ReaderAt) error {
		text, err = spliceDiff(d.j.path(o.Path), content, size, Splice(*o.Splice))
		return err
	})
	if err != nil || !found {
		return head + largeSummary(o.Before.Size, o.After.Size), nil
	}
	return text, nil
}

// added returns the lines that were appended to a large file, or removed from its end.
func (d differ) added(o history.Delta) (string, error) {
	abs := d.j.path(o.Path)
	if o.Splice == nil || len(o.Splice.New) > maxDiff {
		return header(abs, abs) + largeSummary(o.Before.Size, o.After.Size), nil
	}
	mark, verb := "+", "added"
	if o.After.Size < o.Before.Size {
		mark, verb = "-", "taken off"
	}
	text := header(abs, abs) + fmt.Sprintf("At the end, after %d bytes, %s:\n",
		min(o.Before.Size, o.After.Size), verb)
	for line := range strings.Lines(string(o.Splice.New)) {
		text += mark + endLine(line)
	}
	return text, nil
}

// maxShown limits the names that are printed of a folder that was made or removed as a whole.
const maxShown = 1000

// A folderDiff prints the files of a folder that was made or removed as a whole.
type folderDiff struct {
	removed bool
	shown   int // names printed so far
	out     strings.Builder
}

// folder prints a folder that was made or removed as a whole. found is false if its files are not kept.
func (d differ) folder(o history.Delta) (text string, found bool) {
	e, removed := o.After, false
	if e.Kind == "" {
		e, removed = o.Before, true
	}
	f := &folderDiff{removed: removed}
	found, err := d.s.Tree(o.Path, e,
		func(in tree.Folder, base string) { f.folder(in, base, d.j.path(o.Path)) })
	return f.out.String(), found && err == nil
}

// folder prints the folder name of d, whose absolute path is abs.
func (f *folderDiff) folder(d tree.Folder, name, abs string) {
	verb := "created"
	if f.removed {
		verb = "removed"
	}
	fmt.Fprintf(&f.out, "%s directory %s\n", verb, abs)
	in, err := d.OpenFolder(name)
	if err != nil {
		return
	}
	defer in.Close()
	entries, err := in.Entries()
	if err != nil {
		return
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Name, b.Name) })
	for i, e := range entries {
		if f.shown == maxShown {
			fmt.Fprintf(&f.out, "and %d more in %s\n", len(entries)-i, abs)
			return
		}
		f.shown++
		if e.Type == fs.ModeDir {
			f.folder(in, e.Name, path.Join(abs, e.Name))
		} else {
			f.file(in, e, path.Join(abs, e.Name))
		}
	}
}

// file prints the file e of the folder in.
func (f *folderDiff) file(in tree.Folder, e Entry, abs string) {
	head, when := header("/dev/null", abs), "is"
	if f.removed {
		head, when = header(abs, "/dev/null"), "was"
	}
	info, err := in.Lstat(e.Name)
	if err != nil {
		return
	}
	if !info.Mode.IsRegular() || f.out.Len()+int(info.Size) > maxDiff {
		f.out.WriteString(head + describeEntry(when, history.EntryOf(info)))
		return
	}
	data, err := readStart(in, e.Name)
	switch {
	case err != nil:
	case len(data) == 0:
		f.out.WriteString(head)
	case f.removed:
		f.out.WriteString(Unified(abs, abs, data, nil))
	default:
		f.out.WriteString(Unified(abs, abs, nil, data))
	}
}
