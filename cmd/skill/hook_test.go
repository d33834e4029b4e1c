package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"textskill/skill/hook"
	"textskill/testdata/needs"
)

// A hookedFolder is a folder in which an agent works that tells the hook of its calls.
type hookedFolder struct {
	*testing.T
	dir   string
	flags []string
}

func newHookedFolder(t *testing.T) *hookedFolder {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	f := &hookedFolder{T: t, dir: t.TempDir()}
	f.write("a.txt", "first\n")
	f.write("keep/b.txt", "kept\r\n")
	return f
}

func (f *hookedFolder) write(name, text string) {
	f.Helper()
	name = filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		f.Fatal(err)
	}
}

// run runs the program, and returns what it prints.
func (f *hookedFolder) run(stdin string, args ...string) (out string, code int) {
	f.Helper()
	var both bytes.Buffer
	c := &cli{console: console{stdin: strings.NewReader(stdin), stdout: &both, stderr: &both, getenv: os.Getenv}, unlasting: true}
	code = c.run(f.Context(), args)
	return both.String(), code
}

// tell gives the hook of a host a payload.
func (f *hookedFolder) tell(host, payload string) {
	f.Helper()
	if out, code := f.run(payload, append([]string{"hook", host}, f.flags...)...); out != "" || code != 0 {
		f.Errorf("the hook of %s ended with %d and printed %q", host, code, out)
	}
}

// payload returns a payload that a host has sent, as if it had been sent from this folder. changes are pairs of texts.
func (f *hookedFolder) payload(name string, changes ...string) string {
	f.Helper()
	data, err := os.ReadFile(filepath.Join("../../testdata/conformance/hooks", name+".json"))
	if err != nil {
		f.Fatal(err)
	}
	return strings.NewReplacer(append(changes, "/home/dev/app",
		filepath.ToSlash(f.dir))...).Replace(string(data))
}

// play plays steps, a line each: "HOST/FILE" sends a payload, with "OLD=NEW" in it; "write NAME TEXT", "append NAME
// TEXT", "remove NAME" and "move NAME NAME" are what somebody does in the folder.
func (f *hookedFolder) play(steps string) {
	f.Helper()
	for line := range strings.Lines(steps) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		at := func(i int) string { return filepath.Join(f.dir, words[i]) }
		var err error
		switch words[0] {
		case "write":
			f.write(words[1], strings.Join(words[2:], " ")+"\n")
		case "append":
			old, _ := os.ReadFile(at(1))
			f.write(words[1], string(old)+strings.Join(words[2:], " ")+"\n")
		case "remove":
			err = os.RemoveAll(at(1))
		case "move":
			err = os.Rename(at(1), at(2))
		default:
			host, _, _ := strings.Cut(words[0], "/")
			var changes []string
			for _, pair := range words[1:] {
				from, to, _ := strings.Cut(pair, "=")
				changes = append(changes, from, to)
			}
			f.tell(host, f.payload(words[0], changes...))
		}
		if err != nil {
			f.Fatal(err)
		}
	}
}

// tree describes all that is in the folder.
func (f *hookedFolder) tree() string {
	f.Helper()
	var b strings.Builder
	err := filepath.WalkDir(f.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(f.dir, name)
		data, _ := os.ReadFile(name)
		fmt.Fprintf(&b, "%s %v %q\n", filepath.ToSlash(rel), d.Type(), data)
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	return b.String()
}

func (f *hookedFolder) history() string {
	f.Helper()
	out, _ := f.run("", "history", "-C", f.dir)
	return out
}

const (
	claudeSession  = "1aa802d7-104b-42e4-8275-eb62589d32fb"
	claudeOther    = "ff002054-8349-4fa2-bece-a0dd1ab28907"
	codexSession   = "01a21480-a8ce-75d3-aacf-3982c1768c72"
	codexLate      = "01a21480-c0cd-7433-b843-063d7fb07795"
	geminiSession  = "32a57e18-71b8-45ed-bc8a-717fde51e9a3"
	copilotSession = "62950231-4f1b-4f50-8326-03fe6677f58a"
	clineSession   = "1795640073893_3e8hd"
	codeSession    = "ses_deb87811bffeTBrF96y3AJgq3t"
	qwenSession    = "2b963009-3fef-4935-9179-515f23481e86"
)

// TestHookSessions plays sessions of agents with what they change in between, and takes the whole session back.
func TestHookSessions(t *testing.T) {
	const (
		bash1 = "claude-code/pre-bash-parallel-1\n"
		bash2 = "claude-code/pre-bash-parallel-2\n"
		end1  = "claude-code/post-bash-parallel-1\n"
		end2  = "claude-code/post-bash-parallel-2\n"
		stop  = "claude-code/stop\n"
	)
	for name, s := range map[string]struct {
		session, steps string
		has            []string // in the history
		changes        int      // how many lines it has; 0 is any number
	}{
		"one edit": {claudeSession,
			"claude-code/pre-write\nwrite a.txt second\nclaude-code/post-write-create\n" + stop,
			[]string{"edit ", "a.txt (claude-code Write, session " + claudeSession + ")"}, 1},
		"parallel shells": {claudeSession, bash1 + bash2 + "write x.txt 1\nremove keep\n" + end1 +
			"write y.txt 2\n" + end2 + stop, nil, 1},
		"sub-agent beside a shell": {claudeOther, "claude-code/pre-bash-parallel-1 " + claudeSession +
			"=" + claudeOther + "\nclaude-code/subagent-pre-bash toolu_010200=toolu_010201 Bash=Write command=file_path sleep_1=x\n" +
			"write sub.txt sub\nclaude-code/subagent-post-write\n" +
			"write sh.txt sh\nclaude-code/post-bash-parallel-1 " + claudeSession + "=" + claudeOther +
			"\nclaude-code/subagent-stop\n", nil, 0},
		"refused edit": {claudeSession, "claude-code/batch-edit-refused\n" + stop,
			[]string{"no changes are recorded"}, 1},
		"edit that changed nothing": {claudeSession,
			"claude-code/pre-write\nclaude-code/post-write-create\n" + stop,
			[]string{"no changes are recorded"}, 1},
		"failed command": {claudeSession,
			"claude-code/pre-bash-parallel-1 toolu_010101=toolu_010800\nappend a.txt half\nclaude-code/failure-bash\n" + stop, []string{"run sleep 1; echo hi: "}, 1},
		"two edits of one file": {claudeSession,
			"claude-code/pre-write\nwrite a.txt 2\nclaude-code/post-write-create\nclaude-code/pre-write toolu_010100=toolu_010700\nwrite a.txt 3\n" +
				"claude-code/post-write-update\n", nil, 2},
		"late writer": {claudeSession,
			"claude-code/pre-bash-parallel-1 toolu_010101=toolu_012300\nclaude-code/post-bash-background\nwrite late.txt late\n" + stop, []string{"no changes are recorded"}, 1},
		"told twice": {claudeSession, bash1 + bash1 + "write a.txt 2\n" + end1 + end1 + stop +
			stop, nil, 1},
		"after a cd": {claudeSession, bash1 + "write d/x.txt 1\n" + end1 +
			"claude-code/pre-bash-parallel-1 toolu_010101=toolu_010900 app=app/d\nwrite d/y.txt 2\nwrite z.txt 3\nclaude-code/post-bash-after-cd\n", nil, 2},
		"session that was left": {claudeSession, bash1 + "write left.txt 1\nremove a.txt\n",
			[]string{"unproven: nobody told the end of "}, 1},
		"edit that was left": {claudeSession, "claude-code/pre-write\nwrite a.txt 2\n",
			[]string{"edit ", "unproven: nobody told the end of "}, 1},
		"edit beside a new shell": {claudeSession, "claude-code/pre-write\nwrite a.txt 2\n" + bash1 +
			"write b.txt 2\nclaude-code/post-write-create\n" + end1 + stop,
			[]string{"claude-code Write", "claude-code Bash"}, 2},

		"codex: patch": {codexSession,
			"codex/pre-apply-patch\nwrite n.txt n\nwrite a.txt 2\ncodex/post-apply-patch call_0800=call_0200\ncodex/stop\n", []string{"patch "}, 1},
		"codex: moved": {codexSession,
			"codex/pre-apply-patch call_0200=call_1300 n.txt=q/b.txt\nwrite q/b.txt 2\nremove a.txt\ncodex/post-apply-patch-move\ncodex/stop\n", nil, 1},
		"codex: heredoc": {codexSession, "codex/pre-bash-heredoc-patch\nwrite h.txt hi\ncodex/stop\n",
			[]string{"run apply_patch"}, 1},
		"codex: failed patch": {codexSession,
			"codex/pre-apply-patch\ncodex/pre-bash\nwrite a.txt 2\nwrite d/x x\ncodex/post-bash\ncodex/stop\n", nil, 0},
		"codex: parallel": {codexSession,
			"codex/pre-bash-parallel-1\ncodex/pre-bash-parallel-2\nwrite p1 1\ncodex/post-bash-parallel-2\nwrite p2 2\ncodex/post-bash-parallel-1\ncodex/stop\n", nil, 1},
		"codex: late": {codexLate, "codex/late-pre-bash\nwrite late.txt x\ncodex/late-post-bash\n", nil, 1},

		"gemini: edit": {geminiSession,
			"gemini-cli/before-write\nwrite a.txt 2\ngemini-cli/after-write\ngemini-cli/session-end\n",
			[]string{"gemini-cli write_file"}, 1},
		"gemini: failed": {geminiSession,
			"gemini-cli/before-write write_file=replace\ngemini-cli/after-replace-failed\ngemini-cli/session-end\n", []string{"no changes"}, 1},
		"gemini: parallel": {geminiSession,
			"gemini-cli/before-shell-parallel-1\ngemini-cli/before-shell-parallel-2\nwrite a 1\ngemini-cli/after-shell-parallel-2\nwrite b 2\ngemini-cli/after-shell-parallel-1\n", nil, 1},
		"gemini: reader": {geminiSession,
			"gemini-cli/before-grep\nwrite x.txt 1\ngemini-cli/after-grep-input-changed\nremove x.txt\n",
			[]string{"no changes"}, 1},

		"copilot: all before": {copilotSession,
			"copilot-cli/pre-create\ncopilot-cli/pre-bash-parallel-1\ncopilot-cli/pre-bash-parallel-2\nwrite a.txt 2\ncopilot-cli/post-create\nwrite x 1\n" +
				"copilot-cli/post-bash\nwrite y 2\ncopilot-cli/post-bash hi=hi2\ncopilot-cli/agent-stop\n", nil, 2},
		"copilot: failed": {copilotSession,
			"copilot-cli/pre-create create=edit\ncopilot-cli/failure-edit\ncopilot-cli/session-end\n",
			[]string{"no changes"}, 1},
		"copilot: detached": {copilotSession,
			"copilot-cli/pre-bash-parallel-1\ncopilot-cli/post-bash-async\nwrite late.txt late\ncopilot-cli/session-end\n", []string{"no changes are recorded"}, 1},
		"copilot: edit twice": {copilotSession,
			"copilot-cli/pre-create\ncopilot-cli/pre-create\nwrite a.txt 2\ncopilot-cli/post-create\nwrite a.txt 3\ncopilot-cli/post-create\ncopilot-cli/session-end\n",
			nil, 2},

		"cline: all before": {clineSession,
			"cline/pre-editor\ncline/pre-commands-1\ncline/pre-commands-2\nwrite a.txt 2\ncline/post-editor\nwrite b.txt hi\ncline/post-commands call_0102=call_0101\nwrite c.txt 1\ncline/post-commands\ncline/task-complete\n", nil, 2},

		"opencode: side by side": {codeSession,
			"opencode/before-write\nopencode/before-bash-parallel-1\nopencode/before-edit-failed\nwrite a.txt 2\nwrite x 1\nopencode/after-bash-parallel-1\nopencode/after-write\nopencode/session-idle\n", nil, 2},
		"opencode: failed": {codeSession, "opencode/before-edit-failed\nopencode/session-idle\n",
			[]string{"no changes"}, 1},

		"qwen: shell fails": {qwenSession,
			"qwen-code/pre-shell toolu_1795639699676_g1m0fc4dx=toolu_1795639703349_a4j2z8q55\nwrite a.txt 2\nqwen-code/failure-shell-exit-3\nqwen-code/stop\n", nil, 1},
		"qwen: edits": {qwenSession,
			"qwen-code/pre-write\nwrite a.txt 2\nqwen-code/post-write\nqwen-code/stop\n",
			[]string{"qwen-code write_file"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := newHookedFolder(t)
			f.flags = []string{"-C", f.dir}
			before := f.tree()
			f.play(s.steps)
			after := f.tree()
			history := f.history()
			for _, text := range s.has {
				if !strings.Contains(history, text) {
					t.Errorf("the history lacks %q:\n%s", text, history)
				}
			}
			if n := strings.Count(history, "\n"); s.changes > 0 && n != s.changes {
				t.Errorf("the history has %d lines, not %d:\n%s", n, s.changes, history)
			}
			if before == after {
				return
			}
			args := []string{"undo", "-C", f.dir, "--run", s.session}
			switch {
			case strings.Contains(history, "no changes are recorded"): // nobody's
				before = after
				if out, code := f.run("", args...); code != 1 {
					t.Errorf("undo ended with %d: %s", code, out)
				}
			case strings.Contains(history, "unproven"):
				if out, code := f.run("", args...); code != 1 || f.tree() != after {
					t.Errorf("undo ended with %d: %s", code, out)
				}
				args = append(args, "--perhaps")
			}
			if before == after {
				return
			}
			out, code := f.run("", args...)
			if now := f.tree(); now != before || code != 0 {
				t.Errorf("undo ended with %d:\n%s\nnow\n%s\nbefore\n%s\nhistory\n%s", code, out, now,
					before, history)
			}
		})
	}
}

// TestHookUser leaves to others what they change between the calls of an agent.
func TestHookUser(t *testing.T) {
	f := newHookedFolder(t)
	f.flags = []string{"-C", f.dir}
	f.play("claude-code/pre-bash-parallel-1\nwrite x.txt agent\nclaude-code/post-bash-parallel-1\nclaude-code/stop\nwrite mine.txt mine\nwrite a.txt mine\nclaude-code/pre-write\nappend a.txt agent\nclaude-code/post-write-create\n" +
		"write keep/b.txt mine\nclaude-code/pre-bash-parallel-2\nremove keep\nclaude-code/post-bash-parallel-2\nclaude-code/stop\n")
	if out, code := f.run("", "undo", "-C", f.dir, "--run", claudeSession); code != 0 {
		t.Errorf("undo ended with %d: %s", code, out)
	}
	for name, want := range map[string]string{"mine.txt": "mine\n", "a.txt": "mine\n",
		"keep/b.txt": "mine\n"} {
		if data, err := os.ReadFile(filepath.Join(f.dir, name)); string(data) != want {
			t.Errorf("%s holds %q, %v", name, data, err)
		}
	}
}

// TestHookMissed makes an entry of a call whose beginning was not told. An undo does not go past it.
func TestHookMissed(t *testing.T) {
	f := newHookedFolder(t)
	f.flags = []string{"-C", f.dir}
	f.play("claude-code/pre-bash-parallel-1\nwrite x.txt 1\nclaude-code/post-bash-parallel-1\nwrite a.txt missed\nclaude-code/post-bash-parallel-2\n")
	if h := f.history(); !strings.Contains(h, "unproven: skill was not told of it before it began") {
		t.Errorf("the history is\n%s", h)
	}
	if out, code := f.run("", "undo", "-C", f.dir); code != 1 || !strings.Contains(out, "--perhaps 2") {
		t.Errorf("undo ended with %d: %s", code, out)
	}
	if out, code := f.run("", "undo", "-C", f.dir, "--perhaps"); code != 0 {
		t.Errorf("undo --perhaps ended with %d: %s", code, out)
	}
	if data, _ := os.ReadFile(filepath.Join(f.dir, "a.txt")); string(data) != "first\n" {
		t.Errorf("a.txt holds %q", data)
	}
	f = newHookedFolder(t)
	f.flags = []string{"-C", f.dir}
	f.play("write a.txt 2\nclaude-code/post-write-create\n") // nothing is known of the folder
	if out, code := f.run("", "undo", "-C", f.dir); code == 0 ||
		!strings.Contains(out, "it is not known what it changed") {
		t.Errorf("undo ended with %d: %s", code, out)
	}
}

// TestHookHostile reads payloads that are no good, and keeps nothing of what lies outside.
func TestHookHostile(t *testing.T) {
	f := newHookedFolder(t)
	f.flags = []string{"-C", f.dir}
	outside := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(outside, []byte("kept outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	os.Symlink(outside, filepath.Join(f.dir, "link"))
	os.Symlink(filepath.Dir(outside), filepath.Join(f.dir, "folder"))
	before := f.tree()
	for _, name := range []string{outside, "link", "folder/secret.txt",
		"../" + filepath.Base(filepath.Dir(outside)) + "/secret.txt", "a.txt/..", "/", ".", "..", "\\u0000",
		".git/config", ".skill/log", strings.Repeat("x/", 5000)} {
		for _, payload := range []string{"claude-code/pre-write", "claude-code/post-write-create"} {
			f.tell("claude-code", f.payload(payload, "/home/dev/app/a.txt", name))
		}
	}
	for _, payload := range []string{"", "{", "null", "[]", strings.Repeat("[", 1<<20),
		`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"` +
			strings.Repeat("x", hook.MaxPayload) + `"}}`,
		`{"hook_event_name":"PreToolUse","session_id":"` + strings.Repeat("s", 1<<20) + `","tool_name":"` +
			strings.Repeat("t", 1<<20) + `","tool_input":{"command":"` + strings.Repeat("c", 1<<20) +
			`"},"tool_use_id":"../../../x"}`} {
		f.tell("claude-code", payload)
		f.tell("no such host", payload)
	}
	f.tell("claude-code", f.payload("claude-code/stop"))
	if now := f.tree(); now != before {
		t.Errorf("the folder was changed:\n%s", now)
	}
	filepath.WalkDir(os.Getenv("XDG_STATE_HOME"), func(name string, d fs.DirEntry, err error) error {
		if info, ierr := d.Info(); err == nil && ierr == nil && d.Type().IsRegular() {
			data, _ := os.ReadFile(name)
			if bytes.Contains(data, []byte("kept outside")) || info.Size() > 100<<10 {
				t.Errorf("%s has %d bytes, of what lies outside too", name, info.Size())
			}
		}
		return err
	})
}

// TestHookRedacts keeps no credential of a command, and no payload.
func TestHookRedacts(t *testing.T) {
	f := newHookedFolder(t)
	f.flags = []string{"-C", f.dir}
	t.Setenv("MY_API_KEY", "quite-secret-value")
	const command = `curl -H \"Authorization: Bearer abcd1234\" --password hunter22 https://u:pw12345@h/ ghp_0123456789abcdefghij API_TOKEN=tok12345 quite-secret-value`
	f.tell("claude-code", f.payload("claude-code/pre-bash-parallel-1", "sleep 1; echo hi", command))
	f.write("x.txt", "1")
	f.tell("claude-code", f.payload("claude-code/post-bash-parallel-1", "sleep 1; echo hi", command))
	history, _ := f.run("", "history", "-C", f.dir, "--json")
	if !strings.Contains(history, "curl -H") {
		t.Errorf("the history is %s", history)
	}
	filepath.WalkDir(os.Getenv("XDG_STATE_HOME"), func(name string, d fs.DirEntry, err error) error {
		data, _ := os.ReadFile(name)
		for _, secret := range []string{"abcd1234", "hunter22", "pw12345", "ghp_0123", "tok12345",
			"quite-secret"} {
			if bytes.Contains(data, []byte(secret)) || strings.Contains(history, secret) {
				t.Errorf("%s holds %s", name, secret)
			}
		}
		return err
	})
}

// TestHookAtOnce tells of ten calls of two agents at once, and leaves none open. The undo of one agent
// leaves the files of the other, and all that both may have changed.
func TestHookAtOnce(t *testing.T) {
	f := newHookedFolder(t)
	f.flags = []string{"-C", f.dir}
	f.write("new/old.txt", "")
	before := f.tree()
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			session := claudeSession
			if i%2 == 1 {
				session = claudeOther
			}
			change := []string{claudeSession, session, "toolu_010101", fmt.Sprint("toolu_", i)}
			f.tell("claude-code", f.payload("claude-code/pre-bash-parallel-1", change...))
			f.write(fmt.Sprintf("new/%d.txt", i), "x")
			f.tell("claude-code", f.payload("claude-code/post-bash-parallel-1", change...))
		})
	}
	all.Wait()
	for _, session := range []string{claudeSession, claudeOther} {
		f.tell("claude-code", f.payload("claude-code/stop", claudeSession, session))
	}
	history := f.history()
	out, code := f.run("", "undo", "-C", f.dir, "--run", claudeOther)
	for i := 0; i < 10; i += 2 {
		if _, err := os.Stat(filepath.Join(f.dir, fmt.Sprintf("new/%d.txt", i))); err != nil {
			t.Errorf("undo of the other session ended with %d and removed %d.txt: %s\nhistory\n%s", code, i, out,
				history)
		}
	}
	if out, code := f.run("", "undo", "-C", f.dir, "--since", "1", "--perhaps"); code != 0 {
		t.Errorf("undo of all ended with %d: %s", code, out)
	}
	if now := f.tree(); now != before {
		t.Errorf("now\n%s\nhistory\n%s", now, f.history())
	}
	open, err := filepath.Glob(filepath.Join(os.Getenv("XDG_STATE_HOME"), "skill", "*", "running", "*"))
	if err != nil || len(open) > 0 {
		t.Errorf("open are %v", open)
	}
}

// TestHookFolder finds the folder of a session: the one that it named first, and of a repository the top.
func TestHookFolder(t *testing.T) {
	f := newHookedFolder(t)
	if err := os.MkdirAll(filepath.Join(f.dir, "sub", "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	event := func(name, dir string) {
		f.tell("claude-code", f.payload("claude-code/"+name, `"cwd": "/home/dev/app"`,
			fmt.Sprintf(`"cwd": %q`, dir)))
	}
	event("pre-bash-parallel-1", filepath.Join(f.dir, "sub"))
	f.write("sub/x.txt", "1")
	event("post-bash-parallel-1", filepath.Join(f.dir, "sub", "deep"))
	out, _ := f.run("", "history", "-C", filepath.Join(f.dir, "sub"))
	if !strings.Contains(out, "x.txt") {
		t.Errorf("the history of sub is %s", out)
	}
	if err := os.Mkdir(filepath.Join(f.dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	session := func(name string) {
		f.tell("claude-code", f.payload("claude-code/"+name, claudeSession, claudeOther,
			`"cwd": "/home/dev/app"`, fmt.Sprintf(`"cwd": %q`, filepath.Join(f.dir, "keep"))))
	}
	session("pre-bash-parallel-1")
	f.write("y.txt", "1")
	session("post-bash-parallel-1")
	if out, _ := f.run("", "history", "-C", f.dir); !strings.Contains(out, "y.txt") {
		t.Errorf("the history of the repository is %s", out)
	}
}

// TestHookFull ends with 0 and says nothing where nothing can be written, and when standard input does not end.
func TestHookFull(t *testing.T) {
	f := newHookedFolder(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.flags = []string{"-C", f.dir, "--state", filepath.Join(file, "in a file")}
	f.play("claude-code/pre-write\nclaude-code/post-write-create\n")
	f.flags = []string{"-C", filepath.Join(f.dir, "is not there")}
	f.play("claude-code/pre-write\nclaude-code/post-write-create\n")
	in, out := io.Pipe()
	defer out.Close()
	c := &cli{console: console{stdin: in, stdout: io.Discard, stderr: io.Discard, getenv: os.Getenv}}
	if code := c.run(t.Context(), []string{"hook", "codex"}); code != 0 {
		t.Errorf("it ended with %d", code)
	}
}

// TestHookCommandLine names the program by its absolute path in each configuration, for another skill may be in PATH,
// and ends well where the program is gone.
func TestHookCommandLine(t *testing.T) {
	needs.Program(t, "sh")
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join(t.TempDir(), "no such", "skill")
	for _, s := range hook.Setups {
		events := s.Events(shellWord(gone), gone, "")
		for _, e := range events {
			if !strings.Contains(e.Value, gone+"' hook "+cmp.Or(s.As, s.Host)) {
				t.Errorf("%s, %s: %s", s.Host, e.Name, e.Value)
			}
		}
		line := s.Command(shellWord(gone), "")
		if out, err := exec.Command(sh, "-c", line).CombinedOutput(); err != nil || len(out) > 0 ||
			!s.IsOurs(line) {
			t.Errorf("%s ended with %v and printed %q", line, err, out)
		}
		if (len(events) == 0 || s.Entry == "") != (s.File == "") {
			t.Errorf("%s has a file and no entries, or the other way round", s.Host)
		}
	}
}

// TestHookKilled kills the hook of one call at any moment. The call is taken back or named, and those before and after
// it are taken back.
func TestHookKilled(t *testing.T) {
	needs.Shell(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for round := range kills(24, 600) {
		f := newHookedFolder(t)
		f.flags = []string{"-C", f.dir}
		call := func(i int, name string) string {
			return f.payload("claude-code/"+name+"-bash-parallel-1", "toolu_010101", fmt.Sprint("toolu_", i))
		}
		kill := func(payload string) {
			cmd := &exec.Cmd{Path: self, Args: []string{"skill", "hook", "claude-code", "-C", f.dir},
				Stdin: strings.NewReader(payload)}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Duration(rand.IntN(30_000)) * time.Microsecond)
			cmd.Process.Kill()
			cmd.Wait()
		}
		before := f.tree()
		for i := range 3 {
			tell := [2]func(string){func(p string) { f.tell("claude-code", p) },
				func(p string) { f.tell("claude-code", p) }}
			if i == 1 {
				tell[round%2] = kill
			}
			tell[0](call(i, "pre"))
			f.write(fmt.Sprint("call", i), "x")
			os.Remove(filepath.Join(f.dir, "a.txt"))
			f.write("a.txt", fmt.Sprint(i))
			tell[1](call(i, "post"))
		}
		f.tell("claude-code", f.payload("claude-code/stop"))
		history := f.history()
		out, code := f.run("", "undo", "-C", f.dir, "--run", claudeSession)
		named := strings.Contains(history, "unproven: ")
		if !named && f.tree() != before || code != 0 && !named {
			t.Fatalf("round %d: undo ended with %d: %s\nnow\n%s\nhistory\n%s", round, code, out,
				f.tree(), history)
		}
		if named {
			f.run("", "undo", "-C", f.dir, "--run", claudeSession, "--perhaps")
		}
		if now := f.tree(); now != before {
			t.Fatalf("round %d:\n%s\nhistory\n%s", round, now, history)
		}
	}
}

// TestHookMany tells of many calls, and leaves nothing open and nothing that grows beside the history.
func TestHookMany(t *testing.T) {
	f := newHookedFolder(t)
	f.flags = []string{"-C", f.dir}
	n := 60
	if os.Getenv("SKILL_TEST_LONG") != "" {
		n = 1000
	}
	files := func() (count int) {
		filepath.WalkDir(os.Getenv("XDG_STATE_HOME"),
			func(string, fs.DirEntry, error) error { count++; return nil })
		return count
	}
	at := 0
	for i := range n {
		change := []string{"toolu_010101", fmt.Sprint("toolu_", i), claudeSession, fmt.Sprint("session", i%7)}
		f.tell("claude-code", f.payload("claude-code/pre-bash-parallel-1", change...))
		f.tell("claude-code", f.payload("claude-code/post-bash-parallel-1", change...))
		f.tell("claude-code", f.payload("claude-code/stop", change...))
		if i == 20 {
			at = files()
		}
	}
	if now := files(); now > at {
		t.Errorf("%d files have become %d", at, now)
	}
	if h := f.history(); !strings.Contains(h, "no changes are recorded") {
		t.Errorf("the history is\n%s", h)
	}
}

// TestHookOwnServer records the calls of this program's MCP server as calls of the host's session.
func TestHookOwnServer(t *testing.T) {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"write","arguments":{"path":"m.txt","content":"m"},"_meta":{META}}}
`
	for name, s := range map[string]struct{ meta, variable, host string }{
		"the hook was told of the call": {`"claudecode/toolUseId":"toolu_1"`, "", "claude-code/explorer"},
		"the call names the session":    {`"x-codex-turn-metadata":{"session_id":"A"}`, "", "codex"},
		"in a text":                     {`"x-codex-turn-metadata":"{\"session_id\":\"A\"}"`, "", "codex"},
		"the environment names it":      {`"progressToken":1`, "QWEN_CODE_SESSION_ID", "qwen-code"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newHookedFolder(t)
			if s.variable != "" {
				t.Setenv(s.variable, "A")
			}
			before := f.tree()
			event := func(name string) {
				f.tell("claude-code", fmt.Sprintf(`{"hook_event_name":%q,"session_id":"A","agent_id":"e",`+
					`"agent_type":"explorer","cwd":%q,"tool_name":"mcp__skill__write","tool_input":{"path":"m.txt"},`+
					`"tool_use_id":"toolu_1"}`, name, f.dir))
			}
			event("PreToolUse")
			out, _ := f.run(strings.Replace(hello, "META", s.meta, 1), "mcp", "-C", f.dir)
			event("PostToolUse")
			if f.tree() == before {
				t.Fatal(out)
			}
			if h := f.history(); strings.Count(h, "\n") != 1 || !strings.Contains(h, s.host+" write, session A") {
				t.Errorf("the history is\n%s", h)
			}
			if out, code := f.run("", "undo", "-C", f.dir, "--run", "A"); code != 0 || f.tree() != before {
				t.Errorf("undo ended with %d: %s", code, out)
			}
		})
	}
}
