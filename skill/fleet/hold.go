package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/fleet/pack"
)

// A held is a run that this worker owns.
type held struct {
	*worker
	run    Run
	stored Run // as it was committed last
	ws     Workspace
	dir    string // of the copy of the workspace, and of its history

	x        *skill.Executor
	price    *agent.Price // of the model; nil if it is not known
	folder   *pack.Folder
	position []string // of the history, when the folder was stored last
	records  []string // of the run, written since then
	steps    int      // since blobs were purged

	events []Event      // of the step under way
	walk   bool         // whether that step may have changed files without the history
	ended  *agent.Event // of the step that has ended and is not stored; nil for none

	callers callers
}

// errGivenBack says that the worker ends and another one may go on with the run.
var errGivenBack = errors.New("the worker ends")

// errUnfit says that a worker cannot begin with a run, which another worker may be able to.
var errUnfit = errors.New("the workspace cannot be restored")

// carryOut works on the run until it is over, or ctx is done and a step has ended. It
// returns errGivenBack, or ErrTaken, if the run is not over.
func (h *held) carryOut(ctx context.Context) error {
	defer os.RemoveAll(h.dir)
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	stop, err := h.Plane.Listen(Cancels+h.run.ID, func([]byte) { cancel(errCancelled) })
	if err == nil {
		defer stop()
	}
	go h.watch(own, cancel)
	err = h.work(ctx, own)
	if err != nil && err != errGivenBack && !errors.Is(err, ErrTaken) && own.Err() != nil {
		err = context.Cause(own) // what was under way may only say that it was cancelled
	}
	if h.x != nil {
		err = cmp.Or(err, h.x.Close())
	}
	last := context.WithoutCancel(ctx)
	switch {
	case errors.Is(err, ErrTaken):
		h.Say(fmt.Sprintf("run %s: another worker has taken it; the copy here is deleted", h.run.ID))
		return ErrTaken
	case errors.Is(err, errUnfit), errors.Is(err, syscall.ENOSPC): // a disk that is full is this worker's
		returned := h.event(Event{Kind: Returned, Text: "another worker is needed: " + err.Error()})
		h.run.Status, h.run.Worker, h.run.Reason = Waiting, "", err.Error()
		h.run.Lost++
		return cmp.Or(h.commit(last, returned), err)
	case err == errGivenBack:
		h.run.Status, h.run.Worker = Waiting, ""
		if err := h.commit(last); err != nil {
			return err
		}
		h.Say(fmt.Sprintf("run %s: given back after step %d", h.run.ID, h.run.Step))
		return errGivenBack
	case errors.Is(err, errCancelled):
		return h.end(last, Cancelled, "")
	case err != nil:
		return h.end(last, Failed, err.Error())
	}
	return nil
}

// watch ends the work on the run when it is cancelled or another worker has taken it, for
// messages about that may be lost.
func (h *held) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	id, epoch := h.run.ID, h.run.Epoch
	for sleep(ctx, h.Patience/3) == nil {
		switch r, err := h.Plane.Run(ctx, id); {
		case err != nil:
		case r.Epoch != epoch:
			cancel(ErrTaken)
		case r.Cancelled:
			cancel(errCancelled)
		}
	}
}

// work is carryOut without its end. The steps are stored when it returns.
func (h *held) work(ctx, own context.Context) error {
	if err := h.open(own); err != nil && own.Err() == nil && !errors.Is(err, ErrNoBlob) {
		return fmt.Errorf("%w: %v", errUnfit, err)
	} else if err != nil {
		return cmp.Or(context.Cause(own), err)
	}
	calls, release, err := h.serveCalls()
	if err != nil {
		return err
	}
	defer release()
	if h.run.Expert == "" {
		return h.onlyHold(ctx, own, calls)
	}
	cfg, query, err := h.configure(own)
	if err != nil {
		return err
	}
	var fault error
	watch, end := func(agent.Event) {}, func(error) {}
	if h.Observer.Run != nil {
		watch, end = h.Observer.Run(h.run, &cfg)
	}
	defer func() {
		if fault == errGivenBack {
			fault = nil
		}
		end(fault)
	}()
	for e, err := range agent.Run(own, cfg, query) {
		stored := false
		if err == nil {
			watch(e)
			stored, err = h.hear(own, e)
		}
		if err == nil && stored && ctx.Err() != nil {
			err = errGivenBack
		}
		if err != nil {
			fault = err
			break
		}
	}
	if h.ended != nil && !errors.Is(fault, ErrTaken) {
		return h.endStep(context.WithoutCancel(ctx))
	}
	return fault
}

// hear adds an event to the step. It reports whether it has stored a step.
func (h *held) hear(ctx context.Context, e agent.Event) (stored bool, err error) {
	if h.ended != nil { // the run goes on after it
		if err := h.storeStep(ctx); err != nil {
			return false, err
		}
		stored = true
	}
	own := h.event(Event{Kind: Agent, Step: e.StepNumber, Agent: encode(e)})
	h.events = append(h.events, own)
	if len(own.Agent) <= maxInline {
		h.Plane.Tell(Live+h.run.ID, encode(own))
	}
	if e.ToolCall != nil && e.ToolCall.SkillName != baseSkill {
		h.walk = true
	}
	if e.Checkpoint == nil {
		return stored, nil
	}
	h.ended = &e
	if e.Type == agent.ContinueToNextStep || e.Type == agent.CompactConversation {
		return true, h.storeStep(ctx)
	}
	return stored, nil
}

// baseSkill is the name of the skill whose changes of files are in the history, except
// changes of commands.
const baseSkill = "@perstack/base"

// storeStep stores the step that has ended.
func (h *held) storeStep(ctx context.Context) (err error) {
	stored := h.callers.take(h)
	defer func(began time.Time) {
		stored(err)
		if err == nil && h.Observer.Stored != nil {
			h.Observer.Stored(time.Since(began))
		}
	}(time.Now())
	manifest, err := h.snapshot(ctx)
	if err != nil {
		return err
	}
	c := h.ended.Checkpoint
	h.run.Step, h.run.Checkpoint, h.run.Begun, h.run.Lost = c.StepNumber, c.ID, nil, 0
	h.run.Tokens = c.Usage.TotalTokens
	if h.price != nil {
		h.run.Cost = h.price.Cost(c.Usage)
	}
	h.ws.Manifest, h.run.Manifest = manifest, manifest
	events := h.events
	if h.run.Status.Over() {
		h.ws.Run = ""
		events = append(events, h.event(Event{Kind: Ended, Text: h.run.ending()}))
	}
	began := time.Now()
	if err := h.commit(ctx, events...); err != nil {
		return err
	}
	h.events, h.walk, h.ended = nil, false, nil
	if h.steps++; h.steps >= purgeEvery || h.run.Status.Over() {
		h.steps = 0
		h.purge(ctx, began)
	}
	return nil
}

// purgeEvery is how many steps pass until blobs are purged that no manifest needs.
const purgeEvery = 32

// purge removes blobs that are not needed any more. It begins only while nobody else can
// have taken the run: the blobs of another worker must stay.
func (h *held) purge(ctx context.Context, began time.Time) {
	ctx, cancel := context.WithDeadline(ctx, began.Add(h.Patience/2))
	defer cancel()
	if ctx.Err() == nil {
		h.Plane.Blobs(h.ws.Name).Purge(ctx, h.folder.Sums())
	}
}

// endStep stores the last step of the run, and with it how the run ended.
func (h *held) endStep(ctx context.Context) error {
	h.walk = true
	e := h.ended
	h.run.Status, h.run.Reason = Stopped, ""
	switch {
	case e.Type == agent.CompleteRun && e.Checkpoint.DelegatedBy == nil:
		h.run.Status = Completed
	case e.Type == agent.StopRunByError:
		h.run.Status, h.run.Reason = Failed, "the model failed"
		if e.Error != nil {
			h.run.Reason = e.Error.Message
		}
	case e.Type == agent.StopRunByInteractiveTool:
		h.run.Reason = "it waits for an answer of the user"
	case e.Type == agent.StopRunByExceededMaxSteps && e.ReasonText() != "":
		h.run.Reason = e.ReasonText()
	default:
		h.run.Reason = fmt.Sprintf("it has taken %d steps, as many as are allowed", e.StepNumber)
	}
	if err := h.storeStep(ctx); err != nil {
		return err
	}
	h.Say("run " + h.run.ID + ": " + h.run.ending())
	return nil
}

// end ends the run after its last stored step.
func (h *held) end(ctx context.Context, s Status, reason string) error {
	h.run.Status, h.run.Reason = s, reason
	if h.ws.Run == h.run.ID {
		h.ws.Run = ""
	}
	if err := h.commit(ctx, h.event(Event{Kind: Ended, Text: h.run.ending()})); err != nil {
		return err
	}
	h.Say("run " + h.run.ID + ": " + h.run.ending())
	return nil
}

// ending says how a run has ended.
func (r Run) ending() string {
	text := fmt.Sprintf("%s after step %d", r.Status, r.Step)
	if r.Reason != "" {
		text += ": " + r.Reason
	}
	return text
}
