package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
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
	Path      string // as it was resolved
	Workspace string
}

func (e *OutsideError) Error() string {
	return e.Path + " is outside the workspace " + e.Workspace
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
		return "", err
	}
	return p.path(), nil
}

// find matches a name against the roots by spelling, then by the folders above it.
func (w *Workspace) find(abs string) (place, error) {
	for _, r := range w.roots {
		if rel, ok := below(r.dir, abs); ok {
			return place{r, rel}, nil
		}
		if rel, ok := below(r.given, abs); ok {
			return place{r, rel}, nil
		}
	}
	if strings.IndexByte(abs, 0) >= 0 {
		return place{}, &OutsideError{abs, w.Dir()}
	}
	for above := filepath.Dir(abs); ; above = filepath.Dir(above) {
		if fi, err := os.Stat(above); err == nil {
			for _, r := range w.roots {
				if rel, ok := below(above, abs); ok && r.id != (FileID{}) && infoOf(fi).ID == r.id {
					return place{r, rel}, nil
				}
			}
		}
		if above == filepath.Dir(above) {
			return place{}, &OutsideError{abs, w.Dir()}
		}
	}
}

// below returns abs relative to dir, both absolute, if it is dir or below it.
// abs may hold "..", which is left for resolve.
func below(dir, abs string) (string, bool) {
	if dir == string(filepath.Separator) {
		dir = ""
	}
	rest, ok := strings.CutPrefix(abs, dir)
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
	start, err := w.find(abs)
	if err != nil {
		return place{}, err
	}
	at := place{start.root, "."}
	todo := strings.Split(start.rel, "/")
	for links := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			if at.isRoot() {
				return w.find(filepath.Join(append([]string{at.root.dir, ".."}, todo...)...))
			}
			at = at.parent()
			continue
		}
		next := at.child(name)
		if len(todo) == 0 && !follow {
			return next, nil
		}
		target, err := w.linkAt(next)
		if err != nil { // nothing there, or nothing to be read: the operation says which
			rest := path.Join(append([]string{next.rel}, todo...)...)
			if leaves(rest) {
				return place{}, &OutsideError{abs, w.Dir()}
			}
			return place{at.root, rest}, nil
		}
		if target == "" {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return place{}, syscall.ELOOP
		}
		if !filepath.IsAbs(target) {
			todo = append(strings.Split(filepath.ToSlash(target), "/"), todo...)
			continue
		}
		jump, err := w.find(filepath.Clean(target))
		if err != nil {
			return place{}, &OutsideError{abs, w.Dir()}
		}
		at = place{jump.root, "."}
		todo = append(strings.Split(jump.rel, "/"), todo...)
	}
	return at, nil
}

// leaves tells whether a clean relative name climbs above where it starts.
func leaves(rel string) bool { return rel == ".." || strings.HasPrefix(rel, "../") }

// linkAt returns the target of the symbolic link at p, "" if it is something else.
func (w *Workspace) linkAt(p place) (string, error) {
	info, err := p.root.tree.stat(p.rel)
	if err != nil || !info.isLink() {
		return "", err
	}
	dir, err := p.root.tree.folder(path.Dir(p.rel))
	if err != nil {
		return "", err
	}
	defer dir.close()
	return dir.readlink(p.base())
}

// access says what a name is looked up for.
type access int

const (
	toRead access = iota
	toChange
)

// at runs try where abs leads. It trusts the spelling first; while try fails with
// ELOOP, because a link was met or slipped in, the links are resolved and it runs
// again. follow says whether a link in the last part counts.
func (w *Workspace) at(abs string, follow bool, a access, try func(place) error) error {
	p, err := w.find(abs)
	if err != nil {
		return err
	}
	if leaves(p.rel) {
		return &OutsideError{abs, w.Dir()}
	}
	for n := 0; ; n++ {
		if err := w.denied(p, abs, a); err != nil {
			return err
		}
		err = try(p)
		if !errors.Is(err, syscall.ELOOP) || n > maxLinks {
			return err
		}
		if p, err = w.resolve(abs, follow); err != nil {
			return err
		}
	}
}

// StateDir is the folder of this program's own records, at the root of a
// workspace. No operation reads, lists or changes it, at any depth.
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

func (w *Workspace) denied(p place, abs string, a access) error {
	for name := range strings.SplitSeq(p.rel, "/") {
		name = strings.TrimRight(name, ". ") // other systems drop them
		if Hidden(name) {
			return &DeniedError{abs, "it holds this program's own records"}
		}
		if a == toRead || w.opts.AllowConfig {
			continue
		}
		for _, c := range configNames {
			if strings.EqualFold(name, c) {
				return &DeniedError{abs, "changing " + c + " can make other programs run code; --allow-config allows it"}
			}
		}
	}
	return nil
}
