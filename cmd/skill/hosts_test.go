package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A hostCall is a call of a tool of a host, made by the scripted model.
type hostCall struct {
	name string
	args map[string]any
}

// A hostModel answers requests that offer tools with the next calls of a script, in the form of the endpoint
// that is asked.
type hostModel struct {
	mu    sync.Mutex
	turns [][]hostCall
	n     int
}

func (m *hostModel) next(body []byte) (calls []hostCall, n int) {
	var b struct{ Tools []any }
	if json.Unmarshal(body, &b) != nil || len(b.Tools) == 0 {
		return nil, 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.n++; m.n <= len(m.turns) {
		calls = m.turns[m.n-1]
	}
	return calls, m.n
}

type object = map[string]any

func (m *hostModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var request struct{ Stream bool }
	json.Unmarshal(body, &request)
	path := r.URL.Path
	var events []object
	switch {
	case strings.HasSuffix(path, "/count_tokens"), strings.HasSuffix(path, ":countTokens"):
		json.NewEncoder(w).Encode(object{"input_tokens": 10, "totalTokens": 10})
		return
	case strings.HasSuffix(path, "/messages"):
		events = m.anthropic(body)
	case strings.HasSuffix(path, "/responses"):
		events = m.responses(body)
	case strings.HasSuffix(path, "/chat/completions"):
		events = m.chat(body)
	case strings.Contains(path, "enerateContent"):
		events = m.gemini(body)
		request.Stream = strings.Contains(path, "stream")
	default:
		http.Error(w, "{}", http.StatusNotFound)
		return
	}
	if !request.Stream {
		json.NewEncoder(w).Encode(events[0]["whole"])
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events[1:] {
		data, _ := json.Marshal(e)
		if name, ok := e["type"]; ok {
			fmt.Fprintf(w, "event: %s\n", name)
		}
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
	if strings.HasSuffix(path, "/chat/completions") {
		io.WriteString(w, "data: [DONE]\n\n")
	}
}

// Each form returns what is sent whole, and then the events of a stream.

func (m *hostModel) anthropic(body []byte) []object {
	calls, n := m.next(body)
	stop, blocks := "tool_use", []object{}
	for i, c := range calls {
		blocks = append(blocks, object{"type": "tool_use", "id": fmt.Sprintf("toolu_%02d%02d", n, i),
			"name": c.name, "input": c.args})
	}
	if len(calls) == 0 {
		stop, blocks = "end_turn", []object{{"type": "text", "text": "done"}}
	}
	usage := object{"input_tokens": 10, "output_tokens": 10}
	message := func(content []object, stop any) object {
		return object{"id": "msg_1", "type": "message", "role": "assistant", "model": "fake",
			"content": content, "stop_reason": stop, "stop_sequence": nil, "usage": usage}
	}
	events := []object{{"whole": message(blocks, stop)},
		{"type": "message_start", "message": message([]object{}, nil)}}
	for i, b := range blocks {
		start, delta := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": b["text"]}
		if b["type"] == "tool_use" {
			args, _ := json.Marshal(b["input"])
			start = object{"type": "tool_use", "id": b["id"], "name": b["name"], "input": object{}}
			delta = object{"type": "input_json_delta", "partial_json": string(args)}
		}
		events = append(events, object{"type": "content_block_start", "index": i, "content_block": start},
			object{"type": "content_block_delta", "index": i, "delta": delta},
			object{"type": "content_block_stop", "index": i})
	}
	return append(events, object{"type": "message_delta",
		"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": 10}},
		object{"type": "message_stop"})
}

func (m *hostModel) responses(body []byte) []object {
	calls, n := m.next(body)
	items := []object{}
	for i, c := range calls {
		args, _ := json.Marshal(c.args)
		id := fmt.Sprintf("call_%02d%02d", n, i)
		items = append(items, object{"type": "function_call", "id": "fc_" + id, "call_id": id, "name": c.name,
			"arguments": string(args), "status": "completed"})
	}
	if len(calls) == 0 {
		items = append(items, object{"type": "message", "id": "msg_1", "role": "assistant",
			"status": "completed", "content": []object{{"type": "output_text", "text": "done",
				"annotations": []object{}}}})
	}
	usage := object{"input_tokens": 10, "input_tokens_details": object{"cached_tokens": 0},
		"output_tokens": 10, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 20}
	whole := object{"id": "resp_1", "object": "response", "model": "fake", "status": "completed",
		"output": items, "usage": usage}
	events := []object{{"whole": whole},
		{"type": "response.created", "response": object{"id": "resp_1", "object": "response", "model": "fake",
			"status": "in_progress", "output": []object{}}}}
	for i, item := range items {
		events = append(events, object{"type": "response.output_item.added", "output_index": i, "item": item},
			object{"type": "response.output_item.done", "output_index": i, "item": item})
	}
	return append(events, object{"type": "response.completed", "response": whole})
}

func (m *hostModel) chat(body []byte) []object {
	calls, n := m.next(body)
	message, reason := object{"role": "assistant", "content": "done"}, "stop"
	if len(calls) > 0 {
		var list []object
		for i, c := range calls {
			args, _ := json.Marshal(c.args)
			list = append(list, object{"index": i, "id": fmt.Sprintf("call_%02d%02d", n, i),
				"type": "function", "function": object{"name": c.name, "arguments": string(args)}})
		}
		message, reason = object{"role": "assistant", "content": nil, "tool_calls": list}, "tool_calls"
	}
	part := func(kind string, choice object) object {
		return object{"id": "c1", "object": kind, "created": 1, "model": "fake", "choices": []object{choice},
			"usage": object{"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}}
	}
	return []object{{"whole": part("chat.completion",
		object{"index": 0, "message": message, "finish_reason": reason})},
		part("chat.completion.chunk", object{"index": 0, "delta": message, "finish_reason": nil}),
		part("chat.completion.chunk", object{"index": 0, "delta": object{}, "finish_reason": reason})}
}

func (m *hostModel) gemini(body []byte) []object {
	calls, _ := m.next(body)
	parts := []object{}
	for _, c := range calls {
		parts = append(parts, object{"functionCall": object{"name": c.name, "args": c.args}})
	}
	if len(calls) == 0 {
		parts = append(parts, object{"text": "done"})
	}
	whole := object{"candidates": []object{{"content": object{"role": "model", "parts": parts},
		"finishReason": "STOP", "index": 0}},
		"usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20},
		"modelVersion":  "fake"}
	return []object{{"whole": whole}, whole}
}

// realHosts say how the hosts are started, with the scripted model at an address, and what it has them do.
var realHosts = map[string]struct {
	program string
	args    []string
	env     []string // ADDRESS stands for that of the model
	file    string   // of the configuration, below the home folder
	text    string
	turns   string // a line for each turn: NAME JSON, with a tab between calls; ROOT stands for the folder
}{
	"claude-code": {"claude", []string{"-p", "go", "--allowedTools", "Bash,Edit,Write,Read",
		"--permission-mode", "acceptEdits"},
		[]string{"ANTHROPIC_BASE_URL=ADDRESS", "ANTHROPIC_API_KEY=sk-ant-fake", "DISABLE_AUTOUPDATER=1",
			"DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}, "", "",
		`Write {"file_path":"ROOT/n.txt","content":"new"}
Read {"file_path":"ROOT/a.txt"}
Edit {"file_path":"ROOT/a.txt","old_string":"first","new_string":"FIRST"}	Bash {"command":"sleep 0.5; echo 1 > p1; rm -r keep","description":"x"}	Bash {"command":"sleep 1; echo 2 > p2","description":"y"}
Bash {"command":"echo 3 > p3; exit 3","description":"z"}
Edit {"file_path":"ROOT/a.txt","old_string":"not there","new_string":"x"}`},
	"codex": {"codex", []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "go"},
		[]string{"FAKE_KEY=x", "SHELL=/bin/bash"}, ".codex/config.toml",
		"model = \"fake\"\nmodel_provider = \"fake\"\napproval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n[model_providers.fake]\nname = \"fake\"\nbase_url = \"ADDRESS/v1\"\nwire_api = \"responses\"\nenv_key = \"FAKE_KEY\"\n",
		`exec_command {"cmd":"sleep 0.5; echo 1 > p1; rm -r keep"}	exec_command {"cmd":"sleep 1; echo 2 > p2"}
exec_command {"cmd":"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: h.txt\n+hi\n*** End Patch\nEOF"}
exec_command {"cmd":"echo 3 > p3; exit 3"}`},
	"gemini-cli": {"gemini", []string{"-m", "gemini-2.5-pro", "--yolo", "-p", "go"},
		[]string{"GEMINI_API_KEY=x", "GOOGLE_GEMINI_BASE_URL=ADDRESS", "GEMINI_CLI_TRUST_WORKSPACE=true"},
		".gemini/settings.json", `{"security": {"auth": {"selectedType": "gemini-api-key"}}}`,
		`write_file {"file_path":"ROOT/n.txt","content":"new"}
replace {"file_path":"ROOT/a.txt","old_string":"first","new_string":"FIRST","instruction":"x"}
run_shell_command {"command":"sleep 0.5; echo 1 > p1; rm -r keep"}	run_shell_command {"command":"sleep 1; echo 2 > p2"}
run_shell_command {"command":"echo 3 > p3; exit 3"}`},
	"opencode": {"opencode", []string{"run", "go"}, []string{"OPENCODE_DISABLE_AUTOUPDATE=1"},
		".config/opencode/opencode.json",
		`{"model":"fake/fake","provider":{"fake":{"npm":"@ai-sdk/openai-compatible","name":"fake","options":{"baseURL":"ADDRESS/v1","apiKey":"x"},"models":{"fake":{"name":"fake","tool_call":true}}}},"autoupdate":false,"permission":{"edit":"allow","bash":"allow"}}`,
		`write {"filePath":"ROOT/n.txt","content":"new"}
read {"filePath":"ROOT/a.txt"}
edit {"filePath":"ROOT/a.txt","oldString":"first","newString":"FIRST"}	bash {"command":"sleep 0.5; echo 1 > p1; rm -r keep","description":"x"}
bash {"command":"echo 3 > p3; exit 3","description":"x"}`},
	"kilo": {"kilo", []string{"run", "--auto", "go"}, nil, ".config/kilo/kilo.json",
		`{"model":"fake/fake","provider":{"fake":{"npm":"@ai-sdk/openai-compatible","name":"fake","options":{"baseURL":"ADDRESS/v1","apiKey":"x"},"models":{"fake":{"name":"fake","tool_call":true}}}},"autoupdate":false,"permission":{"edit":"allow","bash":"allow"}}`,
		`write {"filePath":"ROOT/n.txt","content":"new"}
task {"subagent_type":"general","description":"x","prompt":"go"}
bash {"command":"echo 1 > p1; rm -r keep","description":"x"}

bash {"command":"echo 3 > p3; exit 3","description":"x"}`},
	"qwen-code": {"qwen", []string{"--yolo", "--auth-type", "openai", "-m", "fake", "-p", "go"},
		[]string{"OPENAI_API_KEY=x", "OPENAI_BASE_URL=ADDRESS/v1", "OPENAI_MODEL=fake"}, "", "",
		`write_file {"file_path":"ROOT/n.txt","content":"new"}
run_shell_command {"command":"echo 1 > p1; rm -r keep","is_background":false}
run_shell_command {"command":"echo 3 > p3; exit 3","is_background":false}`},
	"copilot-cli": {"copilot", []string{"-p", "go", "--allow-all-tools"},
		[]string{"COPILOT_PROVIDER_BASE_URL=ADDRESS/v1", "COPILOT_PROVIDER_TYPE=openai", "COPILOT_MODEL=fake",
			"COPILOT_PROVIDER_API_KEY=x", "COPILOT_OFFLINE=true"}, "", "",
		`create {"path":"ROOT/n.txt","file_text":"new"}
edit {"path":"ROOT/a.txt","old_str":"first","new_str":"FIRST"}
bash {"command":"sleep 0.5; echo 1 > p1; rm -r keep","description":"x"}	bash {"command":"echo 2 > p2","description":"y"}
bash {"command":"echo 3 > p3; exit 3","description":"z"}`},
	"droid": {"droid", []string{"exec", "--auto", "high", "-m", "custom:fake-0", "go"},
		[]string{"FACTORY_API_KEY=fk-fake"}, ".factory/settings.json",
		`{"customModels":[{"model":"fake","displayName":"fake","baseUrl":"ADDRESS/v1","apiKey":"x","provider":"generic-chat-completion-api","maxOutputTokens":1000}]}`,
		`Create {"file_path":"ROOT/n.txt","content":"new"}
Execute {"command":"echo 1 > p1; rm -r keep","summary":"x","timeout":10,"riskLevel":"low","riskLevelReason":"x"}
Execute {"command":"echo 3 > p3; exit 3","summary":"x","timeout":10,"riskLevel":"low","riskLevelReason":"x"}`},
	"kimi-code": {"kimi", []string{"-p", "go"}, nil, ".kimi-code/config.toml",
		"default_model = \"fake\"\n[providers.fake]\ntype = \"openai\"\nbase_url = \"ADDRESS/v1\"\napi_key = \"x\"\n[models.fake]\nprovider = \"fake\"\nmodel = \"fake\"\nmax_context_size = 100000\n",
		`Write {"path":"ROOT/n.txt","content":"new"}
Agent {"description":"x","prompt":"go"}
Bash {"command":"echo 1 > p1; rm -r keep"}

Bash {"command":"echo 3 > p3; exit 3"}`},
	"cline": {"cline", []string{"--auto-approve", "true", "do it"},
		[]string{"CLINE_SESSION_BACKEND_MODE=local"}, ".cline/data/settings/providers.json",
		`{"version":1,"lastUsedProvider":"openai-compatible","modes":{},"providers":{"openai-compatible":{"settings":{"provider":"openai-compatible","apiKey":"x","model":"fake","baseUrl":"ADDRESS/v1"},"updatedAt":"2026-01-02T03:04:05Z","tokenSource":"manual"}}}`,
		`editor {"path":"ROOT/n.txt","new_text":"new"}
editor {"path":"ROOT/a.txt","old_text":"first","new_text":"FIRST"}	run_commands {"commands":["echo 1 > p1; rm -r keep"]}
run_commands {"commands":["echo 3 > p3; exit 3"]}`},
}

// A drivenHost is a host that is set up, with a scripted model on this machine.
type drivenHost struct {
	*hookedFolder
	self   string // the program that the host calls
	before string // the folder
	cmd    *exec.Cmd
	out    bytes.Buffer
}

// newDrivenHost sets a host up as npm gives it. SKILL_TEST_HOSTS names the folder with the programs, and -run
// the hosts that it has. Without turns or arguments, realHosts gives them.
func newDrivenHost(t *testing.T, name, turns string, args ...string) *drivenHost {
	t.Helper()
	programs := os.Getenv("SKILL_TEST_HOSTS")
	if programs == "" {
		t.Skip("SKILL_TEST_HOSTS names no folder with programs of hosts")
	}
	h := realHosts[name]
	program := filepath.Join(programs, h.program)
	if _, err := os.Stat(program); err != nil {
		t.Fatal(err)
	}
	f := newHookedFolder(t)
	model := &hostModel{turns: hostTurns(t, strings.ReplaceAll(cmp.Or(turns, h.turns), "ROOT", f.dir))}
	server := httptest.NewServer(model)
	t.Cleanup(server.Close)
	home := os.Getenv("HOME")
	if h.file != "" {
		file := filepath.Join(home, h.file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(h.text, "ADDRESS", server.URL)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	self := filepath.Join(t.TempDir(), "skill") // the test's program is skill under that name
	own, err := os.Executable()
	if err == nil {
		err = os.Symlink(own, self)
	}
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + programs + ":/usr/local/bin:/usr/bin:/bin", "TERM=dumb", "HOME=" + home,
		"XDG_STATE_HOME=" + os.Getenv("XDG_STATE_HOME")}
	setup := exec.Command(own, "setup", name, "--hooks")
	setup.Args[0], setup.Env = "skill", env
	if out, err := setup.CombinedOutput(); err != nil {
		t.Fatalf("setup: %v %s", err, out)
	}
	asSkill(t, home, own, self)
	if args == nil {
		args = h.args
	}
	d := &drivenHost{hookedFolder: f, self: self, before: f.tree(), cmd: exec.CommandContext(t.Context(), program, args...)}
	d.cmd.Dir, d.cmd.WaitDelay = f.dir, time.Second
	d.cmd.Env = append(env, strings.Split(strings.ReplaceAll(strings.Join(h.env, "\n"), "ADDRESS",
		server.URL), "\n")...)
	d.cmd.Stdout, d.cmd.Stderr = &d.out, &d.out
	stop := time.AfterFunc(90*time.Second, func() {
		if d.cmd.Process != nil {
			d.cmd.Process.Kill()
		}
	})
	t.Cleanup(func() { stop.Stop() })
	return d
}

// hostTurns reads a script: a line for each turn, with a tab between calls. A turn without calls is an answer.
func hostTurns(t *testing.T, script string) (turns [][]hostCall) {
	t.Helper()
	for line := range strings.Lines(script) {
		var calls []hostCall
		for call := range strings.SplitSeq(strings.TrimSpace(line), "\t") {
			tool, text, ok := strings.Cut(call, " ")
			if !ok {
				continue
			}
			c := hostCall{name: tool}
			if err := json.Unmarshal([]byte(text), &c.args); err != nil {
				t.Fatalf("%s: %v", call, err)
			}
			calls = append(calls, c)
		}
		turns = append(turns, calls)
	}
	return turns
}

// session returns the first session that the history names.
func (d *drivenHost) session() string {
	_, session, _ := strings.Cut(d.history(), ", session ")
	return session[:strings.IndexAny(session+")", ",)")]
}

// await waits for a file.
func (d *drivenHost) await(name string) {
	d.Helper()
	for range 600 {
		if _, err := os.Stat(filepath.Join(d.dir, name)); err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	d.cmd.Process.Kill()
	d.cmd.Wait()
	d.Fatalf("there is no %s\n%s", name, d.out.String())
}

// TestRealHosts drives the hosts themselves, and takes back all that they did.
func TestRealHosts(t *testing.T) {
	for name, h := range realHosts {
		t.Run(name, func(t *testing.T) {
			d := newDrivenHost(t, name, "")
			err := d.cmd.Run()
			if err != nil || d.tree() == d.before {
				t.Fatalf("%s ended with %v, and the folder is\n%s\n%s", h.program, err, d.tree(), d.out.String())
			}
			history := d.history()
			t.Log("the history is\n" + history)
			undone, code := d.run("", "undo", "-C", d.dir, "--run", d.session())
			if now := d.tree(); now != d.before || code != 0 {
				t.Errorf("undo ended with %d: %s\nnow\n%s\n%s", code, undone, now, d.out.String())
			}
		})
	}
}

// TestRealSubAgents takes back what sub-agents did with their session, and leaves the user's work.
func TestRealSubAgents(t *testing.T) {
	for name, turns := range map[string]string{
		"copilot-cli": `task {"agent_type":"general-purpose","description":"x","prompt":"go","name":"sub"}
create {"path":"ROOT/s.txt","file_text":"sub"}	bash {"command":"echo 1 > s1; rm -r keep","description":"x"}

create {"path":"ROOT/m.txt","file_text":"main"}`,
		"opencode": `task {"subagent_type":"general","description":"x","prompt":"go"}
write {"filePath":"ROOT/s.txt","content":"sub"}
bash {"command":"echo 1 > s1; rm -r keep","description":"x"}

write {"filePath":"ROOT/m.txt","content":"main"}`,
	} {
		t.Run(name, func(t *testing.T) {
			d := newDrivenHost(t, name, turns)
			err := d.cmd.Run()
			history := d.history()
			for _, file := range []string{"s.txt", "s1", "m.txt"} {
				if !strings.Contains(d.tree(), file) {
					t.Fatalf("%s: %v: there is no %s\n%s\n%s", name, err, file, history, d.out.String())
				}
			}
			if !strings.Contains(history, name+"/general") {
				t.Errorf("the history names no sub-agent:\n%s", history)
			}
			d.write("mine.txt", "mine")
			undone, code := d.run("", "undo", "-C", d.dir, "--run", d.session())
			left := d.tree()
			os.Remove(filepath.Join(d.dir, "mine.txt"))
			if !strings.Contains(left, "mine.txt") || d.tree() != d.before || code != 0 {
				t.Errorf("undo ended with %d: %s\nleft\n%s\nhistory\n%s", code, undone, left, history)
			}
		})
	}
}

// TestRealServer takes back what the tools of this program's MCP server did for a session.
func TestRealServer(t *testing.T) {
	t.Run("claude-code", func(t *testing.T) {
		d := newDrivenHost(t, "claude-code", `Write {"file_path":"ROOT/n.txt","content":"new"}
mcp__skill__write {"path":"own.txt","content":"own"}
Bash {"command":"echo 1 > p1","description":"x"}`,
			"-p", "go", "--allowedTools", "Bash,Write,mcp__skill__write", "--permission-mode", "acceptEdits")
		if out, code := d.run("", "setup", "claude-code"); code != 0 {
			t.Fatal(out)
		}
		own, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		asSkill(t, os.Getenv("HOME"), own, d.self)
		err = d.cmd.Run()
		history := d.history()
		for _, file := range []string{"n.txt", "own.txt", "p1"} {
			if !strings.Contains(d.tree(), file) {
				t.Fatalf("%v: there is no %s\n%s\n%s", err, file, history, d.out.String())
			}
		}
		undone, code := d.run("", "undo", "-C", d.dir, "--run", d.session())
		if now := d.tree(); now != d.before || code != 0 {
			t.Errorf("undo ended with %d: %s\nnow\n%s\nhistory\n%s", code, undone, now, history)
		}
	})
}

// TestRealInterrupt cuts a command off. An undo leaves what the user writes after that.
func TestRealInterrupt(t *testing.T) {
	const command = `echo 1 > started; sleep 20; echo late > late.txt`
	mine := func(d *drivenHost) {
		d.write("mine.txt", "mine")
		d.write("a.txt", "first\nmine\n")
	}
	check := func(d *drivenHost, args ...string) {
		history := d.history()
		out, code := d.run("", append([]string{"undo", "-C", d.dir}, args...)...)
		tree := d.tree()
		d.Logf("undo %v ended with %d: %s\nhistory\n%s\nleft\n%s", args, code, out, history, tree)
		if !strings.Contains(tree, `mine.txt ---------- "mine"`) || !strings.Contains(tree, `"first\nmine\n"`) {
			d.Error("the user's work is gone")
		}
	}
	t.Run("claude-code", func(t *testing.T) {
		d := newDrivenHost(t, "claude-code", `Bash {"command":"`+command+`","description":"x"}
Bash {"command":"echo 2 > second.txt","description":"y"}`,
			"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash")
		in, err := d.cmd.StdinPipe()
		if err == nil {
			err = d.cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		say := func(line string) { io.WriteString(in, line+"\n") }
		say(`{"type":"user","message":{"role":"user","content":"go"}}`)
		d.await("started")
		say(`{"type":"control_request","request_id":"1","request":{"subtype":"interrupt"}}`)
		time.Sleep(2 * time.Second)
		mine(d)
		check(d)
		say(`{"type":"user","message":{"role":"user","content":"go on"}}`)
		d.await("second.txt")
		time.Sleep(2 * time.Second)
		check(d)
		check(d, "--run", d.session())
		in.Close()
		d.cmd.Wait()
		check(d)
	})
	t.Run("codex", func(t *testing.T) {
		d := newDrivenHost(t, "codex", `exec_command {"cmd":"`+command+`"}`)
		if err := d.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		d.await("started")
		d.cmd.Process.Signal(os.Interrupt)
		d.cmd.Wait()
		mine(d)
		check(d)
		check(d, "--run", d.session())
	})
}

// asSkill has the files of a host start the test's program by a link whose name makes it skill.
func asSkill(t *testing.T, home, own, link string) {
	t.Helper()
	filepath.WalkDir(home, func(name string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(name)
		if err == nil && bytes.Contains(data, []byte(own)) {
			err = os.WriteFile(name, bytes.ReplaceAll(data, []byte(own), []byte(link)), 0o755)
		}
		return err
	})
}
