//go:build unix

package mcpserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAReplacedWorkspaceIsOpenedAgain removes the workspace of a running server and makes
// it anew, twice, and a folder that a client has named as its root.
func TestAReplacedWorkspaceIsOpenedAgain(t *testing.T) {
	s, dir := newServer(t, map[string]string{"sub/a.txt": "first"})
	defer s.Close()
	narrow, whole := connect(t, s), connect(t, s)
	narrow.greet("2025-11-25", `{"roots":{}}`)
	whole.greet("2025-11-25", "{}")
	read := call(1, "read_file", `{"path":"`+dir+`/sub/a.txt"}`)
	answers := func(want string) {
		t.Helper()
		narrow.send(read)
		if a := narrow.tellRoots(dir + "/sub"); !strings.Contains(a.text(), want) {
			t.Errorf("the narrowed client is answered %s, not %s", a.text(), want)
		}
		if a := whole.ask(read); !strings.Contains(a.text(), want) {
			t.Errorf("the other client is answered %s, not %s", a.text(), want)
		}
	}
	answers("first")
	for _, content := range []string{"second", "third"} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		answers("was removed; make the folder again")
		writeFile(t, dir+"/sub/a.txt", content)
		answers(content)
		if a := whole.ask(call(2, "write_file", `{"path":"b.txt","content":"x"}`)); a.Result.IsError {
			t.Error(a.text())
		}
		if _, err := os.Stat(dir + "/b.txt"); err != nil {
			t.Error(err)
		}
	}
	if err := os.Rename(dir, dir+"-moved"); err != nil {
		t.Fatal(err)
	}
	answers("third") // nothing is in its place
	if err := os.Symlink(filepath.Base(dir)+"-moved", dir); err != nil {
		t.Fatal(err)
	}
	if a := whole.ask(read); !strings.Contains(a.text(), "leads elsewhere") {
		t.Errorf("with a link in place of the workspace: %s", a.text())
	}
}
