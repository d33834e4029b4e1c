package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"textskill/parser/rawjson"
)

// A position is where a run is continued: after a checkpoint, or in the step that was
// under way when the run was interrupted. That step is put together from its events, so
// that no call that they show as finished is made again.
type position struct {
	Checkpoint             // with all messages; its id is "" if the task has none yet
	setting    *RunSetting // of a run that was interrupted before its first event; else nil

	step        int       // under way; 0 if none was
	input       []Message // of that step: what it began with, and what was done
	usage       Usage     // of the run so far
	completing  bool      // all is done but the final report
	interrupted []string  // names of tools whose calls were under way

	answer  *Message // of the model, while calls of it are open
	results []ToolResult
	waiting []string // ids of calls that another expert or the user answers

	note string // to the model, of records that are damaged; "" for none
}

const (
	interruptedCall = "The run was interrupted during this call. What it does may have happened, in part or whole: find out before you call it again."
	notBegunCall    = "The run was interrupted before this call. Nothing of it has happened; call it again if it is still needed."
	lostMedia       = "(The image or file is not kept here, because the run was interrupted. Read it again if it is needed.)"
	undoneFiles     = "Files are not as this conversation left them. Since then, changes of it were undone, of %s. Read again what you need of them."
	lostRecords     = "Records of this run are damaged: %s. Calls may have been made that this conversation does not show. Find out before you repeat anything."
	unconfirmed     = "Nothing confirms the records of this conversation. What it says of calls and results may be wrong; find out before you rely on it."
)

// takeUpRecords has a run go on where its records end. It tells the user and the model what
// of them is damaged, and what has happened since.
func (r *run) takeUpRecords(ctx context.Context) error {
	from, damage, err := r.records.position(ctx, r.id)
	for _, what := range damage {
		r.cfg.Warn(what)
	}
	switch {
	case err != nil && err != ErrNoCheckpoint && ctx.Err() == nil:
		return fmt.Errorf("%w; no record of the run %s can be used: start a new run with its query", err, r.id)
	case err != nil:
		return err
	case len(from.interrupted) > 0:
		r.cfg.Warn(fmt.Sprintf("the run was interrupted during %s, which may have happened; the model is told",
			strings.Join(from.interrupted, ", ")))
	case len(damage) > 0 && from.step > 0:
		r.cfg.Warn(fmt.Sprintf("the run continues in step %d", from.step))
	case len(damage) > 0:
		r.cfg.Warn(fmt.Sprintf("the run continues from step %d", from.StepNumber))
	}
	r.note(from.note)
	undone, err := r.undoneSince(ctx, from.Checkpoint)
	if err == nil && undone != "" {
		from.completing = false
		r.cfg.Warn("files are not as the conversation left them; the model is told: changes were undone of " + undone)
		r.note(fmt.Sprintf(undoneFiles, undone))
	}
	if r.unconfirmed {
		from.completing = false
		r.note(unconfirmed)
	}
	r.from = &from
	return err
}

// position returns where a run is continued, and what of its records is damaged. For a run
// without any usable record the error is [ErrNoCheckpoint], or says what is damaged.
func (r Records) position(ctx context.Context, runID string) (position, []string, error) {
	files, err := r.Files(ctx, runID)
	if err != nil {
		return position{}, nil, err
	}
	last, at, damage, broken := r.lastCheckpoint(ctx, runID, files)
	w := retracing{records: r, runID: runID, files: files, last: last, begun: at >= 0, damage: damage}
	w.p = position{Checkpoint: last, usage: last.Usage}
	for _, n := range files[at+1:] {
		if n.Kind != "event" {
			continue
		}
		if w.event(ctx, n); ctx.Err() != nil {
			return w.p, w.damage, ctx.Err()
		}
	}
	missing, _ := r.missing(files)
	for _, n := range missing {
		if n.Kind == "event" && !endsStep(n.Of) && (at < 0 || n.Timestamp > files[at].Timestamp) {
			w.damage, w.lost = append(w.damage, n.String()+" is missing"), append(w.lost, n.String())
		}
	}
	if !w.begun {
		p, err := r.unbegun(ctx, runID, broken)
		return p, w.damage, err
	}
	w.p.interrupt()
	if len(w.lost) > 0 {
		w.p.tell(fmt.Sprintf(lostRecords, strings.Join(w.lost, ", ")))
	}
	return w.p, w.damage, nil
}

// A retracing puts a position together from the events behind the last checkpoint.
type retracing struct {
	records Records
	runID   string
	files   []RecordName
	last    Checkpoint

	p            position
	begun        bool     // there is something to go on from
	damage, lost []string // what cannot be read, and the names of events that p lacks for it
}

// event adds an event.
func (w *retracing) event(ctx context.Context, n RecordName) {
	e, err := w.records.Event(ctx, w.runID, n)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		w.damage = append(w.damage, err.Error())
		if !endsStep(n.Of) {
			w.lost = append(w.lost, n.String())
		}
	case e.Type == StartRun && e.InitialCheckpoint != nil:
		w.start(ctx, n, e)
	case w.begun && !w.p.awaits() && (e.Checkpoint == nil || e.Checkpoint.ID != w.last.ID):
		w.p.add(e)
	}
}

// start adds the beginning of a task or of its continuation.
func (w *retracing) start(ctx context.Context, n RecordName, e Event) {
	started, repaired, err := w.records.started(ctx, w.runID, w.files, e)
	w.damage = append(w.damage, repaired...)
	switch {
	case err != nil:
		w.damage, w.lost = append(w.damage, err.Error()), append(w.lost, n.String())
	case started.Status == StoppedByInteractiveTool && started.step == 0:
		w.p, w.begun = started, true
	case started.step == 0: // the task that was delegated has ended, and its report was not used
		w.p, w.begun = position{Checkpoint: w.last}, true
	default:
		w.p.interrupt()
		nothingAdded := started.step == w.p.step && len(started.input) == len(w.p.input)
		started.completing = w.p.completing && nothingAdded
		w.p, w.begun, w.lost = started, true, nil
	}
}

// awaits reports whether the task goes on only with the result of another one or of the
// user, or gives its own to another. Events that follow without a StartRun are not its.
func (p *position) awaits() bool {
	return p.step == 0 && (len(p.PendingToolCalls) > 0 || p.Status == Completed && p.DelegatedBy != nil)
}

// tell adds a message to what the step begins with, or to what the next task begins with.
func (p *position) tell(text string) {
	if p.awaits() {
		p.note = text
		return
	}
	p.completing = false
	p.input = append(p.input, newMessage(UserMessage, textPart(text)))
	p.step = max(p.step, p.StepNumber+1)
}

// Step returns the number of the step in which a run continues, from 1.
func (r Records) Step(ctx context.Context, runID string) (int, error) {
	p, _, err := r.position(ctx, runID)
	return cmp.Or(p.step, p.StepNumber+1), err
}

// started returns the position at the beginning of a task or of its continuation. Its
// step is 0 if nothing came of that: calls still wait for the result that it brought.
func (r Records) started(ctx context.Context, runID string, files []RecordName, e Event) (p position,
	damage []string, err error) {
	p = position{Checkpoint: *e.InitialCheckpoint, usage: e.InitialCheckpoint.Usage, step: e.StepNumber,
		input: slices.Clone(e.InputMessages)}
	p.ID = p.ParentID
	if p.ID == "" {
		return p, nil, nil
	}
	before, damage, err := r.complete(ctx, runID, files, p.ID)
	if err != nil {
		return p, damage, err
	}
	if len(before.PendingToolCalls) > 0 &&
		!slices.ContainsFunc(e.InputMessages, func(m Message) bool { return m.Type == ToolMessage }) {
		return position{Checkpoint: before}, damage, nil
	}
	p.Messages = before.Messages
	p.Session = cmp.Or(p.Session, before.Session)
	return p, damage, nil
}

// unbegun returns the position of a run that has no checkpoint and no event to begin
// with. The error is why its checkpoints are unusable, if it has any.
func (r Records) unbegun(ctx context.Context, runID string, broken error) (p position, err error) {
	if broken != ErrNoCheckpoint {
		return p, broken
	}
	s, err := r.Setting(ctx, runID)
	if errors.Is(err, fs.ErrNotExist) {
		return p, ErrNoCheckpoint
	}
	p.setting = &s
	return p, err
}

// add adds an event of the step that was under way.
func (p *position) add(e Event) {
	p.step = e.StepNumber
	if endsStep(string(e.Type)) {
		p.step++
	}
	if e.Usage != nil {
		p.usage = p.usage.Add(*e.Usage)
	}
	switch e.Type {
	case Retry:
		if len(e.NewMessages) > 0 {
			p.interrupt()
			p.completing = p.completing && isReportRetry(e)
			p.input = append(p.input, e.NewMessages...)
		}
	case CallTool, CallDelegate, CallInteractiveTool:
		if e.NewMessage != nil && e.ToolCall != nil {
			p.call(*e.NewMessage)
			if e.Type != CallTool {
				p.waiting = append(p.waiting, e.ToolCall.ID)
			}
		}
	case FinishToolCall:
		p.finish(e.NewMessages)
	}
	if e.ToolResult == nil || p.answer == nil {
		return
	}
	r := *e.ToolResult
	if e.Type == ResolveImageFile || e.Type == ResolvePdfFile {
		r.Result = append(slices.Clone(r.Result), textPart(lostMedia))
	}
	if r.Session != nil {
		p.Session, r.Session = r.Session, nil
	}
	r.IsError = false
	p.results = append(p.results, r)
	p.completing = e.Type == AttemptCompletion
}

// call adds a call, and the text of the answer, which only the first call's message has.
func (p *position) call(m Message) {
	if p.answer == nil || p.answer.ID != m.ID {
		p.interrupt()
		m.Contents = slices.Clone(m.Contents)
		p.answer = &m
		return
	}
	p.answer.Contents = slices.Insert(p.answer.Contents, p.answer.calls(), m.Contents...)
}

// calls returns the number of the calls that a message begins with.
func (m *Message) calls() int {
	for i, p := range m.Contents {
		if p.Type != ToolCallPart {
			return i
		}
	}
	return len(m.Contents)
}

// finish adds the answer, its calls in the order of the results, and the results.
func (p *position) finish(results []Message) {
	if p.answer == nil || len(results) != 1 {
		return
	}
	place := map[string]int{}
	for i, r := range results[0].Contents {
		place[r.ToolCallID] = i
	}
	slices.SortStableFunc(p.answer.Contents[:p.answer.calls()], func(a, b Part) int {
		return place[a.ToolCallID] - place[b.ToolCallID]
	})
	p.input = append(p.input, *p.answer, results[0])
	p.answer, p.results = nil, nil
}

// interrupt ends the answer whose calls are open: calls without a result get one that
// says so.
func (p *position) interrupt() {
	if p.answer == nil {
		return
	}
	var order []string
	for _, c := range p.answer.Contents {
		if c.Type != ToolCallPart {
			continue
		}
		order = append(order, c.ToolCallID)
		if slices.ContainsFunc(p.results, func(r ToolResult) bool { return r.ID == c.ToolCallID }) {
			continue
		}
		what := interruptedCall
		if slices.Contains(p.waiting, c.ToolCallID) {
			what = notBegunCall
		} else {
			p.interrupted = append(p.interrupted, c.ToolName)
		}
		p.completing = false
		p.results = append(p.results, ToolResult{ID: c.ToolCallID, ToolName: c.ToolName,
			Result: []Part{textPart(string(rawjson.Encode(reason{"Interrupted", what})))}})
	}
	p.input = append(p.input, *p.answer, resultMessage(order, p.results))
	p.answer, p.results = nil, nil
}

// endsStep reports whether events of a type end a step, and so hold its checkpoint.
func endsStep(event string) bool {
	switch EventType(event) {
	case ContinueToNextStep, CompactConversation, StopRunByInteractiveTool, StopRunByDelegate,
		StopRunByExceededMaxSteps, StopRunByError, CompleteRun:
		return true
	}
	return false
}
