package search

import (
	"errors"
	"io/fs"
	"path/filepath"

	"textskill/skill/internal/workspace"
)

// link handles a symbolic link, which a walk does not enter. If a name in a pattern matches the
// link, link searches the folder behind it with the rest of the pattern.
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

// isFolder reports whether abs is a folder of the workspace, or a link to one.
func isFolder(w *workspace.Workspace, abs string) bool {
	info, err := w.Stat(abs, true)
	return err == nil && info.IsDir()
}

// follower searches the folder behind a link with the remaining parts of the patterns.
type follower struct {
	*finder
	out    *findings
	found  map[string]bool // paths that were added to out
	done   map[step]bool   // of the current pattern
	listed map[string][]workspace.Entry
}

// step is a path and the number of parts that remain to be matched below it.
type step struct {
	path string
	left int
}

// match matches the parts against the names below path. folder says whether path is a folder.
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

// entry goes on with an entry that the first part matches. A link counts as its target if more
// parts follow, or if only folders match. A dangling link matches a wildcard, but not its plain name.
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

// list returns the entries of a folder. It reads each folder once.
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
