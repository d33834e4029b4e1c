package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKeyFile sends the key of a file to the model's endpoint.
func TestKeyFile(t *testing.T) {
	var sent string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Get("Authorization")
		http.Error(w, "no", http.StatusBadRequest)
	}))
	defer s.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "key")
	if err := os.WriteFile(file, []byte("sk-from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := []string{"-C", dir, "--fallback", "llm", "--openai-base-url", s.URL, "--skill-model", "m",
		"--openai-api-key-file", file}
	play(t, &cli{}, "do something", flags...)
	if want := "Bearer sk-from-a-file"; sent != want {
		t.Errorf("Authorization is %q, want %q", sent, want)
	}
	for flag, want := range map[string]string{
		"--openai-api-key-file=" + dir:    "is not a regular file",
		"--openai-api-key-file=/dev/null": "is not a regular file",
	} {
		if _, stderr, code := play(t, &cli{}, "do something", append(flags, flag)...); code != exitUsage ||
			!strings.Contains(stderr, want) {
			t.Errorf("%s: exit code %d, %s, want %s", flag, code, stderr, want)
		}
	}
	if _, stderr, code := play(t, &cli{}, "do something",
		append(flags, "--openai-api-key-file="+file+"x")...); code != exitFailed ||
		!strings.Contains(stderr, "no such file") {
		t.Errorf("a missing file: exit code %d, %s", code, stderr)
	}
}
