package agent

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"textskill/skill"
)

// TestFlushesOfAStep counts how often a step waits for the disk: once at its end, and once
// for all of its changes, with which the records that their calls have begun are flushed.
func TestFlushesOfAStep(t *testing.T) {
	const write, more = `writeTextFile {"path":"f","text":"x"}`, `appendTextFile {"path":"g","text":"x"}`
	for _, tt := range []struct {
		calls []string
		want  int32
	}{
		{[]string{write}, 2},
		{[]string{more}, 2},
		{[]string{`editTextFile {"path":"g","oldText":"x","newText":"y"}`}, 2},
		{[]string{`moveFile {"source":"g","destination":"h"}`}, 2},
		{[]string{`deleteFile {"path":"g"}`}, 2},
		{[]string{`createDirectory {"path":"a/b/c"}`}, 2},
		{[]string{`readTextFile {"path":"g"}`, write}, 2},
		{[]string{`readTextFile {"path":"g"}`, `listDirectory {"path":"."}`}, 1},
		{[]string{`todo {"newTodos":["x"],"completedTodos":[0]}`}, 1},
		{[]string{`deleteFile {"path":"missing"}`}, 1},
		{[]string{write, more, more, `readTextFile {"path":"g"}`, `moveFile {"source":"g","destination":"h"}`,
			`deleteFile {"path":"f"}`}, 2},
		{[]string{write, more, `exec {"command":"x","args":[],"env":{},"cwd":".","stdout":true,"stderr":true}`, write, more}, 3},
	} {
		l := newLab(t, calls(tt.calls...), calls("attemptCompletion {}"), "done")
		x, err := skill.New(skill.Config{Dir: l.dir})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		if _, err := x.Execute(t.Context(), &skill.Session{}, skill.WriteFile{Path: "g", Content: "x"}); err != nil {
			t.Fatal(err)
		}
		var flushes atomic.Int32
		l.cfg.Executor = x
		l.cfg.point = func(at moment) {
			if at == beforeFlush {
				flushes.Add(1)
			}
		}
		began, counted := int32(0), false
		for e, err := range Run(t.Context(), l.cfg, "go") {
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case e.Type == StartGeneration && e.StepNumber == 1:
				began = flushes.Load()
			case e.Type == ContinueToNextStep && !counted:
				counted = true
				if got := flushes.Load() - began; got != tt.want {
					t.Errorf("%q: %d flushes, want %d", tt.calls, got, tt.want)
				}
			}
		}
		if !counted {
			t.Errorf("%q: the step does not end", tt.calls)
		}
	}
}

// TestSettle ends a step of three writes while their results wait for the disk. Each reported event
// is recorded, and a caller who has stopped listening hears no more.
func TestSettle(t *testing.T) {
	for name, tt := range map[string]struct {
		recorded func(l *lab, path string, cancel func()) // after each record
		// the caller stops listening once the context is done
		stop bool
		want string // the last error
	}{
		"canceled": {func(l *lab, path string, cancel func()) { cancel() }, false,
			"context canceled"},
		"canceled, and not heard": {func(l *lab, path string, cancel func()) { cancel() }, true, ""},
		"no folder for records": {func(l *lab, path string, cancel func()) {
			if strings.Contains(path, string(ResolveToolResult)) {
				dir := filepath.Join(l.dir, filepath.Dir(path))
				os.Rename(dir, dir+".gone")
				os.WriteFile(dir, nil, 0o644)
			}
		}, false, "the run cannot be recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, calls(`writeTextFile {"path":"a","text":"x"}`,
				`writeTextFile {"path":"b","text":"x"}`, `writeTextFile {"path":"c","text":"x"}`))
			x, err := skill.New(skill.Config{Dir: l.dir})
			if err != nil {
				t.Fatal(err)
			}
			defer x.Close()
			l.cfg.Executor = x
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			began, records, told := 0, 0, 0
			l.cfg.Recorded = func(path string) {
				if strings.Contains(path, string(CallTool)) {
					began++
				}
				if strings.Contains(path, string(ResolveToolResult)) {
					records++
				}
				if began == 3 {
					tt.recorded(l, path, cancel)
				}
			}
			last := ""
			for e, err := range Run(ctx, l.cfg, "go") {
				if err != nil {
					last = err.Error()
				}
				if e.Type == ResolveToolResult {
					told++
				}
				if tt.stop && ctx.Err() != nil {
					break
				}
			}
			if told > records || !strings.Contains(last, tt.want) || tt.want == "" && last != "" {
				t.Errorf("%d results were reported and %d recorded; the error is %q", told, records, last)
			}
		})
	}
}
