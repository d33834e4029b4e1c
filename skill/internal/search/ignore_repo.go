package search

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"textskill/skill/internal/workspace"
	"textskill/skill/internal/workspace/tree"
)

// maxRules is the size limit of a file of rules or a git configuration file, in bytes. A larger
// file counts as empty.
const maxRules = 16 << 20

// ignoring finds the rules of a walk. Its paths are relative to root, with slashes.
type ignoring struct {
	w *workspace.Workspace
	// the workspace's or allowed folder that the walk is in, or the top of the repository that holds it
	root string
	path string // of the folder that the walk starts at: "", or with a slash at the end
	user []rule // the user's own rules, for every repository
}

// scope decides which names in a folder are ignored.
type scope struct {
	rules   *rules
	tracked *tracked // of the repository that the folder is in
	ignored bool     // the folder is ignored, except for the tracked files in it
}

// ignores reports whether git ignores a name. byRule reports whether a rule ignores it; git still
// does not ignore a tracked file, or a folder with tracked files.
func (s *scope) ignores(path, name []byte, folder bool) (ignored, byRule bool) {
	byRule = s.ignored || s.rules.ignored(path, name, folder)
	return byRule && !s.tracked.has(path, folder), byRule
}

// newIgnoring also returns the scope of the folder above base. Its rules come from the top of the
// repository down to base, or from the root down if there is no repository.
func newIgnoring(w *workspace.Workspace, base *workspace.Dir) (*ignoring, scope) {
	g := &ignoring{w: w, root: base.Path(), user: userRules()}
	if base.Rel() != "." {
		g.root = strings.TrimSuffix(base.Path(), filepath.FromSlash(base.Rel()))
		g.path = base.Rel() + "/"
	}
	if g.has(g.path + ".git") {
		return g, scope{} // base is a repository: the walk reads its rules
	}
	above := ""
	for top := path.Dir(base.Rel()); top != "."; top = path.Dir(top) {
		if g.has(top + "/.git") {
			above = top + "/"
			break
		}
	}
	s := scope{}
	if above != "" || g.has(".git") {
		s = g.repository(above, g.read)
	} else if s, above = g.outside(); above == "" && len(g.user) > 0 {
		s.rules = newRules(nil, 0, g.user)
	}
	for above != g.path {
		s.rules = s.rules.under(g.ignoreFile(above), len(above))
		name, rest, _ := strings.Cut(g.path[len(above):], "/")
		if rest == "" {
			break
		}
		above += name + "/"
	}
	return g, s
}

func (g *ignoring) has(path string) bool {
	_, err := g.w.Stat(g.abs(path), false)
	return err == nil
}

// outside handles a root inside a repository whose top is above the root. It reads the rules of the
// repository, makes its top the new root, and returns the path of the old root. It does nothing
// and returns "" if there is no repository, if its owner differs, or if its rules ignore the root.
func (g *ignoring) outside() (s scope, above string) {
	root := filepath.Clean(g.root)
	top := filepath.Dir(root)
	for ; !exists(filepath.Join(top, ".git")); top = filepath.Dir(top) {
		if top == filepath.Dir(top) {
			return scope{}, ""
		}
	}
	rel, err := filepath.Rel(top, root)
	if err != nil || !sameOwner(top, root) {
		return scope{}, ""
	}
	s = (&ignoring{w: g.w, root: top, user: g.user}).repository("", readOutside)
	rel = filepath.ToSlash(rel) + "/"
	for above != rel {
		s.rules = s.rules.under(readOutside(filepath.Join(top, above, ".gitignore"), maxRules), len(above))
		name, _, _ := strings.Cut(rel[len(above):], "/")
		if s.rules.ignored([]byte(above+name), []byte(name), true) {
			return scope{}, ""
		}
		above += name + "/"
	}
	g.root, g.path = top, rel+g.path
	return s, above
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

func sameOwner(a, b string) bool {
	ia, err := os.Stat(a)
	if err != nil {
		return false
	}
	ib, err := os.Stat(b)
	return err == nil && tree.InfoOf(ia).UID == tree.InfoOf(ib).UID
}

func (g *ignoring) abs(path string) string { return filepath.Join(g.root, filepath.FromSlash(path)) }

// ignoreFile reads the .gitignore of a folder. Like git it does not follow a link of that name.
func (g *ignoring) ignoreFile(folder string) []byte {
	dir, err := g.w.OpenDir(g.abs(folder))
	if err != nil {
		return nil
	}
	defer dir.Close()
	return readIgnoreFile(dir)
}

func readIgnoreFile(dir *workspace.Dir) []byte {
	f, err := dir.Open([]byte(".gitignore"))
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := f.ReadAll(maxRules)
	if err != nil {
		return nil
	}
	return data
}

// reader returns the content of a file, nil if it cannot be read or is larger than limit.
type reader func(abs string, limit int64) []byte

// read reads a file of the workspace.
func (g *ignoring) read(abs string, limit int64) []byte {
	f, info, err := g.w.Open(abs)
	if err != nil || info.Size > limit {
		return nil
	}
	defer f.Close()
	data := make([]byte, info.Size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil
	}
	return data
}

// repository returns the rules of a repository outside its .gitignore files: .git/info/exclude,
// and above it the user's rules. An excludesFile in the repository's own configuration must be
// inside the workspace, because anybody may have written that configuration.
func (g *ignoring) repository(top string, read reader) scope {
	own, shared := g.gitDirs(g.abs(top), read)
	user := g.user
	if file, set := excludesFile(read, filepath.Join(shared, "config")); set {
		user = nil
		if file != "" {
			user = parseRules(read(g.w.Abs(g.abs(top), expand(file)), maxRules))
		}
	}
	s := scope{tracked: &tracked{skip: len(top),
		read: func() []byte { return read(filepath.Join(own, "index"), maxIndex) }}}
	if len(user) > 0 {
		s.rules = newRules(nil, len(top), user)
	}
	s.rules = s.rules.under(read(filepath.Join(shared, "info", "exclude"), maxRules), len(top))
	return s
}

// gitDirs returns the git folder of this working tree, and the one that all working trees of the
// repository share. A .git file names the folder.
func (g *ignoring) gitDirs(top string, read reader) (own, shared string) {
	own = filepath.Join(top, ".git")
	name, ok := strings.CutPrefix(string(read(own, maxRules)), "gitdir: ")
	if !ok {
		return own, own
	}
	own = g.w.Abs(top, strings.TrimRight(name, "\r\n"))
	name = strings.TrimRight(string(read(filepath.Join(own, "commondir"), maxRules)), "\r\n")
	if name == "" {
		return own, own
	}
	return own, g.w.Abs(own, name)
}

// userRules reads the user's core.excludesFile, or git's default. It searches /etc/gitconfig,
// git/config in XDG_CONFIG_HOME, and ~/.gitconfig; the last setting wins. GIT_CONFIG_GLOBAL
// replaces the last two files.
func userRules() []rule {
	config := os.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = expand("~/.config")
	}
	file := filepath.Join(config, "git", "ignore")
	users := []string{filepath.Join(config, "git", "config"), expand("~/.gitconfig")}
	if global, set := os.LookupEnv("GIT_CONFIG_GLOBAL"); set {
		users = []string{global}
	}
	for _, settings := range append([]string{"/etc/gitconfig"}, users...) {
		if name, set := excludesFile(readOutside, settings); set {
			file = expand(name)
		}
	}
	return parseRules(readOutside(file, maxRules))
}

// expand replaces a ~/ at the start by the user's home folder.
func expand(name string) string {
	home, err := os.UserHomeDir()
	if rest, ok := strings.CutPrefix(name, "~/"); ok && err == nil {
		return filepath.Join(home, rest)
	}
	return name
}

// readOutside is a [reader] for regular files outside the workspace.
func readOutside(name string, limit int64) []byte {
	info, err := os.Stat(name) // before it is opened: a pipe would wait for its writer
	if err != nil || !filepath.IsAbs(name) || !info.Mode().IsRegular() || info.Size() > limit {
		return nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	return data
}
