package provider_test

import (
	"fmt"
	"log"

	"textskill/skill/agent/provider"
)

// The name of a model and the keys that are set say which provider to ask. The model goes
// into the Model of package agent's Config.
func ExampleByModel() {
	p, why := provider.ByModel("claude-opus", func(p provider.Provider) string {
		if p.Name == provider.Anthropic {
			return "ANTHROPIC_API_KEY" // the variable that is set
		}
		return ""
	})
	fmt.Println(p.Name, "by", why)
	m, err := provider.New(provider.Endpoint{Provider: p.Name, Model: "claude-opus", Key: "the key"})
	fmt.Println(m != nil, err)

	_, err = provider.Named("nobody")
	if err == nil {
		log.Fatal("there is no such provider")
	}
	// Output:
	// anthropic by the name of the model, and ANTHROPIC_API_KEY
	// true <nil>
}
