// Package needs skips a test on a machine that lacks what the test uses, with a line
// that names it. Where SKILL_TEST_ALL is set, as .ci/run does, the test fails instead.
package needs

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// All reports whether no test may be skipped.
func All() bool { return os.Getenv("SKILL_TEST_ALL") != "" }

// Program needs all of the named programs on PATH. A name with a slash is a path.
func Program(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			missing(t, name, "install it")
		}
	}
}

// OneOf needs one of the named programs on PATH.
func OneOf(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err == nil {
			return
		}
	}
	missing(t, strings.Join(names, " or "), "install one of them")
}

// Shell needs the shell at its usual place, and the programs that its scripts call.
func Shell(t testing.TB) {
	t.Helper()
	Program(t, "/bin/sh", "cat", "find", "grep", "sleep")
	if runtime.GOOS == "linux" {
		Program(t, "setsid")
	}
}

// Root needs a process that may act as any user.
func Root(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		missing(t, "root", "run the tests as root")
	}
}

func missing(t testing.TB, what, advice string) {
	t.Helper()
	if All() {
		t.Fatalf("needs %s: %s, or unset SKILL_TEST_ALL", what, advice)
	}
	t.Skipf("needs %s: %s", what, advice)
}
