package search

import (
	"errors"
	"io/fs"
	"path/filepath"

	"textskill/skill/internal/workspace"
)

// link looks at a link, which a walk does not enter: where a name of a pattern
// matches it and others follow, what it leads to is searched.
func (f *finder) link(out *findings, e *Entry) error {
	path := e.Path()
	l := &follower{finder: f, out: out, found: map[string]bool{}, listed: map[string][]workspace.Entry{}}
	for _, p := range f.patterns {
		l.done = map[step]bool{}
		for n := range p.parts {
			if p.parts[n].kind == deep || !matchParts(p.parts[:n+1], path) {
				continue
			}
			entry := workspace.Entry{Name: string(e.Name), Type: e.Type}
			if err := l.entry(path, entry, p.parts[n:], p.dirs); err != nil {
				return err
			}
		}
	}
	if len(l.listed) == 0 && isFolder(f.w, l.abs(path)) {
		f.links.Add(1)
	}
	return nil
}

// isFolder reports whether a name is a folder of the workspace, or leads to one.
func isFolder(w *workspace.Workspace, abs string) bool {
	info, err := w.Stat(abs, true)
	return err == nil && info.IsDir()
}

// follower searches where a link leads, with what is left of the patterns.
type follower struct {
	*finder
	out    *findings
	found  map[string]bool
	done   map[step]bool // of one pattern
	listed map[string][]workspace.Entry
}

// step is a path and how much of the pattern is left when it is reached.
type step struct {
	path string
	left int
}

// match follows the parts of a pattern from a path, a folder or not.
func (l *follower) match(path string, folder bool, parts []part, dirs bool) error {
	if here := (step{path, len(parts)}); l.done[here] {
		return nil
	} else {
		l.done[here] = true
	}
	if len(parts) == 0 {
		if (folder || !dirs) && !l.found[path] {
			l.found[path] = true
			l.out.add(l.abs(path), l.options.Limit)
		}
		return nil
	}
	if !folder {
		return nil
	}
	if parts[0].kind == deep {
		if err := l.match(path, true, parts[1:], dirs); err != nil {
			return err
		}
	}
	entries, err := l.list(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		below := path + "/" + e.Name
		switch {
		case !l.options.Git && e.Name == ".git", matchesAny(l.options.Exclude, below, e.Name, e.Type.IsDir()):
		case parts[0].kind == deep && e.Type.IsDir():
			err = l.match(below, true, parts, dirs)
		case parts[0].kind != deep && parts[0].match(e.Name):
			err = l.entry(below, e, parts, dirs)
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
func (l *follower) entry(path string, e workspace.Entry, parts []part, dirs bool) error {
	rest, folder := parts[1:], e.Type.IsDir()
	if e.Type == fs.ModeSymlink && (dirs || len(rest) > 0 || parts[0].kind == plain) {
		info, err := l.w.Stat(l.abs(path), true)
		if err != nil && parts[0].kind == plain {
			return nil
		}
		folder = err == nil && info.IsDir()
	}
	return l.match(path, folder, rest, dirs)
}

func (l *follower) abs(path string) string {
	return l.dir + string(filepath.Separator) + filepath.FromSlash(path)
}

// list returns a folder's entries, each folder read once.
func (l *follower) list(path string) ([]workspace.Entry, error) {
	if err := l.ctx.Err(); err != nil {
		return nil, err
	}
	if entries, ok := l.listed[path]; ok {
		return entries, nil
	}
	entries, err := l.w.ReadDir(l.abs(path))
	if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l.listed[path] = entries
	return entries, nil
}
