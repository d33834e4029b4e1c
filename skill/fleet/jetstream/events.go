package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"textskill/skill/fleet"
)

// heartbeat is how often the server reports that it still sends events. After two missing
// heartbeats, the client asks another server.
const heartbeat = time.Second

// Events implements [fleet.Plane]. An unknown run fails with [fleet.ErrNoRun].
func (p *Plane) Events(ctx context.Context, run string, after uint64,
	follow bool) iter.Seq2[fleet.Event, error] {
	return func(yield func(fleet.Event, error) bool) {
		var newest fleet.Event
		last, err := p.last(ctx, runEvents, run, &newest)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			_, err = p.Run(ctx, run)
		}
		if err != nil {
			yield(fleet.Event{}, err)
			return
		}
		if last <= after && (!follow || newest.Kind == fleet.Ended) {
			return
		}
		for {
			err := p.read(ctx, run, after, func(e fleet.Event) bool {
				after = e.Sequence
				more := yield(e, nil)
				follow = follow && more && e.Kind != fleet.Ended
				return more && (follow || after < last)
			})
			switch {
			case err == nil:
				return
			case ctx.Err() != nil:
				yield(fleet.Event{}, ctx.Err())
				return
			case !temporary(err):
				yield(fleet.Event{}, err)
				return
			}
		}
	}
}

// read passes the events after a sequence number to hear, until hear returns false.
func (p *Plane) read(ctx context.Context, run string, after uint64, hear func(fleet.Event) bool) error {
	filter, err := subject(runEvents, run)
	if err != nil {
		return err
	}
	var messages jetstream.MessagesContext
	err = p.reach(ctx, func(ctx context.Context) error {
		c, err := p.runs.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
			FilterSubjects: []string{filter}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
			OptStartSeq:       after + 1,
			InactiveThreshold: time.Minute,
		})
		if err == nil {
			messages, err = c.Messages(jetstream.PullHeartbeat(heartbeat),
				jetstream.PullExpiry(30*time.Second))
		}
		return err
	})
	if err != nil {
		return err
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		var e fleet.Event
		if err := json.Unmarshal(m.Data(), &e); err != nil {
			return fmt.Errorf("event %d of run %s: %w", meta.Sequence.Stream, run, err)
		}
		if e.Sequence = meta.Sequence.Stream; !hear(e) {
			return nil
		}
	}
}
