package process

import (
	"slices"
	"strings"

	"textskill/skill/internal/words"
)

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
	"SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "GPG_AGENT_INFO", "GNOME_KEYRING_CONTROL", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "XDG_RUNTIME_DIR",
	"DOCKER_HOST", "CONTAINER_HOST", "CONTAINERD_ADDRESS", "PODMAN_HOST", "DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET", "XAUTHORITY", "PULSE_SERVER",
	"TMUX", "STY", "SWAYSOCK", "I3SOCK", "NVIM", "NVIM_LISTEN_ADDRESS", "VSCODE_IPC_HOOK", "VSCODE_IPC_HOOK_CLI", "VSCODE_GIT_IPC_HANDLE", "KITTY_LISTEN_ON",
}

// keptFromCommands reports whether commands do not get a variable: one that holds a
// credential, or leads to a service of the user, unless it is named in Config.PassEnv.
func (x *Runner) keptFromCommands(name, value string) bool {
	same := func(other string) bool { return strings.EqualFold(other, name) }
	if slices.ContainsFunc(x.cfg.PassEnv, same) {
		return false
	}
	return slices.ContainsFunc(ownSecrets, same) || slices.ContainsFunc(x.cfg.Secrets, same) || slices.ContainsFunc(doors, same) ||
		value != "" && (words.CredentialName().MatchString(name) || words.CredentialValue().MatchString(value))
}
