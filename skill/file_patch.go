package skill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"

	"textskill/skill/internal/patch"
	"textskill/skill/internal/words"
	"textskill/skill/internal/workspace"
)

// Patch applies a patch to files of the workspace: all of it, as one change, or nothing. Text
// is in the format of apply_patch, which begins with "*** Begin Patch", or a unified diff.
// Lines that do not match exactly are looked for in other white space. It returns a
// [Patched], or a [*NoMatchError].
type Patch struct{ Text string }

func (Patch) op() {}

// Patched is the result of [Patch].
type Patched struct {
	Changed
	Files []PatchedFile
}

// A PatchedFile is a file that a patch has changed.
type PatchedFile struct {
	Kind           string // "add", "update", "delete", "move"
	Path           string // absolute
	From           string // of a move: where it was, absolute
	Added, Removed int    // lines
}

// Message says how many files were changed, or that none was.
func (p Patched) Message() string {
	if !slices.ContainsFunc(p.Files, func(f PatchedFile) bool { return f.Kind != "update" || f.Added+f.Removed > 0 }) {
		return "the patch changes nothing; line ends are those of the file, whatever the patch has"
	}
	if !p.Applied {
		return "would patch " + words.Count(len(p.Files), "file", "files")
	}
	return "patched " + words.Count(len(p.Files), "file", "files")
}

// maxPatched is how many bytes the files of a patch may hold together.
const maxPatched = 64 << 20

func (x *Executor) patch(ctx context.Context, s *Session, a Patch) (Result, error) {
	sections, err := patch.Parse(a.Text)
	if err != nil {
		return nil, err
	}
	var p patching
	c, err := x.ws.ChangeFiles(ctx, func() ([]workspace.FileChange, error) {
		p = patching{x: x, s: s, room: maxPatched, files: map[string]*workspace.FileChange{}}
		for _, section := range sections {
			if err := p.apply(ctx, section); err != nil {
				return nil, err
			}
		}
		return p.changes(), nil
	})
	return result(Patched{Changed{Change: c}, p.done}, err)
}

// patching is a patch that is being applied, so far in memory.
type patching struct {
	x     *Executor
	s     *Session
	room  int64
	files map[string]*workspace.FileChange // by their absolute names
	done  []PatchedFile
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
	abs, err := p.x.path(p.s, "path", s.Path)
	if err != nil {
		return err
	}
	switch s.Kind {
	case patch.Add:
		return p.add(abs, s)
	case patch.Delete:
		f, err := p.existing(abs)
		if err != nil {
			return err
		}
		p.did("delete", abs, "", f.After, nil)
		f.After = nil
		return nil
	}
	f, err := p.existing(abs)
	if err != nil {
		return err
	}
	after, err := p.x.patchText(abs, f.After, s.Hunks)
	if err != nil || s.To == "" {
		p.did("update", abs, "", f.After, after)
		f.After = after
		return err
	}
	to, err := p.x.path(p.s, "path", s.To)
	if err != nil {
		return err
	}
	t, err := p.file(to)
	if err != nil {
		return err
	}
	mode := f.Mode
	if info, err := p.x.ws.Stat(abs, true); err == nil && mode == 0 { // else the patch has made it
		mode = info.Mode.Perm()
	}
	p.did("move", to, abs, f.After, after)
	f.After = nil
	t.After, t.Mode = after, mode
	return nil
}

func (p *patching) add(abs string, s patch.Section) error {
	f, err := p.file(abs)
	if err == nil && s.Fresh && f.After != nil {
		err = &fs.PathError{Op: "open", Path: abs, Err: syscall.EEXIST}
	}
	if err != nil {
		return err
	}
	p.did("add", abs, "", f.After, []byte(s.Text))
	if f.After = []byte(s.Text); s.Exec {
		f.Mode = 0o755
	}
	return nil
}

// did notes what the patch has done to a file.
func (p *patching) did(kind, abs, from string, before, after []byte) {
	f := PatchedFile{Kind: kind, Path: abs, From: from}
	for line := range strings.Lines(workspace.Unified("", "", before, after)) {
		switch {
		case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
		case line[0] == '+':
			f.Added++
		case line[0] == '-':
			f.Removed++
		}
	}
	p.done = append(p.done, f)
}

// patchText returns the content of the file abs after the hunks, in its own encoding.
func (x *Executor) patchText(abs string, data []byte, hunks []patch.Hunk) ([]byte, error) {
	text, encoding, _ := decode(data)
	after, miss := patch.Apply(string(text), hunks)
	if miss != nil {
		return nil, &NoMatchError{abs, nearest(bytes.NewReader(text), int64(len(text)), miss.Wanted), miss.Line, miss.Wanted}
	}
	if encoding == "" {
		return []byte(after), nil
	}
	return encodeAs(encoding, abs, after)
}
