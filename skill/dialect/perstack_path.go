package dialect

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"textskill/skill"
)

// found is what a path leads to, seen before the operation runs so that what is
// wrong can be said in the original's words and order. The operation itself is
// confined whatever is seen here.
type found struct {
	given   string     // as the caller wrote it
	abs     string     // absolute, by its spelling alone
	path    string     // absolute, with links followed where something is there, else abs
	exists  bool       // something is at path
	info    skill.Info // of it; zero if nothing is there
	link    bool       // abs is itself a symbolic link
	outside bool       // it is one that leads out of the workspace
	why     error      // nothing is there
	root    string     // the workspace
}

// look sees where the argument name leads. With parents the folders above it need
// not be there. The errors are the original's refusals.
func look(x *skill.Executor, s *skill.Session, in values, name string, parents bool) (*found, error) {
	f := &found{given: in.str(name), root: x.Dir()}
	f.abs = x.Abs(s, whole(atHome(f.given)))
	f.path = f.abs
	if err := f.refuseReserved(f.abs); err != nil {
		return nil, err
	}
	if f.hasNUL() {
		return f, f.above(x, s, parents)
	}
	own, err := x.Look(s, f.abs, false)
	f.link = err == nil && own.Mode.Type() == fs.ModeSymlink
	if err == nil {
		f.path, f.info, err = f.follow(x, s, own)
	}
	if err == nil {
		f.exists = true
		return f, f.refuseReserved(f.path)
	}
	f.path, f.info, f.why = f.abs, skill.Info{}, err
	switch {
	case errors.As(err, new(*skill.DeniedError)):
		return nil, err
	case f.link:
		f.outside = errors.As(err, new(*skill.OutsideError))
		return f, nil
	}
	if real, err := x.Real(s, f.abs, false); err == nil {
		if err := f.refuseReserved(real); err != nil {
			return nil, err
		}
	}
	return f, f.above(x, s, parents)
}

// follow returns where f leads, and describes it. own is what is at f itself.
func (f *found) follow(x *skill.Executor, s *skill.Session, own skill.Info) (string, skill.Info, error) {
	if !f.link && filepath.Dir(f.abs) == f.root {
		return f.abs, own, nil
	}
	real, err := x.Real(s, f.abs, true)
	if err == nil && f.link {
		own, err = x.Look(s, real, true)
	}
	return real, own, err
}

// itself makes f the link that its path names, if it names one, and not what the
// link leads to.
func (f *found) itself(x *skill.Executor, s *skill.Session) {
	if path, err := x.Real(s, f.abs, false); f.link && err == nil {
		f.path = path
	}
}

// atHome reads ~ as the home folder.
func atHome(name string) string {
	home := os.Getenv("HOME")
	if home != "" && (name == "~" || strings.HasPrefix(name, "~/")) {
		return filepath.Join(home, name[1:])
	}
	return name
}

func (f *found) hasNUL() bool { return strings.IndexByte(f.abs, 0) >= 0 }

// noNULAs refuses a path that holds NUL, which is what of the original's.
func (f *found) noNULAs(what string) error {
	if f.hasNUL() {
		return typeError{own("The %s must be a string, Uint8Array, or URL without null bytes. Received %s", what, inspect(f.abs))}
	}
	return nil
}

// mayWrite tells whether its owner may write to f, by its mode alone.
func (f *found) mayWrite() bool { return f.info.Mode&0o200 != 0 }

// reserved are the folders at the root of a workspace that belong to the runtime.
var reserved = []string{"perstack", ".perstack"}

// refuseReserved fails for the runtime's folders and what is in them.
func (f *found) refuseReserved(abs string) error {
	rest, ok := strings.CutPrefix(filepath.ToSlash(abs), strings.TrimSuffix(filepath.ToSlash(f.root), "/")+"/")
	first, _, _ := strings.Cut(rest, "/")
	for _, name := range reserved {
		if ok && strings.EqualFold(first, name) {
			return own("Access denied - %s directory is not allowed", name)
		}
	}
	return nil
}

// above fails where nothing can be at f: because it is outside, or for want of the
// folder above it, unless with parents that can be made.
func (f *found) above(x *skill.Executor, s *skill.Session, parents bool) error {
	parent := filepath.Dir(f.abs)
	for dir := parent; ; dir = filepath.Dir(dir) {
		info, err := x.Look(s, dir, true)
		if err == nil && (dir == parent || parents && info.IsDir()) {
			return nil
		}
		if err != nil {
			_, err = x.Look(s, dir, false) // a link that leads nowhere, or outside
		}
		switch {
		case err == nil:
			return own("Parent directory does not exist: %s", parent)
		case dir == filepath.Dir(dir):
			return f.leadsOut()
		}
	}
}

func (f *found) leadsOut() error { return own(notAllowed, f.abs, f.root) }

const notAllowed = "Access denied - path outside allowed directories: %s not in %s"

// mayMake fails where the first folder above f that is there may not be written to.
func (f *found) mayMake(x *skill.Executor, s *skill.Session) error {
	for dir := filepath.Dir(f.path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		info, err := x.Look(s, dir, true)
		if err != nil {
			continue
		}
		if info.Mode&0o200 == 0 {
			return own("Parent directory %s is not writable", dir)
		}
		return nil
	}
	return nil
}
