//lint:file-ignore SA1019 roots and log messages are deprecated for new clients; today's have them

package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// rootsWait is how long a client may take to name its roots.
const rootsWait = 10 * time.Second

// statelessVersion is the first version of the protocol in which no client begins with
// initialize, and a server asks a client for something in its answer to a call, not by a
// request of its own.
const statelessVersion = "2026-07-28"

// enter returns the scope for one call, which must leave it afterwards. If ask is not
// nil, it is the answer to the call instead: the client must name its roots and call
// again.
func (c *session) enter(ctx context.Context, req *mcp.CallToolRequest) (sc *scope, ask *mcp.CallToolResult,
	err error) {
	for {
		if sc := c.enterKnown(); sc != nil {
			return sc, nil, nil
		}
		c.mu.Lock()
		changes := c.changes
		c.mu.Unlock()
		roots, ask, err := c.roots(ctx, req)
		if ask != nil || err != nil {
			return nil, ask, err
		}
		sc = c.server.narrowed(ctx, req.Session, roots)
		if c.adopt(sc, changes) {
			return sc, nil, nil
		}
	}
}

// adopt makes sc the scope of the session and of one call. It returns false, and
// closes sc, if the roots have changed meanwhile or another call was faster.
func (c *session) adopt(sc *scope, changes int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	sc.users = 1
	if c.scope != nil || c.changes != changes && !c.ended {
		c.release(sc)
		return false
	}
	if !c.ended { // else the call is the only user
		sc.users = 2
		c.scope = sc
	}
	return true
}

// roots returns the roots that the client names; nil if it does not support roots.
func (c *session) roots(ctx context.Context, req *mcp.CallToolRequest) (_ []*mcp.Root,
	ask *mcp.CallToolResult, err error) {
	caps := req.ClientCapabilities()
	if caps == nil || caps.RootsV2 == nil {
		return nil, nil, nil
	}
	if req.ProtocolVersion() >= statelessVersion {
		if named, ok := req.Params.InputResponses["roots"].(*mcp.ListRootsResult); ok {
			return named.Roots, nil, nil
		}
		return nil, &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"roots": &mcp.ListRootsParams{}}}, nil
	}
	c.asking.Lock()
	defer c.asking.Unlock()
	if sc := c.enterKnown(); sc != nil { // another call has asked meanwhile
		c.leave(sc)
		return nil, nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, rootsWait)
	defer cancel()
	ctx, stop := c.whileOpen(ctx)
	defer stop()
	named, err := req.Session.ListRoots(ctx, nil)
	if err == nil {
		return named.Roots, nil, nil
	}
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, nil, context.Cause(ctx)
	}
	c.server.warn(ctx, req.Session,
		"the client did not name its roots (%v); the whole workspace is used", err)
	return nil, nil, nil
}

// narrowed returns the part of the workspace that roots leave. Roots may narrow the
// workspace, but never widen it:
//
//   - A root inside the workspace narrows it to that root; one that contains the
//     workspace leaves it whole.
//   - A root outside is ignored, with a message.
//   - If roots are named and all are outside, or none of them can be opened, all calls
//     are refused.
func (s *Server) narrowed(ctx context.Context, ss *mcp.ServerSession, roots []*mcp.Root) *scope {
	x := s.cfg.Executor
	whole := &scope{x: x}
	ceiling := []string{x.Dir()}
	for _, dir := range x.Config().Allow {
		ceiling = append(ceiling, realPath(dir))
	}
	var kept, outside []string
	for _, r := range roots {
		dir, err := rootPath(r.URI)
		var inside []string
		if err == nil {
			inside = intersect(ceiling, realPath(dir))
		}
		switch {
		case err != nil:
			outside = append(outside, fmt.Sprintf("%s: %v", r.URI, err))
		case len(inside) == 0:
			outside = append(outside, fmt.Sprintf("%s: it is outside %s", r.URI, strings.Join(ceiling, ", ")))
		}
		kept = append(kept, inside...)
	}
	for _, problem := range outside {
		s.warn(ctx, ss, "root %s; it is ignored", problem)
	}
	if len(roots) > 0 && len(kept) == 0 {
		whole.refusal = "none of the client's roots can be used (" + strings.Join(outside, "; ") +
			"); open one of them in the client, or start skill with -C or --allow for one"
		return whole
	}
	kept = outermost(kept)
	if len(kept) == 0 || slices.Equal(kept, outermost(ceiling)) {
		return whole
	}
	if i := slices.Index(kept, ceiling[0]); i > 0 { // relative names still begin there
		kept[0], kept[i] = kept[i], kept[0]
	}
	return s.opened(ctx, ss, kept)
}

// opened returns a scope of dirs, or one that refuses if none of them can be opened.
func (s *Server) opened(ctx context.Context, ss *mcp.ServerSession, dirs []string) *scope {
	var problems []string
	for len(dirs) > 0 {
		x, err := s.cfg.Executor.Narrow(dirs)
		if err == nil {
			return &scope{x: x, narrow: true}
		}
		bad := 0 // the folder that the error is about
		for i, dir := range dirs {
			if strings.Contains(err.Error(), dir) {
				bad = i
			}
		}
		s.warn(ctx, ss, "root %s is ignored: %v", dirs[bad], err)
		problems = append(problems, err.Error())
		dirs = slices.Delete(dirs, bad, bad+1)
	}
	return &scope{x: s.cfg.Executor, refusal: "none of the client's roots can be opened (" +
		strings.Join(problems, "; ") + ")"}
}

// intersect returns the parts of dir that are in a folder of the ceiling.
func intersect(ceiling []string, dir string) []string {
	var common []string
	for _, c := range ceiling {
		switch {
		case within(c, dir):
			common = append(common, c)
		case within(dir, c):
			common = append(common, dir)
		}
	}
	return common
}

// outermost returns dirs without duplicates and without those inside another.
func outermost(dirs []string) []string {
	var out []string
	for i, d := range dirs {
		covered := slices.ContainsFunc(dirs, func(o string) bool { return o != d && within(d, o) })
		if !covered && !slices.Contains(dirs[:i], d) {
			out = append(out, d)
		}
	}
	return out
}

// within reports whether dir is root or is inside it. Both are clean and absolute.
func within(dir, root string) bool {
	return dir == root || strings.HasPrefix(dir, strings.TrimSuffix(root, string(filepath.Separator))+
		string(filepath.Separator))
}

// realPath returns dir as an absolute path with links followed, as far as it exists.
func realPath(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real
	}
	if up := filepath.Dir(abs); up != abs {
		return filepath.Join(realPath(up), filepath.Base(abs))
	}
	return abs
}

// rootPath returns the folder that a root's URI names.
func rootPath(uri string) (string, error) {
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return "", errors.New("it is not a URI")
	case u.Scheme != "file":
		return "", errors.New("it is not a file:// URI")
	case u.Host != "" && u.Host != "localhost":
		return "", fmt.Errorf("it is on another host, %s", u.Host)
	}
	path := filepath.FromSlash(u.Path)
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, `\`) // file:///C:/dir
	}
	if !filepath.IsAbs(path) {
		return "", errors.New("its path is not absolute")
	}
	return filepath.Clean(path), nil
}

// warn sends a log message to a client that accepts them, and writes it to the log.
func (s *Server) warn(ctx context.Context, ss *mcp.ServerSession, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.logf("%s", text)
	// fails only if the client is gone
	_ = ss.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Logger: "skill", Data: text})
}
