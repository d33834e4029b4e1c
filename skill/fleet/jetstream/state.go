package jetstream

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"textskill/skill/fleet"
)

// maxBatch is the most messages that a server accepts in one batch.
const maxBatch = 1000

// commitHeader is the ID of the commit that wrote a state. A commit recognizes its own states
// when the answer to an earlier try was lost.
const commitHeader = "Skill-Commit"

// runTTL is keepTime in the form of NATS.
var runTTL = strconv.Itoa(int(keepTime.Seconds())) + "s"

// An expectedState is a state that the server writes only if it is still at this revision.
type expectedState struct {
	subject  string
	revision *uint64
}

// Commit implements [fleet.Plane].
func (p *Plane) Commit(ctx context.Context, b fleet.Batch) error {
	id := rand.Text()
	msgs, states, err := messages(b, id)
	if err != nil {
		return err
	}
	var last uint64
	err = p.reach(ctx, func(ctx context.Context) (err error) {
		last, err = p.store(ctx, msgs)
		wrong := []jetstream.ErrorCode{jetstream.JSErrCodeStreamWrongLastSequence,
			jetstream.JSErrCodeStreamWrongLastSequenceConstant}
		if api, ok := errors.AsType[*jetstream.APIError](err); ok && slices.Contains(wrong, api.ErrorCode) {
			last, err = p.resolveConflict(ctx, states, id)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, s := range states {
		*s.revision = last - uint64(len(states)-1-i)
	}
	return nil
}

// messages returns the messages of a batch, the states last.
func messages(b fleet.Batch, id string) (msgs []*nats.Msg, states []expectedState, err error) {
	if len(b.Events) > 0 && b.Run == nil {
		return nil, nil, errors.New("the batch has events but no run")
	}
	if len(b.Events) > maxBatch-2 {
		return nil, nil, fmt.Errorf("the batch has %d events, more than the limit of %d",
			len(b.Events), maxBatch-2)
	}
	add := func(pattern, name string, v any, revision *uint64) {
		var m *nats.Msg
		if err == nil {
			m, err = message(pattern, name, v)
		}
		if err != nil {
			return
		}
		if pattern != workspaceState {
			m.Header.Set(jetstream.MsgTTLHeader, runTTL)
		}
		if revision != nil {
			m.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(*revision, 10))
			m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
			m.Header.Set(commitHeader, id)
			states = append(states, expectedState{m.Subject, revision})
		}
		msgs = append(msgs, m)
	}
	for i := range b.Events {
		add(runEvents, b.Run.ID, b.Events[i], nil)
	}
	if b.Workspace != nil {
		add(workspaceState, b.Workspace.Name, b.Workspace, &b.Workspace.Revision)
	}
	if b.Run != nil {
		add(runState, b.Run.ID, b.Run, &b.Run.Revision)
	}
	if err == nil && len(msgs) == 0 {
		err = errors.New("the batch is empty")
	}
	return msgs, states, err
}

// message returns a message with the JSON of v.
func message(pattern, name string, v any) (*nats.Msg, error) {
	subj, err := subject(pattern, name)
	if err != nil {
		return nil, err
	}
	m := nats.NewMsg(subj)
	if m.Data, err = json.Marshal(v); err == nil && len(m.Data) > fleet.MaxMessage {
		err = fmt.Errorf("%s has %d bytes, more than the limit of %d", subj, len(m.Data), fleet.MaxMessage)
	}
	return m, err
}

// Patterns of subjects.
const (
	runEvents      = "skill.runs.%.events"
	runState       = "skill.runs.%.state"
	runCancel      = "skill.runs.%.cancel"
	workspaceState = "skill.ws.%.state"
)

// store stores messages as one atomic batch. It returns the sequence number of the last message.
func (p *Plane) store(ctx context.Context, msgs []*nats.Msg) (uint64, error) {
	end := len(msgs) - 1
	if end == 0 {
		return p.publish(ctx, msgs[0])
	}
	id := rand.Text()
	for i, m := range msgs {
		m.Header.Set("Nats-Batch-Id", id)
		m.Header.Set("Nats-Batch-Sequence", strconv.Itoa(i+1))
		if i == end {
			m.Header.Set("Nats-Batch-Commit", "1")
			break
		}
		if err := p.nc.PublishMsg(m); err != nil {
			return 0, err
		}
	}
	return p.publish(ctx, msgs[end])
}

// resolveConflict finds out why states were not at their expected revisions. If an earlier try of
// the same commit wrote them, it returns the sequence number of the last state. If another
// commit did, it fails with [fleet.ErrTaken].
func (p *Plane) resolveConflict(ctx context.Context, states []expectedState, id string) (uint64, error) {
	var sequence uint64
	ours := true
	for _, s := range states {
		m, err := p.runs.GetLastMsgForSubject(ctx, s.subject)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			m = &jetstream.RawStreamMsg{}
		case err != nil:
			return 0, err
		}
		sequence = m.Sequence
		if m.Header.Get(commitHeader) != id {
			if ours = false; sequence != *s.revision {
				return 0, fleet.ErrTaken
			}
		}
	}
	if !ours { // the revisions are as expected: another commit is in progress and may still fail
		return 0, errBusy
	}
	return sequence, nil
}

// last reads the last value of a name's subject: see [Plane.lastAt].
func (p *Plane) last(ctx context.Context, pattern, name string, v any) (revision uint64, err error) {
	subj, err := subject(pattern, name)
	if err != nil {
		return 0, err
	}
	return p.lastAt(ctx, subj, v)
}

// lastAt asks the leader of the stream for the last value of a subject. It fails with
// jetstream.ErrMsgNotFound if there is no value.
func (p *Plane) lastAt(ctx context.Context, subj string, v any) (revision uint64, err error) {
	err = p.reach(ctx, func(ctx context.Context) error {
		m, err := p.runs.GetLastMsgForSubject(ctx, subj)
		if err != nil {
			return err
		}
		revision = m.Sequence
		return json.Unmarshal(m.Data, v)
	})
	return revision, err
}

// Run implements [fleet.Plane].
func (p *Plane) Run(ctx context.Context, id string) (r fleet.Run, err error) {
	if r.Revision, err = p.last(ctx, runState, id, &r); errors.Is(err, jetstream.ErrMsgNotFound) {
		return fleet.Run{}, fmt.Errorf("run %s: %w", id, fleet.ErrNoRun)
	}
	if err != nil {
		return r, err
	}
	var cancel json.RawMessage
	_, err = p.last(ctx, runCancel, id, &cancel)
	if r.Cancelled = err == nil; errors.Is(err, jetstream.ErrMsgNotFound) {
		err = nil
	}
	return r, err
}

// Workspace implements [fleet.Plane].
func (p *Plane) Workspace(ctx context.Context, name string) (w fleet.Workspace, err error) {
	if w.Revision, err = p.last(ctx, workspaceState, name, &w); errors.Is(err, jetstream.ErrMsgNotFound) {
		return fleet.Workspace{Name: name}, nil
	}
	return w, err
}

// Runs implements [fleet.Plane].
func (p *Plane) Runs(ctx context.Context, tenant string) ([]fleet.Run, error) {
	var states, cancels map[string]uint64
	err := p.reach(ctx, func(ctx context.Context) (err error) {
		if states, err = subjects(ctx, p.runs, "skill.runs.*.state"); err == nil {
			cancels, err = subjects(ctx, p.runs, "skill.runs.*.cancel")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var runs []fleet.Run
	err = each(maps.Keys(states), func(subj string) error {
		var r fleet.Run
		revision, err := p.lastAt(ctx, subj, &r)
		if errors.Is(err, jetstream.ErrMsgNotFound) { // the run has just expired
			return nil
		}
		r.Revision = revision
		if err == nil && (tenant == "" || r.Tenant == tenant) {
			cancel, _ := subject(runCancel, r.ID)
			r.Cancelled = cancels[cancel] > 0
			mu.Lock()
			runs = append(runs, r)
			mu.Unlock()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return runs, nil
}

// Cancel implements [fleet.Plane].
func (p *Plane) Cancel(ctx context.Context, run string) error {
	r, err := p.Run(ctx, run)
	if err != nil {
		return err
	}
	if !r.Cancelled {
		subj, err := subject(runCancel, run)
		if err != nil {
			return err
		}
		m := nats.NewMsg(subj)
		m.Data = []byte("true")
		m.Header.Set(jetstream.MsgTTLHeader, runTTL)
		err = p.reach(ctx, func(ctx context.Context) error {
			_, err := p.publish(ctx, m)
			return err
		})
		if err != nil {
			return err
		}
	}
	return p.reach(ctx, func(context.Context) error { return p.Tell(fleet.Cancels+run, nil) })
}
