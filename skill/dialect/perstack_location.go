package dialect

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"textskill/skill"
)

// A location is what a path leads to. It is examined before the operation runs, for
// the messages of the original in their order; the operation is confined to the
// workspace in any case.
type location struct {
	given   string     // as the client wrote it
	abs     string     // absolute, by its spelling alone
	path    string     // absolute, with links followed if something is there, else abs
	exists  bool       // something is at path
	info    skill.Info // of it; zero if nothing is there
	link    bool       // abs is itself a symbolic link
	outside bool       // it is one that leads out of the workspace
	why     error      // why nothing was found
}

// look finds out where a path leads, and then makes the checks in their order. With parents the
// folders above it need not exist. The errors are the original's refusals.
func (in *call) look(path string, parents bool, checks ...check) (*location, error) {
	at := &location{given: path}
	if err := in.locate(at, parents); err != nil {
		return at, err
	}
	return at, in.pass(at, checks...)
}

func (in *call) locate(at *location, parents bool) error {
	given, _ := expandHome(at.given)
	at.abs = in.x.Abs(in.s, whole(given))
	at.path = at.abs
	if err := in.refuseReserved(at.abs); err != nil {
		return err
	}
	if hasNUL(at.abs) {
		return in.lookAbove(at, parents)
	}
	self, err := in.x.Look(in.s, at.abs, false)
	at.link = err == nil && self.Mode.Type() == fs.ModeSymlink
	if err == nil {
		at.path, at.info, err = in.follow(at, self)
	}
	if err == nil {
		at.exists = true
		return in.refuseReserved(at.path)
	}
	at.path, at.info, at.why = at.abs, skill.Info{}, err
	outside := errors.Is(err, skill.ErrOutside)
	switch {
	case !outside && errors.As(err, new(*skill.RefusedError)):
		return err
	case at.link:
		at.outside = outside
		return nil
	}
	if real, err := in.x.Real(in.s, at.abs, false); err == nil {
		if err := in.refuseReserved(real); err != nil {
			return err
		}
	}
	return in.lookAbove(at, parents)
}

// follow returns where the location leads, and describes what is there. self
// describes what is at its path, which may be a link.
func (in *call) follow(at *location, self skill.Info) (string, skill.Info, error) {
	if !at.link && filepath.Dir(at.abs) == in.x.Dir() {
		return at.abs, self, nil
	}
	real, err := in.x.Real(in.s, at.abs, true)
	if err == nil && at.link {
		self, err = in.x.Look(in.s, real, true)
	}
	return real, self, err
}

// useLink makes the location that of the link which the path names, if it names
// one, and not of what the link leads to.
func (in *call) useLink(at *location) {
	if path, err := in.x.Real(in.s, at.abs, false); at.link && err == nil {
		at.path = path
	}
}

func hasNUL(text string) bool { return strings.IndexByte(text, 0) >= 0 }

// refuseNUL fails if the path holds a NUL byte, with the kind of error that node has for it.
func (at *location) refuseNUL(param string) error {
	if !hasNUL(at.abs) {
		return nil
	}
	text := fmt.Sprintf("%s holds a NUL byte: %q", param, at.abs)
	return &Failure{Message: text, body: string(object("error", "TypeError", "message", text))}
}

// reserved are the folders at the root of a workspace that belong to the runtime.
var reserved = []string{"perstack", ".perstack"}

// refuseReserved fails for the runtime's folders and what is in them.
func (in *call) refuseReserved(abs string) error {
	rest, ok := strings.CutPrefix(filepath.ToSlash(abs),
		strings.TrimSuffix(filepath.ToSlash(in.x.Dir()), "/")+"/")
	first, _, _ := strings.Cut(rest, "/")
	for _, name := range reserved {
		if ok && strings.EqualFold(first, name) {
			return failf("Access denied - %s directory is not allowed", name)
		}
	}
	return nil
}

// lookAbove fails if nothing can be at the location: because it is outside, or
// because the folder above it is missing and, with parents, cannot be made.
func (in *call) lookAbove(at *location, parents bool) error {
	parent := filepath.Dir(at.abs)
	for dir := parent; ; dir = filepath.Dir(dir) {
		info, err := in.x.Look(in.s, dir, true)
		if err == nil && (dir == parent || parents && info.IsDir()) {
			return nil
		}
		if err != nil {
			_, err = in.x.Look(in.s, dir, false) // a link that leads nowhere, or outside
		}
		switch {
		case err == nil:
			return failf("Parent directory does not exist: %s", parent)
		case dir == filepath.Dir(dir):
			return in.leadsOut(at)
		}
	}
}

func (in *call) leadsOut(at *location) error { return failf(notAllowed, at.abs, in.x.Dir()) }

const notAllowed = "Access denied - path outside allowed directories: %s not in %s"

// A check fails, with the message of the original, if something is wrong with a location.
type check func(in *call, at *location) error

func (in *call) pass(at *location, checks ...check) error {
	for _, c := range checks {
		if err := c(in, at); err != nil {
			return err
		}
	}
	return nil
}

// mustBeInside refuses a link that leads out of the workspace.
func mustBeInside(in *call, at *location) error {
	if at.outside {
		return in.leadsOut(at)
	}
	return nil
}

// mustNotLinkOutside is mustBeInside with the message of the tools for text files.
func mustNotLinkOutside(_ *call, at *location) error {
	if at.outside {
		return failf("Operation denied: target is a symbolic link")
	}
	return nil
}

// mustNotLinkNowhere refuses a link that leads outside, to nothing, or in a circle.
func mustNotLinkNowhere(_ *call, at *location) error {
	if at.link && !at.exists {
		return failf("Operation denied: target is a symbolic link")
	}
	return nil
}

// refuse returns a check that refuses a location, with words about the path as it was given.
func refuse(words string, wrong func(at *location) bool) check {
	return func(_ *call, at *location) error {
		if wrong(at) {
			return failf(words, at.given)
		}
		return nil
	}
}

func mustExist(words string) check {
	return refuse(words, func(at *location) bool { return !at.exists })
}

func mustNotExist(words string) check {
	return refuse(words, func(at *location) bool { return at.exists || at.outside })
}

// mustBeWritable refuses what the owner may not write to, by its mode alone.
func mustBeWritable(words string) check {
	return refuse(words, func(at *location) bool { return at.exists && at.info.Mode&0o200 == 0 })
}

func mustBeFolder(words string) check {
	return refuse(words, func(at *location) bool { return !at.info.IsDir() })
}

func mustNotBeFolder(words string) check {
	return refuse(words, func(at *location) bool { return at.info.IsDir() })
}

func mustHaveNoNUL(_ *call, at *location) error { return at.refuseNUL("path") }

// parentMustBeWritable refuses a location if the first folder above it that exists
// is not writable.
func parentMustBeWritable(in *call, at *location) error {
	for dir := filepath.Dir(at.path); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		info, err := in.x.Look(in.s, dir, true)
		if err != nil {
			continue
		}
		if info.Mode&0o200 == 0 {
			return failf("Parent directory %s is not writable", dir)
		}
		return nil
	}
	return nil
}
