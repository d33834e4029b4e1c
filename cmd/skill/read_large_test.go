package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestReadLarge reads files of several sizes with --json, which prints all of them up to 64 MiB.
func TestReadLarge(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "large file.txt")
	for _, tt := range []struct{ size, content int }{{3 << 20, 3 << 20}, {64 << 20, 64 << 20}, {64<<20 + 5, 64 << 20}} {
		if err := os.WriteFile(name, bytes.Repeat([]byte("a"), tt.size), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, stdin := range []string{"", `readFile "large file.txt"`} {
			args := []string{"-C", dir, "--json"}
			if stdin == "" {
				args = append(args, "readFile", "large file.txt")
			}
			out, errs, code := play(t, &cli{}, stdin, args...)
			var line struct {
				Notes []string
				Data  struct {
					Content   string
					Size      int
					Truncated bool
				}
			}
			if err := json.Unmarshal([]byte(out), &line); err != nil || code != 0 {
				t.Fatalf("exit %d, %v, %.100s%s", code, err, out, errs)
			}
			var notes []string
			if tt.size > tt.content {
				notes = []string{fmt.Sprintf("content has the first %d of %d bytes; the rest: skill exec -- tail -c +%d '%s'",
					tt.content, tt.size, tt.content+1, name)}
			}
			if len(line.Data.Content) != tt.content || line.Data.Size != tt.size ||
				line.Data.Truncated != (notes != nil) || !slices.Equal(line.Notes, notes) {
				t.Errorf("%d bytes: %d were read, %+v %q", tt.size, len(line.Data.Content), line.Data.Truncated, line.Notes)
			}
		}
	}
}
