//go:build unix

package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"textskill/skill"
	"textskill/skill/dialect"
)

func TestToolsAreListedAsTheirDialectsHaveThem(t *testing.T) {
	both := []*dialect.Dialect{dialect.Perstack, dialect.Filesystem}
	s, _ := newServer(t, nil, func(cfg *Config) { cfg.Dialects = both })
	c := connect(t, s)
	c.greet("2025-11-25", "{}")
	listed := c.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).Result.Tools
	for _, d := range both {
		for i := range d.Tools {
			tool := &d.Tools[i]
			if len(listed) == 0 || listed[0].Name != tool.Name {
				t.Fatalf("%s is not where it belongs: %+v", tool.Name, listed)
			}
			a := listed[0].Annotations
			if *a.ReadOnlyHint != (tool.Effect == dialect.Reads) ||
				*a.DestructiveHint != (tool.Effect == dialect.Destroys) {
				t.Errorf("%s is annotated %+v", tool.Name, a)
			}
			listed = listed[1:]
		}
	}
	if len(listed) > 0 {
		t.Errorf("nobody has %+v", listed)
	}
}

func TestListIsSmall(t *testing.T) {
	s, _ := newServer(t, nil, perstack)
	c := connect(t, s)
	c.greet("2025-11-25", "{}")
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if n := len(c.next()); n > 8000 {
		t.Errorf("the list of tools has %d bytes", n)
	}
}

func TestDialectsThatShareANameAreRefused(t *testing.T) {
	s, _ := newServer(t, nil)
	for _, list := range [][]*dialect.Dialect{{dialect.Achilles, dialect.Perstack},
		{dialect.Filesystem, dialect.Filesystem}} {
		_, err := New(Config{Executor: s.cfg.Executor, Dialects: list})
		if err == nil || !strings.Contains(err.Error(), list[0].Name) ||
			!strings.Contains(err.Error(), list[1].Name) {
			t.Errorf("%s and %s: %v", list[0].Name, list[1].Name, err)
		}
	}
	if _, err := New(Config{Executor: s.cfg.Executor}); err == nil {
		t.Error("a server without a dialect is made")
	}
}

// TestProgress lets an operation report at once, after a while, out of order, at
// its end, and after its answer. It does so again where the machine stopped for so long that
// nothing was too soon.
func TestProgress(t *testing.T) {
	late := make(chan func() (stopped bool), 10)
	s, _ := newServer(t, map[string]string{"a.txt": "alpha"}, func(cfg *Config) {
		cfg.Progress = func(ctx context.Context,
			report func(done, total int64, note string)) context.Context {
			began := time.Now()
			report(1, 0, "too soon")
			stopped := time.Since(began) >= progressEvery
			time.Sleep(progressEvery)
			began = time.Now()
			report(5, 0, "five")
			report(6, 0, "too soon after it")
			stopped = stopped || time.Since(began) >= progressEvery
			time.Sleep(progressEvery)
			report(4, 0, "less than before")
			report(10, 10, "all")
			late <- func() bool {
				report(11, 11, "too late")
				return stopped
			}
			return ctx
		}
	})
	at, _ := serveHTTP(t, s, HTTP{})
	h := newHTTPClient(t, at)
	c := connect(t, s)
	c.greet("2025-11-25", "{}")
	read := func(meta string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a.txt"}%s}}`, meta)
	}
	want := []string{`7 5 0 "five"`, `7 10 10 "all"`, "alpha"}
	for door, ask := range map[string]func(line string) []string{
		"HTTP": func(line string) (lines []string) {
			_, body := h.post(line)
			for event := range strings.SplitSeq(body, "\n") {
				if data, ok := strings.CutPrefix(event, "data: "); ok {
					lines = append(lines, c.told(data))
				}
			}
			return lines
		},
		"stdio": func(line string) (lines []string) {
			for c.send(line); len(lines) == 0 || lines[len(lines)-1] != "alpha"; {
				lines = append(lines, c.told(c.next()))
			}
			return lines
		},
	} {
		lines := ask(read(`,"_meta":{"progressToken":7}`))
		for (<-late)() {
			lines = ask(read(`,"_meta":{"progressToken":7}`))
		}
		if !slices.Equal(lines, want) {
			t.Errorf("over %s the client gets %q, want %q", door, lines, want)
		}
	}
	for _, meta := range []string{`,"_meta":{}`, ``, `,"_meta":{"progressToken":12345678901234567890}`} {
		c.send(read(meta))
		if got := c.told(c.next()); got != "alpha" {
			t.Errorf("without a token the client gets %q", got)
		}
	}
}

// told is what a message says, progress or an answer.
func (c *lineClient) told(line string) string {
	a := c.parse(line)
	if a.Method != "notifications/progress" {
		return a.text()
	}
	var p struct {
		ProgressToken   json.RawMessage
		Progress, Total float64
		Message         string
	}
	if err := json.Unmarshal(a.Params, &p); err != nil {
		c.t.Fatal(err)
	}
	return fmt.Sprintf("%s %v %v %q", p.ProgressToken, p.Progress, p.Total, p.Message)
}

// TestTraceOfTheClient reports a call with the trace context that its client has sent.
func TestTraceOfTheClient(t *testing.T) {
	var traces []string
	x, err := skill.New(skill.Config{Dir: newWorkspace(t, nil), NoSync: true,
		Called: func(c skill.Call) { traces = append(traces, c.Tool+" "+c.Trace) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	s, _ := newServer(t, nil, func(c *Config) { c.Executor = x })
	c := connect(t, s)
	c.greet("2025-06-18", "{}")
	for _, meta := range []string{`{"traceparent":"00-1"}`, `{"traceparent":7}`, `{}`} {
		c.ask(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"file_exists","arguments":{"path":"a"},"_meta":` + meta + `}}`)
	}
	c.ask(call(8, "file_exists", `{"path":"a"}`))
	if want := []string{"file_exists 00-1", "file_exists ", "file_exists ", "file_exists "}; !slices.Equal(traces, want) {
		t.Errorf("calls are reported as %q, not %q", traces, want)
	}
}
