package needs

import (
	"os/exec"
	"strings"
	"testing"
)

// GoCache names the cache of the builds of Go in the environment of the test. Commands that share it
// need not compile Go's library first.
func GoCache(t testing.TB) {
	t.Helper()
	if dir, err := exec.Command("go", "env", "GOCACHE").Output(); err == nil {
		t.Setenv("GOCACHE", strings.TrimSpace(string(dir)))
	}
}
