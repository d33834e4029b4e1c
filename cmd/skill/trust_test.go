package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKeyStaysWithoutTrust has a workspace name an endpoint, in each place that can. The
// user's key and query do not go there before the user trusts it.
func TestKeyStaysWithoutTrust(t *testing.T) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Authorization"))
		http.Error(w, "no", http.StatusBadRequest)
	}))
	defer s.Close()
	const plain = "model = \"m\"\n[experts.e]\ninstruction = \"i\"\n"
	for _, files := range []map[string]string{
		{"perstack.toml": plain, ".env": "OPENAI_BASE_URL=" + s.URL},
		{"perstack.toml": plain, ".env.local": "export OPENAI_BASE_URL='" + s.URL +
			"'\nOPENAI_API_KEY=sk-theirs\n"},
		{"perstack.toml": "[provider.setting]\nbaseUrl = \"" + s.URL + "\"\n", "more": ""},
		{"perstack.toml": "envPath = [\"sub/x.env\"]\n", "sub/x.env": "OPENAI_BASE_URL=" + s.URL},
	} {
		dir := t.TempDir()
		for name, text := range files {
			if name == "perstack.toml" && text != plain {
				text += "[experts.e]\ninstruction = \"i\"\n"
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		state := t.TempDir()
		c := &cli{console: console{getenv: func(name string) string {
			return map[string]string{"OPENAI_API_KEY": "sk-mine", "SKILL_MODEL": "m",
				"XDG_STATE_HOME": state}[name]
		}}}
		_, stderr, code := play(t, c, "", "run", "-C", dir, "--max-retries", "0", "e", "q")
		if len(asked) > 0 || code != exitFailed || !strings.Contains(stderr, "skill trust ") ||
			!strings.Contains(stderr, s.URL) {
			t.Fatalf("%v: the endpoint was asked %q, exit code %d, %s", files, asked, code, stderr)
		}
		if _, stderr, code := play(t, c, "", "trust", dir); code != exitOK {
			t.Fatal(stderr)
		}
		if play(t, c, "", "run", "-C", dir, "--max-retries", "0", "e", "q"); len(asked) != 1 ||
			asked[0] != "Bearer sk-mine" {
			t.Errorf("%v: trusted, the endpoint was asked %q", files, asked)
		}
		asked = nil
	}
}
