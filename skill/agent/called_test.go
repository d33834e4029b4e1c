package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"textskill/skill"
	"textskill/skill/dialect"
)

// TestCalled reports every call of a run: one that is refused, one of a tool that there is
// not, and those that servers answer, too.
func TestCalled(t *testing.T) {
	l := newLab(t, calls(`listDirectory {"path":"."}`, `deleteFile {"path":"a"}`,
		`writeTextFile {"path":"b","text":"secret words"}`, `nope {"a":1}`,
		`echo_text {"text":"hello"}`, `fails {}`, `huge {"n":2}`, `deleteFile [1]`),
		calls("attemptCompletion"), "done")
	l.withSkill("fine", nil)
	var mu sync.Mutex
	var got []string
	cfg := l.cfg.Executor.Config()
	cfg.Called = func(c skill.Call) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, fmt.Sprintf("%s %s %v %s", c.Dialect, c.Tool, c.Arguments, c.Failure))
	}
	x, err := skill.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	l.cfg.Executor = x
	l.cfg.Allow = func(_ context.Context, _ ToolCall, e dialect.Effect) (string, error) {
		if e == dialect.Destroys {
			return "no", nil
		}
		return "", nil
	}
	l.ran("go")
	want := []string{
		"perstack attemptCompletion map[] ", "perstack deleteFile map[path:a] no",
		"perstack deleteFile map[] " + unreadable + "they are [1]",
		// nobody is asked before a new file
		"perstack listDirectory map[path:.] ", "perstack nope map[a:1] Tool nope not found",
		"perstack writeTextFile map[path:b text:[12 bytes]] ",
		"s echo_text map[text:hello] ", "s fails map[] no", "s huge map[n:2] no",
	}
	if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
