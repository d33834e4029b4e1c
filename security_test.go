package textskill_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSecurity has every test of the guarantees exist, and every guarantee name one.
func TestSecurity(t *testing.T) {
	there := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(\w+ \*testing\.[TF]\)`)
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
	for line := range strings.Lines(guarantees) {
		if !strings.HasPrefix(line, "  ") {
			continue
		}
		named := regexp.MustCompile(`\b(?:Test|Fuzz)\w+`).FindAllString(line[strings.LastIndex(line,
			":")+1:], -1)
		if len(named) == 0 {
			t.Errorf("no test backs %s", line)
		}
		for _, name := range named {
			if !there[name] {
				t.Errorf("there is no %s", name)
			}
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
