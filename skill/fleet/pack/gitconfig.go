package pack

import (
	"bytes"
	"path"
	"regexp"
)

// isGitConfig reports whether a path is a config file of git. These files are stored without
// credentials. A restored repository works: git asks for credentials, or uses the machine's.
func isGitConfig(rel string) bool {
	switch name := path.Base(rel); name {
	case ".gitconfig":
		return true
	case "config", "config.worktree":
		return inGit(path.Dir(rel)) || path.Dir(rel) == ".config/git"
	}
	return false
}

var (
	// gitSecret matches a setting with a secret. Group 1 is a section header on the same line.
	gitSecret = regexp.MustCompile(`(?im)^([ \t]*\[[^\n]*\])?[ \t#;]*(?:extraheader|helper|[a-z0-9-]*(?:password|passwd|smtppass|token|secret|apikey|api-key))[ \t]*=[^\n]*$`)
	// webUser matches the beginning of a web address with a user, which may be a token.
	webUser = regexp.MustCompile(`(?i)((?:https?|ftps?)://)[^/\s]*@`)
	// otherPassword matches the beginning of any other address with a user and a password.
	otherPassword = regexp.MustCompile(`(?i)([a-z][a-z0-9+.-]*://[^/\s:@]*):[^/\s]*@`)
)

// withoutSecrets removes the credentials from a config file of git: settings like extraheader,
// password and token, users of web addresses, and passwords of other addresses. It also removes
// credential helpers, because a helper may be a script that prints a secret.
func withoutSecrets(config []byte) []byte {
	// A backslash at the end of a line continues the line.
	lines := bytes.ReplaceAll(config, []byte("\\\r\n"), nil)
	lines = bytes.ReplaceAll(lines, []byte("\\\n"), nil)
	safe := gitSecret.ReplaceAll(lines, []byte("$1"))
	safe = webUser.ReplaceAll(safe, []byte("$1"))
	safe = otherPassword.ReplaceAll(safe, []byte("$1@"))
	if bytes.Equal(safe, lines) {
		return config
	}
	return safe
}
