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

// GrepOptions say which files are searched.
type GrepOptions struct {
	WalkOptions
	// only files of these: matched against the path, or the name where a Glob is one name; nil for all
	Include []Glob

	// Decode returns the content of a file that begins with a byte order mark of UTF-16 as
	// UTF-8, which is then searched. ok is false if that cannot be done. nil for none.
	Decode func(f io.ReaderAt, size int64) (text []byte, ok bool)
}

// Grepped counts what Grep came across.
type Grepped struct {
	Count      int // lines that match
	Searched   int // files
	Binary     int // files that were not, for a NUL byte in their first 8 KiB
	Unreadable int // files and folders
	Ignored    int // names that were left out, because git ignores them
	Git        int // names .git that were left out
	Links      int // links to folders, which are not followed
	Cut        int // lines longer than 16 MiB, whose rest was not searched
}

func (g *Grepped) add(other *Grepped) {
	g.Count += other.Count
	g.Searched += other.Searched
	g.Binary += other.Binary
	g.Unreadable += other.Unreadable
	g.Cut += other.Cut
	g.Links += other.Links
}

// Grep looks for the lines that match p in the file abs, or in all files below the
// folder abs that a walk visits. Links to files are followed as far as they stay
// inside; links to folders are not. Files that cannot be read are passed over, but not abs itself:
// errors are the same as from [workspace.Workspace.Open].
//
// emit is given the lines of a file by its absolute name, in their order, several
// at a time and a large file's in several calls. It is called by several goroutines
// at a time, each with files of its own. The lines are good until it returns.
func Grep(ctx context.Context, w *workspace.Workspace, abs string, p *Pattern, o GrepOptions,
	emit func(file string, lines []Line)) (Grepped, error) {
	info, err := w.Stat(abs, true)
	if err != nil {
		return Grepped{}, err
	}
	if !info.IsDir() {
		return grepFile(ctx, w, abs, p, o, emit)
	}
	// The walk says how far it is; what its files say would not fit in.
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
	searches []treeSearch // by the number of the walk's worker
}

// treeSearch is what one worker of the walk needs.
type treeSearch struct {
	s     *searcher
	entry *Entry // that is searched
	path  string // its absolute name; "" until it is needed
	sum   Grepped
	_     [64]byte // no two share a cache line
}

// visit searches one file of the tree.
func (g *grep) visit(worker int, e *Entry) error {
	own := &g.searches[worker]
	if e.Type == fs.ModeSymlink && isFolder(g.w, filepath.Join(g.dir, filepath.FromSlash(e.Path()))) {
		own.sum.Links++
		return nil
	}
	if g.o.Include != nil && !matchesAny(g.o.Include, e.Path(), string(e.Name), false) &&
		!inNamedFolder(g.o.Include, e.Path()) {
		return nil
	}
	if own.s == nil {
		own.s = g.p.searcher(func(lines []Line) {
			g.emit(own.name(g.dir), lines)
		})
		own.s.decode = g.o.Decode
	}
	own.entry, own.path = e, ""
	in, err := g.search(own)
	switch {
	case err == errNoFile:
	case err != nil && g.ctx.Err() != nil:
		return g.ctx.Err()
	case err != nil:
		own.sum.Unreadable++
	default:
		own.sum.addFile(in)
	}
	return nil
}

func (t *treeSearch) name(dir string) string {
	if t.path == "" {
		t.path = filepath.Join(dir, filepath.FromSlash(t.entry.Path()))
	}
	return t.path
}

// errNoFile is of what is not searched, and not missed either.
var errNoFile = errors.New("not a file inside the workspace")

func (g *grep) search(t *treeSearch) (inFile, error) {
	switch t.entry.Type {
	case 0:
		n, rest, err := t.entry.Head(t.s.b.buf)
		if err != nil {
			return inFile{}, gone(err)
		}
		if rest == nil {
			return t.s.begun(g.ctx, t.s.b.buf[:n], nil, 0)
		}
		defer rest.Close()
		return t.s.begun(g.ctx, t.s.b.buf[:n], rest, rest.Size())
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

// gone returns errNoFile for an error that says that a name is not a file any more, and any other
// error as it is.
func gone(err error) error {
	if _, ok := errors.AsType[*workspace.NotRegularError](err); ok || errors.Is(err, fs.ErrNotExist) ||
		err == syscall.EISDIR || err == syscall.ELOOP {
		return errNoFile
	}
	return err
}

// inNamedFolder reports whether a file is in a folder that a glob names, without a wildcard in
// the folder's own name.
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
