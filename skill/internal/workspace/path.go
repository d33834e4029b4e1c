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

	"textskill/skill/internal/history"
	"textskill/skill/internal/refusal"
)

// A location is where a path leads: a root, and a clean slash-separated path in it.
type location struct {
	root *root
	rel  string // "." for the root itself
}

// path returns the absolute path.
func (p location) path() string { return filepath.Join(p.root.dir, filepath.FromSlash(p.rel)) }

func (p location) isRoot() bool               { return p.rel == "." }
func (p location) parent() location           { return location{p.root, path.Dir(p.rel)} }
func (p location) base() string               { return path.Base(p.rel) }
func (p location) child(name string) location { return location{p.root, path.Join(p.rel, name)} }

// maxLinks is how many symbolic links one path may lead through, as in Linux.
const maxLinks = 40

// maxPath is how many bytes an absolute path may have, as in Linux.
const maxPath = 4095

// Abs makes name absolute and clean without looking at the disk. A relative name is
// relative to dir; a dir of "" is the workspace.
func (w *Workspace) Abs(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(cmp.Or(dir, w.Dir()), name)
}

// Real returns the absolute path that name leads to when symbolic links are
// followed; a link in the last part, with or without a slash after it, is followed only if
// follow is set. ".." applies after the links before it are followed. Parts that do not
// exist keep their spelling. For a name that leads outside the error matches [refusal.ErrOutside].
func (w *Workspace) Real(dir, name string, follow bool) (string, error) {
	if !filepath.IsAbs(name) {
		name = cmp.Or(dir, w.Dir()) + string(filepath.Separator) + name
	}
	p, err := w.resolve(name, follow)
	if err != nil {
		return "", wrap("realpath", name, err)
	}
	return p.path(), nil
}

// findRoot finds the root that an absolute path is in: by its spelling, or else by
// comparing the folders above it with the roots, for a path that reaches a root
// through a link or in another case. ".." in the result is left for resolve.
func (w *Workspace) findRoot(abs string) (location, error) {
	if len(abs) > maxPath {
		return location{}, syscall.ENAMETOOLONG
	}
	if p, ok := w.matchRoot(abs); ok {
		return p, nil
	}
	outside := &refusal.RefusedError{Path: abs, Workspace: w.Dir()}
	if strings.IndexByte(abs, 0) >= 0 || !filepath.IsAbs(abs) {
		return location{}, outside
	}
	abs = filepath.Clean(abs)
	for above := abs; ; above = filepath.Dir(above) {
		if r := w.rootAt(above); r != nil {
			rel, _ := below(above, abs)
			p, _ := w.matchRoot(location{r, rel}.path())
			return p, nil
		}
		if above == filepath.Dir(above) {
			return location{}, outside
		}
	}
}

// rootAt returns the root that is the folder dir, nil if none is.
func (w *Workspace) rootAt(dir string) *root {
	fi, err := os.Stat(dir)
	if err != nil {
		return nil
	}
	for _, r := range w.roots {
		if os.SameFile(fi, r.info) {
			return r
		}
	}
	return nil
}

// matchRoot finds the root that an absolute path is in by its spelling alone. A path
// below several roots is in the first of them. The output of commands counts as a root in which
// nothing is changed.
func (w *Workspace) matchRoot(abs string) (location, bool) {
	for _, r := range w.roots {
		if rel, ok := below(r.dir, abs); ok {
			return location{r, rel}, true
		}
	}
	for _, r := range w.roots {
		if rel, ok := below(r.given, abs); ok {
			return w.matchRoot(r.dir + string(filepath.Separator) + rel)
		}
	}
	return w.matchOutput(abs)
}

// below returns abs relative to dir, both absolute, if abs is dir or below it.
// ".." in abs is left for resolve.
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

// resolve follows the symbolic links in abs one by one, inside the roots. The result
// has no link in it, unless one is put there meanwhile: what opens it must check.
func (w *Workspace) resolve(abs string, follow bool) (location, error) {
	at, err := w.findRoot(abs)
	if err != nil {
		return location{}, err
	}
	rest := strings.Split(at.rel, "/")
	for n := len(rest) - 1; n > 0 && (rest[n] == "" || rest[n] == "."); n-- {
		rest = rest[:n]
	}
	at.rel = "."
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			if at, rest, err = w.climb(at, rest); err != nil {
				return location{}, &refusal.RefusedError{Path: abs, Workspace: w.Dir()}
			}
			continue
		}
		at = at.child(name)
		if len(rest) == 0 && !follow {
			break
		}
		target := at.linkTarget()
		if target == "" {
			continue
		}
		if links++; links > maxLinks {
			return location{}, syscall.ELOOP
		}
		var parts []string
		if at, parts, err = w.follow(at, target); err != nil {
			return location{}, &refusal.RefusedError{Path: abs, Workspace: w.Dir()}
		}
		rest = append(parts, rest...)
	}
	p, _ := w.matchRoot(at.path())
	return p, nil
}

// follow returns where the target of a link at p starts, and its parts from there.
func (w *Workspace) follow(p location, target string) (at location, parts []string, err error) {
	if !filepath.IsAbs(target) {
		return p.parent(), strings.Split(filepath.ToSlash(target), "/"), nil
	}
	at, err = w.findRoot(target)
	return location{at.root, "."}, strings.Split(at.rel, "/"), err
}

// climb applies a ".." at a location. Above a root it goes on with the parts of rest,
// by spelling, until the path is inside a root again; it is an error if it never is.
func (w *Workspace) climb(at location, rest []string) (location, []string, error) {
	if !at.isRoot() {
		return at.parent(), rest, nil
	}
	dir := filepath.Dir(at.root.dir)
	for {
		if at, ok := w.matchRoot(dir); ok {
			return at, rest, nil
		}
		if len(rest) == 0 {
			return location{}, nil, fs.ErrPermission
		}
		dir, rest = filepath.Join(dir, rest[0]), rest[1:]
	}
}

// escapes reports whether a relative path starts with "..".
func escapes(rel string) bool { return rel == ".." || strings.HasPrefix(rel, "../") }

// linkTarget returns the target of the symbolic link at p, "" if p is no link.
func (p location) linkTarget() string {
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

// access is what a path is resolved for: more is denied to a change.
type access int

const (
	toRead access = iota
	toChange
)

// A request is a path that an operation was given.
type request struct {
	abs    string
	follow bool // follow a link in the last part
	access access
}

// withLocation calls try with the location that q leads to. It trusts the spelling of
// the path first, which saves a look at each of its parts; if try then fails with
// ELOOP, because there is a link in the path or one was put there meanwhile, it
// resolves the links and calls try again.
func (w *Workspace) withLocation(q request, try func(location) error) error {
	p, err := w.locate(q)
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

// withLocations is withLocation for an operation on two paths.
func (w *Workspace) withLocations(from, to request, try func(src, dst location) error) error {
	src, err := w.locate(from)
	if err != nil {
		return err
	}
	dst, err := w.locate(to)
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

// locate finds q by its spelling; a path with ".." in it is resolved.
func (w *Workspace) locate(q request) (location, error) {
	p, err := w.findRoot(q.abs)
	if err == nil && (escapes(p.rel) || path.Clean(p.rel) != p.rel) {
		return w.resolve(q.abs, q.follow)
	}
	return p, err
}

// holdsRoot reports whether a root is at p or below it.
func (w *Workspace) holdsRoot(p location) bool {
	for _, r := range w.roots {
		if _, ok := below(p.path(), r.dir); ok {
			return true
		}
	}
	return false
}

// StateDir is the folder of this program's records where they lie in the workspace. No operation
// reads, lists or changes a folder of that name, but for the output of commands in it.
const StateDir = history.Inside

// tempName is the name of a new file, where it needs one, before it replaces an old
// one. A file of that name left by a killed process is removed by the next change
// in its folder.
const tempName = history.TempName

// ownRecords is why [StateDir] is denied.
const ownRecords = "it holds this program's own records"

// Hidden reports whether a name is left out of listings and walks.
func Hidden(name string) bool {
	return strings.EqualFold(name, StateDir) || strings.EqualFold(name, tempName)
}

// configNames are files and folders from which other programs take commands to run:
// operations read them, and change them only with [Options].AllowConfig.
var configNames = []string{
	".git", ".gitmodules", ".githooks", ".husky",
	"perstack", "perstack.toml", "skill.toml",

	// of hosts
	".mcp.json", ".claude", ".claude.json", ".codex", ".cursor", ".gemini", ".qwen", ".opencode",
	"opencode.json", "opencode.jsonc",
	".kiro", ".roo", ".windsurf", ".continue", ".amazonq",

	// of editors, debuggers and shells
	".vscode", ".zed", ".idea", ".devcontainer", ".devcontainer.json", ".dir-locals.el", ".exrc", ".vimrc",
	".nvimrc", ".nvim.lua", ".lvimrc",
	".gdbinit", ".lldbinit", ".envrc", ".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc",
	".zshenv", ".zprofile", ".zlogin",
}

// denied fails with a [*refusal.RefusedError] if q may not lead to p.
func (w *Workspace) denied(p location, q request) error {
	if err, ok := w.deniedOutput(p, q); ok {
		return err
	}
	if w.isRecords(p, q.access) {
		return refusal.Denied(q.abs, ownRecords)
	}
	for name := range strings.SplitSeq(p.rel, "/") {
		if err := w.deniedName(name, q); err != nil {
			return err
		}
	}
	return nil
}

// isRecords reports whether p is in the user's state folder, which holds histories,
// tokens and trust, or for a change, whether the folder is in p. Case is ignored, as
// macOS does.
func (w *Workspace) isRecords(p location, a access) bool {
	if w.records == "" {
		return false
	}
	at, records := strings.ToLower(p.path()), strings.ToLower(w.records)
	_, inside := below(records, at)
	_, holds := below(at, records)
	return inside || holds && a == toChange && !p.isRoot()
}

// deniedName is denied for one part of a path. It ignores case, as macOS does, and dots
// and blanks at the end, as Windows does, so that no other spelling gets past it.
func (w *Workspace) deniedName(name string, q request) error {
	if runtime.GOOS == "windows" {
		name, _, _ = strings.Cut(name, ":") // after the colon comes a stream of the same file
	}
	name = strings.TrimRight(name, ". ")
	if Hidden(name) {
		return refusal.Denied(q.abs, ownRecords)
	}
	if q.access == toRead || w.opts.AllowConfig {
		return nil
	}
	if c := runsCode(name); c != "" {
		return refusal.Denied(q.abs,
			"changing "+c+" can make other programs run code; --allow-config allows it")
	}
	return nil
}

// runsCode returns the name among configNames that a part of a path has; "" if it has none.
func runsCode(name string) string {
	for _, c := range configNames {
		if strings.EqualFold(name, c) {
			return c
		}
	}
	return ""
}
