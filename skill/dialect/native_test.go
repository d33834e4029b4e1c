package dialect

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"textskill/parser"
	"textskill/parser/wire"
	"textskill/skill"
	"textskill/testdata/needs"
)

// A nativeRow is what a host, or a program of a vendor, did with calls of its own tools, or what
// its documentation says of them.
type nativeRow struct {
	ID, Vendor string
	Tools      []struct {
		MaxCharacters int `json:"max_characters"`
	}
	Settings struct {
		BashTimeout float64 `json:"bash_timeout_seconds"`
	}
	Setup, After []nativeFile
	Wire         string
	Messages     []json.RawMessage
	Replies      []json.RawMessage

	Tool   string // of Memento-S, which has no wire of its own
	Args   json.RawMessage
	Result *string
}

type nativeFile struct {
	Path, Link, Repeat string
	Content            *string
	Times              int
	Size               *int64
	Dir                bool
	MTime              *float64
}

func nativeRows(t *testing.T) (list []nativeRow) {
	data, err := os.ReadFile("../../testdata/conformance/native.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r nativeRow
		if bytes.Contains(lines.Bytes(), []byte(`"vendor": "perstack"`)) {
			continue // facts of a command line
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%v in %s", err, lines.Text())
		}
		if r.Messages != nil || r.Vendor == "memento-s" {
			list = append(list, r)
		}
	}
	return list
}

func (f nativeFile) content() string {
	if f.Content != nil {
		return *f.Content
	}
	return strings.Repeat(f.Repeat, f.Times)
}

// nativeWorkspace makes the files of a row.
func nativeWorkspace(t *testing.T, files []nativeFile, cfg skill.Config) (dir string, x *skill.Executor) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	for _, f := range files {
		name := filepath.Join(dir, f.Path)
		must(os.MkdirAll(filepath.Dir(name), 0o755))
		switch {
		case f.Dir:
			must(os.MkdirAll(name, 0o755))
		case f.Link != "":
			must(os.Symlink(strings.ReplaceAll(f.Link, "${ROOT}", dir), name))
		default:
			must(os.WriteFile(name, []byte(f.content()), 0o644))
		}
	}
	for _, f := range files {
		if f.MTime != nil {
			at := time.Unix(int64(*f.MTime), 0)
			must(os.Chtimes(filepath.Join(dir, f.Path), at, at))
		}
	}
	cfg.Dir, cfg.State, cfg.NoSync, cfg.Unfenced = dir, t.TempDir(), true, true
	x, err = skill.New(cfg)
	must(err)
	t.Cleanup(func() { x.Close() })
	return dir, x
}

// nativeTree describes what is in dir.
func nativeTree(t *testing.T, dir string) (lines []string) {
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, name)
		if err != nil || d.IsDir() {
			if entries, _ := os.ReadDir(name); err == nil && len(entries) == 0 && name != dir &&
				rel != memoryFolder {
				lines = append(lines, rel+"/")
			}
			return err
		}
		if d.Type() == fs.ModeSymlink {
			to, err := os.Readlink(name)
			lines = append(lines, rel+" -> "+to)
			return err
		}
		data, err := os.ReadFile(name)
		lines = append(lines, fmt.Sprintf("%s %d %q", rel, len(data), data[:min(len(data), 300)]))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func wantedTree(files []nativeFile, dir string) (lines []string) {
	for _, f := range files {
		switch text := f.content(); {
		case f.Dir:
			lines = append(lines, f.Path+"/")
		case f.Link != "":
			lines = append(lines, f.Path+" -> "+strings.ReplaceAll(f.Link, "${ROOT}", dir))
		case f.Size != nil:
			lines = append(lines, fmt.Sprintf("%s %d", f.Path, *f.Size))
		default:
			lines = append(lines, fmt.Sprintf("%s %d %q", f.Path, len(text), text[:min(len(text), 300)]))
		}
	}
	slices.Sort(lines)
	return lines
}

// play plays the session of a row, and gives each answer to check.
func (r *nativeRow) play(t *testing.T, dir string, x *skill.Executor, ids map[string]string,
	check func(i int, reply Reply)) {
	d, s, root := *Native, &skill.Session{}, strings.NewReplacer("${ROOT}", dir)
	for _, tool := range r.Tools {
		if tool.MaxCharacters > 0 {
			d = *d.Limit(tool.MaxCharacters)
		}
	}
	if r.Settings.BashTimeout > 0 {
		d.bashTime = time.Duration(r.Settings.BashTimeout * float64(time.Second))
	}
	if r.Tool != "" {
		call := parser.ToolCall{ID: "1", Name: r.Tool,
			Arguments: json.RawMessage(root.Replace(string(r.Args)))}
		check(0, d.Do(t.Context(), x, s, call))
	}
	for i, m := range r.Messages {
		text := root.Replace(string(m))
		for name, id := range ids {
			text = strings.NewReplacer(`\"`+name+`\"`, id, name, id).Replace(text)
		}
		if w := wire.Of(text); w == nil || w.Name != r.Wire {
			t.Errorf("the message is read as %v, not %s", w, r.Wire)
		}
		for reply := range d.Answer(t.Context(), x, s, Input{Text: text, Named: true}) {
			check(i, reply)
		}
	}
}

func needBash(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("this machine runs commands otherwise")
	}
	needs.Program(t, "bash")
}

// TestNativeRows replays each session, compares answers and trees, and undoes all of it.
func TestNativeRows(t *testing.T) {
	needs.InMemory(t)
	needBash(t)
	for _, r := range nativeRows(t) {
		t.Run(r.ID, func(t *testing.T) {
			dir, x := nativeWorkspace(t, r.Setup, skill.Config{})
			before, ids := nativeTree(t, dir), map[string]string{}
			r.play(t, dir, x, ids, func(i int, reply Reply) {
				if r.Tool == "" {
					matchReply(t, dir, ids, reply, r.Replies[i])
				} else if got := strings.ReplaceAll(reply.Body, dir, "${ROOT}"); got != *r.Result {
					t.Errorf("\n got %q\nwant %q", got, *r.Result)
				}
			})
			got, want := nativeTree(t, dir), wantedTree(r.After, dir)
			if len(got) != len(want) || !slices.EqualFunc(got, want, strings.HasPrefix) {
				t.Errorf("tree\n got %q\nwant %q", got, want)
			}
			if slices.Equal(got, before) {
				return
			}
			if _, err := x.Execute(t.Context(), &skill.Session{}, skill.Undo{Since: "1"}); err != nil {
				t.Error(err)
			}
			if undone := nativeTree(t, dir); !slices.Equal(undone, before) {
				t.Errorf("after undo\n got %q\nwant %q", undone, before)
			}
		})
	}
}

// TestNativeChangesNothing replays each session where nothing may be changed.
func TestNativeChangesNothing(t *testing.T) {
	for _, r := range nativeRows(t) {
		for name, cfg := range map[string]skill.Config{"dry run": {DryRun: true},
			"read only": {ReadOnly: true}} {
			t.Run(r.ID+" "+name, func(t *testing.T) {
				dir, x := nativeWorkspace(t, r.Setup, cfg)
				before := nativeTree(t, dir)
				r.play(t, dir, x, map[string]string{}, func(int, Reply) {})
				if got := nativeTree(t, dir); !slices.Equal(got, before) {
					t.Errorf("got %q\nwant %q", got, before)
				}
			})
		}
	}
}

// TestNativeShells holds the shells to what they keep between calls.
func TestNativeShells(t *testing.T) {
	needBash(t)
	dir, x := nativeWorkspace(t, []nativeFile{{Path: "d/x"}}, skill.Config{})
	s := &skill.Session{}
	for _, tt := range []struct{ tool, arguments, want string }{
		{"bash", `{"command":"cd d; A=(1 '2 3'); export E=$'a\\nb'; set -u; alias l='echo al'; shopt -s expand_aliases"}`, ""},
		{"bash", `{"command":"pwd; echo \"${A[1]}\" \"$E\"; l; printenv E; echo $NONE"}`,
			dir + "/d\n2 3 a\nb\nal\na\nb\nbash: line "},
		{"bash", `{"command":"pwd"}`, dir},
		{"bash", `{"command":"exit 3"}`,
			"<system>tool must be restarted</system>\nbash has exited with returncode 3"},
		{"bash", `{"command":"A=1; true\nnosuch; echo \"$A\""}`,
			"bash: line 2: nosuch: command not found\n1"},
		{"bash", `{"command":"nosuch || true"}`, "bash: line 1: nosuch: command not found"},
		{"bash", `{"command":"echo 'unclosed"}`, "unexpected EOF while looking for matching"},
		{"bash", `{"command":"printf '\\033[1mx\\033[0m\\n'"}`, "x"},
		{"bash", `{"command":"f() { for i in 1 2; do echo \"it's $i\"; done; }"}`, ""},
		{"bash", `{"command":"f; V=$(head -c 300000 /dev/zero | tr '\\0' y)"}`, "it's 1\nit's 2"},
		{"bash", `{"command":"echo ${#V}; f"}`, "300000\nit's 1\nit's 2"},
		{"bash", `{"command":"apply_patch <<'E'\n*** Begin Patch\n*** Add File: p.txt\n+hi\n*** End Patch\nE\n"}`, "Success. Updated the following files:\nA p.txt"},
		{"bash", `{"command":"cat p.txt"}`, "hi"},
		{"shell", `{"command":["bash","-lc","cd d && apply_patch <<EOF\n*** Begin Patch\n*** Add File: q.txt\n+hi\n*** End Patch\nEOF"]}`, "A d/q.txt"},
		{"exec_command", `{"cmd":"sleep 1; echo late","yield_time_ms":50}`,
			"Process running with session ID 1001"},
		{"write_stdin", `{"session_id":1001,"chars":"x"}`, "stdin is closed for this session"},
		{"write_stdin", `{"session_id":1001,"yield_time_ms":9000}`, "late\n"},
		{"write_stdin", `{"session_id":1001}`, "write_stdin failed: Unknown process id 1001"},
		{"exec_command", `{}`, "missing field `cmd`"},
		{"apply_patch", `{"input":""}`,
			"apply_patch verification failed: invalid patch: The first line of the patch must be '*** Begin Patch'"},
		{"apply_patch", `{}`, "missing field `input`"},
	} {
		reply := Native.Do(t.Context(), x, s,
			parser.ToolCall{ID: "1", Name: tt.tool, Arguments: json.RawMessage(tt.arguments)})
		end, ends := strings.CutSuffix(tt.want, "$")
		if !strings.Contains(reply.Body, end) ||
			tt.want == "" && reply.Body != "" || ends &&
			!strings.HasSuffix(reply.Body, end) {
			t.Errorf("%s %s\n got %q\nwant %q", tt.tool, tt.arguments, reply.Body, tt.want)
		}
	}
}

// matchReply compares an answer with that of a row, where ${VOLATILE} stands for anything and
// ${ID1} for an ID that the row uses later.
func matchReply(t *testing.T, dir string, ids map[string]string, got Reply, want json.RawMessage) {
	t.Helper()
	var w struct{ Final any }
	if err := json.Unmarshal(want, &w); err != nil {
		t.Fatal(err)
	}
	if w.Final != nil {
		if text, ok := w.Final.(string); got.Tool != "final" || ok && text != got.Body {
			t.Errorf("got %+v, want the final text %v", got, w.Final)
		}
		return
	}
	var a, b any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(got.Body, dir, "${ROOT}")), &a); err != nil {
		t.Fatalf("%v in %s", err, got.Body)
	}
	if err := json.Unmarshal(want, &b); err != nil {
		t.Fatal(err)
	}
	if where := unlike(a, b, ids); where != "" {
		t.Errorf("%s\n got %s\nwant %s", where, got.Body, want)
	}
}

// unlike says where two values differ, "" if they do not.
func unlike(got, want any, ids map[string]string) string {
	switch w := want.(type) {
	case string:
		g, ok := got.(string)
		if !ok {
			return fmt.Sprintf("got %v, want %q", got, w)
		}
		var gv, wv map[string]any
		if json.Unmarshal([]byte(g), &gv) == nil && json.Unmarshal([]byte(w), &wv) == nil {
			return unlike(map[string]any(gv), map[string]any(wv), ids)
		}
		if name := idName.FindString(w); name != "" {
			before, _, _ := strings.Cut(w, name)
			pattern := regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(before),
				regexp.QuoteMeta("${VOLATILE}"), ".*") + `(\d+)`)
			if m := pattern.FindStringSubmatch(g); m != nil {
				ids[name] = m[1]
				w = strings.ReplaceAll(w, name, m[1])
			}
		}
		if !likeRow(g, w) {
			return fmt.Sprintf("got  %q\nwant %q", g, w)
		}
	case []any:
		g, _ := got.([]any)
		if len(g) != len(w) {
			return fmt.Sprintf("got %d elements, want %d", len(g), len(w))
		}
		for i := range w {
			if where := unlike(g[i], w[i], ids); where != "" {
				return where
			}
		}
	case map[string]any:
		g, _ := got.(map[string]any)
		for key := range w {
			if text, volatile := w[key].(string); g[key] != nil && volatile && text == "${VOLATILE}" {
				continue
			}
			if where := unlike(g[key], w[key], ids); where != "" {
				return key + ": " + where
			}
		}
		for key := range g {
			if _, ok := w[key]; !ok {
				return fmt.Sprintf("%s is too much: %v", key, g[key])
			}
		}
	default:
		if !reflect.DeepEqual(got, want) {
			return fmt.Sprintf("got %v, want %v", got, want)
		}
	}
	return ""
}

var idName = regexp.MustCompile(`\$\{ID\d\}`)

func likeRow(got, want string) bool {
	if !strings.Contains(want, "${VOLATILE}") {
		return got == want
	}
	return regexp.MustCompile(`(?s)^` + strings.ReplaceAll(regexp.QuoteMeta(want),
		regexp.QuoteMeta("${VOLATILE}"), `.*`) + `$`).MatchString(got)
}

// TestNativeTerminal refuses a terminal where commands are fenced: nothing would fence it.
func TestNativeTerminal(t *testing.T) {
	x, err := skill.New(skill.Config{Dir: t.TempDir(), State: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	call := parser.ToolCall{Name: "exec_command", Arguments: json.RawMessage(`{"cmd":"true","tty":true}`)}
	if r := Native.Do(t.Context(), x, &skill.Session{}, call); r.Err == nil ||
		!strings.Contains(r.Body, "cannot be fenced") {
		t.Errorf("answered %q", r.Body)
	}
}

// TestNativeServerCalls answers nothing to an event whose call a server carries out.
func TestNativeServerCalls(t *testing.T) {
	_, x := nativeWorkspace(t, nil, skill.Config{})
	const event = `{"type":"agent.mcp_tool_use","id":"t1","name":"write","input":{"file_path":"a.txt","content":"x"}}`
	for reply := range Native.Answer(t.Context(), x, &skill.Session{}, Input{Text: event, Named: true}) {
		if strings.TrimSpace(reply.Body) != `{"events":[]}` {
			t.Errorf("answered %s", reply.Body)
		}
	}
}
