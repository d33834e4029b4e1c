//go:build unix

package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"textskill/skill"
)

// TestDescriptors has a step make 64 files, each in 12 new folders, where a process may have
// 256 descriptors: no flush waits for so many changes that they run out.
func TestDescriptors(t *testing.T) {
	var list []string
	for i := range 64 {
		list = append(list, fmt.Sprintf(`writeTextFile {"path":"%d/%sf","text":"x"}`, i,
			strings.Repeat("d/", 11)))
	}
	l := newLab(t, calls(list...), calls("attemptCompletion {}"), "done")
	x, err := skill.New(skill.Config{Dir: l.dir})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	l.cfg.Executor = x
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 256, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	defer syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was)
	events, err := l.run("go")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if e.ToolResult != nil && e.ToolResult.IsError {
			t.Errorf("%+v", e.ToolResult)
		}
	}
	for i := range 64 {
		if data, err := os.ReadFile(filepath.Join(l.dir, fmt.Sprint(i), strings.Repeat("d/", 11), "f")); err != nil || string(data) != "x" {
			t.Errorf("file %d holds %q: %v", i, data, err)
		}
	}
}
