package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writingEndpoint is a model that writes a.txt and reports that in JSON.
func writingEndpoint(t *testing.T) *httptest.Server {
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Tools    []any
			Messages []struct{ Role string }
		}
		json.NewDecoder(r.Body).Decode(&asked)
		done := 0
		for _, m := range asked.Messages {
			if m.Role == "tool" {
				done++
			}
		}
		body := `{"text":"{\"files\":[{\"name\":\"a.txt\"}]}"}`
		switch {
		case asked.Tools == nil:
		case done == 0:
			body = `{"tools":[{"id":"1","name":"writeTextFile","input":{"path":"a.txt","text":"hi"}}]}`
		default:
			body = `{"tools":[{"id":"2","name":"attemptCompletion","input":{}}]}`
		}
		var a scriptedAnswer
		if err := json.Unmarshal([]byte(body), &a); err != nil {
			t.Error(err)
		}
		a.write(w, done, false)
	}))
	t.Cleanup(endpoint.Close)
	return endpoint
}

// TestRecordedRun plays what a recorded run wrote, without its model.
func TestRecordedRun(t *testing.T) {
	dir, name := newProject(t), filepath.Join(t.TempDir(), "x.txtar")
	env := map[string]string{"OPENAI_BASE_URL": writingEndpoint(t).URL + "/v1", "SKILL_MODEL": "m",
		"SKILL_STATE": t.TempDir()}
	var out bytes.Buffer
	c := &cli{console: console{stdin: strings.NewReader(""), stdout: &out, stderr: &out, getenv: func(name string) string { return env[name] }}, helper: ownProgram()}
	if code := c.run(t.Context(), []string{"run", "-C", dir, "--fence=auto", "--max-steps=9", "e",
		"Write " + dir + "/a.txt.", "--record", name}); code != exitOK {
		t.Fatalf("exit %d\n%s", code, out.String())
	}
	got, err := os.ReadFile(name)
	const want = "Which rule does this show?\n-- flags --\n--fence=auto --max-steps=9\n-- perstack.toml --\n[experts.e]\ninstruction = \"Do it.\"\n" +
		"-- llm --\nwriteTextFile {\"path\":\"a.txt\",\"text\":\"hi\"}\n-- llm --\nattemptCompletion {}\n" +
		"-- llm --\n{\"files\":[{\"name\":\"a.txt\"}]}\n-- run --\ne Write $WORK/a.txt.\n-- want --\n  e: Write $WORK/a.txt.\nwriteTextFile "
	if err != nil || !strings.HasPrefix(string(got), want) {
		t.Errorf("%v\n%s\nwant at its beginning\n%s", err, got, want)
	}
	out.Reset()
	delete(env, "OPENAI_BASE_URL")
	if code := c.run(t.Context(), []string{"test", "--fence=auto", name}); code != exitOK ||
		out.String() != "1 passed, 0 failed\n" {
		t.Errorf("exit %d\n%s", code, out.String())
	}
}

// TestGoldenModel asks an endpoint what a section model asks, and holds what it does to the rules.
func TestGoldenModel(t *testing.T) {
	endpoint := writingEndpoint(t)
	const head = "-- perstack.toml --\n[experts.e]\ninstruction = \"Do it.\"\n-- model --\ne Write a.txt.\n"
	for _, row := range []struct {
		name, rules string
		live        bool
		code        int
		want        string
	}{
		{"rules that hold, in any order",
			"json files.0.name \"a.txt\"\ncalls attemptCompletion\nfile a.txt hi\ncalls writeTextFile {\"path\":\"a.txt\"}\ncontains a.txt\nnot calls deleteFile\n",
			true, exitOK, "1 passed, 0 failed\n"},
		{"not asked", "contains b.txt\n", false, exitOK,
			"1 passed, 0 failed; questions to a model left out: 1 (--live asks them)\n"},
		{"a text that is not in the report", "contains b.txt\n", true, exitFailed,
			"model: this does not hold: contains b.txt\n  it called writeTextFile {\"path\":\"a.txt\",\"text\":\"hi\"}\n"},
		{"a call with other arguments", "calls writeTextFile {\"path\":\"b.txt\"}\n", true, exitFailed,
			"does not hold: calls writeTextFile {\"path\":\"b.txt\"}\n"},
		{"a call that must not be", "not calls writeTextFile\n", true, exitFailed,
			"does not hold: not calls writeTextFile\n"},
		{"another value", "json files.0.name \"b\"\n", true, exitFailed,
			"does not hold: json files.0.name \"b\"\n"},
		{"no such rule", "says b\n", false, exitFailed, "model: says b: a rule is contains TEXT, "},
		{"no rule", "\n", false, exitFailed, "model: it has no rule; add one below"},
	} {
		t.Run(row.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "x.txtar")
			file := head + row.rules +
				"-- tree --\nperstack.toml \"[experts.e]\\ninstruction = \\\"Do it.\\\"\\n\"\n"
			if err := os.WriteFile(name, []byte(file), 0o666); err != nil {
				t.Fatal(err)
			}
			env := map[string]string{"OPENAI_BASE_URL": endpoint.URL + "/v1", "SKILL_MODEL": "m"}
			var out bytes.Buffer
			c := &cli{console: console{stdin: strings.NewReader(""), stdout: &out, stderr: &out, getenv: func(name string) string { return env[name] }}, helper: ownProgram()}
			args := []string{"test", "--fence=auto", name}
			if row.live {
				args = append(args, "--live")
			}
			if code := c.run(t.Context(), args); code != row.code ||
				!strings.Contains(out.String(), row.want) {
				t.Errorf("exit %d, want %d, and %q in:\n%s", code, row.code, row.want, out.String())
			}
		})
	}
}
