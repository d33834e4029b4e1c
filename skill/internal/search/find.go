package search

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"textskill/skill/internal/workspace"
)

// FindOptions say what is left out of a search for names.
type FindOptions struct {
	// matched against the path, or the last name where a Glob is one name; folders take all below them along
	Exclude []Glob
	Ignore  bool // what git ignores is left out
	Git     bool // .git is searched too; a pattern that names it always does
	Limit   int  // paths to return at the most, the first in order; 0 means all
}

// Names are what Find found.
type Names struct {
	Paths    []string // in the order of their bytes
	More     int      // that the limit left out
	Excluded int      // names that Exclude left out, and with them all below
	Links    int      // links to folders that were not entered
	Walked
}

// Find returns the names that g matches in the folder dir or in any folder below
// it, each with dir before it as that is spelled. Folders that cannot be read are passed
// over. A link to a folder is entered only where a name in the pattern matches it.
func Find(ctx context.Context, w *workspace.Workspace, dir string, g Glob, o FindOptions) (Names, error) {
	f := &finder{w: w, ctx: ctx, dir: strings.TrimSuffix(dir, string(filepath.Separator)), options: o,
		parts: make([]findings, Workers())}
	for _, p := range g.patterns {
		if len(p.parts) == 0 || p.parts[0].kind != deep {
			p.parts = append([]part{{text: "**", kind: deep}}, p.parts...)
		}
		f.patterns = append(f.patterns, p)
		f.options.Git = f.options.Git ||
			slices.ContainsFunc(p.parts, func(p part) bool { return p.kind == plain && p.text == ".git" })
	}
	sum, err := Walk(ctx, w, dir, WalkOptions{Git: f.options.Git, Ignore: o.Ignore}, f.visit)
	if err != nil {
		return Names{}, err
	}
	if (Glob{f.patterns}).Match("", true) {
		f.parts[0].add(dir, o.Limit)
	}
	return f.result(sum), nil
}

type finder struct {
	w        *workspace.Workspace
	ctx      context.Context
	dir      string // without a slash at the end
	options  FindOptions
	patterns []pattern
	excluded atomic.Int64
	links    atomic.Int64
	parts    []findings // of each worker
}

// findings are what one worker found.
type findings struct {
	paths []string
	more  int
	text  []byte // what the newest paths consist of; see path
}

// pathsTogether is how many bytes of paths are allocated at once. One that is kept
// keeps all of them.
const pathsTogether = 4 << 10

// path returns dir and the path of e in it.
func (f *findings) path(dir string, e *Entry) string {
	need := len(dir) + 1 + len(e.Folder()) + 1 + len(e.Name)
	if cap(f.text)-len(f.text) < need {
		f.text = make([]byte, 0, max(need, pathsTogether))
	}
	start := len(f.text)
	f.text = e.AppendPath(append(append(f.text, dir...), '/'))
	return unsafe.String(&f.text[start], len(f.text)-start)
}

// add keeps a path. With a limit, no more than some times as many are kept.
func (f *findings) add(path string, limit int) {
	f.paths = append(f.paths, path)
	if limit > 0 && len(f.paths) > 2*limit+1000 {
		f.cut(limit)
	}
}

func (f *findings) cut(limit int) {
	slices.Sort(f.paths)
	f.cutSorted(limit)
}

func (f *findings) cutSorted(limit int) {
	if limit > 0 && len(f.paths) > limit {
		f.more += len(f.paths) - limit
		f.paths = f.paths[:limit]
	}
}

// result puts together what the workers found, each part sorted by its own.
func (f *finder) result(sum Walked) Names {
	var work sync.WaitGroup
	for i := range f.parts {
		work.Go(func() { f.parts[i].cut(f.options.Limit) })
	}
	work.Wait()
	parts := f.parts
	for len(parts) > 1 {
		half := (len(parts) + 1) / 2
		for i, other := range parts[half:] {
			work.Go(func() {
				parts[i].paths = merge(parts[i].paths, other.paths)
				parts[i].more += other.more
			})
		}
		work.Wait()
		parts = parts[:half]
	}
	all := parts[0]
	all.cutSorted(f.options.Limit)
	return Names{all.paths, all.more, int(f.excluded.Load()), int(f.links.Load()), sum}
}

func merge(a, b []string) []string {
	if len(a) == 0 {
		return b
	}
	both := make([]string, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0] <= b[0] {
			both, a = append(both, a[0]), a[1:]
		} else {
			both, b = append(both, b[0]), b[1:]
		}
	}
	return append(append(both, a...), b...)
}

// visit looks at the last name of the patterns first, so that most paths are never
// put together.
func (f *finder) visit(worker int, e *Entry) error {
	name := unsafe.String(unsafe.SliceData(e.Name), len(e.Name)) // good as long as e is
	if len(f.options.Exclude) > 0 && matchesAny(f.options.Exclude, e.Path(), name, e.Type.IsDir()) {
		f.excluded.Add(1)
		return fs.SkipDir
	}
	if e.Type == fs.ModeSymlink {
		return f.link(&f.parts[worker], e)
	}
	for i := range f.patterns {
		p := &f.patterns[i]
		last := &p.parts[len(p.parts)-1]
		if p.dirs && !e.Type.IsDir() || last.kind != deep && !last.match(name) {
			continue
		}
		if len(p.parts) <= 2 || matchParts(p.parts, e.Path()) {
			part := &f.parts[worker]
			part.add(filepath.FromSlash(part.path(f.dir, e)), f.options.Limit)
			break
		}
	}
	return nil
}

// matchesAny reports whether a glob matches a path, or its last name where the glob is one name.
func matchesAny(globs []Glob, path, name string, folder bool) bool {
	for _, g := range globs {
		for _, p := range g.patterns {
			if len(p.parts) == 0 || p.dirs && !folder {
				continue
			}
			if len(p.parts) == 1 && p.parts[0].kind != deep && p.parts[0].match(name) ||
				matchParts(p.parts, path) {
				return true
			}
		}
	}
	return false
}
