package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// buildProgram builds a program as releases are built, static, and returns the path of a copy:
// as the linker leaves it, its pages lie singly in the cache of the kernel, and it takes 5.0 ms
// to answer initialize where copies take 4.1.
func buildProgram(b *testing.B, name string, source ...string) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), name)
	cmd := exec.Command("go", append([]string{"build", "-o", path + ".linked"}, source...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	data, err := os.ReadFile(path + ".linked")
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o755); err != nil {
		b.Fatal(err)
	}
	return path
}

// versus runs a reference and ours alternately and reports the ratio of their times,
// and both times in milliseconds.
func versus(b *testing.B, ours, reference func()) {
	var took, allowed time.Duration
	for b.Loop() {
		start := time.Now()
		reference()
		half := time.Now()
		ours()
		took, allowed = took+time.Since(half), allowed+half.Sub(start)
	}
	n := float64(b.N) * float64(time.Millisecond)
	b.ReportMetric(float64(took)/float64(allowed), "ratio")
	b.ReportMetric(float64(took)/n, "ours-ms")
	b.ReportMetric(float64(allowed)/n, "reference-ms")
}

// runProgram runs a program that has to succeed.
func runProgram(b *testing.B, stdin string, args ...string) (stdout []byte) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin = strings.NewReader(stdin)
	stdout, err := cmd.Output()
	if err != nil {
		b.Fatalf("%q: %v", args, err)
	}
	return stdout
}

// BenchmarkStart compares a text command that looks at a file with a Go program that
// does nothing.
func BenchmarkStart(b *testing.B) {
	source := filepath.Join(b.TempDir(), "empty.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	skill, empty := buildProgram(b, "skill", "."), buildProgram(b, "empty", source)
	dir := b.TempDir()
	versus(b,
		func() { runProgram(b, "", skill, "-C", dir, "fileExists", "a.txt") },
		func() { runProgram(b, "", empty) })
}
