package skill

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"syscall"

	"textskill/skill/internal/patch"
	"textskill/skill/internal/words"
	"textskill/skill/internal/workspace"
)

// Patch applies a patch to files of the workspace: all of it, as one change, or nothing. Text
// is in the format of apply_patch, which begins with "*** Begin Patch", or a unified diff.
// Lines that do not match exactly are looked for in other white space: see [Patched.Notes].
// It returns a [Patched], or an error such as a [*NoMatchError].
type Patch struct {
	Text    string
	Replace bool // a file that is added, or moved to, may replace another; else EEXIST
	If      Condition
}

func (Patch) op() {}

// Patched is the result of [Patch].
type Patched struct {
	Changed
	Files []PatchedFile
	Notes []string // hunks that fit in a loose way only, a phrase for each
}

// A PatchedFile is a file that a patch has changed.
type PatchedFile struct {
	Kind           string // "add", "update", "delete", "move"
	Path           string // absolute
	From           string // of a move: where it was, absolute
	Added, Removed int    // lines
	Rows           []Row  // what was changed, folded; nil of a file that is deleted
}

// Message says how many files were changed, or that none was.
func (p Patched) Message() string {
	if !slices.ContainsFunc(p.Files,
		func(f PatchedFile) bool { return f.Kind != "update" || f.Added+f.Removed > 0 }) {
		return "the patch changes nothing: the files hold already what it would make; line ends are those of the file"
	}
	if !p.Applied {
		return "would patch " + words.Count(len(p.Files), "file", "files")
	}
	return "patched " + words.Count(len(p.Files), "file", "files")
}

// maxPatched is how many bytes the files of a patch may hold together.
const maxPatched = 64 << 20

func (x *Executor) Patch(ctx context.Context, s *Session, a Patch) (Patched, error) {
	sections, err := patch.Parse(a.Text)
	if err != nil {
		return Patched{}, err
	}
	if one := sections[0]; len(sections) == 1 && one.To != "" && len(one.Hunks) == 0 {
		return x.patchName(ctx, s, a, one)
	}
	var p patching
	c, err := x.ws.ChangeFiles(ctx, func() ([]workspace.FileChange, error) {
		p = patching{x: x, s: s, replace: a.Replace, condition: a.If, room: maxPatched,
			files: map[string]*workspace.FileChange{}, from: map[string]string{}}
		for _, section := range sections {
			if err := p.apply(ctx, section); err != nil {
				return nil, err
			}
		}
		return p.changes(), nil
	})
	if err != nil {
		return Patched{}, err
	}
	r := Patched{Changed{Change: c}, p.patched(), p.notes}
	if c.Applied {
		p.note(r)
	}
	return r, nil
}

// note lets the session know what the patch made.
func (p *patching) note(r Patched) {
	for _, f := range r.Files {
		now := p.files[f.Path]
		switch {
		case f.Kind == "delete":
		case f.Kind == "move":
			p.x.moved(p.s, f.From, f.Path, false)
			p.x.noteOwn(p.s, f.Path, p.files[f.From].Before, now.After, false, f.Rows)
		default:
			p.x.noteOwn(p.s, f.Path, now.Before, now.After, now.Before == nil, f.Rows)
		}
	}
}

// patchName applies a patch that only renames a file, which stays the same one.
func (x *Executor) patchName(ctx context.Context, s *Session, a Patch, one patch.Section) (Patched, error) {
	p := patching{x: x, s: s}
	from, err := p.path(one.Path)
	if err != nil {
		return Patched{}, err
	}
	to, err := p.path(one.To)
	if err != nil {
		return Patched{}, err
	}
	if info, err := x.ws.Stat(from, true); err == nil && info.IsDir() {
		return Patched{}, &fs.PathError{Op: "open", Path: from, Err: syscall.EISDIR}
	}
	c, err := x.ws.Move(ctx, from, to, workspace.MoveOptions{Parents: true, NoReplace: !a.Replace})
	if err == nil && c.Applied {
		x.moved(s, from, to, false)
	}
	return Patched{Changed: Changed{Change: c},
		Files: []PatchedFile{{Kind: "move", Path: to, From: from}}}, err
}

// patching is a patch that is being applied, so far in memory.
type patching struct {
	x         *Executor
	s         *Session
	replace   bool
	condition Condition
	room      int64
	files     map[string]*workspace.FileChange // by their absolute names
	// the files that sections name, without the old names of moved ones
	order []string
	from  map[string]string // of a moved file: its old name
	notes []string
}

// changes returns what is to be changed: files that a patch leaves as they are, or makes and
// removes again, are not.
func (p *patching) changes() (list []workspace.FileChange) {
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		f := p.files[name]
		if (f.Before == nil) != (f.After == nil) || !bytes.Equal(f.Before, f.After) {
			list = append(list, *f)
		}
	}
	return list
}

// file returns a file as the patch has left it so far.
func (p *patching) file(abs string) (*workspace.FileChange, error) {
	if f := p.files[abs]; f != nil {
		return f, nil
	}
	data, err := p.x.ws.ReadUpTo(abs, p.room)
	switch {
	case errors.Is(err, syscall.EFBIG):
		return nil, fmt.Errorf("%s: the files of a patch hold more than %d bytes", abs, maxPatched)
	case errors.Is(err, fs.ErrNotExist):
		data = nil
	case err != nil:
		return nil, err
	case data == nil:
		data = []byte{}
	}
	p.room -= int64(len(data))
	f := &workspace.FileChange{Path: abs, Before: data, After: data}
	p.files[abs] = f
	return f, nil
}

// existing is file for one that must exist.
func (p *patching) existing(abs string) (*workspace.FileChange, error) {
	f, err := p.file(abs)
	if err == nil && f.After == nil {
		err = &fs.PathError{Op: "open", Path: abs, Err: syscall.ENOENT}
	}
	return f, err
}

func (p *patching) apply(ctx context.Context, s patch.Section) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	abs, err := p.path(s.Path)
	if err != nil {
		return err
	}
	if s.Kind == patch.Add {
		return p.add(abs, s)
	}
	f, err := p.existing(abs)
	if err == nil {
		err = p.check(ctx, abs, f, s)
	}
	switch {
	case err != nil:
		return err
	case s.Kind == patch.Delete:
		return p.remove(f, s)
	}
	data, err := p.update(ctx, f, s)
	switch {
	case err != nil:
		return err
	case s.To != "":
		return p.move(abs, f, data, s.To)
	}
	p.touch(abs)
	f.After = data
	return nil
}

// remove deletes a file. A unified diff must say what it holds.
func (p *patching) remove(f *workspace.FileChange, s patch.Section) error {
	if s.Diff {
		text, _, _ := decode(f.After)
		if err := patch.Whole(string(text), s.Hunks); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	p.touch(f.Path)
	f.After = nil
	return nil
}

// update returns what a file holds after the hunks of a section.
func (p *patching) update(ctx context.Context, f *workspace.FileChange, s patch.Section) ([]byte, error) {
	text, encoding, isText := decode(f.After)
	if err := checkMark(f.Path, text); err != nil {
		return nil, err
	}
	after, notes, err := patch.Apply(string(text), s.Hunks)
	for _, note := range notes {
		p.notes = append(p.notes, f.Path+": "+note)
	}
	switch miss, _ := errors.AsType[*patch.Miss](err); {
	case miss != nil:
		at := addressOf(p.s, f.Path, text, nil, p.condition)
		near := nearest(ctx, bytes.NewReader(text), int64(len(text)), miss.Wanted)
		rows := at.near(text, near)
		if miss.Near >= 0 {
			rows = rowsAround(at.lines, []int{miss.Near}, 1)
		}
		return nil, &NoMatchError{Path: f.Path, Rows: rows, Near: near, Line: miss.Line, Wanted: miss.Wanted}
	case err != nil:
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	case !isText && slices.ContainsFunc(s.Hunks, addsLetters):
		return nil, mixedError(f.Path)
	}
	return encodeAs(encoding, f.Path, after)
}

// addsLetters reports whether a hunk adds letters outside ASCII.
func addsLetters(h patch.Hunk) bool {
	return slices.ContainsFunc(h.Lines,
		func(l patch.Line) bool { return l.Mark == '+' && hasLetters(l.Text) })
}

// path is where a name in the patch leads to.
func (p *patching) path(name string) (string, error) {
	name, err := LocalName(name)
	if err != nil {
		return "", err
	}
	return p.x.path(p.s, "path", name)
}

// check brings what the session knows of a file up to date, and refuses to delete what it was
// not shown.
func (p *patching) check(ctx context.Context, abs string, f *workspace.FileChange, s patch.Section) error {
	return p.x.watched(p.s, abs, f.Before, func(v *view) error {
		if v == nil || v.raw == nil ||
			s.Kind != patch.Delete || s.Diff || p.condition.Force {
			return nil
		}
		return p.x.checkView(ctx, abs, v, verb{"nothing was changed", "patch"}, true)
	})
}

// touch notes that the patch is about a file.
func (p *patching) touch(abs string) {
	if !slices.Contains(p.order, abs) {
		p.order = append(p.order, abs)
	}
}

func (p *patching) move(abs string, f *workspace.FileChange, after []byte, name string) error {
	to, err := p.path(name)
	if err != nil {
		return err
	}
	t, err := p.absent(to, abs, nil)
	if err != nil {
		return err
	}
	p.from[to] = cmp.Or(p.from[abs], abs)
	p.order = slices.DeleteFunc(p.order, func(name string) bool { return name == abs })
	p.touch(to)
	f.After = nil
	t.After, t.Mode = after, p.mode(f)
	return nil
}

// mode returns the permissions of a file, 0 if they are not known.
func (p *patching) mode(f *workspace.FileChange) fs.FileMode {
	if info, err := p.x.ws.Stat(f.Path, true); err == nil && f.Mode == 0 { // else the patch has made it
		return info.Mode.Perm()
	}
	return f.Mode
}

func (p *patching) add(abs string, s patch.Section) error {
	f, err := p.absent(abs, "", []byte(s.Text))
	if err != nil {
		return err
	}
	p.touch(abs)
	if f.After = []byte(s.Text); s.Exec {
		f.Mode = 0o755
	}
	return nil
}

// absent is file for one that must not exist, unless it has the name same, or holds content
// already.
func (p *patching) absent(abs, same string, content []byte) (*workspace.FileChange, error) {
	f, err := p.file(abs)
	if err != nil || p.replace ||
		f.After == nil || abs == same || content != nil &&
		bytes.Equal(f.After, content) {
		return f, err
	}
	return nil, &fs.PathError{Op: "open", Path: abs, Err: syscall.EEXIST}
}

// patched describes what the patch did to each file.
func (p *patching) patched() (list []PatchedFile) {
	for _, abs := range p.order {
		f := p.files[abs]
		done := PatchedFile{Kind: "update", Path: abs, From: p.from[abs]}
		before := f.Before
		switch {
		case done.From != "":
			done.Kind, before = "move", p.files[done.From].Before
		case before == nil && f.After == nil:
			continue
		case before == nil:
			done.Kind = "add"
		case f.After == nil:
			done.Kind = "delete"
		}
		done.Rows, done.Added, done.Removed = changedRows(before, f.After)
		if f.After == nil {
			done.Rows = nil
		}
		list = append(list, done)
	}
	return list
}

// Revise changes files as a function says that reads them: all of them as one change, or none.
// Nobody else changes the workspace meanwhile. The function may be called again if something
// changes one of the files all the same; its error is returned unchanged. Revise returns a
// [Changed].
type Revise struct{ By func(r *Revision) error }

func (Revise) op() {}

// A Revision is what a [Revise] has changed so far.
type Revision struct{ p patching }

func (x *Executor) Revise(ctx context.Context, s *Session, a Revise) (Changed, error) {
	r := &Revision{}
	c, err := x.ws.ChangeFiles(ctx, func() (list []workspace.FileChange, err error) {
		*r = Revision{patching{x: x, s: s, room: maxPatched, files: map[string]*workspace.FileChange{}}}
		if err := a.By(r); err != nil {
			return nil, err
		}
		return r.p.changes(), nil
	})
	return Changed{Change: c}, err
}

// Text returns what a file holds: as UTF-8, or its bytes if its encoding is not known. If there
// is no file, the error matches fs.ErrNotExist.
func (r *Revision) Text(name string) (string, error) {
	f, err := r.existing(name)
	if err != nil {
		return "", err
	}
	text, _, _ := decode(f.After)
	return string(text), nil
}

// Set makes a text the whole of a file, which keeps its encoding. A missing file is made, and the
// folders above it.
func (r *Revision) Set(name, text string) error {
	f, err := r.file(name)
	if err != nil {
		return err
	}
	_, encoding, _ := decode(f.After)
	f.After, err = encodeAs(encoding, f.Path, text)
	return err
}

// Remove removes a file. If it is missing, the error matches fs.ErrNotExist.
func (r *Revision) Remove(name string) error {
	f, err := r.existing(name)
	if err == nil {
		f.After = nil
	}
	return err
}

// Rename gives a file another name, and replaces what has it.
func (r *Revision) Rename(name, to string) error {
	f, err := r.file(name)
	if err != nil {
		return err
	}
	t, err := r.file(to)
	if err != nil || t == f {
		return err
	}
	t.After, t.Mode = f.After, r.p.mode(f)
	f.After = nil
	return nil
}

func (r *Revision) file(name string) (*workspace.FileChange, error) {
	abs, err := r.p.x.path(r.p.s, "path", name)
	if err != nil {
		return nil, err
	}
	return r.p.file(abs)
}

func (r *Revision) existing(name string) (*workspace.FileChange, error) {
	abs, err := r.p.x.path(r.p.s, "path", name)
	if err != nil {
		return nil, err
	}
	return r.p.existing(abs)
}
