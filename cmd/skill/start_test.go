package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"textskill/skill/agent"
)

// TestStart has a person who chooses an expert, answers a question of it, and goes
// on until an empty line.
func TestStart(t *testing.T) {
	const project = `
[experts.ask]
description = "Asks"
instruction = "Ask."
[experts.ask.skills.human]
type = "interactiveSkill"
[experts.ask.skills.human.tools.askUser]
inputJsonSchema = '{"type":"object"}'
[experts.other]
instruction = "Do it."
`
	var script []scriptedAnswer
	err := json.Unmarshal([]byte(`[
		{"tools":[{"id":"a","name":"askUser","input":{"question":"Colour?"}}]},
		{"tools":[{"id":"b","name":"writeTextFile","input":{"path":"c.txt","text":"blue"}},{"id":"c","name":"attemptCompletion","input":{}}]},
		{"text":"It is \u001b[34mblue.\nReally."},
		{"tools":[{"id":"d","name":"attemptCompletion","input":{}}]},
		{"text":"Bye."}]`), &script)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "perstack.toml"), []byte(project), 0o666); err != nil {
		t.Fatal(err)
	}
	endpoint := scriptedEndpoint(t, script).URL
	var stdout, stderr strings.Builder
	c := &cli{console: console{stdin: strings.NewReader("ask\npaint it\nblue\nthanks\n\nnot read\n"), stdout: &stdout, stderr: &stderr, getenv: func(name string) string {
		return map[string]string{"OPENAI_BASE_URL": endpoint, "SKILL_MODEL": "m"}[name]
	}}}
	if code := c.run(t.Context(), []string{"start", "-C", dir}); code != 0 || stderr.Len() > 0 {
		t.Errorf("exit %d: %s", code, stderr.String())
	}
	const want = `  ask  Asks
  other  
Which expert? What should I do?   1  askUser {"question":"Colour?"}
Answer:   2  writeTextFile {"path":"c.txt","text":"blue"}
  2  writeTextFile: {"path":"DIR/c.txt","text":"blue"}
  2  attemptCompletion {}
  2  attemptCompletion: {}

It is [34mblue.
Really.

(step 2, 336 tokens)

What next?   3  attemptCompletion {}
  3  attemptCompletion: {}

Bye.

(step 3, 570 tokens)

What next? 
`
	if got := strings.ReplaceAll(stdout.String(), dir, "DIR"); got != want {
		t.Errorf("the conversation is\n%s\nwant\n%s", got, want)
	}
}

// TestStartGoesOn has a person leave at a question of the expert, and come back.
func TestStartGoesOn(t *testing.T) {
	const project = `
[experts.ask]
instruction = "Ask."
delegates = ["worker"]
[experts.ask.skills.human]
type = "interactiveSkill"
[experts.ask.skills.human.tools.askUser]
inputJsonSchema = '{"type":"object"}'
[experts.worker]
instruction = "Work."
`
	var script []scriptedAnswer
	err := json.Unmarshal([]byte(`[
		{"tools":[{"id":"a","name":"askUser","input":{"question":"Colour?"}}]},
		{"tools":[{"id":"b","name":"worker","input":{"query":"paint"}}]},
		{"tools":[{"id":"c","name":"attemptCompletion","input":{}}]}, {"text":"Painted."},
		{"tools":[{"id":"d","name":"attemptCompletion","input":{}}]}, {"text":"Done."},
		{"tools":[{"id":"e","name":"attemptCompletion","input":{}}]}, {"text":"More."}]`), &script)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "perstack.toml"), []byte(project), 0o666); err != nil {
		t.Fatal(err)
	}
	endpoint := scriptedEndpoint(t, script).URL
	for _, tt := range []struct{ stdin, args, want string }{
		{"", "ask go", "  1  askUser {\"question\":\"Colour?\"}\nAnswer: \n"},
		{"blue\n", "--continue", "  1  askUser {\"question\":\"Colour?\"}\nAnswer:   3  worker: paint\n" +
			"  3  attemptCompletion {}\n  3  attemptCompletion: {}\n\nPainted.\n\n  4  attemptCompletion {}\n  4  attemptCompletion: {}\n\nDone.\n\n(step 4, 690 tokens)\n\nWhat next? \n"},
		{"more\n", "ask --continue",
			"What next?   5  attemptCompletion {}\n  5  attemptCompletion: {}\n\nMore.\n\n(step 5, 936 tokens)\n\nWhat next? \n"},
	} {
		var stdout, stderr strings.Builder
		c := &cli{console: console{stdin: strings.NewReader(tt.stdin), stdout: &stdout, stderr: &stderr, getenv: func(name string) string {
			return map[string]string{"OPENAI_BASE_URL": endpoint, "SKILL_MODEL": "m"}[name]
		}}}
		if code := c.run(t.Context(), append([]string{"start", "-C", dir}, strings.Fields(tt.args)...)); code != 0 || stderr.Len() > 0 {
			t.Errorf("%s: exit %d: %s", tt.args, code, stderr.String())
		}
		if got := stdout.String(); got != tt.want {
			t.Errorf("%s: the conversation is\n%s\nwant\n%s", tt.args, got, tt.want)
		}
	}
}

// TestStartInterrupted has a person who interrupts the model, then meets an endpoint that
// refuses, and goes on after both.
func TestStartInterrupted(t *testing.T) {
	dir := newProject(t)
	var script []scriptedAnswer
	err := json.Unmarshal([]byte(`[
		{"tools":[{"id":"a","name":"writeTextFile","input":{"path":"c.txt","text":"blue"}}]},
		{"delay":60}, {"status":401}, {"text":"It is done."}]`), &script)
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int32
	interrupts := make(chan os.Signal)
	answers := scriptedEndpoint(t, script)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 2 {
			go func() { interrupts <- os.Interrupt }()
		}
		answers.Config.Handler.ServeHTTP(w, r)
	}))
	defer endpoint.Close()
	var stdout, stderr strings.Builder
	c := &cli{console: console{stdin: strings.NewReader("paint it\ngo on\nonce more\n\n"), stdout: &stdout, stderr: &stderr, getenv: func(name string) string {
		return map[string]string{"OPENAI_BASE_URL": endpoint.URL, "SKILL_MODEL": "m"}[name]
	}}, interrupts: func() <-chan os.Signal { return interrupts }}
	if code := c.run(t.Context(), []string{"start", "-C", dir}); code != 0 {
		t.Errorf("exit %d", code)
	}
	if want := "skill: the model could not be asked: the key was refused: scripted (status 401); check OPENAI_API_KEY\n"; stderr.String() != want {
		t.Errorf("stderr is %s", stderr.String())
	}
	for _, want := range []string{"interrupted; what was done is kept\nWhat next? ", "\nIt is done.\n"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in\n%s", want, stdout.String())
		}
	}
	if strings.Contains(stdout.String(), "could not be asked") {
		t.Errorf("the error is told twice:\n%s", stdout.String())
	}
	if got := tree(t, dir)["c.txt"]; got != "blue" {
		t.Errorf("the file holds %q", got)
	}
}

// TestStartCommands has a person look at a change and take it back between queries. An answer
// in plain words is not asked for again.
func TestStartCommands(t *testing.T) {
	dir := newProject(t)
	t.Chdir(dir)
	var script []scriptedAnswer
	err := json.Unmarshal([]byte(`[
		{"tools":[{"id":"a","name":"writeTextFile","input":{"path":"c.txt","text":"blue"}}]}, {"text":"It is blue."}, {"text":"As you say."}]`), &script)
	if err != nil {
		t.Fatal(err)
	}
	endpoint := scriptedEndpoint(t, script).URL
	var stdout, stderr strings.Builder
	c := &cli{console: console{stdin: strings.NewReader("/diff\nhelp\npaint\n/help\n:history\n/diff\n/undo\n/paint\nundo\nundo\n/exit\n"), stdout: &stdout, stderr: &stderr, getenv: func(name string) string {
		return map[string]string{"OPENAI_BASE_URL": endpoint, "SKILL_MODEL": "m", "HOME": dir,
			"XDG_STATE_HOME": filepath.Join(dir, "..", "state")}[name]
	}}}
	if code := c.run(t.Context(), []string{"start"}); code != 0 {
		t.Errorf("exit %d: %s", code, stderr.String())
	}
	for _, want := range []string{"\nIt is blue.\n", "no changes are recorded", "/undo [ID]", "+blue",
		"undid change", "\nAs you say.\n"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in\n%s\n%s", want, stdout.String(), stderr.String())
		}
	}
	_, err = os.Stat(filepath.Join(dir, "c.txt"))
	if err == nil || !strings.Contains(stderr.String(), "there is no command /paint") ||
		!strings.Contains(stderr.String(), "/help is the command; to say \"help\"") {
		t.Errorf("c.txt is there (%v), or: %s", err, stderr.String())
	}
}

// TestHowToGoOn shows the question of a tool and the lines that continue a run.
func TestHowToGoOn(t *testing.T) {
	var stdout strings.Builder
	c := &cli{console: console{stdout: &stdout, stderr: &stdout, getenv: func(string) string { return "" }}}
	r := &runOptions{}
	call := agent.ToolCall{ToolName: "askUser", Args: json.RawMessage(`{"question":"Colour?"}`)}
	c.howToGoOn(agent.Config{Expert: "e"}, r, agent.Event{Type: agent.StopRunByInteractiveTool, RunID: "r1",
		Checkpoint: &agent.Checkpoint{StepNumber: 3, PendingToolCalls: []agent.ToolCall{call}}})
	c.howToGoOn(agent.Config{Expert: "e"}, r, agent.Event{Type: agent.StopRunByExceededMaxSteps, RunID: "r1"})
	for _, want := range []string{`  3  askUser {"question":"Colour?"}`, "run e ANSWER --continue-run r1 -i",
		"run e --continue-run r1\n"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in\n%s", want, stdout.String())
		}
	}
}
