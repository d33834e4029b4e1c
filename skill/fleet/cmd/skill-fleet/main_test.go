package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"textskill/skill"
	"textskill/testdata/needs"
)

// asProgram makes the test binary the program.
const asProgram = "SKILL_TEST_FLEET_PROGRAM"

func TestMain(m *testing.M) {
	skill.HelperMain()
	if os.Getenv(asProgram) != "" {
		os.Unsetenv(asProgram)
		main()
		return
	}
	os.Exit(needs.Run(m))
}

// program returns a command that runs the program in an environment of its own.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	url := os.Getenv("NATS_URL")
	if len(args) > 1 && args[0] == "--nats" && strings.Contains(args[1], "@") {
		url, args = args[1], args[2:]
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1", "NATS_URL="+url)
	return cmd
}

// run runs the program, and returns its output and exit code.
func run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := program(t, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// newEndpoint starts a model on this machine. The model appends three lines to the file log, then
// completes the run. It does not answer the query "wait".
func newEndpoint(t *testing.T) string {
	const lines = 3
	hurry := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Tools    []any
			Messages []struct {
				Role    string
				Content any
			}
		}
		json.NewDecoder(r.Body).Decode(&asked)
		n := 0
		for _, m := range asked.Messages {
			if m.Role == "user" && fmt.Sprint(m.Content) == "wait" {
				select {
				case <-hurry:
				case <-r.Context().Done():
				}
				return
			}
			if m.Role == "tool" {
				n++
			}
		}
		message := map[string]any{"role": "assistant", "content": "all done"}
		call := func(name string, args map[string]string) {
			data, _ := json.Marshal(args)
			message["content"] = nil
			message["tool_calls"] = []any{map[string]any{"id": fmt.Sprint("c", n), "type": "function",
				"function": map[string]any{"name": name, "arguments": string(data)}}}
		}
		switch {
		case asked.Tools == nil:
		case n == lines:
			call("attemptCompletion", map[string]string{})
		default:
			call("appendTextFile", map[string]string{"path": "log", "text": fmt.Sprintln("line", n)})
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{
			"id": "x", "object": "chat.completion", "model": "scripted",
			"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": "stop"}},
			"usage":   map[string]int{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
		})
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(hurry) })
	return s.URL
}

// newFolder returns a folder with a project that defines the expert e.
func newFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"perstack.toml": "[experts.e]\ninstruction = \"Count.\"\n",
		"log": "", "a.txt": "alpha\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// startDev starts skill-fleet dev until the end of the test, and returns its URL.
func startDev(t *testing.T) string {
	t.Helper()
	return startDevIn(t, t.TempDir())
}

// startDevIn is startDev with the folder dir and further flags.
func startDevIn(t *testing.T, dir string, flags ...string) string {
	t.Helper()
	cmd := program(t, append([]string{"dev", "--dir", dir, "--port", "0", "--name", "w1", "--model",
		"scripted"}, flags...)...)
	cmd.Env = append(cmd.Env, "OPENAI_BASE_URL="+newEndpoint(t), "OPENAI_API_KEY=sk-test")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("dev ends with %v", err)
		}
	})
	var said []byte
	for buf := make([]byte, 1024); !bytes.Contains(said, []byte("fetch ID\n")); {
		n, err := stdout.Read(buf)
		if said = append(said, buf[:n]...); err != nil {
			t.Fatalf("dev says %q and then %v", said, err)
		}
	}
	login, err := os.ReadFile(filepath.Join(dir, loginFile))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(said, []byte("@")) {
		t.Errorf("dev prints a login: %s", said)
	}
	return strings.TrimSpace(string(login))
}

// TestDev types the commands of a user.
func TestDev(t *testing.T) {
	t.Parallel()
	nats, dir := startDev(t), newFolder(t)
	if out, stderr, code := run(t, "--nats", nats, "submit", "e", "go", "-C", dir, "--id", "one"); code != 0 || out != "one\n" {
		t.Fatalf("submit: %d %q %s", code, out, stderr)
	}
	if out, stderr, code := run(t, "--nats", nats, "submit", "e", "something else", "-C", dir, "--id", "one"); code != exitFailed || out != "" || !strings.Contains(stderr, "choose another ID") {
		t.Errorf("submit another run with the ID: %d %q %s", code, out, stderr)
	}
	if out, stderr, code := run(t, "--nats", nats, "submit", "e", "go", "-C", dir, "--id", "one"); code != 0 || out != "one\n" {
		t.Errorf("submit again: %d %q %s", code, out, stderr)
	}
	out, stderr, code := run(t, "--nats", nats, "runs", "--follow", "one")
	if code != 0 || !strings.Contains(out, "claimed: worker w1 begins") ||
		!strings.Contains(out, "completeRun: all done") ||
		!strings.Contains(out, "ended: completed after step 4") {
		t.Errorf("follow: %d %s %s", code, out, stderr)
	}
	if out, _, code := run(t, "--nats", nats, "runs"); code != 0 ||
		!regexp.MustCompile(`\none +completed +w1 +4 +1 +default +e +\d+s\n`).MatchString(out) {
		t.Errorf("runs: %d %s", code, out)
	}
	got := filepath.Join(t.TempDir(), "new", "files")
	if out, stderr, code := run(t, "--nats", nats, "fetch", "one", "-C", got); code != 0 {
		t.Errorf("fetch: %d %s %s", code, out, stderr)
	}
	for name, want := range map[string]string{"log": "line 0\nline 1\nline 2\n", "a.txt": "alpha\n"} {
		if data, err := os.ReadFile(filepath.Join(got, name)); err != nil || string(data) != want {
			t.Errorf("%s holds %q, want %q (%v)", name, data, want, err)
		}
	}
	if _, stderr, code := run(t, "--nats", nats, "fetch", "one", "-C", got); code != exitFailed ||
		!strings.Contains(stderr, "is not empty") {
		t.Errorf("fetch into a full folder: %d %s", code, stderr)
	}
	empty := t.TempDir()
	before, err := os.Stat(empty)
	if err != nil {
		t.Fatal(err)
	}
	cmd := program(t, "--nats", nats, "fetch", "one", "-C", ".")
	cmd.Dir = empty
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("fetch into the current folder: %v %s", err, out)
	}
	if after, err := os.Stat(empty); err != nil || !os.SameFile(before, after) {
		t.Errorf("fetch has replaced the current folder: %v", err)
	}
	if _, err := os.Stat(filepath.Join(empty, "a.txt")); err != nil {
		t.Error(err)
	}
	if _, stderr, code := run(t, "--nats", nats, "submit", "e", "again", "--workspace", "nothing"); code != exitFailed || !strings.Contains(stderr, "there is no workspace nothing") {
		t.Errorf("submit for no workspace: %d %s", code, stderr)
	}
	if _, stderr, code := run(t, "--nats", nats, "runs", "--follow", "none"); code != exitFailed ||
		!strings.Contains(stderr, "no such run") {
		t.Errorf("follow no run: %d %s", code, stderr)
	}
}

// TestLogin connects with the login of dev. Workers refuse a server without a login.
func TestLogin(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	dir := filepath.Join(state, "skill-fleet", "dev")
	asked := startDevIn(t, dir)
	file := filepath.Join(dir, loginFile)
	if data, err := os.ReadFile(file); err != nil || string(data) != asked+"\n" {
		t.Errorf("the login file holds %q (%v), and dev said %s", data, err, asked)
	}
	if info, err := os.Stat(file); err == nil && runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("the mode of the login file is %v", info.Mode())
	}
	runs := program(t, "runs")
	runs.Env = append(runs.Env, "XDG_STATE_HOME="+state, "NATS_URL=")
	if out, err := runs.CombinedOutput(); err != nil {
		t.Errorf("runs with the login file: %v %s", err, out)
	}
	_, host, found := strings.Cut(asked, "@")
	if _, stderr, code := run(t, "--nats", host, "runs"); !found || code != exitFailed ||
		!strings.Contains(stderr, "refuses the login at "+host+
			"; set NATS_URL=nats://USER:PASSWORD@HOST in the environment, or type --creds FILE") {
		t.Errorf("runs without a login: %d %s", code, stderr)
	}
	if _, stderr, code := run(t, "--nats", "nats://dev:guessed@"+host, "runs"); code != exitFailed ||
		strings.Contains(stderr, "guessed") {
		t.Errorf("runs with a wrong login: %d %s", code, stderr)
	}
	if kept := password(file); !strings.Contains(asked, ":"+kept+"@") {
		t.Errorf("the next start has another password, %q", kept)
	}

	open := startDevIn(t, t.TempDir(), "--no-auth")
	if strings.Contains(open, "@") {
		t.Errorf("dev --no-auth has a login: %s", open)
	}
	if out, stderr, code := run(t, "--nats", open, "runs"); code != exitOK {
		t.Errorf("runs of an open server: %d %s %s", code, out, stderr)
	}
	worker := program(t, "--nats", open, "worker", "--name", "w2", "--root", t.TempDir(), "--model",
		"scripted")
	worker.Env = append(worker.Env, "OPENAI_BASE_URL=http://127.0.0.1:1", "OPENAI_API_KEY=sk-test")
	if out, err := worker.CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "asks for no login") || !strings.Contains(string(out), "--no-auth") {
		t.Errorf("a worker of an open server: %v %s", err, out)
	}
}

// TestCancel ends a run whose model does not answer.
func TestCancel(t *testing.T) {
	t.Parallel()
	nats := startDev(t)
	if _, stderr, code := run(t, "--nats", nats, "submit", "e", "wait", "-C", newFolder(t), "--id", "two"); code != 0 {
		t.Fatalf("submit: %d %s", code, stderr)
	}
	begun := time.Now()
	for !strings.Contains(first(run(t, "--nats", nats, "runs")), "running") {
		if time.Since(begun) > time.Minute {
			t.Fatal("the run does not begin")
		}
	}
	follower := program(t, "--nats", nats, "runs", "--follow", "two")
	var stderr bytes.Buffer
	follower.Stderr = &stderr
	stdout, err := follower.StdoutPipe()
	if err == nil {
		err = follower.Start()
	}
	if err == nil {
		_, err = stdout.Read(make([]byte, 1)) // the command follows the run now
	}
	if err != nil {
		t.Fatal(err)
	}
	follower.Process.Signal(syscall.SIGINT)
	if follower.Wait(); stderr.String() != "skill-fleet: interrupted\n" ||
		follower.ProcessState.ExitCode() != exitFailed {
		t.Errorf("Ctrl-C: %v %q", follower.ProcessState, stderr.String())
	}
	if _, stderr, code := run(t, "--nats", nats, "cancel", "two"); code != 0 {
		t.Errorf("cancel: %d %s", code, stderr)
	}
	if out, stderr, code := run(t, "--nats", nats, "runs", "--follow", "two"); code != exitFailed ||
		!strings.Contains(out, "ended: cancelled after step 0") {
		t.Errorf("follow: %d %s %s", code, out, stderr)
	}
}

func first(s, _ string, _ int) string { return s }

// TestRefused refuses wrong command lines before they have an effect.
func TestRefused(t *testing.T) {
	t.Parallel()
	wrong := filepath.Join(t.TempDir(), "fleet.toml")
	if err := os.WriteFile(wrong, []byte("[worker]\nname = \"w\"\nslot = 3\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--nats", "nats://127.0.0.1:1", "runs"}, exitFailed,
			"; start a server with skill-fleet dev, or name your servers with --nats"},
		{[]string{"submit", "e", "go"}, exitUsage, "-C"},
		{[]string{"submit", "e", "-C", "."}, exitUsage, "missing QUERY"},
		{[]string{"--nats", "nats://me:pa:ss@127.0.0.1:1,nats://token@127.0.0.1:1", "runs"}, exitFailed,
			"at nats://127.0.0.1:1, nats://127.0.0.1:1: "},
		{[]string{"--nats", "nats://me:pa/ss@127.0.0.1:1", "runs"}, exitFailed,
			"skill-fleet: nats://127.0.0.1:1: a URL is malformed"},
		{[]string{"submit"}, exitUsage,
			"skill-fleet: missing EXPERT: the name of an expert in perstack.toml\nusage: skill-fleet submit [flags] EXPERT [QUERY]\nhelp:  skill-fleet help submit\n"},
		{[]string{"submit", "--max-steps", "x", "e", "go"}, exitUsage,
			"--max-steps x: must be a whole number"},
		{[]string{"cancel"}, exitUsage, "missing ID"},
		{[]string{"runs", "one"}, exitUsage, `unexpected argument "one"; --follow ID follows a run`},
		{[]string{"runs", "--follow", ""}, exitUsage, "--follow needs a value: ID"},
		{[]string{"runs", "--tenant", ""}, exitUsage, "--tenant needs a value: NAME"},
		{[]string{"runs", "--follow", "one", "--tenant", "t"}, exitUsage,
			"--tenant has no effect with --follow"},
		{[]string{"submit", "", "go", "-C", "."}, exitUsage, "missing EXPERT"},
		{[]string{"submit", "e", "go", "-C", ".", "--id", ""}, exitUsage, "--id needs a value: ID"},
		{[]string{"submit", "e", "go", "-C", "", "--workspace", "w"}, exitUsage,
			"--directory needs a value: DIR"},
		{[]string{"--nats", "", "runs"}, exitUsage, "--nats needs a value: URL"},
		{[]string{"--nats", "nats://127.0.0.1:1, ", "runs"}, exitFailed,
			"cannot be reached at nats://127.0.0.1:1: "},
		{[]string{"--nats", " ,", "runs"}, exitFailed, "--nats names no server"},
		{[]string{"worker", "--label", ""}, exitUsage, "--label needs a value: LABEL"},
		{[]string{"mcp", "--workspace", "w", "--http", ""}, exitUsage, "--http needs a value: ADDR"},
		{[]string{"mcp", "--workspace", "w", "--http-host", "h"}, exitUsage,
			"--http-host has no effect without --http"},
		{[]string{"call", "--idle", "5s", "w", "read"}, exitUsage, "--idle has no effect without --start"},
		{[]string{"call", "--idle", "x", "--start", "w", "read"}, exitUsage,
			"--idle x: must be a time like 90s or 10m"},
		{[]string{"call", "w", "", "{}"}, exitUsage, "missing WORKSPACE and TOOL"},
		{[]string{"cancel", ""}, exitUsage, "missing ID"},
		{[]string{"fetch", "../x"}, exitFailed, `"../x" cannot be the name of a run`},
		{[]string{"runs", "--follow", "a b"}, exitFailed, `"a b" cannot be the name of a run`},
		{[]string{"web", "--tenant", "a b"}, exitFailed, `"a b" cannot be the name of a tenant`},
		{[]string{"--config", wrong + "x", "runs"}, exitFailed, "skill-fleet: --config: open " +
			wrong + "x: "},
		{[]string{"check", "--nats", "nats://%zz", "--accept-few"}, exitFailed, "a URL is malformed"},
		{[]string{"runs", "--nats", "nats://u:p@n1"}, exitFailed,
			"--nats has a login, which every user of this machine sees in the list of processes; set NATS_URL="},
		{[]string{"check", "--monitor", "127.0.0.1:8222", "--accept-few"}, exitFailed,
			"--monitor 127.0.0.1:8222 is not a URL like http://n1:8222"},
		{[]string{"check", "--monitor", "http://u:p@n1:8222", "--accept-few"}, exitFailed,
			"--monitor http://u:xxxxx@n1:8222 has a login"},
		{[]string{"call", "a b", "read"}, exitFailed, "cannot be the name of a workspace"},
		{[]string{"submit", "e", "go", "-C", ".", "--replace"}, exitUsage, "--replace needs"},
		{[]string{"--config", wrong, "runs"}, exitFailed, "line 3: unknown key worker.slot"},
		{[]string{"worker"}, exitFailed, "no model is named"},
		{[]string{"worker", "--label", "a b"}, exitFailed, `"a b" cannot be the name of a label`},
		{[]string{"runz"}, exitUsage, "unknown command"},
	} {
		if out, stderr, code := run(t, tt.args...); code != tt.code || out != "" ||
			!strings.Contains(stderr, tt.want) {
			t.Errorf("%q: %d %q %q", tt.args, code, out, stderr)
		}
	}
}

// TestNoKey starts a worker without the key of its model. The error names the variable.
func TestNoKey(t *testing.T) {
	t.Parallel()
	for args, rest := range map[string]string{"worker --model gpt-5.1": ", or name the provider of the model with --provider\n", "worker --model gpt-5.1 --provider openai": "\n"} {
		cmd := program(t, strings.Fields(args)...)
		for _, name := range []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "SKILL_MODEL"} {
			cmd.Env = append(cmd.Env, name+"=")
		}
		want := "skill-fleet: OPENAI_API_KEY is not set; set it, or OPENAI_BASE_URL to an endpoint that needs no key" + rest
		if out, err := cmd.CombinedOutput(); err == nil || string(out) != want {
			t.Errorf("%v %s", err, out)
		}
	}
}

// TestCredentials overrides the environment by an empty --creds. The error names a missing file.
func TestCredentials(t *testing.T) {
	t.Parallel()
	none := filepath.Join(t.TempDir(), "none")
	for creds, want := range map[string]string{"--creds=": "cannot be reached at nats://127.0.0.1:1: ",
		"--nats=nats://127.0.0.1:1": "skill-fleet: the credentials cannot be read: open " + none + ": "} {
		cmd := program(t, "--nats", "nats://127.0.0.1:1", creds, "runs")
		cmd.Env = append(cmd.Env, "NATS_CREDS="+none)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v %s", creds, err, out)
		}
	}
}

// TestHelpHidesSecrets checks that the help shows no secret of the environment.
func TestHelpHidesSecrets(t *testing.T) {
	t.Parallel()
	cmd := program(t, "runs", "--help")
	cmd.Env = append(cmd.Env, "NATS_URL=nats://me:passphrase@127.0.0.1:1")
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "passphrase") {
		t.Errorf("%v %s", err, out)
	}
}

// TestUnreadableSettings wants an error for settings that cannot be read, because the settings may
// encrypt or exclude files.
func TestUnreadableSettings(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	dir, err := os.UserConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := new(options).settings(); err != nil {
		t.Error(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "skill", settingsFile), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := new(options).settings(); err == nil {
		t.Error("no error")
	}
}

// TestInvalidSettings wants errors for invalid settings.
func TestInvalidSettings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[tenants.t]\nwaiting = -1":      "tenants.t: waiting is -1; it must be at least 0",
		"[tenants.t]\nrunning = -1":      "tenants.t: running is -1; it must be at least 0",
		"[tenants.\"a b\"]\nwaiting = 1": `"a b" cannot be the name of a tenant`,
		"[worker]\nslots = \"x\"":        "line 2, column 9: a value of type string does not fit here",
		"[worker]\nslots = -1":           "worker: slots is -1; it must be at least 1",
		"[worker]\npatience = \"x\"":     `worker: patience "x" must be a time like 30s`,
		"[worker]\npatience = \"1ms\"":   `worker: patience "1ms": it must be at least 1s`,
	} {
		if err := decodeSettings([]byte(text), &settings{}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestVersion prints the version.
func TestVersion(t *testing.T) {
	t.Parallel()
	if out, stderr, code := run(t, "--version"); code != exitOK || !strings.HasPrefix(out, "skill-fleet ") ||
		strings.Count(out, "\n") != 1 || stderr != "" {
		t.Errorf("%d %q %q", code, out, stderr)
	}
}
