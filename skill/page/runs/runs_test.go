package runs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/page/runs"
	"textskill/testdata/needs"
)

func TestMain(m *testing.M) {
	os.Exit(needs.Run(m))
}

// script is a model that returns its answers in order, then fails.
type script []agent.Answer

func (s *script) Next(context.Context, agent.Request) (agent.Answer, error) {
	if len(*s) == 0 {
		return agent.Answer{}, errors.New("the model is gone")
	}
	a := (*s)[0]
	*s = (*s)[1:]
	a.Usage = agent.Usage{InputTokens: 1000, OutputTokens: 100, TotalTokens: 1100}
	return a, nil
}

func call(name, args string) agent.Answer {
	return agent.Answer{Text: "I use " + name + ".",
		Calls: []agent.Call{{ID: name, Name: name, Arguments: args}}}
}

// run carries out a run with a model.
func run(t *testing.T, x *skill.Executor, id string, answers ...agent.Answer) {
	t.Helper()
	model := script(answers)
	cfg := agent.Config{Executor: x, Model: &model, Expert: "writer",
		Experts: map[string]agent.Expert{"writer": {Version: "1.0.0", Instruction: "You write."}},
		RunID:   id, MaxRetries: -1, About: agent.About{Provider: "openai", Model: "gpt-4o"}}
	for range agent.Run(t.Context(), cfg, "Write "+id) { // an error becomes a record
	}
}

// TestRuns shows two runs, one failed, and damaged records.
func TestRuns(t *testing.T) {
	x, err := skill.New(skill.Config{Dir: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	prices, err := agent.ReadPrices(nil)
	if err != nil {
		t.Fatal(err)
	}
	all := runs.Of(agent.Records{Executor: x}, prices)
	list := func() (got []string) {
		t.Helper()
		list, more, err := all.List(t.Context(), 10)
		if err != nil || more != 0 {
			t.Fatal(more, err)
		}
		for _, r := range list {
			got = append(got, strings.Join([]string{r.ID, r.Expert, r.Query, r.State, r.Cost}, ", "))
		}
		return got
	}
	if got := list(); got != nil {
		t.Errorf("without runs: %q", got)
	}
	run(t, x, "good", call("writeTextFile", `{"path":"a.txt","text":"one\ntwo\n","n":1}`),
		call("attemptCompletion", "{}"), agent.Answer{Text: "It is done."})
	run(t, x, "bad", call("readTextFile", `{"path":"missing"}`))
	want := []string{"bad, writer, Write bad, stopped by an error, $0.0035",
		"good, writer, Write good, completed, $0.0105"}
	if got := list(); !reflect.DeepEqual(got, want) {
		t.Errorf("the runs are %q", got)
	}

	events := func(id string, limit int) (got []string, before int) {
		t.Helper()
		_, list, before, err := all.Run(t.Context(), id, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			text := e.What + "|" + e.Words + "|" + strings.ReplaceAll(e.Text, x.Dir(), "DIR")
			if e.Failed {
				text = "failed: " + text
			}
			got = append(got, text+strings.Join(e.Changes, ","))
		}
		return got, before
	}
	want = []string{
		"writer begins||", "calls writeTextFile|I use writeTextFile.|path: a.txt\ntext: \none\ntwo\nn: 1\n",
		"result of writeTextFile||path: DIR/a.txt\ntext: \none\ntwo\n1",
		"calls attemptCompletion|I use attemptCompletion.|", "reports|It is done.|",
	}
	if got, before := events("good", 100); !reflect.DeepEqual(got, want) || before != 0 {
		t.Errorf("the good run: %q", got)
	}
	if got, before := events("good", 2); !reflect.DeepEqual(got, want[3:]) || before != 3 {
		t.Errorf("the end of the good run: %q after %d", got, before)
	}
	got, _ := events("bad", 100)
	if len(got) != 4 || !strings.HasPrefix(got[2], "failed: result of readTextFile") ||
		got[3] != "failed: stops by an error||the model could not be asked: the model is gone" {
		t.Errorf("the bad run: %q", got)
	}
	if _, _, _, err := all.Run(t.Context(), "none", 10); err == nil ||
		!strings.Contains(err.Error(), "there is no run none") {
		t.Errorf("a run that is not there: %v", err)
	}
	if _, _, _, err := all.Run(t.Context(), "../good", 10); err == nil {
		t.Error("a run elsewhere is shown")
	}

	// Two records with the same event ID are two events.
	name := filepath.Join(x.Dir(), "perstack/runs/good/event-%d-1-callTool.json")
	for _, at := range []int{1, 2} {
		if err := os.WriteFile(fmt.Sprintf(name, at), []byte(`{"type":"callTool","timestamp":7}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, same, _, err := all.Run(t.Context(), "good", 100); err != nil || len(same) < 2 ||
		same[0].ID == same[1].ID {
		t.Errorf("two records with the same time: %+v, %v", same, err)
	}

	all = runs.Of(agent.Records{Executor: x}, prices) // with empty caches
	files, err := filepath.Glob(filepath.Join(x.Dir(), "perstack/runs/bad/*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, damaged, _, err := all.Run(t.Context(), "bad", 100)
	if err != nil || r.Problem == "" || len(damaged) != 4 ||
		damaged[0].What != "a record that cannot be read" {
		t.Errorf("a damaged run is %+v with %+v, %v", r, damaged, err)
	}
}

// TestEvent cuts long texts, and does not change a text that only looks like a JSON object.
func TestEvent(t *testing.T) {
	for _, text := range []string{"", "{", `{"a"`, "words", `["a"]`} {
		e := agent.Event{Type: agent.ResolveToolResult, ToolResult: &agent.ToolResult{ToolName: "x",
			Result: []agent.Part{{Type: agent.TextPart, Text: text}}}}
		if got := runs.Event(e); got.Text != text {
			t.Errorf("%q is shown as %q", text, got.Text)
		}
	}
}
