package mcpserver

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"textskill/skill"
	"textskill/skill/dialect"
)

// TestHosts plays what hosts send, recorded, to a server with our transport and to one with the
// SDK's, and compares the answers byte by byte.
func TestHosts(t *testing.T) {
	files, err := filepath.Glob("testdata/hosts/*.jsonl")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			workspace := func(cfg *Config) {
				cfg.Dialects, cfg.Progress = []*dialect.Dialect{dialect.Workspace}, skill.WithProgress
			}
			ours, oursDir := newServer(t, map[string]string{"a.txt": "alpha"}, workspace)
			sdks, sdksDir := newServer(t, map[string]string{"a.txt": "alpha"}, workspace)
			a, b := connect(t, ours), connectSDK(t, sdks)
			for line := range bytes.Lines(data) {
				var m struct {
					ID     any
					Method string
					Params struct{ Name string }
				}
				if err := json.Unmarshal(line, &m); err != nil {
					t.Fatal(err)
				}
				play := func(line []byte) (got, want string) {
					a.send(strings.ReplaceAll(strings.TrimSpace(string(line)), "${ROOT}", oursDir))
					b.send(strings.ReplaceAll(strings.TrimSpace(string(line)), "${ROOT}", sdksDir))
					if m.ID == nil {
						return "", ""
					}
					return strings.ReplaceAll(a.next(), oursDir, "WORK"),
						strings.ReplaceAll(b.next(), sdksDir, "WORK")
				}
				if m.Params.Name == "run" { // it needs a helper
					continue
				}
				if got, want := play(line); got != want {
					t.Errorf("%.200s\n got %.300s\nwant %.300s", line, got, want)
				}
			}
		})
	}
}
