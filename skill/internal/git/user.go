package git

import (
	"cmp"
	"context"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"textskill/skill/internal/process"
	"textskill/skill/internal/words"
)

// userFiles lists where the user's configuration of git is.
func userFiles() []string {
	home, _ := os.UserHomeDir()
	return []string{home, os.Getenv("XDG_CONFIG_HOME"), os.Getenv("GIT_CONFIG_GLOBAL"),
		os.Getenv("GIT_CONFIG_SYSTEM")}
}

// ownHome returns the variables that keep git from the user's files, or none for a
// command that has to read them.
func (r *repository) ownHome(asUser bool) []string {
	if asUser {
		return nil
	}
	env := []string{"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull,
		"GIT_CONFIG_NOSYSTEM=1"}
	if r.x.cfg.AllowHooks { // the hooks are commands of the user
		return env
	}
	home := os.DevNull // no file of it exists
	if r.home != nil {
		home = r.home.Path
		env = append(env, "TMPDIR="+home)
	}
	return append(env, "HOME="+home, "XDG_CONFIG_HOME="+home)
}

// userData lists the settings of the user that git gets: those that are data, and name no
// program.
var userData = map[string][]string{
	"advice":    nil, // all of them
	"author":    {"name", "email"},
	"branch":    {"autosetupmerge", "autosetuprebase", "sort"},
	"commit":    {"cleanup", "status"},
	"committer": {"name", "email"},
	"core": {"abbrev", "attributesfile", "autocrlf", "bigfilethreshold", "checkstat", "commentchar",
		"commentstring", "compression", "eol", "excludesfile",
		"filemode", "fsync", "fsyncmethod", "ignorecase", "longpaths", "loosecompression",
		"precomposeunicode", "preloadindex", "protecthfs", "protectntfs",
		"safecrlf", "sharedrepository", "symlinks", "trustctime", "untrackedcache", "whitespace"},
	"diff": {"algorithm", "context", "indentheuristic", "interhunkcontext", "mnemonicprefix", "noprefix",
		"renamelimit", "renames"},
	"fetch": {"fsckobjects", "parallel", "prune", "prunetags"},
	"http": {"lowspeedlimit", "lowspeedtime", "postbuffer", "proxy", "proxyauthmethod", "sslbackend",
		"sslcainfo", "sslcapath", "sslcert", "sslkey", "sslverify", "sslversion", "version"},
	"i18n":  {"commitencoding", "logoutputencoding"},
	"index": {"threads", "version"},
	"init":  {"defaultbranch"},
	"merge": {"autostash", "conflictstyle", "directoryrenames", "ff", "log", "renamelimit",
		"renames", "stat"},
	"pack":     {"threads", "windowmemory"},
	"protocol": {"version"},
	"pull":     {"ff", "rebase"},
	"push":     {"autosetupremote", "default"},
	"rebase":   {"autosquash", "autostash", "backend", "forkpoint", "rebasemerges", "updaterefs"},
	"remote":   {"fetch", "prune", "push", "pushdefault", "pushurl", "tagopt", "url"},
	"rerere":   {"autoupdate", "enabled"},
	"safe":     {"barerepository", "directory"},
	"status":   {"relativepaths", "renamelimit", "renames", "showuntrackedfiles"},
	"transfer": {"fsckobjects"},
	"url":      {"insteadof", "pushinsteadof"},
	"user":     {"email", "name", "useconfigonly"},
}

// userPaths lists the settings among them that are paths.
var userPaths = []string{"core.attributesfile", "core.excludesfile", "http.sslcainfo", "http.sslcapath",
	"http.sslcert", "http.sslkey"}

// userSettings returns the settings of the user that git gets. Where the repository sets
// the same, its own value holds, as ever; only lists are joined.
func (r *repository) userSettings() (set []setting) {
	for _, s := range r.config {
		section, _, name := s.parts()
		if s.fromRepo || section == "include" || section == "includeif" || section == "credential" {
			continue
		}
		names, ok := userData[section]
		isData := ok && (names == nil || slices.Contains(names, name))
		if !isData && !r.x.cfg.AllowHooks {
			continue
		}
		list := section == "url" || section == "safe"
		if !list && slices.ContainsFunc(r.config,
			func(of setting) bool { return of.fromRepo && of.key == s.key }) {
			continue
		}
		set = append(set, setting{key: s.key, value: s.value})
	}
	return set
}

// addUserFiles makes the paths in the user's settings absolute, adds those that git finds
// by default, and lets git read them.
func (r *repository) addUserFiles() {
	home, err := os.UserHomeDir()
	if err != nil {
		return
	}
	config := cmp.Or(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config"))
	defaults := []setting{
		{key: "core.excludesfile", value: filepath.Join(config, "git", "ignore")},
		{key: "core.attributesfile", value: filepath.Join(config, "git", "attributes")},
	}
	for _, d := range defaults {
		if !slices.ContainsFunc(r.config, func(s setting) bool { return s.key == d.key }) {
			r.config = append(r.config, d)
		}
	}
	for i, s := range r.config {
		section, _, name := s.parts()
		if s.fromRepo || !slices.Contains(userPaths, section+"."+name) {
			continue
		}
		if rest, ok := strings.CutPrefix(s.value, "~/"); ok {
			r.config[i].value = filepath.Join(home, rest)
		}
		r.reads = append(r.reads, r.config[i].value)
	}
	for _, name := range []string{"GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSL_CERT", "GIT_SSL_KEY"} {
		r.reads = append(r.reads, os.Getenv(name))
	}
}

// needsLogin matches what git prints where a server asks for a login.
var needsLogin = words.Pattern(`could not read (Username|Password)|Authentication failed`)

// runWithLogin runs c, and where the server asks for a login, asks the user's own helper
// and runs c again. git gets that login for this one host, and for this command.
func (r *repository) runWithLogin(ctx context.Context, address string, c command) (process.Executed, error) {
	e, err := r.git(ctx, c)
	if err == nil || !needsLogin().Match(e.Stderr) {
		return e, err
	}
	to, parseErr := url.Parse(address)
	if parseErr != nil {
		return e, err
	}
	login, ok := r.askHelper(ctx, to)
	if !ok {
		return e, err
	}
	host := url.URL{Scheme: to.Scheme, Host: to.Host}
	password, _ := login.Password()
	r.extra = append(r.extra, setting{key: "credential." + host.String() + ".helper", value: tellLogin})
	c.env = append(slices.Clone(c.env), "SKILL_GIT_USERNAME="+login.Username(),
		"SKILL_GIT_PASSWORD="+password)
	return r.git(ctx, c)
}

// tellLogin is a credential helper that tells the login in its environment. In a file it could
// outlive this process.
const tellLogin = `!f() { test "$1" != get || printf 'username=%s\npassword=%s\n' "$SKILL_GIT_USERNAME" "$SKILL_GIT_PASSWORD"; }; f`

// askHelper asks the credential helpers of the user's configuration for a login. They run
// outside the fence, for a login is what the fence keeps from everything else, in a
// directory and with settings to which no command has access.
func (r *repository) askHelper(ctx context.Context, to *url.URL) (login *url.Userinfo, ok bool) {
	set := []setting{{key: "credential.helper"}}
	for _, s := range r.config {
		if section, _, _ := s.parts(); section == "credential" && !s.fromRepo {
			set = append(set, s)
		}
	}
	// a line break would ask for another host
	if len(set) == 1 || strings.ContainsAny(to.Path+to.User.Username(), "\r\n\x00") {
		return nil, false
	}
	question := "protocol=" + to.Scheme + "\nhost=" + to.Host + "\npath=" +
		strings.TrimPrefix(to.Path, "/") + "\n"
	if to.User != nil {
		question += "username=" + to.User.Username() + "\n"
	}
	// a helper may need a token, or the user's keyring
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") })
	env = process.SetVariables(env, slices.Concat(unattended, []string{"PATH=" + r.x.process.SafePath()}))
	env = process.SetVariables(env, append(configVariables(set), "GIT_DIR="+os.DevNull,
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1"))
	e, err := r.x.process.Run(ctx, process.Command{Name: "git", Timeout: commandTimeout}, process.Spec{
		Path: r.program.Path, Args: []string{"git", "credential", "fill"}, Env: env, Dir: "/",
		Stdin: question + "\n", Needs: process.Needs{Unfenced: true},
	})
	if err != nil || e.Failed() {
		return nil, false
	}
	answer := map[string]string{}
	for line := range strings.Lines(string(e.Stdout)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		answer[name] = value
	}
	return url.UserPassword(answer["username"], answer["password"]), answer["password"] != ""
}
