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

	"textskill/testdata/needs"
)

const team = `
[experts.e]
instruction = "Coordinate."
delegates = ["worker"]
[experts.worker]
instruction = "Work."
delegates = ["helper"]
[experts.helper]
instruction = "Help."
`

// teamEndpoint is a model that always says the same at the same point of a
// conversation: the first expert gives four tasks, and the second passes each
// on to the third, and does something itself.
func teamEndpoint(t *testing.T) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked struct {
			Tools    []any
			Messages []struct {
				Role    string
				Content any
			}
		}
		if json.NewDecoder(r.Body).Decode(&asked) != nil {
			return // killed while it asked
		}
		n, who, task := 0, fmt.Sprint(asked.Messages[0].Content), fmt.Sprint(asked.Messages[1].Content)
		for _, m := range asked.Messages {
			if m.Role == "tool" && !strings.Contains(fmt.Sprint(m.Content), "Interrupted") {
				n++
			}
		}
		call := func(name, args string) string {
			return fmt.Sprintf(`{"tools":[{"id":"t%d","name":%q,"input":%s}]}`, n, name, args)
		}
		var answer string
		switch {
		case asked.Tools == nil:
			answer = `{"text":"done with ` + task + `"}`
		case strings.Contains(who, "Coordinate.") && n == 0:
			answer = call("todo", `{"newTodos":["all"]}`)
		case strings.Contains(who, "Coordinate.") && n < 5:
			answer = call("worker", fmt.Sprintf(`{"query":"task%d"}`, n))
		case strings.Contains(who, "Coordinate.") && n == 5:
			answer = call("todo", `{"completedTodos":[0]}`)
		case strings.Contains(who, "Work.") && n == 0:
			answer = call("helper", `{"query":"`+task+`"}`)
		case strings.Contains(who, "Work.") && n == 1:
			answer = call("writeTextFile", `{"path":"worker-`+task+`","text":"x"}`)
		case strings.Contains(who, "Help.") && n == 0:
			answer = call("writeTextFile", `{"path":"helper-`+task+`","text":"x"}`)
		default:
			answer = call("attemptCompletion", `{}`)
		}
		var a scriptedAnswer
		if err := json.Unmarshal([]byte(answer), &a); err != nil {
			panic(err)
		}
		a.write(w, n, n%2 == 1)
	}))
	t.Cleanup(s.Close)
	return s
}

// TestRunKilledInDelegation kills runs of experts that wait for each other at random
// moments, and goes on each time, until all is done.
func TestRunKilledInDelegation(t *testing.T) {
	t.Parallel()
	kills := 40 / needs.Step(10)
	endpoint := teamEndpoint(t).URL
	project := func() string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "perstack.toml"), []byte(team), 0o666); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	whole, start := project(), time.Now()
	events, stderr, code := skillRun(t, whole, endpoint, false, "e", "go")
	if code != 0 || events[len(events)-1]["text"] != "done with go" {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	usual, want := min(time.Since(start), 2*time.Second), tree(t, whole) // the first run may have met a stall
	if len(want) != 9 {
		t.Fatalf("the run left %v", want)
	}
	for killed := 0; killed < kills; {
		dir, args := project(), []string{"e", "go"}
		for done, limit := false, usual/3; !done; {
			if done = killedRun(t, dir, endpoint, rand.N(limit), args); !done {
				killed++
				limit += usual / 20 // a machine that has become slower comes to an end, too
			}
			args = []string{"e", "--continue"}
			if found, _ := filepath.Glob(filepath.Join(dir, "perstack/runs/*/run-setting.json")); len(found) == 0 {
				args = []string{"e", "go"}
			}
		}
		if got := tree(t, dir); !reflect.DeepEqual(got, want) {
			t.Fatalf("after kills the workspace holds\n %v\nwant\n %v", got, want)
		}
		// The event may lack: a kill can come between the last checkpoint and that.
		var last struct {
			Status   string
			Messages []struct{ Contents []struct{ Text string } }
		}
		found, _ := filepath.Glob(filepath.Join(dir, "perstack/runs/*/checkpoint-*.json"))
		data, err := os.ReadFile(found[len(found)-1])
		if err == nil {
			err = json.Unmarshal(data, &last)
		}
		if err != nil || last.Status != "completed" ||
			last.Messages[len(last.Messages)-1].Contents[0].Text != "done with go" {
			t.Errorf("the run came to %s, %v", data, err)
		}
	}
}
