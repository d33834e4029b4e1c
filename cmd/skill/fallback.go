package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"textskill/llmfallback"
	"textskill/skill"
	"textskill/skill/dialect"
)

// modelOptions are the flags that say who reads a prompt that is no command.
type modelOptions struct {
	mode        string
	trust       bool
	destructive string
	baseURL     string
	key         string
	name        string
	rung        string
	timeout     time.Duration
	maxCalls    int
	maxTokens   int
}

func (m *modelOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&m.mode, "fallback", "auto", "who reads a prompt that is no command: `auto`, rules, llm or none; auto is the rules, then a model where one is configured")
	f.BoolVar(&m.trust, "trust-llm", false, "do what the model answers, unchecked and unrepaired, with one request")
	f.StringVar(&m.destructive, "llm-destructive", "two-key", "a prompt in plain words that deletes or overwrites: `two-key` asks that it says so itself; refuse, allow")
	f.StringVar(&m.baseURL, "openai-base-url", "", "the model's endpoint, any that is compatible (default $OPENAI_BASE_URL)")
	f.StringVar(&m.key, "openai-api-key", "", "its key (default $OPENAI_API_KEY, where others on this machine do not see it)")
	f.StringVar(&m.name, "skill-model", "", "the model (default $SKILL_MODEL)")
	f.StringVar(&m.rung, "llm-mode", "", "begin with json_schema, json_object, tool or text (default to find out)")
	f.DurationVar(&m.timeout, "llm-timeout", 20*time.Second, "for one prompt, all requests together")
	f.IntVar(&m.maxCalls, "llm-max-calls", 0, "requests to the model at the most; 0 for no bound")
	f.IntVar(&m.maxTokens, "llm-max-tokens", 0, "tokens of the model at the most; 0 for no bound")
}

// fallback returns who is asked when a prompt is no command, nil for nobody.
func (m *modelOptions) fallback(c *cli, x *skill.Executor, o *options) (dialect.Fallback, error) {
	env := func(flag, name string) string {
		if flag != "" {
			return flag
		}
		return c.getenv(name)
	}
	cfg := llmfallback.Config{
		Mode: llmfallback.Mode(m.mode), Trust: m.trust, Destructive: llmfallback.Destructive(m.destructive),
		Model: llmfallback.Model{
			BaseURL: env(m.baseURL, "OPENAI_BASE_URL"), Key: env(m.key, "OPENAI_API_KEY"),
			Name: env(m.name, "SKILL_MODEL"), Rung: m.rung, Timeout: m.timeout,
		},
		Stat:     folderAt(x),
		MaxCalls: m.maxCalls, MaxTokens: m.maxTokens,
	}
	if c.agent != nil {
		cfg.Complete = c.agent.complete
	}
	if cfg.Model.Key != "" {
		if err := skill.Undumpable(); err != nil {
			return nil, err
		}
	}
	extractor, err := llmfallback.New(cfg)
	if err != nil {
		wrong := err
		cfg.Model = llmfallback.Model{} // a model that must not be asked is no reason to refuse a command
		if _, err := llmfallback.New(cfg); err != nil {
			return nil, err
		}
		return func(_ context.Context, _, operation string) (dialect.Extraction, error) {
			return dialect.Extraction{}, &dialect.Failure{Message: "Unknown operation: " + operation, Hint: wrong.Error(), Cause: wrong}
		}, nil
	}
	return func(ctx context.Context, prompt, operation string) (dialect.Extraction, error) {
		r, err := extractor.Extract(ctx, prompt)
		if o.verbose {
			fmt.Fprintln(c.stderr, "fallback:", r.Telemetry)
		}
		e := dialect.Extraction{Operation: r.Operation, Path: r.Path, Content: r.Content, Destination: r.Destination, Via: r.Via}
		return e, m.worded(err, operation)
	}, nil
}

// worded turns what a fallback reports into what the dialect prints. A prompt
// that nobody understood is an unknown operation, whatever the reason was.
func (m *modelOptions) worded(err error, operation string) error {
	var confirm *llmfallback.ConfirmError
	var content *llmfallback.ContentError
	var value *llmfallback.ValueError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, llmfallback.ErrSilent):
		return fmt.Errorf("%w: %w", dialect.ErrSilent, err)
	case errors.As(err, &confirm):
		f := &dialect.Failure{Message: confirm.Reason, Cause: err}
		if confirm.Command != "" {
			f.Hint = "nothing was done; to do it, type: " + confirm.Command
		}
		return f
	case errors.As(err, &content):
		return &dialect.Failure{Message: err.Error(), Hint: "say it in the command: " + content.Operation + " PATH content: TEXT", Cause: err}
	case errors.As(err, &value):
		return &dialect.Failure{Message: err.Error(), Code: value.Code(), Cause: err}
	case m.trust && !errors.Is(err, llmfallback.ErrNotArray):
		return err
	}
	return &dialect.Failure{Message: "Unknown operation: " + operation, Cause: err}
}

// folderAt tells the fallback what stands at a path.
func folderAt(x *skill.Executor) func(path string) (folder bool, err error) {
	return func(path string) (bool, error) {
		r, err := x.Execute(context.Background(), &skill.Session{}, skill.Stat{Path: path})
		if err != nil {
			return false, err
		}
		return r.(skill.Described).Info.IsDir(), nil
	}
}

// A scriptedAgent answers with its replies in turn, for golden files and tests.
type scriptedAgent struct {
	replies []string
	err     error    // instead of a reply
	prompts []string // what it was asked so far
}

func (a *scriptedAgent) complete(_ context.Context, prompt string) (string, error) {
	a.prompts = append(a.prompts, prompt)
	if a.err != nil {
		return "", a.err
	}
	if len(a.prompts) > len(a.replies) {
		return "", io.ErrUnexpectedEOF
	}
	return a.replies[len(a.prompts)-1], nil
}
