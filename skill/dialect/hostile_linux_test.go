package dialect

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"textskill/parser"
	"textskill/parser/rawjson"
	"textskill/skill"
	"textskill/skill/browser"
	"textskill/testdata/needs"
)

// hostilePaths are the names that every path of every tool is tried with. $BASE
// stands for the folder above the workspace.
var hostilePaths = []string{
	"..", "../", "../outside", "../outside/secret.txt", "../outside/new.txt", "dir/../../outside/secret.txt",
	"dir/../..", "./../outside/secret.txt",
	"dir/sub/../../../outside/secret.txt", "../ws/../outside/secret.txt", "missing/../../outside/secret.txt",
	"..//outside//secret.txt", "..\\outside\\secret.txt",
	"$BASE/outside/secret.txt", "$BASE/outside", "$BASE/outside/new/file.txt", "$BASE", "/", "/proc/version",
	"$BASE/ws/../outside/secret.txt", "//$BASE/outside/secret.txt",
	"$BASE/ws-evil/secret.txt", "../ws-evil/secret.txt", "$BASE/ws-evil", "$BASE/ws-evil/new",
	"/proc/self/root/proc/version", "/proc/self/root$BASE/outside/secret.txt", "/proc/self/cwd/secret.txt",
	"/proc/self/cwd", "/proc/self/environ", "/proc/self/fd/0", "/dev/fd/0", "/dev/stdin", "/dev/zero",
	"a.txt\x00", "\x00", "a\x00/../../outside/secret.txt", "../outside/secret.txt\x00.txt",
	"%2e%2e/outside/secret.txt", "%2e%2e%2foutside%2fsecret.txt", "..%2foutside", "\u2025/outside/secret.txt",
	"\uff0e\uff0e/outside/secret.txt",
	"file:///proc/version", "file://$BASE/outside/secret.txt", "C:\\outside", "\\\\server\\outside",
	strings.Repeat("n", 255), strings.Repeat("n", 256), strings.Repeat("d/", 2500),
	strings.Repeat("../", 1700) + "proc/version", strings.Repeat("a/../", 900) + "../outside/secret.txt",
	"\u00e9.txt", "e\u0301.txt", "a\u202etxt.exe", "a b.txt", " ", "   ", "\t", "", "\n", "new\nline",
	"a.txt\n", "a.txt ", " a.txt", "bad\xff\xfe", "\xc3(",
	"out-file", "out-dir", "out-dir/", "out-dir/secret.txt", "out-dir/new.txt", "out-dir/new/deep.txt",
	"out-dir/sub", "abs-out", "evil/secret.txt", "evil/new", "dir/out", "dir/out/secret.txt",
	"dir/out/../secret.txt",
	"dangling-out", "dangling-out/", "dangling-dir/new", "dangling-in", "loop", "loop/x", "loop-a", "loop-b",
	"chain", "chain-2", "chain-3", "chain-4",
	"slash", "slash/proc/version", "slash$BASE/outside/secret.txt", "proc/proc/version",
	"proc$BASE/outside/secret.txt", "proc-cwd/secret.txt", "up", "up/outside/secret.txt",
	"self/../outside/secret.txt", "self/up/outside",
	"fifo", "fifo/", "fifo/x", "socket", "device", "hard.txt", "out-png", "out-pdf", "../outside/secret.png",
	"../outside/secret.pdf", "a.txt/", "a.txt/x", "a.txt/../../outside/secret.txt", "dir/", "dir//b.txt",
	"./dir/./b.txt",
	".", "./", ".//.", "dir/..", "dir/sub/../..", "self", "self/", "self/.", "self/self", "abs-self",
	"abs-self/", "$BASE/ws", "$BASE/ws/", "$BASE//ws/.", "../ws", "../ws/", "$BASE/outside/../ws", "up/ws",
	".git", ".git/", ".git/config", ".git/hooks/post-commit", ".GIT", ".GIT/config", ".git ", ".git.",
	".git /config", ".Git/hooks/x", "dir/.git", "dir/.git/config", "dir/.git/hooks/x", "repository",
	"repository/config", "repository/hooks/x", "dir/../.git/config", "self/.git/config",
	".skill", ".skill/", ".skill/x", ".SKILL", ".Skill/journal", ".skill ", ".skill.", ".s\u212aill/x",
	".skill.tmp", "dir/.skill", "dir/.skill/log", "dir/.SKILL/log", "state", "state/x", "state/journal",
	"self/.skill/x", "self/dir/.skill/log", "dir/../.skill",
	"perstack", "perstack/", "perstack/x", "PERSTACK/x", "perstack.toml", "Perstack.TOML", "dir/perstack/x",
	"dir/perstack.toml", "settings", "settings/x", ".perstack", ".perstack/x",
	"~", "~/", "~/.profile", "~root", "$HOME", "${HOME}/x", "$(id)", "`id`", "-", "-rf", "--", "--help",
	"-C/etc", "a.txt;id", "a.txt|id", "*", "?", "[a", "{a,b}",
	":(top)../outside", ":!a.txt", "HEAD", "@{u}", "con", "nul", "a.txt:stream",
}

// hostileFew are the ones that programs are tried with, which take longer.
var hostileFew = []string{
	"..", "../outside/secret.txt", "dir/../../outside/secret.txt", "missing/../../outside/secret.txt",
	"$BASE/outside", "$BASE/outside/secret.txt", "$BASE/outside/repo", "../ws-evil/secret.txt",
	"/proc/self/root$BASE/outside/secret.txt", "/proc/self/cwd", "a.txt\x00", "%2e%2e/outside/secret.txt",
	"e\u0301.txt", "", " ", "new\nline", "bad\xff\xfe", strings.Repeat("n", 256), strings.Repeat("d/", 2500),
	"out-file", "out-dir", "out-dir/repo", "out-dir/secret.txt", "abs-out", "dir/out", "dangling-out",
	"loop/x", "chain", "slash$BASE/outside", "proc$BASE/outside", "proc-cwd", "up", "self/up/outside",
	"fifo", "socket", "device", "hard.txt", ".", "dir/..", "abs-self", "up/ws", ".git", ".git/config",
	"repository", "dir/.skill/log", "state", "~", "-rf", "--help", ":(top)../outside", ":!a.txt",
}

// unprintable are parts of words that no answer holds: names of Go's types and of
// system calls that only this program knows, and how Go reports that it breaks.
var unprintable = regexp.MustCompile(`\*?\b(operation|workspace|dialect|search|parser|fs|os|syscall|json|exec|errors|http|url|unix)\.[A-Z]\w*|` +
	`\b(open|unlink|rename|mkdir|fstat|readlink|link|symlink)at2?\b|\bgetdents|panic|goroutine|runtime error|nil pointer|%!|0xc000`)

// fillers are values for arguments that are not tested; others are by their type.
var fillers = map[string]any{
	"path": "a.txt", "source": "a.txt", "src": "a.txt", "destination": "new.txt", "dst": "new.txt",
	"cwd": ".", "repo_path": ".", "file": "a.txt", "files": []string{"a.txt"}, "paths": []string{"a.txt"},
	"edits":    []map[string]string{{"old_text": "text", "new_text": secretless}},
	"patch":    "*** Begin Patch\n*** Update File: a.txt\n@@\n-text of a.txt\n+patched\n*** End Patch",
	"old_text": "text", "oldText": "text", "new_text": secretless, "newText": secretless, "pattern": "t*",
	"command": shows, "args": []string{"-c", shows}, "env": map[string]string{},
	"port": 9, "background": false, "remote": "origin", "branch": "main", "check": false, "dry_run": false,
	"preview": false, "regex": false, "glob": "c.txt", "width": 100, "height": 100,
}

const (
	secretless = "new text"
	shows      = "ls; cat secret.txt; true" // where a command runs
)

// A hostileCall is a call with one argument that is hostile.
type hostileCall struct {
	d     *Dialect
	t     *Tool
	p     *Param
	value string
	args  []byte
}

func (c hostileCall) String() string {
	return fmt.Sprintf("%s %s %s=%.80q", c.d.Name, c.t.Name, c.p.Name, c.value)
}

// arguments are the arguments of a call, all filled in but p, which has the value.
func arguments(t *Tool, p *Param, value []byte, url string) []byte {
	b := []byte{'{'}
	for i := range t.Params() {
		q := &t.Params()[i]
		text := value
		if q != p {
			if text = filler(t, q, url); text == nil {
				continue
			}
		} else if p.Type == "array" {
			text = append(append([]byte{'['}, value...), ']')
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, rawjson.Encode(q.Name)...), ':'), text...)
	}
	return append(b, '}')
}

// filler is a plausible value, nil where it is best left out.
func filler(t *Tool, p *Param, url string) []byte {
	v, ok := fillers[p.Name]
	switch {
	case p.Hidden, t.Name == "edit" && !p.Required && p.Name != "edits":
		return nil
	case p.Name == "command" && t.Name == "exec":
		v = "sh"
	case p.Name == "url":
		v = url
	case p.Name == "abort": // there is nothing to go back from
		return nil
	case p.Path && folders[t.Name] != "":
		v = folders[t.Name]
	case ok:
	case p.Enum != nil && p.Required:
		v = p.Enum[0]
	case !p.Required && p.Type != "boolean", p.Enum != nil:
		return nil
	case p.Type == "boolean":
		v = true
	default:
		v = map[string]any{"string": "x", "integer": 1, "number": 1, "array": []string{"x"},
			"object": map[string]string{}}[p.Type]
	}
	return rawjson.Encode(v)
}

// folders are paths for tools that take a folder's.
var folders = map[string]string{"glob": "dir", "list": "dir", "listDirectory": "dir", "list_directory": "dir",
	"directory_tree": "dir", "search_files": "dir", "search": "dir", "project_scan": "dir", "install": ".",
	"createDirectory": "new", "create_directory": "new", "deleteDirectory": "dir/sub"}

// A hostileRun makes calls and looks at what they did.
type hostileRun struct {
	*hostileSite
	url     string
	x       *skill.Executor
	outside map[string]string // before all calls
	before  map[string]string // the workspace before the call
	stat    os.FileInfo       // of the workspace
	spoiled bool              // by the call
	calls   int
	tried   int // arguments of tools
}

// hostileStep returns the step in the list of names for one argument: all names are tried by
// .ci/nightly. Arguments that follow each other begin at different names, so that many tools are
// tried with each.
func hostileStep() int {
	switch {
	case os.Getenv("SKILL_TEST_LONG") != "":
		return 1
	case needs.All():
		return 4
	}
	return 12
}

func newHostileRun(t *testing.T) *hostileRun {
	t.Helper()
	r := &hostileRun{hostileSite: newHostileSite(t), url: loopback(t)}
	r.fresh()
	t.Cleanup(func() { r.x.Close() })
	r.outside = r.around()
	return r
}

// fresh begins with a new workspace.
func (r *hostileRun) fresh() {
	r.t.Helper()
	if r.x != nil {
		r.x.Close()
	}
	r.build()
	r.x = r.open(skill.Config{Network: true, Hosts: []string{"127.0.0.1"}, NoSandbox: true,
		Browser: browser.New(),
		Search:  []skill.SearchEngine{{Kind: "searxng", URL: r.url}}})
	r.before = r.snapshot(r.ws)
	r.stat, _ = os.Stat(r.ws)
	r.spoiled = false
}

// call makes a call and says what is wrong with what came of it.
func (r *hostileRun) call(c hostileCall) Reply {
	r.t.Helper()
	r.calls++
	const bound = 2 * time.Minute
	hung := time.AfterFunc(bound, func() { panic(fmt.Sprintf("%v: no answer after %v", c, bound)) })
	reply := c.d.Do(r.t.Context(), r.x, &skill.Session{}, parser.ToolCall{Name: c.t.Name, Arguments: c.args})
	hung.Stop()
	r.judge(c, reply)
	return reply
}

func (r *hostileRun) judge(c hostileCall, reply Reply) {
	r.t.Helper()
	said := reply.Body
	if f, ok := reply.Result.(skill.FileRead); ok {
		said += string(f.Content)
	}
	said = strings.ReplaceAll(said, c.value, "")
	switch {
	case strings.Contains(said, secret), strings.Contains(said, secretPNG), strings.Contains(said, secretPDF),
		strings.Contains(said, "root:x:0"):
		r.t.Errorf("%v: what is outside is told: %.300q", c, said)
	case unprintable.MatchString(said):
		r.t.Errorf("%v: the answer holds %q: %.300q", c, unprintable.FindString(said), said)
	case said == "" && c.value == "":
		r.t.Errorf("%v: there is no answer", c)
	}
	if f, ok := reply.Err.(*Failure); ok && !named(c, f) {
		r.t.Errorf("%v: the failure names no tool: %.300q", c, f.Message)
	}
	r.inside(c)
}

// named reports whether a failure says which tool failed, where its dialect does so.
func named(c hostileCall, f *Failure) bool {
	switch c.d {
	case Filesystem, Undo, Workspace:
		return strings.HasPrefix(f.Message, c.t.Name+" ") || strings.HasPrefix(f.Message, c.t.Name+":")
	case Stack:
		_, manual := f.Cause.(*Failure)
		return strings.HasPrefix(f.Message, c.t.Name+": ") || manual
	}
	return true
}

// around describes what is outside, and no name beside it.
func (r *hostileRun) around() map[string]string {
	seen := r.snapshot(r.base + "/outside")
	maps.Copy(seen, r.snapshot(r.base+"/ws-evil"))
	names, err := os.ReadDir(r.base)
	r.do(err)
	seen["/"] = fmt.Sprint(names)
	return seen
}

// inside looks at the workspace after a call.
func (r *hostileRun) inside(c hostileCall) {
	r.t.Helper()
	now := r.snapshot(r.ws)
	stat, err := os.Stat(r.ws)
	switch found := r.stolen(r.before, now); {
	case err != nil || !os.SameFile(stat, r.stat):
		r.t.Fatalf("%v: the workspace is gone: %v", c, err)
	case found != "":
		r.t.Errorf("%v: %s holds what is outside", c, found)
	case now["keep.txt"] != r.before["keep.txt"]:
		r.t.Errorf("%v: keep.txt is %s", c, now["keep.txt"])
	case c.t.Effect == Reads && !gitReads[c.t.Name]:
		if d := differ(r.before, now); d != "" {
			r.t.Errorf("%v: a call that reads changed %s", c, d)
		}
	}
	if was, is := settings(r.before), settings(now); !wide(c) && was != is {
		r.t.Errorf("%v: what it may not touch was\n%s\nand is\n%s", c, was, is)
	}
	for _, name := range []string{"\u00e9.txt", "e\u0301.txt", "a b.txt"} {
		if c.value != name && now[name] != r.before[name] && !strings.Contains(c.value, "*") && !wide(c) {
			r.t.Errorf("%v: %s was %s and is %s", c, name, r.before[name], now[name])
		}
	}
	r.hardLink(c)
	r.spoiled = c.t.Effect != Reads && differ(r.before, now) != ""
}

// wide reports whether a call is meant for more than the file that it names.
func wide(c hostileCall) bool { return strings.HasPrefix(c.t.Name, "git_") }

// startsPrograms reports whether a tool runs programs.
func startsPrograms(name string) bool {
	return strings.HasPrefix(name, "git_") ||
		slices.Contains(strings.Fields("exec run server test lint format typecheck install screenshot"), name)
}

// gitReads are tools without effect in the tables that run programs.
var gitReads = map[string]bool{"git_status": true, "git_log": true, "git_diff": true}

// hardLink looks at the file that has a second name outside. That is not protected:
// it is written in place, or loses the name inside, and is never cut off or removed.
func (r *hostileRun) hardLink(c hostileCall) {
	r.t.Helper()
	outside, err := os.Stat(r.base + "/linked/hard.txt")
	if err != nil {
		r.t.Fatalf("%v: %v", c, err)
	}
	inside, err := os.Lstat(r.ws + "/hard.txt")
	data, _ := os.ReadFile(r.base + "/linked/hard.txt")
	same := err == nil && os.SameFile(outside, inside)
	if string(data) != "text of hard.txt" && !same {
		r.t.Errorf("%v: the file is no longer the one outside, which holds %q", c, data)
	}
}

// loopback answers every request with the same page.
func loopback(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"results":[]}`)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// filled are the dialects whose calls the hostile tests can fill in. The tools of Native take
// arguments of several programs: see TestNativeHostile.
var filled = slices.DeleteFunc(slices.Clone(All), func(d *Dialect) bool { return d == Native })

// TestHostilePaths calls every tool of every dialect with every hostile name in
// place of every path. Files outside stay as they are and are not named.
func TestHostilePaths(t *testing.T) {
	r := newHostileRun(t)
	for _, d := range filled {
		for i := range d.Tools {
			tool := &d.Tools[i]
			for j := range tool.Params() {
				if p := &tool.Params()[j]; p.Path {
					r.plain(d, tool)
					r.try(d, tool, p)
				}
			}
		}
	}
	if r.calls*hostileStep() < 5000 {
		t.Errorf("there were %d calls", r.calls)
	}
}

// plain makes the call that the hostile ones begin with. It succeeds, where that does
// not take more than this test has: else the hostile ones would prove nothing.
func (r *hostileRun) plain(d *Dialect, tool *Tool) {
	r.t.Helper()
	r.fresh()
	c := hostileCall{d, tool, &Param{}, "\x00", arguments(tool, nil, nil, r.url)}
	reply := r.call(c)
	if want := cmp.Or(unable[d.Name+" "+tool.Name], unable[tool.Name]); want == "" && reply.Err != nil ||
		want != "" && !strings.Contains(reply.Body, want) {
		r.t.Errorf("%s %s %s: %.300q; want %q", d.Name, tool.Name, c.args, reply.Body, want)
	}
}

// unable says why the plain call of a tool fails.
var unable = map[string]string{
	"readImageFile": "is not supported", "readPdfFile": "is not a PDF file",
	"git_push": "the repository has no remote", "git_pull": "the repository has no remote",
	"workspace server": "before it was ready", "screenshot": "the browser",
	"restore": "is not one of this workspace",
}

// try calls a tool with every hostile name as its argument p.
func (r *hostileRun) try(d *Dialect, tool *Tool, p *Param) {
	c := hostileCall{d: d, t: tool, p: p}
	names := hostilePaths
	if startsPrograms(tool.Name) {
		names = hostileFew
	}
	first := r.tried % hostileStep()
	r.tried++
	for i := first; i < len(names); i += hostileStep() {
		value := names[i]
		if r.spoiled {
			r.fresh()
		}
		c.value = strings.ReplaceAll(value, "$BASE", r.base)
		c.args = arguments(tool, p, quoted(c.value), r.url)
		r.call(c)
	}
	r.unmoved(fmt.Sprintf("%s %s %s", d.Name, tool.Name, p.Name))
}

// unmoved ends the test if anything outside is not as it was.
func (r *hostileRun) unmoved(calls string) {
	r.t.Helper()
	if d := differ(r.outside, r.around()); d != "" {
		r.t.Fatalf("%s: outside has changed: %s", calls, d)
	}
}
