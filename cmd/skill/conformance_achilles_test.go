package main

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// TestConformanceAchilles replays what the original did with text commands. Words
// that belong to the JavaScript runtime are compared by their code (rule A6).
func TestConformanceAchilles(t *testing.T) {
	listed := divergences(t, "achilles")
	for _, row := range readRows[conformanceRow](t, "achilles.jsonl") {
		d, diverges := listed[row.ID]
		delete(listed, row.ID)
		t.Run(row.ID, func(t *testing.T) {
			got, dir := replayCommand(t, row)
			want, wantErr, after := row.Result, row.Error, row.After
			if diverges {
				want, wantErr = d.Result, d.Error
				if d.After != nil {
					after = d.After
				}
			} else if strings.HasPrefix(row.ErrorCode, "ERR_") {
				same(t, "code", &got.Code, &row.ErrorCode)
				wantErr = got.Error
			} else if row.Error != nil && row.ErrorCode != "" {
				same(t, "code", &got.Code, &row.ErrorCode)
			}
			same(t, "result", got.Result, want)
			same(t, "error", got.Error, wantErr)
			checkTree(t, dir, after)
			if t.Failed() {
				t.Logf("prompt %s llm %s", row.Prompt, row.LLM)
			}
		})
	}
	for id := range listed {
		t.Errorf("divergence %s names no row", id)
	}
}

// commandAnswer is what --json printed.
type commandAnswer struct {
	Result, Error *string
	Code          string
}

func replayCommand(t *testing.T, row conformanceRow) (got commandAnswer, dir string) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	build(t, dir, row.Setup)
	c := &cli{}
	args := []string{"--tools", "achilles", "--json", "-C", dir, "--fallback", "none"}
	agent := rowAgent(t, row, dir)
	if agent != nil {
		c.agent = agent
		args = append(args, "--fallback", "llm", "--trust-llm")
	}
	prompt := strings.ReplaceAll(jsString(t, row.Prompt), "${ROOT}", dir)
	out, errs, _ := play(t, c, prompt, args...)
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v in %q (%q)", err, out, errs)
	}
	for _, s := range []*string{got.Result, got.Error} {
		if s != nil {
			*s = strings.ReplaceAll(strings.ReplaceAll(*s, dir, "${ROOT}"), filepath.Dir(dir), "${PARENT}")
		}
	}
	if agent == nil {
		return got, dir
	}
	if len(agent.prompts) != len(row.LLMCalls) {
		t.Errorf("%d requests, want %d", len(agent.prompts), len(row.LLMCalls))
	}
	for _, p := range agent.prompts {
		if !strings.HasSuffix(p, "\nPrompt: "+prompt) {
			t.Errorf("asked %q, want it to end in the prompt %q", p, prompt)
		}
	}
	return got, dir
}

// jsString is what JavaScript makes of a prompt that need not be a string.
func jsString(t *testing.T, raw json.RawMessage) string {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	switch v := v.(type) {
	case string:
		return v
	case nil, bool:
		return "" // null and false are no input
	}
	return string(raw)
}

// rowAgent answers as the row's model does, nil where the row has none.
func rowAgent(t *testing.T, row conformanceRow, dir string) *scriptedAgent {
	if len(row.LLM) == 0 || string(row.LLM) == "null" {
		return nil
	}
	text := strings.ReplaceAll(string(row.LLM), "${ROOT}", dir)
	if strings.HasPrefix(text, "[") {
		return &scriptedAgent{replies: []string{text}}
	}
	var other struct {
		Raw        *string
		Throw      *string
		Native     json.RawMessage
		NoComplete bool `json:"no_complete"`
	}
	if err := json.Unmarshal([]byte(text), &other); err != nil {
		t.Fatal(err)
	}
	switch {
	case other.Raw != nil:
		return &scriptedAgent{replies: []string{*other.Raw}}
	case other.Throw != nil:
		return &scriptedAgent{err: errors.New(*other.Throw)}
	case other.Native != nil:
		return &scriptedAgent{replies: []string{string(other.Native)}}
	}
	return nil
}
