package llmfallback

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"testing"
)

// Replies of a model that was fooled, or is wrong: none makes a change that
// is not to be confirmed.
func TestHostileReplies(t *testing.T) {
	hostile(t, "testdata/hostile.jsonl", 255)
	hostile(t, "testdata/hostile-more.jsonl", 100)
}

func hostile(t *testing.T, name string, atLeast int) {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows := 0
	for in := bufio.NewScanner(f); in.Scan(); rows++ {
		var row struct {
			Kind, Prompt, Reply string
			There               []string
		}
		if err := json.Unmarshal(in.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		x, err := New(Config{
			Mode: LLM, Stat: having(row.There...),
			Complete: func(context.Context, string) (string, error) { return row.Reply, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := x.Extract(t.Context(), row.Prompt)
		if err == nil && !got.harmless() && !got.incomplete() {
			t.Errorf("%s: %q\n did %+v", row.Kind, row.Prompt, got.Extraction)
		}
	}
	if rows < atLeast {
		t.Errorf("%d rows", rows)
	}
}
