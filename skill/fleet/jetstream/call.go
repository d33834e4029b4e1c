package jetstream

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"textskill/skill/fleet"
)

const (
	errorHeader   = "Skill-Error"   // of an answer: the error
	timeoutHeader = "Skill-Timeout" // of a request: how many milliseconds the caller waits

	callHeader = "Skill-Call" // of a request: its ID
	askHeader  = "Skill-Ask"  // of a question whether a request is in progress: the request's ID

	stopped = "stopped" // value of errorHeader: the server of the name has stopped
)

// askEvery is how often a caller asks whether its request is in progress.
const askEvery = time.Second

var errLost = errors.New("the called worker is lost; the call may have been carried out")

// Call implements [fleet.Plane].
func (p *Plane) Call(ctx context.Context, name string, request []byte) ([]byte, error) {
	subj, err := subject("skill.call.%", name)
	if err != nil {
		return nil, err
	}
	if len(request) > fleet.MaxMessage {
		return nil, fmt.Errorf("a request has %d bytes, more than the limit of %d", len(request),
			fleet.MaxMessage)
	}
	m := nats.NewMsg(subj)
	m.Data = request
	if end, ok := ctx.Deadline(); ok {
		m.Header.Set(timeoutHeader, strconv.FormatInt(time.Until(end).Milliseconds(), 10))
	}
	m.Header.Set(callHeader, rand.Text())
	reply, err := p.request(ctx, m)
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return nil, fmt.Errorf("%s: %w", name, fleet.ErrNobody)
	case errors.Is(err, errLost):
		return nil, fmt.Errorf("%s: %w", name, err)
	case err != nil && ctx.Err() == nil:
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	case err != nil:
		return nil, err
	}
	switch text := reply.Header.Get(errorHeader); text {
	case "":
		return reply.Data, nil
	case stopped:
		return nil, fmt.Errorf("%s: %w", name, fleet.ErrNobody)
	default:
		return nil, errors.New(text)
	}
}

// request sends a request and waits for its answer. It never sends the request twice, because a
// lost server may have carried it out. It asks from time to time whether the request is in
// progress. If not, it looks for the answer once more: the answer arrives in the same inbox
// before the answer to the question.
func (p *Plane) request(ctx context.Context, m *nats.Msg) (*nats.Msg, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	sent, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	answers := make(chan answer, 1)
	go func() {
		reply, err := p.nc.RequestMsgWithContext(sent, m)
		answers <- answer{reply, err}
	}()
	wait := askEvery
	for silent := time.Duration(0); ; {
		a, ok := receive(ctx, answers, wait)
		switch {
		case ok:
			return a.reply, a.err
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case wait != askEvery:
			return nil, errLost
		}
		began := time.Now()
		inProgress, err := p.ask(ctx, m)
		// min: the time in which this machine was suspended does not count as silence.
		silent += askEvery + min(time.Since(began), oneTry)
		switch {
		case inProgress:
			silent = 0
		case err == nil || silent > p.patience:
			wait = 0 // the answer may have just arrived
		}
	}
}

// answer is the result of a request.
type answer struct {
	reply *nats.Msg
	err   error
}

// late is how long receive waits after the deadline. If this machine was suspended, an answer that
// came in time may not be read yet.
const late = 100 * time.Millisecond

// receive returns an answer that came in time.
func receive(ctx context.Context, answers <-chan answer, wait time.Duration) (a answer, ok bool) {
	select {
	case a = <-answers:
		return a, true
	case <-ctx.Done():
	case <-time.After(wait):
	}
	select {
	case a = <-answers:
		return a, true
	case <-time.After(late):
		return a, false
	}
}

// ask asks whether a request is in progress. It fails if nobody answers.
func (p *Plane) ask(ctx context.Context, request *nats.Msg) (bool, error) {
	m := nats.NewMsg(request.Subject)
	m.Header.Set(askHeader, request.Header.Get(callHeader))
	ctx, cancel := context.WithTimeout(ctx, oneTry)
	defer cancel()
	answer, err := p.nc.RequestMsgWithContext(ctx, m)
	if errors.Is(err, nats.ErrNoResponders) {
		return false, nil
	}
	return err == nil && answer.Header.Get(errorHeader) == "", err
}

// Serve implements [fleet.Plane]. The context of answer ends at the caller's deadline, or when
// stop is called.
func (p *Plane) Serve(name string, answer func(ctx context.Context, request []byte) []byte) (func(), error) {
	subj, err := subject("skill.call.%", name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var inProgress sync.Map // IDs of requests
	// In a queue group, only one server of the name gets a request.
	sub, err := p.nc.QueueSubscribe(subj, "skill", func(m *nats.Msg) {
		reply := nats.NewMsg(m.Reply)
		if asked := m.Header.Get(askHeader); asked != "" {
			if _, ok := inProgress.Load(asked); !ok {
				reply.Header.Set(errorHeader, stopped)
			}
			_ = p.nc.PublishMsg(reply)
			return
		}
		id := m.Header.Get(callHeader)
		inProgress.Store(id, true)
		go func() {
			defer inProgress.Delete(id)
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			if ms, err := strconv.ParseInt(m.Header.Get(timeoutHeader), 10, 64); err == nil {
				ctx, cancel = context.WithTimeout(ctx, time.Duration(ms)*time.Millisecond)
				defer cancel()
			}
			if ctx.Err() != nil { // stop was called, but the NATS server did not know it yet
				reply.Header.Set(errorHeader, stopped)
			} else if reply.Data = answer(ctx, m.Data); len(reply.Data) > fleet.MaxMessage {
				reply.Header.Set(errorHeader, fmt.Sprintf("the answer of %s has %d bytes, "+
					"more than the limit of %d; ask for less at once", name, len(reply.Data), fleet.MaxMessage))
				reply.Data = nil
			}
			_ = p.nc.PublishMsg(reply) // the caller notices a lost answer itself
		}()
	})
	return p.confirm(sub, err, cancel)
}

// confirm waits until the NATS server knows a subscription. It returns a function that ends the
// subscription.
func (p *Plane) confirm(sub *nats.Subscription, err error, cancel func()) (func(), error) {
	if err == nil {
		err = p.nc.FlushTimeout(oneTry)
	}
	if err != nil {
		cancel()
		if sub != nil {
			_ = sub.Unsubscribe()
		}
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return func() {
		cancel()
		_ = sub.Drain() // still answers received messages
	}, nil
}

// Tell implements [fleet.Plane].
func (p *Plane) Tell(topic string, data []byte) error {
	subj, err := subject("skill.tell.%", topic)
	if err != nil {
		return err
	}
	return p.send(subj, data)
}

// send sends a message without acknowledgement.
func (p *Plane) send(subj string, data []byte) error {
	err := p.nc.Publish(subj, data)
	if errors.Is(err, nats.ErrReconnectBufExceeded) {
		return fmt.Errorf("%w: reconnecting", ErrUnreachable)
	}
	return err
}

// Listen implements [fleet.Plane].
func (p *Plane) Listen(topic string, hear func(data []byte)) (func(), error) {
	subj, err := subject("skill.tell.%", topic)
	if err != nil {
		return nil, err
	}
	sub, err := p.nc.Subscribe(subj, func(m *nats.Msg) { hear(m.Data) })
	return p.confirm(sub, err, func() {})
}
