package skill

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// The test counts all allocations of its process, the ones of the history among them.
func TestExecOutputIsBounded(t *testing.T) {
	eachWay(t, func(t *testing.T, helper string) {
		x := newExecutor(t, Config{Helper: helper})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := mustExec(t, x, sh(`echo first; yes "a line of the flood" | head -c 100000000; echo; echo last; yes err | head -c 3000000 >&2`))
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 32<<20 {
			t.Errorf("%d bytes were allocated for 100 MB of output", used)
		}
		total := int64(len("first\n") + 100000000 + len("\nlast\n"))
		marker := fmt.Sprintf("flood\n[… %d bytes left out …]\na line of", got.StdoutCut)
		if !bytes.HasPrefix(got.Stdout, []byte("first\na line")) ||
			!bytes.HasSuffix(got.Stdout, []byte("\nlast\n")) || !bytes.Contains(got.Stdout, []byte(marker)) {
			t.Errorf("stdout: %.60q … %.60q", got.Stdout, got.Stdout[len(got.Stdout)-60:])
		}
		line := int64(len(fmt.Sprintf("[… %d bytes left out …]\n", got.StdoutCut)))
		if kept := int64(len(got.Stdout)) - line; kept+got.StdoutCut != total || kept > 1<<20 ||
			kept < 1<<20-2*4096 {
			t.Errorf("kept %d and cut %d of %d", kept, got.StdoutCut, total)
		}
		if got.StderrCut == 0 || len(got.Stderr) > 1<<20+64 {
			t.Errorf("stderr: %d bytes, %d cut", len(got.Stderr), got.StderrCut)
		}
	})
}

func TestExecMaxOutput(t *testing.T) {
	x := newExecutor(t, Config{})
	got := mustExec(t, x, Exec{Command: "seq", Args: []string{"1000"}, MaxOutput: 20})
	if string(got.Stdout) != "1\n2\n3\n4\n5\n[… 3874 bytes left out …]\n999\n1000\n" ||
		got.StdoutCut != 3874 {
		t.Errorf("%q, %d", got.Stdout, got.StdoutCut)
	}
}

// Exec does not wait for a stream that another process holds open.
func TestExecAnswersThoughAPipeIsHeldOpen(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, helper string) {
		x := newExecutor(t, Config{Helper: helper})
		for _, script := range []string{"sleep 60 & printf x", "setsid sleep 60 & sleep 0.1; printf x"} {
			got := mustExec(t, x, sh(script))
			if string(got.Stdout) != "x" || got.ExitCode != 0 || got.Elapsed > 50*time.Second {
				t.Errorf("%s: %+v", script, got)
			}
		}
	})
}

// A command runs even if the file of its log cannot be created.
func TestExecLogsWhereItCan(t *testing.T) {
	x := newExecutor(t, Config{})
	long := Exec{Command: "sh", Args: []string{"-c", "seq 1000"}, MaxOutput: 100, Log: true}
	got := mustExec(t, x, long)
	if data, err := os.ReadFile(got.Log); err != nil || len(data) != 3893 || got.LogCut != 0 ||
		got.StdoutCut == 0 {
		t.Errorf("%s: %d bytes, %v", got.Log, len(data), err)
	}
	output := filepath.Dir(got.Log)
	if err := os.RemoveAll(output); err != nil {
		t.Fatal(err)
	}
	writeFile(t, output, "", 0o644)
	if got := mustExec(t, x, long); got.Log != "" || got.StdoutCut == 0 || got.ExitCode != 0 {
		t.Errorf("%+v", got)
	}
	if got := mustExec(t, x, Exec{Command: "sh", Args: []string{"-c", "echo a; echo b >&2"}, Log: true}); got.Log != "" {
		t.Errorf("a log without a file: %+v", got)
	}
}
