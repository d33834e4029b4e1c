package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"weak"

	"textskill/llmfallback/remote"
	"textskill/testdata/needs"
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
	if err := os.WriteFile(filepath.Join(l.dir, "f"), []byte(strings.Repeat("some words of text\n", 60)),
		0o666); err != nil {
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
			if compactions < tt.compact || m.refused > tt.refused ||
				events[len(events)-1].Type != CompleteRun {
				t.Errorf("%d compactions, %d requests refused: %s", compactions, m.refused, types(events))
			}
			final := m.asked[len(m.asked)-1].Messages
			if text := fmt.Sprint(final); !strings.Contains(text, "Read the file thirty times.") ||
				strings.Count(text, shortened) != 1 {
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
	for first, ended := 1, false; !ended; first += 3 * needs.Step(10) {
		l, m := newReader(t, 1600)
		m.counts = true
		if ended = l.killAt(first); !ended && !l.killAt(0) {
			t.Fatal("the run does not end")
		}
		if c, err := (Records{Executor: l.cfg.Executor}).Latest(t.Context(), "run"); err != nil ||
			c.Status != Completed {
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
	if err := os.WriteFile(filepath.Join(l.dir, "f"), []byte(strings.Repeat("some words of text\n", 1<<18)),
		0o666); err != nil {
		t.Fatal(err)
	}
	l.ran("go")
	got := l.results(1)[0]
	if len(got) > 8192*bytesPerToken/5+200 ||
		!strings.Contains(got, "are not shown; ask for a part at once") {
		t.Errorf("the result has %d bytes and ends with %s", len(got), got[max(0, len(got)-200):])
	}
}

// TestSummaryRefused fails the request for the summary: temporarily, for good, and as empty.
func TestSummaryRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		answer Answer
		err    error
		text   string // of the conversation after that
	}{
		"at first": {Answer{Text: "what was done"},
			&remote.Error{Status: 503, Reason: "busy", Retry: true}, "what was done"},
		"as wrong": {Answer{}, &remote.Error{Status: 400, Reason: "no"}, "Calls, the latest last"},
		"as too long": {Answer{}, &remote.Error{Status: 400, Reason: "no", TooLong: true},
			"Calls, the latest last"},
		"empty":         {Answer{}, nil, "Calls, the latest last"},
		"with a call":   {calls("todo"), nil, "Calls, the latest last"},
		"much too long": {Answer{Text: strings.Repeat("much ", 1<<20)}, nil, "bytes of"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.cfg.About.ContextWindow = 4000
			file := filepath.Join(l.dir, "f")
			if err := os.WriteFile(file, []byte(strings.Repeat("a few words\n", 180)), 0o666); err != nil {
				t.Fatal(err)
			}
			for i := range 12 {
				read := calls(fmt.Sprintf(`readTextFile {"path":"f","from":%d}`, i))
				read.Text, read.Usage = strings.Repeat("I think ", 150),
					Usage{OutputTokens: 10, TotalTokens: 10}
				l.answers = append(l.answers, read)
			}
			end := calls("attemptCompletion")
			end.Usage = Usage{}
			l.answers = append(l.answers, end, "done")
			m := &summarizer{script: l.script, err: tt.err, answer: tt.answer}
			l.cfg.Model = m
			events := l.ran("go")
			last := m.asked[len(m.asked)-1].Messages
			if text := fmt.Sprint(last); m.summaries == 0 || !strings.Contains(text, tt.text) ||
				tokens(last...) > 4000 {
				t.Errorf("%d summaries; %d tokens: %s", m.summaries, tokens(last...),
					text[max(0, len(text)-600):])
			}
			// Each answer is counted in one step.
			steps, answers := 0, 0
			for _, e := range events {
				if e.Step != nil {
					steps += e.Step.Usage.TotalTokens
				}
				if e.Usage != nil {
					answers += e.Usage.TotalTokens
				}
			}
			if total := events[len(events)-1].Checkpoint.Usage.TotalTokens; steps != total ||
				answers != total || total < 12*10 {
				t.Errorf("the steps have %d tokens, the answers %d, the run %d", steps, answers, total)
			}
		})
	}
}

// A summarizer gives a script's answers, but for summaries: the first request for each fails
// if there is an error.
type summarizer struct {
	*script
	err       error
	answer    Answer
	summaries int
}

func (m *summarizer) Next(ctx context.Context, r Request) (Answer, error) {
	if !strings.HasPrefix(r.Messages[len(r.Messages)-1].Text(), summaryRequest[:20]) {
		return m.script.Next(ctx, r)
	}
	if m.summaries++; m.err != nil && m.summaries%2 == 1 {
		return Answer{}, m.err
	}
	a := m.answer
	a.Usage = Usage{InputTokens: 1000, OutputTokens: 7, TotalTokens: 1007}
	return a, nil
}

// TestReportTooLong makes room before the final report, in the first step and in a later one.
func TestReportTooLong(t *testing.T) {
	for steps := range 2 {
		l := newLab(t)
		if err := os.WriteFile(filepath.Join(l.dir, "f"), []byte(strings.Repeat("a few words\n", 800)),
			0o666); err != nil {
			t.Fatal(err)
		}
		for range steps {
			l.answers = append(l.answers, calls(`writeTextFile {"path":"g","text":"g"}`))
		}
		many := calls(`readTextFile {"path":"f"}`, `readTextFile {"path":"f","from":1}`,
			`readTextFile {"path":"f","from":2}`, `writeTextFile {"path":"h","text":"h"}`,
			"attemptCompletion")
		tooLong := &remote.Error{Status: 400, Reason: "too long", TooLong: true, Window: 8000}
		l.answers = append(l.answers, many, tooLong, "done")
		events := l.ran("go")
		end := events[len(events)-1]
		if end.Type != CompleteRun || *end.Text != "done" ||
			!strings.Contains(types(events), string(CompactConversation)) {
			t.Errorf("after %d steps: %s", steps, types(events))
		}
		r := Records{Executor: l.cfg.Executor}
		for step := range steps + 2 {
			if c, err := r.AtStep(t.Context(), "run", step); err != nil || c.Compacted {
				t.Errorf("the checkpoint of step %d is %+v, %v", step, c, err)
			}
		}
		if c, err := r.Latest(t.Context(), "run"); err != nil || c.Status != Completed ||
			tokens(c.Messages...) > 8000 {
			t.Errorf("the end is %+v, %v", c, err)
		}
	}
}

// TestUsageWithoutSummary ends a run because the final report does not fit and no summary can be
// made: what the step has used until then is told.
func TestUsageWithoutSummary(t *testing.T) {
	l := newLab(t)
	if err := os.WriteFile(filepath.Join(l.dir, "f"), []byte(strings.Repeat("a few words\n", 800)), 0o666); err != nil {
		t.Fatal(err)
	}
	many := calls(`readTextFile {"path":"f"}`, `readTextFile {"path":"f","from":1}`,
		`readTextFile {"path":"f","from":2}`, "attemptCompletion")
	many.Text, many.Usage = strings.Repeat("I think ", 2000), Usage{OutputTokens: 10, TotalTokens: 10}
	l.answers = append(l.answers, many, &remote.Error{Status: 400, Reason: "too long", TooLong: true,
		Window: 8000})
	m := &summarizer{script: l.script, err: &remote.Error{Status: 401, Reason: "no key"}}
	l.cfg.Model = m
	events, err := l.run("go")
	end := events[len(events)-1]
	if err == nil || m.summaries != 1 ||
		end.Type != StopRunByError || end.Step == nil ||
		end.Step.Usage.TotalTokens != 10 {
		t.Errorf("%v after %d summaries; the run ends with %s, %+v", err, m.summaries, end.Type, end.Step)
	}
}

// TestPartsFitTheWindow has a result of many parts.
func TestPartsFitTheWindow(t *testing.T) {
	long := textPart(strings.Repeat("x", 600))
	image := Part{Type: ImageInlinePart, EncodedData: "eA==", MimeType: "image/png"}
	for name, tt := range map[string]struct {
		parts []Part
		want  string
	}{
		"one":    {[]Part{long}, "600"},
		"two":    {[]Part{long, long}, "600 400+"},
		"many":   {[]Part{long, long, long, long}, "600 400+ … 2 further parts of this result are not shown"},
		"images": {[]Part{image, image, long}, "image … 2 further parts of this result are not shown"},
	} {
		var got []string
		for _, p := range limitParts(tt.parts, 1000) {
			head, _, cut := strings.Cut(p.Text, "\n")
			switch {
			case p.EncodedData != "":
				got = append(got, "image")
			case cut:
				got = append(got, fmt.Sprintf("%d+", len(head)))
			case strings.HasPrefix(p.Text, "x"):
				got = append(got, fmt.Sprint(len(p.Text)))
			default:
				got = append(got, p.Text)
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %s, want %s", name, strings.Join(got, " "), tt.want)
		}
	}
}

// forgetting is a reader that keeps nothing of what it was asked, and says at the end whether
// the conversation that the run was continued with is still in memory.
type forgetting struct {
	*reader
	first weak.Pointer[Message]
	held  bool
}

func (m *forgetting) Next(ctx context.Context, r Request) (Answer, error) {
	a, err := m.reader.Next(ctx, r)
	m.asked, r = nil, Request{}
	if runtime.GC(); m.step > 20 {
		m.held = m.held || m.first.Value() != nil
	}
	return a, err
}

// TestCompactedIsForgotten continues a run, and holds of its conversation no more than what
// compaction leaves: else one that was taken over would be held twice.
func TestCompactedIsForgotten(t *testing.T) {
	l, reads := newReader(t, 3000)
	l.cfg.MaxSteps = 3
	l.ran("Read it.")
	c := l.from()
	m := &forgetting{reader: reads, first: weak.Make(&c.Messages[0])}
	l.cfg.Model, l.cfg.MaxSteps, l.cfg.RunID = m, 0, ""
	seq := Run(t.Context(), l.cfg, "")
	c, l.cfg.From = Checkpoint{}, nil
	compacted := 0
	for e, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == CompactConversation {
			compacted++
		}
	}
	if compacted == 0 || m.step <= 20 || m.held {
		t.Errorf("%d steps, compacted %d times, held %t", m.step, compacted, m.held)
	}
}
