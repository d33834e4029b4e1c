package llmfallback

import (
	"context"
	"strings"
	"testing"
	"time"
)

// large are prompts of about n bytes.
func large(n int) map[string]string {
	return map[string]string{
		"please":    strings.Repeat("please ", n/7),
		"spaces":    "read" + strings.Repeat(" ", n) + "a.txt",
		"quotes":    strings.Repeat(`"a'b`+"`", n/5),
		"openers":   strings.Repeat("\"a ", n/3),
		"closed":    strings.Repeat(`"a" `, n/4),
		"one word":  strings.Repeat("a", n),
		"slashes":   "read " + strings.Repeat("a/", n/2),
		"folders":   "list files in the " + strings.Repeat("A B ", n/4) + "folder",
		"content":   "create a.txt with content: " + strings.Repeat("word and ", n/9),
		"json":      "create a.json with " + strings.Repeat("[", n),
		"brackets":  "create a.json with " + strings.Repeat("[", n/2) + strings.Repeat("]", n/2),
		"points":    strings.Repeat(".", n),
		"lines":     strings.Repeat("\n", n),
		"facts":     strings.Repeat("I have all and ", n/15),
		"listings":  "list all files and " + strings.Repeat("and folders or files in a, ", n/27),
		"in":        "create a folder " + strings.Repeat("in docs ", n/8),
		"moves":     "move a.txt " + strings.Repeat("to docs and rename it b.txt ", n/28),
		"no spaces": strings.Repeat("把文件", n/9),
		"names":     strings.Repeat("a.txt ", n/6),
	}
}

// A prompt of 100 KB costs no more than looking at it once, with the guard, too.
func TestLargePrompts(t *testing.T) {
	Read("warm up")
	for name, prompt := range large(100 << 10) {
		x, err := New(Config{Mode: LLM, Stat: having(),
			Complete: func(context.Context, string) (string, error) {
				return `{"operation":"moveFile","path":"a.txt","content":null,"destination":"docs"}`, nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		best := time.Hour
		for range 3 {
			start := time.Now()
			Read(prompt)
			best = min(best, time.Since(start))
		}
		start := time.Now()
		_, _ = x.Extract(t.Context(), prompt)
		t.Logf("%-10s read %v, extracted %v", name, best, time.Since(start))
		if best > 200*time.Millisecond { // 20 ms where nothing else runs
			t.Errorf("%s: %v", name, best)
		}
	}
}
