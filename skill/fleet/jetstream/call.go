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
	timeoutHeader = "Skill-Timeout" // of a request: for how many milliseconds its caller waits

	callHeader = "Skill-Call" // of a request: its ID
	askHeader  = "Skill-Ask"  // of a question whether a request is in progress: its ID

	stopped = "stopped" // the error of an answer by one who does not serve the name any more
)

// asking is how long a caller waits before it asks whether its request is in progress.
const asking = time.Second

var errLost = errors.New("who was called is gone; the call may have been carried out")

// Call implements [fleet.Plane].
func (p *Plane) Call(ctx context.Context, name string, request []byte) ([]byte, error) {
	subj, err := subject("skill.call.%", name)
	if err != nil {
		return nil, err
	}
	if len(request) > fleet.MaxMessage {
		return nil, fmt.Errorf("a request of %d bytes, more than the %d that are allowed", len(request),
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
	switch why := reply.Header.Get(errorHeader); why {
	case "":
		return reply.Data, nil
	case stopped:
		return nil, fmt.Errorf("%s: %w", name, fleet.ErrNobody)
	default:
		return nil, errors.New(why)
	}
}

// request sends a request once, for whether a lost one was carried out is not known, and
// asks from time to time whether it is still in progress. The answer is looked for also when
// the time is over. It comes before the answer to a later question, which has the same inbox.
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
	wait := asking
	for silent := time.Duration(0); ; {
		a, ok := receive(ctx, answers, wait)
		switch {
		case ok:
			return a.reply, a.err
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case wait != asking:
			return nil, errLost
		}
		began := time.Now()
		there, err := p.ask(ctx, m)
		// the other is not silent while this machine is stopped
		silent += asking + min(time.Since(began), oneTry)
		switch {
		case there:
			silent = 0
		case err == nil || silent > p.patience:
			wait = 0 // it may just have been answered
		}
	}
}

// answer is how a request ended.
type answer struct {
	reply *nats.Msg
	err   error
}

// late is how long an answer is waited for after the time is over: where the machine stopped,
// it has come before that, and is not read yet.
const late = 100 * time.Millisecond

// receive reports whether an answer came in time.
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

// ask reports whether somebody is carrying a request out. The error is that nobody says.
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

// Serve implements [fleet.Plane]. The context of answer ends when its caller stops
// waiting at a deadline, and when stop is called.
func (p *Plane) Serve(name string, answer func(ctx context.Context, request []byte) []byte) (func(), error) {
	subj, err := subject("skill.call.%", name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var inProgress sync.Map // IDs of requests
	// In a group, so that a request is never carried out by two that serve the name.
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
			if ctx.Err() != nil { // it was sent before the server knew of stop
				reply.Header.Set(errorHeader, stopped)
			} else if reply.Data = answer(ctx, m.Data); len(reply.Data) > fleet.MaxMessage {
				reply.Header.Set(errorHeader,
					fmt.Sprintf("the answer of %s has %d bytes, more than the %d that are allowed; ask for less at once", name, len(reply.Data), fleet.MaxMessage))
				reply.Data = nil
			}
			_ = p.nc.PublishMsg(reply) // the caller of a lost answer stops waiting by itself
		}()
	})
	return p.until(sub, err, cancel)
}

// until returns what ends a subscription, after the server knows of it.
func (p *Plane) until(sub *nats.Subscription, err error, cancel func()) (func(), error) {
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
		_ = sub.Drain() // what is on its way is answered
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

// send sends a message that nobody acknowledges.
func (p *Plane) send(subj string, data []byte) error {
	err := p.nc.Publish(subj, data)
	if errors.Is(err, nats.ErrReconnectBufExceeded) {
		return fmt.Errorf("%w: the connection is lost and is being made again", ErrUnreachable)
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
	return p.until(sub, err, func() {})
}
