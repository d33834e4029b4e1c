package search

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"textskill/operation/workspace"
)

// Find returns the absolute names below dir that match g in dir or in any folder
// below it, each once, in no order. Folders that cannot be read are passed over.
func Find(ctx context.Context, w *workspace.Workspace, dir string, g Glob) ([]string, error) {
	entries, err := w.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	f := &finder{w: w, ctx: ctx, done: map[step]bool{}, listed: map[string][]workspace.Entry{dir: entries}}
	parts := g.parts
	if len(parts) == 0 || parts[0].kind != deep {
		parts = append([]part{{"**", deep}}, parts...)
	}
	err = f.match(dir, true, parts, g.dirs || len(g.parts) == 0)
	return f.found, err
}

type finder struct {
	w      *workspace.Workspace
	ctx    context.Context
	found  []string
	done   map[step]bool
	listed map[string][]workspace.Entry
}

// step is a name and how much of the pattern is left when it is reached.
type step struct {
	abs  string
	left int
}

// match follows the parts of a pattern from abs, which is a folder or not.
func (f *finder) match(abs string, folder bool, parts []part, dirs bool) error {
	if here := (step{abs, len(parts)}); f.done[here] {
		return nil
	} else {
		f.done[here] = true
	}
	if len(parts) == 0 {
		if folder || !dirs {
			f.found = append(f.found, abs)
		}
		return nil
	}
	if !folder {
		return nil
	}
	if parts[0].kind == deep {
		if err := f.match(abs, true, parts[1:], dirs); err != nil {
			return err
		}
	}
	entries, err := f.list(abs)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := filepath.Join(abs, e.Name)
		switch {
		case parts[0].kind == deep && e.Type.IsDir():
			err = f.match(name, true, parts, dirs)
		case parts[0].kind == plain && parts[0].text == e.Name, parts[0].kind == wild && Match(parts[0].text, e.Name):
			err = f.entry(name, e, parts, dirs)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entry follows one entry that matches the first of the parts. A link counts as
// what it leads to, where that matters; one that leads nowhere matches a pattern
// of its name, but not the name itself.
func (f *finder) entry(abs string, e workspace.Entry, parts []part, dirs bool) error {
	rest, folder := parts[1:], e.Type.IsDir()
	if e.Type == fs.ModeSymlink && (dirs || len(rest) > 0 || parts[0].kind == plain) {
		info, err := f.w.Stat(abs, true)
		if err != nil && parts[0].kind == plain {
			return nil
		}
		folder = err == nil && info.IsDir()
	}
	return f.match(abs, folder, rest, dirs)
}

// list returns a folder's entries, each folder read once.
func (f *finder) list(abs string) ([]workspace.Entry, error) {
	if err := f.ctx.Err(); err != nil {
		return nil, err
	}
	if entries, ok := f.listed[abs]; ok {
		return entries, nil
	}
	workspace.Report(f.ctx, int64(len(f.listed)), 0, abs)
	entries, err := f.w.ReadDir(abs)
	if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f.listed[abs] = entries
	return entries, nil
}
