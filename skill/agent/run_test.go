package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"textskill/llmfallback/remote"
)

const ending = " startGeneration/2 callTool/2 attemptCompletion/2 completeRun/2"

func TestRun(t *testing.T) {
	tests := []struct {
		name    string
		answers []any
		max     int
		want    string
		err     string
	}{
		{"one step", []any{calls("attemptCompletion"), "done"}, 0,
			"startRun/1 startGeneration/1 callTool/1 attemptCompletion/1 completeRun/1", ""},
		{"a tool", []any{calls(`writeTextFile {"path":"a","text":"x"}`), calls("attemptCompletion {}"),
			"done"}, 0,
			"startRun/1 startGeneration/1 callTool/1 resolveToolResult/1 finishToolCall/1 continueToNextStep/1" + ending, ""},
		{"two tools", []any{calls(`writeTextFile {"path":"a","text":"x"}`, `readTextFile {"path":"a"}`),
			calls("attemptCompletion"), "done"}, 0,
			"startRun/1 startGeneration/1 callTool/1 resolveToolResult/1 callTool/1 resolveToolResult/1 finishToolCall/1 continueToNextStep/1" + ending, ""},
		{"reads together", []any{calls(`readTextFile {"path":"a"}`, `listDirectory {"path":"."}`),
			calls("attemptCompletion"), "done"}, 0,
			"startRun/1 startGeneration/1 callTool/1 callTool/1 resolveToolResult/1 resolveToolResult/1 finishToolCall/1 continueToNextStep/1" + ending, ""},
		{"completion beside a change",
			[]any{calls("attemptCompletion", `writeTextFile {"path":"a","text":"x"}`), "done"}, 0,
			"startRun/1 startGeneration/1 callTool/1 resolveToolResult/1 callTool/1 attemptCompletion/1 completeRun/1", ""},
		{"completion beside a failure", []any{calls("attemptCompletion", `readTextFile {"path":"a"}`),
			calls("attemptCompletion"), "done"}, 0,
			"startRun/1 startGeneration/1 callTool/1 resolveToolResult/1 callTool/1 resolveToolResult/1 finishToolCall/1 continueToNextStep/1" + ending, ""},
		{"todos remain", []any{calls(`todo {"newTodos":["x"]}`, "attemptCompletion"),
			calls(`todo {"completedTodos":[0]}`, "attemptCompletion"), "done"}, 0,
			"startRun/1 startGeneration/1 callTool/1 resolveToolResult/1 callTool/1 resolveToolResult/1 finishToolCall/1 continueToNextStep/1 " +
				"startGeneration/2 callTool/2 resolveToolResult/2 callTool/2 attemptCompletion/2 completeRun/2", ""},
		{"unknown tool, wrong arguments", []any{calls("fly {}", "todo [1]", `readTextFile {"path"`),
			calls("attemptCompletion"), "done"}, 0,
			"startRun/1 startGeneration/1 callTool/1 callTool/1 callTool/1 resolveToolResult/1 resolveToolResult/1 resolveToolResult/1 finishToolCall/1 continueToNextStep/1" + ending, ""},
		{"no call", []any{"well", calls("attemptCompletion"), "done"}, 0,
			"startRun/1 startGeneration/1 retry/1 continueToNextStep/1" + ending, ""},
		{"a text twice", []any{"well", "it is done"}, 0,
			"startRun/1 startGeneration/1 retry/1 continueToNextStep/1 startGeneration/2 completeRun/2", ""},
		{"a text twice, but not in a row", []any{"well", "", "well", calls("attemptCompletion"), "done"}, 0,
			"startRun/1 startGeneration/1 retry/1 continueToNextStep/1 startGeneration/2 retry/2 continueToNextStep/2 startGeneration/3 retry/3 continueToNextStep/3 startGeneration/4 callTool/4 attemptCompletion/4 completeRun/4", ""},
		{"a text twice with todos", []any{calls(`todo {"newTodos":["x"]}`), "well", "well",
			calls("clearTodo", "attemptCompletion"), "done"}, 0,
			"startRun/1 startGeneration/1 callTool/1 resolveToolResult/1 finishToolCall/1 continueToNextStep/1 startGeneration/2 retry/2 continueToNextStep/2 startGeneration/3 retry/3 continueToNextStep/3 " +
				"startGeneration/4 callTool/4 resolveToolResult/4 callTool/4 attemptCompletion/4 completeRun/4", ""},
		{"a call as text", []any{"I look.\n<tool_call>\n{\"name\":\"listDirectory\",\"arguments\":{\"path\":\".\"}}\n</tool_call>", "```json\n{\"name\":\"attemptCompletion\",\"arguments\":{}}\n```", "done"}, 0,
			"startRun/1 startGeneration/1 callTool/1 resolveToolResult/1 finishToolCall/1 continueToNextStep/1" + ending, ""},
		{"an unknown call as text", []any{"<tool_call>{\"name\":\"fly\",\"arguments\":{}}</tool_call>",
			calls("attemptCompletion"), "done"}, 0,
			"startRun/1 startGeneration/1 retry/1 continueToNextStep/1" + ending, ""},
		{"an empty report", []any{calls("attemptCompletion"), " ", "done"}, 0,
			"startRun/1 startGeneration/1 callTool/1 attemptCompletion/1 retry/1 completeRun/1", ""},
		{"a cut report", []any{calls("attemptCompletion"), Answer{Text: "all is", Cut: true}, "done"}, 0,
			"startRun/1 startGeneration/1 callTool/1 attemptCompletion/1 retry/1 completeRun/1", ""},
		{"a report that calls", []any{calls("attemptCompletion"), calls("todo"), "done"}, 0,
			"startRun/1 startGeneration/1 callTool/1 attemptCompletion/1 retry/1 completeRun/1", ""},
		{"a report that calls in its text",
			[]any{"<tool_call>{\"name\":\"attemptCompletion\",\"arguments\":{}}</tool_call>",
				"Yes.\n<tool_call>{\"name\":\"todo\",\"arguments\":{}}</tool_call>", "done"}, 0,
			"startRun/1 startGeneration/1 callTool/1 attemptCompletion/1 retry/1 completeRun/1", ""},
		{"no report, asked three times", []any{calls("attemptCompletion"), "", "", ""}, 0,
			"startRun/1 startGeneration/1 callTool/1 attemptCompletion/1 retry/1 retry/1 completeRun/1", ""},
		{"calls and cut texts in place of a report",
			[]any{calls("attemptCompletion"), calls("todo"), Answer{Text: "all is", Cut: true}, " "}, 0,
			"startRun/1 startGeneration/1 callTool/1 attemptCompletion/1 retry/1 retry/1 completeRun/1", ""},
		{"cut", []any{Answer{Cut: true, Calls: calls("todo {}").Calls}, calls("attemptCompletion"),
			"done"}, 0,
			"startRun/1 startGeneration/1 retry/1 continueToNextStep/1" + ending, ""},
		{"max steps", []any{calls("todo"), calls("todo"), calls("todo")}, 2,
			"startRun/1 startGeneration/1 callTool/1 resolveToolResult/1 finishToolCall/1 continueToNextStep/1 " +
				"startGeneration/2 callTool/2 resolveToolResult/2 finishToolCall/2 stopRunByExceededMaxSteps/2", ""},
		{"it may pass", []any{&remote.Error{Status: 503, Reason: "busy", Retry: true},
			calls("attemptCompletion"), &remote.Error{Reason: "cut", Retry: true}, "done"}, 0,
			"startRun/1 startGeneration/1 retry/1 startGeneration/1 callTool/1 attemptCompletion/1 retry/1 completeRun/1", ""},
		{"it does not pass", []any{&remote.Error{Status: 401, Reason: "key refused"}}, 0,
			"startRun/1 startGeneration/1 stopRunByError/1",
			"the model could not be asked: key refused (status 401)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, tt.answers...)
			l.cfg.MaxSteps = tt.max
			events, err := l.run("go")
			if got := types(events); got != tt.want {
				t.Errorf("events\n got %s\nwant %s", got, tt.want)
			}
			if fmt.Sprint(err) != tt.err && (err != nil || tt.err != "") {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			for i, r := range l.asked {
				checkConversation(t, i, r.Messages)
			}
			checkRecords(t, l, events)
		})
	}
}

func TestToolFailuresReachTheModel(t *testing.T) {
	l := newLab(t, calls("fly {}", "todo [1]", `readTextFile {"path":"no"}`, "readImageFile {}"),
		calls("attemptCompletion"), "done")
	l.ran("go")
	results := l.asked[1].Messages[3].Contents
	for i, want := range []string{"Tool fly not found", "no JSON object: they are [1]",
		"File no does not exist.", "path is required"} {
		if got := results[i].Contents[0].Text; !strings.Contains(got, want) {
			t.Errorf("result %d is %s, want %q in it", i, got, want)
		}
	}
}

func TestResume(t *testing.T) {
	l := newLab(t, calls(`todo {"newTodos":["first"]}`), calls(`todo {"newTodos":["second"]}`))
	l.cfg.MaxSteps = 1
	l.ran("go")
	c := l.from()
	if c.Status != StoppedByExceededMaxSteps || len(c.Messages) != 4 || len(c.Session.Todos) != 1 {
		t.Fatalf("the checkpoint is %+v", c)
	}
	if got, want := types(l.ran("")),
		"startRun/2 startGeneration/2 callTool/2 resolveToolResult/2 finishToolCall/2 stopRunByExceededMaxSteps/2"; got != want {
		t.Errorf("events\n got %s\nwant %s", got, want)
	}
	c = l.from()
	if len(c.Messages) != 6 || len(c.Session.Todos) != 2 || c.Usage.TotalTokens != 220 {
		t.Errorf("the checkpoint is %+v", c)
	}
	l.answers = append(l.answers, calls(`todo {"completedTodos":[0,1]}`, "attemptCompletion"), "both done")
	l.cfg.MaxSteps = 0
	l.ran("and now?")
	c = l.from()
	if text := c.Messages[6].Contents[0].Text; text != "and now?" || c.Status != Completed ||
		c.Messages[9].Contents[0].Text != "both done" {
		t.Errorf("the checkpoint is %+v", c)
	}
	if _, err := l.run(""); err == nil || !strings.Contains(err.Error(), "give it a query too") {
		t.Errorf("going on without a query: %v", err)
	}
}

func TestStop(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("interrupt")
	l := newLab(t, calls(`todo {"newTodos":["x"]}`), func(ctx context.Context) (Answer, error) {
		cancel(stopped)
		<-ctx.Done()
		return Answer{}, ctx.Err()
	})
	var events []Event
	var last error
	for e, err := range Run(ctx, l.cfg, "go") {
		if last = err; err == nil {
			events = append(events, e)
		}
	}
	if last != stopped {
		t.Errorf("the error is %v, want that of the context", last)
	}
	if got, want := types(events),
		"startRun/1 startGeneration/1 callTool/1 resolveToolResult/1 finishToolCall/1 continueToNextStep/1 startGeneration/2"; got != want {
		t.Errorf("events\n got %s\nwant %s", got, want)
	}
	if c := l.from(); c.StepNumber != 1 || c.Status != Proceeding {
		t.Errorf("the last checkpoint is %+v", c)
	}
}

func TestStopListening(t *testing.T) {
	l := newLab(t, calls("todo"))
	n := 0
	for range Run(t.Context(), l.cfg, "go") {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 || len(l.asked) != 1 {
		t.Errorf("%d events, %d requests", n, len(l.asked))
	}
}

func TestImages(t *testing.T) {
	l := newLab(t, calls(`readImageFile {"path":"i.png"}`, `readPdfFile {"path":"d.pdf"}`),
		calls("attemptCompletion"), "done")
	os.WriteFile(filepath.Join(l.dir, "i.png"), []byte("\x89PNG\r\n\x1a\n rest"), 0o666)
	os.WriteFile(filepath.Join(l.dir, "d.pdf"), []byte("%PDF-1.7\n"), 0o666)
	events := l.ran("go")
	if got, want := types(events[2:7]),
		"callTool/1 callTool/1 resolveImageFile/1 resolvePdfFile/1 finishToolCall/1"; got != want {
		t.Errorf("events\n got %s\nwant %s", got, want)
	}
	results := l.asked[1].Messages[3].Contents
	for i, want := range []Part{
		{Type: ImageInlinePart, EncodedData: "iVBORw0KGgogcmVzdA==", MimeType: "image/png"},
		{Type: FileInlinePart, EncodedData: "JVBERi0xLjcK", MimeType: "application/pdf"},
	} {
		got := results[i].Contents[1]
		if got.Type != want.Type || got.EncodedData != want.EncodedData || got.MimeType != want.MimeType {
			t.Errorf("part %+v, want %+v", got, want)
		}
	}
	held := 0
	for _, e := range events {
		data, _ := json.Marshal(e)
		held += strings.Count(string(data), "iVBORw0KGgog")
	}
	if held != 1 {
		t.Errorf("the image is in the events %d times, want once", held)
	}
	if c := l.from(); c.Messages[3].Contents[0].Contents[1].EncodedData == "" {
		t.Error("the checkpoint lacks the image")
	}
}

func TestManyCalls(t *testing.T) {
	var list []string
	for i := range 200 {
		list = append(list, fmt.Sprintf(`writeTextFile {"path":"f%d","text":"%d"}`, i%20, i))
	}
	l := newLab(t, calls(list...), calls("attemptCompletion"), strings.Repeat("long ", 1<<18))
	events := l.ran("go")
	if want := 2 + 400 + 2 + 4; len(events) != want {
		t.Errorf("%d events, want %d", len(events), want)
	}
	if got := l.file("f19"); got != "199" {
		t.Errorf("the last write is %q", got)
	}
	if text := *events[len(events)-1].Text; len(text) != 5<<18 {
		t.Errorf("the result has %d bytes", len(text))
	}
}

func TestTooManyFruitlessAnswers(t *testing.T) {
	var answers []any
	for range maxFruitless {
		answers = append(answers, " ")
	}
	l := newLab(t, answers...)
	events, err := l.run("go")
	if err == nil || events[len(events)-1].Type != StopRunByError {
		t.Errorf("%s, %v", types(events), err)
	}
}

// TestUnreadableArguments keeps what a model wrote instead of arguments.
func TestUnreadableArguments(t *testing.T) {
	l := newLab(t, calls(`todo {"newTodos":`), calls("attemptCompletion"), "done")
	events := l.ran("go")
	for _, got := range []string{string(events[2].ToolCall.Args),
		string(l.asked[1].Messages[2].Contents[0].Args)} {
		if want := `{"unreadable":"{\"newTodos\":"}`; got != want {
			t.Errorf("the arguments are %s, want %s", got, want)
		}
	}
	if !events[3].ToolResult.IsError {
		t.Error("the result is not an error")
	}
}

// TestSilence gives an answer that takes longer than the timeout, but is never silent for so
// long, and one that is.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.cfg.Timeout = 500 * time.Millisecond
		l.cfg.Model = talker(func(ctx context.Context, r Request) (Answer, error) {
			if len(r.Messages) > 2 {
				<-ctx.Done()
				return Answer{}, ctx.Err()
			}
			for range 15 {
				time.Sleep(50 * time.Millisecond)
				r.Heard("x")
			}
			return calls("todo"), ctx.Err()
		})
		l.cfg.MaxRetries = 1
		events, err := l.run("go")
		if want := "startRun/1 startGeneration/1 callTool/1 resolveToolResult/1 finishToolCall/1 continueToNextStep/1 startGeneration/2 retry/2 startGeneration/2 stopRunByError/2"; types(events) != want {
			t.Errorf("events\n got %s\nwant %s", types(events), want)
		}
		if err == nil || !strings.Contains(err.Error(), "nothing came from the model for 500ms") {
			t.Errorf("error %v", err)
		}
	})
}

type talker func(context.Context, Request) (Answer, error)

func (f talker) Next(ctx context.Context, r Request) (Answer, error) { return f(ctx, r) }

// TestPaidAnswers counts the usage of answers that are of no use.
func TestPaidAnswers(t *testing.T) {
	used := Usage{InputTokens: 5, OutputTokens: 2, TotalTokens: 7}
	asked := 0
	l := newLab(t)
	l.cfg.Model = talker(func(context.Context, Request) (Answer, error) {
		switch asked++; asked {
		case 1:
			return Answer{Usage: used}, &remote.Error{Reason: "filtered", Retry: true}
		case 2:
			return calls("attemptCompletion"), nil
		}
		return Answer{Text: "done", Usage: used}, nil
	})
	l.ran("go")
	if c := l.from(); c.Usage.TotalTokens != 7+110+7 {
		t.Errorf("the usage is %+v", c.Usage)
	}
}

// TestRetryAfter has an endpoint that asks for a wait, below and above the limit.
func TestRetryAfter(t *testing.T) {
	busy := func(after time.Duration) error {
		return &remote.Error{Status: 429, Reason: "busy", Retry: true, After: after}
	}
	var waited []time.Duration
	l := newLab(t, busy(61*time.Second), calls("todo"), busy(6*time.Minute))
	l.cfg.wait = func(_ context.Context, d time.Duration) error { waited = append(waited, d); return nil }
	if _, err := l.run("go"); err == nil ||
		!strings.HasSuffix(err.Error(), "asks to wait 6m0s, and at most 5m0s are waited") ||
		len(waited) != 1 || waited[0] != 61*time.Second {
		t.Errorf("waited %v, %v", waited, err)
	}
}

// TestReport has what ends a run in place of a report that can be used.
func TestReport(t *testing.T) {
	ending := calls("attemptCompletion")
	ending.Text = "I am done."
	for _, tt := range []struct {
		name    string
		answers []any
		want    string
	}{
		{"the longest text", []any{calls("attemptCompletion"), Answer{Text: "all is well, and", Cut: true},
			Answer{Text: "all", Cut: true}, " "}, "all is well, and"},
		{"the text beside a call",
			[]any{"<tool_call>{\"name\":\"attemptCompletion\",\"arguments\":{}}</tool_call>",
				"Made it.\n<tool_call>{\"name\":\"todo\",\"arguments\":{}}</tool_call>", "", ""}, "Made it."},
		{"the last text", []any{ending, "", calls("todo"), ""}, "I am done."},
		{"nothing", []any{calls("attemptCompletion"), "", "", ""}, ""},
		{"without thoughts", []any{calls("attemptCompletion"), "hm\n</think>\n\nThe answer is 4."},
			"The answer is 4."},
		{"a tag that is quoted", []any{calls("attemptCompletion"), "The tag `</think>` ends it."},
			"The tag `</think>` ends it."},
	} {
		l := newLab(t, tt.answers...)
		var warned []string
		l.cfg.Warn = func(what string) { warned = append(warned, what) }
		events := l.ran("go")
		if text := *events[len(events)-1].Text; text != tt.want {
			t.Errorf("%s: the report is %q, want %q", tt.name, text, tt.want)
		}
		if (warned == nil) != (len(tt.answers) == 2) {
			t.Errorf("%s: warnings %q", tt.name, warned)
		}
		for i, r := range l.asked[1:] {
			if r.Tools != nil {
				t.Errorf("%s: the report is asked for with tools the %d. time", tt.name, i+1)
			}
		}
	}
}

// TestWrittenCalls has calls in the text, each in another format.
func TestWrittenCalls(t *testing.T) {
	const d = "｜DSML｜"
	for _, text := range []string{
		"<function=writeTextFile>\n<parameter=path>\na.txt\n</parameter>\n<parameter=text>\nhi\n</parameter>\n</function>\n</tool_call>",
		"<" + d + "function_calls>\n<" + d + "invoke name=\"writeTextFile\">\n<" + d +
			"parameter name=\"path\" string=\"true\">a.txt</" + d + "parameter>\n<" + d +
			"parameter name=\"text\" string=\"true\">hi</" + d + "parameter>\n</" + d + "invoke>\n</" +
			d + "function_calls>",
		"<invoke name=\"writeTextFile\">\n<parameter name=\"path\">a.txt</" +
			"parameter>\n<parameter name=\"text\">hi</" + "parameter>\n</" + "invoke>",
		"<tool_call>\n<name>writeTextFile</name><args>{\"path\":\"a.txt\",\"text\":\"hi\"}</args></tool_call>",
		"{\"name\":\"writeTextFile\",\"arguments\":{\"path\":\"a.txt\",\"text\":\"hi\"}}",
		"<think>I should.</think>\n{\"name\":\"writeTextFile\",\"arguments\":{\"path\":\"a.txt\",\"text\":\"hi\"}}",
		"[writeTextFile(path=\"a.txt\", text=\"hi\")]",
		"<|tool_call_start|>[writeTextFile(path=\"a.txt\", text=\"hi\")]<|tool_call_end|>",
		"writeTextFile\n{\"path\":\"a.txt\",\"text\":\"hi\"}",
		">>>all\nI write.\n>>>writeTextFile\n{\"path\":\"a.txt\",\"text\":\"hi\"}",
		"Thought: I write.\nAction: writeTextFile\nAction Input: {\"path\":\"a.txt\",\"text\":\"hi\"}",
		"<TOOLCALL>[{\"name\":\"writeTextFile\",\"arguments\":{\"path\":\"a.txt\",\"text\":\"hi\"}}]</TOOLCALL>",
		"functools[{\"name\":\"writeTextFile\",\"arguments\":{\"path\":\"a.txt\",\"text\":\"hi\"}}]",
		"<|tool_call>call:writeTextFile{path:<|\"|>a.txt<|\"|>,text:<|\"|>hi<|\"|>}<tool_call|>",
		"```tool_code\nwriteTextFile(path='a.txt', text='hi')\n```",
		"<|START_ACTION|>[{\"tool_call_id\":\"0\",\"tool_name\":\"writeTextFile\",\"parameters\":{\"path\":\"a.txt\",\"text\":\"hi\"}}]<|END_ACTION|>",
	} {
		l := newLab(t, text, calls("attemptCompletion"), "done")
		l.ran("go")
		if got := l.file("a.txt"); got != "hi" {
			t.Errorf("%s\nwrote %q", text, got)
		}
	}
}

// TestNamesOfTools has names with what models write around them.
func TestNamesOfTools(t *testing.T) {
	for _, name := range []string{
		"writeTextFile<|channel|>commentary", "functions.writeTextFile", "default_api.writeTextFile",
		"default_api:writeTextFile", " writeTextFile", "WriteTextFile",
	} {
		l := newLab(t, Answer{Calls: []Call{{ID: "1", Name: name,
			Arguments: `"{\"path\":\"a\",\"text\":\"hi\"}"`}}}, calls("attemptCompletion"), "done")
		events := l.ran("go")
		if got := l.file("a"); got != "hi" || events[2].ToolCall.ToolName != "writeTextFile" {
			t.Errorf("%q wrote %q, called %q", name, got, events[2].ToolCall.ToolName)
		}
	}
}

// TestSchema has reports that do not fit: some that were asked for, and texts in a row.
func TestSchema(t *testing.T) {
	for _, tt := range []struct {
		answers []any
		want    string
		err     string
	}{
		{[]any{calls("attemptCompletion"), "[]", `{"n":"two"}`, `{"n":2}`},
			"startRun/1 startGeneration/1 callTool/1 attemptCompletion/1 retry/1 retry/1 completeRun/1", ""},
		{[]any{"well", `{"n":"two"}`, `{"n":2}`},
			"startRun/1 startGeneration/1 retry/1 continueToNextStep/1 startGeneration/2 retry/2 continueToNextStep/2 startGeneration/3 completeRun/3", ""},
		{[]any{calls("attemptCompletion"), "[]", `{"n":"two"}`, `{}`},
			"startRun/1 startGeneration/1 callTool/1 attemptCompletion/1 retry/1 retry/1 stopRunByError/1",
			"the final report does not fit the schema: "},
	} {
		l := newLab(t, tt.answers...)
		l.cfg.Schema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
		events, err := l.run("go")
		if got := types(events); got != tt.want {
			t.Errorf("events\n got %s\nwant %s", got, tt.want)
		}
		if fmt.Sprint(err)[:min(len(fmt.Sprint(err)), len(tt.err))] != tt.err ||
			(err == nil) != (tt.err == "") {
			t.Errorf("error %v, want %q", err, tt.err)
		}
		if text := events[len(events)-1].Text; err == nil && *text != `{"n":2}` {
			t.Errorf("the report is %s", *text)
		}
	}
	for schema, want := range map[string]string{
		`{"$schema":"https://json-schema.org/draft/2019-09/schema"}`:            `has the $schema "https://json-schema.org/draft/2019-09/schema"`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`: "has the $schema",
		`{"type":"any"}`: `has the type "any"`,
		`{"type":"object","properties":{"type":{"type":["obect","null"]}}}`:                 `has the type "obect"`,
		`{"$schema":"http://json-schema.org/draft-07/schema","type":"object"}`:              "",
		`{"$schema":"https://json-schema.org/draft/2020-12/schema#","enum":[{"type":"x"}]}`: "",
	} {
		_, err := resolveSchema(json.RawMessage(schema))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", schema, err, want)
		}
	}
	l := newLab(t)
	l.cfg.Schema = json.RawMessage(`{"type":1}`)
	if _, err := l.run("go"); err == nil || !strings.Contains(err.Error(), "is not a JSON Schema") {
		t.Errorf("error %v", err)
	}
}

// TestTextIsNoCall has texts that only speak of calls and thoughts.
func TestTextIsNoCall(t *testing.T) {
	const call = "<tool_call>{\"name\":\"writeTextFile\",\"arguments\":{\"path\":\"a\",\"text\":\"hi\"}}</tool_call>"
	for _, tt := range []struct {
		name    string
		answers []any
		want    string // the report; "" for the last text
	}{
		{"a protocol that keeps calls apart", []any{Answer{Text: call, Apart: true}, Answer{Text: call, Apart: true}}, ""},
		{"a thought that is no thought", []any{calls("attemptCompletion"),
			Answer{Text: "a\n</think>\n\nb", Apart: true}}, ""},
		{"thoughts that came apart", []any{calls("attemptCompletion"),
			Answer{Text: "a\n</think>\n\nb", Thinking: Thinking{Text: "hm"}}}, "a\n</think>\n\nb"},
		{"a model that makes calls", []any{calls(`todo {"newTodos":[]}`), call, call}, ""},
		{"a quotation", []any{"It says `" + call + "`.", "It says `" + call + "`."}, ""},
	} {
		l := newLab(t, tt.answers...)
		events := l.ran("go")
		if tt.want == "" {
			switch a := tt.answers[len(tt.answers)-1].(type) {
			case string:
				tt.want = a
			case Answer:
				tt.want = a.Text
			}
		}
		if text := events[len(events)-1].Text; text == nil || *text != tt.want {
			t.Errorf("%s: the report is %v, want %q", tt.name, text, tt.want)
		}
		if got := l.file("a"); got == "hi" {
			t.Errorf("%s: the call was carried out", tt.name)
		}
	}
}
