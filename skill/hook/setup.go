package hook

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"textskill/parser/rawjson"
)

// A Setup says how a host is told to call the hook.
type Setup struct {
	Host  string
	Title string
	As    string // the host whose file this one reads, too; "" for a file of its own
	// of the user, JSON, below the home folder, with slashes; "" if the host has files for hooks alone
	File  string
	Own   bool   // nothing else is in the file
	TOML  bool   // the file is TOML, with a table for each event
	Group bool   // entries are in groups, each with a matcher
	Entry string // in which COMMAND stands for the command line, and POWERSHELL for that of Windows
	Calls []string
	Ends  []string // events that have no matcher
	Match string   // every tool
	Top   []Member // of the file besides
	Tried bool     // with the host itself
	Then  string   // what the user has to do
	Skips string   // in which modes the host calls no hooks, "" if no such mode is known
	// the host's files of sessions below [Folder], as a pattern; "" if their form is not known
	Transcripts string
}

// A Member is a name and a value of JSON.
type Member struct{ Name, Value string }

const (
	claudeEntry = `{"type": "command", "command": COMMAND, "timeout": 10}`
	geminiEntry = `{"type": "command", "name": "skill", "command": COMMAND, "timeout": 10000}`
)

// Setups lists the hosts that can be set up.
var Setups = []Setup{
	{Host: "claude-code", Title: "Claude Code", File: ".claude/settings.json", Group: true,
		Match: "*", Entry: claudeEntry, Tried: true,
		Calls:       []string{"PreToolUse", "PostToolUse", "PostToolUseFailure"},
		Ends:        []string{"SubagentStop", "Stop", "SessionEnd"},
		Then:        "start Claude Code again; /hooks lists them",
		Skips:       "Claude Code calls no hooks with --bare, --safe-mode, disableAllHooks, or --setting-sources without user",
		Transcripts: "projects/*/*.jsonl"},
	{Host: "codex", Title: "Codex", File: ".codex/hooks.json", Group: true, Match: "*",
		Entry: claudeEntry, Tried: true,
		Calls:       []string{"PreToolUse", "PostToolUse"},
		Ends:        []string{"SubagentStop", "Stop", "Interrupt", "SessionEnd"},
		Then:        "start codex, type /hooks and trust them: until then codex skips them without a word",
		Skips:       "Codex calls no hooks that are not trusted: start codex, type /hooks and trust them",
		Transcripts: "sessions/*/*/*/*.jsonl"},
	{Host: "copilot-cli", Title: "Copilot CLI", File: ".copilot/hooks/skill.json", Own: true,
		Tried: true, Top: []Member{{"version", "1"}},
		Entry: `{"type": "command", "bash": COMMAND, "powershell": POWERSHELL, "timeoutSec": 10}`,
		Calls: []string{"preToolUse", "postToolUse", "postToolUseFailure"},
		Ends:  []string{"agentStop", "sessionEnd"},
		Then:  "start copilot again"},
	{Host: "vscode-copilot", Title: "VS Code", As: "copilot-cli",
		File: ".copilot/hooks/skill.json", Own: true,
		Top:   []Member{{"version", "1"}},
		Entry: `{"type": "command", "bash": COMMAND, "powershell": POWERSHELL, "timeoutSec": 10}`,
		Calls: []string{"preToolUse", "postToolUse", "postToolUseFailure"},
		Ends:  []string{"agentStop", "sessionEnd"},
		Then:  "it reads the file of Copilot CLI, which then calls the hook, too; reload the window of VS Code"},
	{Host: "kiro", Title: "Kiro", File: ".kiro/agents/skill.json", Own: true,
		Top: []Member{{"name", `"skill"`},
			{"description", `"records what its tools change, so that skill can undo it"`},
			{"tools", `["*"]`}},
		Entry: `{"matcher": "*", "command": COMMAND, "timeout_ms": 10000}`,
		Calls: []string{"preToolUse", "postToolUse"}, Ends: []string{"stop"},
		Then: "hooks belong to one agent of Kiro: start this one with \"kiro-cli chat --agent skill\", or copy its \"hooks\" into another's file"},
	{Host: "gemini-cli", Title: "Gemini CLI", File: ".gemini/settings.json", Group: true, Match: "*",
		Entry: geminiEntry, Tried: true,
		Calls: []string{"BeforeTool", "AfterTool"}, Ends: []string{"BeforeAgent", "SessionEnd"},
		Then:  "start gemini again; an old version also needs \"tools\": {\"enableHooks\": true}",
		Skips: "Gemini CLI calls no hooks of tools with --acp, as editors start it"},
	{Host: "opencode", Title: "opencode", Tried: true, Then: "start opencode again"},
	{Host: "kilo", Title: "Kilo", Tried: true, Then: "start kilo again"},
	{Host: "kimi-code", Title: "Kimi Code", File: ".kimi-code/config.toml", TOML: true, Tried: true,
		Entry: "command = COMMAND\ntimeout = 10\n",
		Calls: []string{"PreToolUse", "PostToolUse", "PostToolUseFailure"},
		Ends:  []string{"Stop", "Interrupt", "SessionEnd"},
		Then:  "start kimi again"},
	{Host: "droid", Title: "Droid", File: ".factory/settings.json", Group: true, Match: "*",
		Entry: claudeEntry, Tried: true,
		Calls: []string{"PreToolUse", "PostToolUse"}, Ends: []string{"Stop", "SessionEnd"},
		Then: "start droid again; /hooks lists them"},
	{Host: "cursor", Title: "Cursor", File: ".cursor/hooks.json",
		Entry: `{"command": COMMAND, "timeout": 10}`, Top: []Member{{"version", "1"}},
		Calls: []string{"preToolUse", "postToolUse", "postToolUseFailure"},
		Ends:  []string{"subagentStop", "stop", "sessionEnd"},
		Then:  "Cursor reads the file by itself"},
	{Host: "qwen-code", Title: "Qwen Code", File: ".qwen/settings.json", Group: true, Match: "*",
		Entry: geminiEntry, Tried: true,
		Calls: []string{"PreToolUse", "PostToolUse", "PostToolUseFailure"},
		Ends:  []string{"Stop", "SessionEnd"},
		Then:  "start qwen again"},
	{Host: "cline", Title: "Cline", Tried: true,
		Then: "start cline again; VS Code looks in ~/Documents/Cline/Hooks, which needs a copy"},
	{Host: "windsurf", Title: "Windsurf", File: ".codeium/windsurf/hooks.json",
		Entry: `{"command": COMMAND, "show_output": false}`,
		Calls: []string{"pre_write_code", "post_write_code", "pre_run_command", "post_run_command"},
		Then:  "start Windsurf again"},
	{Host: "goose", Title: "Goose", File: ".agents/plugins/skill/hooks/hooks.json", Own: true,
		Group: true, Match: ".*",
		Entry: `{"type": "command", "command": COMMAND, "timeout": 10, "on_failure": "allow"}`,
		Calls: []string{"PreToolUse", "PostToolUse", "PostToolUseFailure"},
		Then:  "start goose again"},
}

// SetupOf returns the setup of a host, nil for none.
func SetupOf(host string) *Setup {
	switch host {
	case "gemini", "copilot":
		host += "-cli"
	case "vscode":
		host += "-copilot"
	case "kimi", "qwen", "claude":
		host += "-code"
	}
	if i := slices.IndexFunc(Setups, func(s Setup) bool { return s.Host == host }); i >= 0 {
		return &Setups[i]
	}
	return nil
}

// quiet ends each command line: a host takes a program that is gone for one that refuses the call.
const quiet = " 2>/dev/null || true"

// Command returns the command line of the hook. program is an absolute path, and quoted for a shell as
// state is, the folder of histories; "" is the usual one.
func (s *Setup) Command(program, state string) string {
	line := program + s.words()
	if state != "" {
		line += " --state " + state
	}
	return line + quiet
}

func (s *Setup) words() string { return " hook " + cmp.Or(s.As, s.Host) }

// IsOurs reports whether a command line of the host's file is one that was set up.
func (s *Setup) IsOurs(line string) bool {
	at := strings.Index(line, s.words()+" ")
	return at > 0 && strings.HasSuffix(line, quiet) && !strings.ContainsAny(line[:at], ";&|\n")
}

// Events returns the entry of each event in the language of the file, in the order of the file.
func (s *Setup) Events(program, windows, state string) (list []Member) {
	text := func(line string) string { return string(rawjson.Encode(line)) }
	powershell := fmt.Sprintf("& \"%s\"%s 2>$null; exit 0", windows, s.words())
	lines := strings.NewReplacer("COMMAND", text(s.Command(program, state)), "POWERSHELL", text(powershell))
	entry := lines.Replace(s.Entry)
	for _, event := range append(slices.Clone(s.Calls), s.Ends...) {
		text := entry
		switch {
		case s.TOML:
			text = fmt.Sprintf("[[hooks]]\nevent = %q\n%s", event, entry)
		case s.Group && slices.Contains(s.Calls, event):
			text = fmt.Sprintf(`{"matcher": %q, "hooks": [%s]}`, s.Match, entry)
		case s.Group:
			text = fmt.Sprintf(`{"hooks": [%s]}`, entry)
		}
		list = append(list, Member{event, text})
	}
	return list
}
