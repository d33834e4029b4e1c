package skill

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"textskill/testdata/needs"
)

// gitKeys are settings that name a program, or make git run one. %s stands for the
// program, and a key without a value is set to it.
var gitKeys = []string{
	"core.fsmonitor", "core.editor", "core.pager", "core.sshCommand", "core.askPass",
	"core.alternateRefsCommand", "core.gitProxy=%s", "core.hooksPath=../hooks",
	"sequence.editor", "pager.log", "pager.diff", "pager.status", "pager.branch", "diff.external",
	"diff.tool=e", "difftool.e.cmd", "diff.e.command", "diff.e.textconv", "diff.e.trustExitCode=true",
	"merge.tool=e", "mergetool.e.cmd", "merge.e.driver", "merge.default=e", "merge.renormalize=true",
	"filter.e.clean", "filter.e.smudge", "filter.e.process", "filter.e.required=true",
	"gpg.program", "gpg.openpgp.program", "gpg.x509.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand",
	"gpg.format=ssh", "commit.gpgSign=true", "tag.gpgSign=true", "push.gpgSign=true",
	"user.signingKey=x", "log.showSignature=true", "merge.verifySignatures=true", "alias.status=!%s",
	"alias.commit=!%s", "alias.receive-pack=!%s", "credential.helper", "credential.helper=!%s",
	"remote.origin.uploadpack", "remote.origin.receivepack", "remote.origin.vcs=ext", "remote.origin.proxy=x",
	"remote.pushDefault=origin", "url.ext::%s .insteadOf=/", "protocol.allow=always",
	"protocol.ext.allow=always",
	"submodule.recurse=true", "submodule.x.update=!%s", "trailer.e.command", "trailer.e.cmd",
	"trailer.e.key=Signed", "interactive.diffFilter", "web.browser=e", "browser.e.cmd", "help.browser=e",
	"man.e.cmd", "instaweb.httpd",
	"sendemail.smtpServer", "uploadpack.packObjectsHook", "receive.procReceiveRefs=refs",
	"maintenance.auto=true", "gc.auto=1", "gc.recentObjectsHook", "fetch.bundleURI=%s", "hook.e.command",
	"hook.e.event=pre-commit",
	"includeIf.gitdir:/.path=../../evil.inc", "init.templateDir=../hooks", "core.gitProxy=none", "bisect.run",
	"guitool.e.cmd", "imap.tunnel", "ssh.variant=%s", "http.proxy=ext::%s", "extensions.worktreeConfig=true",
}

// gitHooks are the hooks of git.
var gitHooks = strings.Fields(`applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit pre-rebase post-checkout post-merge pre-push pre-receive
	update proc-receive post-receive post-update reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman post-index-change p4-pre-submit`)

// TestGitSettings sets each of the keys, and all hooks, in a repository and in its remote:
// no operation runs the program. With SKILL_TEST_LONG each key is alone.
func TestGitSettings(t *testing.T) {
	if len(gitKeys) < 60 || len(gitHooks) != 25 {
		t.Fatalf("%d keys, %d hooks", len(gitKeys), len(gitHooks))
	}
	group := 16
	if os.Getenv("SKILL_TEST_LONG") != "" {
		group = 1
	}
	set := func(b *gitBed, keys []string) {
		for _, dir := range []string{"repo", "remote.git"} {
			for _, key := range keys {
				key, value, given := strings.Cut(key, "=")
				if !given {
					value = "%s"
				}
				b.git(dir, "config", "--add", strings.ReplaceAll(key, "%s", b.evil),
					strings.ReplaceAll(value, "%s", b.evil))
			}
		}
	}
	hooks := func(b *gitBed) {
		for _, hook := range gitHooks {
			b.copyEvil("repo/.git/hooks/" + hook)
			b.copyEvil("remote.git/hooks/" + hook)
			set(b, []string{"hook." + hook + ".command", "hook." + hook + ".event=" + hook})
		}
	}
	cases := map[string]func(b *gitBed){"hooks": hooks}
	for keys := range slices.Chunk(gitKeys, group) {
		cases[fmt.Sprint(keys)] = func(b *gitBed) { set(b, keys) }
	}
	for i, name := range slices.Sorted(maps.Keys(cases)) {
		setup := cases[name]
		if i%4 != 0 && !needs.All() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			b := newGitBed(t)
			b.remote()
			b.fork()
			b.write("repo/.gitattributes", "* filter=e diff=e merge=e\n")
			b.write("evil.inc", "[core]\n\tfsmonitor = "+b.evil+"\n")
			b.write("repo/new", "1\n")
			for _, hook := range gitHooks {
				b.copyEvil("repo/hooks/" + hook)
			}
			setup(b)
			os.Remove(b.mark)
			x := b.executor(Config{Network: true, Private: true})
			for _, a := range []Args{GitStatus{Dir: "repo"}, GitDiff{Dir: "repo"},
				GitLog{Dir: "repo", Limit: 5}, GitBranch{Dir: "repo"}, GitCommit{Dir: "repo", Message: "m"},
				GitBranch{Dir: "repo", Create: "made"}, GitPush{Dir: "repo", Remote: "origin"},
				GitPull{Dir: "repo", Remote: "origin", Branch: "main"}} {
				if r, err := x.Execute(t.Context(), &Session{}, a); b.ran() {
					said, _ := os.ReadFile(b.mark)
					t.Fatalf("%#v ran the program: %s%+v, %v", a, said, r, err)
				}
			}
		})
	}
}
