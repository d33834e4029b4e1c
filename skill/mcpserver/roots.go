//lint:file-ignore SA1019 roots and log messages are deprecated for new clients; those of today have them

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

// rootsWait is how long a client may take to tell its roots.
const rootsWait = 10 * time.Second

// statelessVersion is the protocol version from which on a server asks a client
// by its answer to a call, not by a request of its own.
const statelessVersion = "2026-07-28"

// enter returns the scope for one call, which leaves it afterwards. If ask is not
// nil, it is the answer to the call instead: the client is to tell its roots and
// to call again.
func (c *session) enter(ctx context.Context, req *mcp.CallToolRequest) (sc *scope, ask *mcp.CallToolResult, err error) {
	for {
		if sc := c.known(); sc != nil {
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

// adopt makes sc the scope of the session and of one call, unless the roots have
// changed since or another call was faster.
func (c *session) adopt(sc *scope, changes int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.scope != nil || c.changes != changes && !c.ended {
		if sc.narrow {
			sc.x.Close()
		}
		return false
	}
	sc.users = 1
	if !c.ended { // else the call is the only user
		sc.users = 2
		c.scope = sc
	}
	return true
}

// roots returns the roots that the client names; none if it has none to name.
func (c *session) roots(ctx context.Context, req *mcp.CallToolRequest) (_ []*mcp.Root, ask *mcp.CallToolResult, err error) {
	caps := req.ClientCapabilities()
	if caps == nil || caps.RootsV2 == nil {
		return nil, nil, nil
	}
	if req.ProtocolVersion() >= statelessVersion {
		if told, ok := req.Params.InputResponses["roots"].(*mcp.ListRootsResult); ok {
			return told.Roots, nil, nil
		}
		return nil, &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"roots": &mcp.ListRootsParams{}}}, nil
	}
	c.asking.Lock()
	defer c.asking.Unlock()
	if sc := c.known(); sc != nil { // another call has asked meanwhile
		c.leave(sc)
		return nil, nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, rootsWait)
	defer cancel()
	go func() {
		select {
		case <-c.over:
			cancel()
		case <-ctx.Done():
		}
	}()
	told, err := req.Session.ListRoots(ctx, nil)
	if err == nil {
		return told.Roots, nil, nil
	}
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return nil, nil, context.Cause(ctx)
	}
	c.server.tell(ctx, req.Session, "the client did not tell its roots (%v); the workspace stays as it is", err)
	return nil, nil, nil
}

// narrowed returns the scope that roots leave of the workspace. They may narrow
// it and never widen it:
//
//   - A root inside narrows to itself, and one that the workspace lies in leaves it whole.
//   - A root outside says nothing about what is inside: it is passed over, with a message.
//     If all are, the workspace is what it was.
//   - If roots lie inside and none of them can be opened, nothing is left, and calls are refused.
func (s *Server) narrowed(ctx context.Context, ss *mcp.ServerSession, roots []*mcp.Root) *scope {
	whole := &scope{x: s.cfg.Executor}
	ceiling := []string{s.cfg.Executor.Dir()}
	for _, dir := range s.cfg.Executor.Config().Allow {
		ceiling = append(ceiling, realPath(dir))
	}
	var kept []string
	for _, r := range roots {
		dir, err := rootPath(r.URI)
		var inside []string
		if err == nil {
			inside = intersect(ceiling, realPath(dir))
		}
		switch {
		case err != nil:
			s.tell(ctx, ss, "root %s is passed over: %v", r.URI, err)
		case len(inside) == 0:
			s.tell(ctx, ss, "root %s is passed over: it lies outside %s", r.URI, strings.Join(ceiling, ", "))
		}
		kept = append(kept, inside...)
	}
	kept = outermost(kept)
	if len(kept) == 0 || slices.Equal(kept, outermost(ceiling)) {
		return whole
	}
	if i := slices.Index(kept, ceiling[0]); i > 0 { // relative names go on starting there
		kept[0], kept[i] = kept[i], kept[0]
	}
	return s.opened(ctx, ss, kept)
}

// opened returns a scope that reaches dirs, or refuses if none of them is there.
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
		s.tell(ctx, ss, "root %s is passed over: %v", dirs[bad], err)
		problems = append(problems, err.Error())
		dirs = slices.Delete(dirs, bad, bad+1)
	}
	return &scope{x: s.cfg.Executor, refusal: "the client's roots leave nothing of the workspace (" + strings.Join(problems, "; ") + ")"}
}

// intersect returns what dir and the folders of the ceiling have in common.
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

// outermost returns dirs without those that lie in another, each once.
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

// within tells whether dir is root or lies in it. Both are clean and absolute.
func within(dir, root string) bool {
	return dir == root || strings.HasPrefix(dir, strings.TrimSuffix(root, string(filepath.Separator))+string(filepath.Separator))
}

// realPath is dir, absolute and with the links followed as far as it exists.
func realPath(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	var missing []string
	for at := abs; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(append([]string{real}, missing...)...)
		}
		if filepath.Dir(at) == at {
			return abs
		}
		missing = append([]string{filepath.Base(at)}, missing...)
	}
}

// rootPath is the folder that a root's URI names.
func rootPath(uri string) (string, error) {
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return "", errors.New("it is no URI")
	case u.Scheme != "file":
		return "", errors.New("it is no file:// URI")
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

// tell says something to a client that takes log messages, and to whoever runs
// the server.
func (s *Server) tell(ctx context.Context, ss *mcp.ServerSession, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.logf("%s", text)
	_ = ss.Log(ctx, &mcp.LoggingMessageParams{Level: "warning", Logger: "skill", Data: text}) // a client that is gone is told nothing
}
