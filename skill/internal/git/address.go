package git

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"textskill/skill/internal/web"
	"textskill/skill/internal/words"
)

// What an address of a remote looks like.
var (
	helperAddress = words.Pattern(`^[A-Za-z0-9+.-]*::`)
	netAddress    = words.Pattern(`^(https|ssh|git\+ssh|ssh\+git)://[^-]`)
	anyAddress    = words.Pattern(`^[A-Za-z0-9+.-]+://`)
	scpAddress    = words.Pattern(`^[^/:-][^/:]*:`)
)

// hostOf returns the host and the port of an address of another machine, "" if it
// is written so that they cannot be told.
func hostOf(address string) (host, number string) {
	if !anyAddress().MatchString(address) {
		before, _, _ := strings.Cut(address, ":")
		before = before[strings.LastIndexByte(before, '@')+1:]
		if strings.ContainsAny(before, "[]") {
			return "", ""
		}
		return before, "22"
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", ""
	}
	if u.Scheme != "https" && u.Port() == "" {
		return u.Hostname(), "22"
	}
	return u.Hostname(), web.Port(u)
}

// reach reports whether an address is a folder of this machine, and refuses one that
// may not be reached.
func (r *repository) reach(ctx context.Context, use remoteUse, address string) (local bool, err error) {
	shown := withoutLogin([]byte(address))
	path, isFile := strings.CutPrefix(address, "file://")
	switch {
	case helperAddress().MatchString(address):
		return false, fmt.Errorf("remote %s leads to %s, which runs a program; remotes are reached by https, ssh, or a path inside the workspace", use.remote, shown)
	case netAddress().MatchString(address), !anyAddress().MatchString(address) && scpAddress().MatchString(address):
		return false, r.checkRemote(ctx, address)
	case anyAddress().MatchString(address) && !isFile:
		return false, fmt.Errorf("remote %s leads to %s; remotes are reached by https, ssh, or a path inside the workspace", use.remote, shown)
	case address == "":
		return false, fmt.Errorf("remote %s leads nowhere", use.remote)
	}
	if !filepath.IsAbs(path) {
		base := r.top
		if base == "" {
			base = r.gitDir
		}
		path = filepath.Join(base, path)
	}
	if _, err := r.x.ws.Real("", path, true); err != nil {
		return false, fmt.Errorf("remote %s: %w", use.remote, err)
	}
	other, err := r.x.openRepository(ctx, "", path, true)
	if err != nil {
		return false, fmt.Errorf("remote %s: %w", use.remote, err)
	}
	other.dir.Close()
	return true, other.checkWays(true)
}

// checkRemote refuses an address that is not of the public internet. A name that
// only the user's ssh knows passes; https is judged again when it connects.
func (r *repository) checkRemote(ctx context.Context, address string) error {
	host, number := hostOf(address)
	if host == "" || web.LooksNumeric(host) && net.ParseIP(host) == nil {
		return fmt.Errorf("%s names no host that can be judged", withoutLogin([]byte(address)))
	}
	return r.x.web.CheckHost(ctx, host, number, !strings.HasPrefix(address, "https:"))
}
