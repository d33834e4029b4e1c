package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"textskill/skill"
)

// A script is a model that gives its answers in turn and keeps what it was asked.
type script struct {
	answers []any // Answer or error
	asked   []Request
}

func (s *script) Next(ctx context.Context, r Request) (Answer, error) {
	r.Messages = slices.Clone(r.Messages)
	s.asked = append(s.asked, r)
	if len(s.asked) > len(s.answers) {
		return Answer{}, errors.New("the script has no further answer")
	}
	switch a := s.answers[len(s.asked)-1].(type) {
	case error:
		return Answer{}, a
	case func(context.Context) (Answer, error):
		return a(ctx)
	case string:
		return Answer{Text: a}, nil
	default:
		answer := a.(Answer)
		return answer, nil
	}
}

// calls is an answer of tool calls, each "NAME ARGUMENTS".
func calls(list ...string) Answer {
	var a Answer
	for i, c := range list {
		name, args, _ := strings.Cut(c, " ")
		a.Calls = append(a.Calls, Call{ID: fmt.Sprintf("t%d", i), Name: name, Arguments: args})
	}
	a.Usage = Usage{InputTokens: 100, OutputTokens: 10, TotalTokens: 110}
	return a
}

// A lab is a workspace with an expert and a scripted model.
type lab struct {
	*testing.T
	dir string
	cfg Config
	*script
}

func newLab(t *testing.T, answers ...any) *lab {
	t.Helper()
	dir := t.TempDir()
	x, err := skill.New(skill.Config{Dir: dir, NoSync: true, Unfenced: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	s := &script{answers: answers}
	return &lab{t, x.Dir(), Config{
		Executor: x, Model: s, Expert: "e",
		Experts: map[string]Expert{"e": {Version: "1.0.0", Instruction: "Do it."}},
		RunID:   "run", wait: func(context.Context, time.Duration) error { return nil },
	}, s}
}

// run returns the events and the error.
func (l *lab) run(query string) ([]Event, error) {
	l.Helper()
	var events []Event
	for e, err := range Run(l.Context(), l.cfg, query) {
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
	return events, nil
}

// ran returns the events of a run that must have no error.
func (l *lab) ran(query string) []Event {
	l.Helper()
	events, err := l.run(query)
	if err != nil {
		l.Fatal(err)
	}
	return events
}

// from sets the run to go on from its last checkpoint.
func (l *lab) from() Checkpoint {
	l.Helper()
	c, err := Records{Executor: l.cfg.Executor}.Latest(l.Context(), "run")
	if err != nil {
		l.Fatal(err)
	}
	l.cfg.From = &c
	return c
}

func (l *lab) file(name string) string {
	data, err := os.ReadFile(filepath.Join(l.dir, name))
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// types prints events as "type/step".
func types(events []Event) string {
	var s []string
	for _, e := range events {
		s = append(s, fmt.Sprintf("%s/%d", e.Type, e.StepNumber))
	}
	return strings.Join(s, " ")
}

// checkConversation holds what a model is sent to what endpoints take: each call
// has one result, in the message behind it.
func checkConversation(t *testing.T, n int, messages []Message) {
	t.Helper()
	for i, m := range messages {
		var wants, has []string
		for _, p := range m.Contents {
			if p.Type == ToolCallPart {
				wants = append(wants, p.ToolCallID)
			}
		}
		if wants == nil {
			continue
		}
		if i+1 < len(messages) && messages[i+1].Type == ToolMessage {
			for _, p := range messages[i+1].Contents {
				has = append(has, p.ToolCallID)
			}
		}
		if !slices.Equal(wants, has) {
			t.Errorf("request %d: the calls %q have the results %q", n, wants, has)
		}
	}
}

// checkRecords compares what is recorded with what was reported.
func checkRecords(t *testing.T, l *lab, events []Event) {
	t.Helper()
	r := Records{Executor: l.cfg.Executor}
	files, err := r.Files(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range files {
		if f.Kind != "event" {
			continue
		}
		e, err := r.Event(t.Context(), "run", f)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := json.Marshal(e)
		want, _ := json.Marshal(events[n])
		if string(got) != string(want) {
			t.Errorf("event %d\n got %s\nwant %s", n, got, want)
		}
		n++
	}
	if n != len(events) {
		t.Errorf("%d events are recorded, of %d", n, len(events))
	}
	last, err := r.Latest(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(last.Messages)
	sent := l.asked[len(l.asked)-1].Messages
	want, _ := json.Marshal(sent)
	if !strings.HasPrefix(string(got), strings.TrimSuffix(string(want), "]")) {
		t.Errorf("the checkpoint's messages\n got %s\nwant %s…", got, want)
	}
}
