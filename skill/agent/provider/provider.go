// Package provider has the models of the providers that experts can be run with.
//
//	provider.go      which providers there are, and which one a run takes
//	parts.go         putting an answer together, and giving it back
//	model.go         what all protocols share: learning what an endpoint refuses
//	rules.go         rules of endpoints that are learned, such as roles that take turns
//	conversation.go  encoding each message once
//	media.go         images and files that an endpoint refuses
//	chat.go          OpenAI's chat completions, which most endpoints speak
//	responses.go     OpenAI's Responses
//	anthropic.go     Anthropic's Messages
//	google.go        Google's generateContent
package provider

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"textskill/llmfallback/openai"
	"textskill/llmfallback/remote"
	"textskill/skill/internal/words"
)

// The names of providers.
const (
	OpenAI    = "openai"
	Anthropic = "anthropic"
	Google    = "google"
)

// A Provider is one whose protocols are spoken.
type Provider struct {
	Name    string
	BaseURL string   // the variable of the base URL
	Keys    []string // variables of the key; the first that is set counts

	models []string // what names of its models begin with
	own    string   // its address, if it speaks OpenAI's protocol; "" if its client knows it
	free   bool     // it needs no key
}

// All are the providers. The first is the default.
var All = []Provider{
	{OpenAI, "OPENAI_BASE_URL", []string{"OPENAI_API_KEY"}, nil, "", false},
	{Anthropic, "ANTHROPIC_BASE_URL", []string{"ANTHROPIC_API_KEY"}, []string{"claude-"}, "", false},
	{Google, "GOOGLE_GEMINI_BASE_URL", []string{"GOOGLE_API_KEY", "GEMINI_API_KEY",
		"GOOGLE_GENERATIVE_AI_API_KEY"}, []string{"gemini-", "gemma-"}, "", false},
	{"deepseek", "DEEPSEEK_BASE_URL", []string{"DEEPSEEK_API_KEY"}, []string{"deepseek-"},
		"https://api.deepseek.com/v1", false},
	{"ollama", "OLLAMA_BASE_URL", []string{"OLLAMA_API_KEY"}, nil, "http://localhost:11434/v1", true},
}

// elsewhere says how the models of providers are asked that others know by these names.
var elsewhere = map[string]string{
	"azure-openai":   "with OPENAI_BASE_URL=https://NAME.openai.azure.com/openai/v1 and the key in OPENAI_API_KEY",
	"amazon-bedrock": "with OPENAI_BASE_URL=https://bedrock-runtime.REGION.amazonaws.com/openai/v1 and a key of Bedrock in OPENAI_API_KEY",
	"google-vertex":  "with OPENAI_BASE_URL at a gateway to it, or the provider google with a key",
}

// NoKey is the error of a provider whose key and address are both not set; nil if it needs no key.
// named says that the user chose the provider.
func (p Provider) NoKey(named bool) error {
	if p.free {
		return nil
	}
	other := ""
	if !named {
		other = ", or name the provider of the model with --provider"
	}
	return fmt.Errorf("%s is not set; set it, or %s to an endpoint that needs no key%s", p.Keys[0],
		p.BaseURL, other)
}

// Named returns the provider of a name, or an error that lists those that there are.
func Named(name string) (Provider, error) {
	i := slices.IndexFunc(All, func(p Provider) bool { return p.Name == name })
	switch {
	case i >= 0:
		return All[i], nil
	case elsewhere[name] != "":
		return Provider{}, fmt.Errorf("provider %q is not one of this program; use the provider %s, %s",
			name, OpenAI, elsewhere[name])
	}
	return Provider{}, fmt.Errorf("provider %q is not supported; there are %s (any endpoint that speaks OpenAI's protocols), %s, %s, %s and %s",
		name, OpenAI, Anthropic, Google, All[3].Name, All[4].Name)
}

// ByModel returns the provider of a model by the model's name, if key returns the name of
// its key, and "" for that of [OpenAI]; else OpenAI. why says in a few words how it was
// chosen.
func ByModel(model string, key func(p Provider) string) (p Provider, why string) {
	for _, p := range All[1:] {
		if key(p) != "" && key(All[0]) == "" &&
			slices.ContainsFunc(p.models,
				func(prefix string) bool { return strings.HasPrefix(model, prefix) }) {
			return p, "the name of the model, and " + key(p)
		}
	}
	return All[0], "the default"
}

// An Endpoint says where a model is, and what it is asked for.
type Endpoint struct {
	Provider string // "" means OpenAI
	// of OpenAI: "chat" or "responses"; "" means responses for a reasoning model at OpenAI's own
	// address, else chat
	API         string
	BaseURL     string // "" means the provider's own
	BaseURLFrom string // the flag, variable or setting that gave BaseURL, for errors; "" means the variable
	Key         string // sent over https or to this machine only; may be ""
	Model       string
	Temperature float64 // below 0 leaves it to the endpoint
	Reasoning   string  // "none", "minimal", "low", "medium" or "high"; "" leaves it to the endpoint
	// describe tools in the instruction, and read calls from the text, for a model that has no tools
	TextTools bool

	Rules []string // that the endpoint is known to have, from Learned
	// is called with each parameter that the endpoint turns out to refuse, and each rule that it
	// has; may be nil
	Learned func(rule string)

	Transport http.RoundTripper // nil means one of its own
}

// New returns the model of an endpoint. Errors say which of its fields is wrong.
func New(e Endpoint) (*Model, error) {
	e.Provider = cmp.Or(e.Provider, OpenAI)
	provider, err := Named(e.Provider)
	if err != nil {
		return nil, err
	}
	e.BaseURL = cmp.Or(e.BaseURL, provider.own)
	m := &Model{name: e.Provider + "/" + e.Model, learned: e.Learned,
		media: mediaState{map[string]bool{}, map[string]string{}}}
	if e.TextTools {
		m.refused, m.given = []string{remote.NoTools}, 1
	}
	m.Learn(e.Rules)
	switch {
	case e.API != "" && (e.Provider != OpenAI || e.API != "chat" && e.API != "responses"):
		return nil, fmt.Errorf("the API %q of the provider %s is not supported; %s has chat and responses",
			e.API, e.Provider, OpenAI)
	case e.Provider == Anthropic:
		m.protocol, err = newAnthropic(e, provider)
	case e.Provider == Google:
		m.protocol, err = newGoogle(e, provider)
	case e.API == "responses" || e.API == "" && e.BaseURL == "" && reasons().MatchString(e.Model):
		m.protocol, err = newResponses(e)
	default:
		m.protocol, err = newChat(e)
	}
	if err == nil && e.Model == "" {
		err = errors.New("the model is not named")
	}
	return m, err
}

// reasons matches OpenAI's models that reason, and whose reasoning is only kept by Responses.
var reasons = words.Pattern(`^(o\d|gpt-[5-9])`)

func openaiConfig(e Endpoint) openai.Config {
	return openai.Config{BaseURL: e.BaseURL, BaseURLFrom: e.BaseURLFrom, Key: e.Key, Transport: e.Transport}
}

// keyed returns the configuration of a client that sends the key in a header of its own. own is
// the provider's own address.
func (p Provider) keyed(e Endpoint, own, header string) remote.Config {
	c := remote.Config{
		BaseURL: cmp.Or(e.BaseURL, own), Header: http.Header{}, Keyed: e.Key != "", Transport: e.Transport,
		Names: remote.Names{BaseURL: cmp.Or(e.BaseURLFrom, p.BaseURL), Key: p.Keys[0], Example: own},
	}
	if e.Key != "" {
		c.Header.Set(header, e.Key)
	}
	return c
}
