package agent

import (
	"slices"
	"testing"
)

// TestPowers lists what of a project acts on the user, each setting by a name that no
// other can have.
func TestPowers(t *testing.T) {
	p, err := ReadProject([]byte(`
model = "m"
envPath = [".env", "/home/you/.keys"]
[provider]
providerName = "openai"
[provider.setting]
baseUrl = "https://example.org/v1"
[experts.e]
instruction = "i"
delegates = ["e.skills.x"]
[experts.e.skills."@perstack/base"]
type = "mcpStdioSkill"
command = "npx"
packageName = "@perstack/base"
[experts.e.skills.ask]
type = "interactiveSkill"
[experts.e.skills.ask.tools.q]
inputJsonSchema = "{}"
[experts.e.skills.s]
type = "mcpStdioSkill"
command = "npx"
packageName = "p"
requiredEnv = ["A", "B"]
[experts."e.skills.x".skills."a\n.b"]
type = "mcpSseSkill"
endpoint = "https://example.org/mcp"
[experts."e.skills.x"]
instruction = "i"
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, power := range p.Powers() {
		got = append(got, power.String())
	}
	want := []string{
		`provider.providerName = "openai"`,
		`provider.setting.baseUrl = "https://example.org/v1"`,
		`envPath = [".env","/home/you/.keys"]`,
		`experts.e.skills.s.command = ["npx","p"]`,
		`experts.e.skills.s.requiredEnv = ["A","B"]`,
		`experts."e.skills.x".skills."a\n.b".endpoint = "https://example.org/mcp"`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("the powers are\n%q\nwant\n%q", got, want)
	}
}
