package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"textskill/llmfallback/remote"
)

func TestSecretsStayOut(t *testing.T) {
	const secret, quoted = "s3cr3t-value", `say "hi" <&>`
	l := newLab(t,
		calls(`readTextFile {"path":".env"}`, `writeTextFile {"path":"out","text":"KEY=`+secret+`"}`,
			`fly-`+secret+` {"x":"say \"hi\" \u003c&>"}`),
		"no call but "+secret,
		Answer{Cut: true, Text: secret,
			Calls: []Call{{ID: secret, Name: "todo", Arguments: `{"newTodos":["` + secret + `"]}`}}},
		&remote.Error{Reason: "bad key " + secret, Retry: true},
		calls("attemptCompletion"), "the key is "+secret)
	l.cfg.Secrets = []string{secret, quoted}
	l.cfg.About = About{Provider: "openai", BaseURL: "http://u:" + secret + "@h/v1?key=" + secret}
	os.WriteFile(filepath.Join(l.dir, ".env"), []byte("KEY="+secret+"\nWORDS="+quoted+"\n"), 0o600)
	for _, e := range l.ran("use " + secret) {
		data, _ := json.Marshal(e)
		if strings.Contains(string(data), secret) ||
			strings.Contains(strings.ReplaceAll(string(data), `\`, ""), `say "hi`) {
			t.Errorf("an event holds a secret: %s", data)
		}
	}
	if got := l.file("out"); got != "KEY="+secret {
		t.Errorf("the tool wrote %q", got)
	}
	dir := filepath.Join(l.dir, "perstack", "runs", "run")
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < 10 {
		t.Fatalf("%d records, %v", len(entries), err)
	}
	for _, e := range entries {
		data, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		if strings.Contains(string(data), secret) || strings.Contains(strings.ReplaceAll(string(data), `\`, ""), `say "hi`) {
			t.Errorf("%s holds a secret: %s", e.Name(), data)
		}
	}
}

func TestStorageIsLinear(t *testing.T) {
	var answers []any
	for i := range 100 {
		answers = append(answers,
			calls(fmt.Sprintf(`writeTextFile {"path":"f%d","text":"content of file %d"}`, i, i)))
	}
	l := newLab(t, append(answers, calls("attemptCompletion"), "done")...)
	events := l.ran("go")
	size, names := int64(0), map[string]bool{}
	filepath.Walk(filepath.Join(l.dir, "perstack"), func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			size += info.Size()
			names[path] = true
		}
		return err
	})
	if size > 1<<20 {
		t.Errorf("101 steps take %d bytes", size)
	}
	if want := len(events) + 101 + 2; len(names) != want {
		t.Errorf("%d files, want %d", len(names), want)
	}
	t.Logf("101 steps: %d files, %d bytes", len(names), size)
}

func TestLinkedRecordsStayInside(t *testing.T) {
	l := newLab(t, calls("attemptCompletion"), "done")
	outside := t.TempDir()
	os.Mkdir(filepath.Join(l.dir, "perstack"), 0o777)
	if err := os.Symlink(outside, filepath.Join(l.dir, "perstack", "runs")); err != nil {
		t.Fatal(err)
	}
	if events, err := l.run("go"); err == nil || len(events) > 0 {
		t.Errorf("%d events, error %v", len(events), err)
	}
	if entries, _ := os.ReadDir(outside); len(entries) > 0 {
		t.Errorf("written outside: %v", entries)
	}
}

// damage truncates a record of a step.
func (l *lab) damage(pattern string, step int) {
	l.Helper()
	found, err := filepath.Glob(filepath.Join(l.dir, runsDir, "run", fmt.Sprintf(pattern, step)))
	if err != nil || len(found) != 1 {
		l.Fatalf("step %d has the records %q, %v", step, found, err)
	}
	if err := os.Truncate(found[0], 40); err != nil {
		l.Fatal(err)
	}
}

func TestLatestIsWhole(t *testing.T) {
	for _, tt := range []struct {
		damaged int
		events  bool // those that end the step are damaged too
		want    int
	}{{4, false, 4}, {1, false, 4}, {4, true, 3}, {3, true, 2}, {1, true, 0}} {
		l := newLab(t, calls("todo"), calls("todo"), calls("todo"), calls("attemptCompletion"), "done")
		l.ran("go")
		l.damage("checkpoint-*-%d-*.json", tt.damaged)
		if tt.events {
			l.damage("event-*-%d-co*.json", tt.damaged)
		}
		c, err := Records{Executor: l.cfg.Executor}.Latest(t.Context(), "run")
		if c.StepNumber != tt.want || (err == nil) != (tt.want > 0) {
			t.Errorf("with step %d damaged it is step %d, %v; want %d", tt.damaged, c.StepNumber,
				err, tt.want)
		}
		if n := 2 + 2*tt.want + tt.want/4; tt.want > 0 && len(c.Messages) != n {
			t.Errorf("it has %d messages at step %d, want %d", len(c.Messages), tt.want, n)
		}
	}
}

func TestRunIDIsTakenOnce(t *testing.T) {
	l := newLab(t)
	const runs = 4
	errs := make(chan error, runs)
	for range runs {
		cfg := l.cfg
		cfg.Model = &script{answers: []any{calls("attemptCompletion"), "done"}}
		go func() {
			for _, err := range Run(t.Context(), cfg, "go") {
				if err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	began := 0
	for range runs {
		err := <-errs
		if err == nil {
			began++
		} else if !strings.HasPrefix(err.Error(), "there is a run run already") {
			t.Error(err)
		}
	}
	if began != 1 {
		t.Errorf("%d runs began with one id", began)
	}
}
