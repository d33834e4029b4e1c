package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"textskill/llmfallback"
	"textskill/skill"
	"textskill/skill/dialect"
)

// interpreter returns what reads a prompt that is not a command; nil if nothing does.
func (o *options) interpreter(c *cli, x *skill.Executor) (dialect.Fallback, error) {
	key, err := o.givenKey()
	if err != nil {
		return nil, err
	}
	cfg := llmfallback.Config{
		Mode: llmfallback.Mode(o.fallback), Trust: o.trust, Destructive: llmfallback.Destructive(o.destructive),
		Model: llmfallback.Model{
			BaseURL: cmp.Or(o.baseURL, c.getenv("OPENAI_BASE_URL")), Key: cmp.Or(key, c.getenv("OPENAI_API_KEY")),
			Name: cmp.Or(o.modelName, c.getenv("SKILL_MODEL")), Rung: o.rung, Timeout: o.llmTimeout,
		},
		Stat:     folderAt(x),
		MaxCalls: o.maxCalls, MaxTokens: o.maxTokens,
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
		cfg.Model = llmfallback.Model{} // a model that cannot be asked does not keep commands from running
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
		if reading := llmfallback.Read(prompt); errors.Is(err, llmfallback.ErrSilent) && reading.Verb != "" && reading.Why != "" && cfg.Mode != llmfallback.None {
			return dialect.Extraction{}, &dialect.Failure{Message: "Unknown operation: " + operation, Hint: "not understood: " + reading.Why, Cause: err}
		}
		e := dialect.Extraction{Operation: r.Operation, Path: r.Path, Content: r.Content, Destination: r.Destination, Via: r.Via}
		return e, o.worded(err, operation)
	}, nil
}

// worded turns what a fallback reports into what the dialect prints. A prompt
// that nobody understood is an unknown operation, or one without a path; the hint is
// the reason, and what to type.
func (m *modelFlags) worded(err error, operation string) error {
	var confirm *llmfallback.ConfirmError
	var wrong *llmfallback.ArgumentError
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
	case errors.As(err, &wrong):
		f := &dialect.Failure{Message: err.Error(), Code: wrong.Code(), Cause: err}
		if wrong.Got == "" {
			f.Hint = "say it in the command: " + wrong.Operation + " PATH content: TEXT"
		}
		return f
	case m.trust && !errors.Is(err, llmfallback.ErrNotArray):
		return err
	}
	cause := strings.Join(strings.Fields(err.Error()), " ")
	if tool := dialect.Achilles.Lookup(operation); tool != nil && !errors.Is(err, llmfallback.ErrNotArray) {
		return &dialect.Failure{Message: "Invalid input: operation and path are required.", Hint: tool.Usage() + " (" + cause + ")", Cause: err}
	}
	return &dialect.Failure{Message: "Unknown operation: " + operation, Hint: cause + " (a command is like readFile a.txt)", Cause: err}
}

// folderAt returns a function that reports whether a path is a directory.
func folderAt(x *skill.Executor) func(path string) (folder bool, err error) {
	return func(path string) (bool, error) {
		r, err := x.Execute(context.Background(), &skill.Session{}, skill.Stat{Path: path})
		if err != nil {
			return false, err
		}
		return r.(skill.Described).Info.IsDir(), nil
	}
}

// A scriptedAgent answers with its replies one after another, for golden files and
// tests.
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
