package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"textskill/skill"
)

// stopAfter stops a run right after its nth event of a kind.
func (l *lab) stopAfter(n int, kind EventType, query string) {
	l.Helper()
	for e, err := range Run(l.Context(), l.cfg, query) {
		if err != nil {
			l.Fatal(err)
		}
		if e.Type == kind {
			if n--; n == 0 {
				break
			}
		}
	}
}

// TestAnsweredTwice stops a run after a text, and its continuations as they start: the second
// text is the outcome.
func TestAnsweredTwice(t *testing.T) {
	for again := range 3 {
		l := newLab(t, "It is 42.", "It is 42.", "third", "fourth")
		l.stopAfter(1, Retry, "go")
		l.cfg.Continue = "run"
		for range again {
			l.stopAfter(1, StartRun, "")
		}
		events := l.ran("")
		if last := events[len(events)-1]; last.Type != CompleteRun || len(l.asked) != 2 {
			t.Errorf("%d: asked %d times, %s", again, len(l.asked), types(events))
		}
	}
}

// TestClearedTodos stops a run after its todos were cleared, and its continuations as they
// start, where no history says anything of the session.
func TestClearedTodos(t *testing.T) {
	for again := range 3 {
		l := newLab(t, calls(`todo {"newTodos":["x"]}`), calls("clearTodo"), calls("attemptCompletion"),
			"done", calls("attemptCompletion"), "done")
		c := skill.Config{Dir: l.dir, NoSync: true, Unfenced: true}
		c.Journal.Off = true
		x, err := skill.New(c)
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		l.cfg.Executor = x
		l.stopAfter(2, ResolveToolResult, "go")
		l.cfg.Continue = "run"
		for range again {
			l.stopAfter(1, StartRun, "")
		}
		l.ran("")
		cp := l.from()
		if len(cp.Session.Todos) != 0 {
			t.Errorf("%d: todos %+v", again, cp.Session.Todos)
		}
	}
}

// cut damages the last record that a pattern names.
func (l *lab) cut(pattern string) {
	found, _ := filepath.Glob(filepath.Join(l.dir, runsDir, "run", pattern))
	if found == nil {
		l.Fatal("none")
	}
	os.Truncate(found[len(found)-1], 40)
}

// TestDamagedStart damages the event with which a delegate or the answer of the user began: the
// call keeps waiting, and who goes on is told.
func TestDamagedStart(t *testing.T) {
	l := newTeam(t, calls(`worker {"query":"do X"}`), calls("attemptCompletion"), "X is done",
		calls("attemptCompletion"), "all", calls("attemptCompletion"), "all")
	l.stopAfter(2, StartRun, "go")
	l.cut("event-*-2-startRun.json")
	l.cfg.Continue = "run"
	l.ran("")
	for i, r := range l.asked {
		checkConversation(t, i, r.Messages)
	}
	if text := fmt.Sprint(l.asked[1].Messages); !strings.Contains(text, "Records of this run are damaged") ||
		!strings.Contains(text, "do X") {
		t.Errorf("the delegate is sent %s", text)
	}

	l = newLab(t, calls(`askUser {"question":"?"}`), calls("attemptCompletion"), "all")
	l.cfg.Experts["e"] = Expert{Version: "1.0.0", Instruction: "Do it.",
		Skills: map[string]SkillConfig{"h": {Type: interactiveSkill,
			Tools: map[string]InteractiveTool{"askUser": {InputJSONSchema: `{"type":"object"}`}}}}}
	l.ran("go")
	l.cfg.Continue, l.cfg.Answer = "run", true
	l.stopAfter(1, StartRun, "Blue")
	l.cut("event-*-2-startRun.json")
	l.ran("Blue")
	if text := fmt.Sprint(l.asked[1].Messages); !strings.Contains(text, "Blue") ||
		!strings.Contains(text, "Records of this run are damaged") {
		t.Errorf("the model is sent %s", text)
	}
	for i, r := range l.asked {
		checkConversation(t, i, r.Messages)
	}
}
