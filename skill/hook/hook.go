// Package hook reads what coding agents tell their hooks before and after each call of a tool.
// Each host has a form of its own; [Read] makes one [Event] of all of them, and [Event.Tell] gives
// it to what records changes.
package hook

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"textskill/parser/rawjson"
)

// MaxPayload is how many bytes a payload may have.
const MaxPayload = 16 << 20

// A Phase says when an event comes.
type Phase string

// The phases. Before comes ahead of a call, which may be long after it; After when the call is
// answered, whether it failed or not.
const (
	Begin      Phase = "begin" // of a session
	Before     Phase = "before"
	After      Phase = "after"
	TurnEnd    Phase = "turn end"    // an agent has answered, or was interrupted
	AgentEnd   Phase = "agent end"   // the sub-agent AgentID is done
	SessionEnd Phase = "session end" // with all its agents
)

// A Kind says what a call may change.
type Kind string

// The kinds. An edit changes the files that it names, and a command any. A spawn starts a sub-agent
// whose own calls are told too, but not by which session they were started.
const (
	Edit    Kind = "edit"
	Command Kind = "command"
	Spawn   Kind = "spawn"
)

// An Event is one payload of a host.
type Event struct {
	Host    string   `json:"host"`
	Phase   Phase    `json:"phase"`
	Kind    Kind     `json:"kind,omitempty"` // "" if the event is not of a call
	Session string   `json:"session,omitempty"`
	Parent  string   `json:"parent,omitempty"`   // the session that started this one, which is a sub-agent's
	Agent   string   `json:"agent,omitempty"`    // which kind of sub-agent; "" is the session's own agent
	AgentID string   `json:"agent_id,omitempty"` // tells sub-agents of one kind apart
	Turn    string   `json:"turn,omitempty"`
	ID      string   `json:"id,omitempty"`      // of the call; "" in hosts that have none
	Tool    string   `json:"tool,omitempty"`    // as the host calls it
	Spawned []string `json:"spawned,omitempty"` // IDs in the answer of a spawn: sessions of sub-agents may be among them
	Own     string   `json:"own,omitempty"`     // the tool of this program's MCP server that Tool may mean
	Paths   []string `json:"paths,omitempty"`
	Command string   `json:"command,omitempty"`
	// the host says so; something may be changed all the same
	Failed     bool `json:"failed,omitempty"`
	Background bool `json:"background,omitempty"` // the command goes on after its answer
	// the folder of the project; a later one of a session may lie below it
	Workspace string `json:"workspace,omitempty"`
	// where relative paths begin: the current folder of the agent; "" if it is not told
	Dir   string `json:"-"`
	Named bool   `json:"-"` // the host names Workspace as that of the project
	// the file in which the host writes the session down, as it says
	Transcript string `json:"-"`
	// the host's process, "PID START" as the system gives them, and its terminal: see [Event.From]
	Process  string `json:"-"`
	Terminal string `json:"-"`
}

// A Recorder keeps what calls change.
type Recorder interface {
	Before(ctx context.Context, e Event) error // brings the paths of an edit up to date, or for a command all
	After(ctx context.Context, e Event) error  // records what differs since
	End(ctx context.Context, e Event) error    // closes the calls that are over
}

// Tell gives an event to a recorder.
func (e Event) Tell(ctx context.Context, r Recorder) error {
	switch {
	case e.Phase == Begin || e.Kind == Spawn:
		return nil
	case e.Phase == Before:
		return r.Before(ctx, e)
	case e.Phase == After:
		return r.After(ctx, e)
	}
	return r.End(ctx, e)
}

// ErrOther is the error of a payload that is about no call which may change something: a prompt, a tool that
// reads. Its event has the session and the tool.
var ErrOther = errors.New("the event is of no call that changes something")

// Read reads a payload. host is the one that was set up; a payload that another host has sent is
// read as that host's. getenv returns variables of the environment in which the hook was started.
func Read(payload []byte, host string, getenv func(name string) string) (Event, error) {
	if len(payload) > MaxPayload {
		return Event{}, errors.New("the payload is larger than 16 MiB")
	}
	raw, _, err := rawjson.Decode(string(payload))
	if err != nil {
		return Event{}, err
	}
	var p fields
	if err := json.Unmarshal(raw, &p); err != nil {
		return Event{}, errors.New("the payload is not a JSON object")
	}
	e := p.event(hostOf(p, host, getenv))
	e.Workspace, e.Named = p.workspace(getenv)
	switch e.Phase {
	case TurnEnd, SessionEnd, Begin:
		return e, nil
	case AgentEnd: // without an ID it is not known which calls are over
		if e.AgentID == "" {
			return Event{}, ErrOther
		}
		return e, nil
	}
	p.call(&e)
	if e.Phase == "" || e.Tool == "" || reads(e.Tool) && e.Kind != Spawn {
		return e, ErrOther
	}
	return e, nil
}

// event returns the event of a host, without the call that it is about.
func (p fields) event(host string) Event {
	e := Event{
		Host:  host,
		Phase: hosts[host].phase(p),
		Dir:   drive(p.text("cwd", "working_dir", "directory", "tool_info.cwd")),
		Session: p.text("session_id", "sessionId", "conversation_id", "trajectory_id",
			"sessionContext.rootSessionId", "taskId", "input.sessionID", "properties.sessionID"),
		Parent:     p.text("parentAgentId", "properties.info.parentID"),
		Transcript: drive(p.text("transcript_path", "transcriptPath")),
		Turn:       p.text("prompt_id", "turn_id", "generation_id", "execution_id"),
		ID:         p.text("tool_use_id", "tool_call_id", "tool_call.id", "tool_result.id", "input.callID"),
	}
	if host == "kimi-code" {
		e.Turn = "" // only its interrupts name one, its calls do not
	}
	if host != "cline" || p.has("parent_agent_id") {
		e.Agent = p.text("agent_type", "subagent_type", "agentType", "properties.info.agent")
		e.AgentID = p.text("agent_id", "subagent_id", "agentId")
	}
	return e
}

// call adds the call that an event is about.
func (p fields) call(e *Event) {
	e.Tool = p.text("tool_name", "toolName", "tool_call.name", "tool_result.name", "preToolUse.toolName",
		"postToolUse.toolName", "input.tool", "agent_action_name")
	if e.Host == "windsurf" { // an event is a tool there
		_, e.Tool, _ = strings.Cut(e.Tool, "_")
	}
	input, text := p.input()
	e.Paths, e.Command = pathsOf(input, text), commandOf(input)
	e.Background = input.flag("run_in_background", "is_background", "isBackground", "fireAndForget") ||
		input.text("mode") == "async" || p.text("tool_response.backgroundTaskId") != ""
	e.Failed = e.Phase == After && p.failed()
	switch e.Kind = Command; {
	case slices.Contains(hosts[e.Host].spawns, e.Tool):
		e.Kind = Spawn
		answer, _ := json.Marshal(p["tool_response"])
		e.Spawned = uuid().FindAllString(string(answer[:min(len(answer), maxAnswer)]), maxSpawned)
	case len(e.Paths) > 0 && e.Command == "" && slices.Contains(editors, e.Tool):
		e.Kind = Edit
	}
	e.Own = own(e.Tool)
}

// How much of an answer is searched for IDs, and how many are taken.
const (
	maxAnswer  = 64 << 10
	maxSpawned = 16
)

var uuid = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
})

// own returns the tool of this program's MCP server that a host's name of a tool may mean. Hosts join the
// name of the server, which setup calls skill, and the tool's: mcp__skill__write, mcp_workspace_write,
// skill_write, workspace-write, workspace__write.
func own(tool string) string {
	tool = strings.TrimPrefix(strings.TrimPrefix(tool, "mcp_"), "_")
	for _, server := range []string{"skill", "workspace"} {
		if name, ok := strings.CutPrefix(tool, server); ok && name != "" && strings.Contains("_-", name[:1]) {
			return strings.TrimPrefix(name[1:], "_")
		}
	}
	return ""
}

// fields are the members of a JSON object. A path of names, with dots, leads to inner ones.
type fields map[string]any

func (p fields) at(path string) any {
	var v any = map[string]any(p)
	for name := range strings.SplitSeq(path, ".") {
		inner, _ := v.(map[string]any)
		v = inner[name]
	}
	return v
}

// text returns the first of some members that is a text and not empty.
func (p fields) text(paths ...string) string {
	for _, path := range paths {
		if s, _ := p.at(path).(string); s != "" {
			return s
		}
	}
	return ""
}

// has reports whether one of some members is there and not null.
func (p fields) has(paths ...string) bool {
	return slices.ContainsFunc(paths, func(path string) bool { return p.at(path) != nil })
}

func (p fields) flag(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return p[name] == true })
}

// object returns a member that is an object, or a text with one.
func (p fields) object(path string) fields {
	switch v := p.at(path).(type) {
	case map[string]any:
		return v
	case string:
		var inner fields
		if json.Unmarshal([]byte(v), &inner) == nil {
			return inner
		}
	}
	return nil
}

// signs are what payloads of hosts have. A payload is from the host of the first sign that fits:
// it has all members, and the other conditions hold that are set.
var signs = []struct {
	host       string
	members    []string
	event      string // the name of the event begins with it
	transcript string // the path of the transcript has it
	variable   string // the environment has it as "1"
}{
	{host: "cursor", members: []string{"cursor_version"}},
	{host: "windsurf", members: []string{"agent_action_name"}},
	{host: "cline", members: []string{"clineVersion"}},
	{host: "vscode-copilot", members: []string{"hookEventName"}},
	{host: "copilot-cli", members: []string{"sessionId"}},
	{host: "gemini-cli", event: "BeforeTool"},
	{host: "gemini-cli", event: "AfterTool"},
	{host: "opencode", event: "tool.execute."},
	{host: "opencode", members: []string{"input.callID"}},
	{host: "opencode", members: []string{"properties.sessionID"}},
	{host: "goose", members: []string{"working_dir", "event"}},
	{host: "copilot-cli", variable: "COPILOT_CLI"},
	{host: "kimi-code", members: []string{"client_type"}},
	{host: "qwen-code", members: []string{"tool_call_id"}},
	{host: "qwen-code", transcript: "/.qwen/"},
	{host: "gemini-cli", transcript: "/.gemini/"},
	{host: "codex", members: []string{"turn_id"}},
}

// hostOf says whose payload it is. host is the one that was set up.
func hostOf(p fields, host string, getenv func(string) string) string {
	event, transcript := p.text("hook_event_name", "event", "type"), p.text("transcript_path")
	lacks := func(member string) bool { return !p.has(member) }
	for _, s := range signs {
		if strings.HasPrefix(event, s.event) && strings.Contains(transcript, s.transcript) &&
			(s.variable == "" || getenv(s.variable) == "1") && !slices.ContainsFunc(s.members, lacks) {
			if hosts[host].like == s.host {
				return host
			}
			return s.host
		}
	}
	switch {
	case strings.HasSuffix(event, "ToolUse") && lacks("session_id"):
		return "kiro"
	case hosts[host].phases == nil:
		return "claude-code"
	}
	return host
}

// A form is how a host names its events.
type form struct {
	event  []string         // where the name of the event is
	phases map[string]Phase // by that name
	bare   func(p fields) Phase
	like   string   // the host whose signs its payloads have
	spawns []string // tools of kind [Spawn]
	// the folder of the host's own files, with slashes, below the home folder; a variable may name it
	folder, variable string
}

// claude are the events of Claude Code, whose names others have taken.
var claude = map[string]Phase{
	"PreToolUse": Before, "PostToolUse": After, "PostToolUseFailure": After, "SubagentStop": AgentEnd,
	"Stop": TurnEnd, "SessionEnd": SessionEnd,
}

// with returns phases with one more, or another.
func with(phases map[string]Phase, event string, phase Phase) map[string]Phase {
	phases = maps.Clone(phases)
	phases[event] = phase
	return phases
}

var hosts = map[string]form{
	"claude-code": {event: []string{"hook_event_name"}, phases: claude,
		folder: ".claude", variable: "CLAUDE_CONFIG_DIR"},
	"codex": {event: []string{"hook_event_name"}, phases: with(claude, "Interrupt", TurnEnd),
		folder: ".codex", variable: "CODEX_HOME"},
	"qwen-code":      {event: []string{"hook_event_name"}, phases: claude, folder: ".qwen"},
	"vscode-copilot": {event: []string{"hookEventName"}, phases: claude},
	"gemini-cli": {event: []string{"hook_event_name"}, folder: ".gemini",
		phases: map[string]Phase{"BeforeTool": Before, "AfterTool": After, "SessionEnd": SessionEnd,
			"BeforeAgent": Begin}},
	"opencode": {event: []string{"event", "type"}, bare: opencode, phases: opencodeEvents},
	"kilo":     {event: []string{"event", "type"}, bare: opencode, phases: opencodeEvents, like: "opencode"},
	"copilot-cli": {event: []string{"hook_event_name"}, phases: claude, bare: copilot,
		folder: ".copilot"},
	"cline": {event: []string{"hookName"}, phases: map[string]Phase{
		"tool_call": Before, "PreToolUse": Before, "tool_result": After, "PostToolUse": After,
		"agent_end": TurnEnd, "TaskComplete": TurnEnd, "TaskCancel": TurnEnd}},
	"cursor": {event: []string{"hook_event_name"}, phases: map[string]Phase{
		"preToolUse": Before, "PreToolUse": Before, "postToolUse": After, "PostToolUse": After,
		"postToolUseFailure": After, "PostToolUseFailure": After, "stop": TurnEnd,
		"subagentStop": AgentEnd, "sessionEnd": SessionEnd}},
	"windsurf": {event: []string{"agent_action_name"}, phases: map[string]Phase{
		"pre_write_code": Before, "post_write_code": After, "pre_run_command": Before,
		"post_run_command": After}},
	"kiro": {event: []string{"hook_event_name"},
		phases: map[string]Phase{"preToolUse": Before, "postToolUse": After, "stop": TurnEnd}},
	"goose": {event: []string{"event"}, phases: claude},
	"kimi-code": {event: []string{"hook_event_name"}, phases: with(claude, "Interrupt", TurnEnd),
		spawns: []string{"Agent", "Task", "AgentSwarm"}},
	"droid": {event: []string{"hook_event_name"}, phases: claude, spawns: []string{"Task"},
		folder: ".factory"},
}

// opencodeEvents are the events that the plugin of opencode sends.
var opencodeEvents = map[string]Phase{"session.created": Begin, "tool.execute.before": Before,
	"tool.execute.after": After, "session.idle": TurnEnd}

// Folder returns the folder of a host's own files, "" if it is not known.
func Folder(host string, getenv func(string) string) string {
	h := hosts[host]
	switch dir := getenv(h.variable); {
	case h.variable != "" && dir != "":
		return dir
	case h.folder != "" && getenv("HOME") != "":
		return filepath.Join(getenv("HOME"), h.folder)
	}
	return ""
}

// Hosts returns the names of the hosts whose events are read.
func Hosts() []string { return slices.Sorted(maps.Keys(hosts)) }

func (h form) phase(p fields) Phase {
	if phase := h.phases[p.text(h.event...)]; phase != "" || h.bare == nil || p.text(h.event...) != "" {
		return phase
	}
	return h.bare(p)
}

// copilot tells the events apart that Copilot CLI does not name.
func copilot(p fields) Phase {
	switch {
	case p.has("toolName") && p.has("toolResult", "error"):
		return After
	case p.has("toolName"):
		return Before
	case p.has("stopReason"):
		return TurnEnd
	case p.has("reason"):
		return SessionEnd
	}
	return ""
}

// opencode tells a call apart from its answer, which has the arguments beside the tool.
func opencode(p fields) Phase {
	switch {
	case !p.has("input.callID"):
		return ""
	case p.has("input.args"):
		return After
	}
	return Before
}

// project are the variables in which hosts name the folder of the project. Hosts that run the hooks
// of others set theirs, too, so that their own come first.
var project = []string{"GEMINI_PROJECT_DIR", "QWEN_PROJECT_DIR", "COPILOT_PROJECT_DIR", "CLAUDE_PROJECT_DIR"}

// workspace returns the folder of the project. The current folder of an agent comes last: it is
// another one after a cd.
func (p fields) workspace(getenv func(string) string) (dir string, named bool) {
	for _, name := range project {
		if dir := getenv(name); dir != "" {
			return dir, true
		}
	}
	for _, name := range []string{"workspace_roots", "workspaceRoots"} {
		if roots, _ := p[name].([]any); len(roots) > 0 {
			if dir, _ := roots[0].(string); dir != "" {
				return drive(dir), true
			}
		}
	}
	if dir := p.text("worktree", "directory"); dir != "" && dir != "/" {
		return drive(dir), true
	}
	return drive(p.text("directory", "cwd", "working_dir", "tool_info.cwd",
		"properties.info.directory")), false
}

// drive is a path of Windows that was written as that of a URL.
func drive(path string) string {
	if len(path) > 3 && path[0] == '/' && path[2] == ':' && path[3] == '/' {
		return strings.ToUpper(path[1:2]) + ":" + strings.ReplaceAll(path[3:], "/", `\`)
	}
	return path
}

// readers are tools that change nothing, or whose calls come by themselves. A name with a * at its end
// stands for all that begin with it.
var readers = []string{
	"Read", "Glob", "Grep", "LS", "view", "read", "read_file", "read_files", "list_directory", "glob",
	"grep", "grep_search", "search_file_content", "rg",
	"search_codebase", "view_image", "fs_read", "list", "WebFetch", "WebSearch", "webfetch", "web_fetch",
	"google_web_search", "fetch_web_content", "FetchURL", "ToolSearch", "tool_search",
	"fetch_copilot_cli_documentation",
	"TodoWrite", "todowrite", "TodoList", "todoread", "write_todos", "update_plan", "save_memory", "mcp_tool_use",
	"update_topic", "sql", "session_store_sql", "kilo_local_recall", "link_pr", "board_*", "ReportFindings",

	"Task", "Agent", "AgentSwarm", "Workflow", "task", "agent", "invoke_agent", "spawn_agent", "wait_agent",
	"collaboration*", "team_*", "SendMessage", "ListAgents", "list_agents", "read_agent", "write_agent",
	"TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "TaskOutput", "TaskStop", "WaitFor",
	"list_bash", "read_bash", "stop_bash", "list_background_processes", "read_background_output",

	"AskUserQuestion", "ask_user_question", "ask_question", "EnterPlanMode", "ExitPlanMode", "enter_plan_mode",
	"exit_plan_mode", "activate_skill", "skill", "ScheduleWakeup", "schedule_wakeup", "CronCreate", "CronDelete",
	"CronList", "cron_*", "CreateGoal", "UpdateGoal", "GetGoal", "goal", "get_goal", "update_goal",
}

// editors are tools that change the files that they name, and no others.
var editors = []string{
	"Write", "Edit", "MultiEdit", "NotebookEdit", "write", "edit", "multiedit", "patch", "apply_patch",
	"create", "Create", "create_file", "str_replace", "notebook_edit",
	"insert", "editor", "write_file", "replace", "write_to_file", "replace_in_file", "insert_content",
	"fs_write", "fsWrite", "strReplace",
	"write_code", "insert_edit_into_file", "replace_string_in_file", "multi_replace_string_in_file",
	"developer__write", "developer__edit",
	"developer__text_editor", "str_replace_editor", "str_replace_based_edit_tool", "Delete", "delete_file",
}

// reads reports whether a tool changes nothing.
func reads(tool string) bool {
	return slices.ContainsFunc(readers, func(name string) bool {
		prefix, many := strings.CutSuffix(name, "*")
		return tool == name || many && strings.HasPrefix(tool, prefix)
	})
}

// input returns the arguments of a call: an object, or a text.
func (p fields) input() (fields, string) {
	for _, path := range []string{"tool_input", "toolArgs", "tool_call.input", "tool_result.input",
		"preToolUse.parameters", "postToolUse.parameters",
		"input.args", "output.args", "tool_info"} {
		if o := p.object(path); o != nil {
			return o, ""
		}
		if s := p.text(path); s != "" {
			return nil, s
		}
	}
	return nil, ""
}

// failed reports whether a host says that a call has failed.
func (p fields) failed() bool {
	event := p.text("hook_event_name", "hookEventName", "event")
	output, _ := p.at("tool_result.output").(map[string]any)
	return strings.HasSuffix(event, "Failure") || p.has("error", "error_message", "tool_response.error",
		"tool_result.error") || output["success"] == false ||
		p.at("tool_response.success") == false || p.at("postToolUse.success") == false ||
		p.text("toolResult.resultType") == "failure"
}

// commandOf returns what a call runs; "" if it edits.
func commandOf(input fields) string {
	for _, name := range []string{"command", "command_line", "cmd"} {
		if s := input.text(name); s != "" && !isPatch(s) &&
			!(input.has("path", "file_path") && name == "command") {
			return s
		}
	}
	list, _ := input["commands"].([]any)
	var lines []string
	for _, c := range list {
		if s, ok := c.(string); ok {
			lines = append(lines, s)
		}
	}
	return strings.Join(lines, "\n")
}

// pathNames are the arguments that name a file.
var pathNames = []string{"file_path", "filePath", "path", "absolute_path", "notebook_path"}

// pathsOf returns the files that a call names, in their order.
func pathsOf(input fields, text string) (paths []string) {
	add := func(v any) {
		if s, _ := v.(string); s != "" && !slices.Contains(paths, drive(s)) {
			paths = append(paths, drive(s))
		}
	}
	for _, name := range pathNames {
		add(input[name])
	}
	for _, name := range []string{"files", "edits"} {
		list, _ := input[name].([]any)
		for _, v := range list {
			add(v)
			if inner, ok := v.(map[string]any); ok {
				add(inner["file_path"])
				add(inner["path"])
			}
		}
	}
	for _, s := range []string{text, input.text("command"), input.text("patchText"), input.text("input"),
		input.text("patch")} {
		if isPatch(s) || heredoc().MatchString(s) {
			for _, m := range patchHead().FindAllStringSubmatch(s, -1) {
				add(strings.TrimSpace(m[1]))
			}
		}
	}
	return paths
}

func isPatch(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), "*** Begin Patch") }

var (
	heredoc   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bapply_patch\b[^\n]*<<`) })
	patchHead = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$`)
	})
)
