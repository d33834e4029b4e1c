package pack

import (
	"bytes"
	"path"
	"regexp"
)

// isGitConfig reports whether a path is that of a config file of git. They are stored
// without their credentials: what is restored is a repository that works, which asks for
// them or has the machine's.
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
	// gitSecret matches what remains of a line that sets a secret, and a section before it.
	gitSecret = regexp.MustCompile(`(?im)^([ \t]*\[[^\n]*\])?[ \t#;]*(?:extraheader|helper|[a-z0-9-]*(?:password|passwd|smtppass|token|secret|apikey|api-key))[ \t]*=[^\n]*$`)
	// webUser matches an address of the web with a user; a token may be in his place.
	webUser = regexp.MustCompile(`(?i)((?:https?|ftps?)://)[^/\s]*@`)
	// otherPassword matches another address with a user and a password.
	otherPassword = regexp.MustCompile(`(?i)([a-z][a-z0-9+.-]*://[^/\s:@]*):[^/\s]*@`)
)

// withoutSecrets returns a config file of git without the credentials in it: what is set
// as extraheader, password, token and the like, users of web addresses, passwords of
// others, and credential helpers, which may be scripts that print one. A file without any
// it returns as it is.
func withoutSecrets(config []byte) []byte {
	// a backslash ends a line that goes on in the next
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
