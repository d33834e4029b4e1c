package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// event tells a host's hook of an event with the given members of the payload.
func (f *hookedFolder) event(host, format string, args ...any) {
	f.Helper()
	f.tell(host, "{"+fmt.Sprintf(format, args...)+"}")
}

// TestHookTrees takes back what sub-agents did with the session that started them.
func TestHookTrees(t *testing.T) {
	const copilotSub = `"sessionId":"sub","agentId":"sub","agentType":"general-purpose","parentAgentId":"main"`
	call := func(f *hookedFolder, host, members, file string) {
		before, after := "", ""
		path := filepath.ToSlash(filepath.Join(f.dir, file))
		switch host {
		case "copilot-cli":
			before = fmt.Sprintf(`%s,"cwd":%q,"toolName":"create","toolArgs":{"path":%q,"file_text":"x"}`, members, f.dir, path)
			after = before + `,"toolResult":{"resultType":"success"}`
		case "opencode", "kilo":
			input := fmt.Sprintf(`"tool":"write","callID":"call-%s",%s`, file, members)
			before = fmt.Sprintf(`"event":"tool.execute.before","directory":%q,"input":{%s},"output":{"args":{"filePath":%q}}`, f.dir, input, path)
			after = fmt.Sprintf(`"event":"tool.execute.after","directory":%q,"input":{%s,"args":{"filePath":%q}},"output":{}`, f.dir, input, path)
		default:
			both := fmt.Sprintf(`"cwd":%q,"tool_name":"Write","tool_input":{"file_path":%q},%s`, f.dir, path, members)
			before, after = `"hook_event_name":"PreToolUse",`+both, `"hook_event_name":"PostToolUse",`+both
		}
		f.event(host, "%s", before)
		f.write(file, "x")
		f.event(host, "%s", after)
	}
	created := func(f *hookedFolder, host, id, parent string) {
		f.event(host, `"event":"session.created","directory":%q,"properties":{"sessionID":%q,"info":{"id":%q,"parentID":%q,"agent":"general"}}`,
			f.dir, id, id, parent)
	}
	for name, s := range map[string]struct {
		play func(f *hookedFolder)
		has  string
	}{
		"copilot": {func(f *hookedFolder) {
			call(f, "copilot-cli", `"sessionId":"main"`, "m.txt")
			call(f, "copilot-cli", copilotSub, "s.txt")
			call(f, "copilot-cli", `"sessionId":"deep","agentId":"deep","parentAgentId":"sub"`, "d.txt")
			f.event("copilot-cli", `%s,"cwd":%q,"stopReason":"end_turn"`, copilotSub, f.dir)
		}, "copilot-cli/general-purpose create, session main"},
		"opencode": {func(f *hookedFolder) {
			created(f, "opencode", "main", "")
			call(f, "opencode", `"sessionID":"main"`, "m.txt")
			created(f, "opencode", "sub", "main")
			call(f, "opencode", `"sessionID":"sub"`, "s.txt")
			f.event("opencode", `"event":"session.idle","directory":%q,"properties":{"sessionID":"sub"}`, f.dir)
		}, "opencode/general write, session main"},
		"kilo": {func(f *hookedFolder) {
			created(f, "kilo", "main", "")
			created(f, "kilo", "sub", "main")
			call(f, "kilo", `"sessionID":"sub"`, "s.txt")
		}, "kilo/general write, session main"},
		"droid": {func(f *hookedFolder) {
			f.event("droid", `"session_id":"main","cwd":%q,"hook_event_name":"PreToolUse","tool_name":"Task","tool_input":{}`, f.dir)
			f.event("droid", `"session_id":"main","cwd":%q,"hook_event_name":"PostToolUse","tool_name":"Task","tool_input":{},"tool_response":{"task_id":%q}`, f.dir, claudeOther)
			call(f, "droid", fmt.Sprintf(`"session_id":%q`, claudeOther), "s.txt")
			f.event("droid", `"session_id":"main","cwd":%q,"hook_event_name":"SubagentStop"`, f.dir)
		}, "droid/agent Write, session main"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newHookedFolder(t)
			if err := os.Mkdir(filepath.Join(f.dir, ".git"), 0o755); err != nil {
				t.Fatal(err)
			}
			before := f.tree()
			s.play(f)
			history := f.history()
			if !strings.Contains(history, s.has) {
				t.Errorf("the history lacks %q:\n%s", s.has, history)
			}
			out, code := f.run("", "undo", "-C", f.dir, "--run", "main")
			if now := f.tree(); now != before || code != 0 {
				t.Errorf("undo ended with %d: %s\nnow\n%s\nhistory\n%s", code, out, now, history)
			}
		})
	}
}

// TestHookApart names the session of a sub-agent that had worked before it was known who started it.
func TestHookApart(t *testing.T) {
	f := newHookedFolder(t)
	task := `"session_id":"main","cwd":%q,"tool_name":"Task","tool_input":{},"hook_event_name":`
	write := `"session_id":"` + claudeOther + `","cwd":%q,"tool_name":"Create","tool_input":{"file_path":"s.txt"},"hook_event_name":`
	f.event("droid", task+`"PreToolUse"`, f.dir)
	f.event("droid", write+`"PreToolUse"`, f.dir)
	f.write("s.txt", "x")
	f.event("droid", write+`"PostToolUse"`, f.dir)
	f.event("droid", task+`"PostToolUse","tool_response":"session `+claudeOther+`"`, f.dir)
	f.event("droid", strings.Replace(write, claudeOther, "main", 1)+`"PreToolUse"`, f.dir)
	f.write("s.txt", "y")
	f.event("droid", strings.Replace(write, claudeOther, "main", 1)+`"PostToolUse"`, f.dir)
	out, code := f.run("", "undo", "-C", f.dir, "--run", "main")
	if want := "--run " + claudeOther; code != 0 || !strings.Contains(out, want) {
		t.Errorf("undo ended with %d and does not say %q: %s", code, want, out)
	}
}

// TestHookEnds closes with an end only the calls that it is about.
func TestHookEnds(t *testing.T) {
	const (
		pre      = `"hook_event_name":"PreToolUse","session_id":"A","cwd":%q,"tool_name":"Bash","tool_input":{"command":"make"},`
		post     = `"hook_event_name":"PostToolUse","session_id":"A","cwd":%q,"tool_name":"Bash","tool_input":{"command":"make"},`
		sub      = `"agent_id":"sub1","agent_type":"general-purpose",`
		use      = `"tool_use_id":"t1","prompt_id":"p1"`
		kimi     = `"client_type":"kimi_code_cli","tool_call_id":"t1"`
		stop     = `"hook_event_name":"Stop","session_id":"A","cwd":%q,"prompt_id":"p1"`
		subStop  = `"hook_event_name":"SubagentStop","session_id":"A","cwd":%q`
		startSub = `"hook_event_name":"PreToolUse","session_id":"A","cwd":%q,"tool_name":"Agent","tool_input":{},"client_type":"kimi_code_cli","tool_call_id":"t0"`
	)
	for name, s := range map[string]struct {
		host   string
		events []string // the files b1.txt and b2.txt appear before and after the last but one
	}{
		"the main agent stops beside a sub-agent": {"claude-code", []string{pre + sub + use, stop, post + sub + use}},
		"a sub-agent without an ID stops":         {"droid", []string{pre + use, subStop, post + use}},
		"another sub-agent stops": {"claude-code", []string{pre + sub + use, subStop + `,"agent_id":"sub2"`,
			post + sub + use}},
		"a sub-agent's stop has the session's ID": {"kimi-code", []string{pre + kimi, startSub, stop, post + kimi}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newHookedFolder(t)
			before := f.tree()
			for i, e := range s.events {
				switch i {
				case len(s.events) - 2:
					f.write("b1.txt", "one")
				case len(s.events) - 1:
					f.write("b2.txt", "two")
					os.Remove(filepath.Join(f.dir, "a.txt"))
				}
				f.event(s.host, e, f.dir)
			}
			history := f.history()
			if n := strings.Count(history, "\n"); n != 1 || strings.Contains(history, "not told") {
				t.Errorf("the history has %d lines:\n%s", n, history)
			}
			out, code := f.run("", "undo", "-C", f.dir, "--run", "A")
			if now := f.tree(); now != before || code != 0 {
				t.Errorf("undo ended with %d: %s\nnow\n%s", code, out, now)
			}
		})
	}
}

// TestHookPlaces records a call in the workspace of the agent's folder.
func TestHookPlaces(t *testing.T) {
	f := newHookedFolder(t)
	a, b := filepath.Join(f.dir, "a"), filepath.Join(f.dir, "b")
	for _, dir := range []string{a, b, filepath.Join(a, "sub")} {
		if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	call := func(cwd, file string) {
		n++
		for _, event := range []string{"PreToolUse", "PostToolUse"} {
			f.event("codex", `"session_id":"S","turn_id":"t","cwd":%q,"hook_event_name":%q,"tool_name":"Bash","tool_input":{"command":"make"},"tool_use_id":"%d"`,
				cwd, event, n)
			if event == "PreToolUse" {
				f.write(file, "x")
			}
		}
	}
	call(a, "a/1.txt")
	call(filepath.Join(a, "sub"), "a/sub/2.txt") // after a cd
	call(b, "b/3.txt")                           // the session goes on elsewhere
	for dir, files := range map[string][]string{a: {"1.txt", "2.txt"}, b: {"3.txt"}} {
		out, _ := f.run("", "history", "-C", dir)
		for _, file := range files {
			if !strings.Contains(out, file) {
				t.Errorf("the history of %s lacks %s:\n%s", dir, file, out)
			}
		}
		other := strings.Replace(a+b, dir, "", 1)
		if want := "history -C " + other + " --run S"; !strings.Contains(out, want) {
			t.Errorf("the history of %s does not say %q:\n%s", dir, want, out)
		}
		out, code := f.run("", "undo", "--run", "S", "-C", dir)
		if want := "undo -C " + other + " --run S"; code != 0 || !strings.Contains(out, want) {
			t.Errorf("undo in %s ended with %d and does not say %q:\n%s", dir, code, want, out)
		}
	}
	if out, code := f.run("", "undo", "--run", "S", "-C", filepath.Join(f.dir, "keep")); code == 0 ||
		!strings.Contains(out, "undo -C "+a+" --run S") {
		t.Errorf("undo in another folder ended with %d: %s", code, out)
	}
}

// TestHookHome does not take the home folder as a workspace, however HOME names it.
func TestHookHome(t *testing.T) {
	for _, name := range []string{"", "/", "link"} {
		f := newHookedFolder(t)
		home := filepath.Join(f.dir, "home")
		proj := filepath.Join(home, "proj")
		for _, dir := range []string{filepath.Join(home, ".git"), proj} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		value := home + name
		if name == "link" {
			value = filepath.Join(f.dir, "link")
			if err := os.Symlink(home, value); err != nil {
				t.Skip(err)
			}
		}
		t.Setenv("HOME", value)
		f.event("codex", `"session_id":"S","turn_id":"t","cwd":%q,"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"make"},"tool_use_id":"1"`, proj)
		if out, _ := f.run("", "doctor", "-C", proj); !strings.Contains(out, "before Bash in "+proj) {
			t.Errorf("HOME=%s: %s", value, out)
		}
	}
}

// TestHookSilent says which sessions called no hooks although they are set up.
func TestHookSilent(t *testing.T) {
	const id = "3e4434e3-da9d-46cf-960f-05d3331e0d14"
	f := newHookedFolder(t)
	says := func(when, want string) {
		t.Helper()
		for _, command := range []string{"doctor", "history"} {
			out, _ := f.run("", command, "-C", f.dir)
			if said := strings.Contains(out, "told of no call"); said != (want != "") || !strings.Contains(out, want) {
				t.Errorf("%s: %s does not say %q:\n%s", when, command, want, out)
			}
		}
	}
	transcript := filepath.Join(os.Getenv("HOME"), ".claude", "projects", "p", id+".jsonl")
	write := func(text string) {
		if err := os.MkdirAll(filepath.Dir(transcript), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(transcript, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		later := time.Now().Add(time.Minute)
		if err := os.Chtimes(transcript, later, later); err != nil {
			t.Fatal(err)
		}
	}
	write(fmt.Sprintf(`{"cwd":%q,"type":"tool_use"}`, f.dir))
	says("without hooks", "")
	f.run("", "setup", "claude-code", "--hooks")
	says("with --bare", "session "+id+" of Claude Code")
	write(fmt.Sprintf(`{"cwd":%q,"type":"text"}`, f.dir))
	says("after a talk", "")
	write(fmt.Sprintf(`{"cwd":%q,"type":"tool_use"}`, f.dir))
	f.event("claude-code", `"hook_event_name":"Stop","session_id":%q,"cwd":%q`, id, f.dir)
	says("after an event", "")

	f.run("", "setup", "gemini-cli", "--hooks")
	f.event("gemini-cli", `"hook_event_name":"BeforeAgent","session_id":"G","cwd":%q`, f.dir)
	says("with --acp", "session G of Gemini CLI")
	for _, event := range []string{"BeforeTool", "AfterTool"} {
		f.event("gemini-cli", `"hook_event_name":%q,"session_id":"G","cwd":%q,"tool_name":"read_file","tool_input":{"file_path":"a.txt"}`, event, f.dir)
	}
	says("after a call", "")
}

// TestHookWorktree says that the worktree of a sub-agent stays.
func TestHookWorktree(t *testing.T) {
	f := newHookedFolder(t)
	f.write(".git/HEAD", "ref: refs/heads/main")
	f.write(".claude/worktrees/agent-1/.git", "gitdir: ../../../.git/worktrees/agent-1")
	dir := filepath.Join(f.dir, ".claude", "worktrees", "agent-1")
	t.Setenv("CLAUDE_PROJECT_DIR", f.dir)
	for _, event := range []string{"PreToolUse", "PostToolUse"} {
		f.event("claude-code", `"hook_event_name":%q,"session_id":"B","cwd":%q,"tool_name":"Bash","tool_input":{"command":"make"},"tool_use_id":"2"`, event, dir)
		f.write(".claude/worktrees/agent-1/t.txt", "x")
	}
	out, code := f.run("", "undo", "-C", f.dir, "--run", "B")
	if want := "git worktree remove --force " + dir; code != 0 || !strings.Contains(out, want) {
		t.Errorf("undo ended with %d and does not say %q: %s", code, want, out)
	}
}

// TestHookCommitsOutside says that undo leaves the commits of a call in a linked worktree or a submodule, which lie
// in a repository outside the workspace.
func TestHookCommitsOutside(t *testing.T) {
	for name, commits := range map[string]bool{"commits": true, "changes a file": false} {
		f := newHookedFolder(t)
		git := t.TempDir()
		log := filepath.Join(git, "logs", "HEAD")
		if err := errors.Join(os.Mkdir(filepath.Dir(log), 0o755), os.WriteFile(log, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
		f.write(".git", "gitdir: "+git+"\n")
		time.Sleep(20 * time.Millisecond) // the clock of a file system moves in steps
		for _, event := range []string{"PreToolUse", "PostToolUse"} {
			f.event("claude-code", `"hook_event_name":%q,"session_id":"B","cwd":%q,"tool_name":"Bash","tool_input":{"command":"make"},"tool_use_id":"2"`, event, f.dir)
			if event == "PreToolUse" {
				time.Sleep(20 * time.Millisecond)
				f.write("t.txt", "x")
			}
			if event == "PreToolUse" && commits {
				if err := os.WriteFile(log, []byte("0 1 a\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
		out, code := f.run("", "undo", "-C", f.dir)
		if says := strings.Contains(out, git+": its commits are not recorded"); code != 0 || says != commits {
			t.Errorf("a call that %s: undo ended with %d: %s", name, code, out)
		}
	}
}
