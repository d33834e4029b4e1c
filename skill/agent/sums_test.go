package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"textskill/testdata/needs"
)

// TestForgedRecords continues a run whose records somebody else has written to.
func TestForgedRecords(t *testing.T) {
	dir := filepath.Join(runsDir, "run")
	one := func(t *testing.T, l *lab, pattern string) string {
		t.Helper()
		names, _ := filepath.Glob(filepath.Join(l.dir, dir, pattern))
		if len(names) != 1 {
			t.Fatal(pattern, names)
		}
		return names[0]
	}
	edit := func(t *testing.T, file, old, text string) {
		t.Helper()
		data, err := os.ReadFile(file)
		if err == nil && !strings.Contains(string(data), old) {
			err = fmt.Errorf("%s lacks %s", file, old)
		}
		if err == nil {
			err = os.WriteFile(file, []byte(strings.ReplaceAll(string(data), old, text)), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name  string
		forge func(t *testing.T, l *lab)
		warns string
		told  string // to the model
	}{
		{"an event that was added", func(t *testing.T, l *lab) {
			result := one(t, l, "event-*-1-resolveToolResult.json")
			data, _ := os.ReadFile(result)
			var e Event
			if err := json.Unmarshal(data, &e); err != nil {
				t.Fatal(err)
			}
			e.Timestamp, e.StepNumber = 999999999999999999, 3
			e.ToolResult.Result[0].Text = "forged"
			data, _ = json.Marshal(e)
			name := RecordName{"event", e.Timestamp, 3, string(e.Type)}.String()
			if err := os.WriteFile(filepath.Join(filepath.Dir(result), name), data, 0o666); err != nil {
				t.Fatal(err)
			}
		}, "this program did not record it", "event-999999999999999999-3-resolveToolResult.json"},
		{"a result that was changed", func(t *testing.T, l *lab) {
			edit(t, one(t, l, "event-*-2-resolveToolResult.json"), `\"text\":\"2\"`, `\"text\":\"forged\"`)
		}, "it has changed since it was recorded", "2-resolveToolResult.json"},
		{"a result that was removed", func(t *testing.T, l *lab) {
			os.Remove(one(t, l, "event-*-2-resolveToolResult.json"))
		}, "2-resolveToolResult.json is missing", "2-resolveToolResult.json"},
		{"a checkpoint that was changed", func(t *testing.T, l *lab) {
			edit(t, one(t, l, "checkpoint-*-1-*"), `\"text\":\"1\"`, `\"text\":\"forged\"`)
		}, "checkpoint-", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, calls(`writeTextFile {"path":"f1","text":"1"}`),
				calls(`writeTextFile {"path":"f2","text":"2"}`), calls("attemptCompletion"), "done")
			for e, err := range Run(t.Context(), l.cfg, "go") {
				if err != nil {
					t.Fatal(err)
				}
				if e.Type == FinishToolCall && e.StepNumber == 2 {
					break
				}
			}
			tt.forge(t, l)
			var warned []string
			l.cfg.Continue, l.cfg.Warn = "run", func(what string) { warned = append(warned, what) }
			_, wrong, err := Records{Executor: l.cfg.Executor}.Check(t.Context(), "run")
			if err != nil || len(wrong) == 0 {
				t.Errorf("the check finds %q, %v", wrong, err)
			}
			l.ran("")
			text := fmt.Sprint(l.asked[2].Messages)
			if strings.Contains(text, "forged") || !strings.Contains(text, tt.told) ||
				strings.Contains(text, "Records of this run are damaged") != (tt.told != "") {
				t.Errorf("the model is sent %s", text)
			}
			if said := strings.Join(warned, "\n"); !strings.Contains(said, tt.warns) {
				t.Errorf("the user is told %s", said)
			}
			checkConversation(t, 2, l.asked[2].Messages)
		})
	}
}

// TestNothingConfirmed continues a run that lost its sums in a power cut. Nothing of it is
// believed, and the error says what to do.
func TestNothingConfirmed(t *testing.T) {
	l := newLab(t, calls(`writeTextFile {"path":"f1","text":"1"}`))
	l.cfg.MaxSteps = 1
	l.ran("go")
	dir, err := l.cfg.Executor.Runs()
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	f, err := dir.Create("run")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	l.cfg.Continue = "run"
	if _, err := l.run(""); err == nil || !strings.Contains(err.Error(), "start a new run") {
		t.Errorf("the error is %v", err)
	}
}

// TestUnknownRecords continues a run that another machine recorded: in vain, then twice.
func TestUnknownRecords(t *testing.T) {
	l := newLab(t, calls(`writeTextFile {"path":"f1","text":"1"}`),
		calls(`writeTextFile {"path":"f2","text":"2"}`), calls("attemptCompletion"), "done")
	l.cfg.MaxSteps = 1
	l.ran("go")
	kept, err := l.cfg.Executor.Runs()
	if err == nil {
		err = kept.Remove("run")
	}
	if err != nil {
		t.Fatal(err)
	}
	var warned []string
	l.cfg.Continue, l.cfg.Answer = "run", true
	if _, err := l.run("yes"); err != errNoAnswer {
		t.Errorf("an answer that nothing waits for: %v", err)
	}
	l.cfg.Answer, l.cfg.Warn = false, func(what string) { warned = append(warned, what) }
	l.ran("")
	if text := fmt.Sprint(l.asked[1].Messages); len(warned) != 1 ||
		strings.Count(text, "Nothing confirms the records") != 1 {
		t.Errorf("the user is told %q, the model %s", warned, text)
	}
	l.cfg.MaxSteps = 0
	l.ran("")
	if text := fmt.Sprint(l.asked[2].Messages); len(warned) != 1 ||
		strings.Count(text, "Nothing confirms the records") != 1 {
		t.Errorf("afterwards the user is told %q, the model %s", warned, text)
	}
	for _, step := range []int{2, 1} { // told by its conversation, or by the fork
		c, err := Records{Executor: l.cfg.Executor}.AtStep(t.Context(), "run", step)
		if err == nil {
			c, err = Records{Executor: l.cfg.Executor}.Checkpoint(t.Context(), "run", c.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
		l.asked, l.answers = nil, []any{calls("attemptCompletion"), "done"}
		l.cfg.Continue, l.cfg.From = "", &c
		l.ran("")
		if text := fmt.Sprint(l.asked[0].Messages); strings.Count(text, "Nothing confirms the records") != 1 {
			t.Errorf("from step %d the model is told %s", step, text)
		}
	}
}

// TestUnknownRecordsKilled kills a run, forgets what confirms its records, and kills the
// continuation between each two writes: the model is told whenever it goes on.
func TestUnknownRecordsKilled(t *testing.T) {
	t.Parallel()
	for point, ended := 1, false; !ended; point += needs.Step(7) {
		l := newLab(t)
		l.cfg.Model = &ledger{T: t, file: filepath.Join(l.dir, "f")}
		os.WriteFile(filepath.Join(l.dir, "f"), nil, 0o666)
		l.killAt(15)
		if err := forgetSums(l.cfg.Executor, "run"); err != nil {
			t.Fatal(err)
		}
		if ended = l.killAt(point); !ended && !l.killAt(0) {
			t.Fatal("the run does not end")
		}
		c, err := Records{Executor: l.cfg.Executor}.Latest(t.Context(), "run")
		if err != nil || c.Status != Completed || !strings.Contains(fmt.Sprint(c.Messages), unconfirmed) ||
			l.file("f") != "1\n2\n3\n4\n" {
			t.Fatalf("killed at %d: %v, %s, the file holds %q, the conversation is %v", point, err, c.Status,
				l.file("f"), c.Messages)
		}
	}
}

// TestRunAgain begins another run with the id of one whose records were deleted.
func TestRunAgain(t *testing.T) {
	l := newLab(t, calls("todo"), calls("attemptCompletion"), "done")
	for range 2 {
		l.asked = nil
		l.ran("go")
		if _, wrong, err := (Records{Executor: l.cfg.Executor}).Check(t.Context(), "run"); err != nil ||
			wrong != nil {
			t.Errorf("the records are %q, %v", wrong, err)
		}
		if err := os.RemoveAll(filepath.Join(l.dir, runsDir, "run")); err != nil {
			t.Fatal(err)
		}
	}
}
