package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"textskill/skill"
	"textskill/testdata/needs"
)

// A perstackRow is what the original server did in one workspace.
type perstackRow struct {
	ID        string
	Setup     []perstackStep
	Calls     []perstackCall
	Results   []perstackResult
	ServerEnv map[string]string
	After     []perstackFile
}

// A perstackStep makes one file before the calls.
type perstackStep struct {
	Op, Path, Content, Base64, Target, Mode, Text string
	Size, Epoch                                   int64
	Times, Count                                  int
}

type perstackCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

type perstackResult struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	IsError bool `json:"isError,omitempty"`
	Meta    *struct {
		Undo    json.Number `json:"undo"`
		NotKept string      `json:"not_kept"`
	} `json:"_meta,omitempty"`
}

// A perstackFile is one file after the calls. Folders end with a slash.
type perstackFile struct {
	Path    string  `json:"path"`
	Mode    string  `json:"mode,omitempty"`
	Symlink string  `json:"symlink,omitempty"`
	Content *string `json:"content,omitempty"`
	Base64  string  `json:"base64,omitempty"`
	Size    int64   `json:"size,omitempty"`
	SHA256  string  `json:"sha256,omitempty"`
	Missing bool    `json:"missing,omitempty"`
}

// A perstackDivergence is a row that is answered differently on purpose: by which
// rule, and all our texts in the order of the calls. A text that begins with
// {"error" or with MCP is one of a failure; nil After means the row's own tree.
type perstackDivergence struct {
	File    string         `json:"file"`
	ID      string         `json:"id"`
	Rule    string         `json:"rule"`
	Fenced  bool           `json:"fenced"` // only where the system has a fence
	Results []string       `json:"results"`
	Hidden  []string       `json:"hidden,omitempty"` // results where the fence also hides what lies outside
	After   []perstackFile `json:"after,omitempty"`
}

// TestConformancePerstack replays what the original did over MCP. Three rules touch
// all rows, and are applied to what was recorded: a failure is marked as an error
// (rule P5), getFileInfo tells the path as it was given (rule P4), and an error about
// the type of an argument has words of its own (rule P9).
func TestConformancePerstack(t *testing.T) {
	fence := fenceOfCommands(t)
	var r replay
	t.Cleanup(func() { r.finish(t, perstackBesides...) })
	for _, file := range []string{"perstack-base", "perstack-base-limits"} {
		listed := map[string]perstackDivergence{}
		for _, d := range readRows[perstackDivergence](t, "divergences.jsonl") {
			if d.File == file {
				listed[d.ID] = d
			}
		}
		for _, row := range readRows[perstackRow](t, file+".jsonl") {
			d, diverges := listed[row.ID]
			delete(listed, row.ID)
			t.Run(file+"/"+row.ID, func(t *testing.T) {
				t.Parallel()
				if slices.ContainsFunc(row.Calls, func(c perstackCall) bool { return c.Name == "exec" }) {
					needs.Shell(t)
				}
				w := newPerstackWorkspace(t, row)
				o := w.replay(t, row)
				want, after := wantedResults{calls: row.Calls, texts: row.wanted()}, row.After
				if diverges && (fence.ABI > 0 || !d.Fenced) {
					want.texts = d.Results
					if d.Hidden != nil && fence.Sockets {
						want.texts = d.Hidden
					}
					if d.After != nil {
						after = d.After
					}
				}
				want.tree = w.treeLines(t, after)
				loose := anyPart.MatchString(strings.Join(want.texts, ""))
				r.judge(t, o, loose, want.faults)
			})
		}
		for id := range listed {
			t.Errorf("divergence %s of %s names no row", id, file)
		}
	}
}

// wanted returns the recorded texts, with the rules applied that touch all rows.
func (row perstackRow) wanted() []string {
	var texts []string
	for i, r := range row.Results {
		text := r.Content[0].Text
		if row.Calls[i].Name == "getFileInfo" {
			var given struct{ Path json.RawMessage }
			json.Unmarshal(row.Calls[i].Arguments, &given)
			text = givenPath.ReplaceAllLiteralString(text, `{"exists":true,"path":`+string(given.Path))
		}
		for _, class := range typeErrors {
			text = class.ReplaceAllString(text, "$1$${OWN}$2")
		}
		texts = append(texts, text)
	}
	if row.ID == "readTextFile/unreadable-mode" && os.Geteuid() != 0 { // it was recorded as root
		texts[0] = `{"error":"Error","message":"EACCES: permission denied, open '${ROOT}/f.txt'"}`
	}
	return texts
}

// typeErrors match the errors about types: what says their class, and in parts the words.
var typeErrors = []*regexp.Regexp{
	regexp.MustCompile(`(?s)^(MCP error -32602: Input validation error: Invalid arguments for tool \w+: ).*()$`),
	regexp.MustCompile(`^(\{"error":(?:"TypeError","message":)?").* without null bytes\. .*("\})$`),
}

// anyPart matches the parts of a wanted text for which another text may stand.
var anyPart = regexp.MustCompile(`\$\{(?:VOLATILE|OWN)\}`)

var givenPath = regexp.MustCompile(`^\{"exists":true,"path":"[^"]*"`)

// perstackBesides are the mutations for which an MCP server gives no occasion.
var perstackBesides = []string{"a dry run shows no diff", "a diff has no hunks", "the exit status is 0",
	"nothing is on stderr", "every call ID is x"}

// wantedResults is what calls over MCP have to be answered and to leave.
type wantedResults struct {
	calls []perstackCall
	texts []string
	tree  []string
}

func (w wantedResults) faults(o outcome) []string {
	bad := treeFaults(o.tree, w.tree)
	bad = append(bad, differs("stderr", o.stderr, "")...)
	bad = append(bad, differs("exit", o.exit, 0)...)
	lines := strings.SplitAfter(o.stdout, "\n")
	if len(lines) != len(w.texts)+1 || len(w.texts) != len(w.calls) {
		return append(bad, fmt.Sprintf("%d answers to %d calls, want %d", len(lines)-1, len(w.calls),
			len(w.texts)))
	}
	for i, text := range w.texts {
		bad = append(bad, w.calls[i].faults(lines[i], i+1, text)...)
	}
	return bad
}

// faults compares one answer. Whether it is a failure must show in its text.
func (c perstackCall) faults(line string, id int, want string) []string {
	var got struct {
		JSONRPC string
		ID      int
		Result  perstackResult
	}
	d := json.NewDecoder(strings.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&got); err != nil || got.JSONRPC != "2.0" || got.ID != id {
		return []string{fmt.Sprintf("call %d is answered by %s: %v", id, line, err)}
	}
	if len(got.Result.Content) != 1 || got.Result.Content[0].Type != "text" {
		return []string{fmt.Sprintf("%s: the content is %+v, want one text", c.Name, got.Result.Content)}
	}
	text := got.Result.Content[0].Text
	if anyPart.MatchString(want) {
		parts := strings.NewReplacer(`\$\{VOLATILE\}`, `\d+`, `\$\{OWN\}`, `\w[^\n]* [^\n]*`)
		if regexp.MustCompile("^" + parts.Replace(regexp.QuoteMeta(want)) + "$").MatchString(text) {
			want = text
		}
	}
	bad := differs(c.Name+" "+string(c.Arguments), text, want)
	failed := strings.HasPrefix(want, `{"error":`) || strings.HasPrefix(want, "MCP error ")
	return append(bad, differs("isError of "+c.Name, got.Result.IsError, failed)...)
}

// perstackWorkspace is where a row is replayed: the folder ws in a folder of its own.
type perstackWorkspace struct{ root, parent string }

func newPerstackWorkspace(t *testing.T, row perstackRow) perstackWorkspace {
	t.Helper()
	parent, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := perstackWorkspace{filepath.Join(parent, "ws"), parent}
	for _, dir := range []string{w.root, filepath.Join(parent, "home")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range row.Setup {
		if err := w.make(step); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// fill puts this workspace's names in place of the recorded ones.
func (w perstackWorkspace) fill(s string) string {
	return strings.NewReplacer("${ROOT}", w.root, "${PARENT}", w.parent).Replace(s)
}

func (w perstackWorkspace) path(name string) string {
	if name = w.fill(name); !filepath.IsAbs(name) {
		name = filepath.Join(w.root, name)
	}
	return name
}

// make carries out one step of a row's setup.
func (w perstackWorkspace) make(s perstackStep) error {
	path := w.path(s.Path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	switch s.Op {
	case "write":
		return os.WriteFile(path, []byte(w.fill(s.Content)), 0o644)
	case "write_b64":
		data, err := base64.StdEncoding.DecodeString(s.Base64)
		if err != nil {
			return err
		}
		return os.WriteFile(path, data, 0o644)
	case "repeat":
		return os.WriteFile(path, []byte(strings.Repeat(s.Text, s.Times)), 0o644)
	case "sparse":
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			return err
		}
		return os.Truncate(path, s.Size)
	case "many":
		for i := range s.Count {
			if err := os.WriteFile(strings.ReplaceAll(path, "{i}", strconv.Itoa(i)), []byte(s.Content),
				0o644); err != nil {
				return err
			}
		}
		return nil
	case "mkdir":
		return os.MkdirAll(path, 0o755)
	case "symlink":
		return os.Symlink(w.fill(s.Target), path)
	case "chmod":
		mode, err := strconv.ParseUint(strings.TrimPrefix(s.Mode, "0o"), 8, 32)
		if err != nil {
			return err
		}
		return os.Chmod(path, fs.FileMode(mode))
	case "utime":
		return os.Chtimes(path, time.Unix(s.Epoch, 0), time.Unix(s.Epoch, 0))
	}
	return fmt.Errorf("no such step: %s", s.Op)
}

// replay makes the row's calls, one after another, to a server of its own.
func (w perstackWorkspace) replay(t *testing.T, row perstackRow) (o outcome) {
	t.Helper()
	env := map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": w.parent + "/home"}
	for name, value := range row.ServerEnv {
		env[name] = w.fill(value)
	}
	s := startPerstack(t, w.root, env)
	for _, c := range row.Calls {
		c.Arguments = json.RawMessage(w.fill(string(c.Arguments)))
		s.ask(t, c)
		o.stdout += mutated(string(s.line), ofKind(func(s string) any { return w.mask(s) }))
	}
	o.stderr, o.tree = w.mask(s.stop(t)), w.tree(t, row.After)
	return o
}

var (
	anyTime    = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"`)
	folderSize = regexp.MustCompile(`("type":"directory",(?:"mimeType":null,)?"size":)\d+`)
	folderText = regexp.MustCompile(`("size":"\$\{DIRSIZE\}","sizeFormatted":)"[^"]*"`)
)

// ownVars are the variables by which a fenced command knows its folders of temporary and cached
// files, what keeps tar from setting owners for root, and noSleep. The original had no
// fence.
var ownVars = regexp.MustCompile(`(?:TMPDIR=[^"\\]*/skill-[0-9a-z]+|[A-Za-z_]+=[^"\\]*/caches(?:/[^"\\]*)?|` +
	noSleep + `)\\n`)

// fenceOfCommands returns the fence that a command gets here.
func fenceOfCommands(t *testing.T) skill.Fence {
	t.Helper()
	x, err := skill.New(skill.Config{Dir: t.TempDir(), Helper: "/proc/self/exe"})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	r, err := x.Execute(t.Context(), &skill.Session{}, skill.Health{})
	if err != nil {
		t.Fatal(err)
	}
	return r.(skill.HealthReport).Fence
}

// mask puts the recorded names in place of what differs from run to run.
func (w perstackWorkspace) mask(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, w.root, "${ROOT}"), w.parent, "${PARENT}")
	text = anyTime.ReplaceAllStringFunc(text, func(at string) string {
		if strings.HasPrefix(at, `"2001-`) {
			return at
		}
		return `"${TIME}"`
	})
	text = folderSize.ReplaceAllString(text, `$1"$${DIRSIZE}"`)
	text = ownVars.ReplaceAllLiteralString(text, "")
	return folderText.ReplaceAllString(text, `$1"$${DIRSIZE}"`)
}

// treeLines describes the files of a row, a sorted line for each.
func (w perstackWorkspace) treeLines(t *testing.T, files []perstackFile) []string {
	t.Helper()
	lines := []string{}
	for _, f := range files {
		if f.Missing {
			t.Fatalf("%s must be missing, which no rule allows", f.Path)
		}
		f.Symlink = w.fill(f.Symlink)
		if f.Content == nil && f.Base64 != "" {
			text := string(decode64(t, f.Base64))
			f.Content, f.Base64 = &text, ""
		}
		lines = append(lines, f.line())
	}
	slices.Sort(lines)
	return lines
}

func (f perstackFile) line() string {
	what := fmt.Sprintf("%d bytes %s", f.Size, f.SHA256)
	switch {
	case f.Symlink != "":
		what, f.Mode = "-> "+f.Symlink, ""
	case f.Content != nil:
		what = fmt.Sprintf("%q", *f.Content)
	case strings.HasSuffix(f.Path, "/"):
		what = "folder"
	}
	return fmt.Sprintf("%q %s %s", f.Path, f.Mode, what)
}

// tree describes all files but folders outside of the workspace, those whose content want does not hold by their size.
func (w perstackWorkspace) tree(t *testing.T, want []perstackFile) []string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(w.parent, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == w.parent || path == w.root {
			return err
		}
		rel, err := filepath.Rel(w.root, path)
		if err != nil {
			return err
		}
		if rel == ".skill" || rel == "../home/.local" { // where the history is
			return fs.SkipDir
		}
		if d.IsDir() && strings.HasPrefix(rel, "../") {
			return nil
		}
		f, err := describeFile(path, rel, d, want)
		lines = append(lines, f.line())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return lines
}

func describeFile(path, rel string, d fs.DirEntry, want []perstackFile) (f perstackFile, err error) {
	info, err := d.Info()
	if err != nil {
		return f, err
	}
	f = perstackFile{Path: rel, Mode: fmt.Sprintf("0o%o", info.Mode().Perm())}
	switch {
	case d.IsDir():
		f.Path += "/"
		return f, nil
	case d.Type() == fs.ModeSymlink:
		f.Symlink, err = os.Readlink(path)
		return f, err
	}
	i := slices.IndexFunc(want, func(w perstackFile) bool { return w.Path == rel })
	if i >= 0 && want[i].Content == nil && want[i].Base64 == "" && want[i].SHA256 == "" {
		f.Size = info.Size()
		return f, nil
	}
	if info.Mode()&0o400 == 0 {
		if err := os.Chmod(path, 0o400); err != nil {
			return f, err
		}
	}
	data, err := os.ReadFile(path)
	if i >= 0 && want[i].SHA256 != "" {
		sum := sha256.Sum256(data)
		f.Size, f.SHA256 = info.Size(), hex.EncodeToString(sum[:])
		return f, err
	}
	text := string(bytes.Clone(data))
	f.Content = &text
	return f, err
}
