package git

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A setting is one entry of git's configuration.
type setting struct {
	key, value string // key as git prints it: section and name in lower case
	fromRepo   bool   // from the repository's configuration, or any file inside the workspace
	origin     string // file that it is from; "" if it is from none
}

// parts splits a key into section, subsection and name: "remote", "origin", "url".
func (s setting) parts() (section, of, name string) {
	section, rest, _ := strings.Cut(s.key, ".")
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		return section, rest[:i], rest[i+1:]
	}
	return section, "", rest
}

// runsFilter reports whether s names a program that a filter runs.
func (s setting) runsFilter() bool {
	section, _, name := s.parts()
	return section == "filter" && slices.Contains([]string{"clean", "smudge", "process"}, name)
}

// fixedSettings apply to every command: no background jobs, no visits to other
// repositories, no colours.
var fixedSettings = []setting{
	{key: "core.quotePath", value: "false"},
	{key: "gc.auto", value: "0"},
	{key: "maintenance.auto", value: "false"},
	{key: "diff.autoRefreshIndex", value: "false"},
	{key: "submodule.recurse", value: "false"},
	{key: "fetch.recurseSubmodules", value: "false"},
	{key: "push.recurseSubmodules", value: "no"},
	{key: "status.submoduleSummary", value: "false"},
	{key: "transfer.bundleURI", value: "false"},
	{key: "credential.helper"}, // an empty value clears the list of helpers
	{key: "color.ui", value: "false"},
	{key: "color.advice", value: "false"},
	{key: "color.push", value: "false"},
	{key: "color.remote", value: "false"},
	{key: "color.status", value: "false"},
	{key: "color.transport", value: "false"},
}

// safeSettings prevent git from running the programs that its configuration names.
// Signatures cannot be checked, and a check that is required fails.
var safeSettings = []setting{
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

// textMerge is a merge driver that does what git does by itself with text files.
const textMerge = "git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B"

// settings returns the variables that pass git the settings for the repository.
func (r *repository) settings() []string {
	set := slices.Concat(r.userSettings(), fixedSettings, r.extra)
	if r.x.cfg.AllowHooks {
		return configVariables(set)
	}
	set = append(set, safeSettings...)
	for _, s := range r.config {
		section, of, name := s.parts()
		switch {
		case s.runsFilter():
			set = append(set, setting{key: s.key},
				setting{key: "filter." + of + ".required", value: fmt.Sprint(r.writes)})
		case section == "merge" && name == "driver":
			set = append(set, setting{key: s.key, value: textMerge})
		case section == "hook" && (name == "command" || name == "event"):
			set = append(set, setting{key: "hook." + of + ".enabled", value: "false"},
				setting{key: "hook." + of + ".event"}, setting{key: "hook." + of + ".command", value: "true"})
		case section == "alias" && s.fromRepo: // it may name a command that this git lacks
			set = append(set, setting{key: s.key})
		}
	}
	return configVariables(set)
}

// readConfig reads all settings that are in force. It returns an error if the
// repository's configuration includes a file outside the workspace.
func (r *repository) readConfig(ctx context.Context) error {
	e, err := r.git(ctx, command{
		args:      []string{"config", "--list", "-z", "--show-scope", "--show-origin", "--includes"},
		env:       []string{"GIT_DIR=" + r.gitDir}, // makes the origins absolute
		maxOutput: maxListing,
		asUser:    true,
	})
	if err != nil {
		return err
	}
	parts, cut := splitNUL(e)
	if cut || len(parts)%3 != 0 {
		return fmt.Errorf("the repository's configuration is too large to be checked")
	}
	fromEnv := false // git reads settings from its environment
	for i := 0; i < len(parts); i += 3 {
		scope := parts[i]
		if scope == "command" {
			fromEnv = true
			continue
		}
		key, value, ok := strings.Cut(parts[i+2], "\n")
		if !ok {
			value = "true"
		}
		origin := strings.TrimPrefix(parts[i+1], "file:")
		_, outside := r.x.ws.Real("", origin, true)
		s := setting{key, value, scope == "local" || scope == "worktree" || outside == nil, origin}
		if err := r.checkInclude(s); err != nil {
			return err
		}
		r.config = append(r.config, s)
	}
	if !fromEnv {
		return fmt.Errorf("git is too old to be prevented from running what a repository configures; it must be 2.31 or later")
	}
	return nil
}

// checkInclude refuses a setting of the repository that includes a file outside the workspace.
func (r *repository) checkInclude(s setting) error {
	section, _, name := s.parts()
	if !s.fromRepo || name != "path" || section != "include" && section != "includeif" {
		return nil
	}
	path := s.value
	if !filepath.IsAbs(path) && !strings.HasPrefix(path, "~") {
		path = filepath.Join(filepath.Dir(s.origin), path)
	}
	if strings.HasPrefix(path, "~") {
		return fmt.Errorf("the repository's configuration includes %s, which is in a home folder; only files inside the workspace may be included", path)
	}
	return r.checkInside("included configuration", path)
}

// transportSettings lists settings that decide how a remote is reached: with which
// program, through which proxy, trusting which certificates.
var transportSettings = map[string][]string{
	"remote": {"uploadpack", "receivepack", "vcs", "proxy", "proxyauthmethod"},
	"fetch":  {"bundleuri"},
	"http": {"proxy", "proxyauthmethod", "sslverify", "sslcainfo", "sslcapath", "sslcert", "sslkey",
		"sslbackend",
		"cookiefile", "savecookies", "curloptresolve", "delegation", "emptyauth", "proxysslcainfo",
		"proxysslcert", "proxysslkey", "followredirects"},
}

// checkTransport refuses a repository whose own configuration decides how remotes are
// reached, and a local remote that would fetch missing objects from elsewhere.
func (r *repository) checkTransport(local bool) error {
	if r.x.cfg.AllowHooks {
		return nil
	}
	for _, s := range r.config {
		section, _, name := s.parts()
		if !s.fromRepo {
			continue
		}
		if slices.Contains(transportSettings[section], name) ||
			local && (section == "remote" && name == "promisor" || s.key == "extensions.partialclone") {
			return fmt.Errorf("the repository's own configuration sets %s, which decides what git runs or trusts on its way to a remote; remove it, or start with --allow-hooks", s.key)
		}
	}
	return nil
}

// notRun lists what git would have run with --allow-hooks: the named hooks that
// exist, filters, and signing.
func (r *repository) notRun(hooks ...string) (names []string) {
	if r.x.cfg.AllowHooks {
		return nil
	}
	dir := filepath.Join(r.commonDir, "hooks")
	attributes, _ := r.x.ws.ReadUpTo(filepath.Join(r.top, ".gitattributes"), maxRepoFile)
	for _, s := range r.config {
		_, of, _ := s.parts()
		switch {
		case s.key == "core.hookspath":
			dir = r.x.ws.Abs(r.top, s.value)
		case s.runsFilter() && (s.fromRepo || bytes.Contains(attributes, []byte("filter="+of))):
			names = append(names, "filter "+of)
		case s.key == "commit.gpgsign" && isTrue(s.value) && slices.Contains(hooks, "pre-commit"):
			names = append(names, "signing")
		}
	}
	for _, hook := range hooks {
		if info, err := r.x.ws.Stat(filepath.Join(dir, hook), true); err == nil && info.Mode.IsRegular() &&
			info.Mode&0o111 != 0 {
			names = append(names, hook)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func isTrue(value string) bool {
	return slices.Contains([]string{"", "true", "yes", "on", "1"}, strings.ToLower(value))
}
