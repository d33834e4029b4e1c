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
	// ErrUnreachable is the error of what no server answers.
	ErrUnreachable = errors.New("the queue cannot be reached")
	// ErrLogin is the error of a server that refuses the login, or the lack of one.
	ErrLogin = errors.New("the server refuses the login")
	// ErrOpen is the error of a server that asks clients for no login, see [Options].
	ErrOpen = errors.New("the server asks for no login: whoever reaches it may have workers run commands")
	// errBusy is the error of a try that another one is in the way of.
	errBusy = errors.New("another change is being stored")
	// errFull is the error of publishing to a subject that has its most messages.
	errFull = errors.New("the subject is full")
)

// oneTry is how long the last of many tries waits for an answer, the first one an eighth
// of it: requests to a server that is lost are not answered, and a disk may be slow.
const oneTry = 4 * time.Second

// reach calls try until it succeeds, fails for good, or ctx is done.
func (p *Plane) reach(ctx context.Context, try func(ctx context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	patience, wait := oneTry/8, 5*time.Millisecond
	for ; ; patience, wait = min(2*patience, oneTry), min(2*wait, 500*time.Millisecond) {
		once, cancel := context.WithTimeout(ctx, patience)
		err := try(once)
		cancel()
		if err == nil || !passing(err) {
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

// passing reports whether an error may be gone when servers are back or have agreed.
func passing(err error) bool {
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
	case 10005, 10158, 10176, 10210:
		// too few servers yet, the same job on its way, a batch cut by a new leader, too many batches at once
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
		return 0, fmt.Errorf("the answer of the server to %s: %w", m.Subject, err)
	}
	if ack.Error != nil && strings.HasPrefix(ack.Error.Description, "maximum messages per subject") {
		return 0, errFull
	}
	if ack.Error != nil {
		return 0, ack.Error
	}
	return ack.Sequence, nil
}

// subjects returns the subjects of a stream that match a filter, as its leader has them.
func subjects(ctx context.Context, s jetstream.Stream, filter string) (map[string]uint64, error) {
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(filter))
	if err != nil {
		return nil, err
	}
	return info.State.Subjects, nil
}

// each calls do for each subject, sixteen at once, and returns the first error.
func each(subjects iter.Seq[string], do func(subj string) error) error {
	var g errgroup.Group
	g.SetLimit(16)
	for subj := range subjects {
		g.Go(func() error { return do(subj) })
	}
	return g.Wait()
}
