package agent

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestRedactor(t *testing.T) {
	r := NewRedactor([]string{"abc", "token-1", "token-1-long", `q"uo\te`, "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhki\nshort\n"})
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
		if len(secret) < 4 || !utf8.ValidString(secret) || strings.Contains(redacted, secret) || strings.Contains(secret, redacted) {
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
	env := map[string]string{"DEBUG": "true", "API_TOKEN": "t0ken", "DSN": "db://u:p@h", "HOME": "/home/somebody"}
	var names []string
	for name := range env {
		names = append(names, name)
	}
	cfg := Config{
		Experts: map[string]Expert{"e": {Skills: map[string]SkillConfig{"s": {RequiredEnv: names}}}},
		Getenv:  func(name string) string { return env[name] },
	}
	const text, want = `{"completed":true} t0ken db://u:p@h /home/somebody`, `{"completed":true} [redacted] [redacted] /home/somebody`
	if got := cfg.Redactor().Text(text); got != want {
		t.Errorf("it is %s, want %s", got, want)
	}
}
