package workspace

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"textskill/skill/internal/state"
	"textskill/skill/internal/workspace/tree"
)

// Difference returns what a change did as a unified diff, with a line for each version that
// is no longer kept.
func (w *Workspace) Difference(ctx context.Context, id string) (string, error) {
	c, err := w.recorded(ctx, id)
	if err != nil {
		return "", err
	}
	if len(c.Record().Steps) == 0 && c.unkept() { // nothing is known of what it changed
		return c.Record().Note + "\n", nil
	}
	var out strings.Builder
	d := differ{w, c.h, c}
	for _, s := range c.Record().Steps {
		text, err := d.step(s)
		if err != nil {
			return "", wrap("open", c.h.path(s.Path), err)
		}
		out.WriteString(text)
	}
	if r := c.Record(); r.Left > 0 {
		var names []string
		for _, name := range r.Config {
			names = append(names, c.h.path(name))
		}
		if n := r.Left - len(names); n > 0 {
			names = append(names, fmt.Sprintf("other files (%d)", n))
		}
		fmt.Fprintf(&out, "Not shown: the command also changed %s, which undo leaves alone.\n", strings.Join(names, ", "))
	}
	return out.String(), nil
}

// recorded returns a change that was made, with the later ones.
func (w *Workspace) recorded(ctx context.Context, id string) (*change, error) {
	h, n, ok := w.byID(id)
	if !ok {
		return nil, unknown(id)
	}
	for c, err := range h.changes(ctx, false) {
		if err != nil {
			return nil, err
		}
		if c.ID < n {
			break
		}
		if c.ID == n && c.applied() && w.holdsAll(c) {
			return c, nil
		}
	}
	return nil, notRecorded(id)
}

// A differ prints steps of a change.
type differ struct {
	w *Workspace
	h *history
	c *change
}

func (d differ) step(s state.Step) (string, error) {
	abs := d.h.path(s.Path)
	switch {
	case d.c.unkept():
		return "changed " + abs + ", and nothing of it was kept\n", nil
	case s.After.Kind == "" && isEmptyFolder(s.Before):
		return "removed directory " + abs + "\n", nil
	case s.Before.Kind == "" && isEmptyFolder(s.After):
		return "created directory " + abs + "\n", nil
	case isMode(s):
		return fmt.Sprintf("changed the permissions of %s from %o to %o\n", abs, s.Before.Mode, s.After.Mode), nil
	case s.Patch != nil:
		return d.patch(s)
	case s.From != "":
		text := "moved " + d.h.path(s.From) + " to " + abs + "\n"
		if s.Before.Kind == "" {
			return text, nil
		}
		more, err := d.contents(s.Path, s.Before, s.After)
		return text + more, err
	}
	return d.contents(s.Path, s.Before, s.After)
}

// contents prints the difference between two versions of a file, link or folder.
func (d differ) contents(name state.Name, before, after state.State) (string, error) {
	abs := d.h.path(name)
	head, text, whole := header(abs, abs), "", false
	switch {
	case before.Kind == "":
		head = header("/dev/null", abs)
		text, whole = d.folder(name, after, false)
	case after.Kind == "":
		head = header(abs, "/dev/null")
		text, whole = d.folder(name, before, true)
	}
	if whole {
		return text, nil
	}
	if !isFileOrNothing(before) || !isFileOrNothing(after) {
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
	if before.Kind != "" && was == nil || after.Kind != "" && is == nil {
		return head + whatIsGone(before, was, after, is), nil
	}
	return Unified(abs, abs, was, is), nil
}

// whatIsGone says which version of a file cannot be shown, and what still can be done.
func whatIsGone(before state.State, was []byte, after state.State, is []byte) string {
	switch {
	case after.Kind == "" || is != nil:
		return "Not shown: what it was before is not kept any more.\n"
	case before.Kind == "":
		return "Not shown: what it became was kept in the file only, which has changed since.\n"
	case was != nil:
		return "Not shown: what it became was kept in the file only, which has changed since. restore shows what it was before.\n"
	}
	return "Not shown: neither what it was before nor what it became is kept any more.\n"
}

func isFileOrNothing(s state.State) bool { return s.Kind == "" || s.Kind == "file" }

func describe(when string, s state.State) string {
	switch s.Kind {
	case "":
		return ""
	case "link":
		return when + " a link to " + string(s.Target) + "\n"
	case "folder":
		return fmt.Sprintf("%s a folder of %d bytes\n", when, s.Size)
	case "other":
		return when + " not a regular file\n"
	}
	return fmt.Sprintf("%s a file of %d bytes\n", when, s.Size)
}

// content returns the content of a state, from the file itself or an image. It is nil if
// neither has it, and for the state of nothing.
func (d differ) content(name state.Name, s state.State) (data []byte, err error) {
	if s.Kind == "" {
		return nil, nil
	}
	err = d.find(name, s, func(in tree.Folder, base string) error {
		data, err = readStart(in, base)
		return err
	})
	return data, err
}

// find calls use with where a state is: at its name, in an image of the change or of a later
// one, or where one of those has put it. It calls nothing if it is in none of them.
func (d differ) find(name state.Name, s state.State, use func(in tree.Folder, base string) error) error {
	if ok, err := d.inPlace(name, s, use); ok || err != nil {
		return err
	}
	for _, c := range append(slices.Clone(d.c.seen), d.c) {
		if !c.mayHold(s) {
			continue
		}
		for _, t := range c.Record().Steps {
			if t.Image != "" && t.Patch == nil && same(t.Before, s) {
				if ok, err := d.inImage(c.ID, t.Image, s, use); ok || err != nil {
					return err
				}
			}
			if t.Path != name && same(t.After, s) {
				if ok, err := d.inPlace(t.Path, s, use); ok || err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// mayHold reports whether the change may have a state that is the same as s: a file has its sum or, where that is not
// known, its time. Where it has not, its record need not be decoded.
func (c *change) mayHold(s state.State) bool {
	return s.Kind != kindFile || s.MTime == 0 || c.MayHave(s.Sum[:min(32, len(s.Sum))]) || c.MayHave(fmt.Sprintf(`"mtime":%d`, s.MTime))
}

func (d differ) inImage(id int64, image string, s state.State, use func(in tree.Folder, base string) error) (bool, error) {
	images, err := d.h.openImages(id)
	if err != nil {
		return false, nil
	}
	defer images.close()
	if has, err := stateNow(images.top, image, s); err != nil || has.Kind == "" || !same(has, s) {
		return false, nil
	}
	return true, use(images.top, image)
}

func (d differ) inPlace(name state.Name, s state.State, use func(in tree.Folder, base string) error) (bool, error) {
	p, in, err := d.w.openRecorded(d.h, name)
	if err != nil {
		return false, nil
	}
	defer in.Close()
	if there, err := stateNow(in, p.base(), s); err != nil || there.Kind == "" || !same(there, s) {
		return false, nil
	}
	return true, use(in, p.base())
}

// patch prints what an edit of a large file or an append did, with the lines around it.
func (d differ) patch(s state.Step) (string, error) {
	abs, p := d.h.path(s.Path), s.Patch
	head := header(abs, abs)
	gone := head + "Not shown: of a large file only the bytes that an edit replaced are kept, and it has changed since. It is shown again when those changes are undone.\n"
	if p.Sum != "" {
		gone = head + "Not shown: what was appended was kept in the file only, which has changed there since.\n"
	}
	if p.Sum != "" && p.New == 0 {
		gone = head + fmt.Sprintf("Not shown: %d bytes were taken off the end, and what was before them is not in the file any more.\n", p.Length)
	}
	if max(p.New, p.Length) > maxDiff {
		return head + largeSummary(s.Before.Size, s.After.Size), nil
	}
	f, _, err := d.current(s)
	if err != nil {
		return gone, nil
	}
	defer f.Close()
	now := make([]byte, p.New)
	_, err = f.ReadAt(now, p.Offset)
	switch {
	case p.Sum == "" || err == nil && sumOf(now) == p.Sum:
	default:
		if now = d.undoneTail(s); now == nil {
			return gone, nil
		}
	}
	if p.Sum == "" {
		if there, err := stateOf(f, allBytes); err != nil || !same(there, s.After) {
			return gone, nil
		}
	}
	old, err := d.h.replaced(s, d.c.ID)
	if err != nil {
		return gone, nil
	}
	text, err := spliceDiff(abs, before{f, p, old}, s.Before.Size, Splice{Offset: p.Offset, Old: p.Length, New: now})
	if err != nil {
		return gone, nil
	}
	return text, nil
}

// current opens the file that a step is about, as it is now.
func (d differ) current(s state.Step) (*os.File, tree.Info, error) {
	at, in, err := d.w.openRecorded(d.h, s.Path)
	if err != nil {
		return nil, tree.Info{}, err
	}
	defer in.Close()
	return tree.RegularFile(in.OpenFile(at.base(), os.O_RDONLY, 0))
}

// undoneTail returns what an append has added from the undo of it, nil if none has it.
func (d differ) undoneTail(s state.Step) []byte {
	for _, c := range d.c.seen {
		if !c.mayName(s.Path) {
			continue
		}
		for _, t := range c.Record().Steps {
			if t.Path != s.Path || t.Patch == nil || t.Patch.Offset != s.Patch.Offset || t.Patch.Length != s.Patch.New {
				continue
			}
			data, err := d.h.replaced(t, c.ID)
			if err == nil && sumOf(data) == s.Patch.Sum {
				return data
			}
		}
	}
	return nil
}

// before reads a file as it was before a patch.
type before struct {
	now   io.ReaderAt
	patch *state.Patch
	old   []byte
}

func (b before) ReadAt(data []byte, off int64) (n int, err error) {
	end := b.patch.Offset + b.patch.Length
	for n < len(data) && err == nil {
		m, at := 0, off+int64(n)
		switch {
		case at < b.patch.Offset:
			m, err = b.now.ReadAt(data[n:min(len(data), n+int(b.patch.Offset-at))], at)
		case at < end:
			m = copy(data[n:], b.old[at-b.patch.Offset:])
		default:
			m, err = b.now.ReadAt(data[n:], at+b.patch.New-b.patch.Length)
		}
		n += m
	}
	return n, err
}
