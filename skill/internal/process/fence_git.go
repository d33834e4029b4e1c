package process

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"textskill/skill/internal/history"
	"textskill/skill/internal/refusal"
	"textskill/skill/internal/search"
	"textskill/skill/internal/words"
	"textskill/skill/internal/workspace"
	"textskill/skill/internal/workspace/tree"
)

// The parts of .git and .hg by which git and Mercurial start programs or read another repository.
//
//  1. A part that exists is a mount of its own in the [view] of a command, and so is each folder above it
//     up to .git. The kernel refuses to change, rename or remove a mount.
//  2. A mount needs a file below it. For a part that does not exist the helper makes a stub, which means
//     to git the same as no file. A stub exists only while a command or a server runs.
//  3. The contents of a stub prove that it is a stub: see [stub]. So the next command removes a stub whose
//     helper was killed, and nobody removes a file of a person.
//  4. All helpers with a stub in a folder hold a shared lock on that folder. A helper removes its stubs only
//     with an exclusive lock: to remove a file takes away the mounts on it.
//  5. Below the top of the workspace, the folders that hold a .git are no mounts: else nothing could be
//     renamed into them or out of them. So a command can put a repository of its own in place of another.
//  6. A repository that the command itself makes has no mounts. [Runner.gitPrograms] names its settings.

// A gitPart is a file or folder in a folder of git.
type gitPart struct {
	name  string
	write bool // a folder in which commands write, but which they cannot replace
	stub  stub // stands for it if it does not exist; the zero stub for none
}

// gitParts are the parts of .git, and of the same folder of a submodule. Each folder stands before what it
// holds.
var gitParts = []gitPart{
	{"", true, noStub}, {"config", false, textStub}, {"config.worktree", false, textStub},
	{"hooks", false, folderStub}, {"commondir", false, commonStub},
	{"info", true, folderStub}, {"info/attributes", false, textStub},
	{"objects", true, noStub}, {"objects/info", true, folderStub},
	{"objects/info/alternates", false, textStub},
}

// worktreeParts are the parts of the folder of a linked worktree.
var worktreeParts = []gitPart{
	{"", true, noStub}, {"commondir", false, noStub}, {"gitdir", false, noStub},
	{"config.worktree", false, textStub},
}

// hgParts are the parts of .hg. The file requires says whether Mercurial follows sharedpath.
var hgParts = []gitPart{
	{"", true, noStub}, {"requires", false, noStub}, {"hgrc", false, textStub},
	{"hgrc-not-shared", false, textStub}, {"sharedpath", false, commonStub},
}

// maxGitFolders is how many folders of submodules and worktrees a workspace may have.
const maxGitFolders = 2000

// guardGit adds the rules by which a [view] keeps a command from the parts of .git, unless the user allows
// changes of them. It guards the repository at the top of each folder of the workspace, and the repositories
// to which paths belong: see [Runner.gitPaths].
func (f *fence) guardGit(x *Runner, paths []string) {
	if f.possible {
		f.rules = append(f.rules, x.gitRules(paths)...)
	}
}

func (x *Runner) gitRules(paths []string) (list []fenceRule) {
	if x.ws.Options().AllowConfig {
		return nil
	}
	for _, r := range x.ws.Roots() {
		dir, err := os.OpenRoot(r.Dir)
		if err != nil {
			continue
		}
		g := gitRuleList{root: r.Dir, dir: dir, list: list, has: map[string]bool{}}
		g.of(".git")
		g.of(".hg")
		g.userIncludes()
		for _, path := range paths {
			if name, inside := strings.CutPrefix(path, r.Dir+"/"); inside && g.folders < maxGitFolders {
				g.of(name)
			}
		}
		list = g.list
		dir.Close()
	}
	return list
}

// gitPaths returns the paths of all files and folders with the names .git, .hg and HEAD, for [fence.guardGit].
// It is for programs before which nothing else looks at the workspace.
func (x *Runner) gitPaths(ctx context.Context) (paths []string) {
	if x.ws.Options().AllowConfig || x.cfg.Fence == FenceOff || !canSupervise {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, gitPathsTimeout)
	defer cancel()
	l := gitPathList{ws: x.ws}
	l.walk(ctx, x.ws.Dir(), search.WalkOptions{Git: true, Ignore: true, Marked: true})
	for _, dir := range l.ignored {
		l.walk(ctx, dir, search.WalkOptions{Git: true})
	}
	slices.Sort(l.paths)
	return l.paths
}

// gitPathList is what [Runner.gitPaths] has found.
type gitPathList struct {
	ws      *workspace.Workspace
	mu      sync.Mutex // of the fields below
	paths   []string
	ignored []string // folders that git ignores
	count   int
}

func (l *gitPathList) walk(ctx context.Context, dir string, o search.WalkOptions) {
	search.Walk(ctx, l.ws, dir, o, func(_ int, e *search.Entry) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		name, path := string(e.Name), filepath.Join(dir, e.Path())
		if history.IsOfRepository(name) {
			l.paths = append(l.paths, path)
		}
		l.count++
		switch {
		case l.count > workspace.MaxVisited:
			return fs.SkipAll
		case name == ".git" || (e.Ignored || !o.Ignore) && history.IsRebuilt(name):
			return fs.SkipDir
		case e.Ignored && e.Type.IsDir():
			l.ignored = append(l.ignored, path)
		}
		return nil
	})
}

// gitPathsTimeout is the longest time that gitPaths takes.
const gitPathsTimeout = 2 * time.Second

// guardNote says why a command that met the mounts of a guard failed.
const guardNote = "changing, moving or removing .git or .hg of a repository that was there before can make other programs run code; --allow-config allows it"

// repositoryPattern matches the name of a repository's folder, and not .gitconfig.
var repositoryPattern = words.Pattern(`\.(git|hg)($|[^a-z0-9_.-])`)

// metGuard reports whether a program has printed an error of the system at the mounts of a guard. outside returns a
// folder of git without one, "" for none.
func metGuard(text []byte, outside func() string, failed bool) bool {
	const last = 64 << 10
	for line := range bytes.Lines(bytes.ToLower(text[max(0, len(text)-last):])) {
		has := func(words string) bool { return bytes.Contains(line, []byte(words)) }
		busy := has("device or resource busy") || has("ebusy")
		if met := failed && busy || repositoryPattern().Match(line) && (busy || has("read-only file system") || has("erofs") ||
			has("cross-device link") || has("inter-device move") || has("exdev")); !met {
			continue
		}
		if folder := outside(); folder == "" || !has(strings.ToLower(folder)) {
			return true
		}
	}
	return false
}

// gitRuleList collects the rules of one folder of the workspace.
type gitRuleList struct {
	root    string
	dir     *os.Root
	list    []fenceRule
	has     map[string]bool // the names in list
	folders int
}

// of adds the rules of the repository that a name .git, .hg or HEAD belongs to.
func (g *gitRuleList) of(name string) {
	switch info, err := g.dir.Lstat(name); {
	case err != nil:
	case filepath.Base(name) == ".hg":
		g.mercurial(name, info)
	case filepath.Base(name) == "HEAD":
		if folder := filepath.Dir(name); g.isFolder(folder+"/objects") && g.isFolder(folder+"/refs") {
			g.repository(folder)
		}
	case info.IsDir():
		g.repository(name)
	case info.Mode()&fs.ModeSymlink != 0:
		g.add(name, gitPart{})
		if path, err := filepath.EvalSymlinks(filepath.Join(g.root, name)); err == nil {
			g.elsewhere(path)
		}
	default:
		g.add(name, gitPart{})
		_, path, _ := strings.Cut(g.firstLine(name), "gitdir: ")
		g.elsewhere(g.from(filepath.Dir(name), path))
	}
}

// mercurial adds the rules of a folder .hg, or of a link to it.
func (g *gitRuleList) mercurial(at string, info fs.FileInfo) {
	if info.Mode()&fs.ModeSymlink != 0 {
		g.add(at, gitPart{})
		path, err := filepath.EvalSymlinks(filepath.Join(g.root, at))
		rest, inside := strings.CutPrefix(path, g.root+"/")
		if err != nil || !inside || !g.isFolder(rest) {
			return
		}
		at = rest
	}
	g.folders++
	g.folder(at, hgParts)
	for _, name := range []string{"hgrc", "hgrc-not-shared"} {
		g.includes(filepath.Join(g.root, at, name), 0)
	}
}

// from returns the path that a file of git in a folder names.
func (g *gitRuleList) from(folder, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(g.root, folder, path)
}

func (g *gitRuleList) isFolder(name string) bool {
	info, err := g.dir.Lstat(name)
	return err == nil && info.IsDir()
}

// elsewhere adds the rules of a folder of git that a file or link names, if that is in the workspace.
func (g *gitRuleList) elsewhere(path string) {
	rest, inside := strings.CutPrefix(path, g.root+"/")
	if inside = inside && !g.has[rest+"/commondir"] && g.isFolder(rest); !inside {
		return
	}
	for i, c := range rest {
		if inside && c == '/' {
			inside = g.add(rest[:i], gitPart{write: true})
		}
	}
	common := g.firstLine(rest + "/commondir")
	switch {
	case !inside:
	case common == "" || common == strings.TrimSpace(history.StubCommon):
		g.repository(rest)
	default: // of a linked worktree
		g.folder(rest, worktreeParts)
		g.elsewhere(g.from(rest, common))
	}
}

// repository adds the rules of a folder of git and of all folders of git in it.
func (g *gitRuleList) repository(at string) {
	if g.folders++; g.has[at+"/commondir"] { // another path has led to it
		return
	}
	g.folder(at, gitParts)
	g.includes(filepath.Join(g.root, at, "config"), 0)
	g.includes(filepath.Join(g.root, at, "config.worktree"), 0)
	if g.add(at+"/worktrees", gitPart{write: true}) {
		for _, name := range g.folderNames(at + "/worktrees") {
			g.folder(at+"/worktrees/"+name, worktreeParts)
			g.includes(filepath.Join(g.root, at, "worktrees", name, "config.worktree"), 0)
			g.checkout(g.firstLine(at + "/worktrees/" + name + "/gitdir"))
		}
	}
	g.modules(at + "/modules")
}

// maxIncludes is how deep git follows files of settings that include others.
const maxIncludes = 10

// includes adds the rules of the files in the workspace that a file of settings includes. A command can rename the
// folder that holds such a file, as it can with a repository: see [Runner.gitPrograms].
func (g *gitRuleList) includes(settings string, depth int) {
	for _, path := range includedBy(settings) {
		real, err := filepath.EvalSymlinks(path)
		if info, ierr := os.Stat(real); err != nil || ierr != nil || !info.Mode().IsRegular() {
			continue
		}
		for _, path := range []string{path, real} {
			if name, inside := strings.CutPrefix(path, g.root+"/"); inside {
				g.add(name, gitPart{})
			}
		}
		if depth < maxIncludes {
			g.includes(real, depth+1)
		}
	}
}

// userIncludes adds the rules of the files in the workspace that the user's settings include.
func (g *gitRuleList) userIncludes() {
	for _, path := range append(userSettings(), userHgSettings()...) {
		g.includes(path, 0)
	}
}

// userSettings returns the files with the user's and the system's settings of git.
func userSettings() (list []string) {
	home, _ := os.UserHomeDir()
	system := cmp.Or(os.Getenv("GIT_CONFIG_SYSTEM"), "/etc/gitconfig")
	if path := os.Getenv("GIT_CONFIG_GLOBAL"); path != "" {
		return []string{system, path}
	}
	return []string{system, filepath.Join(home, ".gitconfig"),
		filepath.Join(cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "git", "config")}
}

// userHgSettings returns the files with the user's settings of Mercurial.
func userHgSettings() []string {
	if path, set := os.LookupEnv("HGRCPATH"); set {
		return filepath.SplitList(path)
	}
	home, _ := os.UserHomeDir()
	return []string{filepath.Join(home, ".hgrc"),
		filepath.Join(cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "hg", "hgrc")}
}

// includedBy returns the files that a file of settings of Git or Mercurial includes, under whatever condition.
func includedBy(file string) (paths []string) {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxGitConfig {
		return nil
	}
	text, _ := os.ReadFile(file)
	add := func(path string) {
		if path = expanded(path); path != "" && !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(file), path)
		}
		if path != "" {
			paths = append(paths, filepath.Clean(path))
		}
	}
	if bytes.Contains(bytes.ToLower(text), []byte("[include")) {
		for key, value := range search.Settings(string(text)) {
			if key = strings.ToLower(key); key == "include.path" || isKey("includeif.*.path", key) {
				add(value)
			}
		}
	}
	for line := range strings.Lines(string(text)) {
		if path, of := strings.CutPrefix(line, hgInclude); of {
			add(os.ExpandEnv(strings.TrimSpace(path)))
		}
	}
	return paths
}

// hgInclude begins a line that includes a file in settings of Mercurial.
const hgInclude = "%include"

// expanded returns a path of settings with the home folder of a user in place of ~ or ~USER at its begin, and with
// the folder that git is installed in.
func expanded(path string) string {
	first, rest, _ := strings.Cut(path, "/")
	switch name, tilde := strings.CutPrefix(first, "~"); {
	case first == "%(prefix)":
		git, err := exec.LookPath("git")
		if err != nil {
			return ""
		}
		return filepath.Join(filepath.Dir(filepath.Dir(git)), rest)
	case !tilde:
		return path
	case name == "":
		home, _ := os.UserHomeDir()
		return filepath.Join(home, rest)
	default:
		u, err := user.Lookup(name)
		if err != nil {
			return path
		}
		return filepath.Join(u.HomeDir, rest)
	}
}

// modules adds the rules of the submodules below a folder. The name of a submodule may hold slashes.
func (g *gitRuleList) modules(at string) {
	if !g.add(at, gitPart{write: true}) {
		return
	}
	for _, name := range g.folderNames(at) {
		name = at + "/" + name
		if _, err := g.dir.Lstat(name + "/HEAD"); err != nil {
			g.modules(name)
			continue
		}
		g.repository(name)
		if path := g.workTree(name); path != "" {
			g.checkout(filepath.Join(path, ".git"))
		}
	}
}

// checkout adds the rule of the file .git of a worktree or submodule in the workspace.
func (g *gitRuleList) checkout(path string) {
	if rest, inside := strings.CutPrefix(path, g.root+"/"); inside && filepath.Base(rest) == ".git" {
		if info, err := g.dir.Lstat(rest); err == nil && !info.IsDir() {
			g.add(rest, gitPart{})
		}
	}
}

// workTree returns the folder that the settings of a submodule name, "" for none.
func (g *gitRuleList) workTree(at string) string {
	text, _ := g.dir.ReadFile(at + "/config")
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, "=")
		if strings.EqualFold(strings.TrimSpace(name), "worktree") {
			value = strings.Trim(strings.TrimSpace(value), `"`)
			return g.from(at, value)
		}
	}
	return ""
}

func (g *gitRuleList) firstLine(name string) string {
	text, _ := g.dir.ReadFile(name)
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

func (g *gitRuleList) folderNames(at string) (names []string) {
	dir, err := g.dir.Open(at)
	if err != nil {
		return nil
	}
	defer dir.Close()
	entries, _ := dir.ReadDir(-1)
	for _, e := range entries {
		if e.IsDir() && g.folders < maxGitFolders {
			names = append(names, e.Name())
			g.folders++
		}
	}
	return names
}

// folder adds the rules of parts of a folder.
func (g *gitRuleList) folder(at string, parts []gitPart) {
	dir, err := g.dir.OpenRoot(at)
	if err != nil {
		return
	}
	defer dir.Close()
	above := map[string]bool{".": true}
	for _, part := range parts {
		name := filepath.Join(at, part.name)
		info, err := dir.Lstat(filepath.Join(".", part.name))
		rule := fenceRule{path: filepath.Join(g.root, name), write: part.write, shown: true, fixed: true}
		switch {
		case err == nil && !part.stub.is(dir, part.name, info):
			rule.id = tree.InfoOf(info).ID
		case (err == nil || errors.Is(err, fs.ErrNotExist)) && part.stub != noStub && above[filepath.Dir(part.name)]:
			rule.stub = part.stub
		default:
			continue
		}
		above[part.name] = true
		if !g.has[name] {
			g.has[name] = true
			g.list = append(g.list, rule)
		}
	}
}

// add adds the rule of a file or folder if that exists.
func (g *gitRuleList) add(name string, part gitPart) bool {
	info, err := g.dir.Lstat(name)
	if err == nil && part.write && !info.IsDir() {
		return false
	}
	if err == nil && !g.has[name] {
		g.has[name] = true
		g.list = append(g.list, fenceRule{path: filepath.Join(g.root, name), write: part.write, shown: true,
			fixed: true, id: tree.InfoOf(info).ID})
	}
	return err == nil
}

// A stub stands for a part of .git that does not exist.
type stub byte

// The stubs.
const (
	noStub     stub = iota
	textStub        // a file with a comment, which git skips
	commonStub      // a commondir that names the folder of git itself
	folderStub      // a folder with the file stubMark, which is a textStub
)

const stubMark = history.StubMark

var stubTexts = map[stub][]byte{
	textStub:   []byte(history.StubText),
	commonStub: []byte(history.StubCommon),
}

// is reports whether the file of a name and an info is a stub.
func (s stub) is(dir *os.Root, name string, info fs.FileInfo) bool {
	if s == folderStub {
		name += "/" + stubMark
		mark, err := dir.Lstat(name)
		return info.IsDir() && err == nil && textStub.is(dir, name, mark)
	}
	if !info.Mode().IsRegular() || info.Size() != int64(len(stubTexts[s])) || s == noStub {
		return false
	}
	text, err := dir.ReadFile(name)
	return err == nil && bytes.Equal(text, stubTexts[s])
}

// programKeys are the settings by which git starts a program or reads settings of another file, in lower
// case. An asterisk stands for any name in the middle.
var programKeys = []string{
	"alias.*", "browser.*.cmd", "browser.*.path", "core.alternaterefscommand", "core.askpass",
	"core.attributesfile", "core.editor", "core.fsmonitor", "core.gitproxy", "core.hookspath", "core.pager",
	"core.sshcommand", "credential.helper", "credential.*.helper", "diff.external", "diff.*.command",
	"diff.*.textconv", "difftool.*.cmd", "difftool.*.path", "filter.*.clean",
	"filter.*.process", "filter.*.smudge", "gc.recentobjectshook", "gpg.program", "gpg.*.program",
	"gpg.ssh.defaultkeycommand", "guitool.*.cmd", "hook.*.command", "imap.tunnel", "include.path",
	"includeif.*.path", "init.templatedir", "instaweb.browser", "instaweb.httpd", "interactive.difffilter",
	"lfs.customtransfer.*.path", "lfs.extension.*.clean", "lfs.extension.*.smudge", "man.*.cmd", "man.*.path",
	"merge.*.driver", "mergetool.*.cmd", "mergetool.*.path", "pager.*", "protocol.allow", "protocol.*.allow",
	"remote.*.proxy", "remote.*.receivepack", "remote.*.uploadpack", "remote.*.vcs", "sendemail.*cmd",
	"sendemail.*smtpserver", "sequence.editor", "submodule.*.update", "tar.*.command", "trailer.*.cmd",
	"trailer.*.command", "uploadpack.packobjectshook", "url.*.insteadof", "url.*.pushinsteadof", "web.browser",
}

// gitPrograms returns which of the changed paths have git start programs, or write outside the workspace. These are
// hooks, links, and settings, each with the name of its key, also in included files.
func (x *Runner) gitPrograms(changed []string, included map[string]bool) (named []string) {
	for _, path := range changed {
		folder, base := filepath.Split(path)
		info, err := x.ws.Stat(path, false)
		settings := base == "config" || base == "config.worktree"
		byHg, isIncluded := included[path]
		hg := byHg || history.HgRunsCode(path)
		switch {
		case err != nil || info.IsDir():
		case info.IsLink() && x.leadsOut(path):
			named = append(named, path+" (a link that leads out)")
		case isIncluded, settings && x.isRepository(folder), hg && base != "sharedpath":
			text, err := x.ws.ReadUpTo(path, maxGitConfig)
			if err != nil { // it is too large
				named = append(named, path)
			}
			keys := programsOf
			if hg {
				keys = hgProgramsOf
			}
			for _, key := range keys(text) {
				named = append(named, path+": "+key)
			}
		case settings || strings.HasSuffix(base, ".sample"):
		case hg, history.GitRunsCode(path), filepath.Base(folder) == "hooks" && x.isRepository(filepath.Join(folder, "..")):
			named = append(named, path)
		}
	}
	return named
}

func (x *Runner) leadsOut(path string) bool {
	_, err := x.ws.Stat(path, true)
	_, refused := errors.AsType[*refusal.RefusedError](err)
	return refused
}

// isRepository reports whether git reads the settings in a folder: that of a repository or of a linked worktree.
func (x *Runner) isRepository(folder string) bool {
	return slices.ContainsFunc([]string{"HEAD", "objects"}, func(name string) bool {
		_, err := x.ws.Stat(filepath.Join(folder, name), false)
		return err == nil
	})
}

// gitIncluded returns the included files of the user's settings and of the repositories at the tops. The value is
// true for settings of Mercurial.
func (x *Runner) gitIncluded() map[string]bool {
	included := map[string]bool{}
	git, hg := userSettings(), userHgSettings()
	for _, r := range x.ws.Roots() {
		git, hg = append(git, filepath.Join(r.Dir, ".git", "config")), append(hg, filepath.Join(r.Dir, ".hg", "hgrc"))
	}
	for byHg, files := range map[bool][]string{false: git, true: hg} {
		for n := 0; n < len(files) && n < maxGitFolders; n++ {
			for _, path := range includedBy(files[n]) {
				if _, known := included[path]; !known {
					included[path] = byHg
					files = append(files, path)
				}
			}
		}
	}
	return included
}

// maxGitConfig is how many bytes of settings are read.
const maxGitConfig = 1 << 20

// programsOf returns the keys in a text of settings by which git starts programs.
func programsOf(text []byte) (keys []string) {
	for key, value := range search.Settings(string(text)) {
		lower := strings.ToLower(key)
		shell := strings.HasPrefix(lower, "alias.") || isKey("submodule.*.update", lower)
		if slices.ContainsFunc(programKeys, func(k string) bool { return isKey(k, lower) }) &&
			(!shell || strings.Contains(value, "!")) {
			keys = append(keys, key)
		}
	}
	return keys
}

// hgProgramsOf returns the keys in a text of settings of Mercurial, but for those that start no programs.
func hgProgramsOf(text []byte) (keys []string) {
	section := ""
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		name, _, set := strings.Cut(line, "=")
		key := section + "." + strings.TrimSpace(name)
		switch {
		case line[0] == '[':
			section, _, _ = strings.Cut(line[1:], "]")
		case strings.HasPrefix(line, hgInclude):
			keys = append(keys, hgInclude)
		case set && strings.IndexByte(" \t#;", line[0]) < 0 && section != "paths" && key != "ui.username":
			keys = append(keys, key)
		}
	}
	return keys
}

func isKey(pattern, key string) bool {
	first, last, any := strings.Cut(pattern, "*")
	return pattern == key || any && len(key) > len(first)+len(last) && strings.HasPrefix(key, first) &&
		strings.HasSuffix(key, last)
}
