package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestReadme holds the README of the fleet to the program and to the tests that it names.
func TestReadme(t *testing.T) {
	data, err := os.ReadFile("../../skill/fleet/README.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	var listed, known []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z]+)[^`]*` \\|").FindAllStringSubmatch(text, -1) {
		listed = append(listed, m[1])
	}
	for _, cmd := range (&cli{getenv: os.Getenv}).command().Commands() {
		if name := cmd.Name(); name != "help" && name != "completion" {
			known = append(known, name)
		}
	}
	slices.Sort(listed)
	slices.Sort(known)
	if !slices.Equal(listed, known) {
		t.Errorf("the table has %q, and the program %q", listed, known)
	}

	block := regexp.MustCompile("(?ms)^```toml\n(.*?)^```$").FindStringSubmatch(text)
	var s settings
	if block == nil {
		t.Error("there is no fleet.toml")
	} else if err := decodeSettings([]byte(block[1]), &s); err != nil || s.Worker.Slots != 16 || !s.Tenants["research"].Trust {
		t.Errorf("fleet.toml: %+v, %v", s, err)
	}

	tests := map[string]bool{}
	for _, pattern := range []string{"*_test.go", "../../skill/mcpserver/*_test.go", "../../skill/fleet/*_test.go", "../../skill/fleet/*/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			code, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(code), -1) {
				tests[m[1]] = true
			}
		}
	}
	for _, name := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(text, -1) {
		if !tests[name[1]] {
			t.Errorf("there is no %s", name[1])
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| a ") && !strings.Contains(line, "`Test") {
			t.Errorf("no test is named by %q", line)
		}
	}
}
