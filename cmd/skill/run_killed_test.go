package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// appendingEndpoint is a model that appends the numbers from 0 to 11 to a file, moves
// it, and goes by the conversation: a call with a result is done. After an interrupted one it
// looks at the file, as the model is told to.
func appendingEndpoint(t *testing.T, dir string) *httptest.Server {
	const numbers = 12
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Tools    []any
			Messages []struct {
				Role      string
				Content   any
				ToolCalls []struct {
					ID       string
					Function struct{ Arguments string }
				} `json:"tool_calls"`
				ToolCallID string `json:"tool_call_id"`
			}
		}
		json.NewDecoder(r.Body).Decode(&asked)
		number, done, finished := map[string]int{}, map[int]bool{}, map[int]bool{}
		for _, m := range asked.Messages {
			for _, c := range m.ToolCalls {
				n := -1
				var in struct{ Text string }
				json.Unmarshal([]byte(c.Function.Arguments), &in)
				fmt.Sscan(in.Text, &n)
				number[c.ID] = n
			}
			n, ok := number[m.ToolCallID]
			switch {
			case m.Role != "tool" || !ok || n < 0:
			case !strings.Contains(fmt.Sprint(m.Content), "Interrupted"):
				if finished[n] {
					t.Errorf("%d was appended twice", n)
				}
				done[n], finished[n] = true, true
			default:
				data, _ := os.ReadFile(filepath.Join(dir, "numbers"))
				done[n] = done[n] || strings.Contains("\n"+string(data), fmt.Sprintf("\n%d\n", n))
			}
		}
		var a scriptedAnswer
		next := 0
		for done[next] {
			next++
		}
		switch {
		case asked.Tools == nil:
			a.Text = "all done"
		case next == numbers:
			json.Unmarshal([]byte(`{"tools":[{"id":"end","name":"attemptCompletion","input":{}}]}`), &a)
		default:
			body := fmt.Sprintf(`{"tools":[{"id":"t%d","name":"appendTextFile","input":{"path":"numbers","text":"%d\n"}},{"id":"r%d","name":"readTextFile","input":{"path":"numbers"}}]}`, len(asked.Messages), next, len(asked.Messages))
			body = strings.ReplaceAll(body, "\n", `\n`)
			if err := json.Unmarshal([]byte(body), &a); err != nil {
				panic(err)
			}
		}
		a.write(w, len(asked.Messages), len(asked.Messages)%2 == 1)
	}))
	t.Cleanup(s.Close)
	return s
}

// kills is how many kills of a test are worth their time: all of them every night.
func kills(every, nightly int) int {
	if os.Getenv("SKILL_TEST_LONG") != "" {
		return nightly
	}
	return every
}

// TestRunKilledLaw kills runs at random moments and continues them. No finished call is made
// twice, none is lost, and the files are what the history says: undone, all is as it was.
func TestRunKilledLaw(t *testing.T) {
	t.Parallel()
	killed, finished, usual := 0, 0, 400*time.Millisecond
	for wanted := kills(20, 500); killed < wanted; finished++ {
		dir := newProject(t)
		if err := os.WriteFile(filepath.Join(dir, "numbers"), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		before := tree(t, dir)
		endpoint := appendingEndpoint(t, dir).URL
		args := []string{"e", "go", "--run-id", "r"}
		begun := time.Now()
		for done := false; !done; {
			if done = killedRun(t, dir, endpoint, rand.N(usual), args); !done {
				killed++
				usual += usual / 20 // or no step comes to an end where a start takes longer
			}
			args = []string{"e", "--continue"}
			if _, err := os.Stat(filepath.Join(dir, "perstack/runs/r/run-setting.json")); err != nil {
				args = []string{"e", "go", "--run-id", "r"}
			}
		}
		// so that about one in two is killed, however slow the machine is
		usual = (usual + time.Since(begun)/2) / 2
		if got := tree(t, dir)["numbers"]; got != "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n" {
			t.Fatalf("after %d kills the file holds %q", killed, got)
		}
		if _, stderr, code := play(t, &cli{}, "", "-C", dir, "undo", "--run", "r"); code != 0 {
			t.Fatalf("after %d kills the run cannot be undone: %s", killed, stderr)
		}
		if got := tree(t, dir); !reflect.DeepEqual(got, before) {
			t.Fatalf("after %d kills the run leaves %v when it is undone", killed, got)
		}
		if out, _, code := play(t, &cli{}, "", "-C", dir, "log", "--check", "r"); code != 0 {
			t.Fatalf("after %d kills the records are damaged: %s", killed, out)
		}
	}
	t.Logf("%d kills in %d runs", killed, finished)
}
