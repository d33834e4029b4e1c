package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"textskill/dialect"
)

// goldens are the golden prompt files, a folder for each dialect.
const goldens = "../../testdata/"

// prompted are the dialects that a prompt can be of.
var prompted = []*dialect.Dialect{dialect.Achilles, dialect.Filesystem}

// TestGolden plays the golden prompt files as "skill test" does.
func TestGolden(t *testing.T) {
	for _, d := range prompted {
		files, err := filepath.Glob(goldens + d.Name + "/*.txtar")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", d.Name, len(files), err)
		}
		for _, name := range files {
			t.Run(d.Name+"/"+strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
				diff, err := testFile(t.Context(), name, *update)
				if err != nil {
					t.Fatal(err)
				}
				if diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// TestGoldenRule holds every golden file to its first line, which says the rule.
func TestGoldenRule(t *testing.T) {
	files, err := filepath.Glob(goldens + "*/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if line, _, _ := strings.Cut(string(data), "\n"); len(line) < 20 || strings.HasPrefix(line, "--") {
			t.Errorf("%s begins with %q, want a sentence that says the rule", name, line)
		}
	}
}

// TestGoldenOfEveryTool looks for the golden file of every row.
func TestGoldenOfEveryTool(t *testing.T) {
	for _, d := range prompted {
		for _, tool := range d.Tools {
			data, err := os.ReadFile(goldens + d.Name + "/" + tool.Name + ".txtar")
			if err != nil {
				t.Error(err)
				continue
			}
			for _, name := range append(tool.Aliases, tool.Name) {
				if !hasPrompt(string(data), d, name) {
					t.Errorf("%s/%s.txtar has no prompt with %s", d.Name, tool.Name, name)
				}
			}
		}
	}
}

// hasPrompt tells whether a golden file has a prompt that calls name.
func hasPrompt(golden string, d *dialect.Dialect, name string) bool {
	call := "-- prompt --\n" + name + " "
	if d == dialect.Filesystem {
		call = `"name":"` + name + `"`
	}
	return strings.Contains(golden, call)
}
