package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"textskill/llmfallback/remote"
	"textskill/parser/rawjson"
)

const (
	minWait = 500 * time.Millisecond
	maxWait = time.Minute // where the endpoint does not say how long
)

// An asker asks the model of a run, and keeps what it has learned of its endpoint.
type asker struct {
	model   Model
	timeout time.Duration // of a silence
	clean   Redactor      // of the model's words
	spent   spending      // whose time ends a request

	window int // of the model, in tokens, as far as it is known; 0 if it is not
}

// request returns what the model is asked: for a call of one of the tools or, if there are
// none, for a text.
func (t *task) request(tools []Tool) Request {
	r := Request{Messages: t.history, Tools: tools}
	if tools == nil {
		r.Withheld = t.box.tools()
	}
	if tools == nil && t.schema != nil {
		r.Schema = t.cfg.Schema
	}
	return r
}

// generate returns the model's answer to a request, and retries temporary errors. Its words
// are passed on to heard.
func (t *task) generate(ctx context.Context, request Request, heard func(text string)) (Answer, error) {
	for tries := 0; ; tries++ {
		if request.Tools != nil {
			if err := t.emit(ctx, Event{Type: StartGeneration, Messages: t.unsent()}); err != nil {
				return Answer{}, err
			}
		}
		answer, err := t.asker.once(ctx, request, heard)
		if err == nil || answer.Usage != (Usage{}) {
			t.addUsage(answer.Usage)
		}
		if err == nil {
			t.noticeCut(answer.Usage.InputTokens, tokens(request.Messages...))
			t.size = cmp.Or(answer.Usage.InputTokens, t.size)
			return answer, nil
		}
		fault, ok := errors.AsType[*remote.Error](err)
		if ok && fault.Retry && fault.After > t.cfg.MaxWait {
			return Answer{}, fmt.Errorf("%w; the endpoint asks to wait %s, and at most %s are waited",
				err, fault.After, t.cfg.MaxWait)
		}
		if ctx.Err() != nil || !ok || !fault.Retry || tries >= t.cfg.MaxRetries {
			return Answer{}, err
		}
		reason := string(rawjson.Encode(reason{"ProviderError", t.cfg.clean.Text(err.Error())}))
		if err := t.emit(ctx, Event{Type: Retry, Reason: reason, NewMessages: []Message{},
			Usage: &answer.Usage}); err != nil {
			return Answer{}, err
		}
		inTime, release := t.asker.spent.within(ctx)
		err = t.cfg.wait(inTime, pause(tries, fault.After))
		release()
		if err != nil {
			return Answer{}, err
		}
	}
}

// minCut is the smallest window that an endpoint may cut a conversation to, in tokens.
const minCut = 1024

// noticeCut notices an endpoint that cuts the conversation to its window without a word: the
// tokens that it counts stay the same, although the conversation has grown by many.
func (t *task) noticeCut(counted, estimated int) {
	before, grown := t.counted, estimated-t.estimated
	t.counted, t.estimated = counted, estimated
	same := counted-before < 16 && before-counted < 16
	if counted < minCut || !same || grown < 1000 ||
		estimated < counted*5/4 || t.asker.window > 0 &&
		t.asker.window <= counted {
		return
	}
	t.asker.window = counted
	t.cfg.Warn(fmt.Sprintf("the endpoint seems to cut the conversation at %d tokens without saying so; it is compacted from now on. If the model has a larger window, set it there, and here with --context-window", counted))
}

// errSilence is the cause of a request that was given up.
var errSilence = errors.New("the model is silent")

// once sends one request to the model, and passes its words on as they come.
func (a *asker) once(ctx context.Context, request Request, heard func(text string)) (Answer, error) {
	inTime, release := a.spent.within(ctx)
	defer release()
	inner, cancel := context.WithCancelCause(inTime)
	defer cancel(nil)
	silence := time.AfterFunc(a.timeout, func() { cancel(errSilence) })
	defer silence.Stop()
	said := liveWords{clean: a.clean, heard: heard}
	request.Heard = func(text string) {
		silence.Reset(a.timeout)
		if heard != nil {
			said.add(text)
		}
	}
	answer, err := a.model.Next(inner, request)
	if heard != nil {
		said.end()
	}
	switch {
	case err == nil || ctx.Err() != nil:
	case inTime.Err() != nil:
		return answer, errTime
	case context.Cause(inner) == errSilence:
		err = &remote.Error{Reason: fmt.Sprintf("nothing came from the model for %s", a.timeout),
			Retry: true, Err: err}
	}
	return answer, modelError(err)
}

// modelError adds to an error that it concerns the request to the model. It returns nil
// for nil.
func modelError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the model could not be asked: %w", err)
}

// unsent returns the messages that no event has reported as sent. It is never nil.
func (t *task) unsent() []Message {
	messages := thin(t.history[t.sent:len(t.history):len(t.history)])
	t.sent = len(t.history)
	return messages
}

// addUsage adds the usage of an answer to the step and the checkpoint.
func (t *task) addUsage(u Usage) {
	t.step.Usage = t.step.Usage.Add(u)
	t.asker.spent.used = t.asker.spent.used.Add(u)
	t.cp.Usage = t.cp.Usage.Add(u)
	if window := t.cfg.About.ContextWindow; window > 0 {
		share := float64(u.InputTokens+u.OutputTokens) / float64(window)
		t.cp.ContextWindowUsage = &share
	}
}

// pause returns how long to wait before the next try: as long as the endpoint asks, or
// twice as long after each try, plus up to a quarter at random so that many clients do not
// retry at the same time.
func pause(tries int, asked time.Duration) time.Duration {
	if asked > 0 {
		return asked
	}
	d := min(minWait<<min(tries, 16), maxWait)
	return d + rand.N(d/4)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
