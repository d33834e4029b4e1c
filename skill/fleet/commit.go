package fleet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"
)

// Limits of a batch.
const (
	maxInline = 512 << 10 // bytes of an event; a larger event becomes blobs
	maxBatch  = 900       // events
)

// EventBlobs returns the blobs of the large events of a run: see [Event.Blob].
func EventBlobs(p Plane, run string) Blobs { return p.Blobs(eventBlobs + run) }

// eventBlobs is a prefix that [CheckName] refuses for workspaces.
const eventBlobs = "events-"

// event adds the time, the worker and the step to an event.
func (h *ownedRun) event(e Event) Event {
	e.Time, e.Epoch, e.Worker = time.Now().UTC(), h.run.Epoch, h.run.Worker
	if e.Step == 0 {
		e.Step = h.run.Step
	}
	return e
}

// commit stores events and the states of the run and its workspace. It retries until the plane
// has stored or refused them, or ctx is done.
func (h *ownedRun) commit(ctx context.Context, events ...Event) error {
	for i, e := range events {
		if len(e.Agent) <= maxInline {
			continue
		}
		blobs, sums := retryingBlobs{EventBlobs(h.Plane, h.run.ID), h}, []string{}
		for part := range slices.Chunk(e.Agent, maxInline) {
			sum := sha256.Sum256(part)
			sums = append(sums, hex.EncodeToString(sum[:]))
			if err := blobs.Put(ctx, sums[len(sums)-1], part); err != nil {
				return err
			}
		}
		e.Agent, e.Blob = nil, strings.Join(sums, " ")
		events[i] = e
	}
	for len(events) > maxBatch { // the new state is in the last batch
		if err := h.store(ctx, Batch{Run: &h.stored, Events: events[:maxBatch]}); err != nil {
			return err
		}
		h.run.Revision = h.stored.Revision
		events = events[maxBatch:]
	}
	h.run.Updated = time.Now().UTC()
	h.ws.Updated = h.run.Updated
	b := Batch{Run: &h.run, Events: events}
	if h.ws.Revision > 0 {
		b.Workspace = &h.ws
	}
	err := h.store(ctx, b)
	if err == nil {
		h.stored = h.run
	}
	return err
}

// store commits a batch. If the plane does not confirm it, store reads the state again. The
// batch is stored if the plane has the same state.
func (h *ownedRun) store(ctx context.Context, b Batch) error {
	return h.retry(ctx, func() error {
		err := h.Plane.Commit(ctx, b)
		if err == nil {
			return nil
		}
		now, readErr := h.Plane.Run(ctx, b.Run.ID)
		switch {
		case readErr != nil && !errors.Is(readErr, ErrNoRun):
			return errors.Join(errors.New("the state cannot be read"), readErr)
		case now.Revision == b.Run.Revision && errors.Is(err, ErrTaken):
			return err // another run has taken the workspace
		case now.Revision == b.Run.Revision:
			return errors.Join(errors.New("not stored"), err)
		case !bytes.Equal(encode(now), encode(*b.Run)):
			return ErrTaken
		}
		if b.Workspace != nil {
			ws, err := h.Plane.Workspace(ctx, b.Workspace.Name)
			if err != nil {
				return errors.Join(errors.New("the state cannot be read"), err)
			}
			b.Workspace.Revision = ws.Revision
		}
		b.Run.Revision = now.Revision
		return nil
	})
}

// retry calls do until it succeeds, fails with ErrTaken or ErrNoBlob, or ctx is done.
func (h *ownedRun) retry(ctx context.Context, do func() error) error {
	for wait, said := 100*time.Millisecond, false; ; wait = min(2*wait, 5*time.Second) {
		err := do()
		if err == nil || errors.Is(err, ErrTaken) || errors.Is(err, ErrNoBlob) {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !said && wait > time.Second {
			h.Say("run " + h.run.ID + ": waits until the plane answers: " + err.Error())
			said = true
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}
