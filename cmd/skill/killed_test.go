package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"textskill/testdata/needs"
)

// answered finds the ID of a change in an answer of any kind.
var answered = regexp.MustCompile(`"undo":"(\d+)"`)

// killedPrograms are what is killed: each returns arguments and standard input, given the
// first of 40 numbers of its own. The first writers of them do nothing but write files.
var killedPrograms = []func(n int) (args []string, stdin string){
	func(n int) ([]string, string) {
		return []string{"--no-sync", "--json", "writeFile", fmt.Sprint("f", n), "content:",
			killedContent(n)}, ""
	},
	func(n int) ([]string, string) {
		var b strings.Builder
		for i := range 40 {
			fmt.Fprintf(&b, "writeFile f%d content: %s\n", n+i, killedContent(n+i))
		}
		return []string{"--no-sync", "--json", "--lines"}, b.String()
	},
	func(n int) ([]string, string) {
		b := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n"
		for i := range 40 {
			b += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"f%d","content":"%s"}}}`+"\n", i+1, n+i, killedContent(n+i))
		}
		return []string{"mcp", "--no-sync", "--tools", "filesystem"}, b
	},
	func(int) ([]string, string) { return []string{"undo", "--no-sync", "--json"}, "" },
	func(n int) ([]string, string) {
		return []string{"--no-sync", "--json", "--tools", "stack",
			fmt.Sprintf("run(command: 'echo %d > run%d')", n, n)}, ""
	},
}

const writers = 3

func killedContent(n int) string { return strings.Repeat(fmt.Sprint(n, " "), 1+n%500) }

// killedWorkspace is one whose programs are killed.
type killedWorkspace struct {
	*testing.T
	dir     string
	changes map[int]string // what each number was given to
	last    int
	killed  int
	usual   time.Duration // so that about one program in two is killed, however slow the machine is
}

// Programs that change a workspace or its history are killed at random moments. Changes that they
// answered is in the history, no number is given twice, files are whole, the next change is
// made, and all that is left can be undone.
func TestKilled(t *testing.T) {
	t.Parallel()
	needs.Shell(t)
	k := &killedWorkspace{T: t, dir: t.TempDir(), changes: map[int]string{}, usual: 50 * time.Millisecond}
	n := 0
	for wanted := kills(60, 2000); k.killed < wanted && !t.Failed(); {
		before := k.tree()
		since := k.write("0")
		for range 10 {
			program := rand.IntN(len(killedPrograms))
			k.round(program, n)
			n += 40
		}
		_, stderr, _ := play(t, &cli{}, "", "-C", k.dir, "--no-sync", "undo", "--since", strconv.Itoa(since))
		if now := k.tree(); !reflect.DeepEqual(now, before) {
			t.Errorf("undone since %d there is %.2000v\nwant %.2000v\n%s", since, now, before, stderr)
		}
	}
	t.Logf("%d kills, %d changes", k.killed, k.last)
}

// tree is what the workspace holds, but for what commands made: those that were killed are not
// recorded.
func (k *killedWorkspace) tree() map[string]string {
	files := tree(k.T, k.dir)
	for name := range files {
		if strings.HasPrefix(name, "run") {
			delete(files, name)
		}
	}
	return files
}

// write makes a change, which must be possible, and returns its number.
func (k *killedWorkspace) write(content string) int {
	k.Helper()
	out, stderr, code := play(k.T, &cli{}, "", "-C", k.dir, "--no-sync", "--json", "writeFile", "alive",
		"content:", content)
	found := answered.FindStringSubmatch(out)
	if code != 0 || found == nil {
		k.Fatalf("nothing can be written: %s %s", out, stderr)
	}
	id, _ := strconv.Atoi(found[1])
	if id <= k.last {
		k.Errorf("the number %d comes after %d", id, k.last)
	}
	k.last = id
	return id
}

// round starts a program, kills it, and looks at what it left.
func (k *killedWorkspace) round(program, n int) {
	args, stdin := killedPrograms[program](n)
	out := k.kill(args, stdin)
	var acknowledged []int
	for _, found := range answered.FindAllStringSubmatch(out, -1) {
		id, _ := strconv.Atoi(found[1])
		acknowledged = append(acknowledged, id)
	}
	after := k.write(fmt.Sprint(n))
	out, stderr, code := play(k.T, &cli{}, "", "-C", k.dir, "--json", "history", "-n", "100")
	var history struct {
		Data struct {
			Changes []struct{ ID, Path, Time, Kind string }
			Damaged int
		}
	}
	if err := json.Unmarshal([]byte(out), &history); err != nil || code != 0 || history.Data.Damaged > 0 {
		k.Fatalf("%v: the history is %s %s", args, out, stderr)
	}
	listed := map[int]string{}
	for _, c := range history.Data.Changes {
		id, _ := strconv.Atoi(c.ID)
		listed[id] = c.Path
		what := c.Time + " " + c.Path
		if was := k.changes[id]; was != "" && was != what {
			k.Errorf("%v: the number %d was given to %s, and is given to %s", args, id, was, what)
		}
		k.changes[id] = what
	}
	for _, id := range acknowledged {
		path, ok := listed[id]
		if !ok {
			k.Errorf("%v: change %d was acknowledged, and the history up to %d has %v", args, id,
				after, listed)
		} else if _, err := os.Stat(path); err != nil && program < writers {
			k.Errorf("%v: change %d was acknowledged: %v", args, id, err)
		}
	}
	for i := range 40 {
		name := fmt.Sprint("f", n+i)
		if data, err := os.ReadFile(filepath.Join(k.dir, name)); err == nil &&
			strings.TrimSpace(string(data)) != strings.TrimSpace(killedContent(n+i)) {
			k.Errorf("%v: %s is torn: %q", args, name, data)
		}
	}
}

// kill runs a program, and kills it if it is not ready in time. It returns what it said.
func (k *killedWorkspace) kill(args []string, stdin string) string {
	self, err := os.Executable()
	if err != nil {
		k.Fatal(err)
	}
	var out, stderr strings.Builder
	cmd := &exec.Cmd{Path: self, Args: append([]string{"skill", "-C", k.dir}, args...), Dir: k.dir,
		Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &stderr, WaitDelay: time.Second}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		k.Fatal(err)
	}
	timer := time.AfterFunc(rand.N(k.usual), func() { cmd.Process.Kill() })
	err = cmd.Wait()
	if timer.Stop() {
		// there may be nothing to undo
		if k.usual = (k.usual + 2*time.Since(begun)) / 2; err != nil && args[0] != "undo" {
			k.Errorf("%v: %v %s", args, err, stderr.String())
		}
	} else {
		k.killed++
	}
	return out.String() + stderr.String()
}
