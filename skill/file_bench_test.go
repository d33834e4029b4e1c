package skill

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// versus runs ours and a reference in turn and reports how long ours takes as a
// part of the reference's time, and both in milliseconds.
func versus(b *testing.B, ours, reference func()) {
	b.Helper()
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

// program runs a program that has to succeed.
func program(b *testing.B, args ...string) (stdout []byte) {
	b.Helper()
	stdout, err := exec.Command(args[0], args[1:]...).Output()
	if err != nil {
		b.Fatalf("%q: %v", args, err)
	}
	return stdout
}

// BenchmarkTail takes the last lines of a gigabyte, beside the program tail.
func BenchmarkTail(b *testing.B) {
	x, dir := open(b)
	name := filepath.Join(dir, "large")
	lines(b, name, 1<<30)
	var got, want string
	versus(b, func() {
		r, err := x.Execute(b.Context(), &Session{}, ReadFile{Path: "large", Lines: true, From: -10, To: End})
		if err != nil {
			b.Fatal(err)
		}
		got = string(r.(FileRead).Content)
	}, func() {
		want = strings.TrimSuffix(string(program(b, "tail", "-n", "10", name)), "\n")
	})
	if got != want {
		b.Errorf("\n got %q\nwant %q", got, want)
	}
}

// BenchmarkEdit replaces a word in the middle of a large file, beside sed -i, and
// reports the memory that it takes.
func BenchmarkEdit(b *testing.B) {
	x, dir := open(b)
	ours, theirs := filepath.Join(dir, "ours"), filepath.Join(dir, "theirs")
	const size = 256 << 20
	for _, name := range []string{ours, theirs} {
		lines(b, name, size)
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.WriteAt([]byte("needle"), size/2+5); err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
	b.SetBytes(size)
	old, new := "needle", "pinpin"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	versus(b, func() {
		if _, err := x.Execute(b.Context(), &Session{}, EditFile{Path: "ours", Old: old, New: new}); err != nil {
			b.Fatal(err)
		}
		old, new = new, old
	}, func() {
		program(b, "sed", "-i.bak", "s/needle/needle/", theirs)
	})
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/(1<<20), "MB/edit")
}

// lines makes a file of lines.
func lines(b *testing.B, name string, size int) {
	b.Helper()
	f, err := os.Create(name)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	chunk := bytes.Repeat([]byte("The quick brown fox jumps over the lazy dog, as always, here.\n\n"), 1<<14)
	for size > 0 {
		n, err := f.Write(chunk[:min(size, len(chunk))])
		if err != nil {
			b.Fatal(err)
		}
		size -= n
	}
}
