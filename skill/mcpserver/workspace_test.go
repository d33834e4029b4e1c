package mcpserver

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"textskill/skill"
	"textskill/skill/dialect"
)

// hostSession is a client of the SDK with the tools of workspace, in a folder with some files.
func hostSession(t *testing.T, cfg skill.Config, files map[string]string) *mcp.ClientSession {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	for name, content := range files {
		at := filepath.Join(cfg.Dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	x, err := skill.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return hostOf(t, Config{Executor: x, Dialects: []*dialect.Dialect{dialect.Workspace.For(x.Config())},
		Version: "test"})
}

// hostOf is a client of the SDK that is connected to a server.
func hostOf(t *testing.T, cfg Config) *mcp.ClientSession {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	here, there := mcp.NewInMemoryTransports()
	if _, err := s.SDK().Connect(t.Context(), there, nil); err != nil {
		t.Fatal(err)
	}
	c, err := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"},
		nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// hostCall calls a tool, and returns its text and its structured content.
func hostCall(t *testing.T, c *mcp.ClientSession, name, arguments string) (*mcp.CallToolResult, string,
	map[string]any) {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatalf("%s %s: %v", name, arguments, err)
	}
	object, _ := r.StructuredContent.(map[string]any)
	return r, r.Content[0].(*mcp.TextContent).Text, object
}

// TestWorkspaceDefinitions holds the definitions to 11 KB, and each tool to a title, a
// description and hints.
func TestWorkspaceDefinitions(t *testing.T) {
	c := hostSession(t, skill.Config{Network: true, NoSync: true, Unfenced: true}, nil)
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	all, err := json.Marshal(list.Tools)
	if err != nil || len(all) > 11<<10 {
		t.Errorf("the definitions have %d bytes, %v", len(all), err)
	}
	if want := len(dialect.Workspace.Tools); len(list.Tools) != want {
		t.Errorf("there are %d tools, want %d", len(list.Tools), want)
	}
	for _, tool := range list.Tools {
		if tool.Title == "" || tool.Description == "" || tool.Annotations == nil {
			t.Errorf("%s lacks a title, a description or hints", tool.Name)
		}
	}
}

// TestWorkspaceStructured holds structured content to the schema of its tool, and finds none
// where the text is the answer.
func TestWorkspaceStructured(t *testing.T) {
	c := hostSession(t, skill.Config{NoSync: true},
		map[string]string{"a.txt": "alpha\nbeta\n", "d/b.go": "package b\n"})
	list, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	schemas := map[string]*jsonschema.Resolved{}
	properties := map[string]map[string]*jsonschema.Schema{}
	for _, tool := range list.Tools {
		var s jsonschema.Schema
		data, _ := json.Marshal(tool.OutputSchema)
		if tool.OutputSchema == nil {
			continue
		}
		if err := json.Unmarshal(data, &s); err != nil {
			t.Fatal(err)
		}
		properties[tool.Name] = s.Properties
		if schemas[tool.Name], err = s.Resolve(nil); err != nil {
			t.Fatal(err)
		}
	}
	called := map[string]bool{}
	for _, tt := range []struct{ tool, arguments, member string }{
		{"write", `{"path":"n.txt","content":"n"}`, "undo"},
		{"patch", `{"patch":"*** Begin Patch\n*** Add File: p\n+x\n*** End Patch"}`, "files"},
		{"move", `{"source":"n.txt","destination":"m.txt"}`, "from"},
		{"copy", `{"source":"d","destination":"e"}`, "undo"},
		{"delete", `{"path":"e"}`, "undo"}, {"undo", `{}`, "undone"},
	} {
		r, text, object := hostCall(t, c, tt.tool, tt.arguments)
		if called[tt.tool] = true; r.IsError || object[tt.member] == nil || schemas[tt.tool] == nil {
			t.Errorf("%s: %s, %v", tt.tool, text, object)
		} else if err := schemas[tt.tool].Validate(object); err != nil {
			t.Errorf("%s: %v", tt.tool, err)
		} else if err := schemas[tt.tool].Validate(map[string]any{}); err == nil {
			t.Errorf("%s: its schema is that of an object without %s, too", tt.tool, tt.member)
		}
		for member := range object {
			if properties[tt.tool][member] == nil {
				t.Errorf("%s: its schema does not name %s", tt.tool, member)
			}
		}
		if undo, ok := object["undo"].(string); ok &&
			(r.Meta["undo"] != undo || !strings.Contains(text, "undo ID "+undo)) {
			t.Errorf("%s: %s, %v, %v", tt.tool, text, object, r.Meta)
		}
	}
	for name := range schemas {
		if !called[name] {
			t.Errorf("%s is not called", name)
		}
	}
	for tool, arguments := range map[string]string{
		"read": `{"paths":["a.txt"]}`,
		"edit": `{"path":"a.txt","edits":[{"old_text":"beta","new_text":"b"}]}`,
		"grep": `{"pattern":"a"}`, "glob": `{"pattern":"*.go"}`, "list": `{}`, "history": `{}`,
	} {
		if _, text, object := hostCall(t, c, tool, arguments); text == "" || object != nil {
			t.Errorf("%s says %q, and as an object %v, which many hosts show in place of the text", tool,
				text, object)
		}
	}
}

// TestWorkspaceNull takes null for no arguments, as mcp-go sends them.
func TestWorkspaceNull(t *testing.T) {
	c := hostSession(t, skill.Config{NoSync: true}, map[string]string{"a.txt": "alpha\n"})
	if r, text, _ := hostCall(t, c, "list", `null`); r.IsError || !strings.HasPrefix(text, "a.txt 6\n") {
		t.Error(text)
	}
}

// TestWorkspaceShows answers pictures, documents and links to what is neither.
func TestWorkspaceShows(t *testing.T) {
	pixel, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==")
	if err != nil {
		t.Fatal(err)
	}
	png, pdf := string(pixel), "%PDF-1.4\nrest"
	c := hostSession(t, skill.Config{NoSync: true},
		map[string]string{"p.png": png, "d.pdf": pdf, "z.bin": "\x1f\x8b\x00\x01", "t.txt": "text\n"})
	r, text, _ := hostCall(t, c, "read", `{"paths":["p.png","d.pdf","z.bin","t.txt"]}`)
	if len(r.Content) != 4 || r.IsError || !strings.Contains(text, "text\n") ||
		!strings.Contains(text, "p.png: image/png") {
		t.Fatalf("%d blocks: %s", len(r.Content), text)
	}
	if i, ok := r.Content[1].(*mcp.ImageContent); !ok || string(i.Data) != png || i.MIMEType != "image/png" {
		t.Errorf("the picture is %+v", r.Content[1])
	}
	if d, ok := r.Content[2].(*mcp.EmbeddedResource); !ok || string(d.Resource.Blob) != pdf ||
		d.Resource.MIMEType != "application/pdf" {
		t.Errorf("the document is %+v", r.Content[2])
	}
	link, ok := r.Content[3].(*mcp.ResourceLink)
	if !ok || !strings.HasPrefix(link.URI, "file:///") || !strings.HasSuffix(link.URI, "/z.bin") {
		t.Fatalf("the link is %+v", r.Content[3])
	}
	got, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: link.URI})
	if err != nil || string(got.Contents[0].Blob) != "\x1f\x8b\x00\x01" {
		t.Errorf("the link leads to %+v, %v", got, err)
	}
}

// TestWorkspaceResources lists and reads resources, and none outside.
func TestWorkspaceResources(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := hostSession(t, skill.Config{Dir: dir, NoSync: true}, map[string]string{"a b.txt": "alpha"})
	list, err := c.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) != 1 || list.Resources[0].URI != "skill://history" {
		t.Errorf("%+v, %v", list, err)
	}
	hostCall(t, c, "write", `{"path":"n.txt","content":"n"}`)
	read := func(uri string) string {
		r, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			return err.Error()
		}
		if r.CacheScope != "private" {
			t.Errorf("%s may be kept for others: cacheScope is %q", uri, r.CacheScope)
		}
		return r.Contents[0].Text
	}
	for uri, want := range map[string]string{
		"skill://history": "n.txt (write)", fileURI(filepath.Join(dir, "a b.txt")): "alpha",
		fileURI(outside):     "is outside the workspace",
		"file://elsewhere/a": "on another host", fileURI(dir): "is a directory", "skill://other": "not found",
	} {
		if got := read(uri); !strings.Contains(got, want) || strings.HasSuffix(got, "secret") {
			t.Errorf("%s: %s; want %s", uri, got, want)
		}
	}
}

// TestWorkspaceResourcesAreCalls reports what is read as a resource like a call of read, and refuses
// it where that is refused.
func TestWorkspaceResourcesAreCalls(t *testing.T) {
	dir := t.TempDir()
	var calls []string
	x, err := skill.New(skill.Config{Dir: dir, NoSync: true, Called: func(c skill.Call) {
		calls = append(calls, fmt.Sprintf("%s %v %t", c.Tool, c.Arguments, c.Failure != ""))
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("alpha"), 0o644); err != nil {
		t.Fatal(err)
	}
	denied, asked := "", false
	c := hostOf(t, Config{Executor: x, Dialects: []*dialect.Dialect{dialect.Workspace},
		Check: func(tool string, _ dialect.Effect) (string, bool) {
			if tool != "read" {
				return "", false
			}
			return denied, asked
		}})
	uri := fileURI(filepath.Join(x.Dir(), "a.txt"))
	path := filepath.Join(x.Dir(), "a.txt")
	for _, tt := range []struct {
		uri, denied string
		ask         bool
		err         string
	}{
		{uri, "", false, ""}, {historyURI, "", false, ""}, {uri + "x", "", false, "no such file"},
		{uri, "not allowed", false, "read: not allowed"},
		{uri, "nobody is asked", true, "read: nobody is asked"}, {historyURI, "not allowed", false, ""},
	} {
		denied, asked = tt.denied, tt.ask
		_, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: tt.uri})
		if tt.err == "" && err != nil || tt.err != "" &&
			(err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: %v, want %q", tt.uri, err, tt.err)
		}
	}
	read := "read map[paths:[" + path
	want := []string{read + "]] false", "history map[] false", read + "x]] true", read + "]] true",
		read + "]] true", "history map[] false"}
	if !slices.Equal(calls, want) {
		t.Errorf("reported\n%q, want\n%q", calls, want)
	}
}

// TestWorkspaceIsBounded goes on where an answer ends, until all of a file is read.
func TestWorkspaceIsBounded(t *testing.T) {
	var big strings.Builder
	for i := range 20_000 {
		big.WriteString(strings.Repeat("x", i%50) + "\n")
	}
	c := hostSession(t, skill.Config{NoSync: true},
		map[string]string{"big.txt": big.String(), "one.txt": "1\n"})
	var all strings.Builder
	path, calls := "big.txt", 0
	for path != "" {
		_, text, _ := hostCall(t, c, "read", `{"paths":["`+path+`"]}`)
		if calls++; len(text) > 66<<10 || calls > 100 {
			t.Fatalf("%d bytes in answer %d", len(text), calls)
		}
		body, note, cut := strings.Cut(text, "\n[lines ")
		all.WriteString(strings.TrimSuffix(body, "\n") + "\n")
		path = ""
		if _, next, ok := strings.Cut(note, "; go on with "); cut && ok {
			path = strings.TrimSuffix(next, "]\n")
		}
	}
	if strings.ReplaceAll(all.String(), "\n\n",
		"\n") != strings.ReplaceAll(strings.TrimSuffix(big.String(), "\n")+"\n", "\n\n", "\n") {
		t.Errorf("%d bytes were read of %d", all.Len(), big.Len())
	}
	_, text, _ := hostCall(t, c, "read", `{"paths":["big.txt","one.txt"]}`)
	if !strings.Contains(text, "the answer is full") && !strings.HasSuffix(text, "1\n") {
		t.Errorf("the second file: %s", text[len(text)-200:])
	}
	_, text, _ = hostCall(t, c, "grep", `{"pattern":"x{30}","limit":10000}`)
	if shown := strings.Count(text, ": x"); len(text) > 66<<10 || shown < 1000 ||
		!strings.Contains(text, fmt.Sprintf("[%d of 8000 matching lines", shown)) {
		t.Errorf("%d bytes, %d matches: %s", len(text), shown, text[len(text)-100:])
	}
}

// TestWorkspaceUndoIsBounded undoes more changes than an answer has room for.
func TestWorkspaceUndoIsBounded(t *testing.T) {
	c := hostSession(t, skill.Config{NoSync: true}, nil)
	folder := strings.Repeat("x", 200)
	for i := range 300 {
		hostCall(t, c, "write", fmt.Sprintf(`{"path":"%s/%d","content":"x"}`, folder, i))
	}
	_, text, _ := hostCall(t, c, "history", `{"limit":300}`)
	if len(text) > 66<<10 || !strings.Contains(text, "bytes more; a path lists those of one file or folder") {
		t.Errorf("%d bytes of history: %s", len(text), text[len(text)-100:])
	}
	r, text, object := hostCall(t, c, "undo", `{"since":"1"}`)
	if len(text) > 66<<10 || !strings.Contains(text, "bytes more; history lists them") ||
		!strings.HasSuffix(text, "\nundo ID 600") || r.Meta["undo"] != "600" {
		t.Errorf("%d bytes of undo: %s", len(text), text[len(text)-100:])
	}
	data, err := json.Marshal(object)
	if more, _ := object["more"].(float64); err != nil || len(data) > 66<<10 ||
		int(more)+len(object["undone"].([]any)) != 300 || object["undo"] != "600" {
		t.Errorf("%d bytes, %v more", len(data), object["more"])
	}
}

// TestWorkspaceTellsUndo tells a model what a person has undone, once, and not what it undid itself.
func TestWorkspaceTellsUndo(t *testing.T) {
	x, err := skill.New(skill.Config{Dir: t.TempDir(), State: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	c := hostOf(t, Config{Executor: x, Dialects: []*dialect.Dialect{dialect.Workspace}, Version: "test"})
	contents := func(name, arguments string) (all []string) {
		r, _, _ := hostCall(t, c, name, arguments)
		for _, part := range r.Content {
			all = append(all, part.(*mcp.TextContent).Text)
		}
		return all
	}
	contents("write", `{"path":"a.txt","content":"x"}`)
	contents("write", `{"path":"b.txt","content":"x"}`)
	time.Sleep(newsEvery)
	if all := contents("undo", `{}`); len(all) != 1 {
		t.Errorf("its own undo is told: %q", all)
	}
	r, err := x.Execute(t.Context(), &skill.Session{}, skill.Undo{})
	if err != nil {
		t.Fatal(r, err)
	}
	time.Sleep(newsEvery)
	all := contents("list", `{}`)
	if len(all) != 2 || !strings.HasPrefix(all[1], "[change ") ||
		!strings.HasSuffix(all[1], ": a.txt is as it was before that]") {
		t.Errorf("the user's undo is told as %q", all)
	}
	time.Sleep(newsEvery)
	if all := contents("list", `{}`); len(all) != 1 {
		t.Errorf("it is told again: %q", all)
	}
}

// TestWorkspaceFor leaves out what a configuration refuses in any case.
func TestWorkspaceFor(t *testing.T) {
	for _, tt := range []struct {
		cfg  skill.Config
		lack string
	}{
		{skill.Config{}, "run server fetch"}, {skill.Config{Unfenced: true}, "fetch"},
		{skill.Config{Helper: "h"}, ""},
		{skill.Config{Network: true, Helper: "h"}, ""},
		{skill.Config{DryRun: true, Helper: "h"}, "server fetch"}, {skill.Config{DryRun: true}, "run server fetch"},
		{skill.Config{ReadOnly: true},
			"write edit replace patch move copy delete run server undo restore fetch"},
	} {
		for _, tool := range dialect.Workspace.Tools {
			has := dialect.Workspace.For(tt.cfg).Lookup(tool.Name) != nil
			if has == slices.Contains(strings.Fields(tt.lack), tool.Name) {
				t.Errorf("%+v: that %s is served is %t", tt.cfg, tool.Name, has)
			}
		}
		if len(dialect.Perstack.For(tt.cfg).Tools) != len(dialect.Perstack.Tools) {
			t.Error("the Base Skill lacks tools")
		}
	}
}
