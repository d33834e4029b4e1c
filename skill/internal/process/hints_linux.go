package process

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"textskill/skill/internal/words"
)

// maxHints is how many things an answer names that the fence took from a command.
const maxHints = 3

// A hinter finds what the fence took from a command that seems to have missed it. Nothing traces the
// failed calls of a program, so what it prints, and its command line, must name the thing. A hint is given
// only for what exists outside.
type hinter struct {
	x     *Runner
	dir   string // the command's
	home  string
	rules []fenceRule
	line  string // the command
	said  []string
	found []string
}

// hints returns at most three lines, each with a thing that the fence took from a command and what gives it.
func (x *Runner) hints(a Command, dir string, rules []fenceRule, e *Executed) []string {
	h := hinter{x: x, dir: dir, rules: rules, line: strings.Join(append([]string{a.Name}, a.Args...), " ")}
	h.home, _ = os.UserHomeDir()
	h.programs(e.Failed())
	streams := [][]byte{e.Stderr}
	if e.Failed() {
		streams = append(streams, e.Stdout, []byte(h.line))
	}
	for _, text := range streams {
		for line := range strings.Lines(string(text[max(0, len(text)-hintedOutput):])) {
			if e.Failed() || meetsError(line) {
				h.said = append(h.said, line)
			}
		}
	}
	h.git(e)
	h.keys()
	h.variables(a)
	h.ports()
	h.overlay()
	for _, line := range h.said {
		h.paths(line)
	}
	return h.found[:min(len(h.found), maxHints)]
}

func (h *hinter) add(format string, args ...any) {
	if line := fmt.Sprintf(format, args...); !slices.Contains(h.found, line) {
		h.found = append(h.found, line)
	}
}

// says returns the first line that has one of the words, in lower case; "" for none.
func (h *hinter) says(words ...string) string {
	for _, line := range h.said {
		if lower := strings.ToLower(line); hasAny(lower, words...) {
			return lower
		}
	}
	return ""
}

func hasAny(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}

// meetsError reports whether a line of a program that did not fail names an error of the system.
func meetsError(line string) bool {
	return hasAny(strings.ToLower(line), "no such file", "not found", "denied", "read-only", "eacces", "erofs", "enoent",
		"refused", "unable to", "cannot", "can't", "could not", "couldn't", "failed", "not permitted", "busy", "is not set")
}

// git tells of the settings of repositories.
func (h *hinter) git(e *Executed) {
	outside := sync.OnceValue(h.x.linkedGit)
	met := func(text []byte) bool { return metGuard(text, outside, e.Failed()) }
	if guarded := slices.ContainsFunc(h.rules, func(r fenceRule) bool { return r.fixed }); guarded &&
		(met(e.Stderr) || e.Failed() && met(e.Stdout)) {
		h.add("%s", guardNote)
	}
}

// keys tells of keys for signing, and of what they and displays are reached by.
func (h *hinter) keys() {
	if h.says("failed to sign", "no secret key", "signing failed", "couldn't load public key") != "" {
		h.add("the sandbox has no keys for signing: git -c commit.gpgsign=false commits without a signature, and --fence off with it")
	}
	for _, door := range []struct {
		name string
		says []string
	}{
		{"SSH_AUTH_SOCK", []string{"permission denied (publickey", "authentication agent", "host key verification failed"}},
		{"DISPLAY", []string{"cannot open display", "can't open display", "unable to open display", "missing x server or $display"}},
		{"WAYLAND_DISPLAY", []string{"wayland", "cannot open display", "can't open display", "unable to open display"}},
		{"DOCKER_HOST", []string{"docker daemon", "docker api"}},
		{"DBUS_SESSION_BUS_ADDRESS", []string{"failed to connect to bus", "session bus"}},
	} {
		if os.Getenv(door.name) != "" && h.x.keptFromCommands(door.name, os.Getenv(door.name)) && h.says(door.says...) != "" {
			h.add("the command did not get the variable %s: --pass-env %[1]s gives it", door.name)
		}
	}
}

// namePattern matches what may be the name of a variable.
var namePattern = words.Pattern(`[A-Za-z_][A-Za-z0-9_]+`)

// variables tells of those that were kept from the command, and that it names, or all if it only names what
// they hold.
func (h *hinter) variables(a Command) {
	named := map[string]bool{}
	for _, line := range h.said {
		for _, name := range namePattern().FindAllString(line, -1) {
			named[name] = true
		}
	}
	unnamed := h.says("api key", "api_key", "apikey", "credential", "unauthorized", "unauthenticated", "access token",
		"auth token", "environment variable") != ""
	const most = 5
	var list, all []string
	for _, set := range os.Environ() {
		name, value, _ := strings.Cut(set, "=")
		if !h.x.keptFromCommands(name, value) || variableIndex(a.Env, name) >= 0 || slices.Contains(doors, name) && !named[name] {
			continue
		}
		if all = append(all, name); named[name] {
			list = append(list, name)
		}
	}
	if len(list) == 0 && unnamed {
		list = all
	}
	if slices.Sort(list); len(list) > 0 {
		more := ""
		if len(list) > most {
			list, more = list[:most], " and more"
		}
		h.add("the command did not get %s%s, which may be credentials: --pass-env %s gives one", strings.Join(list, ", "), more, list[0])
	}
}

// overlay tells of what a view of the workspace, or a container, cannot do.
func (h *hinter) overlay() {
	var st unix.Statfs_t
	if h.says("cross-device link", "exdev", "value too large for defined data type", "eoverflow") != "" &&
		unix.Statfs(h.x.ws.Dir(), &st) == nil && st.Type == unix.OVERLAYFS_SUPER_MAGIC {
		h.add("the workspace is an overlay here: it renames no folder that was there before (EXDEV), " +
			"and changes no file of a foreign user (EOVERFLOW)")
	}
}

var numberPattern = words.Pattern(`\b[0-9]{2,5}\b`)

// ports tells of those at which this machine listens.
func (h *hinter) ports() {
	if h.x.cfg.Network {
		return
	}
	for _, line := range h.said {
		lower := strings.ToLower(line)
		if !hasAny(lower, "127.0.0.1", "localhost", "::1") || !hasAny(lower, "refused", "connect") {
			continue
		}
		for _, number := range numberPattern().FindAllString(line, -1) {
			if port, _ := strconv.Atoi(number); !slices.Contains(h.x.cfg.Local, port) && hears(port) {
				h.add("the localhost of commands is their own: --allow-local %d opens port %[1]d of this machine", port)
			}
		}
	}
}

// hears reports whether a program of this machine listens on a port.
func hears(port int) bool {
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, _ := os.ReadFile(table)
		for line := range bytes.Lines(text) {
			f := bytes.Fields(line)
			if len(f) > 3 && bytes.HasSuffix(f[1], fmt.Appendf(nil, ":%04X", port)) && string(f[3]) == "0A" {
				return true
			}
		}
	}
	return false
}

// settings are files of programs in the home folder. Those that say nothing without theirs are silent.
var settings = []struct {
	program string
	silent  bool
	files   []string
}{
	{"hg", true, []string{".hgrc", ".config/hg/hgrc"}},
	{"jj", true, []string{".jjconfig.toml", ".config/jj/config.toml"}},
	{"svn", false, []string{".subversion"}},
	{"npm", false, []string{".npmrc"}}, {"npx", false, []string{".npmrc"}}, {"pnpm", false, []string{".npmrc"}},
	{"yarn", false, []string{".yarnrc.yml", ".yarnrc", ".npmrc"}},
	{"pip", false, []string{".config/pip/pip.conf", ".pip/pip.conf", ".netrc"}},
	{"uv", false, []string{".config/uv/uv.toml", ".netrc"}}, {"twine", false, []string{".pypirc"}},
	{"psql", false, []string{".pgpass", ".pg_service.conf"}}, {"mysql", false, []string{".my.cnf"}},
	{"aws", false, []string{".aws"}}, {"kubectl", false, []string{".kube/config"}}, {"helm", false, []string{".kube/config"}},
	{"gcloud", false, []string{".config/gcloud"}}, {"gh", false, []string{".config/gh"}},
	{"docker", false, []string{".docker/config.json"}}, {"terraform", false, []string{".terraformrc", ".terraform.d"}},
	{"ssh", false, []string{".ssh"}}, {"scp", false, []string{".ssh"}}, {"rsync", false, []string{".ssh"}},
	{"cargo", false, []string{".cargo/config.toml", ".cargo/credentials.toml"}},
	{"mvn", false, []string{".m2/settings.xml"}}, {"gradle", false, []string{".gradle/gradle.properties"}},
	{"gem", false, []string{".gemrc"}}, {"bundle", false, []string{".bundle/config"}},
	{"curl", false, []string{".curlrc", ".netrc"}}, {"wget", false, []string{".wgetrc", ".netrc"}},
}

// programs tells of the settings of programs that the command starts.
func (h *hinter) programs(failed bool) {
	started := strings.FieldsFunc(h.line, func(r rune) bool { return strings.ContainsRune(" \t\n;|&()`'\"", r) })
	for i := range started {
		started[i] = filepath.Base(started[i])
	}
	for _, s := range settings {
		if !failed && !s.silent || !slices.Contains(started, s.program) {
			continue
		}
		for _, file := range s.files {
			if path := filepath.Join(h.home, file); exists(path) && !h.allows(path, false) {
				h.add("%s did not find %s, which the sandbox hides: --fence-read %[2]s shows it", s.program, h.short(path))
			}
		}
	}
}

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }

// pathPattern matches a path in a line, also in quotes, and what is before it.
var pathPattern = words.Pattern("(?:^|[\\s'\"‘“`=:(,<>@])((?:~|\\.\\.?)?/[^\\s'\"‘’“”`:;,()<>|&*?\\[\\]{}$]+)")

// paths tells of the paths in a line that the fence hides or does not let commands write.
func (h *hinter) paths(line string) {
	printed := !strings.Contains(h.line, strings.TrimSuffix(line, "\n")) // or else it is the command itself
	writes := printed && hasAny(strings.ToLower(line), "read-only", "erofs", "create", "touch", "mkdir", "make directory", "writ",
		"denied", "eacces", "not permitted", "remove", "move", "install")
	for _, match := range pathPattern().FindAllStringSubmatch(line, -1) {
		path := strings.TrimRight(match[1], ".")
		if rest, ok := strings.CutPrefix(path, "~/"); ok {
			path = filepath.Join(h.home, rest)
		} else if !filepath.IsAbs(path) {
			path = filepath.Join(h.dir, path)
		}
		h.path(filepath.Clean(path), writes)
	}
}

func (h *hinter) path(path string, writes bool) {
	at := path // or the folder that it would be made in
	for !exists(at) {
		at = filepath.Dir(at)
	}
	if at == "/" || hasAny(at+"/", "/proc/", "/sys/", "/dev/pts/", "/dev/ptmx/") || h.allows(at, true) || slices.Contains(h.rooms(), at) && at == path {
		return
	}
	real, err := filepath.EvalSymlinks(at)
	if err != nil || h.allows(real, true) {
		return
	}
	shared := h.x.linkedGit()
	top := repositoryAbove(h.x.ws.Dir())
	if Contains(h.x.ws.Dir(), top) || Contains(top, h.home) || !Contains(top, at) {
		top = "" // or it holds more than the workspace's repository
	}
	switch readable := h.allows(at, false) || h.allows(real, false); {
	case at == path && !readable && unix.Access(at, unix.R_OK) == nil:
		info, err := os.Stat(at)
		switch {
		case top != "":
			h.add("the sandbox hides %s: --allow %s opens all of the repository", h.short(at), h.short(top))
		case err == nil && info.Mode().Type() == fs.ModeSocket:
			h.add("commands connect to no socket such as %s: --fence-read %[1]s lets them", h.short(at))
		case err == nil && info.Mode()&fs.ModeDevice != 0:
			h.add("commands do not use %s: --fence-write %[1]s lets them", h.short(at))
		default:
			h.add("the sandbox hides %s: --fence-read %[1]s shows it", h.short(at))
		}
	case !writes || unix.Access(at, unix.W_OK) != nil:
	case shared != "" && Contains(shared, at):
		h.add("commands do not write %s, which holds the repository of the workspace: --allow %[1]s lets them, and records files only", h.short(shared))
	case top != "":
		h.add("commands do not write %s: --allow %s lets them write all of the repository", h.short(path), h.short(top))
	case at == h.home:
		h.add("commands do not write your home folder: HOME=$TMPDIR gives them one of their own")
	case !slices.Contains(h.rooms(), at):
		h.add("commands do not write %s: --fence-write %s lets them", h.short(path), h.short(at))
	}
}

// rooms returns folders that nobody opens to commands: they hold the home folder.
func (h *hinter) rooms() []string {
	return []string{"/", filepath.Dir(h.home), h.home, "/etc", "/usr", "/tmp"}
}

// allows reports whether commands may read a path, or write it.
func (h *hinter) allows(path string, write bool) bool {
	return slices.ContainsFunc(h.rules, func(r fenceRule) bool {
		return !r.shown && (r.write || !write) && (Contains(r.path, path) || r.name != "" && Contains(r.name, path))
	})
}

// repositoryAbove returns the folder of the repository that a folder is in; "/" for none.
func repositoryAbove(dir string) string {
	for dir != "/" && !exists(filepath.Join(dir, ".git")) {
		dir = filepath.Dir(dir)
	}
	return dir
}

// short returns a path as a person types it.
func (h *hinter) short(path string) string {
	if rest, ok := strings.CutPrefix(path, h.home+"/"); ok && len(h.home) > 1 && !strings.ContainsAny(rest, " '\"\\$`") {
		return "~/" + rest
	}
	return path
}
