package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"textskill/testdata/needs"
)

const oneExpert = "[experts.e]\ninstruction = \"Do it.\"\n"

// steadyEndpoint is a model that always says the same at the same point of a
// conversation: thirty steps with a call each. It makes a call that was interrupted again,
// which changes nothing more.
func steadyEndpoint(t *testing.T) *httptest.Server {
	const steps = 30
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
			if m.Role == "tool" && !strings.Contains(fmt.Sprint(m.Content), "Interrupted") {
				n++
			}
		}
		var a scriptedAnswer
		call := func(name, format string, args ...any) {
			body := fmt.Sprintf(`{"tools":[{"id":"t%d","name":%q,"input":%s}]}`, n, name,
				fmt.Sprintf(format, args...))
			if err := json.Unmarshal([]byte(body), &a); err != nil {
				panic(err)
			}
		}
		switch {
		case asked.Tools == nil:
			a.Text = "all done"
		case n == 0:
			call("todo", `{"newTodos":["write","move"]}`)
		case n == steps-2:
			call("todo", `{"completedTodos":[0,1]}`)
		case n >= steps-1:
			if n >= steps {
				t.Errorf("the model is asked for call %d", n+1)
			}
			call("attemptCompletion", "{}")
		case n%3 == 0:
			call("moveFile", `{"source":"f%d","destination":"d/f%d"}`, n-1, n-1)
		default:
			call("writeTextFile", `{"path":"f%d","text":%q}`, n, strings.Repeat(fmt.Sprint(n, " "), 100))
		}
		a.write(w, n, n%2 == 1)
	}))
	t.Cleanup(s.Close)
	return s
}

// newProject returns a workspace with an expert e.
func newProject(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "perstack.toml"), []byte(oneExpert), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// tree returns the files of a workspace but for records. Records must be whole.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == ".skill" {
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		switch {
		case d.Name() == ".skill.tmp": // left by a kill; the next change in the folder takes it away
		case d.Name() == "lease.json": // its lock counts; what it says may be cut by a kill
		case !strings.HasPrefix(rel, "perstack"+string(filepath.Separator)):
			files[rel] = string(data)
		case !json.Valid(data):
			t.Errorf("%s is not whole: %q", rel, data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestRunKilled kills runs at random moments and goes on each time, until all is
// done.
func TestRunKilled(t *testing.T) {
	t.Parallel()
	kills := 100 / needs.Step(10)
	endpoint := steadyEndpoint(t).URL
	whole := newProject(t)
	start := time.Now()
	if _, stderr, code := skillRun(t, whole, endpoint, false, "e", "go"); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	usual, want := min(time.Since(start), 2*time.Second), tree(t, whole) // the first run may have met a stall
	if len(want) < 15 {
		t.Fatalf("the run left %d files", len(want))
	}
	killed, finished, begun := 0, 0, 0
	for killed < kills {
		dir := newProject(t)
		args := []string{"e", "go"}
		for done, limit := false, usual/4; !done; {
			done = killedRun(t, dir, endpoint, rand.N(limit), args)
			if !done {
				killed++
				limit += usual / 20 // a machine that has become slower comes to an end, too
			}
			args = []string{"e", "--continue"}
			if found, _ := filepath.Glob(filepath.Join(dir, "perstack/runs/*/run-setting.json")); len(found) == 0 {
				args = []string{"e", "go"}
				begun++
			}
			if got := tree(t, dir); done && !reflect.DeepEqual(got, want) {
				t.Fatalf("after kills the workspace holds\n %v\nwant\n %v", got, want)
			}
		}
		finished++
	}
	t.Logf("%d kills in %d runs, %d of them before anything was recorded", killed, finished, begun)
}

// killedRun runs the program for some time. done is whether it had ended by then.
func killedRun(t *testing.T, dir, endpoint string, after time.Duration, args []string) (done bool) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), after)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append([]string{"run", "--no-sync"}, args...)...)
	cmd.Args[0], cmd.Dir = "skill", dir
	cmd.Env = []string{noSleep, "XDG_STATE_HOME=" + os.Getenv("XDG_STATE_HOME"),
		"OPENAI_BASE_URL=" + endpoint, "SKILL_MODEL=m"}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	err = cmd.Run()
	exited, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case strings.Contains(stderr.String(), "the run is completed"): // the kill came between that and the end
		return true
	case ok && exited.ExitCode() >= 0:
		t.Fatalf("%v: %s", args, stderr.String())
	}
	return err == nil
}

// TestRunWithoutATerminal has nobody to ask: standard input and output are /dev/null.
func TestRunWithoutATerminal(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "run", "e", "go", "--ask", "change")
	cmd.Args[0], cmd.Dir = "skill", newProject(t)
	cmd.Env = []string{noSleep, "XDG_STATE_HOME=" + os.Getenv("XDG_STATE_HOME"),
		"OPENAI_BASE_URL=" + steadyEndpoint(t).URL, "SKILL_MODEL=m"}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != exitConfirm ||
		!strings.Contains(stderr.String(), "needs your consent") {
		t.Errorf("%v: %s", err, stderr.String())
	}
}

// TestRunResumedTwice goes on twice from each of some checkpoints: the events are
// the same but for ids and times.
func TestRunResumedTwice(t *testing.T) {
	t.Parallel()
	endpoint := steadyEndpoint(t).URL
	dir := newProject(t)
	events, stderr, code := skillRun(t, dir, endpoint, false, "e", "go")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	tested := 0
	for _, e := range events {
		c, _ := e["checkpoint"].(map[string]any)
		if step, _ := e["stepNumber"].(float64); c == nil || int(step)%7 != 1 {
			continue
		}
		tested++
		first, _, _ := skillRun(t, dir, endpoint, false, "e", "--resume-from", c["id"].(string))
		second, _, code := skillRun(t, dir, endpoint, false, "e", "--resume-from", c["id"].(string))
		if a, b := masked(any(anys(first))), masked(any(anys(second))); code != 0 ||
			!reflect.DeepEqual(a, b) {
			t.Errorf("from step %v, exit %d:\n%v\n%v", e["stepNumber"], code, a, b)
		}
		if got, want := len(first), len(events)-5*int(e["stepNumber"].(float64)); got != want {
			t.Errorf("from step %v: %d events, want %d", e["stepNumber"], got, want)
		}
	}
	if tested < 4 {
		t.Errorf("%d checkpoints were tried", tested)
	}
}

func anys(events []map[string]any) (list []any) {
	for _, e := range events {
		list = append(list, e)
	}
	return list
}

// TestRunForScripts reads the query from standard input, and writes a report that fits a
// schema to a file. The model's first report does not fit.
func TestRunForScripts(t *testing.T) {
	dir := newProject(t)
	schema, report := filepath.Join(dir, "schema.json"), filepath.Join(dir, "report.json")
	if err := os.WriteFile(schema,
		[]byte(`{"type":"object","properties":{"files":{"type":"integer"}},"required":["files"]}`), 0o666); err != nil {
		t.Fatal(err)
	}
	var script []scriptedAnswer
	err := json.Unmarshal([]byte("[{\"tools\":[{\"id\":\"a\",\"name\":\"attemptCompletion\",\"input\":{}}]}, {\"text\":\"two\"},"+
		"{\"tools\":[{\"id\":\"b\",\"name\":\"attemptCompletion\",\"input\":{}}]}, {\"text\":\"```json\\n{\\\"files\\\": 2}\\n```\"}]"), &script)
	if err != nil {
		t.Fatal(err)
	}
	endpoint := scriptedEndpoint(t, script).URL
	var stdout, stderr strings.Builder
	c := &cli{console: console{stdin: strings.NewReader("How many\nfiles?\n"), stdout: &stdout, stderr: &stderr, getenv: func(name string) string {
		return map[string]string{"OPENAI_BASE_URL": endpoint, "SKILL_MODEL": "m"}[name]
	}}}
	if code := c.run(t.Context(), []string{"run", "-C", dir, "e", "--output-schema", schema, "--last-message",
		report}); code != 0 || stderr.Len() > 0 {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	if data, err := os.ReadFile(report); string(data) != `{"files": 2}` {
		t.Errorf("the report is %q, %v", data, err)
	}
	for _, want := range []string{`"text":"How many\nfiles?"`, `does not fit the schema`, `{\"files\": 2}`} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %s in the events\n%s", want, stdout.String())
		}
	}
	c.stdin = strings.NewReader("")
	if code := c.run(t.Context(), []string{"run", "-C", dir, "e", "-"}); code != 1 ||
		!strings.HasSuffix(stderr.String(), "Input message is undefined\n") {
		t.Errorf("without a query: exit %d: %s", code, stderr.String())
	}
}
