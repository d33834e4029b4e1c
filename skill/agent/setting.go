package agent

import (
	"net/url"
	"time"
)

// settingFile is the name of a RunSetting's file.
const settingFile = "run-setting.json"

// A RunSetting says how a run was started. It contains no credential and nothing of
// the environment.
type RunSetting struct {
	Model          string            `json:"model"`
	ProviderConfig ProviderConfig    `json:"providerConfig"`
	RunID          string            `json:"runId"`
	ExpertKey      string            `json:"expertKey"`
	Input          Input             `json:"input"`
	Experts        map[string]Expert `json:"experts"`
	Temperature    float64           `json:"temperature"`
	MaxSteps       int               `json:"maxSteps,omitempty"` // 0 means no limit
	MaxRetries     int               `json:"maxRetries"`
	Timeout        int64             `json:"timeout"`   // of one answer of the model, in milliseconds
	StartedAt      int64             `json:"startedAt"` // milliseconds since 1970
	// last start or continuation, in milliseconds since 1970
	UpdatedAt int64 `json:"updatedAt"`

	Rules []string `json:"rules,omitempty"` // of the model's endpoint, see [Learner]
	// of the model in tokens, as its endpoint said or shows; 0 if unknown
	Window int `json:"window,omitempty"`

	Damage string `json:"-"` // why the file cannot be read; "" if it can
}

// setting is what is recorded of how the run was started.
func (a *asker) setting(c *Config, run, query string) RunSetting {
	now := time.Now().UnixMilli()
	s := RunSetting{
		Model: c.About.Model, ProviderConfig: ProviderConfig{c.About.Provider, plainURL(c.About.BaseURL)},
		RunID:     run,
		ExpertKey: c.Expert, Input: Input{query}, Experts: c.Experts,
		Temperature: max(c.About.Temperature, 0),
		MaxSteps:    c.MaxSteps, MaxRetries: max(c.MaxRetries, 0), Timeout: c.Timeout.Milliseconds(),
		StartedAt: now, UpdatedAt: now,
	}
	if m, ok := c.Model.(Learner); ok {
		s.Rules = m.Rules()
	}
	if a.window != c.About.ContextWindow {
		s.Window = a.window
	}
	return s
}

// sameModel reports whether two settings are of one model at one endpoint.
func (s *RunSetting) sameModel(other RunSetting) bool {
	return s.Model == other.Model && s.ProviderConfig == other.ProviderConfig
}

// A ProviderConfig says where the model is.
type ProviderConfig struct {
	ProviderName string `json:"providerName"`
	BaseURL      string `json:"baseUrl,omitempty"` // without user, query and fragment
}

// An Input is what a run was started with.
type Input struct {
	Text string `json:"text,omitempty"`
}

// plainURL returns a URL without user, query and fragment, which may contain secrets.
func plainURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
