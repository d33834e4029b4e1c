package search

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"textskill/skill/internal/workspace"
)

// maxRules is how large a file of rules or of git's settings may be, in bytes.
// Larger ones count as empty.
const maxRules = 16 << 20

// ignoring is what a walk knows about ignored names besides the .gitignore files
// that it comes across. Paths are those below root, with slashes.
type ignoring struct {
	w    *workspace.Workspace
	root string // of the workspace or the allowed folder that the walk is in
	path string // of the folder that the walk starts at: "", or with a slash at the end
	user []rule // that count in every repository
}

// newIgnoring also returns the rules of the folders above base: down from the top
// of its repository, or else from the root.
func newIgnoring(w *workspace.Workspace, base *workspace.Dir) (*ignoring, *rules) {
	g := &ignoring{w: w, root: base.Path(), user: userRules()}
	if base.Rel() == "." {
		return g, g.repository("")
	}
	g.root = strings.TrimSuffix(base.Path(), filepath.FromSlash(base.Rel()))
	g.path = base.Rel() + "/"
	top := path.Dir(base.Rel())
	for ; top != "."; top = path.Dir(top) {
		if _, err := w.Stat(g.abs(top+"/.git"), false); err == nil {
			break
		}
	}
	above := strings.TrimPrefix(top+"/", "./")
	s := g.repository(above)
	for {
		s = s.under(g.ignoreFile(above), len(above))
		name, rest, _ := strings.Cut(g.path[len(above):], "/")
		if rest == "" {
			return g, s
		}
		above += name + "/"
	}
}

func (g *ignoring) abs(path string) string { return filepath.Join(g.root, filepath.FromSlash(path)) }

// ignoreFile reads the .gitignore of a folder. git follows no link in its place.
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

// read returns a file of the workspace by its absolute name, nothing if it cannot
// be read.
func (g *ignoring) read(abs string) []byte {
	f, info, err := g.w.Open(abs)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRules+1))
	if err != nil || info.Size > maxRules || len(data) > maxRules {
		return nil
	}
	return data
}

// repository returns the rules of a repository that are not in a .gitignore: those
// of its .git/info/exclude and, where they are silent, the user's. An excludesFile
// of the repository's own settings counts only inside the workspace: they may come
// from anybody.
func (g *ignoring) repository(top string) *rules {
	dir := g.gitDir(g.abs(top))
	user := g.user
	if file, set := excludesFile(g.read, filepath.Join(dir, "config")); set {
		user = nil
		if file != "" {
			user = parseRules(g.read(g.w.Abs(g.abs(top), expand(file))))
		}
	}
	var s *rules
	if len(user) > 0 {
		s = newRules(nil, len(top), user)
	}
	return s.under(g.read(filepath.Join(dir, "info", "exclude")), len(top))
}

// gitDir returns where a repository keeps what all its working trees share. A .git
// that is a file leads there.
func (g *ignoring) gitDir(top string) string {
	dir := filepath.Join(top, ".git")
	if name, ok := strings.CutPrefix(string(g.read(dir)), "gitdir: "); ok {
		dir = g.w.Abs(top, strings.TrimRight(name, "\r\n"))
		if name = strings.TrimRight(string(g.read(filepath.Join(dir, "commondir"))), "\r\n"); name != "" {
			dir = g.w.Abs(dir, name)
		}
	}
	return dir
}

// userRules reads the file that the user's own settings of git name, or the one
// that git looks for where none does. Of the system's settings, those below
// XDG_CONFIG_HOME and ~/.gitconfig, the last that name one count; GIT_CONFIG_GLOBAL
// takes the place of the user's two.
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
		if name, set := excludesFile(readUser, settings); set {
			file = expand(name)
		}
	}
	return parseRules(readUser(file))
}

// expand puts the user's folder in the place of a ~ at the start.
func expand(name string) string {
	home, err := os.UserHomeDir()
	if rest, ok := strings.CutPrefix(name, "~/"); ok && err == nil {
		return filepath.Join(home, rest)
	}
	return name
}

// readUser reads a regular file of the user, nothing for none.
func readUser(name string) []byte {
	info, err := os.Stat(name)
	if err != nil || !filepath.IsAbs(name) || !info.Mode().IsRegular() || info.Size() > maxRules {
		return nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	return data
}
