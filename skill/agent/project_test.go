package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"textskill/skill/dialect"
)

func TestReadProject(t *testing.T) {
	p, err := ReadProject([]byte("\uFEFF" + `
model = "m"
temperature = 0.5
maxSteps = 7
envPath = [".env"]
[provider]
providerName = "openai"
[provider.setting]
baseUrl = "http://localhost:1"
[experts."file-organizer"]
description = "Organizes files in the workspace by type"
instruction = """
You organize files in the current directory.
1. List all files using listDirectory
"""
tags = ["files"]
delegates = ["@me/worker"]
[experts."file-organizer".skills.gh]
type = "mcpStdioSkill"
command = "npx"
packageName = "gh"
requiredEnv = ["GH_TOKEN"]
pick = ["a"]
omit = ["b"]
lazyInit = true
[experts."file-organizer".skills.web]
type = "mcpSseSkill"
endpoint = "https://example.org/mcp"
[experts."file-organizer".skills.human]
type = "interactiveSkill"
[experts."file-organizer".skills.human.tools.ask]
description = "Ask"
inputJsonSchema = '{"type":"object"}'
[experts."@me/worker"]
version = "2.1.0"
minRuntimeVersion = "0.9"
instruction = "Work."
`))
	if err != nil {
		t.Fatal(err)
	}
	e := p.Experts["file-organizer"]
	if e.Version != "1.0.0" || e.Key != "file-organizer" ||
		!strings.HasPrefix(e.Instruction, "You organize") || len(e.Skills) != 3 ||
		e.Skills["gh"].RequiredEnv[0] != "GH_TOKEN" || e.Skills["human"].Tools["ask"].Description != "Ask" {
		t.Errorf("the expert is %+v", e)
	}
	if p.Experts["@me/worker"].Version != "2.1.0" || *p.MaxSteps != 7 || *p.Temperature != 0.5 ||
		p.Provider.Setting.BaseURL != "http://localhost:1" {
		t.Errorf("the project is %+v", p)
	}
}

func TestReadProjectRefuses(t *testing.T) {
	var names []string
	for _, d := range dialect.All {
		if d != dialect.Perstack {
			names = append(names, d.Name)
		}
	}
	others := strings.Join(names, ", ")
	for _, tt := range []struct{ in, want string }{
		{"[experts.", "perstack.toml: line 1, column "},
		{"[experts.x]\ndescription = \"d\"\n", "perstack.toml: experts.x: instruction is required"},
		{"modle = 1\n[experts.x]\ninstruction = \"i\"\ncolour = 1\n",
			"perstack.toml: line 1: unknown key modle; line 4: unknown key experts.x.colour"},
		{"[experts.x]\ninstruction = 1\n",
			"perstack.toml: line 2, column 15: experts.x.instruction cannot be of type integer"},
		{"[experts]\nx = [1]\n", "perstack.toml: line 2, column 5: experts.x cannot be of type array"},
		{"[experts.x]\ninstruction = \"i\"\n[experts.x.skills.s]\ntype = \"mcpSseSkill\"\nendpoint = \"example.org\"\n", "perstack.toml: experts.x: skills.s: endpoint is not a URL like https://example.org/mcp"},
		{"[experts.x]\ninstruction = \"i\"\n[experts.x.skills.s]\ntype = \"builtin\"\ntools = \"nope\"\n",
			"perstack.toml: experts.x: skills.s: tools = \"nope\" is not a dialect; choose one of " + others},
		{"[experts.x]\ninstruction = \"i\"\n[experts.x.skills.s]\ntype = \"builtin\"\n",
			"perstack.toml: experts.x: skills.s: tools = \"\" is not a dialect; choose one of " + others},
		{"[experts.x]\ninstruction = \"i\"\n[experts.x.skills.s]\ntype = \"builtin\"\ntools = \"stack\"\ncommand = \"c\"\n", "perstack.toml: experts.x: skills.s: command, packageName, args, requiredEnv, lazyInit and endpoint mean nothing where the type is builtin; leave them out"},
		{"[experts.x]\ninstruction = \"i\"\n[experts.x.skills.s]\ntype = \"interactiveSkill\"\ntools = \"stack\"\n", "perstack.toml: experts.x: skills.s: tools is the name of a dialect where the type is builtin, and a table of tools where it is interactiveSkill"},
		{"[experts.x]\ninstruction = \"i\"\n[experts.x.skills.s]\ntype = \"builtin\"\n[experts.x.skills.s.tools.t]\n", "perstack.toml: experts.x: skills.s: tools is the name of a dialect where the type is builtin, and a table of tools where it is interactiveSkill"},
		{"[experts.x]\ninstruction = \"i\"\n[experts.x.skills.s]\ntype = \"interactiveSkill\"\n[experts.x.skills.s.tools.t]\nschema = \"{}\"\n", "perstack.toml: experts.x: skills.s: unknown key tools.t.schema"},
		{"[experts.x]\ninstruction = \"i\"\n[experts.x.skills.s]\ntype = \"interactiveSkill\"\n[experts.x.skills.s.tools.t]\ninputJsonSchema = 1\n", "perstack.toml: experts.x: skills.s: tools: each has a description and an inputJsonSchema, which are texts"},
		{"[experts.x]\ninstruction = \"i\"\n[experts.x.skills.s]\ntype = \"interactiveSkill\"\n[experts.x.skills.s.tools.t]\ninputJsonSchema = \"null\"\n", "perstack.toml: experts.x: skills.s: tools.t: inputJsonSchema is not a JSON object"},
		{"[experts.x]\ninstruction = \"i\"\ndelegates = [\"ghost\"]\n",
			`perstack.toml: experts.x: delegates: expert "ghost" is not defined`},
		{"[experts.x]\ninstruction = \"i\"\n[experts.x.skills.s]\ntype = \"t\"\n",
			`perstack.toml: experts.x: skills.s: unknown type "t"; choose mcpStdioSkill, mcpSseSkill, interactiveSkill or builtin`},
		{"[experts.x]\ninstruction = \"i\"\n[experts.x.skills.s]\ntype = \"mcpStdioSkill\"\n",
			"perstack.toml: experts.x: skills.s: command is required"},
		{"[experts.x]\ninstruction = \"i\"\n[experts.x.skills.s]\ntype = \"mcpStdioSkill\"\ncommand = \"npx\"\npackageName = \"p\"\nargs = [\"a\"]\n", "perstack.toml: experts.x: skills.s: packageName and args are both given; there must be exactly one of them"},
		{"[experts.x]\ninstruction = \"" + strings.Repeat("x", 20481) + "\"\n",
			"perstack.toml: experts.x: instruction is too long: 20481 characters; at most 20480"},
		{"runtime = \"cursor\"\n",
			`perstack.toml: runtime "cursor" is another program; leave it out: experts run in this one`},
		{"reasoningBudget = \"huge\"\n",
			`perstack.toml: reasoningBudget "huge" is not supported; choose none, minimal, low, medium, high, or a number of tokens`},
		{"[experts.x]\ninstruction = \"i\"\nminRuntimeVersion = \"99.0.0\"\n",
			"perstack.toml: experts.x: minRuntimeVersion 99.0.0 is later than that of this program, 1.0.0"},
		{"[experts.x]\ninstruction = \"i\"\nminRuntimeVersion = \"latest\"\n",
			"perstack.toml: experts.x: minRuntimeVersion latest is later than that of this program, 1.0.0"},
		{"[experts.x]\ninstruction = \"i\"\n[experts.x.skills.s]\ntype = \"builtin\"\ntools = \"stack\"\nallowedDomains = [\"a.b\", \"*.a.b\", \"https://a.b/\"]\n", `perstack.toml: experts.x: skills.s: allowedDomains: "https://a.b/" is not the name of a host; write it like example.org or *.example.org`},
		{"[experts.x]\ninstruction = \"i\"\n[experts.x.skills.s]\ntype = \"mcpStdioSkill\"\ncommand = \"c\"\nallowedDomains = [\"example.org\"]\n", "perstack.toml: experts.x: skills.s: allowedDomains is not supported: what a skill connects to cannot be restricted to names; leave it out"},
	} {
		if _, err := ReadProject([]byte(tt.in)); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%.40q\n got %v\nwant %s", tt.in, err, tt.want)
		}
	}
}

func TestFindProject(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(deep, 0o777); err != nil {
		t.Fatal(err)
	}
	if path, err := FindProject(deep); err == nil && strings.HasPrefix(path, dir) {
		t.Errorf("found %s where there is none", path)
	}
	for _, want := range []string{filepath.Join(dir, ProjectFile), filepath.Join(dir, "a", ProjectFile)} {
		os.WriteFile(want, nil, 0o666)
		if path, err := FindProject(deep); path != want || err != nil {
			t.Errorf("found %s, %v; want %s", path, err, want)
		}
	}
}

// TestReasoning takes words and numbers of tokens for how much a model thinks.
func TestReasoning(t *testing.T) {
	for text, want := range map[string]string{"none": "none", "high": "high", "0": "none", "1": "minimal",
		"1024": "minimal", "1025": "low", "8192": "medium", "9000": "high", "-1": "", "much": "", "": ""} {
		if got, ok := Reasoning(text); ok != (want != "") || ok && got != want {
			t.Errorf("%q means %q, %v, want %q", text, got, ok, want)
		}
	}
	if p, err := ReadProject([]byte("reasoningBudget = 4096\n[experts.e]\ninstruction = \"i\"\n")); err != nil || p.ReasoningBudget != "medium" {
		t.Errorf("%q, %v", p.ReasoningBudget, err)
	}
}
