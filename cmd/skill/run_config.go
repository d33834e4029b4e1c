package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/agent/provider"
	"textskill/skill/dialect"
)

// runConfig returns what flags, project and variables say, in this order.
func (r *runOptions) runConfig(c *cli, w *stranger) (agent.Config, error) {
	p, v := w.project, w.vars
	cfg := agent.Config{Experts: p.Experts, RunID: r.runID, Answer: r.answer, TakeOver: r.takeOver,
		Base: limited(dialect.Perstack, r.maxText), Getenv: v.get, Secrets: v.secrets()}
	cfg.Warn = func(what string) { c.say(what) }
	cfg.Again = func(command string, words ...string) string {
		return c.again(&r.workspaceOptions, command, words...)
	}
	s, err := r.checked(c, w, &cfg)
	if err != nil {
		return cfg, err
	}
	e := s.endpoint
	for _, what := range p.Ignored() {
		cfg.Warn(what)
	}
	e.Reasoning = cmp.Or(r.reasoning, p.ReasoningBudget)
	if !r.trustWorkspace {
		cfg.Grant = w.grant(s.powers)
	}
	switch _, trusted := w.isTrusted(); {
	case trusted || r.trustWorkspace:
		cfg.Guide = w.guide
	case w.guide != "":
		cfg.Warn(guideFile + " is not read, because you have not trusted it as it is: type " + c.program() +
			" trust " + shellWord(w.dir))
	}
	if r.verbose {
		r.sayModel(c, s, cfg.Budget.Price)
	}
	if c.agent != nil {
		cfg.Model = scriptedModel{c.agent}
		return cfg, nil
	}
	window := c.learn(&e, &cfg)
	model, err := provider.New(e)
	cfg.Model = model
	cfg.Secrets = append(cfg.Secrets, e.Key)
	cfg.About = agent.About{Provider: e.Provider, BaseURL: e.BaseURL, Model: e.Model,
		Temperature:   e.Temperature,
		ContextWindow: cmp.Or(r.window, p.Provider.ContextWindow, window, agent.ContextWindow(e.Model))}
	return cfg, err
}

// checked reads files and flags into cfg, and returns where the model is. It names all that is
// wrong.
func (r *runOptions) checked(c *cli, w *stranger, cfg *agent.Config) (s modelSource, err error) {
	wrong := []error{checkReport(r.lastMessage), skill.Undumpable()}
	if r.schema != "" {
		if cfg.Schema, err = readText(r.schema); err != nil {
			wrong = append(wrong, fmt.Errorf("--output-schema: %w", err))
		}
	}
	unknown := error(nil)
	if c.agent == nil {
		s, unknown = r.source(w)
	}
	wrong = append(wrong, unknown, r.numbers(c, w.project, cfg, &s.endpoint))
	if unknown == nil { // only a known model has a price
		wrong = append(wrong, r.limits(cfg, s.endpoint.Model))
	}
	return s, errors.Join(wrong...)
}

// checkReport returns an error if the file of --last-message cannot be written. It leaves the
// file as it is.
func checkReport(name string) error {
	if name == "" {
		return nil
	}
	info, missing := os.Lstat(name)
	if missing == nil && info.Mode()&fs.ModeNamedPipe != 0 { // to open it would wait for a reader
		return nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return fmt.Errorf("--last-message: %w", err)
	}
	f.Close()
	if errors.Is(missing, fs.ErrNotExist) {
		return os.Remove(name)
	}
	return nil
}

// sayModel says which model is asked, and what it costs if that is known.
func (r *runOptions) sayModel(c *cli, s modelSource, price *agent.Price) {
	c.sayf("the model %s of the provider %s (%s)", s.endpoint.Model, s.endpoint.Provider, s.why)
	if price != nil {
		c.sayf("a million tokens cost $%g to read and $%g to write (%s)", price.Input, price.Output,
			cmp.Or(r.prices, "list prices of "+agent.PricesDate))
	}
}

// limits reads the flags that bound what a run may use.
func (r *runOptions) limits(cfg *agent.Config, model string) error {
	b := r.budget
	switch {
	case b.Tokens < 0:
		return fmt.Errorf("--max-tokens %d: it must be at least 0", b.Tokens)
	case !(b.Cost >= 0):
		return fmt.Errorf("--max-cost %v: it must be at least 0", b.Cost)
	case b.Time < 0:
		return fmt.Errorf("--max-time %s: it must be at least 0s", b.Time)
	case b.EqualCalls < 0:
		return fmt.Errorf("max-equal-calls %d: it must be at least 0", b.EqualCalls)
	}
	prices, err := readPrices(r.prices)
	if err != nil {
		return err
	}
	if b.Price = prices.Of(model); b.Price == nil && b.Cost > 0 {
		return fmt.Errorf("the price of the model %s is not among the list prices of %s, so --max-cost cannot hold; give it in a file that prices names in skill.toml", model, agent.PricesDate)
	}
	cfg.Budget, cfg.MaxWait = b, max(r.maxWait, 1)
	return nil
}

// readPrices returns the known prices of models, overridden by a file; "" names no file.
func readPrices(file string) (agent.Prices, error) {
	if file == "" {
		return agent.ReadPrices(nil)
	}
	data, err := readText(file)
	if err != nil {
		return nil, err
	}
	prices, err := agent.ReadPrices(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return prices, nil
}

const maxTimeout = 365 * 24 * 60 * 60 * 1000 // milliseconds; a Duration holds 292 years

// numbers reads the flags that are numbers; without a flag perstack.toml counts.
func (r *runOptions) numbers(c *cli, p agent.Project, cfg *agent.Config, e *provider.Endpoint) error {
	steps, err1 := c.number("max-steps", r.maxSteps, p.MaxSteps, 0, 1)
	retries, err2 := c.number("max-retries", r.maxRetries, p.MaxRetries, agent.DefaultMaxRetries, 0)
	ms, err3 := c.number("timeout", r.timeout, p.Timeout, int(agent.DefaultTimeout.Milliseconds()), 1)
	cfg.MaxSteps, cfg.MaxRetries, cfg.Timeout = steps, retries,
		time.Duration(min(ms, maxTimeout))*time.Millisecond
	if retries == 0 {
		cfg.MaxRetries = -1
	}
	if p.Temperature != nil {
		e.Temperature = *p.Temperature
	}
	var err4 error
	switch r.temperature {
	case "":
	case "default", "none":
		e.Temperature = -1
	default:
		e.Temperature, err4 = strconv.ParseFloat(r.temperature, 64)
	}
	if err4 != nil || !(e.Temperature >= 0 && e.Temperature <= 2) &&
		e.Temperature != -1 ||
		r.temperature == "-1" {
		err4 = fmt.Errorf("--temperature %s: it is a number from 0 to 2, or \"default\"",
			cmp.Or(r.temperature, fmt.Sprint(e.Temperature)))
	}
	if r.window != 0 && r.window < agent.MinWindow {
		err4 = fmt.Errorf("context-window %d: it must be at least %d", r.window, agent.MinWindow)
	}
	e.TextTools = cmp.Or(r.modelTools, p.Provider.Tools) == agent.TextTools
	return errors.Join(err1, err2, err3, err4)
}

// number returns the number of a flag; without one said, and without that fallback. A
// flag that is not a number is ignored with a warning.
func (c *console) number(flag, text string, said *int, fallback, low int) (int, error) {
	n := fallback
	if said != nil {
		n = *said
	}
	if text != "" {
		given, err := strconv.Atoi(text)
		if f, e := strconv.ParseFloat(text, 64); err != nil && e == nil && f-f == 0 { // finite
			return n, fmt.Errorf("--%s %s: it must be a whole number", flag, text)
		}
		if err != nil {
			c.sayf("--%s %s is not a number and is ignored", flag, text)
			return n, nil
		}
		n = given
	}
	if n < low && (text != "" || said != nil) {
		return n, fmt.Errorf("--%s %d: it must be at least %d", flag, n, low)
	}
	return n, nil
}

// A modelSource says where a run's model is, and why there.
type modelSource struct {
	endpoint provider.Endpoint
	why      string        // the provider was chosen
	powers   []agent.Power // what of the workspace decides where the model is asked, and with which key
}

// source returns where the model is: what flags, variables and the project say, in this
// order.
func (r *runOptions) source(w *stranger) (s modelSource, err error) {
	key, err := r.givenKey()
	if err != nil {
		return s, err
	}
	p, v := w.project, w.vars
	model := cmp.Or(r.model, p.Model, r.modelName, v.get("SKILL_MODEL"))
	if model == "" {
		return s, errors.New("no model is named; give one with --model, in perstack.toml or in SKILL_MODEL")
	}
	from, err := s.provider(r, w, key, model)
	if err != nil {
		return s, err
	}
	if from.Name != provider.OpenAI && (r.baseURL != "" || key != "") {
		return s, fmt.Errorf("--openai-base-url and --openai-api-key-file are for the provider %s, and the provider is %s (%s); it reads %s and %s",
			provider.OpenAI, from.Name, s.why, from.BaseURL, from.Keys[0])
	}
	if from.Name != provider.OpenAI && r.api != "auto" {
		return s, fmt.Errorf("--openai-api is for the provider %s, and the provider is %s (%s)",
			provider.OpenAI, from.Name, s.why)
	}
	s.endpoint = provider.Endpoint{Provider: from.Name, API: strings.TrimPrefix(r.api, "auto"), Model: model,
		Key: key, BaseURL: r.baseURL}
	if r.baseURL != "" {
		s.endpoint.BaseURLFrom = baseURLFlag
	}
	s.locate(w, from)
	if s.endpoint.Key == "" && s.endpoint.BaseURL == "" {
		return s, from.NoKey(r.provider != "" || p.Provider.ProviderName != "")
	}
	return s, nil
}

// provider returns the provider of a model.
func (s *modelSource) provider(r *runOptions, w *stranger, key, model string) (p provider.Provider,
	err error) {
	named := w.project.Provider.ProviderName
	switch {
	case r.provider != "":
		s.why = "--provider"
		return provider.Named(r.provider)
	case named != "":
		s.why = "provider.providerName in perstack.toml"
		if p, err = provider.Named(named); err == nil && named != provider.OpenAI {
			s.needs(w.projectPower("provider.providerName"))
		}
		return p, err
	case cmp.Or(r.baseURL, w.vars.get("OPENAI_BASE_URL"), w.project.Provider.Setting.BaseURL) != "":
		s.why = "a base URL is set"
		return provider.Named(provider.OpenAI)
	}
	p, s.why = provider.ByModel(model, func(p provider.Provider) string {
		if p.Name == provider.OpenAI && key != "" {
			return "--openai-api-key-file"
		}
		return w.vars.first(p.Keys)
	})
	return p, nil
}

// locate completes the address and the key that flags do not give.
func (s *modelSource) locate(w *stranger, p provider.Provider) {
	if s.endpoint.BaseURL == "" {
		s.endpoint.BaseURL = w.vars.get(p.BaseURL)
		s.needs(w.vars.power(p.BaseURL))
	}
	// An address in perstack.toml is that of the provider that the file names.
	set := w.project.Provider.Setting.BaseURL
	if s.endpoint.BaseURL == "" && set != "" && cmp.Or(w.project.Provider.ProviderName, provider.OpenAI) == p.Name {
		s.endpoint.BaseURL = set
		s.endpoint.BaseURLFrom = "provider.setting.baseUrl in perstack.toml"
		s.needs(w.projectPower("provider.setting.baseUrl"))
	}
	if name := w.vars.first(p.Keys); s.endpoint.Key == "" && name != "" {
		s.endpoint.Key = w.vars.get(name)
		s.needs(w.vars.power(name))
	}
}

// needs adds a power, if there is one.
func (s *modelSource) needs(p agent.Power, ok bool) {
	if ok {
		s.powers = append(s.powers, p)
	}
}

// projectPower returns a power of the project by its setting.
func (w *stranger) projectPower(setting string) (agent.Power, bool) {
	all := w.project.Powers()
	i := slices.IndexFunc(all, func(p agent.Power) bool { return p.Setting == setting })
	if i < 0 {
		return agent.Power{}, false
	}
	return all[i], true
}
