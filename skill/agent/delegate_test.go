package agent

import (
	"strings"
	"testing"
)

// newTeam is a lab with a coordinator and a worker.
func newTeam(t *testing.T, answers ...any) *lab {
	l := newLab(t, answers...)
	l.cfg.Experts = map[string]Expert{
		"coord": {Version: "1.0.0", Instruction: "Coordinate.", Delegates: []string{"@me/worker"}},
		"@me/worker": {Version: "1.0.0", Description: "Does the work", Instruction: "Work.",
			Delegates: []string{"coord"}},
	}
	l.cfg.Expert = "coord"
	return l
}

// experts prints events as "type/step", each time another expert works behind its
// key.
func experts(events []Event) string {
	var b strings.Builder
	key := ""
	for _, e := range events {
		if e.ExpertKey != key {
			key = e.ExpertKey
			b.WriteString(" [" + key + "]")
		}
		b.WriteString(" " + types([]Event{e}))
	}
	return strings.TrimSpace(b.String())
}

func TestDelegation(t *testing.T) {
	const begin = "[coord] startRun/1 startGeneration/1"
	const worker = " [@me/worker] startRun/2 startGeneration/2 callTool/2 attemptCompletion/2 completeRun/2"
	for _, tt := range []struct {
		name    string
		answers []any
		max     int
		want    string
	}{
		{"one", []any{calls(`worker {"query":"do X"}`), calls("attemptCompletion"), "X is done",
			calls("attemptCompletion"), "all done"}, 0,
			begin + " callDelegate/1 stopRunByDelegate/1" + worker +
				" [coord] startRun/3 startGeneration/3 callTool/3 attemptCompletion/3 completeRun/3"},
		{"beside a tool and a completion",
			[]any{calls(`worker {"query":"do X"}`, `writeTextFile {"path":"a","text":"1"}`,
				"attemptCompletion"), calls("attemptCompletion"), "X is done", calls("attemptCompletion"),
				"all done"}, 0,
			begin + " callTool/1 resolveToolResult/1 callTool/1 resolveToolResult/1 callDelegate/1 stopRunByDelegate/1" + worker + " [coord] startRun/3 startGeneration/3 callTool/3 attemptCompletion/3 completeRun/3"},
		{"two", []any{calls(`worker {"query":"do X"}`, `worker {"query":"do Y"}`), calls("attemptCompletion"),
			"X is done", calls("attemptCompletion"), "Y is done", calls("attemptCompletion"), "all done"}, 0,
			begin + " callDelegate/1 stopRunByDelegate/1" + worker +
				" [coord] startRun/3 callDelegate/3 stopRunByDelegate/3" +
				" [@me/worker] startRun/4 startGeneration/4 callTool/4 attemptCompletion/4 completeRun/4 [coord] startRun/5 startGeneration/5 callTool/5 attemptCompletion/5 completeRun/5"},
		{"without a query", []any{calls("worker {}"), calls("attemptCompletion"), "all done"}, 0,
			begin + " callTool/1 resolveToolResult/1 finishToolCall/1 continueToNextStep/1" + ending},
		{"no step left", []any{calls(`worker {"query":"do X"}`)}, 1,
			begin + " callDelegate/1 stopRunByDelegate/1"},
		{"no step left for the report", []any{calls(`worker {"query":"do X"}`), calls("attemptCompletion"),
			"X is done"}, 2,
			begin + " callDelegate/1 stopRunByDelegate/1" + worker},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newTeam(t, tt.answers...)
			l.cfg.MaxSteps = tt.max
			if got := experts(l.ran("go")); got != tt.want {
				t.Errorf("events\n got %s\nwant %s", got, tt.want)
			}
			for i, r := range l.asked {
				checkConversation(t, i, r.Messages)
			}
			if len(l.asked) != len(tt.answers) {
				t.Errorf("%d requests, want %d", len(l.asked), len(tt.answers))
			}
		})
	}
}

// TestDelegatesAreApart has each expert with its own conversation and todos.
func TestDelegatesAreApart(t *testing.T) {
	l := newTeam(t,
		calls(`todo {"newTodos":["mine"]}`, `worker {"query":"do X"}`),
		calls(`todo {"newTodos":["its own"]}`), calls(`todo {"completedTodos":[0]}`, "attemptCompletion"),
		"X is done",
		calls(`todo {"completedTodos":[0]}`, "attemptCompletion"), "all done")
	l.ran("go")
	if m := l.asked[1].Messages; len(m) != 2 || m[1].Contents[0].Text != "do X" ||
		!strings.Contains(m[0].Contents[0].Text, "Work.") {
		t.Errorf("the worker is sent %+v", m)
	}
	m := l.asked[4].Messages
	if got := m[len(m)-1].Contents[1].Contents[0].Text; got != "X is done" {
		t.Errorf("the report is %q", got)
	}
	last := l.from()
	if todos := last.Session.Todos; len(todos) != 1 || todos[0].Title != "mine" || !todos[0].Completed {
		t.Errorf("the todos are %+v", todos)
	}
	if last.Usage.TotalTokens != 440 {
		t.Errorf("the usage is %+v", last.Usage)
	}
}

// TestDelegationResumed stops after each checkpoint of a delegation inside another,
// and goes on from there in a Run of its own.
func TestDelegationResumed(t *testing.T) {
	answers := []any{
		calls(`todo {"newTodos":["mine"]}`, `worker {"query":"do X"}`),
		calls(`coord {"query":"help"}`), calls("attemptCompletion"), "helped",
		calls("todo"), calls("attemptCompletion"), "X is done",
		calls(`todo {"completedTodos":[0]}`, "attemptCompletion"), "all done",
	}
	whole := newTeam(t, answers...)
	var want []string
	for _, e := range whole.ran("go") {
		if e.Checkpoint != nil {
			want = append(want, experts([]Event{e}))
		}
	}
	l := newTeam(t, answers...)
	l.cfg.MaxSteps = 1
	var got []string
	query := "go"
	for range 20 {
		for _, e := range l.ran(query) {
			if e.Checkpoint != nil {
				got = append(got, strings.ReplaceAll(experts([]Event{e}), string(StopRunByExceededMaxSteps),
					string(ContinueToNextStep)))
			}
		}
		if c := l.from(); c.Status == Completed && c.DelegatedBy == nil {
			break
		}
		query = ""
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("steps\n got %q\nwant %q", got, want)
	}
	for i := range whole.asked {
		a, b := whole.asked[i].Messages, l.asked[i].Messages
		if len(a) != len(b) || len(whole.asked[i].Tools) != len(l.asked[i].Tools) {
			t.Errorf("request %d has %d messages, want %d", i, len(b), len(a))
		}
	}
	l.cfg.Expert = "@me/worker"
	if _, err := l.run("more"); err == nil ||
		!strings.Contains(err.Error(), "expert key coord does not match input expert key @me/worker") {
		t.Errorf("going on as another: %v", err)
	}
}

// TestDelegationWithoutEnd has experts that do nothing but delegate.
func TestDelegationWithoutEnd(t *testing.T) {
	var answers []any
	for i := range MaxDepth - 1 {
		answers = append(answers, calls([]string{`worker {"query":"do X"}`, `coord {"query":"do X"}`}[i%2]))
	}
	l := newTeam(t, append(answers, calls(`coord {"query":"do X"}`), "stop")...)
	l.cfg.MaxSteps = MaxDepth
	l.ran("go")
	c := l.from()
	if text := c.Messages[3].Contents[0].Contents[0].Text; !strings.Contains(text, "16 experts wait for each other") {
		t.Errorf("the answer is %s", text)
	}
}

// TestInteractive has two calls that others answer, beside one that a tool does.
func TestInteractive(t *testing.T) {
	l := newLab(t, calls(`ask_them {"q":"colour?"}`, "todo", `ask_them {"q":"size?"}`),
		calls("attemptCompletion"), "done")
	l.cfg.Experts["e"] = Expert{Instruction: "Ask.", Skills: map[string]SkillConfig{
		"human": {Type: interactiveSkill,
			Tools: map[string]InteractiveTool{"ask them": {Description: "Ask",
				InputJSONSchema: `{"type":"object"}`}}},
	}}
	for _, step := range []struct{ query, want string }{
		{"go", "startRun/1 startGeneration/1 callTool/1 resolveToolResult/1 callInteractiveTool/1 stopRunByInteractiveTool/1"},
		{"blue", "startRun/2 callInteractiveTool/2 stopRunByInteractiveTool/2"},
		{"large", "startRun/3 startGeneration/3 callTool/3 attemptCompletion/3 completeRun/3"},
	} {
		if got := types(l.ran(step.query)); got != step.want {
			t.Errorf("%s: events\n got %s\nwant %s", step.query, got, step.want)
		}
		if l.from().Status == StoppedByInteractiveTool {
			l.cfg.Answer = false
			if _, err := l.run("without -i"); err == nil ||
				!strings.Contains(err.Error(), "waits for the result of ask_them") {
				t.Errorf("going on without an answer: %v", err)
			}
			l.cfg.Answer = true
			if _, err := l.run(""); err != errNoQuery {
				t.Errorf("an empty answer: %v", err)
			}
		}
		l.cfg.Answer = true
	}
	var texts []string
	for _, r := range l.asked[1].Messages[3].Contents {
		texts = append(texts, r.Contents[0].Text)
	}
	if got := strings.Join(texts, " "); got != `blue {"todos":[]} large` {
		t.Errorf("the results are %s", got)
	}
}

// TestDelegatesOfOneName has delegates that share the last part of their keys, and one
// that is called like a tool.
func TestDelegatesOfOneName(t *testing.T) {
	l := newLab(t, calls(`w {"query":"1"}`, `y_w {"query":"2"}`, `exec_2 {"query":"3"}`),
		calls("attemptCompletion"), "one", calls("attemptCompletion"), "two", calls("attemptCompletion"),
		"three", calls("attemptCompletion"), "done")
	for _, key := range []string{"@x/w", "@y/w@1.0.0", "exec"} {
		l.cfg.Experts[key] = Expert{Instruction: "I am " + key + "."}
	}
	l.cfg.Experts["e"] = Expert{Instruction: "Do it.", Delegates: []string{"@x/w", "@y/w@1.0.0", "exec"}}
	l.ran("go")
	for i, want := range map[int]string{1: "I am @x/w.", 3: "I am @y/w@1.0.0.", 5: "I am exec."} {
		if got := l.asked[i].Messages[0].Contents[0].Text; !strings.Contains(got, want) {
			t.Errorf("request %d goes to %s", i, got)
		}
	}
}

// TestDelegateThatCannotWork has the one who gave the task told why.
func TestDelegateThatCannotWork(t *testing.T) {
	t.Parallel()
	l := newTeam(t, calls(`worker {"query":"do X"}`), calls("attemptCompletion"), "all done")
	e := l.cfg.Experts["@me/worker"]
	e.Skills = map[string]SkillConfig{"s": {Type: stdioSkill, Command: "true",
		RequiredEnv: []string{"TEST_NOT_SET"}}}
	l.cfg.Experts["@me/worker"] = e
	const want = "[coord] startRun/1 startGeneration/1 callDelegate/1 stopRunByDelegate/1 startRun/2 startGeneration/2 callTool/2 attemptCompletion/2 completeRun/2"
	if got := experts(l.ran("go")); got != want {
		t.Errorf("events\n got %s\nwant %s", got, want)
	}
	if got := l.results(1); got[0] != "textPart: Delegation error: Skill s requires environment variable TEST_NOT_SET" {
		t.Errorf("the result is %q", got)
	}
}
