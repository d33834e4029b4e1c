package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"textskill/testdata/needs"
)

// changeNumber finds the ID of a change in what exec and undo say.
var changeNumber = regexp.MustCompile(`(?m)"undo":"(\d+)"|^skill: change (\d+);`)

// A beside is a person who saves files in a workspace while programs are killed.
type beside struct {
	*killedWorkspace
	saved map[string]string // by name, what the person saved last
	count int
}

// TestKilledBeside kills commands, hooks, MCP servers and undos at random moments, while a person saves files.
// No undo changes a file of the person, and the history has each change that was acknowledged.
func TestKilledBeside(t *testing.T) {
	t.Parallel()
	needs.Shell(t)
	// in one workspace: the calls that were killed stay open, and all later changes are shared with them
	const each = 60
	killed, saves := 0, 0
	for wanted := kills(12, 60); killed < wanted && !t.Failed(); {
		b := &beside{killedWorkspace: &killedWorkspace{T: t, dir: t.TempDir(), usual: 50 * time.Millisecond},
			saved: map[string]string{}}
		for n := 0; b.killed < min(each, wanted-killed) && !t.Failed(); n++ {
			b.round(n)
		}
		killed, saves = killed+b.killed, saves+b.count
	}
	t.Logf("%d kills, %d saves", killed, saves)
}

// save saves a file of the person.
func (b *beside) save() {
	b.count++
	name, text := fmt.Sprintf("mine%d", rand.IntN(20)), fmt.Sprintf("save %d\n", b.count)
	at := filepath.Join(b.dir, name)
	var err error
	if b.count%2 == 0 {
		err = os.WriteFile(at, []byte(text), 0o644)
	} else if err = os.WriteFile(at+"~", []byte(text), 0o644); err == nil {
		err = os.Rename(at+"~", at)
	}
	if err != nil {
		b.Error(err)
	}
	b.saved[name] = text
}

// during saves files until do ends.
func (b *beside) during(do func()) {
	ended := make(chan bool)
	go func() {
		defer close(ended)
		do()
	}()
	for {
		select {
		case <-ended:
			return
		case <-time.After(time.Millisecond):
			b.save()
		}
	}
}

// round kills a program, and undoes its change. The person saves nothing while a command runs, because
// nothing tells such a save apart.
func (b *beside) round(n int) {
	event := func(name string) string {
		return fmt.Sprintf(`{"session_id":"S%d","cwd":%q,"prompt_id":"p%d","hook_event_name":%q,`+
			`"tool_name":"Bash","tool_input":{"command":"make"},"tool_use_id":"t%d"}`, n%5, b.dir, n, name, n)
	}
	hook := []string{"hook", "claude-code"}
	said, text := "", fmt.Sprint("by ", n, "\n")
	switch n % 6 {
	case 0, 1:
		said = b.kill([]string{"exec", "--no-sync", "--", "sh", "-c", fmt.Sprintf("echo %d >made%d; echo %d >both", n, n, n)}, "")
	case 2, 3:
		b.kill(hook, event("PreToolUse"))
		os.WriteFile(filepath.Join(b.dir, fmt.Sprint("made", n)), []byte(text), 0o644)
		os.WriteFile(filepath.Join(b.dir, "both"), []byte(text), 0o644)
		b.kill(hook, event("PostToolUse"))
	case 4:
		b.during(func() { said = b.kill(killedPrograms[2](n * 40)) })
	case 5:
		b.during(func() { b.kill([]string{"undo", "--no-sync", "--json"}, "") })
	}
	b.save()
	b.listed(said)
	undo := []string{"-C", b.dir, "--no-sync", "undo"}
	if n%3 == 0 {
		undo = append(undo, "--run", fmt.Sprint("S", rand.IntN(5)))
	}
	before := maps.Clone(b.saved)
	b.during(func() { play(b.T, &cli{}, "", undo...) })
	for name, text := range b.saved {
		if data, err := os.ReadFile(filepath.Join(b.dir, name)); string(data) != text {
			_, log, _ := play(b.T, &cli{}, "", "-C", b.dir, "history")
			b.Errorf("round %d: %s holds %q, and the person saved %q (%q before the undo): %v\n%.2000s", n, name, data,
				text, before[name], err, log)
		}
	}
}

// listed fails if the history lacks a change that a program acknowledged.
func (b *beside) listed(said string) {
	out, stderr, code := play(b.T, &cli{}, "", "-C", b.dir, "--json", "history", "-n", "100")
	var history struct {
		Data struct {
			Changes []struct{ ID string }
			Damaged int
		}
	}
	if err := json.Unmarshal([]byte(out), &history); err != nil || code != 0 || history.Data.Damaged > 0 {
		b.Fatalf("the history is %s %s", out, stderr)
	}
	listed := map[string]bool{}
	for _, c := range history.Data.Changes {
		listed[c.ID] = true
	}
	for _, found := range changeNumber.FindAllStringSubmatch(said, -1) {
		if id := strings.Join(found[1:], ""); !listed[id] {
			b.Errorf("change %s was acknowledged, and the history has %v", id, listed)
		}
	}
}
