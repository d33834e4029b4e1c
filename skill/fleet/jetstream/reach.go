package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
)

var (
	// ErrUnreachable says that no server answers.
	ErrUnreachable = errors.New("the queue cannot be reached")
	// ErrLogin says that the server refuses the login, or needs a login.
	ErrLogin = errors.New("the server refuses the login")
	// ErrOpen says that the server does not ask for a login: see [Options].
	ErrOpen = errors.New("the server asks for no login: whoever reaches it may have workers run commands")
	// errBusy says that another change is in progress. A retry may succeed.
	errBusy = errors.New("another change is being stored")
	// errFull says that a subject has its maximum of messages.
	errFull = errors.New("the subject is full")
)

// oneTry is the longest time that one try waits for an answer. The first try waits an eighth of
// it, because a lost server never answers; later tries wait longer, because a disk may be slow.
const oneTry = 4 * time.Second

// reach calls try until it succeeds, fails with a permanent error, or ctx is done.
func (p *Plane) reach(ctx context.Context, try func(ctx context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	patience, wait := oneTry/8, 5*time.Millisecond
	for ; ; patience, wait = min(2*patience, oneTry), min(2*wait, 500*time.Millisecond) {
		once, cancel := context.WithTimeout(ctx, patience)
		err := try(once)
		cancel()
		if err == nil || !temporary(err) {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w (%w)", ErrUnreachable, err, ctx.Err())
		}
	}
}

// temporary reports whether a retry may succeed, for example after the election of a leader.
func temporary(err error) bool {
	for _, e := range []error{
		errBusy, ErrUnreachable, context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders,
		nats.ErrDisconnected,
		nats.ErrReconnectBufExceeded, nats.ErrConnectionReconnecting, nats.ErrStaleConnection,
		nats.ErrNoServers,
		jetstream.ErrNoStreamResponse, jetstream.ErrJetStreamNotEnabled, jetstream.ErrNoHeartbeat,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	api, ok := errors.AsType[*jetstream.APIError](err)
	if !ok {
		return false
	}
	switch api.ErrorCode {
	case 10005, // too few servers yet
		10158, // the same job is being stored
		10176, // a new leader has cut the batch
		10210: // too many batches at once
		return true
	}
	return api.Code >= 500
}

// publish stores a message and returns its sequence number in the stream.
func (p *Plane) publish(ctx context.Context, m *nats.Msg) (uint64, error) {
	reply, err := p.nc.RequestMsgWithContext(ctx, m)
	if err != nil {
		return 0, err
	}
	var ack struct {
		Sequence uint64              `json:"seq"`
		Error    *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &ack); err != nil {
		return 0, fmt.Errorf("the server's answer to %s is invalid: %w", m.Subject, err)
	}
	if ack.Error != nil && strings.HasPrefix(ack.Error.Description, "maximum messages per subject") {
		return 0, errFull
	}
	if ack.Error != nil {
		return 0, ack.Error
	}
	return ack.Sequence, nil
}

// subjects asks the leader of a stream for the subjects that match a filter.
func subjects(ctx context.Context, s jetstream.Stream, filter string) (map[string]uint64, error) {
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(filter))
	if err != nil {
		return nil, err
	}
	return info.State.Subjects, nil
}

// each calls do for each subject, 16 at once, and returns the first error.
func each(subjects iter.Seq[string], do func(subj string) error) error {
	var g errgroup.Group
	g.SetLimit(16)
	for subj := range subjects {
		g.Go(func() error { return do(subj) })
	}
	return g.Wait()
}
