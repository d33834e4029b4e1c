// Package needs skips a test on a machine that lacks what the test uses, with a line
// that names it. Where SKILL_TEST_ALL is set, as .ci/run does, the test fails instead.
// It also keeps the settings of the user from the tests.
package needs

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// all is the variable under which no test may be skipped.
const all = "SKILL_TEST_ALL"

// All reports whether no test may be skipped.
func All() bool { return os.Getenv(all) != "" }

// Long skips a test that takes longer than a person waits for all of them. how is its time on a
// quiet machine.
func Long(t testing.TB, how string) {
	t.Helper()
	if !All() {
		t.Skipf("it takes %s: set %s", how, all)
	}
}

// Step is the step of a loop over many cases: each one where SKILL_TEST_LONG is set, as .ci/nightly does, else
// every nth.
func Step(n int) int {
	if os.Getenv("SKILL_TEST_LONG") != "" {
		return 1
	}
	return n
}

// That needs ok to hold: what names what is missing where it does not, and advice says
// what to do about it.
func That(t testing.TB, ok bool, what, advice string) {
	t.Helper()
	switch {
	case ok:
	case All():
		t.Fatalf("needs %s: %s, or unset SKILL_TEST_ALL", what, advice)
	default:
		t.Skipf("needs %s: %s", what, advice)
	}
}

// Program needs all of the named programs on PATH. A name with a slash is a path.
func Program(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		That(t, found(name), name, "install it")
	}
}

// ProgramIn needs the programs in a sandbox, which may hide the files that PATH leads to. run starts
// a program there and returns its standard output, "" if the program failed.
func ProgramIn(t testing.TB, run func(name string, args ...string) string, names ...string) {
	t.Helper()
	for _, name := range names {
		question, ok := asked[name]
		if !ok {
			question = answered{[]string{"sh", "-c", `command -v "$0"`, name}, ""}
		}
		That(t, question.by(run), name+" in the sandbox", "install it for all users, as apt-get does")
	}
}

// answered is a command that works, and the beginning of its output.
type answered struct {
	command []string
	begin   string
}

// asked are commands that show whether a program works. A version manager may put no more than
// the name on PATH.
var asked = map[string]answered{
	"node":    {[]string{"node", "-p", "6*7"}, "42"},
	"npm":     {[]string{"npm", "--version"}, ""},
	"npx":     {[]string{"npx", "--version"}, ""},
	"python3": {[]string{"python3", "-c", "print(6*7)"}, "42"},
	"pip":     {[]string{"python3", "-m", "pip", "--version"}, "pip "},
	"cargo":   {[]string{"cargo", "--version"}, "cargo "},
	"go":      {[]string{"go", "version"}, "go version "},
}

func (a answered) by(run func(name string, args ...string) string) bool {
	out := run(a.command[0], a.command[1:]...)
	return out != "" && strings.HasPrefix(out, a.begin)
}

func found(name string) bool {
	if question, ok := asked[name]; ok {
		return question.by(func(name string, args ...string) string {
			out, err := exec.Command(name, args...).Output()
			if err != nil {
				return ""
			}
			return string(out)
		})
	}
	_, err := exec.LookPath(name)
	return err == nil
}

// Shell needs the shell at its usual place, and the programs that its scripts call.
func Shell(t testing.TB) {
	t.Helper()
	Program(t, "/bin/sh", "cat", "find", "grep", "sleep")
	if runtime.GOOS == "linux" {
		Program(t, "setsid")
	}
}

// Browser needs a Chromium on PATH, under any of its names.
func Browser(t testing.TB) {
	t.Helper()
	for name := range strings.FieldsSeq("chromium chromium-browser google-chrome google-chrome-stable chrome chrome-headless-shell headless_shell") {
		if found(name) {
			return
		}
	}
	That(t, false, "Chromium", "install it")
}

// Root needs a process that may act as any user.
func Root(t testing.TB) {
	t.Helper()
	That(t, os.Geteuid() == 0, "root", "run the tests as root")
}
