package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"textskill/skill/internal/process"
	"textskill/skill/internal/refusal"
)

// Pushed is what git said when it had sent the commits.
type Pushed struct {
	Remote, Branch string
	Output         string
	NotRun         []string // what the repository names and was not run: "pre-push"
}

// Message says what was pushed.
func (p Pushed) Message() string { return "Pushed " + p.Branch + " to " + p.Remote }

// Pulled is what git said when it had merged the commits.
type Pulled struct {
	process.Tracked
	Remote, Branch string
	Output         string
	NotRun         []string // what the repository names and was not run: "post-merge"
}

// Message says what was pulled.
func (p Pulled) Message() string {
	return strings.TrimSpace("Pulled " + p.Branch + " from " + p.Remote)
}

// Push sends the commits of a branch, "" for the one checked out, to a remote of the
// repository that holds dir.
func (x *Git) Push(ctx context.Context, base, dir, remote, branch string) (p Pushed, err error) {
	r, way, err := x.openRemote(ctx, base, remoteUse{"push", dir, remote, branch})
	if err != nil {
		return p, err
	}
	defer r.dir.Close()
	if branch == "" {
		e, err := r.git(ctx, command{args: []string{"symbolic-ref", "--short", "HEAD"}})
		if err != nil {
			return p, err
		}
		branch = strings.TrimSpace(string(e.Stdout))
	}
	args := []string{"push", "--no-recurse-submodules", "--no-follow-tags"}
	if !x.cfg.AllowHooks {
		args = append(args, "--no-signed", "--receive-pack="+way.receive)
	}
	e, err := r.exchange(ctx, way, append(args, "--end-of-options", remote, branch))
	return Pushed{remote, branch, printed(e), r.notRun("pre-push")}, err
}

// Pull fetches a branch of a remote, "" for the one that is followed, and merges it,
// or puts the branch's own commits on top of it, as the configuration says.
func (x *Git) Pull(ctx context.Context, base, dir, remote, branch string) (p Pulled, err error) {
	r, way, err := x.openRemote(ctx, base, remoteUse{"pull", dir, remote, branch})
	if err != nil {
		return p, err
	}
	defer r.dir.Close()
	if err := r.addSubmodules(ctx); err != nil {
		return p, err
	}
	args := []string{"pull", "--no-edit", "--recurse-submodules=no"}
	if !x.cfg.AllowHooks {
		args = append(args, "--no-gpg-sign", "--upload-pack="+way.upload)
	}
	args = append(args, "--", remote)
	if branch != "" {
		args = append(args, branch)
	}
	var e process.Executed
	tracked, err := x.process.Track(ctx, "git", func(ctx context.Context) (err error) {
		e, err = r.exchange(ctx, way, args)
		return err
	})
	return Pulled{tracked, remote, branch, printed(e), r.notRun("post-merge", "post-checkout", "pre-merge-commit", "commit-msg", "pre-rebase", "post-rewrite")}, err
}

// remoteUse is what is wanted of a remote.
type remoteUse struct{ what, dir, remote, branch string }

// remoteWay is how a remote is reached.
type remoteWay struct {
	env             []string // which protocols
	receive, upload string   // the programs at the other end, unless the configuration may name them
	address         string   // of another machine; "" means a folder
}

// The programs at the other end of a remote that is a folder, which does not run
// what that folder's configuration names.
const (
	quietEnd     = "git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.alternateRefsCommand=true -c gc.auto=0 -c maintenance.auto=false "
	quietReceive = quietEnd + "-c receive.autogc=false -c receive.denyCurrentBranch=refuse receive-pack"
	quietUpload  = quietEnd + "upload-pack"
)

// exchange runs a command that talks to a remote. What it asks of the web goes
// through the guard, unless the user's own configuration names a proxy.
func (r *repository) exchange(ctx context.Context, way remoteWay, args []string) (process.Executed, error) {
	c := command{limit: remoteTime, env: way.env, args: args}
	if way.address == "" || slices.ContainsFunc(r.config, func(s setting) bool { return !s.own && s.key == "http.proxy" }) {
		return r.git(ctx, c)
	}
	proxy, err := r.x.web.StartProxy()
	if err != nil {
		return process.Executed{}, err
	}
	defer proxy.Close()
	r.further = append(r.further, setting{key: "http.proxy", value: "http://" + proxy.Addr})
	e, err := r.git(ctx, c)
	if failed, ok := errors.AsType[*Error](err); ok && strings.Contains(way.address, "://") {
		if refused := proxy.Failure(way.address); refused != nil {
			failed.Hint = refused.Error()
		}
	}
	return e, err
}

// openRemote opens the repository and finds out how its remote may be reached.
func (x *Git) openRemote(ctx context.Context, base string, use remoteUse) (*repository, remoteWay, error) {
	var way remoteWay
	if err := x.process.CheckNetwork("a git " + use.what); err != nil {
		return nil, way, err
	}
	if err := checkBranch("branch", use.branch); err != nil {
		return nil, way, err
	}
	r, err := x.openRepository(ctx, base, use.dir, true)
	if err != nil {
		return nil, way, err
	}
	way, err = r.way(ctx, use)
	if err != nil {
		r.dir.Close()
		return nil, way, err
	}
	return r, way, nil
}

// way finds out where a remote of the repository leads, and whether that may be
// reached.
func (r *repository) way(ctx context.Context, use remoteUse) (remoteWay, error) {
	var known []string
	for _, s := range r.config {
		if section, of, name := s.parts(); section == "remote" && of != "" && name == "url" && !slices.Contains(known, of) {
			known = append(known, of)
		}
	}
	if strings.HasPrefix(use.remote, "-") || !slices.Contains(known, use.remote) {
		have := "the repository has no remote"
		if len(known) > 0 {
			have = "the repository has " + strings.Join(known, ", ")
		}
		return remoteWay{}, &refusal.ArgError{Arg: "remote", Reason: fmt.Sprintf("%q is not the name of a remote; %s", use.remote, have)}
	}
	args := []string{"remote", "get-url"}
	if use.what == "push" {
		args = append(args, "--push", "--all")
	}
	e, err := r.git(ctx, command{args: append(args, "--end-of-options", use.remote)})
	if err != nil {
		return remoteWay{}, err
	}
	addresses := strings.Split(strings.TrimSuffix(string(e.Stdout), "\n"), "\n")
	local := 0
	for _, address := range addresses {
		isLocal, err := r.reach(ctx, use, address)
		if err != nil {
			return remoteWay{}, err
		}
		if isLocal {
			local++
		}
	}
	if local > 0 && local < len(addresses) {
		return remoteWay{}, fmt.Errorf("%s leads to several addresses, some on this machine and some not; give each a remote of its own", use.remote)
	}
	if err := r.checkWays(local > 0); err != nil {
		return remoteWay{}, err
	}
	if local > 0 {
		return remoteWay{env: []string{"GIT_ALLOW_PROTOCOL=file"}, receive: quietReceive, upload: quietUpload}, nil
	}
	// The settings that lead around the guard are taken away.
	env := []string{"GIT_ALLOW_PROTOCOL=https:ssh", "GIT_NO_LAZY_FETCH=0", "NO_PROXY=", "no_proxy="}
	return remoteWay{env, "git-receive-pack", "git-upload-pack", addresses[0]}, nil
}
