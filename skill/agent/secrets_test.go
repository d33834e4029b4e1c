package agent

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"textskill/skill"
	"textskill/testdata/needs"
)

func TestRedactor(t *testing.T) {
	r := NewRedactor([]string{"abc", "token-1", "token-1-long", `q"uo\te`,
		"-----BEGIN KEY-----\nMIIEvQIBADANBgkqhki\nshort\n"})
	for _, tt := range []struct{ in, want string }{
		{"abc stays", "abc stays"},
		{"token-1 and token-1-long.", "[redacted] and [redacted]."},
		{`a q"uo\te b`, "a [redacted] b"},
		{`{"x":"q\"uo\\te"}`, `{"x":"[redacted]"}`},
		{"MIIEvQIBADANBgkqhki", "[redacted]"},
		{`"-----BEGIN KEY-----\nMIIEvQIBADANBgkqhki\nshort\n"`, `"[redacted]"`},
		{"short", "short"},
		{"bad \xff", "bad \uFFFD"},
	} {
		if got := r.Text(tt.in); got != tt.want {
			t.Errorf("Text(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
	const in = `{"a\"b":[1,true,"token-1",{"q\u0022uo\\te":"x token-1-long"}],"z":"\\"}`
	const want = `{"a\"b":[1,true,"[redacted]",{"[redacted]":"x [redacted]"}],"z":"\\"}`
	if got := string(r.JSON([]byte(in))); got != want {
		t.Errorf("JSON(%s)\n got %s\nwant %s", in, got, want)
	}
}

// FuzzRedactor holds what is cleaned to two laws: it is as valid as it was, and no
// text in it holds a secret.
func FuzzRedactor(f *testing.F) {
	f.Add(`{"a":["token-1",{"q\u0022uo\\te":1}]}`, "token-1")
	f.Add(`"x\\"`, `q"uo\te`)
	f.Add(`{"\\":"\"\\\""}`, "secret\nof two lines, each long enough")
	f.Fuzz(func(t *testing.T, raw, secret string) {
		if len(secret) < 4 || !utf8.ValidString(secret) || strings.Contains(redacted, secret) ||
			strings.Contains(secret, redacted) {
			return
		}
		r := NewRedactor([]string{secret})
		if got := r.Text(raw); strings.Contains(raw, secret) && !strings.Contains(got, redacted) {
			t.Errorf("Text(%q) = %q with the secret %q", raw, got, secret)
		}
		if !json.Valid([]byte(raw)) {
			return
		}
		clean := r.JSON(json.RawMessage(raw))
		if !json.Valid(clean) {
			t.Errorf("JSON(%s) = %s", raw, clean)
		}
	})
}

func TestRequiredVariablesAreSecrets(t *testing.T) {
	env := map[string]string{"DEBUG": "true", "API_TOKEN": "t0ken", "DSN": "db://u:p@h",
		"HOME": "/home/somebody"}
	var names []string
	for name := range env {
		names = append(names, name)
	}
	cfg := Config{
		Experts: map[string]Expert{"e": {Skills: map[string]SkillConfig{"s": {RequiredEnv: names}}}},
		Getenv:  func(name string) string { return env[name] },
	}
	const text, want = `{"completed":true} t0ken db://u:p@h /home/somebody`,
		`{"completed":true} [redacted] [redacted] /home/somebody`
	if got := cfg.Redactor().Text(text); got != want {
		t.Errorf("it is %s, want %s", got, want)
	}
}

func TestCredentials(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		name, value string
		want        []string
	}{
		{"OPENAI_API_KEY", "sk-proj-abc123", []string{"sk-proj-abc123"}},
		{"GITHUB_PAT", "github_pat_11A", []string{"github_pat_11A"}},
		{"DB_PASS", "hunter2", []string{"hunter2"}},
		{"PGPASSWORD", "correcthorse", []string{"correcthorse"}},
		{"DATABASE_URL", "postgres://u:p4ss@db.example.com/x",
			[]string{"postgres://u:p4ss@db.example.com/x", "p4ss"}},
		{"SENTRY_DSN", "https://abc123@o1.ingest.example.com/1",
			[]string{"https://abc123@o1.ingest.example.com/1"}},
		{"HOOK_TOKEN", "https://hooks.example.com/services/T0/B0/abcdefghijklmnopqrstuvwx",
			[]string{"https://hooks.example.com/services/T0/B0/abcdefghijklmnopqrstuvwx"}},
		{"AWS_SECRET_ACCESS_KEY", "/Jalr/XUtnFEMIK7MDENG+bPxRfiCYEXAMPLE",
			[]string{"/Jalr/XUtnFEMIK7MDENG+bPxRfiCYEXAMPLE"}},
		{"SIGNING_KEY", "0123456789abcdef", []string{"0123456789abcdef"}},
		{"CARD_KEY", "4111111111111111", []string{"4111111111111111"}},

		{"USE_TOKENS", "true", nil},
		{"MAX_TOKENS", "128000", nil},
		{"TOKEN_RATIO", "-0.25", nil},
		{"KEY_HOST", "localhost", nil},
		{"KEY_HOST", "localhost:8080", nil},
		{"KEY_HOST", "keys.example.com:443", nil},
		{"KEY_HOST", "10.0.0.1", nil},
		{"KEY_HOST", "[::1]:80", nil},
		{"TOKEN_URL", "https://login.example.com/oauth/token", nil},
		{"OTEL_EXPORTER_OTLP_HEADERS", "x-key=s3cr3tvalue1, team=blue",
			[]string{"x-key=s3cr3tvalue1, team=blue", "s3cr3tvalue1"}},
		{"DATABASE_URL", "postgres://localhost:5432/app", nil},
		{"SSH_AUTH_SOCK", dir + "/agent.1", nil},
		{"KEY_FILE", "./keys/a.pem", nil},
		{"KEY_FILE", "~/.ssh/id", nil},
		{"KEYBOARD", "us", nil},
		{"KEY_STAGE", "Production", nil},
		{"GIT_AUTHOR_NAME", "Jane Doe", nil},
		{"EDITOR_FLAGS", "a-long-value-1", nil},
		{"PATH", "/usr/bin:/opt/x", nil},
	} {
		if got := Credentials(tt.name, tt.value); !slices.Equal(got, tt.want) {
			t.Errorf("Credentials(%s, %s) = %q, want %q", tt.name, tt.value, got, tt.want)
		}
	}
}

// TestRedactedIsExplained has an expert read a credential and write another file: the
// model is told what it sees, and the file it writes holds what it wrote.
func TestRedactedIsExplained(t *testing.T) {
	l := newLab(t,
		calls(`readTextFile {"path":".env"}`, `writeTextFile {"path":"out","text":"KEY=s3cr3t-value"}`),
		calls("attemptCompletion"), "done")
	l.cfg.Secrets = []string{"s3cr3t-value"}
	if err := os.WriteFile(filepath.Join(l.dir, ".env"), []byte("KEY=s3cr3t-value\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.ran("go")
	var got string
	for _, m := range l.asked[1].Messages {
		for _, c := range m.Contents {
			got += fmt.Sprintln(c)
		}
	}
	if strings.Contains(got, "s3cr3t") || strings.Count(got, "- [redacted] stands for a credential") != 1 {
		t.Errorf("the model is told %s", got)
	}
	if out := l.file("out"); out != "KEY=s3cr3t-value" {
		t.Errorf("out holds %q", out)
	}
}

// TestSecretInATodo has the title of a todo hold a secret.
func TestSecretInATodo(t *testing.T) {
	const secret = "sesame-5ecret"
	l := newLab(t, calls(`todo {"newTodos":["use `+secret+`"]}`),
		calls("clearTodo", "attemptCompletion"), "done")
	l.cfg.Secrets = []string{secret}
	events := l.ran("go")
	data, _ := json.Marshal(events)
	err := filepath.WalkDir(l.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			content, _ := os.ReadFile(path)
			data = append(data, content...)
		}
		return err
	})
	if err != nil || strings.Contains(string(data), secret) ||
		!strings.Contains(string(data), "use [redacted]") {
		t.Errorf("events and records hold the secret %t times, %v",
			strings.Contains(string(data), secret), err)
	}
}

// A model repeats a secret in each place that is recorded. Only what the model writes into files, and the
// names of files, hold it afterwards.
func TestSecretInEachPlace(t *testing.T) {
	needs.Program(t, "sh")
	const secret = "sesame-5ecret"
	l := newLab(t, calls(`todo {"newTodos":["use `+secret+`"]}`),
		calls(`exec {"command":"sh","args":["-c","`+strings.Repeat("#", 290)+secret+`\necho `+secret+`; echo x > f"],"env":{"A":"`+secret+
			`"},"cwd":".","stdout":true,"stderr":true}`),
		calls(`exec {"command":"sh","args":["-c","echo y > f; exit 3","`+secret+`"],"env":{},"cwd":".","stdout":true,"stderr":true}`),
		calls(`readTextFile {"path":"`+secret+`"}`), calls(`fly`+secret+` {"`+secret+`":1}`),
		calls(`createDirectory {"path":"sub"}`), calls("clearTodo", "attemptCompletion"), "done with "+secret)
	l.cfg.Secrets = []string{secret}
	state := t.TempDir()
	x, err := skill.New(skill.Config{Dir: l.dir, State: state, NoSync: true, Unfenced: true})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	l.cfg.Executor = x
	data, _ := json.Marshal(l.ran("go for " + secret))
	var commands int
	history, err := x.Execute(t.Context(), &skill.Session{}, skill.History{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range history.(skill.Changes).List {
		data = fmt.Appendf(data, "%+v", e)
		if e.Command != "" {
			commands++
		}
	}
	for _, dir := range []string{l.dir, state} {
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				content, _ := os.ReadFile(path)
				if strings.Contains(string(content), secret[:9]) {
					t.Errorf("%s holds the secret: %.500s", path, content)
				}
			}
			return nil
		})
	}
	if strings.Contains(string(data), secret) || commands != 2 {
		t.Errorf("%d commands, %s", commands, data)
	}
}

// The state of a session names no path that holds a secret.
func TestSecretInASnapshot(t *testing.T) {
	r := NewRedactor([]string{"sesame-5ecret"})
	seen := []skill.SeenFile{{Path: "/w/sesame-5ecret"}, {Path: "/w/a"}}
	got := r.snapshot(skill.Snapshot{Dir: "/w/sesame-5ecret/x", Seen: seen,
		Todos: []skill.TodoItem{{Title: "use sesame-5ecret"}}})
	if got.Dir != "" || len(got.Seen) != 1 || got.Seen[0].Path != "/w/a" || got.Todos[0].Title != "use [redacted]" {
		t.Errorf("%+v", got)
	}
}
