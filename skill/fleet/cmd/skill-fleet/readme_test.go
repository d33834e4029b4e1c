package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// TestReadme compares the README of the fleet with the program, and reads the example fleet.toml.
func TestReadme(t *testing.T) {
	data, err := os.ReadFile("../../README.md")
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

	example, err := os.ReadFile("../../deploy/fleet.toml")
	if err != nil {
		t.Fatal(err)
	}
	var s settings
	example = append([]byte("\ufeff"), example...) // as editors on Windows write it
	if err := decodeSettings(example, &s); err != nil || s.Worker.Slots != 16 ||
		!s.Tenants["research"].Trust {
		t.Errorf("fleet.toml: %+v, %v", s, err)
	}
}

// TestFailures looks for the tests in the table of failures.
func TestFailures(t *testing.T) {
	tests := map[string]bool{}
	for _, pattern := range []string{"*_test.go", "../../../mcpserver/*_test.go",
		"../../*_test.go", "../../*/*_test.go"} {
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
	for _, f := range failures {
		if len(f.tests) == 0 {
			t.Errorf("%s: no test is named", f.cause)
		}
		for _, name := range f.tests {
			if !tests[name] {
				t.Errorf("%s: there is no %s", f.cause, name)
			}
		}
	}
}
