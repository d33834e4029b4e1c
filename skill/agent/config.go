package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"textskill/skill"
	"textskill/skill/dialect"
)

// Config says who works, where, and with which model. Executor, Model, Experts
// and Expert are required.
type Config struct {
	Executor *skill.Executor // the workspace; it stays the caller's to close
	Model    Model
	Experts  map[string]Expert // by key
	Expert   string            // the key of the one that is given the query
	Guide    string            // instructions of the workspace for all experts: its AGENTS.md; may be ""
	Base     *dialect.Dialect  // the Base Skill's tools; nil means [dialect.Perstack]
	// further tools that every expert has, such as from [dialect.New]; nil means none
	Tools *dialect.Dialect

	MaxSteps   int           // how many steps this Run may take, with its delegates; 0 is no limit
	Budget     Budget        // the zero Budget is no limit
	MaxRetries int           // how often one question to the model is repeated; 0 means 5, below 0 never
	Timeout    time.Duration // for which the model may be silent; 0 means 5 minutes
	// that an endpoint may ask for before a retry, else the run ends; 0 means 5 minutes
	MaxWait time.Duration

	RunID string // of a new run; "" means one that no other has
	// the id of a run to continue from its last record; "" begins a run, unless From is set
	Continue string
	From     *Checkpoint // continues from there; from [Records], so with the messages of all steps
	Files    bool        // with From, first undo what the run changed in the workspace since
	Answer   bool        // the query is the result of the call that the continued run waits for
	Note     string      // to the expert, before it begins or goes on; "" for none
	Talk     bool        // a text without calls is the report if no todos are open, also the first such text
	// where the system has no file locks, continue a run whose owner did not give it back
	TakeOver bool

	// Getenv returns the variables that skills require, "" for one that is not set;
	// nil means [os.Getenv]. Their values count as secrets, but for short words.
	Getenv  func(string) string
	Secrets []string // values that neither records, events nor the model may hold
	About   About    // of the model, for the records

	// Grant is asked before an expert starts, with what its skills start, reach and pass
	// on, which may be nothing. An error keeps the expert from starting; nil grants all.
	Grant func(needed []Power) error

	// Allow is asked before each call of a tool, but attemptCompletion. It returns why the
	// call is not made, for the model; "" lets it be made. An error ends the run. Nil allows
	// all.
	Allow func(ctx context.Context, c ToolCall, e dialect.Effect) (refusal string, err error)

	// Hosts is told the hosts that a command tried to reach and may not, after the call. x can allow
	// them. It returns what the model is told; nil tells nothing.
	Hosts func(ctx context.Context, x *skill.Executor, hosts []string) (note string, err error)

	// Begin is called before each call that may act outside of the workspace, once its event
	// is recorded. An error ends the run before the call is made; nil is called for none.
	Begin func(ctx context.Context, c ToolCall) error

	// Traceparent returns the trace context, as W3C has it, that an MCP server is sent with a
	// call; "" is not sent. Several goroutines call it. Nil sends none.
	Traceparent func(callID string) string

	// Schema is a JSON Schema that the final report of the expert must fit; nil for none.
	Schema json.RawMessage

	// is called with the path of each record in the workspace that was written; may be nil
	Recorded func(path string)

	Heard func(string) // is called with the model's words as they come, without secrets; may be nil
	// is called with a sentence for each setting without effect and each damaged record; may be nil
	Warn func(string)

	// Again returns what to type for a command about the same workspace; nil has the words
	// alone, after the program's name.
	Again func(command string, words ...string) string

	ready time.Duration                              // for a skill's server; 0 means connectTimeout
	wait  func(context.Context, time.Duration) error // between retries; nil sleeps
	clean Redactor                                   // of the run's secrets
	// is called between any two changes of files and records, for tests; may be nil
	point func(moment)
}

// A moment is one between two changes of files and records.
type moment int

const (
	beforeChange moment = iota
	beforeFlush         // of records, and of the change that they are flushed beside
)

// About describes a model.
type About struct {
	Provider      string // "openai"
	BaseURL       string
	Model         string
	Temperature   float64
	ContextWindow int // in tokens, before which a conversation is compacted; 0 is unknown
}

// The defaults of a Config.
const (
	DefaultMaxRetries = 5
	DefaultTimeout    = 5 * time.Minute
	DefaultMaxWait    = 5 * time.Minute
)

// complete sets what is not set to its default.
func (c *Config) complete() {
	c.MaxRetries = cmp.Or(c.MaxRetries, DefaultMaxRetries)
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	c.MaxWait = cmp.Or(c.MaxWait, DefaultMaxWait)
	if c.Getenv == nil {
		c.Getenv = os.Getenv
	}
	c.ready = cmp.Or(c.ready, connectTimeout)
	c.Base = cmp.Or(c.Base, dialect.Perstack)
	if c.wait == nil {
		c.wait = sleep
	}
	clean, tell := c.Redactor(), c.Warn // not c, which may hold a conversation
	c.clean, c.Warn = clean, func(text string) {
		if tell != nil {
			tell(clean.Text(text))
		}
	}
	if c.point == nil {
		c.point = func(moment) {}
	}
}

// continued returns the ID of the run that is continued, "" for a new one.
func (c *Config) continued() string {
	if c.From != nil {
		return c.From.RunID
	}
	return c.Continue
}

// check returns what is wrong with the configuration.
func (c *Config) check() error {
	switch continued := c.continued(); {
	case c.Executor == nil || c.Model == nil:
		return errors.New("a run needs an executor and a model")
	case c.Budget.Cost > 0 && c.Budget.Price == nil:
		return errors.New("a limit of the cost needs the price of the model")
	case c.MaxSteps < 0:
		return fmt.Errorf("max steps is %d; it must be at least 1, or 0 for no limit", c.MaxSteps)
	case continued != "" && c.RunID != "" && c.RunID != continued:
		return fmt.Errorf("run id %s is not that of the continued run, %s", c.RunID, continued)
	}
	return nil
}

// Redactor returns what takes the run's secrets out: the values of Secrets, of the
// variables that skills require as far as they are credentials, and what looks like one in a
// skill's address or arguments.
func (c Config) Redactor() Redactor {
	secrets := slices.Clone(c.Secrets)
	if c.Getenv == nil {
		c.Getenv = os.Getenv
	}
	for _, e := range c.Experts {
		for _, s := range e.Skills {
			secrets = append(secrets, s.spelled()...)
			for _, name := range s.RequiredEnv {
				secrets = append(secrets, Credentials(name, c.Getenv(name))...)
			}
			for _, name := range s.credentials() {
				secrets = append(secrets, c.Getenv(name))
			}
		}
	}
	return NewRedactor(secrets)
}
