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

// FindOptions say which names Find skips.
type FindOptions struct {
	// matching files, and matching folders with all below; a Glob of one name matches the last name
	Exclude []Glob
	Ignore  bool // skip names that git ignores
	Git     bool // search .git too; a pattern that names .git does this anyway
	Limit   int  // return only the first paths in order; 0 means all
}

// Names is the result of Find.
type Names struct {
	Paths    []string // sorted by bytes
	More     int      // paths beyond the limit
	Excluded int      // names that Exclude skipped, not counting the names below them
	Links    int      // links to folders that Find did not enter
	Walked
}

// Find returns the paths in the folder dir that g matches, at any depth. Each path begins with
// dir as the caller spelled it. Find skips folders that it cannot read. It enters a link to a
// folder only if a name in the pattern matches the link.
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
	parts    []findings // by worker
}

// findings are the paths that one worker found.
type findings struct {
	paths []string
	more  int    // paths beyond the limit
	text  []byte // the memory of the newest paths; see path
}

// pathsTogether is how many bytes path allocates at once, for many paths. Every path keeps its
// whole block alive.
const pathsTogether = 4 << 10

// path returns the path of e with dir before it.
func (f *findings) path(dir string, e *Entry) string {
	need := len(dir) + 1 + len(e.Folder()) + 1 + len(e.Name)
	if cap(f.text)-len(f.text) < need {
		f.text = make([]byte, 0, max(need, pathsTogether))
	}
	start := len(f.text)
	f.text = e.AppendPath(append(append(f.text, dir...), '/'))
	return unsafe.String(&f.text[start], len(f.text)-start)
}

// add adds a path. With a limit it keeps at most about twice as many paths.
func (f *findings) add(path string, limit int) {
	f.paths = append(f.paths, path)
	if limit > 0 && len(f.paths) > 2*limit+1000 {
		f.cut(limit)
	}
}

// cut sorts the paths and drops those beyond the limit.
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

// result merges the findings of the workers. Each worker's part is sorted first, all in parallel.
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

// visit compares the last name first: most entries then need no path.
func (f *finder) visit(worker int, e *Entry) error {
	name := unsafe.String(unsafe.SliceData(e.Name), len(e.Name)) // valid as long as e
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

// matchesAny reports whether one of the globs matches a path. A glob of one name also matches the
// last name of the path.
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
