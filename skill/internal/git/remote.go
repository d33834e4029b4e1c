package git

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"textskill/skill/internal/process"
	"textskill/skill/internal/refusal"
)

// Pushed is the result of a push.
type Pushed struct {
	Remote, Branch string
	Output         string
	NotRun         []string // what the repository configures and git did not run: "pre-push"
}

// Message says which branch was pushed to which remote.
func (p Pushed) Message() string { return "Pushed " + p.Branch + " to " + p.Remote }

// Pulled is the result of a pull.
type Pulled struct {
	process.Tracked
	Remote, Branch string
	Output         string
	NotRun         []string // what the repository configures and git did not run: "post-merge"
}

// Message says which branch was pulled from which remote.
func (p Pulled) Message() string {
	return strings.TrimSpace("Pulled " + p.Branch + " from " + p.Remote)
}

// Push pushes a branch, "" for the one that is checked out, to a remote of the
// repository that contains dir.
func (x *Git) Push(ctx context.Context, base, dir, remote, branch string) (p Pushed, err error) {
	r, via, err := x.openRemote(ctx, base, remoteUse{"push", dir, remote, branch})
	if err != nil {
		return p, err
	}
	defer r.close()
	if branch == "" {
		if branch, err = r.checkedOut(ctx); err != nil {
			return p, err
		}
	}
	args := []string{"push", "--no-recurse-submodules", "--no-follow-tags"}
	if !x.cfg.AllowHooks {
		args = append(args, "--no-signed", "--receive-pack="+via.receive)
	}
	e, err := r.runRemote(ctx, via, append(args, "--end-of-options", remote, branch))
	return Pushed{remote, branch, output(e), r.notRun("pre-push")}, err
}

// Pull fetches a branch of a remote, "" for the upstream branch, and merges it.
func (x *Git) Pull(ctx context.Context, base, dir, remote, branch string) (p Pulled, err error) {
	r, via, err := x.openRemote(ctx, base, remoteUse{"pull", dir, remote, branch})
	if err != nil {
		return p, err
	}
	defer r.close()
	if branch == "" {
		if _, err := r.checkedOut(ctx); err != nil {
			return p, err
		}
	}
	if err := r.readSubmodules(ctx); err != nil {
		return p, err
	}
	args := []string{"pull", "--no-rebase", "--no-edit", "--recurse-submodules=no"}
	if !x.cfg.AllowHooks {
		args = append(args, "--no-gpg-sign", "--upload-pack="+via.upload)
	}
	args = append(args, "--", remote)
	if branch != "" {
		args = append(args, branch)
	}
	var e process.Executed
	tracked, err := x.process.Track(ctx, "git", func(inner *process.Runner) (err error) {
		r := r.with(inner)
		e, err = r.runRemote(ctx, via, args)
		return r.leftOver(ctx, err)
	})
	return Pulled{tracked, remote, branch, output(e), r.notRun("post-merge", "post-checkout",
		"pre-merge-commit", "commit-msg", "pre-rebase", "post-rewrite")}, err
}

func (r *repository) checkedOut(ctx context.Context) (string, error) {
	e, err := r.git(ctx, command{args: []string{"symbolic-ref", "--short", "--quiet", "HEAD"}})
	if _, ok := errors.AsType[*Error](err); ok {
		return "", &refusal.ArgError{Arg: "branch",
			Reason: "must be named: no branch is checked out (HEAD is detached)"}
	}
	return strings.TrimSpace(string(e.Stdout)), err
}

// A remoteUse is a push or a pull.
type remoteUse struct{ command, dir, remote, branch string }

// A transport says how a remote is reached.
type transport struct {
	env             []string // restricts the protocols
	receive, upload string   // the commands that git runs at the other end, unless hooks are allowed
	address         string   // on the network; "" means a directory of this machine
}

// plainGit is how git runs at the other end of a remote that is a directory of this
// machine: it does not run what the configuration of that directory names.
const plainGit = "git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.alternateRefsCommand=true -c gc.auto=0 -c maintenance.auto=false"

// localTransport returns how such a remote is reached.
func (r *repository) localTransport() (transport, error) {
	command := plainGit
	for _, s := range r.others {
		section, of, name := s.parts()
		if section != "hook" || name != "command" {
			continue
		}
		if strings.ContainsAny(of, "='\n") { // git would read -c, or the shell the name, as something else
			return transport{}, fmt.Errorf("the remote's own configuration sets %s, a hook that cannot be switched off; rename it, or start with --allow-hooks", s.key)
		}
		command += " -c 'hook." + of + ".enabled=false'"
	}
	return transport{
		env:     []string{"GIT_ALLOW_PROTOCOL=file"},
		receive: command + " -c receive.autogc=false -c receive.denyCurrentBranch=refuse receive-pack",
		upload:  command + " upload-pack",
	}, nil
}

// runRemote runs a command that talks to a remote. Its connections pass the web guard, unless the
// user's own configuration names a proxy.
func (r *repository) runRemote(ctx context.Context, via transport, args []string) (process.Executed, error) {
	c := command{limit: remoteTimeout, env: via.env, args: args}
	switch {
	case via.address == "":
		return r.git(ctx, c)
	case !strings.HasPrefix(via.address, "https:"):
		return r.runSSH(ctx, via.address, c)
	case slices.ContainsFunc(r.config, func(s setting) bool { return !s.fromRepo && s.key == "http.proxy" }):
		c.needs.Network = true
		return r.runWithLogin(ctx, via.address, c)
	}
	gate, err := r.x.web.OpenGate("")
	if err != nil {
		return process.Executed{}, err
	}
	defer gate.Close()
	r.extra = append(r.extra, setting{key: "http.proxy", value: "http://" + gate.Addr})
	c.needs.Gate = gate.Gate
	e, err := r.runWithLogin(ctx, via.address, c)
	return e, hinted(err, gate.Failure(via.address))
}

// hinted adds the reason why a connection failed to an error of git.
func hinted(err, reason error) error {
	if failed, ok := errors.AsType[*Error](err); ok && reason != nil {
		failed.Hint = reason.Error()
	}
	return err
}

// runSSH runs c with an ssh that reads the user's known hosts, asks the user's agent, and
// neither reads a key nor asks a question.
func (r *repository) runSSH(ctx context.Context, address string, c command) (process.Executed, error) {
	host, port := hostOf(address)
	target := net.JoinHostPort(host, port)
	gate, err := r.x.web.OpenGate(target)
	if err != nil {
		return process.Executed{}, err
	}
	defer gate.Close()
	config := []string{"Host *", "HostName 127.0.0.1", "HostKeyAlias " + sshAlias(host, port),
		"IdentityFile none", "UpdateHostKeys no", "CheckHostIP no",
		"GlobalKnownHostsFile /etc/ssh/ssh_known_hosts"}
	if home, err := os.UserHomeDir(); err == nil {
		known := filepath.Join(home, ".ssh", "known_hosts")
		config = append(config, fmt.Sprintf("UserKnownHostsFile %q %q", known, known+"2"))
		c.needs.Read = append(c.needs.Read, known, known+"2")
	}
	file := filepath.Join(r.home.Path, "ssh_config")
	if err := os.WriteFile(file, []byte(strings.Join(config, "\n")+"\n"), 0o600); err != nil {
		return process.Executed{}, err
	}
	c.env = append(slices.Clone(c.env), "GIT_SSH_COMMAND=ssh -o BatchMode=yes -F '"+
		strings.ReplaceAll(file, "'", `'\''`)+"' -p "+strconv.Itoa(gate.Port()), "GIT_SSH_VARIANT=ssh",
		"SSH_AUTH_SOCK="+os.Getenv("SSH_AUTH_SOCK"))
	c.needs.Read = append(c.needs.Read, "/etc/ssh/ssh_known_hosts", os.Getenv("SSH_AUTH_SOCK"))
	c.needs.Gate = gate.Gate
	e, err := r.git(ctx, c)
	return e, hinted(err, gate.FailureAt(target))
}

// sshAlias returns the name of a host in a file of known hosts.
func sshAlias(host, port string) string {
	if port == "22" {
		return host
	}
	return "[" + host + "]:" + port
}

func (x *Git) openRemote(ctx context.Context, base string, use remoteUse) (*repository, transport, error) {
	var via transport
	if err := x.process.CheckNetwork("a git " + use.command); err != nil {
		return nil, via, err
	}
	if err := checkBranch("branch", use.branch); err != nil {
		return nil, via, err
	}
	r, err := x.openRepository(ctx, base, use.dir, true)
	if err != nil {
		return nil, via, err
	}
	via, err = r.transport(ctx, use)
	if err != nil {
		r.close()
		return nil, via, err
	}
	return r, via, nil
}

// checkRemoteName refuses what is not the name of a remote of the repository.
func (r *repository) checkRemoteName(name string) error {
	var known []string
	for _, s := range r.config {
		if section, of, name := s.parts(); section == "remote" && of != "" && name == "url" &&
			!slices.Contains(known, of) {
			known = append(known, of)
		}
	}
	if !strings.HasPrefix(name, "-") && slices.Contains(known, name) {
		return nil
	}
	have := "the repository has no remote"
	if len(known) > 0 {
		have = "the repository has " + strings.Join(known, ", ")
	}
	return &refusal.ArgError{Arg: "remote",
		Reason: fmt.Sprintf("%q is not the name of a remote; %s", name, have)}
}

// transport returns how a remote of the repository is reached, or an error if it may not
// be reached.
func (r *repository) transport(ctx context.Context, use remoteUse) (transport, error) {
	if err := r.checkRemoteName(use.remote); err != nil {
		return transport{}, err
	}
	args := []string{"remote", "get-url"}
	if use.command == "push" {
		args = append(args, "--push", "--all")
	}
	e, err := r.git(ctx, command{args: append(args, "--end-of-options", use.remote)})
	if err != nil {
		return transport{}, err
	}
	addresses := strings.Split(strings.TrimSuffix(string(e.Stdout), "\n"), "\n")
	local := 0
	for _, address := range addresses {
		isLocal, err := r.checkAddress(ctx, use, address)
		if err != nil {
			return transport{}, err
		}
		if isLocal {
			local++
		}
	}
	if local > 0 && local < len(addresses) {
		return transport{}, fmt.Errorf("%s has several addresses, some on this machine and some not; give each its own remote", use.remote)
	}
	if err := r.checkTransport(local > 0); err != nil {
		return transport{}, err
	}
	if local > 0 {
		return r.localTransport()
	}
	if over := !strings.HasPrefix(addresses[0], "https:"); over && !r.x.cfg.AllowSSH {
		return transport{}, refusal.Off("a git "+use.command+" over ssh", "allow-ssh = true in skill.toml")
	}
	// NO_PROXY would lead around the guard.
	env := []string{"GIT_ALLOW_PROTOCOL=https:ssh", "GIT_NO_LAZY_FETCH=0", "NO_PROXY=", "no_proxy="}
	return transport{env, "git-receive-pack", "git-upload-pack", addresses[0]}, nil
}
