package search

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"textskill/skill/internal/workspace"
)

// GrepOptions say which files Grep searches.
type GrepOptions struct {
	WalkOptions
	// search only matching files; a Glob of one name matches the last name of a path; nil means all files
	Include []Glob

	// Decode converts a file that begins with a UTF-16 byte order mark to UTF-8. Grep then
	// searches that text. ok is false if the file is not valid. nil means no conversion.
	Decode func(f io.ReaderAt, size int64) (text []byte, ok bool)
}

// Grepped counts the lines and files of a Grep.
type Grepped struct {
	Count      int // lines that match
	Searched   int // files that were searched
	Binary     int // files that were skipped because of a NUL byte in their first 8 KiB
	Unreadable int // files and folders that were skipped because they could not be read
	Ignored    int // names that were skipped because git ignores them
	Git        int // .git names that were skipped
	Links      int // links to folders that were skipped
	Cut        int // lines longer than 16 MiB, searched only at their beginning
}

func (g *Grepped) add(other *Grepped) {
	g.Count += other.Count
	g.Searched += other.Searched
	g.Binary += other.Binary
	g.Unreadable += other.Unreadable
	g.Cut += other.Cut
	g.Links += other.Links
}

// Grep finds the lines that match p in the file abs, or in all files that a walk of the folder abs
// visits. Grep follows links to files inside the workspace, but no links to folders. It skips
// files that it cannot read; for abs itself it returns the error of [workspace.Workspace.Open].
//
// Grep passes the lines of a file to emit, in order, with the file's absolute path. A large file
// takes several calls. Several goroutines call emit at a time, each for its own files. The lines
// are valid until emit returns.
func Grep(ctx context.Context, w *workspace.Workspace, abs string, p *Pattern, o GrepOptions,
	emit func(file string, lines []Line)) (Grepped, error) {
	info, err := w.Stat(abs, true)
	if err != nil {
		return Grepped{}, err
	}
	if !info.IsDir() {
		return grepFile(ctx, w, abs, p, o, emit)
	}
	// Only the walk reports progress: the numbers of its files would not fit in.
	quiet := workspace.WithProgress(ctx, func(int64, int64, string) {})
	g := &grep{ctx: quiet, w: w, dir: abs, p: p, o: o, emit: emit,
		searches: make([]treeSearch, cmp.Or(o.Workers, Workers()))}
	o.Workers = len(g.searches)
	walked, err := Walk(ctx, w, abs, o.WalkOptions, g.visit)
	sum := Grepped{Unreadable: walked.Unreadable, Ignored: walked.Ignored, Git: walked.Git}
	for i := range g.searches {
		sum.add(&g.searches[i].sum)
	}
	return sum, err
}

// grepFile searches one file, whatever its name.
func grepFile(ctx context.Context, w *workspace.Workspace, abs string, p *Pattern, o GrepOptions,
	emit func(string, []Line)) (sum Grepped, err error) {
	f, info, err := w.Open(abs)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	sr := p.searcher(func(lines []Line) { emit(abs, lines) })
	sr.decode = o.Decode
	in, err := sr.file(ctx, f, info.Size)
	sum.addFile(in)
	return sum, err
}

func (g *Grepped) addFile(in inFile) {
	if in.binary {
		g.Binary++
	} else {
		g.Searched++
	}
	g.Count += in.count
	g.Cut += in.cut
}

type grep struct {
	ctx      context.Context
	w        *workspace.Workspace
	dir      string
	p        *Pattern
	o        GrepOptions
	emit     func(string, []Line)
	searches []treeSearch // by worker
}

// treeSearch is the state of one worker of the walk.
type treeSearch struct {
	s     *searcher
	entry *Entry // the entry that is being searched
	path  string // its absolute path; "" until it is needed
	sum   Grepped
	_     [64]byte // keeps two workers off the same cache line
}

// visit searches one file of the tree.
func (g *grep) visit(worker int, e *Entry) error {
	search := &g.searches[worker]
	if e.Type == fs.ModeSymlink && isFolder(g.w, filepath.Join(g.dir, filepath.FromSlash(e.Path()))) {
		search.sum.Links++
		return nil
	}
	if g.o.Include != nil && !matchesAny(g.o.Include, e.Path(), string(e.Name), false) &&
		!inNamedFolder(g.o.Include, e.Path()) {
		return nil
	}
	if search.s == nil {
		search.s = g.p.searcher(func(lines []Line) {
			g.emit(search.name(g.dir), lines)
		})
		search.s.decode = g.o.Decode
	}
	search.entry, search.path = e, ""
	in, err := g.search(search)
	switch {
	case err == errNoFile:
	case err != nil && g.ctx.Err() != nil:
		return g.ctx.Err()
	case err != nil:
		search.sum.Unreadable++
	default:
		search.sum.addFile(in)
	}
	return nil
}

// name returns the absolute path of the entry.
func (t *treeSearch) name(dir string) string {
	if t.path == "" {
		t.path = filepath.Join(dir, filepath.FromSlash(t.entry.Path()))
	}
	return t.path
}

// errNoFile is the error for a name that is skipped without counting as unreadable.
var errNoFile = errors.New("not a file inside the workspace")

func (g *grep) search(t *treeSearch) (inFile, error) {
	switch t.entry.Type {
	case 0:
		n, rest, err := t.entry.Head(t.s.b.buf)
		if err != nil {
			return inFile{}, skipMissing(err)
		}
		if rest == nil {
			return t.s.searchFrom(g.ctx, t.s.b.buf[:n], nil, 0)
		}
		defer rest.Close()
		return t.s.searchFrom(g.ctx, t.s.b.buf[:n], rest, rest.Size())
	case fs.ModeSymlink:
		f, info, err := g.w.Open(t.name(g.dir))
		if err != nil {
			return inFile{}, errNoFile
		}
		defer f.Close()
		return t.s.file(g.ctx, f, info.Size)
	}
	return inFile{}, errNoFile
}

// skipMissing returns errNoFile if err says that a name is no longer a regular file, else err.
func skipMissing(err error) error {
	if _, ok := errors.AsType[*workspace.NotRegularError](err); ok || errors.Is(err, fs.ErrNotExist) ||
		err == syscall.EISDIR || err == syscall.ELOOP {
		return errNoFile
	}
	return err
}

// inNamedFolder reports whether a file is below a folder that a glob matches, if the last part of
// the glob is a plain name.
func inNamedFolder(globs []Glob, path string) bool {
	for end := strings.LastIndexByte(path, '/'); end > 0; end = strings.LastIndexByte(path[:end], '/') {
		folder := path[:end]
		name := folder[strings.LastIndexByte(folder, '/')+1:]
		for _, g := range globs {
			for _, p := range g.patterns {
				if n := len(p.parts); n > 0 && (p.parts[n-1].kind == plain || p.parts[n-1].alt != "") &&
					matchesAny([]Glob{{[]pattern{p}}}, folder, name, true) {
					return true
				}
			}
		}
	}
	return false
}
