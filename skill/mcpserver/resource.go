package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"textskill/skill"
)

// historyURI names the list of changes.
const historyURI = "skill://history"

// maxResource is how many bytes of a file are one resource.
const maxResource = 10 << 20

// addResources adds the history, and the files that replies have links to.
func (s *Server) addResources() {
	s.sdk.AddResource(&mcp.Resource{
		URI: historyURI, Name: "history", Title: "History", MIMEType: "text/plain",
		Description: "The last changes of the workspace, the newest first, with the IDs that undo them.",
	}, s.readResource)
	s.sdk.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: "file://{+path}", Name: "file", Title: "File", Description: "A file of the workspace.",
	}, s.readResource)
}

// readResource reads a resource in the part of the workspace that the client's roots leave.
func (s *Server) readResource(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	c := s.session(req.Session)
	ctx, r := c.begin(ctx)
	defer c.done(r)
	sc, ask, err := c.enter(ctx, &mcp.CallToolRequest{Session: req.Session, Params: &mcp.CallToolParamsRaw{}, Extra: req.Extra})
	switch {
	case err != nil:
		return nil, err
	case ask != nil:
		return nil, errors.New("the client's roots are not known yet; call a tool first")
	}
	defer c.leave(sc)
	if sc.refusal != "" {
		return nil, errors.New(sc.refusal)
	}
	found := &mcp.ResourceContents{URI: req.Params.URI, MIMEType: "text/plain"}
	if req.Params.URI == historyURI {
		list, err := sc.x.Execute(ctx, c.state, skill.History{Limit: 200})
		if err != nil {
			return nil, err
		}
		found.Text = list.Message()
	} else if err := readFile(ctx, sc.x, c.state, found); err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{found}}, nil
}

func readFile(ctx context.Context, x *skill.Executor, s *skill.Session, found *mcp.ResourceContents) error {
	path, err := rootPath(found.URI)
	if err != nil {
		return fmt.Errorf("%s: %w", found.URI, err)
	}
	read, err := x.Execute(ctx, s, skill.ReadFile{Path: path, MaxBytes: maxResource})
	if err != nil {
		return err
	}
	f := read.(skill.FileRead)
	if utf8.Valid(f.Content) && !strings.Contains(string(f.Content), "\x00") {
		found.Text = string(f.Content)
		return nil
	}
	kind, err := x.Execute(ctx, s, skill.Media{Path: path})
	if err != nil {
		return err
	}
	found.MIMEType, found.Blob = kind.(skill.MediaFound).Type, f.Content
	return nil
}

func fileURI(abs string) string {
	p := filepath.ToSlash(abs)
	if !strings.HasPrefix(p, "/") { // C:/dir
		p = "/" + p
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}
