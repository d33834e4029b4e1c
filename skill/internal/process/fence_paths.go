package process

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"textskill/skill/internal/workspace"
)

// systemReads is what programs of any kind read. It is not all of /etc, where
// passwords and keys are too.
var systemReads = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/snap", "/nix/store", "/gnu/store", "/proc",
	"/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage",

	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives",
	"/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/hosts", "/etc/host.conf", "/etc/hostname", "/etc/resolv.conf",
	"/etc/gai.conf", "/etc/services", "/etc/protocols", "/etc/localtime", "/etc/timezone", "/etc/locale.conf", "/etc/locale.alias",
	"/etc/os-release", "/etc/lsb-release", "/etc/debian_version", "/etc/alpine-release", "/etc/mime.types", "/etc/magic",
	"/etc/profile", "/etc/profile.d", "/etc/bash.bashrc", "/etc/inputrc", "/etc/terminfo", "/etc/gitconfig",
	"/etc/ssl/certs", "/etc/ssl/cert.pem", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/tls/openssl.cnf", "/etc/pki/ca-trust",
	"/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/crypto-policies", "/etc/fonts", "/etc/perl", "/etc/python3",
}

// devices are the files of /dev that programs read and write.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/shm"}

// homeReads is what programs read below the user's folder: toolchains, and settings
// that hold no credentials.
var homeReads = []string{
	".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes", ".config/go/env",
	".local/bin", ".local/lib", ".local/pipx", ".local/share/pipx", ".local/share/uv", ".local/share/mise", ".local/share/pnpm",
	".local/share/virtualenv", ".local/share/fnm", ".local/share/jupyter", ".virtualenvs",
	".pyenv", ".asdf", ".nvm", ".volta", ".nodenv", ".rbenv", ".jenv", ".goenv", ".sdkman/candidates", ".rustup", ".deno/bin", ".bun/bin", ".bun/install",
	".cargo/bin", ".cargo/env", ".cargo/config.toml", ".cargo/registry", ".cargo/git", ".dotnet", ".gem/ruby", ".linuxbrew",
	"go", "sdk", "miniconda3", "anaconda3", "miniforge3", ".cache/ms-playwright", ".cache/puppeteer", ".cache/electron",
}

// cache is a folder that programs keep between their runs.
type cache struct {
	variable string // that may name another place
	path     string // below the user's folder
	network  bool   // written only with the network: what is in it comes from there
	program  string // that does not work without it; where there is such a program, the folder is made
}

// caches are the folders that commands may write beside the workspace.
var caches = []cache{
	{"GOCACHE", ".cache/go-build", false, "go"},
	{"GOMODCACHE", "go/pkg/mod", true, "go"},
	{"GOLANGCI_LINT_CACHE", ".cache/golangci-lint", false, ""},
	{"STATICCHECK_CACHE", ".cache/staticcheck", false, ""},
	{"npm_config_cache", ".npm", true, "npm"},
	{"", ".cache/node", true, ""},
	{"", ".cache/node-gyp", true, ""},
	{"", ".cache/yarn", true, ""},
	{"", ".yarn/berry/cache", true, ""},
	{"", ".cache/pnpm", true, ""},
	{"", ".local/share/pnpm/store", true, ""},
	{"", ".bun/install/cache", true, ""},
	{"PIP_CACHE_DIR", ".cache/pip", true, ""},
	{"UV_CACHE_DIR", ".cache/uv", true, "uv"},
	{"", ".cache/pypoetry", true, ""},
	{"RUFF_CACHE_DIR", ".cache/ruff", false, ""},
	{"", ".cache/black", false, ""},
	{"", ".cache/pylint", false, ""},
	{"", ".cache/matplotlib", false, ""},
	{"", ".cache/fontconfig", false, ""},
	{"", ".cache/typescript", false, ""},
	{"", ".cargo/registry", true, ""},
	{"", ".cargo/git", true, ""},
	{"CCACHE_DIR", ".cache/ccache", false, ""},
	{"", ".ccache", false, ""},
	{"", ".cache/sccache", false, ""},
	{"", ".cache/deno", true, ""},
	{"", ".m2/repository", true, ""},
	{"GRADLE_USER_HOME", ".gradle", true, ""},
	{"NUGET_PACKAGES", ".nuget/packages", true, ""},
}

// ownFolders are the folders of the user's folder that hold more than one toolchain,
// credentials too: a bin in them does not stand for them.
var ownFolders = []string{".local", ".cargo", ".config", ".docker", ".deno", ".bun"}

// findFenceRules returns what any command may read and write, but for its temporary
// files. What the caller of an operation says has no part in it.
func (x *Runner) findFenceRules() []fenceRule {
	var list ruleList
	for _, r := range x.ws.Roots() {
		list = append(list, fenceRule{r.Dir, true, r.ID})
	}
	home, _ := os.UserHomeDir()
	for _, path := range slices.Concat(devices, x.cfg.FenceWrite, x.cachePaths(home)) {
		list.add(path, true)
	}
	for _, path := range slices.Concat(systemReads, x.cfg.FenceRead, x.pathReads(home), []string{x.cfg.Helper, os.Getenv("GOROOT")}) {
		list.add(path, false)
	}
	if filepath.IsAbs(home) {
		for _, path := range homeReads {
			list.add(filepath.Join(home, path), false)
		}
	}
	return slices.Clip(list)
}

// cachePaths returns the caches that may be written, and makes those that a program
// needs.
func (x *Runner) cachePaths(home string) (paths []string) {
	for _, c := range caches {
		if c.network && !x.cfg.Network {
			continue
		}
		path := cmp.Or(os.Getenv(c.variable), c.below(home))
		if !filepath.IsAbs(path) {
			continue
		}
		paths = append(paths, path)
		inside := func(r workspace.Root) bool { return Holds(r.Dir, path) } // where it may be a link to anywhere
		if c.program == "" || slices.ContainsFunc(x.ws.Roots(), inside) {
			continue
		}
		if _, err := LookProgram(c.program, "/", os.Environ()); err == nil {
			os.MkdirAll(path, 0o755) // if not, the program says so
		}
	}
	return paths
}

// below returns where the cache is without its variable, "" if that is not known.
func (c cache) below(home string) string {
	if rest, ok := strings.CutPrefix(c.path, ".cache/"); ok {
		if dir, err := os.UserCacheDir(); err == nil {
			return filepath.Join(dir, rest)
		}
	}
	if rest, ok := strings.CutPrefix(c.path, "go/"); ok {
		if list := filepath.SplitList(os.Getenv("GOPATH")); len(list) > 0 {
			return filepath.Join(list[0], rest)
		}
	}
	if !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, c.path)
}

// pathReads returns the folders of PATH, and for the bin of a toolchain all of it: a
// folder that holds the user's or the workspace is none, nor is one right below /.
func (x *Runner) pathReads(home string) (paths []string) {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		dir = filepath.Clean(dir)
		paths = append(paths, dir)
		above := filepath.Dir(dir)
		own := filepath.Dir(above) == home && slices.Contains(ownFolders, filepath.Base(above))
		wide := filepath.Dir(above) == "/" || Holds(above, home) || Holds(above, x.ws.Dir())
		if slices.Contains([]string{"bin", "sbin", ".bin", "shims"}, filepath.Base(dir)) && !own && !wide {
			paths = append(paths, above)
		}
	}
	return append(paths, filepath.SplitList(os.Getenv("GOPATH"))...)
}

type ruleList []fenceRule

// add adds what is at path, unless it is not there or is allowed already. A name
// below what may be written is passed over: a command could make it a link to
// anywhere.
func (l *ruleList) add(path string, write bool) {
	if !filepath.IsAbs(path) {
		return
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return
	}
	for _, r := range *l {
		if r.write && (Holds(r.path, filepath.Clean(path)) || Holds(r.path, real)) || !write && Holds(r.path, real) {
			return
		}
	}
	*l = append(*l, fenceRule{path: real, write: write})
}

// Holds reports whether the folder is path or above it.
func Holds(folder, path string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(folder, string(os.PathSeparator)))
	return ok && (rest == "" || rest[0] == os.PathSeparator)
}
