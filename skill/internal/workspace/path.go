package workspace

import (
	"cmp"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// place is where a name leads: a root and a clean slash-separated name in it.
type place struct {
	root *root
	rel  string // "." for the root itself
}

// path returns the absolute name.
func (p place) path() string { return filepath.Join(p.root.dir, filepath.FromSlash(p.rel)) }

func (p place) isRoot() bool            { return p.rel == "." }
func (p place) parent() place           { return place{p.root, path.Dir(p.rel)} }
func (p place) base() string            { return path.Base(p.rel) }
func (p place) child(name string) place { return place{p.root, path.Join(p.rel, name)} }

// An OutsideError reports a name that leads out of the workspace.
type OutsideError struct {
	Path      string // absolute, as it was asked for
	Workspace string
}

func (e *OutsideError) Error() string {
	return filepath.Clean(e.Path) + " is outside the workspace " + e.Workspace
}

// Is makes the error match [fs.ErrPermission].
func (e *OutsideError) Is(target error) bool { return target == fs.ErrPermission }

// A DeniedError reports a name inside the workspace that is kept from the caller.
type DeniedError struct {
	Path   string
	Reason string // what would be right
}

func (e *DeniedError) Error() string { return e.Path + " is denied: " + e.Reason }

// Is makes the error match [fs.ErrPermission].
func (e *DeniedError) Is(target error) bool { return target == fs.ErrPermission }

// maxLinks is how many symbolic links one name may lead through, as in Linux.
const maxLinks = 40

// maxPath is how many bytes an absolute name may have, as in Linux.
const maxPath = 4095

// Abs makes name absolute and clean: relative names start at dir, and "" is dir.
// A dir of "" is the workspace. The disk is not looked at.
func (w *Workspace) Abs(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	if dir == "" {
		dir = w.Dir()
	}
	return filepath.Join(dir, name)
}

// Real returns the absolute name that name leads to when links are followed, the
// last one only if follow is set. ".." is taken after the links before it. What
// does not exist keeps its spelling. Names that lead outside are an [*OutsideError].
func (w *Workspace) Real(dir, name string, follow bool) (string, error) {
	if !filepath.IsAbs(name) {
		if dir == "" {
			dir = w.Dir()
		}
		name = dir + string(filepath.Separator) + name
	}
	p, err := w.resolve(name, follow)
	if err != nil {
		return "", wrap("realpath", name, err)
	}
	return p.path(), nil
}

// find matches an absolute name against the roots by spelling, then by the
// folders above it. ".." in the result is left for resolve.
func (w *Workspace) find(abs string) (place, error) {
	if len(abs) > maxPath {
		return place{}, syscall.ENAMETOOLONG
	}
	if p, ok := w.spelled(abs); ok {
		return p, nil
	}
	outside := &OutsideError{abs, w.Dir()}
	if strings.IndexByte(abs, 0) >= 0 || !filepath.IsAbs(abs) {
		return place{}, outside
	}
	abs = filepath.Clean(abs)
	for above := abs; ; above = filepath.Dir(above) {
		if fi, err := os.Stat(above); err == nil {
			for _, r := range w.roots {
				if rel, ok := below(above, abs); ok && os.SameFile(fi, r.info) {
					p, _ := w.spelled(place{r, rel}.path())
					return p, nil
				}
			}
		}
		if above == filepath.Dir(above) {
			return place{}, outside
		}
	}
}

// spelled matches a name against the roots by spelling alone. A name below
// several roots belongs to the first.
func (w *Workspace) spelled(abs string) (place, bool) {
	for _, r := range w.roots {
		if rel, ok := below(r.dir, abs); ok {
			return place{r, rel}, true
		}
	}
	for _, r := range w.roots {
		if rel, ok := below(r.given, abs); ok {
			return w.spelled(r.dir + string(filepath.Separator) + rel)
		}
	}
	return place{}, false
}

// below returns abs relative to dir, both absolute, if it is dir or below it.
// abs may hold "..", which is left for resolve.
func below(dir, abs string) (string, bool) {
	rest, ok := strings.CutPrefix(abs, strings.TrimSuffix(dir, string(filepath.Separator)))
	switch {
	case !ok:
		return "", false
	case rest == "":
		return ".", true
	case !os.IsPathSeparator(rest[0]):
		return "", false
	}
	rel := strings.TrimLeft(filepath.ToSlash(rest), "/")
	if rel == "" {
		return ".", true
	}
	return rel, true
}

// resolve follows the links in abs one by one. The result has none, at that moment.
func (w *Workspace) resolve(abs string, follow bool) (place, error) {
	at, err := w.find(abs)
	if err != nil {
		return place{}, err
	}
	todo := strings.Split(at.rel, "/")
	at.rel = "."
	for links := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		switch {
		case name == "" || name == ".":
			continue
		case name == ".." && !at.isRoot():
			at = at.parent()
			continue
		case name == "..":
			var ok bool
			if at, todo, ok = w.climb(at.root, todo); !ok {
				return place{}, &OutsideError{abs, w.Dir()}
			}
			continue
		}
		target := ""
		if len(todo) > 0 || follow {
			target = at.child(name).target()
		}
		if target == "" {
			at = at.child(name)
			continue
		}
		if links++; links > maxLinks {
			return place{}, syscall.ELOOP
		}
		if filepath.IsAbs(target) {
			if at, err = w.find(target); err != nil {
				return place{}, &OutsideError{abs, w.Dir()}
			}
			target, at.rel = at.rel, "."
		}
		todo = append(strings.Split(filepath.ToSlash(target), "/"), todo...)
	}
	p, _ := w.spelled(at.path())
	return p, nil
}

// climb goes on above a root, by spelling, until the name is inside again.
func (w *Workspace) climb(from *root, todo []string) (at place, rest []string, ok bool) {
	dir := filepath.Dir(from.dir)
	for {
		if at, ok := w.spelled(dir); ok {
			return at, todo, true
		}
		if len(todo) == 0 {
			return place{}, nil, false
		}
		dir, todo = filepath.Join(dir, todo[0]), todo[1:]
	}
}

// leaves tells whether a relative name starts by climbing.
func leaves(rel string) bool { return rel == ".." || strings.HasPrefix(rel, "../") }

// target returns where the symbolic link at p leads, "" if there is none.
func (p place) target() string {
	info, err := p.root.tree.Stat(p.rel)
	if err != nil || !info.IsLink() {
		return ""
	}
	dir, err := p.root.tree.OpenFolder(p.parent().rel)
	if err != nil {
		return ""
	}
	defer dir.Close()
	target, err := dir.Readlink(p.base())
	if err != nil {
		return ""
	}
	return target
}

// access says what a name is looked up for.
type access int

const (
	toRead access = iota
	toChange
)

// wanted is a name that an operation was given.
type wanted struct {
	abs    string
	follow bool // a link in the last part counts
	access access
}

// at runs try where q leads. It trusts the spelling first; while try fails with
// ELOOP, because a link was met or slipped in, the links are resolved and it runs
// again.
func (w *Workspace) at(q wanted, try func(place) error) error {
	p, err := w.place(q)
	for n := 0; err == nil; n++ {
		if err = w.denied(p, q); err != nil {
			return err
		}
		if err = try(p); err != syscall.ELOOP || n > maxLinks {
			return err
		}
		p, err = w.resolve(q.abs, q.follow)
	}
	return err
}

// at2 is at for an operation on two names.
func (w *Workspace) at2(from, to wanted, try func(src, dst place) error) error {
	src, err := w.place(from)
	if err != nil {
		return err
	}
	dst, err := w.place(to)
	for n := 0; err == nil; n++ {
		if err = cmp.Or(w.denied(src, from), w.denied(dst, to)); err != nil {
			return err
		}
		if err = try(src, dst); err != syscall.ELOOP || n > maxLinks {
			return err
		}
		if src, err = w.resolve(from.abs, from.follow); err != nil {
			return err
		}
		dst, err = w.resolve(to.abs, to.follow)
	}
	return err
}

// place finds q by its spelling where that is clean.
func (w *Workspace) place(q wanted) (place, error) {
	p, err := w.find(q.abs)
	if err == nil && (leaves(p.rel) || path.Clean(p.rel) != p.rel) {
		return w.resolve(q.abs, q.follow)
	}
	return p, err
}

// holds tells whether a root is at p or below it.
func (w *Workspace) holds(p place) bool {
	for _, r := range w.roots {
		if _, ok := below(p.path(), r.dir); ok {
			return true
		}
	}
	return false
}

// StateDir is the folder of this program's own records, at the root of a
// workspace. No operation reads, lists or changes it, at any depth, but for
// [OutputDir].
const StateDir = ".skill"

// tempName is the name that a new file bears for the moment before it takes the
// place of an old one. One left by a killed process is removed by the next
// change in its folder.
const tempName = ".skill.tmp"

// Hidden tells whether a name is kept out of listings and walks.
func Hidden(name string) bool {
	return strings.EqualFold(name, StateDir) || strings.EqualFold(name, tempName)
}

// configNames can make other programs run code: they are read, not written.
var configNames = []string{".git", "perstack", "perstack.toml"}

func (w *Workspace) denied(p place, q wanted) error {
	if _, output := below(OutputDir, p.rel); output && q.access == toRead {
		return nil
	}
	for name := range strings.SplitSeq(p.rel, "/") {
		if err := w.deniedName(name, q); err != nil {
			return err
		}
	}
	return nil
}

// deniedName judges one part of a name as those systems do that ignore case, and
// dots and blanks at the end.
func (w *Workspace) deniedName(name string, q wanted) error {
	if runtime.GOOS == "windows" {
		name, _, _ = strings.Cut(name, ":") // what follows names a stream of the same file
	}
	name = strings.TrimRight(name, ". ")
	if Hidden(name) {
		return &DeniedError{q.abs, "it holds this program's own records"}
	}
	if q.access == toRead || w.opts.AllowConfig {
		return nil
	}
	for _, c := range configNames {
		if strings.EqualFold(name, c) {
			return &DeniedError{q.abs, "changing " + c + " can make other programs run code; --allow-config allows it"}
		}
	}
	return nil
}
