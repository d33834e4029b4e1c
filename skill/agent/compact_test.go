package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"textskill/llmfallback/remote"
)

// A reader is a model with a small window. It reads a file in 30 steps, and then writes
// what the user asked for. It refuses what does not fit.
type reader struct {
	*testing.T
	window, step int
	says         bool // how large the window is
	counts       bool // the tokens of requests
	asked        []Request
	refused      int
}

func (m *reader) Next(_ context.Context, r Request) (Answer, error) {
	checkConversation(m.T, len(m.asked), r.Messages)
	m.asked = append(m.asked, r)
	size := tokens(r.Messages...)
	if size > m.window {
		m.refused++
		e := &remote.Error{Status: 400, Reason: "too long", TooLong: true}
		if m.says {
			e.Window = m.window
		}
		return Answer{}, e
	}
	var a Answer
	if m.counts {
		a.Usage = Usage{InputTokens: size, OutputTokens: 10, TotalTokens: size + 10}
	}
	last := r.Messages[len(r.Messages)-1].Contents[0].Text
	switch {
	case r.Tools == nil && strings.Contains(last, "about to be shortened"):
		a.Text = fmt.Sprintf("I have read %d times.", m.step)
	case r.Tools == nil:
		a.Text = "done"
	default:
		if m.step++; m.step <= 30 {
			a.Calls = calls(fmt.Sprintf(`readTextFile {"path":"f","from":%d}`, m.step%3)).Calls
		} else {
			a.Calls = calls("attemptCompletion").Calls
		}
	}
	return a, nil
}

func newReader(t *testing.T, window int) (*lab, *reader) {
	l := newLab(t)
	m := &reader{T: t, window: window}
	l.cfg.Model = m
	l.cfg.About.ContextWindow = window
	if err := os.WriteFile(filepath.Join(l.dir, "f"), []byte(strings.Repeat("some words of text\n", 60)), 0o666); err != nil {
		t.Fatal(err)
	}
	return l, m
}

func TestCompaction(t *testing.T) {
	for _, tt := range []struct {
		name             string
		known            bool // the window, beforehand
		says, counts     bool
		refused, compact int // at most, at least
	}{
		{"known and counted", true, false, true, 0, 3},
		{"known", true, false, false, 0, 3},
		{"told by the endpoint", false, true, true, 1, 3},
		{"unknown", false, false, false, 6, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, m := newReader(t, 4000)
			m.says, m.counts = tt.says, tt.counts
			if !tt.known {
				l.cfg.About.ContextWindow = 0
			}
			events := l.ran("Read the file thirty times.")
			compactions := 0
			var last Event
			for _, e := range events {
				if e.Type == CompactConversation {
					compactions++
					last = e
				}
			}
			if compactions < tt.compact || m.refused > tt.refused || events[len(events)-1].Type != CompleteRun {
				t.Errorf("%d compactions, %d requests refused: %s", compactions, m.refused, types(events))
			}
			final := m.asked[len(m.asked)-1].Messages
			if text := fmt.Sprint(final); !strings.Contains(text, "Read the file thirty times.") || strings.Count(text, shortened) != 1 {
				t.Errorf("the last request is %s", text)
			}
			c, err := Records{Executor: l.cfg.Executor}.Latest(t.Context(), "run")
			if err != nil || c.StepNumber != 31 || fmt.Sprint(c.Messages[:len(final)]) != fmt.Sprint(final) {
				t.Errorf("step %d has %d messages, of %d: %v", c.StepNumber, len(c.Messages), len(final), err)
			}
			seen, err := Records{Executor: l.cfg.Executor}.Recorded(t.Context(), "run", last.Checkpoint.ID)
			if err != nil || !seen.Compacted || len(seen.Messages) == 0 {
				t.Errorf("the checkpoint of the compaction is %+v, %v", seen, err)
			}
			checkConversation(t, 0, c.Messages)
		})
	}
}

// TestCompactionKilled kills a run between each two writes, compactions among them.
func TestCompactionKilled(t *testing.T) {
	t.Parallel()
	for first, ended := 1, false; !ended; first += 3 {
		l, m := newReader(t, 1600)
		m.counts = true
		if ended = l.killAt(first); !ended && !l.killAt(0) {
			t.Fatal("the run does not end")
		}
		if c, err := (Records{Executor: l.cfg.Executor}).Latest(t.Context(), "run"); err != nil || c.Status != Completed {
			t.Fatalf("killed at %d: %v, %s", first, err, c.Status)
		}
		if m.refused > 0 {
			t.Errorf("killed at %d: %d requests do not fit", first, m.refused)
		}
	}
}

// TestResultFitsTheWindow reads a file that is larger than the window.
func TestResultFitsTheWindow(t *testing.T) {
	l := newLab(t, calls(`readTextFile {"path":"f"}`), calls("attemptCompletion"), "done")
	l.cfg.About.ContextWindow = 8192
	if err := os.WriteFile(filepath.Join(l.dir, "f"), []byte(strings.Repeat("some words of text\n", 1<<18)), 0o666); err != nil {
		t.Fatal(err)
	}
	l.ran("go")
	got := l.results(1)[0]
	if len(got) > 8192*bytesPerToken/5+200 || !strings.Contains(got, "are not shown; ask for a part at once") {
		t.Errorf("the result has %d bytes and ends with %s", len(got), got[max(0, len(got)-200):])
	}
}
