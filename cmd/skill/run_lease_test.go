package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
)

// TestRunContinuedTwice continues a run in two processes at once: one of them works, and
// the other says who does.
func TestRunContinuedTwice(t *testing.T) {
	t.Parallel()
	pairs := kills(5, 50)
	var first, second scriptedAnswer
	json.Unmarshal([]byte(`{"tools":[{"id":"a","name":"appendTextFile","input":{"path":"a","text":"x"}}]}`), &first)
	json.Unmarshal([]byte(`{"tools":[{"id":"b","name":"attemptCompletion","input":{}}]}`), &second)
	inUse := regexp.MustCompile(`^skill: the run \w+ is in use by (process \d+ on .+ since .+|another process); wait until it has ended, or end it\n$`)
	for range pairs {
		dir := newProject(t)
		if err := os.WriteFile(filepath.Join(dir, "a"), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		endpoint := scriptedEndpoint(t, []scriptedAnswer{first}).URL
		if _, stderr, code := skillRun(t, dir, endpoint, false, "e", "go", "--max-steps", "1"); code != 0 {
			t.Fatal(stderr)
		}
		exited := make(chan bool) // once one of the two has ended
		asked, mu := 0, sync.Mutex{}
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			n := asked
			asked++
			mu.Unlock()
			switch n {
			case 0:
				<-exited
				first.write(w, n, false)
			case 1:
				second.write(w, n, false)
			default:
				(scriptedAnswer{Text: "done"}).write(w, n, false)
			}
		}))
		defer s.Close()
		type end struct {
			events int
			stderr string
			code   int
		}
		ends := make(chan end, 2)
		for range 2 {
			go func() {
				events, stderr, code := skillRun(t, dir, s.URL, false, "e", "--continue")
				ends <- end{len(events), stderr, code}
			}()
		}
		loser := <-ends
		close(exited)
		winner := <-ends
		if loser.events != 0 || loser.code != 1 || !inUse.MatchString(loser.stderr) {
			t.Errorf("the second: %+v", loser)
		}
		if winner.code != 0 || asked != 3 {
			t.Errorf("the first: %+v, after %d requests", winner, asked)
		}
		if got := tree(t, dir)["a"]; got != "xx" {
			t.Errorf("the file holds %q", got)
		}
	}
}
