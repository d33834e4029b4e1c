package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"textskill/llmfallback/openai"
	rawjson "textskill/parser/json"
)

const (
	firstWait = 500 * time.Millisecond
	maxWait   = time.Minute // a model that asks for a longer rest is not waited for
)

// generate asks the model, and again while that may help. With no tools it is
// asked for a text.
func (g *segment) generate(ctx context.Context, tools []Tool) (Answer, error) {
	for tries := 0; ; tries++ {
		if tools != nil {
			if err := g.emit(ctx, Event{Type: StartGeneration, Messages: g.unsent()}); err != nil {
				return Answer{}, err
			}
		}
		answer, err := g.ask(ctx, tools)
		if err == nil {
			g.account(answer.Usage)
			return answer, nil
		}
		fault, ok := errors.AsType[*openai.Error](err)
		if ctx.Err() != nil || !ok || !fault.Retry || tries >= g.cfg.MaxRetries || fault.After > maxWait {
			return Answer{}, err
		}
		told := string(rawjson.Encode(reason{"ProviderError", g.clean.Text(err.Error())}))
		if err := g.emit(ctx, Event{Type: Retry, Reason: told, NewMessages: []Message{}, Usage: &Usage{}}); err != nil {
			return Answer{}, err
		}
		if err := g.cfg.wait(ctx, pause(tries, fault.After)); err != nil {
			return Answer{}, err
		}
	}
}

// ask asks once.
func (g *segment) ask(ctx context.Context, tools []Tool) (Answer, error) {
	inner, cancel := context.WithTimeout(ctx, g.cfg.Timeout)
	defer cancel()
	answer, err := g.cfg.Model.Next(inner, Request{Messages: g.history, Tools: tools})
	if err != nil && ctx.Err() == nil && inner.Err() != nil {
		err = &openai.Error{Reason: fmt.Sprintf("no answer within %s", g.cfg.Timeout), Retry: true, Err: err}
	}
	return answer, modelError(err)
}

// modelError says of an error, unless it is nil, that it is about the model.
func modelError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the model could not be asked: %w", err)
}

// unsent returns the messages that no event has shown yet to be sent, never nil.
func (g *segment) unsent() []Message {
	messages := thin(g.history[g.sent:len(g.history):len(g.history)])
	g.sent = len(g.history)
	return messages
}

// account adds what an answer took.
func (g *segment) account(u Usage) {
	g.step.Usage = g.step.Usage.add(u)
	g.cp.Usage = g.cp.Usage.add(u)
	if window := g.cfg.About.ContextWindow; window > 0 {
		share := float64(u.InputTokens+u.OutputTokens) / float64(window)
		g.cp.ContextWindowUsage = &share
	}
}

// pause is how long to wait before the next try: what the endpoint asks for, else
// twice as long each time, and a little more so that many do not come at once.
func pause(tries int, asked time.Duration) time.Duration {
	if asked > 0 {
		return asked
	}
	d := min(firstWait<<min(tries, 16), maxWait)
	return d + rand.N(d/4)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
