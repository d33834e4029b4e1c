package agent

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"textskill/testdata/needs"
)

func TestBudget(t *testing.T) {
	// an answer that comes only when it is no longer waited for
	slow := func(ctx context.Context) (Answer, error) {
		<-ctx.Done()
		return Answer{}, ctx.Err()
	}
	different := []any{calls(`todo {"newTodos":["1"]}`), calls(`todo {"newTodos":["2"]}`),
		calls(`todo {"newTodos":["3"]}`), calls(`todo {"newTodos":["4"]}`)}
	for _, tt := range []struct {
		name    string
		budget  Budget
		answers []any
		steps   int
		reason  string
	}{
		{"tokens", Budget{Tokens: 220}, different, 2, "220 tokens are used, of 220"},
		{"cost", Budget{Cost: 0.0005, Price: &Price{Input: 1, Output: 10}}, different, 3,
			"$0.0006 is spent, of $0.0005"},
		{"equal calls", Budget{EqualCalls: 3},
			[]any{calls("todo {}"), calls("todo"), calls(`todo {"newTodos":["1"]}`), calls("todo"),
				calls("todo"), calls("todo")}, 6, "the same call was made 3 times in a row: todo {}"},
		{"time of a request", Budget{Time: 30 * time.Millisecond}, []any{slow}, 1,
			"the time of 30ms is over"},
		{"time of a tool", Budget{Time: 300 * time.Millisecond},
			[]any{calls(`exec {"command":"sleep","args":["600"],"env":{},"cwd":".","stdout":true,"stderr":true}`)}, 1, "the time of 300ms is over"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "time of a tool" {
				needs.Program(t, "sleep")
			}
			l := newLab(t, tt.answers...)
			l.cfg.Budget = tt.budget
			events := l.ran("go")
			last := events[len(events)-1]
			if last.Type != StopRunByExceededMaxSteps || !strings.Contains(last.Reason, tt.reason) ||
				last.StepNumber != tt.steps {
				t.Errorf("the run ends with %s in step %d: %s", last.Type, last.StepNumber, last.Reason)
			}
			if c := l.from(); c.Status != StoppedByExceededMaxSteps || c.StepNumber != tt.steps {
				t.Errorf("the last checkpoint is %s of step %d", c.Status, c.StepNumber)
			}
			l.answers = append(slices.Clone(l.answers[:len(l.asked)]),
				calls("clearTodo", "attemptCompletion"), "done")
			l.cfg.Budget, l.cfg.From, l.cfg.Continue = Budget{}, nil, "run"
			if events := l.ran(""); events[len(events)-1].Type != CompleteRun {
				t.Errorf("going on: %s", types(events))
			}
		})
	}
}

// TestBudgetOfDelegates spends the budget in a delegate.
func TestBudgetOfDelegates(t *testing.T) {
	l := newTeam(t, calls(`worker {"query":"do X"}`), calls("todo"))
	l.cfg.Budget.Tokens = 220
	const want = "[coord] startRun/1 startGeneration/1 callDelegate/1 stopRunByDelegate/1 [@me/worker] startRun/2 startGeneration/2 callTool/2 resolveToolResult/2 finishToolCall/2 stopRunByExceededMaxSteps/2"
	if got := experts(l.ran("go")); got != want {
		t.Errorf("events\n got %s\nwant %s", got, want)
	}
}

func TestPrices(t *testing.T) {
	known, err := ReadPrices([]byte(`{"gpt-4o-mini":{"input":1,"output":2},"local":{"input":0,"output":0}}`))
	if err != nil {
		t.Fatal(err)
	}
	used := Usage{InputTokens: 3e6, CachedInputTokens: 1e6, CacheWriteTokens: 1e5, OutputTokens: 1e6}
	for model, want := range map[string]float64{
		"openai/gpt-4o-2024-08-06": 2*2.5 + 1.25 + 10, "GPT-4o-mini": 3 + 2, "local-8b": 0,
		"gpt-4-turbo":       3*10 + 30,
		"gpt-4o-2024-05-13": 3*5 + 15, "gpt-3.5-turbo-0125": 3*0.5 + 1.5,
		"claude-opus-5-20260724": 1.9*5 + 0.1*6.25 + 0.5 + 25,
		"claude-sonnet-4-5":      1.9*3 + 0.1*3.75 + 0.3 + 15,
	} {
		if p := known.Of(model); p == nil || math.Abs(p.Cost(used)-want) > 1e-9 {
			t.Errorf("%s costs %v, want %v", model, p, want)
		}
	}
	for _, model := range []string{"nobody-knows", "gpt-5.1", "gpt-5-pro", "o3-pro", "claude-opus-4-9",
		"claude-opus-6", "claude-opus-5-9", "claude-opus-5.5", "gemini-2.5-flash-image", "gemini-2.5-pro",
		"gpt-3.5-turbo-16k", "deepseek-chat"} {
		if p := known.Of(model); p != nil {
			t.Errorf("%s has a price of %+v", model, *p)
		}
	}
	for _, wrong := range []string{`{"m":{"inputs":1}}`, `[`, `{"m":1}`,
		`{"m":{"input":1,"output":2,"cachedInput":-1}}`, `{"m":{"input":-1}}`} {
		if _, err := ReadPrices([]byte(wrong)); err == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
}

// TestRounds has calls that go round with the same results, and such that do not.
func TestRounds(t *testing.T) {
	read := func(file string) string { return `readTextFile {"path":"` + file + `"}` }
	for _, tt := range []struct {
		name  string
		calls func(i int) Answer
		steps int
		told  bool
	}{
		{"two in turn", func(i int) Answer { return calls(read([]string{"a", "b"}[i%2])) }, 12, true},
		{"three in turn", func(i int) Answer { return calls(read([]string{"a", "b", "c"}[i%3])) }, 18, true},
		{"four in turn", func(i int) Answer { return calls(read([]string{"a", "b", "c", "a"}[i%4])) }, 24, true},
		{"two in one answer", func(i int) Answer { return calls(read("a"), read("b")) }, 6, true},
		{"a log that grows", func(i int) Answer {
			return calls(read([]string{"a", "log"}[i%2]),
				fmt.Sprintf(`appendTextFile {"path":"log","text":"%d"}`, i))
		}, 30, false},
		{"one again and again", func(i int) Answer { return calls(read("a")) }, 25, false},
	} {
		l := newLab(t)
		for _, name := range []string{"a", "b", "c", "log"} {
			os.WriteFile(filepath.Join(l.dir, name), []byte(name+"\n"), 0o666)
		}
		for i := range 40 {
			l.answers = append(l.answers, tt.calls(i))
		}
		l.cfg.MaxSteps, l.cfg.Budget.EqualCalls = 30, 25
		events := l.ran("go")
		told := false
		for _, r := range l.asked {
			for _, m := range r.Messages {
				for _, p := range m.Contents {
					for _, c := range p.Contents {
						told = told || strings.Contains(c.Text, "times round")
					}
				}
			}
		}
		if last := events[len(events)-1]; last.Type != StopRunByExceededMaxSteps ||
			len(l.asked) != tt.steps || told != tt.told {
			t.Errorf("%s: %d requests, want %d; told %t; it ends with %s %s", tt.name, len(l.asked),
				tt.steps, told, last.Type, last.Reason)
		}
	}
}

// TestSilentCut has an endpoint that counts the same tokens whatever it is sent.
func TestSilentCut(t *testing.T) {
	l := newLab(t)
	var warned []string
	l.cfg.Warn = func(what string) { warned = append(warned, what) }
	for i := range 6 {
		os.WriteFile(filepath.Join(l.dir, fmt.Sprint("f", i)), []byte(strings.Repeat("line\n", 1500)), 0o666)
		a := calls(fmt.Sprintf(`readTextFile {"path":"f%d"}`, i))
		a.Usage = Usage{InputTokens: 4096, OutputTokens: 5, TotalTokens: 4101}
		l.answers = append(l.answers, a)
	}
	l.cfg.Model = talker(func(ctx context.Context, r Request) (Answer, error) {
		if r.Tools == nil {
			return Answer{Text: "summary"}, nil
		}
		return l.script.Next(ctx, r)
	})
	l.cfg.MaxSteps = 6
	events := l.ran("go")
	if compacted := strings.Count(types(events), "compactConversation"); compacted == 0 || len(warned) != 1 {
		t.Errorf("compacted %d times, warned %q: %s", compacted, warned, types(events))
	}
}
