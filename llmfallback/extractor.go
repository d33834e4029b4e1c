package llmfallback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"textskill/llmfallback/openai"
	"textskill/llmfallback/remote"
)

const connectTimeout = 3 * time.Second // a person waits

// Mode says how to read a prompt that is not a command.
type Mode string

// The zero Mode is Auto.
const (
	Auto      Mode = "auto"  // with the rules, then with the model if one is configured
	RulesOnly Mode = "rules" // with the rules; nothing leaves the machine
	LLM       Mode = "llm"   // with the model
	None      Mode = "none"  // not at all
)

// A Model is a language model at an endpoint that speaks OpenAI's chat completions. The
// zero Model means that no model is set.
type Model struct {
	BaseURL string // "" with a Key means https://api.openai.com/v1; a URL without a path gets /v1
	Key     string // sent as a bearer token, over https or to this machine only
	Name    string // the endpoint's name of the model
	// the flag, variable or setting that gave BaseURL, for errors; "" means OPENAI_BASE_URL
	BaseURLFrom string
	// first way to ask for JSON: json_schema, json_object, tool or text; "" finds it out
	Rung    string
	Timeout time.Duration // for one prompt, all requests together; 0 means 20 s, and 60 s on this machine

	Transport http.RoundTripper // nil means a new one
}

// Config configures an [Extractor]. The zero Config uses the rules only.
type Config struct {
	Mode  Mode
	Trust bool // ask the model once and accept its answer unchecked; see [Bare]
	Model Model

	// Complete, if not nil, replaces Model: it gets the message to the model and returns
	// the model's answer.
	Complete func(ctx context.Context, prompt string) (string, error)

	Policy Policy // when to refuse a request that needs confirmation

	// Stat reports whether a path of the workspace is a folder. It returns an error if the
	// path does not exist. If Stat is nil, every file counts as existing, so no file is
	// overwritten unasked.
	Stat func(path string) (folder bool, err error)

	MaxCalls  int // HTTP requests to the model over the life of the Extractor; 0 is no limit
	MaxTokens int // tokens of all these requests; 0 is no limit

	Now   func() time.Time                                 // nil means [time.Now]
	Sleep func(ctx context.Context, d time.Duration) error // nil sleeps until d has passed or ctx is done
}

// An Extractor reads prompts that are not commands. It is safe for concurrent use
// and does not have to be closed.
type Extractor struct {
	config Config
	agents []Agent
	off    bool // there is no model, though one might be asked
}

// New returns an Extractor. It returns an error for an unknown Mode, Policy or Rung, and
// for an endpoint that must not be used: see [openai.New].
func New(c Config) (*Extractor, error) {
	switch c.Mode {
	case "", Auto, RulesOnly, LLM, None:
	default:
		return nil, fmt.Errorf("fallback %q is unknown; use auto, rules, llm or none", c.Mode)
	}
	switch c.Policy {
	case "", Ask, Refuse, Allow:
	default:
		return nil, fmt.Errorf("policy %q is unknown; use ask, refuse or allow", c.Policy)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	x := &Extractor{config: c}
	if c.Mode == None {
		return x, nil
	}
	if c.Mode != LLM && !c.Trust {
		x.agents = append(x.agents, Rules{})
	}
	if c.Mode != RulesOnly {
		agent, err := x.model()
		if err != nil {
			return nil, err
		}
		if agent != nil {
			x.agents = append(x.agents, agent)
		}
	}
	return x, nil
}

// model returns the agent that asks the configured model, nil for none.
func (x *Extractor) model() (Agent, error) {
	c := &x.config
	m := c.Model
	var client *openai.Client
	if c.Complete == nil {
		var err error
		switch client, err = m.client(c.Now); {
		case err != nil:
			return nil, err
		case client == nil:
			x.off = true
			return nil, nil
		case m.Name == "":
			return unnamed{}, nil
		}
	}
	p := &endpoint{
		address: m.BaseURL, model: m.Name, reasons: reasons(m.Name), timeout: m.Timeout, shape: firstShape(m),
		budget: budget{calls: c.MaxCalls, tokens: c.MaxTokens}, now: c.Now, sleep: c.Sleep,
		invents: c.Policy == Allow,
	}
	switch {
	case p.timeout != 0:
	case remote.Loopback(m.host()):
		p.timeout = 60 * time.Second // a model on this machine may have to be loaded first
	default:
		p.timeout = 20 * time.Second
	}
	if c.Complete != nil {
		p.send = overFunc(c.Complete)
	} else {
		p.send = overOpenAI(client, m.Name)
	}
	switch {
	case c.Trust && c.Complete != nil:
		return Bare(c.Complete), nil
	case c.Trust:
		return Bare(p.plainly), nil
	}
	return p, nil
}

// unnamed is the agent where an endpoint is configured but no model.
type unnamed struct{}

func (unnamed) Complete(context.Context, Request) (Reply, error) {
	return Reply{}, fmt.Errorf("%w: an endpoint is configured but no model; set SKILL_MODEL", ErrUnavailable)
}

// overFunc returns the sender that calls complete.
func overFunc(complete func(context.Context, string) (string, error)) sender {
	return func(ctx context.Context, _ shape, messages []message, _ int, _ *Telemetry) (answer, error) {
		text, err := complete(ctx, messages[len(messages)-1].text)
		if err != nil {
			return answer{}, &remote.Error{Reason: "no answer", Err: err}
		}
		return answer{text: text}, nil
	}
}

// plainly sends prompt unchanged, once, and returns the answer.
func (p *endpoint) plainly(ctx context.Context, prompt string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	messages := []message{{"user", prompt}}
	if _, err := p.admit(messages, 0, &Telemetry{}); err != nil {
		return "", err
	}
	t := &Telemetry{}
	a, err := p.loaded(ctx, shape{rung: rungText, noTemperature: true, noLimit: true}, messages, 0, t)
	p.charge(spent(t), messages, a)
	return a.text, p.unavailable(err)
}

// client returns the client of the endpoint and completes BaseURL. It returns
// nil where no endpoint is configured.
func (m *Model) client(now func() time.Time) (*openai.Client, error) {
	if m.BaseURL == "" && m.Key == "" {
		return nil, nil
	}
	switch m.Rung {
	case "", rungSchema, rungObject, rungTool, rungText:
	default:
		return nil, fmt.Errorf("llm mode %q is unknown; use json_schema, json_object, tool or text", m.Rung)
	}
	client, err := openai.New(openai.Config{
		BaseURL: m.BaseURL, Key: m.Key, BaseURLFrom: m.BaseURLFrom, Transport: m.Transport,
		ConnectTimeout: connectTimeout, Now: now,
	})
	if err == nil {
		m.BaseURL = client.BaseURL()
	}
	return client, err
}

func (m Model) host() string {
	u, err := url.Parse(m.BaseURL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A Result is the reading of a prompt by [Extractor.Extract].
type Result struct {
	Extraction
	Via       string // "rules" or "llm"; "" if there is no answer
	Lines     bool   // the content is whole lines of the file
	Telemetry Telemetry
}

// Extract reads a prompt. If the error is nil, the caller may carry out the Extraction;
// the operation refuses an empty Path or Destination itself. [ErrSilent] means that
// nothing understood the prompt. Other errors say why the answer must not be carried out:
// a [*ConfirmError] has the command to type, and an [*ArgumentError] reports missing
// content. Extract always sets Via and Telemetry.
func (x *Extractor) Extract(ctx context.Context, prompt string) (Result, error) {
	reply, err := x.ask(ctx, prompt)
	r := Result{Via: reply.Via, Telemetry: reply.Telemetry}
	if err == nil && x.config.Trust {
		r.Extraction, err = trusted(reply)
	} else if err == nil {
		r.Extraction, err = x.guarded(prompt, reply)
	}
	r.Telemetry.Outcome = r.outcome(err)
	if c, ok := errors.AsType[*ConfirmError](err); ok {
		c.Lines = lined(prompt, c.Extraction)
	}
	r.Lines = lined(prompt, r.Extraction) && err == nil && !x.config.Trust
	if err != nil {
		r.Extraction = Extraction{}
	}
	return r, err
}

// lined reports whether a prompt says that the content of e is whole lines of the file.
func lined(prompt string, e Extraction) bool {
	if !e.HasContent {
		return false
	}
	if r := Read(prompt); r.Answered {
		return r.Lines
	}
	g := compiled()
	return e.Operation == "appendFile" && g.has(g.spoken(prompt, e), "lines") != ""
}

// Complete makes an Extractor an [Agent]. It ignores the request's Instruction and uses
// [Instruction]. With Config.Trust it returns the answer unchecked.
func (x *Extractor) Complete(ctx context.Context, r Request) (Reply, error) {
	if x.config.Trust {
		return x.ask(ctx, r.Prompt)
	}
	got, err := x.Extract(ctx, r.Prompt)
	reply := Reply{Via: got.Via, Telemetry: got.Telemetry}
	if err == nil {
		reply.Values = got.values(r.Names)
	}
	return reply, err
}

// ask asks one agent after the other until one answers.
func (x *Extractor) ask(ctx context.Context, prompt string) (Reply, error) {
	if strings.TrimSpace(prompt) == "" && !x.config.Trust {
		return Reply{}, ErrSilent
	}
	silent := error(ErrSilent)
	for _, agent := range x.agents {
		reply, err := agent.Complete(ctx, Request{Prompt: prompt, Instruction: Instruction, Names: Names()})
		if !errors.Is(err, ErrSilent) {
			return reply, err
		}
		silent = err
	}
	if x.off {
		silent = fmt.Errorf("%w: %w", silent, ErrNoModel)
	}
	return Reply{}, silent
}

// guarded returns the operation of a reply, if the prompt itself says it.
func (x *Extractor) guarded(prompt string, reply Reply) (Extraction, error) {
	e := stated(reply.Values)
	complete(&e, x.config.Stat)
	switch err := within(prompt, e); {
	case e.Path == "" && errors.Is(err, errInvented):
		return e, nil // there is nothing to confirm
	case errors.Is(err, errInvented) && reply.Via == "llm" && x.creates(e):
		why := doubt(prompt, e)
		if why == "" && x.config.Policy == Allow {
			return e, nil
		}
		c := e.unconfirmed(cmp.Or(why, notFound(err)))
		c.Allowed = why == ""
		return e, c
	case errors.Is(err, ErrNotInPrompt) && reply.Via == "llm":
		return e, e.unconfirmed(notFound(err))
	case err != nil:
		return e, err
	}
	if (e.Operation == "writeFile" || e.Operation == "appendFile") && !e.HasContent {
		return e, &ArgumentError{Operation: e.Operation, Name: "content"}
	}
	if e.incomplete() {
		return e, nil
	}
	return e, confirm(prompt, e, x.config.Policy, x.config.Stat)
}

// creates reports whether e writes a file that does not exist.
func (x *Extractor) creates(e Extraction) bool {
	if e.Operation != "writeFile" || x.config.Stat == nil {
		return false
	}
	_, err := x.config.Stat(e.Path)
	return err != nil
}

// stated is the inverse of [Extraction.value].
func stated(values []any) (e Extraction) {
	for i, at := range [...]*string{&e.Operation, &e.Path, &e.Content, &e.Destination} {
		if i < len(values) {
			*at, _ = values[i].(string)
		}
	}
	e.HasContent = len(values) > 2 && values[2] != nil
	return e
}

func (e Extraction) incomplete() bool {
	return e.Path == "" || (e.Operation == "copyFile" || e.Operation == "moveFile") && e.Destination == ""
}

func (r *Result) outcome(err error) string {
	_, confirm := errors.AsType[*ConfirmError](err)
	argument, ok := errors.AsType[*ArgumentError](err)
	switch {
	case confirm:
		return "confirm"
	case ok && argument.Got == "":
		return "clarify"
	case err != nil:
		return "fail"
	case r.incomplete():
		return "clarify"
	case len(r.Telemetry.Repairs) > 0:
		return "repair_accept"
	}
	return "accept"
}

// notFound says of a value that is not in the prompt what a person wants to know.
func notFound(err error) string {
	why, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), ErrNotInPrompt.Error()+": "), ";")
	return strings.ReplaceAll(strings.ReplaceAll(why, "`", ""), "command", "request")
}
