package git

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"textskill/skill/internal/process"
)

// setting is one line of git's configuration.
type setting struct {
	key, value string // the key as git prints it: section and name in lower case
	own        bool   // it is the repository's own, or of a file inside the workspace
	origin     string // the file it is from; "" where it is from none
}

// parts splits a key into its section, what the section is of, and the name:
// "remote", "origin", "url".
func (s setting) parts() (section, of, name string) {
	section, rest, _ := strings.Cut(s.key, ".")
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		return section, rest[:i], rest[i+1:]
	}
	return section, "", rest
}

// steady are the settings of every command: nothing runs on behind it, goes into
// other repositories, or colours what is read by a program.
var steady = []setting{
	{key: "core.quotePath", value: "false"},
	{key: "gc.auto", value: "0"},
	{key: "maintenance.auto", value: "false"},
	{key: "diff.autoRefreshIndex", value: "false"},
	{key: "submodule.recurse", value: "false"},
	{key: "fetch.recurseSubmodules", value: "false"},
	{key: "push.recurseSubmodules", value: "no"},
	{key: "status.submoduleSummary", value: "false"},
	{key: "transfer.bundleURI", value: "false"},
	{key: "color.ui", value: "false"},
	{key: "color.advice", value: "false"},
	{key: "color.push", value: "false"},
	{key: "color.remote", value: "false"},
	{key: "color.status", value: "false"},
	{key: "color.transport", value: "false"},
}

// neutral are the settings that keep git from running what its configuration
// names. A signature that has to be checked does not pass.
var neutral = []setting{
	{key: "core.hooksPath", value: os.DevNull},
	{key: "core.fsmonitor", value: "false"},
	{key: "core.pager", value: "cat"},
	{key: "core.alternateRefsCommand", value: "true"},
	{key: "commit.gpgSign", value: "false"},
	{key: "tag.gpgSign", value: "false"},
	{key: "push.gpgSign", value: "false"},
	{key: "log.showSignature", value: "false"},
	{key: "gpg.program", value: "false"},
	{key: "gpg.openpgp.program", value: "false"},
	{key: "gpg.x509.program", value: "false"},
	{key: "gpg.ssh.program", value: "false"},
}

// textMerge is how git merges texts by itself, as a merge driver.
const textMerge = "git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B"

// settings are the variables that set what every command in the repository needs.
func (r *repository) settings() []string {
	set := slices.Concat(steady, r.further)
	if r.x.cfg.AllowHooks {
		return asVariables(set)
	}
	set = append(set, neutral...)
	for _, s := range r.config {
		section, of, name := s.parts()
		switch {
		case section == "filter" && (name == "clean" || name == "smudge" || name == "process"):
			set = append(set, setting{key: s.key}, setting{key: "filter." + of + ".required", value: fmt.Sprint(r.writes)})
		case section == "merge" && name == "driver":
			set = append(set, setting{key: s.key, value: textMerge})
		case section == "alias" && s.own: // of a command that this git lacks
			set = append(set, setting{key: s.key})
		}
	}
	return asVariables(append(set, r.helpers()...))
}

// ssh are the variables that say how ssh is called: without questions, unless the
// user has a way of their own that may be taken.
func (r *repository) ssh() []string {
	if r.x.cfg.AllowHooks && (slices.ContainsFunc(r.config, func(s setting) bool { return s.key == "core.sshcommand" }) ||
		process.VariableIndex(r.env, "GIT_SSH_COMMAND") >= 0 || process.VariableIndex(r.env, "GIT_SSH") >= 0) {
		return nil
	}
	return []string{"GIT_SSH_COMMAND=ssh -o BatchMode=yes", "GIT_SSH_VARIANT=ssh"}
}

// helpers sets the user's own credential helpers, where the repository names some.
func (r *repository) helpers() (set []setting) {
	isHelper := func(s setting) bool {
		section, _, name := s.parts()
		return section == "credential" && name == "helper"
	}
	if !slices.ContainsFunc(r.config, func(s setting) bool { return s.own && isHelper(s) }) {
		return nil
	}
	set = []setting{{key: "credential.helper"}} // an empty one forgets those before it
	for _, s := range r.config {
		if !s.own && isHelper(s) {
			set = append(set, s)
		}
	}
	return set
}

// readConfig reads all settings that hold in the repository. Its files may include
// others that are inside the workspace.
func (r *repository) readConfig(ctx context.Context) error {
	e, err := r.git(ctx, command{
		args:      []string{"config", "--list", "-z", "--show-scope", "--show-origin", "--includes"},
		env:       []string{"GIT_DIR=" + r.gitDir}, // makes the origins absolute
		maxOutput: listing,
	})
	if err != nil {
		return err
	}
	parts, cut := fields(e)
	if cut || len(parts)%3 != 0 {
		return fmt.Errorf("the repository's configuration is too large to be judged")
	}
	heard := false // git takes settings from its environment
	for i := 0; i < len(parts); i += 3 {
		scope := parts[i]
		if scope == "command" {
			heard = true
			continue
		}
		key, value, _ := strings.Cut(parts[i+2], "\n")
		origin := strings.TrimPrefix(parts[i+1], "file:")
		_, outside := r.x.ws.Real("", origin, true)
		s := setting{key, value, scope == "local" || scope == "worktree" || outside == nil, origin}
		if err := r.checkInclude(s); err != nil {
			return err
		}
		r.config = append(r.config, s)
	}
	if !heard {
		return fmt.Errorf("this git is too old to be kept from running what a repository names; it takes 2.31")
	}
	return nil
}

// checkInclude refuses a setting of the repository that leads to a file outside.
func (r *repository) checkInclude(s setting) error {
	section, _, name := s.parts()
	if !s.own || name != "path" || section != "include" && section != "includeif" {
		return nil
	}
	path := s.value
	if !filepath.IsAbs(path) && !strings.HasPrefix(path, "~") {
		path = filepath.Join(filepath.Dir(s.origin), path)
	}
	if strings.HasPrefix(path, "~") {
		return fmt.Errorf("the repository's configuration includes %s, which is in a home folder; only files inside the workspace may be included", path)
	}
	return r.inside("included configuration", path)
}

// A ProgramError reports a repository whose own configuration names a program, or
// a way to the network, that cannot be passed over.
type ProgramError struct {
	Setting string // "remote.origin.uploadpack"
}

func (e *ProgramError) Error() string {
	return "the repository's own configuration sets " + e.Setting + ", which decides what git runs or trusts on its way to a remote; remove it, or start with --allow-hooks"
}

// remoteWays are settings of the repository that decide how a remote is reached:
// by what program, through which proxy, trusting whom.
var remoteWays = map[string][]string{
	"remote": {"uploadpack", "receivepack", "vcs", "proxy", "proxyauthmethod"},
	"fetch":  {"bundleuri"},
	"http": {"proxy", "proxyauthmethod", "sslverify", "sslcainfo", "sslcapath", "sslcert", "sslkey", "sslbackend",
		"cookiefile", "savecookies", "curloptresolve", "delegation", "emptyauth", "proxysslcainfo", "proxysslcert", "proxysslkey", "followredirects"},
}

// checkWays refuses a repository that decides how remotes are reached. A local one
// must not fetch what it lacks from elsewhere, either.
func (r *repository) checkWays(local bool) error {
	if r.x.cfg.AllowHooks {
		return nil
	}
	for _, s := range r.config {
		section, _, name := s.parts()
		if !s.own {
			continue
		}
		if slices.Contains(remoteWays[section], name) ||
			local && (section == "remote" && name == "promisor" || s.key == "extensions.partialclone") {
			return &ProgramError{s.key}
		}
	}
	return nil
}

// notRun names what the repository would have run with the command, but for
// --allow-hooks: the hooks of those names, and filters.
func (r *repository) notRun(hooks ...string) (names []string) {
	if r.x.cfg.AllowHooks {
		return nil
	}
	folder := filepath.Join(r.commonDir, "hooks")
	attributes, _ := r.x.ws.ReadFile(filepath.Join(r.top, ".gitattributes"))
	for _, s := range r.config {
		section, of, name := s.parts()
		switch {
		case s.key == "core.hookspath":
			folder = r.x.ws.Abs(r.top, s.value)
		case section == "filter" && (name == "clean" || name == "smudge" || name == "process") && (s.own || bytes.Contains(attributes, []byte("filter="+of))):
			names = append(names, "filter "+of)
		case s.key == "commit.gpgsign" && isTrue(s.value) && slices.Contains(hooks, "pre-commit"):
			names = append(names, "signing")
		}
	}
	for _, hook := range hooks {
		if info, err := r.x.ws.Stat(filepath.Join(folder, hook), true); err == nil && info.Mode.IsRegular() && info.Mode&0o111 != 0 {
			names = append(names, hook)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// isTrue reads a truth as git does.
func isTrue(value string) bool {
	return slices.Contains([]string{"", "true", "yes", "on", "1"}, strings.ToLower(value))
}
