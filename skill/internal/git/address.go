package git

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"

	"textskill/skill/internal/web"
	"textskill/skill/internal/words"
)

// Forms of a remote's address.
var (
	helperAddress = words.Pattern(`^[A-Za-z0-9+.-]*::`)
	netAddress    = words.Pattern(`^(https|ssh|git\+ssh|ssh\+git)://[^-]`)
	anyAddress    = words.Pattern(`^[A-Za-z0-9+.-]+://`)
	scpAddress    = words.Pattern(`^[^/:-][^/:]*:`)
)

// hostOf returns the host and the port of an address on the network, or "" if the
// address does not say them plainly.
func hostOf(address string) (host, port string) {
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

// checkAddress refuses an address that may not be reached. It reports whether the
// address is a directory of this machine.
func (r *repository) checkAddress(ctx context.Context, use remoteUse, address string) (local bool,
	err error) {
	shown := redact([]byte(address))
	path, isFile := strings.CutPrefix(address, "file://")
	switch {
	case helperAddress().MatchString(address):
		return false, fmt.Errorf("remote %s is %s, which runs a program; a remote must be an address with https, ssh, or a path inside the workspace", use.remote, shown)
	case netAddress().MatchString(address), !anyAddress().MatchString(address) &&
		scpAddress().MatchString(address):
		return false, r.checkRemote(ctx, address)
	case anyAddress().MatchString(address) && !isFile:
		return false, fmt.Errorf("remote %s is %s; a remote must be an address with https, ssh, or a path inside the workspace", use.remote, shown)
	case address == "":
		return false, fmt.Errorf("remote %s has no address", use.remote)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(cmp.Or(r.top, r.gitDir), path)
	}
	if _, err := r.x.ws.Real("", path, true); err != nil {
		return false, fmt.Errorf("remote %s: %w", use.remote, err)
	}
	other, err := r.x.openRepository(ctx, "", path, true)
	if err != nil {
		return false, fmt.Errorf("remote %s: %w", use.remote, err)
	}
	other.close()
	r.others = append(r.others, other.config...)
	return true, other.checkTransport(true)
}

// checkRemote refuses an address outside the public internet. It accepts a host name
// that it cannot resolve, which may be an alias of the user's ssh configuration. For
// https the proxy checks the address again when git connects.
func (r *repository) checkRemote(ctx context.Context, address string) error {
	host, port := hostOf(address)
	if host == "" || web.LooksNumeric(host) && net.ParseIP(host) == nil {
		return fmt.Errorf("%s does not name a host that can be checked", redact([]byte(address)))
	}
	return r.x.web.CheckHost(ctx, host, port, !strings.HasPrefix(address, "https:"))
}
