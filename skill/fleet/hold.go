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

// An ownedRun is a run that this worker owns, and its copy of the workspace.
type ownedRun struct {
	*worker
	run    Run
	stored Run // the state of the last commit
	ws     Workspace
	dir    string // the copy of the workspace, and its history

	x        *skill.Executor
	price    *agent.Price // of the model; nil if unknown
	folder   *pack.Folder
	position []string // in the history, at the last snapshot of the folder
	records  []string // paths of the run's records since the last snapshot
	commits  int      // since the last purge

	events []Event      // of the current step
	walk   bool         // the current step may have changed files outside of the history
	ended  *agent.Event // the last event of a step that is not stored yet; nil for none

	callers callers
}

// errGivenBack says that the worker ends. Another worker may continue the run.
var errGivenBack = errors.New("the worker ends")

// errUnfit says that this worker cannot start on the run. Another worker may be able to.
var errUnfit = errors.New("the workspace cannot be restored")

// carryOut works on the run until the run is over. If ctx ends first, it stops after the
// current step. It returns errGivenBack or ErrTaken if the run is not over.
func (h *ownedRun) carryOut(ctx context.Context) error {
	defer os.RemoveAll(h.dir)
	runCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	stop, err := h.Plane.Listen(Cancels+h.run.ID, func([]byte) { cancel(errCancelled) })
	if err == nil {
		defer stop()
	}
	go h.watch(runCtx, cancel)
	err = h.work(ctx, runCtx)
	if err != nil && err != errGivenBack && !errors.Is(err, ErrTaken) && runCtx.Err() != nil {
		err = context.Cause(runCtx) // err itself may only say "context canceled"
	}
	if h.x != nil {
		err = cmp.Or(err, h.x.Close())
	}
	endCtx := context.WithoutCancel(ctx)
	switch {
	case errors.Is(err, ErrTaken):
		h.Say(fmt.Sprintf("run %s: another worker has taken it; the copy here is deleted", h.run.ID))
		return ErrTaken
	case errors.Is(err, errUnfit), errors.Is(err, syscall.ENOSPC): // the disk of this worker is full
		returned := h.event(Event{Kind: Returned, Text: "another worker is needed: " + err.Error()})
		h.run.Status, h.run.Worker, h.run.Reason = Waiting, "", err.Error()
		h.run.Lost++
		return cmp.Or(h.commit(endCtx, returned), err)
	case err == errGivenBack:
		h.run.Status, h.run.Worker = Waiting, ""
		if err := h.commit(endCtx); err != nil {
			return err
		}
		h.Say(fmt.Sprintf("run %s: given back after step %d", h.run.ID, h.run.Step))
		return errGivenBack
	case errors.Is(err, errCancelled):
		return h.end(endCtx, Cancelled, "")
	case err != nil:
		return h.end(endCtx, Failed, err.Error())
	}
	return nil
}

// watch reads the state of the run from time to time, because messages may be lost. It calls
// cancel if the run was cancelled or another worker has taken it.
func (h *ownedRun) watch(ctx context.Context, cancel context.CancelCauseFunc) {
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

// work restores the workspace, then runs the expert or waits for calls. All ended steps are
// stored when work returns.
func (h *ownedRun) work(ctx, runCtx context.Context) error {
	if err := h.open(runCtx); err != nil && runCtx.Err() == nil && !errors.Is(err, ErrNoBlob) {
		return fmt.Errorf("%w: %v", errUnfit, err)
	} else if err != nil {
		return cmp.Or(context.Cause(runCtx), err)
	}
	calls, release, err := h.serveCalls()
	if err != nil {
		return err
	}
	defer release()
	if h.run.Expert == "" {
		return h.waitForCalls(ctx, runCtx, calls)
	}
	cfg, query, err := h.configure(runCtx)
	if err != nil {
		return err
	}
	return h.runExpert(ctx, runCtx, cfg, query)
}

// runExpert runs the expert and stores its steps. It stops after a step if ctx is done.
func (h *ownedRun) runExpert(ctx, runCtx context.Context, cfg agent.Config, query string) error {
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
	for e, err := range agent.Run(runCtx, cfg, query) {
		stored := false
		if err == nil {
			watch(e)
			stored, err = h.addEvent(runCtx, e)
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

// addEvent adds an event to the current step. It reports whether it has stored a step.
func (h *ownedRun) addEvent(ctx context.Context, e agent.Event) (stored bool, err error) {
	if h.ended != nil { // the step was not the last one of the run
		if err := h.storeStep(ctx); err != nil {
			return false, err
		}
		stored = true
	}
	added := h.event(Event{Kind: Agent, Step: e.StepNumber, Agent: encode(e)})
	h.events = append(h.events, added)
	if len(added.Agent) <= maxInline {
		h.Plane.Tell(Live+h.run.ID, encode(added))
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

// baseSkill is the skill whose tools record their changes in the history. Only its commands
// may change files without a record.
const baseSkill = "@perstack/base"

// storeStep stores the ended step: files, events and state.
func (h *ownedRun) storeStep(ctx context.Context) (err error) {
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
	h.purge(ctx, began)
	return nil
}

// purgeEvery is how many commits pass between two purges.
const purgeEvery = 32

// purge counts commits. After purgeEvery commits, and at the end of the run, it removes blobs that
// the last manifest does not need. It must not remove blobs of another worker that has taken the
// run. No worker takes the run within the patience after began, the time of the last commit.
func (h *ownedRun) purge(ctx context.Context, began time.Time) {
	if h.commits++; h.commits < purgeEvery && !h.run.Status.Over() {
		return
	}
	h.commits = 0
	ctx, cancel := context.WithDeadline(ctx, began.Add(h.Patience/2))
	defer cancel()
	if ctx.Err() == nil {
		h.Plane.Blobs(h.ws.Name).Purge(ctx, h.folder.Sums())
	}
}

// endStep stores the last step of the run, with the status of the run.
func (h *ownedRun) endStep(ctx context.Context) error {
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
		h.run.Reason = fmt.Sprintf("it has reached its limit of %d steps", e.StepNumber)
	}
	if err := h.storeStep(ctx); err != nil {
		return err
	}
	h.Say("run " + h.run.ID + ": " + h.run.ending())
	return nil
}

// end ends the run after its last stored step, and releases its workspace.
func (h *ownedRun) end(ctx context.Context, s Status, reason string) error {
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

// ending says in a sentence how a run has ended.
func (r Run) ending() string {
	text := fmt.Sprintf("%s after step %d", r.Status, r.Step)
	if r.Reason != "" {
		text += ": " + r.Reason
	}
	return text
}
