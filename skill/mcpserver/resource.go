package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"textskill/parser"
	"textskill/parser/rawjson"
	"textskill/skill"
)

// historyURI names the list of changes.
const historyURI = "skill://history"

// maxResource is how many bytes of a file are one resource. In base64 they fit into maxAnswer.
const maxResource = 7_500_000

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

// readResource reads a resource in the part of the workspace that the client's roots leave. It is
// allowed and reported as a call of read or history.
func (s *Server) readResource(ctx context.Context, req *mcp.ReadResourceRequest) (_ *mcp.ReadResourceResult,
	err error) {
	defer func() {
		if err != nil {
			err = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
		}
	}()
	c := s.session(req.Session)
	ctx, r := c.begin(ctx)
	defer c.done(r)
	found := &mcp.ResourceContents{URI: req.Params.URI, MIMEType: "text/plain"}
	call, path := parser.ToolCall{Name: "history"}, ""
	if found.URI != historyURI {
		if path, err = rootPath(found.URI); err != nil {
			return nil, fmt.Errorf("%s: %w", found.URI, err)
		}
		call = parser.ToolCall{Name: "read",
			Arguments: rawjson.Encode(map[string]any{"paths": []string{path}})}
	}
	t, began := s.tools[call.Name], time.Now()
	sc, ask, err := c.admit(ctx, &mcp.CallToolRequest{Session: req.Session, Extra: req.Extra,
		Params: &mcp.CallToolParamsRaw{
			Meta: req.Params.Meta, Name: call.Name, Arguments: call.Arguments,
			InputResponses: req.Params.InputResponses}}, t)
	switch {
	case err != nil:
		return nil, err
	case ask != nil:
		return &mcp.ReadResourceResult{InputRequests: ask.InputRequests}, nil
	}
	defer c.leave(sc)
	switch refusal := sc.refused(); {
	case refusal != "":
		return nil, errors.New(refusal)
	case path == "":
		err = readHistory(ctx, sc.x, c.state, found)
	default:
		err = readFile(ctx, sc.x, c.state, path, found)
	}
	t.dialect.Report(ctx, sc.x, c.state, call, began, err)
	private := mcp.Cacheable{CacheScope: "private"} // else a proxy may keep it for other users
	return &mcp.ReadResourceResult{Cacheable: private, Contents: []*mcp.ResourceContents{found}}, err
}

func readHistory(ctx context.Context, x *skill.Executor, s *skill.Session,
	found *mcp.ResourceContents) error {
	list, err := x.Execute(ctx, s, skill.History{Limit: 200})
	if err == nil {
		found.Text = list.Message()
	}
	return err
}

func readFile(ctx context.Context, x *skill.Executor, s *skill.Session, path string,
	found *mcp.ResourceContents) error {
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
