package workspace

import (
	"cmp"
	"errors"
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

// A location is a resolved path: a root, and a clean slash-separated path relative to it.
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

// maxLinks limits the symbolic links in one path, as in Linux.
const maxLinks = 40

// maxPath limits the bytes of an absolute path, as in Linux.
const maxPath = 4095

// Abs makes name absolute and clean without reading the disk. A relative name is relative to
// dir; a dir of "" is the workspace.
func (w *Workspace) Abs(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(cmp.Or(dir, w.Dir()), name)
}

// Real returns the absolute path of name with symbolic links resolved. It resolves a link in
// the last part, with or without a final slash, only with follow. A ".." applies to the
// target of a link before it. Parts that do not exist keep their spelling. For a name that
// leads outside, the error matches [refusal.ErrOutside].
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

// findRoot finds the root that contains an absolute path. If no root matches its spelling,
// findRoot compares the folders above the path with the roots: the path may reach a root
// through a link or in another case. The result may contain "..", for resolve.
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

// rootAt returns the root that is the same folder as dir, nil if no root is.
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

// matchRoot finds the root that contains an absolute path by its spelling. Of several roots it takes the
// workspace's own, else the outermost, so that one history has all changes of a path. The folder of command
// output counts as a read-only root.
func (w *Workspace) matchRoot(abs string) (location, bool) {
	var found location
	for _, r := range w.roots {
		rel, ok := below(r.dir, abs)
		if ok && (found.root == nil || found.root != w.roots[0] && len(r.dir) < len(found.root.dir)) {
			found = location{r, rel}
		}
	}
	if found.root != nil {
		return found, true
	}
	for _, r := range w.roots {
		if rel, ok := below(r.given, abs); ok {
			return w.matchRoot(r.dir + string(filepath.Separator) + rel)
		}
	}
	return w.matchOutput(abs)
}

// below returns abs relative to dir, if abs is dir or below dir. Both are absolute. The
// result keeps ".." parts, for resolve.
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

// resolve follows the symbolic links in abs one by one, inside the roots. The result has no
// link in it. Another program may put a link there meanwhile, so opening it must check again.
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

// follow returns the location where the target of the link p starts, and the parts after it.
func (w *Workspace) follow(p location, target string) (at location, parts []string, err error) {
	if !filepath.IsAbs(target) {
		return p.parent(), strings.Split(filepath.ToSlash(target), "/"), nil
	}
	at, err = w.findRoot(target)
	return location{at.root, "."}, strings.Split(at.rel, "/"), err
}

// climb applies a ".." at a location. Above a root it also consumes parts of rest, by their
// spelling, until the path is inside a root again. It fails if the path stays outside.
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

// linkTarget returns the target of the symbolic link p, "" if p is not a link.
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

// access is the purpose of a path. Some paths may be read, but not changed.
type access int

const (
	toRead access = iota
	toChange
)

// A request is a path that the caller of an operation gave.
type request struct {
	abs    string
	follow bool // follow a link in the last part
	access access
}

// withLocation calls try with the location of q, and again as [tries] says.
func (w *Workspace) withLocation(q request, try func(location) error) error {
	t := tries{w: w, q: q}
	for t.next() {
		t.err = try(t.at)
	}
	return t.err
}

// tries are the locations at which an operation on a path is tried. The first one trusts the spelling of the path,
// which saves a system call for each part. If that fails with ELOOP, because a link is in the path, the links are
// resolved. If another program changes a file meanwhile, the operation is tried again, at most 100 times.
type tries struct {
	w              *Workspace
	q              request
	at             location
	err            error // of the last try
	begun          bool
	links, changed int
}

// next finds the next location. It returns false after a success, and after an error that ends the operation.
func (t *tries) next() bool {
	switch {
	case !t.begun:
		t.at, t.err = t.w.locate(t.q)
		t.begun = true
	case t.err == syscall.ELOOP && t.links <= maxLinks:
		t.at, t.err = t.w.resolve(t.q.abs, t.q.follow)
		t.links++
	case errors.Is(t.err, history.ErrChanged) && t.changed < mostTries:
		t.err = nil
		t.changed++
	default:
		return false
	}
	if t.err == nil {
		t.err = t.w.denied(t.at, t.q)
	}
	return t.err == nil
}

// mostTries limits how often an operation starts again because another program changes a file.
const mostTries = 100

// withLocations is withLocation for an operation on two paths.
func (w *Workspace) withLocations(from, to request, try func(src, dst location) error) error {
	src, err := w.locate(from)
	if err != nil {
		return err
	}
	dst, err := w.locate(to)
	for links, changed := 0, 0; err == nil; {
		if err = cmp.Or(w.denied(src, from), w.denied(dst, to), w.deniedMove(src, dst, to)); err != nil {
			return err
		}
		err = try(src, dst)
		switch {
		case errors.Is(err, history.ErrChanged) && changed < mostTries:
			changed++
			err = nil
		case err == syscall.ELOOP && links <= maxLinks:
			links++
			if src, err = w.resolve(from.abs, from.follow); err != nil {
				return err
			}
			dst, err = w.resolve(to.abs, to.follow)
		default:
			return err
		}
	}
	return err
}

// locate finds the location of q by its spelling. It resolves a path with ".." in it.
func (w *Workspace) locate(q request) (location, error) {
	p, err := w.findRoot(q.abs)
	if err == nil && (escapes(p.rel) || path.Clean(p.rel) != p.rel) {
		return w.resolve(q.abs, q.follow)
	}
	return p, err
}

// holdsRoot reports whether a root is p or below p.
func (w *Workspace) holdsRoot(p location) bool {
	for _, r := range w.roots {
		if _, ok := below(p.path(), r.dir); ok {
			return true
		}
	}
	return false
}

// StateDir is the name of the folder with this program's records, if it is in the workspace. No
// operation reads, lists or changes it, except for reading the output of commands in it.
const StateDir = history.Inside

// tempName is the temporary name of a new file before it replaces an old file. If a killed
// process leaves a file of that name, the next change in its folder removes it.
const tempName = history.TempName

// ownRecords is the reason why [StateDir] is denied.
const ownRecords = "it holds this program's own records"

// Hidden reports whether listings and walks omit a name.
func Hidden(name string) bool {
	return strings.EqualFold(name, StateDir) || strings.EqualFold(name, tempName)
}

// configNames are files and folders by which a program runs code that nobody asked it for, when a person opens a
// folder in an editor or agent, enters it in a shell, or starts a debugger, an interpreter or a version control there.
// Build files and scripts run because somebody builds, so they are content. Operations may read these names, and
// change them only with [Options].AllowConfig. A name may be of a folder in another one.
var configNames = []string{
	".git", ".gitconfig", ".gitmodules", ".githooks", ".husky",
	".hg/hgrc", ".hg/hgrc-not-shared", ".hg/sharedpath", ".hg/requires",
	".jj/repo/config.toml", ".jj/workspace-config.toml", ".sl/config", ".sl/sharedpath", ".pijul/config", "_darcs/prefs",
	"perstack", "perstack.toml", "skill.toml",

	// of hosts
	".mcp.json", ".claude", ".claude.json", ".codex", ".cursor", ".gemini", ".qwen", ".opencode",
	"opencode.json", "opencode.jsonc",
	".kiro", ".roo", ".roomodes", ".windsurf", ".continue", ".amazonq", ".factory", ".factory-dev", ".kimi-code",
	".kilo", ".kilocode", ".kilocodemodes", "kilo.json", "kilo.jsonc", ".clinerules", ".crush.json", "crush.json",
	".copilot", ".github/hooks", ".github/copilot", ".github/extensions", ".github/agents", ".github/skills",
	".github/mcp.json", ".github/lsp.json", ".codeium", ".agents", ".agent", ".cline", ".aider.conf.yml",
	".crush", ".crushrc", "crushrc", ".pi", ".augment", ".amp", ".goose",

	// of editors, debuggers, interpreters and shells
	".vscode", ".zed", ".idea", ".helix", ".devcontainer",
	".devcontainer.json", ".dir-locals.el", ".dir-locals-2.el", ".exrc", ".vim", ".vimrc",
	".nvimrc", ".nvim.lua", ".lvimrc",
	".gdbinit", ".lldbinit", ".pdbrc", ".perldb", ".irbrc", ".pryrc", ".Rprofile", ".iex.exs", ".ghci", ".octaverc",
	"mise.toml", ".mise.toml", ".mise", "mise/config.toml", ".config/mise", ".config/mise.toml", ".ripgreprc", ".envrc", ".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc",
	".zshenv", ".zprofile", ".zlogin",
}

// configPatterns are such files with a name of the person's choice in theirs, in lower case.
var configPatterns = []string{"*.code-workspace", "*.sublime-project", "mise.*.toml", ".mise.*.toml"}

// denied fails with a [*refusal.RefusedError] if q may not access p.
func (w *Workspace) denied(p location, q request) error {
	if err, ok := w.deniedOutput(p, q); ok {
		return err
	}
	if w.isRecords(p, q.access) {
		return refusal.Denied(q.abs, ownRecords)
	}
	parts := strings.Split(p.rel, "/")
	folder := ""
	for i, name := range parts {
		if !isCheckout(parts[i:]) {
			if err := w.deniedName(folder, name, q); err != nil {
				return err
			}
		}
		folder += "/" + strings.TrimRight(name, ". ")
	}
	return nil
}

// deniedMove fails if a folder must not be moved or copied to dst, because its entries make other programs run
// code there.
func (w *Workspace) deniedMove(src, dst location, q request) error {
	for _, c := range configNames {
		for i := 0; i < len(c) && !w.opts.AllowConfig; i++ {
			if c[i] != '/' || !endsIn("/"+dst.rel, c[:i]) {
				continue
			}
			if _, err := src.root.tree.Stat(src.child(c[i+1:]).rel); err == nil {
				return deniedConfig(c, q)
			}
		}
	}
	return nil
}

// deniedConfig returns the error about an entry of configNames, nil for "".
func deniedConfig(c string, q request) error {
	if c == "" {
		return nil
	}
	return refusal.Denied(q.abs, "changing "+c+" can make other programs run code; --allow-config allows it")
}

// isCheckout reports whether the parts of a path begin with a host's folder of checkouts, as
// .claude/worktrees/NAME/FILE. Names count from the top of the checkout.
func isCheckout(parts []string) bool {
	return len(parts) > 3 && strings.HasPrefix(parts[0], ".") && parts[0] != StateDir &&
		!strings.EqualFold(parts[0], ".git") && parts[1] == "worktrees" && runsCode("", parts[0]) != ""
}

// isRecords reports whether p is in the user's state folder, which holds histories, tokens
// and trust. For a change, it also reports whether p contains that folder. It ignores case,
// as macOS does.
func (w *Workspace) isRecords(p location, a access) bool {
	if w.records == "" {
		return false
	}
	at, records := strings.ToLower(p.path()), strings.ToLower(w.records)
	_, inside := below(records, at)
	_, holds := below(at, records)
	return inside || holds && a == toChange && !p.isRoot()
}

// deniedName is denied for one part of a path, in a folder. It catches other spellings of a name: it
// ignores case, as macOS does, and dots and blanks at the end, as Windows does.
func (w *Workspace) deniedName(folder, name string, q request) error {
	if runtime.GOOS == "windows" {
		name, _, _ = strings.Cut(name, ":") // a colon precedes the name of a stream of the file
	}
	name = strings.TrimRight(name, ". ")
	if Hidden(name) {
		return refusal.Denied(q.abs, ownRecords)
	}
	if q.access == toRead || w.opts.AllowConfig {
		return nil
	}
	return deniedConfig(runsCode(folder, name), q)
}

// runsCode returns the entry of configNames or configPatterns that matches the name of a file, "" if none does. The
// folder is the path of the folder above it.
func runsCode(folder, name string) string {
	in := folder + "/" + name
	for _, c := range configNames {
		if strings.EqualFold(name, c) || strings.Contains(c, "/") && endsIn(in, c) {
			return c
		}
	}
	lower := strings.ToLower(name)
	for _, c := range configPatterns {
		if ok, _ := path.Match(c, lower); ok {
			return c
		}
	}
	return ""
}

// endsIn reports whether a path ends in the names of another path, in whatever case.
func endsIn(at, names string) bool {
	for {
		i, j := strings.LastIndexByte(at, '/'), strings.LastIndexByte(names, '/')
		if !strings.EqualFold(at[i+1:], names[j+1:]) {
			return false
		}
		if i < 0 || j < 0 {
			return j < 0
		}
		at, names = at[:i], names[:j]
	}
}
