package dialect

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"textskill/parser"
	"textskill/skill"
	"textskill/testdata/needs"
)

// An editingRow is a play of calls, with what somebody else does in between.
type editingRow struct {
	ID    string
	Setup []editingStep
	Calls []editingStep

	Results []*struct {
		IsError    bool
		Has, Hasnt []string
	}
	After []struct {
		Path, Content, Base64 string
		Absent                bool
	}
}

type editingStep struct {
	Op, Path, Content, Base64 string // what somebody else does: write

	Name, Session string // of a call
	Arguments     json.RawMessage
}

// TestEditing replays rows about reading and changing files. Each file has as many as it says.
func TestEditing(t *testing.T) {
	needs.InMemory(t)
	for name, rows := range map[string]int{"workspace-editing": 164, "workspace-more": 14} {
		f, err := os.Open("../../testdata/conformance/" + name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		n := 0
		for ; lines.Scan(); n++ {
			var row editingRow
			if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
				t.Fatal(err)
			}
			t.Run(row.ID, func(t *testing.T) {
				t.Parallel() // some wait for a file to be old
				row.play(t)
			})
		}
		if n != rows {
			t.Errorf("%s: %d rows", name, n)
		}
	}
}

func (row *editingRow) play(t *testing.T) {
	dir := t.TempDir()
	for _, s := range row.Setup {
		s.do(t, dir)
	}
	sessions := map[string]func(parser.ToolCall) Reply{}
	open := func() func(parser.ToolCall) Reply {
		x, err := skill.New(skill.Config{Dir: dir, NoSync: true, Unfenced: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { x.Close() })
		session := &skill.Session{Guard: Workspace.Guard}
		return func(call parser.ToolCall) Reply { return Workspace.Do(t.Context(), x, session, call) }
	}
	shown := map[string]string{} // of ROW and ROW1, a file and a line: what was read last and first
	for i, call := range row.Calls {
		if call.Op != "" {
			call.do(t, dir)
			continue
		}
		if call.Name == "run" {
			needs.Shell(t)
		}
		if sessions[call.Session] == nil {
			sessions[call.Session] = open()
		}
		args := rowReference.ReplaceAllStringFunc(string(call.Arguments), func(s string) string {
			m := rowReference.FindStringSubmatch(s)
			if ref := shown[m[1]+" "+m[2]+" "+m[3]]; ref != "" {
				return ref
			}
			t.Fatalf("no row %s", s)
			return ""
		})
		r := sessions[call.Session](parser.ToolCall{Name: call.Name, Arguments: []byte(args)})
		text := strings.ReplaceAll(r.Body, dir+string(filepath.Separator), "")
		if call.Name == "read" && r.Err == nil {
			var a struct{ Paths []string }
			_ = json.Unmarshal([]byte(args), &a)
			file := strings.Join(a.Paths, "")
			file, _, _ = strings.Cut(file, ":")
			for line := range strings.Lines(text) {
				if name, ok := strings.CutPrefix(line, "==> "); ok {
					file = strings.TrimSuffix(name, " <==\n")
				}
				ref, _, _ := strings.Cut(line, "\t")
				key := " " + file + " " + strings.TrimRight(ref, "abcdefghijklmnopqrstuvwxyz")
				if shown["ROW1"+key] == "" {
					shown["ROW1"+key] = ref
				}
				shown["ROW"+key] = ref
			}
		}
		if want := row.Results[i]; want != nil {
			if (r.Err != nil) != want.IsError {
				t.Errorf("call %d %s: isError %v:\n%s", i, args, r.Err != nil, text)
			}
			for _, has := range want.Has {
				if !strings.Contains(text, has) {
					t.Errorf("call %d %s: no %q in\n%s", i, args, has, text)
				}
			}
			for _, not := range want.Hasnt {
				if strings.Contains(text, not) {
					t.Errorf("call %d %s: %q in\n%s", i, args, not, text)
				}
			}
			if t.Failed() {
				return
			}
		}
	}
	for _, want := range row.After {
		data, err := os.ReadFile(filepath.Join(dir, want.Path))
		content := []byte(want.Content)
		if want.Base64 != "" {
			content, _ = base64.StdEncoding.DecodeString(want.Base64)
		}
		switch {
		case want.Absent && !errors.Is(err, fs.ErrNotExist):
			t.Errorf("%s is there", want.Path)
		case !want.Absent && (err != nil || !bytes.Equal(data, content)):
			t.Errorf("%s: %v\n got %.2000q\nwant %.2000q", want.Path, err, data, content)
		}
	}
}

var rowReference = regexp.MustCompile(`\$\{(ROW1?) (\S+) (\d+)\}`)

// do does what a step says, as somebody else.
func (s editingStep) do(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, s.Path)
	data := []byte(s.Content)
	if s.Base64 != "" {
		data, _ = base64.StdEncoding.DecodeString(s.Base64)
	}
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil && s.Op == "write" {
		err = os.WriteFile(path, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
