// Package runs shows runs of experts on a page. [Of] returns the recorded runs of a workspace.
// [Event] converts an event of any run, for other implementations of [page.Runs].
package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"textskill/parser/rawjson"
	"textskill/skill/agent"
	"textskill/skill/page"
)

// maxText is how many bytes of an event's text are cached. A page shows fewer.
const maxText = 32 << 10

// maxKept is the size of a cache. Entries stay valid, because records do not change.
const maxKept = 2500

// Of returns the recorded runs. prices are the prices of models.
func Of(records agent.Records, prices agent.Prices) page.Runs {
	return &recorded{Records: records, prices: prices, events: map[string]page.Event{},
		runs: map[string]page.Run{}, calls: map[string]string{}}
}

type recorded struct {
	agent.Records
	prices agent.Prices

	mu     sync.Mutex
	events map[string]page.Event // by run and name of the record
	runs   map[string]page.Run   // by run and name of its last record
	calls  map[string]string     // texts of calls, by run and ID of the call
}

// List implements [page.Runs].
func (r *recorded) List(ctx context.Context, limit int) (list []page.Run, more int, err error) {
	settings, err := r.Runs(ctx)
	if err != nil {
		return nil, 0, err
	}
	if len(settings) > limit {
		settings, more = settings[:limit], len(settings)-limit
	}
	for _, s := range settings {
		files, err := r.Files(ctx, s.RunID)
		if err != nil {
			return nil, 0, err
		}
		list = append(list, r.run(ctx, s, files))
	}
	return list, more, nil
}

// run returns a run in its current state.
func (r *recorded) run(ctx context.Context, s agent.RunSetting, files []agent.RecordName) page.Run {
	key := s.RunID
	if len(files) > 0 {
		key += "/" + files[len(files)-1].String()
	}
	r.mu.Lock()
	run, ok := r.runs[key]
	r.mu.Unlock()
	if !ok {
		run = r.read(ctx, s, files)
		r.mu.Lock()
		if len(r.runs) > maxKept {
			clear(r.runs)
		}
		r.runs[key] = run
		r.mu.Unlock()
	}
	run.Updated = time.UnixMilli(s.UpdatedAt)
	if len(files) > 0 {
		run.Updated = time.UnixMilli(files[len(files)-1].Timestamp)
	}
	if run.Live = r.Owned(s.RunID); run.Live {
		run.State, run.Failed = "running", false
	}
	return run
}

// read reads a run from its last readable checkpoint.
func (r *recorded) read(ctx context.Context, s agent.RunSetting, files []agent.RecordName) page.Run {
	run := page.Run{ID: s.RunID, Expert: s.ExpertKey, Model: s.Model, Query: s.Input.Text, Problem: s.Damage,
		State: "nothing recorded", Started: time.UnixMilli(s.StartedAt)}
	for i := len(files) - 1; i >= 0; i-- {
		if files[i].Kind != "checkpoint" {
			run.Step = max(run.Step, files[i].StepNumber)
			continue
		}
		c, err := r.Recorded(ctx, s.RunID, files[i].Of)
		if err != nil {
			run.Problem = err.Error()
			continue
		}
		run.State, run.Failed = stateOf(c.Status)
		run.Step, run.Tokens = max(run.Step, c.StepNumber), c.Usage.TotalTokens
		if price := r.prices.Of(s.Model); price != nil {
			run.Cost = fmt.Sprintf("$%.4f", price.Cost(c.Usage))
		}
		break
	}
	return run
}

// stateOf returns the state of a run that no process works on, in a few words.
func stateOf(s agent.Status) (state string, failed bool) {
	switch s {
	case agent.Completed:
		return "completed", false
	case agent.StoppedByInteractiveTool:
		return "waits for an answer", false
	case agent.StoppedByExceededMaxSteps:
		return "stopped at a limit", true
	case agent.StoppedByError:
		return "stopped by an error", true
	}
	return "interrupted", true
}

// Run implements [page.Runs].
func (r *recorded) Run(ctx context.Context, id string, limit int) (run page.Run, events []page.Event,
	before int, err error) {
	files, err := r.Files(ctx, id)
	if err != nil {
		return run, nil, 0, err
	}
	s, err := r.Setting(ctx, id)
	if err != nil {
		if len(files) == 0 {
			return run, nil, 0, fmt.Errorf("there is no run %s: %w", id, err)
		}
		s = agent.RunSetting{RunID: id, Damage: err.Error()}
	}
	run = r.run(ctx, s, files)
	var shown []agent.RecordName
	for _, n := range files {
		if n.Kind == "event" && words[agent.EventType(n.Of)] != "" {
			shown = append(shown, n)
		}
	}
	before = max(0, len(shown)-limit)
	for _, n := range shown[before:] {
		e := r.event(ctx, id, n)
		if e.Text == s.Input.Text {
			e.Text = "" // the page already shows the query
		}
		events = append(events, e)
	}
	return run, events, before, nil
}

// event returns an event of a run.
func (r *recorded) event(ctx context.Context, run string, n agent.RecordName) page.Event {
	key := run + "/" + n.String()
	r.mu.Lock()
	e, ok := r.events[key]
	r.mu.Unlock()
	if ok {
		return e
	}
	read, err := r.Event(ctx, run, n)
	if err != nil {
		return page.Event{ID: n.String(), Time: time.UnixMilli(n.Timestamp), Step: n.StepNumber,
			What: "a record that cannot be read", Text: err.Error(), Failed: true}
	}
	e = Event(read)
	r.omitRepeated(run, read, &e)
	e.More = fmt.Sprintf("%s log --run %s --step %d --json", r.Executor.Program(), run, read.StepNumber)
	e.ID = n.String() // two records may have the same event ID
	e.Text, e.Words = clipped(e.Text), clipped(e.Words)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.events) > maxKept {
		clear(r.events)
	}
	r.events[key] = e
	return e
}

// omitRepeated removes the parts of a result that repeat the text of the call.
func (r *recorded) omitRepeated(run string, read agent.Event, e *page.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case read.ToolCall != nil:
		if len(r.calls) > maxKept {
			clear(r.calls)
		}
		r.calls[run+"/"+read.ToolCall.ID] = clipped(e.Text)
	case read.ToolResult != nil:
		call := "\n" + r.calls[run+"/"+read.ToolResult.ID]
		text := ""
		for _, p := range read.ToolResult.Result {
			for _, part := range readables(p.Text) {
				if len(part) <= fewBytes || !strings.Contains(call, "\n"+part) {
					text += part
				}
			}
		}
		e.Text = text
	}
}

// fewBytes is the length up to which a part is repeated.
const fewBytes = 80

// words are the texts for events. A page does not show other types of events.
var words = map[agent.EventType]string{
	agent.StartRun: "begins", agent.Retry: "asks the model again", agent.CallTool: "calls",
	agent.CallInteractiveTool: "asks",
	agent.CallDelegate:        "delegates to", agent.ResolveToolResult: "result of",
	agent.ResolveImageFile: "image of", agent.ResolvePdfFile: "file of",
	agent.CompactConversation:       "shortens the conversation",
	agent.StopRunByExceededMaxSteps: "stops at a limit",
	agent.StopRunByError:            "stops by an error", agent.CompleteRun: "reports",
}

// Event returns an event in the form of a page.
func Event(e agent.Event) page.Event {
	shown := page.Event{
		ID: strconv.FormatInt(e.Timestamp, 10), Time: time.UnixMilli(e.Timestamp), Step: e.StepNumber,
		What: words[e.Type],
	}
	switch {
	case e.Error != nil:
		shown.Text, shown.Failed = e.Error.Message, true
	case e.Text != nil:
		shown.Words, shown.Report = *e.Text, true
	case e.Reason != "":
		shown.Text, shown.Failed = e.ReasonText(), true
	case e.ToolCall != nil:
		shown.What += " " + e.ToolCall.ToolName
		shown.Words = e.NewMessage.Text()
		shown.Text = readable(string(e.ToolCall.Args))
	case e.ToolResult != nil:
		shown.What += " " + e.ToolResult.ToolName
		shown.Failed = e.ToolResult.IsError
		for _, p := range e.ToolResult.Result {
			shown.Text += readable(p.Text)
		}
		if e.ToolResult.Session != nil {
			shown.Changes = e.ToolResult.Session.Changes
		}
	case e.Type == agent.StartRun:
		shown.What = e.ExpertKey + " " + shown.What
		for i := range e.InputMessages {
			if e.InputMessages[i].Type == agent.UserMessage {
				shown.Text += e.InputMessages[i].Text()
			}
		}
	}
	return shown
}

// readable returns the members of a JSON object as lines, with decoded strings. It returns any
// other text unchanged.
func readable(text string) string { return strings.Join(readables(text), "") }

// readables returns the parts of a readable text: a part for each member.
func readables(text string) (parts []string) {
	object := []byte(strings.TrimSpace(text))
	if len(object) == 0 || object[0] != '{' || !json.Valid(object) {
		return []string{text}
	}
	for name, value := range rawjson.EachMember(object) {
		shown, ok := rawjson.String(value)
		if !ok {
			shown = string(value)
		}
		key, _ := rawjson.String(name)
		part := key + ": "
		if strings.Contains(strings.TrimSuffix(shown, "\n"), "\n") {
			part += "\n"
		}
		parts = append(parts, part+strings.TrimSuffix(shown, "\n")+"\n")
	}
	return parts
}

// clipped returns the beginning of a text, without keeping the rest in memory.
func clipped(s string) string {
	if len(s) > maxText {
		return strings.Clone(s[:maxText])
	}
	return s
}
