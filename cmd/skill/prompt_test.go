package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPayloadBytes holds every way in to the bytes of a payload.
func TestPayloadBytes(t *testing.T) {
	payload := "caf\xe9 \x00\xff\x1b[31m\r\n\tno\u2028break\u00a0\xed\xa0\x80 end"
	ways := map[string]struct {
		stdin string
		args  []string
	}{
		"prompt":   {"writeFile a content: " + payload, nil},
		"achilles": {"writeFile a\n" + payload, []string{"--tools", "achilles"}},
		"words":    {"", []string{"writeFile", "a", payload}},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if _, stderr, code := play(t, &cli{}, way.stdin, append([]string{"-C", dir}, way.args...)...); code != exitOK {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			got, err := os.ReadFile(filepath.Join(dir, "a"))
			if err != nil || string(got) != payload {
				t.Errorf("\n got %q, %v\nwant %q", got, err, payload)
			}
		})
	}
}

// TestHostilePrompt puts prompts that no client means. Each gets one clear error,
// soon, and the folder stays as it was.
func TestHostilePrompt(t *testing.T) {
	long := strings.Repeat("n", 1<<20)
	for _, tt := range []struct {
		name, prompt, want string
	}{
		{"empty", "", "No input provided for file-system operation"},
		{"blanks", strings.Repeat(" ", 1<<20), "Unknown operation: undefined"},
		{"blanks in between", "readFile" + strings.Repeat(" ", 1<<20) + "missing",
			"ENOENT: no such file or directory, open '"},
		{"newlines", strings.Repeat("\n", 1<<20), "Unknown operation: undefined"},
		{"NUL", "\x00", "Unknown operation: \x00"},
		{"NUL in the path", "readFile a\x00b", "a\\x00b"},
		{"NUL in the destination", "copyFile keep destination: a\x00b", "a\\x00b"},
		{"NUL in a quoted path", "writeFile \"a\x00b\" x", "a\\x00b"},
		{"no UTF-8", "\xff\xfe readFile keep", "Unknown operation: \xff\xfe"},
		{"no UTF-8 in the path", "readFile a\xff", "ENOENT: "},
		{"long operation", long, "Unknown operation: nnn"},
		{"long path", "readFile " + long, "ENAMETOOLONG: name too long, open '"},
		{"open quote", "readFile \"" + long, "ENAMETOOLONG: "},
		{"brackets", strings.Repeat("[", 1<<20), "Unknown operation: ["},
		{"braces", strings.Repeat("{", 1<<20), "ERR: no tool_calls provided"},
		{"nested", strings.Repeat(`{"tool_calls":[`, 1<<16), "ERR: no tool_calls provided"},
		{"cut off", `{"tool_calls":[{"id":"1","type":"function","function":{"name":"delete_file","arguments":"{\"path\":\"keep\"}"}}`, "ERR: no tool_calls provided"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "keep"), []byte("keep"), 0o644); err != nil {
				t.Fatal(err)
			}
			before := snapshot(t, dir)
			start := time.Now()
			stdout, stderr, code := play(t, &cli{}, tt.prompt, "-C", dir, "--fallback", "none")
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("took %v", took)
			}
			if code != exitFailed || stdout != "" || !strings.HasPrefix(stderr, "skill: ") ||
				!strings.Contains(stderr, tt.want) {
				t.Errorf("got %.80q %.200q %d, want %q", stdout, stderr, code, tt.want)
			}
			if after := snapshot(t, dir); strings.Join(before, "\n") != strings.Join(after, "\n") {
				t.Errorf("the folder holds %q", after)
			}
		})
	}
}

// The error of an endpoint comes first and whole, also where the rules understood a part.
func TestEndpointErrorComesFirst(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		io.WriteString(w, `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error"}}`)
	}))
	defer server.Close()
	_, stderr, code := play(t, &cli{}, "", "-C", t.TempDir(), "--openai-base-url", server.URL,
		"--skill-model", "m", "rename a.txt to uppercase")
	first, rest, _ := strings.Cut(stderr, "\n")
	if code != exitFailed || !strings.HasPrefix(first, "skill: the model's endpoint cannot be used: ") ||
		!strings.Contains(first, "401") ||
		!strings.HasPrefix(rest, `I understood "rename a.txt"`) {
		t.Errorf("%d: %s", code, stderr)
	}
}
