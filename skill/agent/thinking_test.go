package agent

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestThinking gives a model back what it thought, in the next step and in a run that is
// continued.
func TestThinking(t *testing.T) {
	const secret = "sesame-5ecret"
	first := calls(`todo {"newTodos":["x"]}`, `listDirectory {"path":"."}`)
	first.Text, first.Thinking = "I look", Thinking{"hm", "p/m", json.RawMessage(`[{"signature":"c2ln"}]`)}
	second := calls("clearTodo")
	second.Thinking = Thinking{"the key is " + secret, "p/m",
		json.RawMessage(`[{"thinking":"the key is ` + secret + `"}]`)}
	l := newLab(t, first, second, calls("attemptCompletion"), "done")
	l.cfg.Secrets = []string{secret}
	l.cfg.MaxSteps = 1
	l.ran("go")
	l.cfg.RunID, l.cfg.Continue = "", "run"
	l.ran("")
	l.cfg.MaxSteps = 0
	events := l.ran("")
	sent := l.asked[len(l.asked)-1].Messages
	var thought []Part
	for _, m := range sent {
		for _, p := range m.Contents {
			if p.Type == ThinkingPart {
				p.ID = ""
				thought = append(thought, p)
			}
		}
	}
	got, _ := json.Marshal(thought)
	want := `[{"type":"thinkingPart","text":"hm","model":"p/m","replay":[{"signature":"c2ln"}],"id":""},{"type":"thinkingPart","text":"the key is [redacted]","model":"p/m","id":""}]`
	if string(got) != want {
		t.Errorf("the model is given back\n %s, want\n %s", got, want)
	}
	if text := *events[len(events)-1].Text; text != "done" {
		t.Errorf("the report is %q", text)
	}
	if report := l.asked[3]; report.Tools != nil || len(report.Withheld) == 0 {
		t.Errorf("the report is asked for with %d tools, and %d withheld", len(report.Tools),
			len(report.Withheld))
	}
}

// TestThinkingOfAnInterruptedStep has events that hold an answer, and no checkpoint of it.
func TestThinkingOfAnInterruptedStep(t *testing.T) {
	thinks := calls(`todo {"newTodos":["x"]}`, `listDirectory {"path":"."}`)
	thinks.Thinking = Thinking{"hm", "p/m", json.RawMessage(`["s"]`)}
	l := newLab(t, thinks, calls("attemptCompletion"))
	n := 0
	for e := range Run(t.Context(), l.cfg, "go") {
		if e.Type == ResolveToolResult {
			if n++; n == 2 {
				break
			}
		}
	}
	p, _, err := Records{Executor: l.cfg.Executor}.position(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	types := ""
	for _, m := range p.input {
		for _, part := range m.Contents {
			types += string(part.Type) + " "
		}
	}
	if want := "textPart textPart toolCallPart toolCallPart thinkingPart toolResultPart toolResultPart "; !strings.HasSuffix(types, want) {
		t.Errorf("the step continues with %s, want %s", types, want)
	}
}

// TestOnlyThoughts ends a run whose answers hold thoughts alone, sooner if each fills all the room.
func TestOnlyThoughts(t *testing.T) {
	thought := Answer{Thinking: Thinking{Text: "It is 42."}}
	filled := Answer{Thinking: thought.Thinking, Cut: true}
	for _, c := range []struct {
		answers []any
		asked   int
		said    string // the begin of the reason, "" if the run ends well
	}{
		{[]any{thought, thought, thought, thought, thought}, 5, "5 answers in a row were thoughts alone, without a text"},
		{[]any{filled, filled}, 2, "2 answers in a row were thoughts alone, up to the limit"},
		{[]any{thought, calls("todo {}"), filled, calls("attemptCompletion"), thought, "done"}, 6, ""},
	} {
		l := newLab(t, c.answers...)
		_, err := l.run("go")
		if len(l.asked) != c.asked || (err == nil) != (c.said == "") || err != nil && !strings.Contains(err.Error(), c.said) {
			t.Errorf("%d requests, error %v; want %d, %q", len(l.asked), err, c.asked, c.said)
		}
	}
}
