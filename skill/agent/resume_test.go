package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"textskill/testdata/needs"
)

// A ledger is a model that appends numbers to a file and keeps todos. It goes by what the
// conversation shows: a call with a result is done, and one that was interrupted, or may be
// missing because records are damaged, is done if the file has the number.
type ledger struct {
	*testing.T
	file  string
	asked int
}

func (l *ledger) Next(_ context.Context, r Request) (Answer, error) {
	checkConversation(l.T, l.asked, r.Messages)
	l.asked++
	if r.Tools == nil {
		return Answer{Text: "all done"}, nil
	}
	done, finished := map[string]bool{}, map[string]bool{}
	args := map[string]string{}
	looked := func(args string) bool {
		var in struct{ Text string }
		json.Unmarshal([]byte(args), &in)
		data, _ := os.ReadFile(l.file)
		return strings.Contains(string(data), in.Text)
	}
	damaged := false
	for _, m := range r.Messages {
		for _, p := range m.Contents {
			key := p.ToolName + " " + args[p.ToolCallID]
			switch {
			case strings.HasPrefix(p.Text, lostRecords[:10]):
				damaged = true
			case p.Type == ToolCallPart:
				args[p.ToolCallID] = string(p.Args)
			case p.Type != ToolResultPart:
			case !strings.Contains(p.Contents[0].Text, "Interrupted"):
				if finished[key] && p.ToolName == "appendTextFile" {
					l.Errorf("%s was done twice", key)
				}
				done[key], finished[key] = true, true
			case p.ToolName == "appendTextFile":
				done[key] = looked(args[p.ToolCallID])
			}
		}
	}
	var a Answer
	for _, step := range [][]string{
		{`todo {"newTodos":["x","y"]}`},
		{`appendTextFile {"path":"f","text":"1\n"}`},
		{`appendTextFile {"path":"f","text":"2\n"}`, `readTextFile {"path":"f"}`,
			`appendTextFile {"path":"f","text":"3\n"}`},
		{`appendTextFile {"path":"f","text":"4\n"}`, `todo {"completedTodos":[0,1]}`},
		{"attemptCompletion {}"},
	} {
		for _, c := range step {
			if name, arguments, _ := strings.Cut(c, " "); !done[c] &&
				!(damaged && name == "appendTextFile" && looked(arguments)) {
				a.Calls = append(a.Calls, Call{Name: name, Arguments: arguments})
			}
		}
		if a.Calls != nil {
			return a, nil
		}
	}
	l.Error("all was done and its end accepted, and the model was asked again")
	return calls("attemptCompletion {}"), nil
}

// killAt continues or begins the run and kills it at a point, the first being 1. It
// reports whether the run ended before.
func (l *lab) killAt(point int) (ended bool) {
	l.Helper()
	gone := make(chan bool)
	go func() {
		defer func() { gone <- ended }()
		cfg, query := l.cfg, "go"
		cfg.point = func(moment) {
			if point--; point == 0 {
				runtime.Goexit()
			}
		}
		if _, err := os.Stat(filepath.Join(l.dir, runsDir, "run", settingFile)); err == nil {
			cfg.Continue, query = "run", ""
		}
		for _, err := range Run(l.Context(), cfg, query) {
			if err != nil && !strings.Contains(err.Error(), "the run is completed") {
				l.Error(err)
			}
		}
		ended = true
	}()
	return <-gone
}

// TestKilledAnywhere kills a run between each two writes, once and twice, and continues
// it: no finished call is made twice, none is lost, and the files are as the history says.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	for again := range 3 { // how often the run is killed after the first time
		for first, ended := 1, false; !ended; first += needs.Step(7) {
			l := newLab(t)
			l.cfg.Model = &ledger{T: t, file: filepath.Join(l.dir, "f")}
			os.WriteFile(filepath.Join(l.dir, "f"), nil, 0o666)
			if ended = l.killAt(first); !ended {
				for i := range again {
					l.killAt(1 + (first+i)%7)
				}
				if !l.killAt(0) {
					t.Fatal("the run does not end")
				}
			} else if first < 40 {
				t.Errorf("there are %d points only", first)
			}
			if got := l.file("f"); got != "1\n2\n3\n4\n" {
				t.Fatalf("killed at %d: the file holds %q", first, got)
			}
			c, err := Records{Executor: l.cfg.Executor}.Latest(t.Context(), "run")
			if err != nil || c.Status != Completed || len(c.Session.Todos) != 2 ||
				!c.Session.Todos[1].Completed {
				t.Fatalf("killed at %d: the run ends with %v, %s, %+v", first, err, c.Status, c.Session)
			}
			checkConversation(t, first, c.Messages)
		}
	}
}

// TestInterruptedDelegation kills a run with a delegate between each two writes, and its
// continuation at each of the next three.
func TestInterruptedDelegation(t *testing.T) {
	t.Parallel()
	for first, ended := 1, false; !ended; first += needs.Step(9) {
		for second := range 4 {
			l := newTeam(t)
			l.cfg.Model = delegator{t, filepath.Join(l.dir, "f")}
			os.WriteFile(filepath.Join(l.dir, "f"), nil, 0o666)
			ended = l.killAt(first)
			if second > 0 && !ended {
				l.killAt(second)
			}
			if !ended && !l.killAt(0) {
				t.Fatal("the run does not end")
			}
			c, err := Records{Executor: l.cfg.Executor}.Latest(t.Context(), "run")
			if err != nil || c.Status != Completed || c.DelegatedBy != nil {
				t.Fatalf("killed at %d: the run ends with %v, %+v", first, err, c)
			}
			text := fmt.Sprint(c.Messages)
			if got := l.file("f"); got != "x" || !strings.Contains(text, "X is done") {
				t.Fatalf("killed at %d and %d: the file holds %q, the conversation is %s", first,
					second, got, text)
			}
		}
	}
}

// A delegator is a model of two experts: one delegates, the other appends to a file.
type delegator struct {
	*testing.T
	file string
}

func (d delegator) Next(_ context.Context, r Request) (Answer, error) {
	text, worker := fmt.Sprint(r.Messages), strings.Contains(fmt.Sprint(r.Messages[0]), "Work.")
	written, _ := os.ReadFile(d.file)
	switch {
	case r.Tools == nil && worker:
		return Answer{Text: "X is done"}, nil
	case r.Tools == nil:
		return Answer{Text: "all done"}, nil
	case worker && !strings.Contains(text, "appendTextFile"), worker &&
		strings.Contains(text, "Interrupted") && len(written) == 0:
		return calls(`appendTextFile {"path":"f","text":"x"}`), nil
	case worker || strings.Contains(text, "X is done"):
		for _, p := range r.Messages[len(r.Messages)-1].Contents {
			if p.ToolName == "attemptCompletion" && !strings.Contains(fmt.Sprint(p), "Interrupted") {
				d.Errorf("all was done and its end accepted, and the model was asked again: %s", text)
			}
		}
		return calls("attemptCompletion"), nil
	}
	return calls(`worker {"query":"do X"}`), nil
}

// TestDamagedRecords damages records of a run that was stopped, and continues it.
func TestDamagedRecords(t *testing.T) {
	all := []string{
		`writeTextFile {"path":"f1","text":"1"}`, `writeTextFile {"path":"f2","text":"2"}`,
		`writeTextFile {"path":"f3","text":"3"}`,
	}
	for _, tt := range []struct {
		name   string
		damage []string // patterns of files that are cut
		kept   int      // of the calls, as the model sees them
		warns  []string
		told   bool // the model, that calls may be missing
	}{
		{"the first checkpoint", []string{"checkpoint-*-1-*"}, 3,
			[]string{"checkpoint-*-1-* is damaged or missing; what event-*-1-continueToNextStep.json holds of it is used", "continues from step 3"}, false},
		{"the last checkpoint", []string{"checkpoint-*-3-*"}, 3, []string{"checkpoint-*-3-*"}, false},
		{"a checkpoint and its event", []string{"checkpoint-*-2-*", "*-2-continue*"}, 3,
			[]string{"checkpoint-*-2-*"}, false},
		{"all checkpoints", []string{"checkpoint-*"}, 3, []string{"checkpoint-*"}, false},
		{"all checkpoints and their events", []string{"checkpoint-*", "*Step*"},
			3, []string{"checkpoint-*"}, false},
		{"a step", []string{"*-2-*"}, 2, []string{"checkpoint-*-2-*", "event-*-2-callTool.json"}, true},
		{"the setting", []string{settingFile}, 3, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t, calls(all[0]), calls(all[1]), calls(all[2]), calls("attemptCompletion"), "done")
			l.cfg.MaxSteps = 3
			l.ran("go")
			for _, pattern := range tt.damage {
				found, err := filepath.Glob(filepath.Join(l.dir, runsDir, "run", pattern))
				if err != nil || found == nil {
					t.Fatal(found, err)
				}
				for _, file := range found {
					if err := os.Truncate(file, 40); err != nil {
						t.Fatal(err)
					}
				}
			}
			var warned []string
			l.cfg.MaxSteps, l.cfg.Continue, l.cfg.Warn = 0, "run",
				func(what string) { warned = append(warned, what) }
			l.ran("")
			text := fmt.Sprint(l.asked[3].Messages)
			if n := strings.Count(text, "toolResultPart"); n != tt.kept ||
				strings.Contains(text, "Records of this run are damaged") != tt.told {
				t.Errorf("the model is sent %s", text)
			}
			checkConversation(t, 3, l.asked[3].Messages)
			said := strings.Join(warned, "\n")
			for _, want := range tt.warns {
				if ok, _ := filepath.Match("*"+want+"*", strings.ReplaceAll(said, "/", " ")); !ok {
					t.Errorf("no word of %s:\n%s", want, said)
				}
			}
		})
	}
}

// TestForkKilled kills a run that is continued from an earlier checkpoint, before it has
// one of its own.
func TestForkKilled(t *testing.T) {
	l := newLab(t, calls(`writeTextFile {"path":"f1","text":"1"}`),
		calls(`writeTextFile {"path":"f2","text":"2"}`), calls(`writeTextFile {"path":"f3","text":"3"}`),
		calls(`writeTextFile {"path":"fork","text":"3"}`), calls("attemptCompletion"), "done")
	l.cfg.MaxSteps = 1
	l.ran("go")
	first := l.from()
	l.cfg.MaxSteps = 2
	l.ran("")
	l.cfg.From = &first
	n := 0
	for e := range Run(t.Context(), l.cfg, "another way") {
		if n++; e.Type == ResolveToolResult {
			break
		}
	}
	l.cfg.From, l.cfg.Continue, l.cfg.MaxSteps = nil, "run", 0
	l.ran("")
	text := fmt.Sprint(l.asked[4].Messages)
	if !strings.Contains(text, "another way") || !strings.Contains(text, `"path":"fork"`) &&
		!strings.Contains(text, "toolResultPart") || len(l.asked[4].Messages) != 7 {
		t.Errorf("the model is sent %s", text)
	}
}

// TestCheck has damaged records, one of each kind.
func TestCheck(t *testing.T) {
	l := newLab(t, calls("todo"), calls("todo"), calls("attemptCompletion"), "done")
	events := l.ran("go")
	r := Records{Executor: l.cfg.Executor}
	whole := len(events) + 3 + 1
	if n, wrong, err := r.Check(t.Context(), "run"); n != whole || wrong != nil || err != nil {
		t.Errorf("%d records, %q, %v", n, wrong, err)
	}
	l.damage("checkpoint-*-%d-*.json", 1)
	l.damage("event-*-%d-callTool.json", 2)
	os.Truncate(filepath.Join(l.dir, runsDir, "run", settingFile), 4)
	os.WriteFile(filepath.Join(l.dir, runsDir, "run", "notes"), nil, 0o666)
	n, wrong, err := r.Check(t.Context(), "run")
	if n != whole || len(wrong) != 4 || err != nil {
		t.Errorf("%d records, %q, %v", n, wrong, err)
	}
	runs, err := r.Runs(t.Context())
	if err != nil || len(runs) != 1 || runs[0].ExpertKey != "e" ||
		!strings.Contains(runs[0].Damage, settingFile) {
		t.Errorf("runs %+v, %v", runs, err)
	}
}

// TestNote goes on from a checkpoint with a note, begins a run with one, and is asked for
// each call that may act outside of the workspace.
func TestNote(t *testing.T) {
	l := newLab(t, calls(`writeTextFile {"path":"a","text":"x"}`),
		calls(`exec {"command":"true","args":[],"env":{},"cwd":".","stdout":true,"stderr":true}`))
	var begun []string
	l.cfg.Begin = func(_ context.Context, c ToolCall) error {
		begun = append(begun, c.ToolName)
		return errors.New("nobody knows of it")
	}
	if _, err := l.run("go"); err == nil || err.Error() != "nobody knows of it" ||
		!slices.Equal(begun, []string{"exec"}) {
		t.Fatalf("begun are %q, and the error is %v", begun, err)
	}
	l.from()
	l.cfg.Begin, l.cfg.Note = nil, "exec may have happened."
	l.script.answers = append(l.script.answers, calls("attemptCompletion {}"), "done")
	l.ran("")
	m := l.asked[2].Messages
	if last := m[len(m)-1]; last.Type != UserMessage || last.Text() != l.cfg.Note {
		t.Errorf("the last message is %+v", last)
	}

	l = newLab(t, calls("attemptCompletion {}"), "done")
	l.cfg.Note = "A note."
	l.ran("go")
	m = l.asked[0].Messages
	if len(m) != 3 || m[1].Text() != "A note." || m[2].Text() != "go" {
		t.Errorf("a new run is asked %+v", m)
	}
}
