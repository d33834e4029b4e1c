package process

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"textskill/skill/internal/words"
)

// cacheFolder is the folder of a workspace's history in which commands have their own caches. They do
// not write the caches of the user, for a program that runs outside the fence trusts its cache.
const cacheFolder = "caches"

// caches lists the variables by which programs find their caches, and the folders that commands
// have in their place. Most programs go by the first one.
var caches = []struct{ variable, folder string }{
	{"XDG_CACHE_HOME", ""},
	{"BLACK_CACHE_DIR", "black"},
	{"BUN_INSTALL_CACHE_DIR", "bun"},
	{"CCACHE_DIR", "ccache"},
	{"COMPOSER_CACHE_DIR", "composer"},
	{"COREPACK_HOME", "corepack"},
	{"DENO_DIR", "deno"},
	{"DOTNET_CLI_HOME", "dotnet"},
	{"GOCACHE", "go-build"},
	{"GOLANGCI_LINT_CACHE", "golangci-lint"},
	{"GRADLE_USER_HOME", "gradle"},
	{"MPLCONFIGDIR", "matplotlib"},
	{"NUGET_PACKAGES", "nuget"},
	{"PIP_CACHE_DIR", "pip"},
	{"PNPM_HOME", "pnpm"},
	{"POETRY_CACHE_DIR", "pypoetry"},
	{"PYLINTHOME", "pylint"},
	{"SCCACHE_DIR", "sccache"},
	{"STATICCHECK_CACHE", "staticcheck"},
	{"UV_CACHE_DIR", "uv"},
	{"YARN_CACHE_FOLDER", "yarn"},
	{"YARN_GLOBAL_FOLDER", "yarn-berry"},
	{"npm_config_cache", "npm"},
}

// cacheDir returns the folder of the caches of commands, "" if it cannot be made.
func (x *Runner) cacheDir() string {
	dir, err := x.ws.State(cacheFolder)
	if err != nil {
		return ""
	}
	defer dir.Close()
	real, err := filepath.EvalSymlinks(dir.Name())
	if err != nil {
		return ""
	}
	return real
}

// Caches returns the variables that lead programs to the caches of commands, and to what the user
// has downloaded before, which they only read.
func (x *Runner) Caches() []string { return slices.Clone(x.caches()) }

func (x *Runner) findCaches() (env []string) {
	dir := x.cacheDir()
	if dir == "" {
		return nil
	}
	for _, c := range caches {
		path := filepath.Join(dir, c.folder)
		if c.variable == "GOCACHE" {
			path = cmp.Or(x.goCache(), path)
		}
		env = append(env, c.variable+"="+path)
	}
	home, _ := os.UserHomeDir()
	if path := x.gitSettings(home, filepath.Join(dir, "gitconfig")); path != "" {
		env = append(env, "GIT_CONFIG_GLOBAL="+path)
	}
	if x.downloadsFrom("proxy.golang.org") && !x.cfg.ShareGo {
		env = append(env, ownModules(filepath.Join(dir, "go-mod"), goModules(home))...)
	}
	if x.downloadsFrom("static.crates.io") {
		env = append(env, "CARGO_HOME="+filepath.Join(dir, "cargo"))
	}
	env = append(env, "MAVEN_ARGS="+strings.TrimSpace(os.Getenv("MAVEN_ARGS")+" -Dmaven.repo.local="+
		filepath.Join(dir, "maven")+
		" -Dmaven.repo.local.tail="+filepath.Join(home, ".m2/repository")))
	for variable, path := range map[string]string{
		"GRADLE_RO_DEP_CACHE": ".gradle/caches", "NUGET_FALLBACK_PACKAGES": ".nuget/packages",
		"PLAYWRIGHT_BROWSERS_PATH": ".cache/ms-playwright",
	} {
		if info, err := os.Stat(filepath.Join(home, path)); err == nil && info.IsDir() &&
			os.Getenv(variable) == "" {
			env = append(env, variable+"="+filepath.Join(home, path))
		}
	}
	return env
}

// downloadsFrom reports whether commands reach a host from which a program gets packages.
func (x *Runner) downloadsFrom(host string) bool {
	return x.cfg.Network || x.policy.Check(host, 443) == nil
}

// goModules returns the folder of the user's Go modules.
func goModules(home string) string {
	list := filepath.SplitList(os.Getenv("GOPATH"))
	return cmp.Or(os.Getenv("GOMODCACHE"), filepath.Join(append(list, filepath.Join(home, "go"))[0],
		"pkg/mod"))
}

// ownModules returns the variables by which Go keeps modules in dir, and gets those that it does
// not find elsewhere from the user's. The toolchains of the user stay where they are.
func ownModules(dir, users string) []string {
	for _, path := range []string{"cache/download/golang.org/toolchain", "golang.org/toolchain@*"} {
		found, _ := filepath.Glob(filepath.Join(users, path))
		for _, toolchain := range found {
			rel, _ := filepath.Rel(users, toolchain)
			// on failure Go gets the toolchain again
			os.MkdirAll(filepath.Dir(filepath.Join(dir, rel)), 0o755)
			os.Symlink(toolchain, filepath.Join(dir, rel))
		}
	}
	proxies := cmp.Or(os.Getenv("GOPROXY"), "https://proxy.golang.org|direct")
	return []string{"GOMODCACHE=" + dir, "GOPROXY=" + proxies + "|file://" +
		filepath.Join(users, "cache/download")}
}

// goCache returns the user's cache of Go's builds, "" if it is not shared. It makes a missing one, for
// a command may write in it, but not make it.
func (x *Runner) goCache() string {
	dir := os.Getenv("GOCACHE")
	if cached, err := os.UserCacheDir(); err == nil && dir == "" {
		dir = filepath.Join(cached, "go-build")
	}
	if !x.cfg.ShareGo || !filepath.IsAbs(dir) || os.MkdirAll(dir, 0o777) != nil {
		return ""
	}
	return dir
}

// gitSettings writes the settings of the user that commands may read to a file, and returns its name,
// "" if there are none.
func (x *Runner) gitSettings(home, to string) string {
	files := []string{filepath.Join(cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config")),
		"git/config"), filepath.Join(home, ".gitconfig")}
	if named := os.Getenv("GIT_CONFIG_GLOBAL"); named != "" {
		files = []string{named}
	}
	var text []byte
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 || x.commandsWrite(file) {
			continue
		}
		data, err := os.ReadFile(file)
		if err == nil {
			text = append(text, words.GitSettings(data)...)
		}
	}
	os.Remove(to) // a command may have put a link there
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil || len(text) == 0 {
		return ""
	}
	defer f.Close()
	if _, err := f.Write(text); err != nil {
		return ""
	}
	return to
}
