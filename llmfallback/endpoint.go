package llmfallback

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"textskill/llmfallback/openai"
	"textskill/llmfallback/remote"
)

const (
	maxRequests  = 4 // HTTP requests for one prompt, without those to a model that is loading
	loadingPause = time.Second
	maxMoves     = 2
	maxWait      = 5 * time.Second
	firstWait    = 250 * time.Millisecond
	tripAfter    = 3 // failures in a row after which the endpoint is not asked
	restFor      = 30 * time.Second
	maxCached    = 256
	schemaNumber = "1" // changes with the prompt or the schema
)

// A message is one turn of a conversation with a model.
type message struct{ role, text string }

// An answer is the text of one completion, wherever the model put it.
type answer struct {
	text    string
	repairs []string
	cut     bool // the endpoint stopped it, or it reached the limit
}

// A sender sends one request of shape s and reads what the model answered. Its
// error is a [*remote.Error], or one for an answer that cannot be used.
type sender func(ctx context.Context, s shape, messages []message, limit int, t *Telemetry) (answer, error)

// An endpoint is the agent that asks a model. It is safe for concurrent use.
type endpoint struct {
	send    sender
	address string // for telemetry and the cache
	model   string
	reasons bool
	timeout time.Duration
	invents bool // the model may write a new file with a text of its own
	budget  budget
	now     func() time.Time
	sleep   func(context.Context, time.Duration) error

	mu       sync.Mutex
	shape    shape
	failures int       // in a row
	rest     time.Time // no request before that time
	cache    map[[sha256.Size]byte]Extraction
}

// A budget limits the use of a model by one process. 0 is no limit.
type budget struct{ calls, tokens, usedCalls, usedTokens int }

// Complete asks the model, with at most [maxRequests] requests, and returns values
// that all come from the prompt.
func (p *endpoint) Complete(ctx context.Context, r Request) (Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	start := p.now()
	t := &Telemetry{Endpoint: p.address}
	e, err := p.extract(ctx, r, t)
	t.Latency = p.now().Sub(start)
	reply := Reply{Via: "llm", Telemetry: *t}
	if err == nil {
		reply.Values = e.values(r.Names)
	}
	return reply, p.unavailable(err)
}

// unavailable makes the error of an exchange that failed an [ErrUnavailable]. It says how long an
// answer was waited for.
func (p *endpoint) unavailable(err error) error {
	fault, ok := errors.AsType[*remote.Error](err)
	if !ok {
		return err
	}
	switch {
	case fault.Loading:
		fault.Reason = fmt.Sprintf("the model is still loading after %g s", p.timeout.Seconds())
		fault.Err = context.DeadlineExceeded
	case errors.Is(err, context.DeadlineExceeded):
		fault.Reason = fmt.Sprintf("no answer in %g s", p.timeout.Seconds())
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, fault)
}

func (p *endpoint) extract(ctx context.Context, r Request, t *Telemetry) (Extraction, error) {
	hidden := mask(r.Prompt)
	key, cached, ok := p.cached(r.Instruction, hidden.wire)
	if ok {
		if e, err := p.judge(cached, r.Prompt, hidden); err == nil {
			t.CacheHit = true
			return e, nil
		}
	}
	system := systemPrompt
	if p.invents {
		system += inventPrompt
	}
	messages := []message{{"system", system + r.Instruction}, {"user", hidden.wire}}
	limit := 96 + tokens(hidden.wire)
	if p.reasons {
		limit += 2000
	}
	for {
		a, err := p.ask(ctx, messages, limit, t)
		var said, e Extraction
		if err == nil {
			said, err = a.read(t)
		}
		if err == nil {
			e, err = p.judge(said, r.Prompt, hidden)
		}
		if err == nil {
			p.keep(key, said)
			return e, nil
		}
		why, correctable := correction(err)
		if errors.Is(err, ErrNotInPrompt) && t.Reasks > 0 {
			return e, nil // which is shown and confirmed
		}
		if said, ok := errors.AsType[*AnswerError](err); ok {
			said.Said, _ = hidden.restore(said.Said)
		}
		if !correctable || t.Reasks > 0 {
			return Extraction{}, err
		}
		if errors.Is(err, ErrTruncated) {
			limit = max(8*limit, 1024)
		}
		t.Reasks++
		messages = again(messages, a.text, why)
	}
}

// read decodes an answer that was not cut off.
func (a answer) read(t *Telemetry) (Extraction, error) {
	t.Repairs = slices.Clone(a.repairs)
	if a.cut {
		return Extraction{}, fmt.Errorf("%w: it was cut off; be shorter", ErrTruncated)
	}
	e, repairs, err := decodeAnswer(a.text)
	t.Repairs = append(t.Repairs, repairs...)
	return e, err
}

// judge puts the hidden texts back and checks every value against the prompt.
func (p *endpoint) judge(e Extraction, prompt string, hidden masked) (Extraction, error) {
	times := make([]int, len(hidden.texts))
	for _, value := range [...]*string{&e.Path, &e.Content, &e.Destination} {
		text, n := hidden.restore(*value)
		*value = text
		for i := range n {
			times[i] += n[i]
		}
	}
	if e.HasContent {
		for i, n := range times {
			if n > 1 || n == 0 && !strings.Contains(e.Content, hidden.texts[i]) {
				return e, fmt.Errorf("%w: the content must have the mark %s%d]] exactly once", ErrBadAnswer,
					hidden.prefix, i+1)
			}
		}
	}
	err := within(prompt, e)
	if p.invents && e.Operation == "writeFile" && errors.Is(err, errInvented) {
		err = nil // the caller decides, who knows whether the file is new
	}
	return e, err
}

// ask sends one request. It changes the request to what the endpoint accepts, at most
// maxMoves times, and repeats it once where that may help.
func (p *endpoint) ask(ctx context.Context, messages []message, limit int, t *Telemetry) (answer, error) {
	for {
		s, err := p.admit(messages, limit, t)
		if err != nil {
			return answer{}, err
		}
		before, start := spent(t), p.now()
		t.Attempts++
		t.Rung = s.rung
		a, err := p.loaded(ctx, s, messages, limit, t)
		t.Latencies = append(t.Latencies, p.now().Sub(start))
		p.charge(spent(t)-before, messages, a)
		fault, failed := errors.AsType[*remote.Error](err)
		if !failed {
			p.ended(nil)
			return a, err
		}
		if next, ok := s.without(fault.Parameter); ok && t.RungMoves < maxMoves {
			t.RungMoves++
			p.mu.Lock()
			p.shape = next
			p.mu.Unlock()
			continue
		}
		// which most endpoints send again
		retry := fault.Retry && t.Retries == 0 && !errors.Is(err, openai.ErrNoChoices)
		if !retry || p.wait(ctx, fault) != nil {
			p.ended(fault)
			return answer{}, err
		}
		t.Retries++
	}
}

// loaded sends a request again and again for as long as the endpoint says that it loads the model.
func (p *endpoint) loaded(ctx context.Context, s shape, messages []message, limit int,
	t *Telemetry) (answer, error) {
	for start := p.now(); ; {
		a, err := p.send(ctx, s, messages, limit, t)
		fault, failed := errors.AsType[*remote.Error](err)
		if !failed || !fault.Loading {
			return a, err
		}
		pause := max(loadingPause, min(fault.After, maxWait))
		if p.now().Sub(start)+pause > p.timeout || p.sleep(ctx, pause) != nil {
			fault.Retry = false
			return a, err
		}
		t.Attempts++
		t.Waits++
	}
}

// wait sleeps as long as the endpoint asks, else about [firstWait]. It returns an
// error if that is more than [maxWait].
func (p *endpoint) wait(ctx context.Context, fault *remote.Error) error {
	d := fault.After
	switch {
	case d > maxWait:
		fault.Advice = fmt.Sprintf("try again in %s, as the endpoint asks", d.Round(time.Second))
		return fault
	case d == 0:
		d = firstWait + rand.N(firstWait/4)
	}
	return p.sleep(ctx, d)
}

// admit returns the shape of the next request, or why there may be none now.
func (p *endpoint) admit(messages []message, limit int, t *Telemetry) (shape, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := &p.budget
	switch {
	case t.Attempts-t.Waits >= maxRequests:
		return p.shape, fmt.Errorf("%w: %d requests without a usable answer", ErrUnavailable, maxRequests)
	case p.now().Before(p.rest):
		return p.shape, fmt.Errorf("%w: %d failures in a row; it is not asked again for %s", ErrUnavailable,
			tripAfter, restFor)
	case b.calls > 0 && b.usedCalls >= b.calls:
		return p.shape, fmt.Errorf("%w: %d calls were allowed", ErrBudget, b.calls)
	case b.tokens > 0 && b.usedTokens+estimate(messages)+limit > b.tokens:
		return p.shape, fmt.Errorf("%w: %d of %d tokens are used", ErrBudget, b.usedTokens, b.tokens)
	}
	b.usedCalls++
	return p.shape, nil
}

// charge adds the tokens of a request: as counted by the endpoint, or estimated.
func (p *endpoint) charge(counted int, messages []message, a answer) {
	if counted == 0 {
		counted = estimate(messages) + tokens(a.text)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.budget.usedTokens += counted
}

func spent(t *Telemetry) (n int) {
	for _, sum := range [...]*int{t.PromptTokens, t.CompletionTokens} {
		if sum != nil {
			n += *sum
		}
	}
	return n
}

// tokens estimates how many tokens a text has, rather too many.
func tokens(text string) int { return len(text)/3 + 1 }

func estimate(messages []message) (n int) {
	for _, m := range messages {
		n += tokens(m.text)
	}
	return n
}

// ended counts the failures in a row; fault is nil for a request that did not fail.
func (p *endpoint) ended(fault *remote.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if fault == nil {
		p.failures = 0
		return
	}
	if p.failures++; p.failures >= tripAfter {
		p.rest = p.now().Add(restFor)
	}
}

// cached returns the earlier answer to the same masked request.
func (p *endpoint) cached(instruction, wire string) (key [sha256.Size]byte, e Extraction, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key = sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q %q", p.address, p.model, p.shape.rung, schemaNumber,
		instruction, wire))
	e, ok = p.cache[key]
	return key, e, ok
}

func (p *endpoint) keep(key [sha256.Size]byte, e Extraction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cache == nil || len(p.cache) >= maxCached {
		p.cache = map[[sha256.Size]byte]Extraction{}
	}
	p.cache[key] = e
}

// again adds the model's answer, which must not be empty for some endpoints, and
// what is wrong with it.
func again(messages []message, said, why string) []message {
	if strings.TrimSpace(said) == "" {
		said = "{}"
	}
	if len(said) > 2000 {
		said = strings.ToValidUTF8(said[:2000], "")
	}
	return append(slices.Clone(messages), message{"assistant", said},
		message{"user", "That answer cannot be used: " + why +
			". Answer again with the corrected JSON object only."})
}
