package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
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
		"prompt_tokens": 100 + n, "completion_tokens": 10 + n, "total_tokens": 110 + 2*n,
		"prompt_tokens_details": map[string]any{"cached_tokens": 5}}})
	w.Header().Set("Content-Type", "application/json")
	if stream {
		w.Header().Set("Content-Type", "text/event-stream")
		body = fmt.Appendf(nil, "data: %s\n\ndata: [DONE]\n\n", body)
	}
	w.Write(body)
}

// skillRun is runSkill with the parts of the outcome.
func skillRun(t *testing.T, dir, endpoint string, signal bool, args ...string) (events []map[string]any,
	stderr string, code int) {
	t.Helper()
	events, o := runSkill(t, dir, endpoint, signal, args...)
	return events, o.stderr, o.exit
}

// runSkill runs the program as a process of its own and returns what it printed.
// With a signal, it gets that once it asks for an answer that does not come.
func runSkill(t *testing.T, dir, endpoint string, signal bool, args ...string) (events []map[string]any,
	o outcome) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, append([]string{"run"}, args...)...)
	cmd.Args[0], cmd.Dir = "skill", dir
	cmd.Env = []string{noSleep, "XDG_STATE_HOME=" + os.Getenv("XDG_STATE_HOME"), "PATH=" + os.Getenv("PATH"),
		"OPENAI_BASE_URL=" + endpoint, "SKILL_MODEL=claude-sonnet-4-5"}
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
		events = append(events, e)
		o.stdout += lines.Text() + "\n"
		if signal && e["type"] == "startGeneration" && e["stepNumber"] == 2.0 {
			time.Sleep(50 * time.Millisecond)
			cmd.Process.Signal(syscall.SIGINT)
		}
	}
	cmd.Wait()
	o.stdout, o.stderr, o.exit = strings.ReplaceAll(o.stdout, dir, "${ROOT}"), said.String(),
		cmd.ProcessState.ExitCode()
	return events, o
}

// runBesides are the mutations for which a run gives no occasion.
var runBesides = []string{"a dry run shows no diff", "a diff has no hunks", "a file is left over",
	"files have mode 777",
	"files are empty", "files lack their newline", "line ends are CRLF", "absolute paths are not",
	"lines are dropped",
	"the last newline is lost", "lines are reversed"}

// noted is what runs say that succeed.
var noted = map[string]string{"max-steps-nan": "skill: --max-steps abc is not a number and is ignored\n"}

// A wantedRun is how one run has to go.
type wantedRun struct {
	exit   int
	stderr string           // all of it, or a part of what a run says that fails
	short  string           // type and step of each event
	events []map[string]any // as recorded
	whole  []string         // of a run that diverges: all events, masked
}

// loose reports whether the values of some event are not recorded.
func (w wantedRun) loose() bool {
	return w.exit != 0 || slices.ContainsFunc(w.events,
		func(e map[string]any) bool { return e["keys"] != nil })
}

func (w wantedRun) faults(o outcome) (bad []string) {
	var events []map[string]any
	for line := range strings.Lines(o.stdout) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return []string{fmt.Sprintf("%v: %s", err, line)}
		}
		events = append(events, e)
	}
	bad = append(bad, differs("events", shortEvents(events), w.short)...)
	bad = append(bad, differs("exit", o.exit, w.exit)...)
	bad = append(bad, differs("files", len(o.tree), 0)...)
	if w.exit == 0 && o.stderr != w.stderr || !strings.Contains(o.stderr, w.stderr) {
		bad = append(bad, fmt.Sprintf("stderr\n got %s\nwant %s", o.stderr, w.stderr))
	}
	if w.whole == nil {
		return append(bad, eventFaults(events, w.events)...)
	}
	var got []string
	for _, e := range events {
		got = append(got, encoded(masked(e)))
	}
	return append(bad, treeFaults(got, w.whole)...)
}

// wholeEvents are the events of the runs that diverge, masked, by row and run. -update
// rewrites them.
type wholeEvents struct {
	mu  sync.Mutex
	all map[string][]string
}

const wholeEventsFile = conformanceDir + "perstack-runtime-events.jsonl"

type wholeRun struct {
	ID     string            `json:"id"`
	Events []json.RawMessage `json:"events"`
}

func readWholeEvents(t *testing.T) *wholeEvents {
	w := &wholeEvents{all: map[string][]string{}}
	if *update {
		return w
	}
	for _, row := range readRows[wholeRun](t, filepath.Base(wholeEventsFile)) {
		w.all[row.ID] = []string{}
		for _, e := range row.Events {
			w.all[row.ID] = append(w.all[row.ID], string(e))
		}
	}
	return w
}

// of returns the wanted events of a run; with -update those are the events themselves.
func (w *wholeEvents) of(id string, o outcome) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if *update {
		w.all[id] = []string{}
		for line := range strings.Lines(o.stdout) {
			e, _ := decoded(line)
			w.all[id] = append(w.all[id], encoded(masked(e)))
		}
	}
	return append([]string{}, w.all[id]...)
}

func (w *wholeEvents) write(t *testing.T) {
	if !*update {
		return
	}
	var b strings.Builder
	for _, id := range slices.Sorted(maps.Keys(w.all)) {
		fmt.Fprintf(&b, `{"id":%q,"events":[%s]}`+"\n", id, strings.Join(w.all[id], ","))
	}
	if err := os.WriteFile(wholeEventsFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// storedEvents returns the events in the records, sorted.
func storedEvents(t *testing.T, dir string) []string {
	stored := []string{}
	names, err := filepath.Glob(filepath.Join(dir, "perstack/runs/*/event-*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		var e map[string]any
		if err == nil {
			err = json.Unmarshal(data, &e)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		stored = append(stored, encoded(e))
	}
	slices.Sort(stored)
	return stored
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
	var judge replay
	whole := readWholeEvents(t)
	t.Cleanup(func() {
		whole.write(t)
		judge.finish(t, runBesides...)
	})
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
			var expected, printed []string
			runID := ""
			told := &told{map[string]bool{}}
			for i, r := range row.Runs {
				events, o := runSkill(t, dir, scriptedEndpoint(t, r.Script).URL,
					r.Exit == -int(syscall.SIGINT), r.Args...)
				if len(events) > 0 {
					runID = events[0]["runId"].(string)
				}
				want := wantedRun{exit: r.Exit, stderr: wantedStderr(r.Stderr, dir, runID),
					short: shortEvents(r.Events)}
				if r.Exit == 0 {
					want.stderr = noted[row.ID]
				}
				if r.Exit < 0 {
					want.exit, want.stderr = 128-r.Exit, ""
				}
				if diverges && i < len(d.Runs) && d.Runs[i].Events+d.Runs[i].Stderr != "" {
					want.exit, want.stderr, want.short = d.Runs[i].Exit, d.Runs[i].Stderr, d.Runs[i].Events
					want.whole = whole.of(fmt.Sprintf("%s/%d", row.ID, i), o)
				} else {
					want.events = told.wanted(r.Events)
				}
				judge.judge(t, o, want.loose(), want.faults)
				expected = append(expected, recordNames(events)...)
				for _, e := range events {
					printed = append(printed, encoded(e))
				}
			}
			if diverges && d.After != nil {
				row.After = d.After
			}
			checkFiles(t, dir, row, expected, diverges)
			slices.Sort(printed)
			stored := outcome{tree: storedEvents(t, dir)}
			judge.judge(t, stored, false, func(o outcome) []string {
				bad := differs("stored", fmt.Sprint(o.stdout, o.stderr, o.exit), "0")
				return append(bad, treeFaults(o.tree, printed)...)
			})
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

// eventFaults compares the keys of events, and what else is recorded of them.
func eventFaults(got, want []map[string]any) (bad []string) {
	for i := range min(len(got), len(want)) {
		keys, ok := want[i]["keys"].([]any)
		if !ok {
			bad = append(bad, differs(fmt.Sprintf("event %d", i), encoded(masked(got[i])),
				encoded(masked(want[i])))...)
			continue
		}
		var names []string
		for _, key := range keys {
			names = append(names, key.(string))
		}
		slices.Sort(names)
		bad = append(bad, differs(fmt.Sprintf("keys of event %d, %s", i, got[i]["type"]),
			fmt.Sprint(slices.Sorted(maps.Keys(got[i]))), fmt.Sprint(names))...)
	}
	return bad
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
				case strings.HasPrefix(s, "You work in a loop") && strings.Count(s, "\n") > 4 &&
					!strings.Contains(s, "\r"):
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
