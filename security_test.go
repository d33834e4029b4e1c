package textskill_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurity has every test that SECURITY.md names exist, and every row of its
// tables name one.
func TestSecurity(t *testing.T) {
	text, err := os.ReadFile("SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	for _, file := range sources(t) {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range function.FindAllSubmatch(data, -1) {
			there[string(m[1])] = true
		}
	}
	named := regexp.MustCompile("`(Test\\w+)`")
	for _, m := range named.FindAllSubmatch(text, -1) {
		if !there[string(m[1])] {
			t.Errorf("there is no %s", m[1])
		}
	}
	for line := range strings.Lines(string(text)) {
		head := strings.HasPrefix(line, "| what |") || strings.HasPrefix(line, "|---|")
		if strings.HasPrefix(line, "|") && !head && !named.MatchString(line) {
			t.Errorf("no test backs %s", line)
		}
	}
}

// TestWorkflowsArePinned has every action of the workflows name its commit: a tag may
// be moved.
func TestWorkflowsArePinned(t *testing.T) {
	files, err := filepath.Glob(".github/workflows/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	action := regexp.MustCompile(`(?m)uses:\s*(\S+)`)
	pinned := regexp.MustCompile(`@[0-9a-f]{40}$`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range action.FindAllSubmatch(text, -1) {
			if !pinned.Match(m[1]) {
				t.Errorf("%s uses %s; write the commit of it", file, m[1])
			}
		}
	}
}
