package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// A nativeRow is what a host, or a program of a vendor, did with calls of its own tools, or
// what its documentation says of them.
type nativeRow struct {
	ID, Vendor   string
	Setup, After []fixture

	Prompt        *string // a text command; rows with a Skill are of another program
	Skill         string
	Result, Error *string
}

// TestConformanceOptions replays the text commands with options:.
func TestConformanceOptions(t *testing.T) {
	n := 0
	for _, row := range readRows[nativeRow](t, "native.jsonl") {
		if row.Prompt == nil || row.Skill != "" {
			continue
		}
		n++
		t.Run(row.ID, func(t *testing.T) {
			prompt, _ := json.Marshal(row.Prompt)
			o, dir := replayCommand(t, conformanceRow{ID: row.ID, Setup: row.Setup, Prompt: prompt,
				LLM: json.RawMessage("null")})
			said, want := strings.TrimSuffix(o.stdout, "\n"), row.Result
			if row.Error != nil {
				said, _, _ = strings.Cut(strings.TrimPrefix(o.stderr, "skill: "), "\n")
				want = row.Error
			}
			bad := append(differs("answer", strings.ReplaceAll(said, dir, "${ROOT}"), *want),
				treeFaults(o.tree, treeLines(t, row.After, filepath.Clean(dir)))...)
			for _, fault := range append(bad, differs("failed", o.exit != 0, row.Error != nil)...) {
				t.Error(fault)
			}
		})
	}
	if n == 0 {
		t.Error("no row has a text command")
	}
}
