//go:build unix

package mcpserver

import (
	"os"
	"strings"
	"testing"
)

// TestReplacedWorkspace removes the workspace of a running server and makes it again: a call
// of either client reads neither.
func TestReplacedWorkspace(t *testing.T) {
	s, dir := newServer(t, map[string]string{"sub/a.txt": "first"})
	narrow, whole := connect(t, s), connect(t, s)
	narrow.greet("2025-11-25", `{"roots":{}}`)
	whole.greet("2025-11-25", "{}")
	read := call(1, "read_file", `{"path":"`+dir+`/sub/a.txt"}`)
	narrow.send(read)
	first := narrow.tellRoots(dir + "/sub")
	answers := func(want string) {
		t.Helper()
		for _, c := range []*lineClient{narrow, whole} {
			if a := c.ask(read); !strings.Contains(a.text(), want) {
				t.Errorf("the answer is %s, not %s", a.text(), want)
			}
		}
	}
	if first.text() != "first" {
		t.Error(first.text())
	}
	answers("first")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	answers("was removed; make the folder again")
	writeFile(t, dir+"/sub/a.txt", "second")
	answers("start skill again to use that")
}
