package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"textskill/skill"
	"textskill/skill/dialect"
)

// TestHosts plays what hosts send, recorded, to a server with our transport and to one with the
// SDK's, and compares the answers byte by byte. Once its roots are known, no call of a host
// reaches the SDK of ours.
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
			var through atomic.Int64
			ours.sdk.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
					if method == "tools/call" {
						through.Add(1)
					}
					return next(ctx, method, req)
				}
			})
			a, b := connect(t, ours), connectSDK(t, sdks)
			var last []byte
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
				if m.Method == "tools/call" {
					last = line
				}
			}
			if last == nil {
				return // recorded without a call
			}
			before := through.Load()
			last = bytes.Replace(last, []byte(`"id":`), []byte(`"id":9`), 1)
			a.send(strings.ReplaceAll(strings.TrimSpace(string(last)), "${ROOT}", oursDir))
			if answer := a.next(); through.Load() != before || strings.Contains(answer, "isError") {
				t.Errorf("%s reached the SDK, or failed: %s", last, answer)
			}
		})
	}
}
