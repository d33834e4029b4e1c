package dialect

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"textskill/parser"
	"textskill/skill"
	"textskill/testdata/needs"
)

// base is a workspace, called root in what it answers, and a session in it.
type base struct {
	t   *testing.T
	x   *skill.Executor
	s   *skill.Session
	dir string
}

func newBase(t *testing.T, cfg skill.Config) *base {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cfg.Dir, cfg.NoSync, cfg.Unfenced = dir, true, true
	x, err := skill.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return &base{t, x, &skill.Session{}, dir}
}

// file makes a file; a name that ends with a slash is a folder's, and a content
// that begins with -> makes a link.
func (b *base) file(name, content string) {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	target, link := strings.CutPrefix(content, "->")
	switch {
	case err != nil:
	case strings.HasSuffix(name, "/"):
		err = os.MkdirAll(path, 0o755)
	case link:
		err = os.Symlink(target, path)
	default:
		err = os.WriteFile(path, []byte(content), 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// call answers one call; the workspace is shown as root.
func (b *base) call(tool, args string) string {
	b.t.Helper()
	r := Perstack.Do(b.t.Context(), b.x, b.s, parser.ToolCall{Name: tool, Arguments: json.RawMessage(args)})
	failed := strings.HasPrefix(r.Body, `{"error":`) || strings.HasPrefix(r.Body, "MCP error")
	if failed != (r.Err != nil) {
		b.t.Errorf("%s %s: %s is marked %v", tool, args, r.Body, r.Err)
	}
	return strings.ReplaceAll(r.Body, b.dir, "root")
}

// said is the message of a failure.
func said(body string) string {
	var failure struct{ Error, Message string }
	if err := json.Unmarshal([]byte(body), &failure); err != nil || failure.Error == "" {
		return "no failure: " + body
	}
	if failure.Message == "" {
		return failure.Error
	}
	return failure.Message
}

// TestPerstackLinks deletes and moves links, and never what they lead to.
func TestPerstackLinks(t *testing.T) {
	b := newBase(t, skill.Config{})
	outside := t.TempDir()
	if err := os.WriteFile(outside+"/f", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"real/f": "x", "file": "y"} {
		b.file(name, content)
	}
	for _, tt := range []struct{ target, tool, args, want string }{
		{"file", "deleteFile", `{"path":"l"}`, `{"path":"root/l"}`},
		{"real", "deleteFile", `{"path":"l"}`, `{"path":"root/l"}`},
		{"nowhere", "deleteFile", `{"path":"l"}`, `{"path":"root/l"}`},
		{outside, "deleteFile", `{"path":"l"}`, `{"path":"root/l"}`},
		{"real", "deleteDirectory", `{"path":"l"}`, `{"path":"root/l"}`},
		{"real", "deleteDirectory", `{"path":"l","recursive":true}`, `{"path":"root/l"}`},
		{outside, "deleteDirectory", `{"path":"l","recursive":true}`, `{"path":"root/l"}`},
		{"file", "moveFile", `{"source":"l","destination":"real/m"}`,
			`{"source":"root/l","destination":"root/real/m"}`},
	} {
		b.file("l", "->"+tt.target)
		if got := b.call(tt.tool, tt.args); got != tt.want {
			t.Errorf("%s of a link to %s\n got %s\nwant %s", tt.tool, tt.target, got, tt.want)
		}
		if _, err := os.Lstat(filepath.Join(b.dir, "l")); err == nil {
			t.Errorf("%s of a link to %s leaves it", tt.tool, tt.target)
		}
	}
	if got := b.call("readTextFile", `{"path":"real/f"}`); got != `{"path":"real/f","content":"x","from":0,"to":1}` {
		t.Errorf("what links led to: %s", got)
	}
	if _, err := os.Lstat(outside + "/f"); err != nil {
		t.Errorf("what a link outside led to: %v", err)
	}
}

// TestPerstackDryRun describes changes, and makes and pretends none.
func TestPerstackDryRun(t *testing.T) {
	b := newBase(t, skill.Config{DryRun: true})
	b.file("f", "old\n")
	b.file("bin", "x\xff")
	for _, tt := range []struct{ tool, args, want string }{
		{"writeTextFile", `{"path":"f","text":"new\n"}`,
			`{"dryRun":"would write root/f","diff":"--- root/f\n+++ root/f\n@@ -1 +1 @@\n-old\n+new\n"}`},
		{"moveFile", `{"source":"f","destination":"g"}`,
			`{"dryRun":"would move root/f to root/g","diff":""}`},
		{"createDirectory", `{"path":"d"}`, `{"dryRun":"would create directory root/d","diff":""}`},
		{"readTextFile", `{"path":"f"}`, `{"path":"f","content":"old\n","from":0,"to":2}`},
		{"readTextFile", `{"path":"bin"}`,
			"{\"path\":\"bin\",\"content\":\"x\ufffd\",\"from\":0,\"to\":1,\"warning\":\"not text: bytes that are not UTF-8 show as U+FFFD, and writing the content back would change them\"}"},
		{"exec", `{"command":"rm","args":["f"],"env":{},"cwd":"","stdout":true,"stderr":true}`,
			`{"error":"running a program is refused under --dry-run: no helper runs it on a view of the workspace"}`},
	} {
		if got := b.call(tt.tool, tt.args); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.tool, got, tt.want)
		}
	}
	b = newBase(t, skill.Config{ReadOnly: true})
	if got := b.call("writeTextFile", `{"path":"f","text":""}`); got != `{"error":"Error","message":"EROFS: read-only file system, open 'root/f'"}` {
		t.Errorf("a write under --read-only: %s", got)
	}
}

// TestPerstackHalves takes half of a surrogate pair through a file.
func TestPerstackHalves(t *testing.T) {
	b := newBase(t, skill.Config{})
	for _, tt := range []struct{ tool, args, want string }{
		{"writeTextFile", `{"path":"f","text":"a\ud800b"}`, `{"path":"root/f","text":"a\ud800b"}`},
		{"readTextFile", `{"path":"f"}`, "{\"path\":\"f\",\"content\":\"a\ufffdb\",\"from\":0,\"to\":1}"},
		{"editTextFile", `{"path":"f","oldText":"a","newText":"\udc00"}`,
			`{"path":"root/f","newText":"\udc00","oldText":"a"}`},
		{"editTextFile", `{"path":"f","oldText":"\ud800","newText":"x"}`,
			`{"error":"Error","message":"Could not find exact match for oldText in file root/f"}`},
		{"todo", `{"newTodos":["\ud800"]}`, `{"todos":[{"id":0,"title":"\ud800","completed":false}]}`},
		{"readTextFile", `{"path":"\ud800"}`, `{"error":"Error","message":"File \ud800 does not exist."}`},
	} {
		if got := b.call(tt.tool, tt.args); got != tt.want {
			t.Errorf("%s %s\n got %s\nwant %s", tt.tool, tt.args, got, tt.want)
		}
	}
	data, err := os.ReadFile(filepath.Join(b.dir, "f"))
	if string(data) != "\ufffd\ufffdb" || err != nil {
		t.Errorf("the file holds %q, %v", data, err)
	}
}

// TestPerstackParallelEdits lets eight calls edit one file, and loses none.
func TestPerstackParallelEdits(t *testing.T) {
	b := newBase(t, skill.Config{})
	b.file("f", "0 1 2 3 4 5 6 7")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() { b.call("editTextFile", fmt.Sprintf(`{"path":"f","oldText":"%d","newText":"<%c>"}`, i, 'a'+i)) })
	}
	wg.Wait()
	if got := b.call("readTextFile", `{"path":"f"}`); got != `{"path":"f","content":"<a> <b> <c> <d> <e> <f> <g> <h>","from":0,"to":1}` {
		t.Errorf("after eight edits: %s", got)
	}
}

// TestPerstackManyEntries lists as many entries as an answer holds, and one more.
func TestPerstackManyEntries(t *testing.T) {
	needs.Long(t, "3 s")
	b := newBase(t, skill.Config{})
	b.file("d/", "")
	for i := range maxItems {
		if err := os.Mkdir(filepath.Join(b.dir, "d", fmt.Sprint("e", i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	list := func() (l struct {
		Items []struct{ Name, Type string }
		Note  string
	}) {
		if err := json.Unmarshal([]byte(b.call("listDirectory", `{"path":"d"}`)), &l); err != nil {
			t.Fatal(err)
		}
		return l
	}
	if l := list(); len(l.Items) != maxItems || l.Note != "" || l.Items[1].Name != "e1" ||
		l.Items[2].Name != "e10" || l.Items[0].Type != "directory" {
		t.Errorf("%d entries are listed, with the note %q", len(l.Items), l.Note)
	}
	b.file("d/a", "")
	if l := list(); len(l.Items) != maxItems || l.Items[0].Name != "a" ||
		!strings.HasPrefix(l.Note, "1 more entries are not shown.") {
		t.Errorf("%d entries are listed, with the note %q", len(l.Items), l.Note)
	}
}

// TestPerstackHides leaves the runtime's folders out of the workspace's listing.
func TestPerstackHides(t *testing.T) {
	b := newBase(t, skill.Config{})
	for _, name := range []string{"perstack/x", ".Perstack/x", ".skill/x", "sub/perstack/x", "perstack2"} {
		b.file(name, "")
	}
	if got := b.call("listDirectory", `{"path":"."}`); !strings.Contains(got, `[{"name":"perstack2"`) ||
		strings.Count(got, `"name"`) != 2 {
		t.Errorf("the workspace lists %s", got)
	}
	if got := b.call("listDirectory", `{"path":"sub"}`); !strings.Contains(got, `[{"name":"perstack"`) {
		t.Errorf("a folder below lists %s", got)
	}
}

// TestPerstackHealth tells how the server is, and nothing of its environment.
func TestPerstackHealth(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	b := newBase(t, skill.Config{})
	var h struct {
		Status, Workspace, Uptime string
		Memory                    struct{ HeapUsed, HeapTotal string }
		PID                       int
	}
	body := b.call("healthCheck", `{}`)
	if err := json.Unmarshal([]byte(body), &h); err != nil {
		t.Fatal(err)
	}
	if h.Status != "ok" || h.Workspace != "root" ||
		h.Uptime != "0s" || h.PID != os.Getpid() ||
		!strings.HasSuffix(h.Memory.HeapUsed, "MB") || !strings.HasSuffix(h.Memory.HeapTotal, "MB") {
		t.Errorf("healthCheck answers %s", body)
	}
	if strings.Contains(body, "sk-secret") {
		t.Error("it tells a credential")
	}
}

// TestPerstackMedia judges files by what they hold.
func TestPerstackMedia(t *testing.T) {
	b := newBase(t, skill.Config{})
	b.file("x.png/", "")
	for name, content := range map[string]string{
		"png": "\x89PNG\r\n\x1a\n\x00\x00", "jpg": "\xff\xd8\xff\xe0", "gif": "GIF89a",
		"webp": "RIFF\x04\x00\x00\x00WEBPVP8 ", "pdf": "%PDF-1.7\n",
		"text.png": "no image", "empty.png": "", "svg": "<svg xmlns='http://www.w3.org/2000/svg'/>",
		"about.pdf": "about %PDF-1.7",
	} {
		b.file(name, content)
	}
	for _, tt := range []struct{ tool, path, want string }{
		{"readImageFile", "png", `{"path":"root/png","mimeType":"image/png","size":10}`},
		{"readImageFile", "jpg", `{"path":"root/jpg","mimeType":"image/jpeg","size":4}`},
		{"readImageFile", "gif", `{"path":"root/gif","mimeType":"image/gif","size":6}`},
		{"readImageFile", "webp", `{"path":"root/webp","mimeType":"image/webp","size":16}`},
		{"readPdfFile", "pdf", `{"path":"root/pdf","mimeType":"application/pdf","size":9}`},
		{"readImageFile", "pdf", `{"error":"Error","message":"File pdf is not supported."}`},
		{"readPdfFile", "png", `{"error":"Error","message":"File png is not a PDF file."}`},
		{"readPdfFile", "about.pdf", `{"error":"Error","message":"File about.pdf is not a PDF file."}`},
		{"readImageFile", "text.png", `{"error":"Error","message":"File text.png is not supported."}`},
		{"readImageFile", "empty.png", `{"error":"Error","message":"File empty.png is not supported."}`},
		{"readImageFile", "svg", `{"error":"Error","message":"File svg is not supported."}`},
		{"readImageFile", "x.png", `{"error":"Error","message":"File x.png is not supported."}`},
	} {
		if got := b.call(tt.tool, string(object("path", tt.path))); got != tt.want {
			t.Errorf("%s %s\n got %s\nwant %s", tt.tool, tt.path, got, tt.want)
		}
	}
	if err := os.Truncate(filepath.Join(b.dir, "png"), image.limit+1); err != nil {
		t.Fatal(err)
	}
	if got := said(b.call("readImageFile", `{"path":"png"}`)); got != "Image file too large (15.0MB). Maximum supported size is 15MB. Please use a smaller image file." {
		t.Errorf("too large: %s", got)
	}
}

// TestPerstackSize keeps the list of the tools short.
func TestPerstackSize(t *testing.T) {
	size := 0
	for _, tool := range Perstack.Tools {
		size += len(tool.Name) + len(tool.Doc) + len(tool.Schema())
	}
	if size > 5500 {
		t.Errorf("names, descriptions and schemas have %d bytes", size)
	}
}
