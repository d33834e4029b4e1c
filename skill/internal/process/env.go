package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"textskill/skill/internal/words"
)

// unattended are the variables that make programs neither prompt, page, colour nor wait for an editor.
var unattended = []string{
	"CI=1", "NO_COLOR=1", "TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "SYSTEMD_PAGER=cat",
	"GIT_TERMINAL_PROMPT=0", "DEBIAN_FRONTEND=noninteractive",
	"EDITOR=true", "VISUAL=true", "GIT_EDITOR=true", "GIT_SEQUENCE_EDITOR=true", "PIP_NO_INPUT=1",
	"npm_config_yes=true",
	"BASH_ENV=", "ENV=", // files that a shell runs first
}

// bash is the shell for which people and models write.
const bash = "/bin/bash"

// shell returns bash where this machine has it, and sh elsewhere.
func shell() string {
	if info, err := os.Stat(bash); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
		return bash
	}
	return "/bin/sh"
}

// GuardSecrets calls [Undumpable] if the environment holds a credential of this program.
func GuardSecrets() error {
	if slices.ContainsFunc(ownSecrets, func(name string) bool { return os.Getenv(name) != "" }) {
		return Undumpable()
	}
	return nil
}

// Environment returns the environment of a command that runs in dir: that of this
// process without credentials and what leads to services of the user, changed by the
// NAME=value entries of set. If PWD is set, it becomes dir.
func (x *Runner) Environment(set []string, dir string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, value, _ := strings.Cut(v, "=")
		return x.keptFromCommands(name, value)
	})
	if i := variableIndex(env, "PWD"); i >= 0 {
		env[i] = "PWD=" + dir
	}
	return SetVariables(env, set)
}

// loaderVariable matches the variables by which programs load code, or read files that lead to code,
// from a folder that a variable names.
var loaderVariable = words.Pattern(`^(LD_|DYLD_|GCONV_PATH$|LOCPATH$|GLIBC_TUNABLES$|PYTHON|PERL5|PERLLIB$|RUBY(OPT|LIB)$|GEM_(HOME|PATH)$|BUNDLE_|NODE_(OPTIONS|PATH)$|` +
	`(JAVA_TOOL|_JAVA|JDK_JAVA)_OPTIONS$|CLASSPATH$|BASH_(ENV$|FUNC_)|ENV$|SHELLOPTS$|BASHOPTS$|LUA_(C?PATH|INIT)|TCLLIBPATH$|DOTNET_STARTUP_HOOKS$|COR(ECLR)?_|` +
	`OPENSSL_(CONF|MODULES|ENGINES)$|GIO_(MODULE_DIR|EXTRA_MODULES)$|GTK_(PATH|MODULES)$|QT_PLUGIN_PATH$|LIBGL_DRIVERS_PATH$)`)

// withoutLoaders returns env without the variables by which a program loads other code: a command
// may have written there. It does not change env.
func withoutLoaders(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return loaderVariable().MatchString(name)
	})
}

// SafeVariable returns the value of a variable without what makes a program load files from where
// commands may write.
func (x *Runner) SafeVariable(name, value string) string {
	switch {
	case name == "PATH":
		return x.SafePathOf(value)
	case !loaderVariable().MatchString(name):
		return value
	}
	written := func(name string) bool { return !filepath.IsAbs(name) || x.commandsWrite(name) }
	if _, err := strconv.Atoi(value); err == nil {
		return value
	}
	if !strings.HasPrefix(value, "-") {
		return strings.Join(slices.DeleteFunc(filepath.SplitList(value), written),
			string(os.PathListSeparator))
	}
	words := strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune("=:, ", r) })
	if slices.ContainsFunc(words, func(word string) bool { return strings.ContainsAny(word, `/\`) && written(word) }) {
		return "" // options that name such a file
	}
	return value
}

// SetVariables returns env changed by the NAME=value entries of set. A variable that
// env already has keeps its place. SetVariables may modify env.
func SetVariables(env, set []string) []string {
	for _, v := range set {
		name, _, _ := strings.Cut(v, "=")
		if i := variableIndex(env, name); i >= 0 {
			env[i] = v
		} else {
			env = append(env, v)
		}
	}
	return env
}

// variableIndex returns the index of the variable name in env, or -1.
func variableIndex(env []string, name string) int {
	return slices.IndexFunc(env, func(v string) bool {
		have, _, _ := strings.Cut(v, "=")
		return have == name || runtime.GOOS == "windows" && strings.EqualFold(have, name)
	})
}

// lookProgram returns the file that execvp would run for command: a name with a slash
// is a path, any other name is searched for in the PATH of env, whose relative
// directories start at dir. Its error is a *SpawnError.
func lookProgram(command, dir string, env []string) (string, error) {
	if runtime.GOOS == "windows" {
		path, err := exec.LookPath(command)
		if err != nil {
			return "", &SpawnError{Command: command, Err: syscall.ENOENT}
		}
		return path, nil
	}
	if strings.Contains(command, "/") {
		return command, nil
	}
	search := "/bin:/usr/bin"
	if i := variableIndex(env, "PATH"); i >= 0 {
		search = strings.TrimPrefix(env[i], "PATH=")
	}
	missing := syscall.ENOENT
	for part := range strings.SplitSeq(search, ":") {
		path := filepath.Join(part, command)
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		if info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
		missing = syscall.EACCES
	}
	return "", &SpawnError{Command: command, Err: missing}
}

// ownSecrets are the variables from which this program reads credentials.
var ownSecrets = []string{
	"OPENAI_API_KEY",
	"OPENAI_ORG_ID",
	"OPENAI_PROJECT_ID",
	"SKILL_HTTP_TOKEN",
	"BRAVE_API_KEY",
}

// doors are variables that lead to services of the user: agents, buses, displays, and the
// editors and terminals that this program runs in. Who may use them has what they guard.
var doors = []string{
	"SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "GPG_AGENT_INFO", "GNOME_KEYRING_CONTROL",
	"DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "XDG_RUNTIME_DIR",
	"DOCKER_HOST", "CONTAINER_HOST", "CONTAINERD_ADDRESS", "PODMAN_HOST", "DISPLAY", "WAYLAND_DISPLAY",
	"WAYLAND_SOCKET", "XAUTHORITY", "PULSE_SERVER",
	"TMUX", "STY", "SWAYSOCK", "I3SOCK", "NVIM", "NVIM_LISTEN_ADDRESS", "VSCODE_IPC_HOOK",
	"VSCODE_IPC_HOOK_CLI", "VSCODE_GIT_IPC_HANDLE", "KITTY_LISTEN_ON",
}

// IsDoor reports whether a variable leads to a service of the user.
func IsDoor(name string) bool {
	return slices.ContainsFunc(doors, func(door string) bool { return strings.EqualFold(door, name) })
}

// keptFromCommands reports whether commands do not get a variable: one that holds a
// credential, or leads to a service of the user, unless it is named in Config.PassEnv.
func (x *Runner) keptFromCommands(name, value string) bool {
	same := func(other string) bool { return strings.EqualFold(other, name) }
	if slices.ContainsFunc(x.cfg.PassEnv, same) {
		return false
	}
	upper := strings.ToUpper(name)
	// git wants their values too
	if upper == "GIT_CONFIG_COUNT" || strings.HasPrefix(upper, "GIT_CONFIG_KEY_") {
		return true
	}
	return IsDoor(name) || x.isSecret(name, value)
}

// isSecret reports whether a variable holds a credential.
func (x *Runner) isSecret(name, value string) bool {
	same := func(other string) bool { return strings.EqualFold(other, name) }
	return slices.ContainsFunc(ownSecrets, same) || slices.ContainsFunc(x.cfg.Secrets, same) ||
		words.IsSecret(name, value)
}
