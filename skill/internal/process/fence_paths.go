package process

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"textskill/skill/internal/history"
)

// systemReads lists the system's files and directories that commands may read. Of /etc
// it lists single entries, because /etc also holds passwords and keys.
var systemReads = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/snap", "/nix/store",
	"/gnu/store", "/proc",
	"/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/fs/cgroup",
	"/sys/kernel/mm/transparent_hugepage",

	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives",
	"/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/host.conf", "/etc/hostname",
	"/etc/resolv.conf",
	"/etc/gai.conf", "/etc/services", "/etc/protocols", "/etc/localtime", "/etc/timezone", "/etc/locale.conf",
	"/etc/locale.alias",
	"/etc/os-release", "/etc/lsb-release", "/etc/debian_version", "/etc/alpine-release", "/etc/mime.types",
	"/etc/magic",
	"/etc/profile", "/etc/profile.d", "/etc/bash.bashrc", "/etc/inputrc", "/etc/terminfo", "/etc/gitconfig",
	"/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs",
	"/etc/pki/tls/openssl.cnf", "/etc/pki/ca-trust",
	"/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/crypto-policies", "/etc/fonts", "/etc/perl",
	"/etc/python3",
	"/etc/wgetrc", "/etc/manpath.config", "/etc/papersize", "/etc/mailname",
	"/etc/ImageMagick-6", "/etc/ImageMagick-7",
	"/etc/maven", "/etc/gradle", "/etc/R", "/etc/php", "/etc/lua",
	"/etc/npmrc", "/etc/vim", "/etc/emacs", "/etc/nanorc", "/etc/apt/apt.conf.d", "/etc/apt/preferences.d",
	"/etc/apt/sources.list", "/etc/apt/sources.list.d", "/etc/dpkg", "/var/lib/dpkg", "/etc/subversion", "/etc/skel",
}

// devices lists the files of /dev that commands may read and write.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// sharedMemory is the directory in which commands make shared memory.
var sharedMemory = []string{"/dev/shm"}

// lookups lists the sockets by which the system's library finds users and hosts, which
// commands may use although no other socket of a service.
var lookups = []struct {
	path    string
	network bool // asked for the address of a host, the service would ask another machine
}{
	{"/var/lib/sss/pipes/nss", false},
	{"/run/nslcd/socket", false},
	{"/run/samba/winbindd/pipe", false},
	{"/run/systemd/userdb/io.systemd.DynamicUser", false},
	{"/run/systemd/userdb/io.systemd.Home", false},
	{"/run/systemd/userdb/io.systemd.Multiplexer", false},
	{"/run/systemd/userdb/io.systemd.NameServiceSwitch", false},
	{"/run/nscd/socket", true},
	{"/run/systemd/resolve/io.systemd.Resolve", true},
	{"/run/avahi-daemon/socket", true},
}

// homeReads lists what commands may read in the home directory: toolchains, and
// settings without credentials.
var homeReads = []string{
	".config/git/ignore", ".config/git/attributes", ".config/go/env",
	".local/bin", ".local/lib", ".local/pipx", ".local/share/pipx", ".local/share/uv/python",
	".local/share/uv/tools", ".local/share/mise", ".local/share/pnpm",
	".local/share/virtualenv", ".local/share/fnm", ".local/share/jupyter/kernels", ".virtualenvs",
	".pyenv", ".asdf", ".nvm", ".volta", ".nodenv", ".rbenv", ".jenv", ".goenv", ".sdkman/candidates",
	".rustup", ".deno/bin", ".bun/bin", ".bun/install",
	".cargo/bin", ".cargo/env", ".cargo/registry", ".cargo/git", ".m2/repository", ".gradle/caches",
	".nuget/packages",
	".dotnet/dotnet", ".dotnet/host", ".dotnet/packs", ".dotnet/sdk", ".dotnet/sdk-manifests",
	".dotnet/shared", ".dotnet/templates", ".dotnet/tools", ".gem/ruby", ".linuxbrew",
	"go/bin", "go/pkg", "sdk", "miniconda3", "anaconda3", "miniforge3", ".cache/ms-playwright",
	".cache/puppeteer", ".cache/electron",
}

// programReads lists what the programs that this one starts for itself read in addition:
// the settings of browsers.
var programReads = []string{"/etc/chromium", "/etc/chromium.d", "/etc/chromium-browser", "/etc/opt/chrome"}

// sharedDirs lists the directories in the home directory that hold credentials beside
// toolchains: that their bin is in PATH does not make them readable.
var sharedDirs = []string{".local", ".cargo", ".config", ".docker", ".deno", ".bun", ".dotnet", "go"}

// findFenceRules returns the rules for all commands of this Runner: all but the one for
// temporary files. They depend on the configuration, never on the arguments of a call.
func (x *Runner) findFenceRules() []fenceRule {
	list := x.rootRules(true)
	if dir, err := x.ws.State(history.Output); err == nil { // made now, because all commands have these rules
		dir.Close()
		list.add(x.ws.OutputDir(), false)
	}
	home, _ := os.UserHomeDir()
	for _, path := range slices.Concat(devices, sharedMemory, x.cfg.FenceWrite,
		[]string{x.cacheDir(), x.goCache()}) {
		list.add(path, true)
	}
	for _, path := range slices.Concat(systemReads, javaSettings(), lookupPaths(x.cfg.Network),
		x.passedSockets(), x.cfg.FenceRead, x.pathReads(home),
		[]string{x.cfg.Helper, os.Getenv("GOROOT"), os.Getenv("GOMODCACHE"), x.linkedGit()}) {
		list.add(path, false)
	}
	if filepath.IsAbs(home) {
		for _, path := range homeReads {
			list.add(filepath.Join(home, path), false)
		}
	}
	return slices.Clip(append(list, x.cfg.named...))
}

// javaSettings returns the directories of the settings of Java, without which it does not start.
func javaSettings() []string {
	list, _ := filepath.Glob("/etc/java*")
	return list
}

// findProgramRules returns the rules for all programs that this one starts for itself.
func (x *Runner) findProgramRules() []fenceRule {
	var list ruleList
	for _, path := range devices {
		list.add(path, true)
	}
	home, _ := os.UserHomeDir()
	for _, path := range slices.Concat(systemReads, programReads, lookupPaths(false), x.cfg.FenceRead,
		x.pathReads(home), []string{x.cfg.Helper}) {
		if !x.commandsWrite(path) { // a command could have made it a link
			list.add(path, false)
		}
	}
	return slices.Clip(append(list, x.cfg.named...))
}

// lookupPaths returns the sockets of lookups that are for all programs, and with network
// the others.
func lookupPaths(network bool) (paths []string) {
	for _, l := range lookups {
		if network || !l.network {
			paths = append(paths, l.path)
		}
	}
	return paths
}

// passedSockets returns the sockets to which variables of Config.PassEnv lead: an agent's,
// a bus's, a display's.
func (x *Runner) passedSockets() (paths []string) {
	for _, name := range x.cfg.PassEnv {
		value := os.Getenv(name)
		switch number, _, _ := strings.Cut(strings.TrimPrefix(value, ":"), "."); {
		case strings.EqualFold(name, "DISPLAY") && strings.HasPrefix(value, ":"):
			value = "/tmp/.X11-unix/X" + number
		case strings.EqualFold(name, "WAYLAND_DISPLAY") && !strings.Contains(value, "/"):
			value = filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), value)
		}
		// as in DBUS_SESSION_BUS_ADDRESS and TMUX
		for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ',' || r == ';' }) {
			_, path, ok := strings.Cut(part, "/")
			path = filepath.Clean("/" + path)
			if info, err := os.Stat(path); ok && err == nil && info.Mode().Type() == os.ModeSocket {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// linkedGit returns the folder of git outside that belongs to the workspace, a linked worktree or a submodule:
// its file .git names that folder, which names the workspace. A file .git of a command leads to no other folder. ""
// means none.
func (x *Runner) linkedGit() string {
	file := filepath.Join(x.ws.Dir(), ".git")
	// line returns the path after a prefix in a file of git, which may be relative to a folder
	line := func(name, prefix, folder string) string {
		info, err := os.Lstat(name)
		if err != nil || !info.Mode().IsRegular() || info.Size() > 64<<10 {
			return ""
		}
		data, _ := os.ReadFile(name)
		for line := range strings.Lines(string(data)) {
			path, ok := strings.CutPrefix(strings.TrimSpace(line), prefix)
			switch {
			case ok && filepath.IsAbs(path):
				return filepath.Clean(path)
			case ok:
				return filepath.Join(folder, path)
			}
		}
		return ""
	}
	own := line(file, "gitdir: ", x.ws.Dir())
	if real, err := filepath.EvalSymlinks(own); own == "" || err != nil || real != own || x.commandsWrite(own) {
		return ""
	}
	if shared, list := filepath.Split(filepath.Dir(own)); list == "worktrees" {
		if line(filepath.Join(own, "gitdir"), "", own) != file {
			return ""
		}
		return filepath.Clean(shared)
	}
	if line(filepath.Join(own, "config"), "worktree = ", own) != x.ws.Dir() {
		return ""
	}
	return own
}

func (x *Runner) rootRules(write bool) (list ruleList) {
	for _, r := range x.ws.Roots() {
		list = append(list, fenceRule{path: r.Dir, name: linked(r.Dir, r.Given), write: write, id: r.ID})
	}
	return list
}

// commandsWrite reports whether path is, or leads, to where a command may write.
func (x *Runner) commandsWrite(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		real = path
	}
	return slices.ContainsFunc(x.writable(),
		func(dir string) bool { return Contains(dir, filepath.Clean(path)) || Contains(dir, real) })
}

// findWritable returns the directories outside the temporary one that any command may
// write, with or without the network.
func (x *Runner) findWritable() (dirs []string) {
	for _, r := range x.ws.Roots() {
		dirs = append(dirs, r.Dir)
	}
	dirs = slices.Concat(dirs, sharedMemory, x.cfg.FenceWrite)
	for _, dir := range []string{x.cacheDir(), x.goCache()} {
		if dir != "" {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
			dirs = append(dirs, real)
		}
	}
	return dirs
}

// toolchainMarks are files and directories that only toolchains have.
var toolchainMarks = []string{"pyvenv.cfg", "conda-meta", "include/node", "src/runtime", "lib/rustlib",
	"lib/modules", "lib/jvm.cfg"}

// isToolchain reports whether the parent of a bin directory holds the rest of a toolchain, and not
// other files of the user.
func isToolchain(dir, home string) bool {
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	if slices.ContainsFunc(toolchainMarks, has) || filepath.Base(dir) == "node_modules" {
		return true
	}
	direct := filepath.Dir(dir) == home && !strings.HasPrefix(filepath.Base(dir), ".")
	return !direct && !has(".git") && slices.ContainsFunc([]string{"lib", "lib64", "libexec", "share"}, has)
}

// pathReads returns the directories of PATH and GOPATH, and for each bin directory of a toolchain its
// parent. Parents that are direct children of /, or contain the home directory or the workspace, are
// left out.
func (x *Runner) pathReads(home string) (paths []string) {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		dir = filepath.Clean(dir)
		above := filepath.Dir(dir)
		if above == home && slices.Contains(sharedDirs, filepath.Base(dir)) {
			continue
		}
		paths = append(paths, dir)
		own := filepath.Dir(above) == home && slices.Contains(sharedDirs, filepath.Base(above))
		wide := filepath.Dir(above) == "/" || Contains(above, home) || Contains(above, x.ws.Dir())
		if slices.Contains([]string{"bin", "sbin", ".bin", "shims"}, filepath.Base(dir)) && !own && !wide &&
			isToolchain(above, home) {
			paths = append(paths, above)
		}
	}
	for _, dir := range filepath.SplitList(os.Getenv("GOPATH")) {
		// beside them lie the user's sources
		paths = append(paths, filepath.Join(dir, "bin"), filepath.Join(dir, "pkg"))
	}
	return paths
}

type ruleList []fenceRule

// add adds a rule for path, unless path does not exist. If a rule covers it already, it adds the
// name alone, or nothing if that leads through no links. It skips paths in writable directories,
// where a command could have made a link that leads anywhere.
func (l *ruleList) add(path string, write bool) {
	if !filepath.IsAbs(path) {
		return
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return
	}
	path = filepath.Clean(path)
	rule := fenceRule{path: real, name: linked(real, path), write: write}
	for _, r := range *l {
		if r.write && Contains(r.path, path) {
			return
		}
		if !r.shown && (r.write || !write) && Contains(r.path, real) {
			rule.write, rule.shown = false, true // it may have another name
		}
	}
	if !rule.shown || rule.name != "" {
		*l = append(*l, rule)
	}
}

// linked returns name if it differs from path, which it leads to; else "".
func linked(path, name string) string {
	if name == path {
		return ""
	}
	return name
}

// Contains reports whether path is dir or lies in it. Both are absolute and clean.
func Contains(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, string(os.PathSeparator)))
	return ok && (rest == "" || rest[0] == os.PathSeparator)
}

// A FenceReport says what commands may use.
type FenceReport struct {
	Fence
	Shared   string   // see [Executed]
	Limits   []string // the parts of the fence that this system lacks, with its kind
	Reads    []string // files and directories that they read, with all in them
	Writes   []string // and that they write
	Fixed    []string // in these, what they do not write
	Withheld []string // names of variables of this process that they do not get
	Caches   []string // names of variables that lead them to caches and settings of their own
}

// FenceReport returns what commands may use now. Without a fence, that is all that the user may.
func (x *Runner) FenceReport() (r FenceReport) {
	r.Fence = x.Fence()
	r.Shared = x.whyShared(r.Fence)
	if x.cfg.Fence != FenceOff {
		for _, l := range limitsOf(r.Fence) {
			r.Limits = append(r.Limits, l.String())
		}
	}
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		if x.keptFromCommands(name, value) {
			r.Withheld = append(r.Withheld, name)
		}
	}
	slices.Sort(r.Withheld)
	if r.ABI == 0 {
		return r
	}
	for _, v := range x.caches() {
		name, _, _ := strings.Cut(v, "=")
		r.Caches = append(r.Caches, name)
	}
	for _, rule := range append(x.fenceRules(), x.gitRules(x.gitPaths(context.Background()))...) {
		switch {
		case rule.fixed && !rule.write:
			r.Fixed = append(r.Fixed, rule.path)
		case rule.shown:
		case rule.write:
			r.Writes = append(r.Writes, rule.path)
		default:
			r.Reads = append(r.Reads, rule.path)
		}
	}
	slices.Sort(r.Writes)
	slices.Sort(r.Reads)
	return r
}

// Message lists what commands may use, a line for each thing.
func (r FenceReport) Message() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the fence of commands is %s\n", r.Fence)
	if r.Shared != "" {
		fmt.Fprintf(&b, "commands have no network and no /tmp of their own: %s\n", r.Shared)
	}
	for _, l := range r.Limits {
		fmt.Fprintf(&b, "a limit of this system: %s\n", l)
	}
	for _, part := range []struct {
		what string
		list []string
	}{
		{"may write", r.Writes}, {"may not write in these", r.Fixed}, {"may read", r.Reads},
		{"do not get the variables", joined(r.Withheld)},
		{"find caches and settings of their own by", joined(r.Caches)},
	} {
		for _, item := range part.list {
			fmt.Fprintf(&b, "commands %s %s\n", part.what, item)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// joined returns one line for all items, none for none.
func joined(items []string) []string {
	if len(items) == 0 {
		return nil
	}
	return []string{strings.Join(items, " ")}
}
