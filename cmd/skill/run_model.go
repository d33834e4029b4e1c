package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"textskill/skill/agent"
	"textskill/skill/agent/provider"
)

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
	if s.endpoint.BaseURL == "" && cmp.Or(w.project.Provider.ProviderName, provider.OpenAI) == p.Name {
		s.endpoint.BaseURL = w.project.Provider.Setting.BaseURL
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
