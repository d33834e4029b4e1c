package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"textskill/skill"
	"textskill/skill/agent"
	"textskill/skill/dialect"
	"textskill/testdata/needs"
)

// TestAsk has calls that a person is asked about, that the user's settings allow or deny,
// and that nobody can be asked about.
func TestAsk(t *testing.T) {
	var script []scriptedAnswer
	err := json.Unmarshal([]byte(`[
		{"tools":[{"id":"a","name":"readTextFile","input":{"path":"f"}},{"id":"b","name":"createDirectory","input":{"path":"d"}},{"id":"c","name":"deleteFile","input":{"path":"f"}}]},
		{"tools":[{"id":"d","name":"deleteFile","input":{"path":"g"}}]},
		{"tools":[{"id":"e","name":"attemptCompletion","input":{}}]}, {"text":"done"}]`), &script)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		command, settings, stdin, left string
		code                           int
		says                           string
	}{
		"allowed": {"start --ask destroy e go", "", "yes\nyes\n", "d", 0,
			"deleteFile {\"path\":\"f\"}\nAllow this call? (yes, no, or always for this tool) "},
		"refused": {"start --ask destroy e go", "", "no\nyes\n", "d f", 0,
			"The user did not allow this call"},
		"always": {"start --ask destroy e go", "", "always\n", "d", 0, "Allow this call?"},
		"every change": {"start --ask change e go", "", "no\nno\nno\n", "f g",
			0, "createDirectory {\"path\":\"d\"}\nAllow"},
		"nobody to ask": {"run --ask destroy e go", "", "", "d f g", exitConfirm,
			"not done, because it needs your consent: deleteFile {\"path\":\"f\"}\nskill run -C $DIR e --continue-run r --ask never does it; so does allow under [tools] in $CONFIG/skill/skill.toml\n"},
		"never": {"run e go", "", "", "d", 0, ""},
		"allowed by setting": {"run --ask change e go", "[tools]\nallow = [\"delete*\", \"createDirectory\"]",
			"", "d", 0, ""},
		"asked by setting": {"run e go", "[tools]\nallow = [\"*\"]\nask = [\"createDirectory\"]", "",
			"f g", exitConfirm, "\nskill run -C $DIR e --continue-run r asks you on a terminal; elsewhere, take the tool out of ask under [tools] in $CONFIG/skill/skill.toml or in the workspace's skill.toml first\n"},
		"denied by setting": {"run e go",
			"[tools]\nallow = [\"*\"]\nask = [\"deleteFile\"]\ndeny = [\"delete*\"]", "", "d f g", 0,
			"The user's settings deny this tool"},
		"a wrong setting": {"run e go", "[tools]\nforbid = [\"*\"]", "", "f g", exitFailed, "skill.toml"},
		"a wrong flag": {"run --ask always e go", "", "", "f g", exitUsage,
			"--ask always: must be destroy, change, never or hosts"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, config := newProject(t), t.TempDir()
			os.WriteFile(filepath.Join(dir, "f"), []byte("f"), 0o666)
			os.WriteFile(filepath.Join(dir, "g"), []byte("g"), 0o666)
			if tt.settings != "" {
				os.Mkdir(filepath.Join(config, "skill"), 0o777)
				if err := os.WriteFile(filepath.Join(config, "skill", rulesFile), []byte(tt.settings), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			endpoint := scriptedEndpoint(t, script).URL
			c := &cli{console: console{getenv: func(name string) string {
				return map[string]string{"OPENAI_BASE_URL": endpoint, "SKILL_MODEL": "m", "HOME": config,
					"XDG_CONFIG_HOME": config}[name]
			}}}
			out, errs, code := play(t, c, tt.stdin,
				append(strings.Fields(tt.command), "-C", dir, "--run-id", "r")...)
			says := strings.NewReplacer("$DIR", shellWord(dir), "$CONFIG", config).Replace(tt.says)
			if code != tt.code || !strings.Contains(out+errs, says) {
				t.Errorf("exit %d, %s%s", code, out, errs)
			}
			var left []string
			for _, name := range []string{"d", "f", "g"} {
				if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
					left = append(left, name)
				}
			}
			if got := strings.Join(left, " "); got != tt.left {
				t.Errorf("left are %s, want %s", got, tt.left)
			}
		})
	}
}

// TestWorkspaceRules has a workspace with a skill.toml of its own, which counts once it is
// trusted, and never allows what the user denies or asks about.
func TestWorkspaceRules(t *testing.T) {
	var script []scriptedAnswer
	err := json.Unmarshal([]byte(`[
		{"tools":[{"id":"a","name":"deleteFile","input":{"path":"f"}}]},
		{"tools":[{"id":"b","name":"writeTextFile","input":{"path":"skill.toml","text":"[tools]\nallow=['*']"}}]},
		{"tools":[{"id":"c","name":"attemptCompletion","input":{}}]}, {"text":"done"}]`), &script)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		user, theirs string
		trust        bool
		ask          string
		code         int
		kept         bool
		says         string
	}{
		"untrusted": {"", `deny = ["*"]`, false, "", 0, false,
			"skill.toml of the workspace does not count, because you have not trusted it as it is: type skill trust "},
		"denied": {"", `deny = ["delete*"]`, true, "", 0, true,
			"The user's settings deny this tool"},
		"asked": {`allow = ["*"]`, `ask = ["deleteFile"]`, true, "", exitConfirm, true,
			"needs your consent"},
		"no way around deny": {`deny = ["deleteFile"]`, `allow = ["*"]`, true, "", 0, true,
			"deny this tool"},
		"no way around ask": {`ask = ["deleteFile"]`, `allow = ["*"]`, true, "", exitConfirm, true,
			"needs your consent"},
		"no way around --ask": {"", `allow = ["*"]`, true, "destroy", exitConfirm, true,
			"needs your consent"},
		"the user's own": {`allow = ["*"]`, ``, true, "destroy", 0, false, "changing skill.toml can make"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, home := newProject(t), t.TempDir()
			os.WriteFile(filepath.Join(dir, "f"), []byte("f"), 0o666)
			os.WriteFile(filepath.Join(dir, rulesFile), []byte("[tools]\n"+tt.theirs), 0o666)
			os.Mkdir(filepath.Join(home, "skill"), 0o777)
			os.WriteFile(filepath.Join(home, "skill", rulesFile), []byte("[tools]\n"+tt.user), 0o666)
			endpoint := scriptedEndpoint(t, script).URL
			c := &cli{console: console{getenv: func(name string) string {
				return map[string]string{"OPENAI_BASE_URL": endpoint, "SKILL_MODEL": "m", "HOME": home,
					"XDG_CONFIG_HOME": home}[name]
			}}}
			if tt.trust {
				out, errs, code := play(t, c, "", "trust", dir)
				if code != 0 || tt.theirs != "" && !strings.Contains(out, "tools.") {
					t.Fatalf("exit %d, %s%s", code, out, errs)
				}
			}
			words := []string{"run", "e", "go", "-C", dir}
			if tt.ask != "" {
				words = append(words, "--ask", tt.ask)
			}
			out, errs, code := play(t, c, "", words...)
			_, err := os.Stat(filepath.Join(dir, "f"))
			if code != tt.code || (err == nil) != tt.kept || !strings.Contains(out+errs, tt.says) {
				t.Errorf("exit %d, %v, %s%s", code, err, out, errs)
			}
			if got, _ := os.ReadFile(filepath.Join(dir, rulesFile)); string(got) != "[tools]\n"+tt.theirs {
				t.Errorf("a tool has written %s: %s", rulesFile, got)
			}
		})
	}
}

// TestAskHosts has a person asked about hosts that commands may not reach, once about each.
func TestAskHosts(t *testing.T) {
	needs.Program(t, "curl")
	dir, home := newProject(t), t.TempDir()
	get := func(host string) string {
		return `{"tools":[{"id":"` + host +
			`","name":"exec","input":{"command":"curl","args":["-sSo","/dev/null","-w","%{http_code}","--proxy","","http://` + host + `/"],"env":{},"cwd":"` + dir + `","stdout":true,"stderr":true}}]},`
	}
	var script []scriptedAnswer
	err := json.Unmarshal([]byte("["+get("a.example")+get("b.example")+get("b.example")+
		`{"tools":[{"id":"e","name":"attemptCompletion","input":{}}]}, {"text":"done"}]`), &script)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	x, err := skill.New(skill.Config{Dir: dir, Helper: program})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	report, err := x.Execute(t.Context(), &skill.Session{}, skill.Health{})
	needs.That(t, err == nil && report.(skill.HealthReport).Fence.Alone, "network namespaces",
		"let users make them")
	scripted, heard := scriptedEndpoint(t, script), ""
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		heard += string(body)
		scripted.Config.Handler.ServeHTTP(w, r)
	}))
	defer front.Close()
	endpoint := front.URL
	c := &cli{console: console{getenv: func(name string) string {
		return map[string]string{"OPENAI_BASE_URL": endpoint, "SKILL_MODEL": "m", "HOME": home,
			"XDG_CONFIG_HOME": home}[name]
	}}, helper: program}
	out, errs, code := play(t, c, "yes\nno\n", "start", "--ask", "hosts", "e", "go", "-C", dir)
	const question = "Let commands reach it until this program ends? (yes or no) "
	for _, want := range []string{"A command tried to reach a.example. " + question,
		"[the user has allowed a.example now: run the command again]",
		"A command tried to reach b.example. " + question, "[the user did not allow b.example]"} {
		if code != 0 || !strings.Contains(out+heard, want) {
			t.Errorf("exit %d, %s%s, want %q", code, out, errs, want)
		}
	}
	if n := strings.Count(out, question); n != 2 {
		t.Errorf("asked %d times: %s", n, out)
	}
}

// TestAskShowsTheCall asks about a command whose end is far from its beginning.
func TestAskShowsTheCall(t *testing.T) {
	var out strings.Builder
	g := &gate{console: &console{stdout: &out}, when: askDestroy,
		ask: func(string) (string, error) { return "no", nil }}
	args, _ := json.Marshal(map[string]string{"command": "echo " + strings.Repeat("nothing ", 100) +
		"; rm -rf ~"})
	refusal, err := g.allow(t.Context(), agent.ToolCall{ToolName: "run", Args: args}, dialect.Destroys)
	if err != nil || refusal == "" || !strings.Contains(out.String(), "rm -rf ~") {
		t.Errorf("%q, %v: the person sees %s", refusal, err, out.String())
	}
}

// TestAskInterrupted presses Ctrl-C at a question: that interrupts, and is not taken for a no.
func TestAskInterrupted(t *testing.T) {
	for reply, want := range map[error]string{errLeft: "did not allow", errInterrupted: ""} {
		g := gate{console: &console{stdout: io.Discard, stderr: io.Discard}, when: askChange,
			ask: func(string) (string, error) { return "", reply }}
		refusal, err := g.allow(t.Context(), agent.ToolCall{ToolName: "exec"}, dialect.Destroys)
		if !strings.Contains(refusal, want) || (refusal == "") != (want == "") ||
			(err == errInterrupted) != (reply == errInterrupted) {
			t.Errorf("%v: refused with %q, %v", reply, refusal, err)
		}
		if err := g.ended(t.Context(), agent.Config{}, "run", reply); (err == exit(130)) != (reply == errInterrupted) {
			t.Errorf("%v ends with %v", reply, err)
		}
	}
}
