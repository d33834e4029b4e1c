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

// credentialName matches the names of variables that hold credentials.
var credentialName = words.Pattern(`(?i)^(GITHUB|AWS|AZURE)_|(API|ACCESS|ADMIN|ACCOUNT|AUTH|SECRET|PRIVATE|MASTER|SIGNING|ENCRYPTION|DEPLOY)_?KEY|` +
	`(^|_)(TOKEN|KEY|PAT|PASS|AUTH|SECRET|SECRETS|CREDENTIAL|CREDENTIALS|JWT|DSN)$|_PWD$|(^|_)TOKEN_|PASSWORD|PASSWD|PASSPHRASE|SECRET_|_CREDENTIALS|` +
	`^(DATABASE|DB|REDIS|MONGO|MONGODB|POSTGRES|MYSQL|AMQP|RABBITMQ|CELERY_BROKER)_(URL|URI)$|CONNECTION_?STRING|^OTEL_.*HEADERS$`)

// credentialValue matches the shapes of credentials: those of well-known services, keys,
// and addresses with a password.
var credentialValue = words.Pattern(`^(gh[pousr]_|github_pat_|glpat-|sk-[A-Za-z0-9_-]{16}|sk_live_|xox[abprs]-|npm_[A-Za-z0-9]{30}|pypi-|hf_[A-Za-z]{20}|dop_v1_|A(KI|SI)A[0-9A-Z]{16}$|AIza[0-9A-Za-z_-]{30}|eyJ[A-Za-z0-9_-]+\.eyJ)|` +
	`-----BEGIN [A-Z ]*PRIVATE KEY|^https://(hooks\.slack\.com/services|discord(app)?\.com/api/webhooks)/|^[a-z][a-z0-9+.-]*://[^/@\s:]*:[^/@\s]+@`)

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
		value != "" && (credentialName().MatchString(name) || credentialValue().MatchString(value))
}
