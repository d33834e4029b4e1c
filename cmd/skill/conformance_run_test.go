package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A runRow is what the original runtime did with a scripted model.
type runRow struct {
	ID    string
	TOML  string
	Files []string
	Runs  []struct {
		Args   []string
		Script []scriptedAnswer
		Exit   int // below 0: ended by that signal
		Stderr string
		Events []map[string]any // whole, or type, step and keys
	}
	After []string `json:"after_names"`
}

// A scriptedAnswer is what the endpoint answers to one request.
type scriptedAnswer struct {
	Text  string
	Tools []struct {
		ID, Name string
		Input    json.RawMessage
	}
	Stop   string
	Status int
	Delay  int // seconds
}

// A runDivergence is a row that goes differently on purpose: by which rule, and
// how it goes, run by run. Events are "type/step"; a run that is "" goes as it was
// recorded. A nil After means the row's own files.
type runDivergence struct {
	File  string   `json:"file"`
	ID    string   `json:"id"`
	Rule  string   `json:"rule"`
	After []string `json:"after_names,omitempty"`
	Runs  []struct {
		Exit   int    `json:"exit"`
		Stderr string `json:"stderr"`
		Events string `json:"events"`
	} `json:"runs"`
}

// scriptedEndpoint speaks OpenAI's protocol, whole answers and streams in turn. It
// counts tokens as that of the recordings did.
func scriptedEndpoint(t *testing.T, script []scriptedAnswer) *httptest.Server {
	var mu sync.Mutex
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		mu.Lock()
		n := asked
		asked++
		mu.Unlock()
		a := scriptedAnswer{}
		if n < len(script) {
			a = script[n]
		}
		if a.Delay > 0 {
			<-r.Context().Done()
			return
		}
		if a.Status != 0 {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(a.Status)
			fmt.Fprint(w, `{"error":{"message":"scripted"}}`)
			return
		}
		a.write(w, n, n%2 == 1)
	}))
	t.Cleanup(s.Close)
	return s
}

func (a scriptedAnswer) write(w http.ResponseWriter, n int, stream bool) {
	message := map[string]any{"role": "assistant", "content": a.Text}
	var calls []map[string]any
	for i, c := range a.Tools {
		calls = append(calls, map[string]any{"index": i, "id": c.ID, "type": "function",
			"function": map[string]any{"name": c.Name, "arguments": string(c.Input)}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	choice := map[string]any{"index": 0, "message": message, "finish_reason": "stop"}
	if a.Stop == "max_tokens" {
		choice["finish_reason"] = "length"
	}
	if stream {
		choice["delta"] = message
		delete(choice, "message")
	}
	body, _ := json.Marshal(map[string]any{"choices": []any{choice}, "usage": map[string]any{
		"prompt_tokens": 100 + n, "completion_tokens": 10 + n, "total_tokens": 110 + 2*n, "prompt_tokens_details": map[string]any{"cached_tokens": 5}}})
	w.Header().Set("Content-Type", "application/json")
	if stream {
		w.Header().Set("Content-Type", "text/event-stream")
		body = fmt.Appendf(nil, "data: %s\n\ndata: [DONE]\n\n", body)
	}
	w.Write(body)
}

// skillRun runs the program as a process of its own and returns what it printed.
// With a signal, it gets that once it asks for an answer that does not come.
func skillRun(t *testing.T, dir, endpoint string, signal bool, args ...string) (stdout []map[string]any, stderr string, code int) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, append([]string{"run"}, args...)...)
	cmd.Args[0], cmd.Dir = "skill", dir
	cmd.Env = []string{noSleep, "PATH=" + os.Getenv("PATH"), "OPENAI_BASE_URL=" + endpoint, "SKILL_MODEL=claude-sonnet-4-5"}
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e map[string]any
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Errorf("%v: %s", err, lines.Bytes())
		}
		stdout = append(stdout, e)
		if signal && e["type"] == "startGeneration" && e["stepNumber"] == 2.0 {
			time.Sleep(50 * time.Millisecond)
			cmd.Process.Signal(syscall.SIGINT)
		}
	}
	cmd.Wait()
	return stdout, said.String(), cmd.ProcessState.ExitCode()
}

// TestConformanceRun replays what the original runtime did. Of events that are
// recorded whole, rule R8 leaves what is new, and rule R9 counts tokens as OpenAI
// does. Records are compared where there are events.
func TestConformanceRun(t *testing.T) {
	const file = "perstack-runtime"
	listed := map[string]runDivergence{}
	for _, d := range readRows[runDivergence](t, "divergences.jsonl") {
		if d.File == file {
			listed[d.ID] = d
		}
	}
	for _, row := range readRows[runRow](t, file+".jsonl") {
		d, diverges := listed[row.ID]
		delete(listed, row.ID)
		t.Run(row.ID, func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			write := func(name, content string) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			write("perstack.toml", row.TOML)
			for _, name := range row.Files {
				write(name, "\x89PNG\r\n\x1a\n")
			}
			var expected []string
			runID := ""
			told := &told{map[string]bool{}}
			for i, r := range row.Runs {
				events, stderr, code := skillRun(t, dir, scriptedEndpoint(t, r.Script).URL, r.Exit == -int(syscall.SIGINT), r.Args...)
				if len(events) > 0 {
					runID = events[0]["runId"].(string)
				}
				want, exit, complaint := shortEvents(r.Events), r.Exit, wantedStderr(r.Stderr, dir, runID)
				if exit < 0 {
					exit, complaint = 128-exit, ""
				}
				if diverges && i < len(d.Runs) && d.Runs[i].Events+d.Runs[i].Stderr != "" {
					exit, complaint = d.Runs[i].Exit, d.Runs[i].Stderr
					want = d.Runs[i].Events
				} else {
					checkEvents(t, events, told.wanted(r.Events))
				}
				if got := shortEvents(events); got != want {
					t.Errorf("run %d: events\n got %s\nwant %s", i, got, want)
				}
				if code != exit {
					t.Errorf("run %d: exit %d, want %d\n%s", i, code, exit, stderr)
				}
				if exit != 0 && !strings.Contains(stderr, complaint) {
					t.Errorf("run %d: stderr\n got %s\nwant %s", i, stderr, complaint)
				}
				expected = append(expected, recordNames(events)...)
			}
			if diverges && d.After != nil {
				row.After = d.After
			}
			checkFiles(t, dir, row, expected, diverges)
		})
	}
	for id := range listed {
		t.Errorf("divergence %s of %s names no row", id, file)
	}
}

// javaScript marks wording of the original's runtime, network and libraries, of
// which only the class counts.
var javaScript = regexp.MustCompile(`^\[\n|^file://|^node:|^fetch failed|^Invalid TOML`)

// wantedStderr is what has to be told of a failure.
func wantedStderr(recorded, dir, runID string) string {
	if javaScript.MatchString(recorded) {
		return "skill: "
	}
	s := strings.ReplaceAll(strings.TrimSpace(recorded), "${ROOT}", dir)
	return regexp.MustCompile(`\$\{ID\d+\}`).ReplaceAllLiteralString(s, runID)
}

func shortEvents(events []map[string]any) string {
	var s []string
	for _, e := range events {
		s = append(s, fmt.Sprintf("%s/%v", e["type"], e["stepNumber"]))
	}
	return strings.Join(s, " ")
}

// recordNames are the files that events leave, times and ids masked.
func recordNames(events []map[string]any) (names []string) {
	for _, e := range events {
		names = append(names, fmt.Sprintf("event-%v-%s", e["stepNumber"], e["type"]))
		if e["checkpoint"] != nil {
			names = append(names, fmt.Sprintf("checkpoint-%v", e["stepNumber"]))
		}
	}
	return names
}

var recordFile = regexp.MustCompile(`^perstack/runs/[^/]+/(checkpoint|event)-[^-]+-(\d+)(-[A-Za-z]+)?(-[^-]+)?\.json$`)

// checkFiles compares the workspace and the records with what was recorded, and
// the records with the events.
func checkFiles(t *testing.T, dir string, row runRow, events []string, diverges bool) {
	t.Helper()
	var files, records, wantFiles, wantRecords []string
	sort := func(name string, files, records *[]string) {
		switch m := recordFile.FindStringSubmatch(name); {
		case m != nil && m[1] == "event":
			*records = append(*records, "event-"+m[2]+m[3])
		case strings.HasPrefix(name, "perstack/runs/") && strings.Contains(name, "/checkpoint-"):
			*records = append(*records, "checkpoint-"+strings.Split(name, "-")[2])
		case strings.HasPrefix(name, "perstack/runs/"):
		case name != "perstack.toml":
			*files = append(*files, name)
		}
		slices.Sort(*files)
		slices.Sort(*records)
	}
	filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == ".skill" {
			return filepath.SkipDir
		}
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, name)
			sort(filepath.ToSlash(rel), &files, &records)
		}
		return err
	})
	for _, name := range row.After {
		sort(name, &wantFiles, &wantRecords)
	}
	slices.Sort(events)
	if !slices.Equal(records, events) {
		t.Errorf("records\n got %q\nwant %q", records, events)
	}
	if !diverges && !slices.Equal(records, wantRecords) {
		t.Errorf("records\n got %q\nwant %q", records, wantRecords)
	}
	if !slices.Equal(files, wantFiles) {
		t.Errorf("files\n got %q\nwant %q", files, wantFiles)
	}
}

// checkEvents compares the keys of events, and what else is recorded of them.
func checkEvents(t *testing.T, got, want []map[string]any) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if keys, ok := want[i]["keys"].([]any); ok {
			for _, key := range keys {
				if _, ok := got[i][key.(string)]; !ok {
					t.Errorf("event %d, %s, has no %s", i, got[i]["type"], key)
				}
			}
			if len(got[i]) != len(keys) {
				t.Errorf("event %d, %s, has other keys than %v: %v", i, got[i]["type"], keys, got[i])
			}
			continue
		}
		if g, w := masked(got[i]), masked(want[i]); !reflect.DeepEqual(g, w) {
			a, _ := json.MarshalIndent(g, "", " ")
			b, _ := json.MarshalIndent(w, "", " ")
			t.Errorf("event %d\n got %s\nwant %s", i, a, b)
		}
	}
}

// told are the messages that events have shown so far; a run that
// goes on shows none of those before.
type told struct{ sent map[string]bool }

// wanted leaves of recorded events what is new, as rule R8 says.
func (m *told) wanted(events []map[string]any) []map[string]any {
	for _, e := range events {
		if messages, ok := e["messages"].([]any); ok {
			e["messages"] = fresh(messages, m.sent)
		}
		if c, ok := e["initialCheckpoint"].(map[string]any); ok {
			fresh(c["messages"].([]any), m.sent)
			c["messages"] = []any{}
		}
		if c, ok := e["checkpoint"].(map[string]any); ok {
			c["messages"] = []any{}
		}
	}
	return events
}

// fresh returns the messages that seen does not hold, and adds them.
func fresh(messages []any, seen map[string]bool) []any {
	list := []any{}
	for _, message := range messages {
		id := message.(map[string]any)["id"].(string)
		if !seen[id] {
			list = append(list, message)
		}
		seen[id] = true
	}
	return list
}

// masked returns a value without what differs from run to run, and without what
// only one of the two holds.
func masked(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for key, inner := range v {
			switch key {
			case "parentId", "session", "pendingToolCalls", "contextWindowUsage": // R8, R8, R7, R9
			case "id", "runId", "checkpointId", "timestamp", "startedAt", "finishedAt":
				if s, ok := inner.(string); ok && !strings.HasPrefix(s, "${") && len(s) < 24 {
					m[key] = s // of a tool call
				}
			case "text":
				switch s, _ := inner.(string); {
				case strings.HasPrefix(s, "You work in a loop"):
					inner = "${INSTRUCTION}"
				case s == `{"message":"End the agent loop and provide a final report"}`:
					inner = "{}"
				}
				m[key] = inner
			default:
				m[key] = masked(inner)
			}
		}
		return m
	case []any:
		list := []any{}
		for _, inner := range v {
			list = append(list, masked(inner))
		}
		return list
	}
	return v
}
