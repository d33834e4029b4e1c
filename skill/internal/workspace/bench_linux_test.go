package workspace

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// versus runs the reference and our code in turns of n, so that both see the same load. It reports the
// medians and their ratio.
func versus(b *testing.B, n int, reference, ours func() error) {
	var times [2][]float64
	for b.Loop() {
		for i, run := range []func() error{reference, ours} {
			start := time.Now()
			for range n {
				if err := run(); err != nil {
					b.Fatal(err)
				}
			}
			times[i] = append(times[i], float64(time.Since(start).Nanoseconds())/float64(n))
		}
	}
	for i := range times {
		slices.Sort(times[i])
	}
	ref, our := times[0][len(times[0])/2], times[1][len(times[1])/2]
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(ref/1000, "reference-µs")
	b.ReportMetric(our/1000, "ours-µs")
	b.ReportMetric(our/ref, "ratio")
}

func BenchmarkReadFile(b *testing.B) {
	for _, portable := range []bool{false, true} {
		b.Run(backend(portable), func(b *testing.B) {
			s := newSite(b, portable)
			s.layout("a/b/f=" + strings.Repeat("x", 4096))
			w, name := s.open(Options{}), s.p("a/b/f")
			versus(b, 100, func() error { _, err := os.ReadFile(name); return err },
				func() error { _, err := w.ReadFile(name); return err })
		})
	}
}

func BenchmarkStat(b *testing.B) {
	s := newSite(b, false)
	s.layout("a/b/f")
	w, name := s.open(Options{}), s.p("a/b/f")
	versus(b, 100, func() error { _, err := os.Stat(name); return err },
		func() error { _, err := w.Stat(name, true); return err })
}

func BenchmarkWriteFile(b *testing.B) {
	data := []byte(strings.Repeat("x", 4096))
	for _, noSync := range []bool{true, false} {
		b.Run(map[bool]string{true: "nosync", false: "durable"}[noSync], func(b *testing.B) {
			s := newSite(b, false)
			s.layout("a/b/f", "a/b/g")
			w, ref, name := s.open(Options{NoSync: noSync}), s.p("a/b/g"), s.p("a/b/f")
			versus(b, 20, func() error { return os.WriteFile(ref, data, 0o644) },
				func() error { return failed(w.WriteFile(bg, name, data, WriteOptions{})) })
		})
	}
}

// BenchmarkCopyTree copies to a new name each time, because ext4 is slow to reuse inodes that were just
// freed.
// BenchmarkChangeFiles changes 30 files of a folder as one change, and each by itself.
func BenchmarkChangeFiles(b *testing.B) {
	s := newSite(b, false)
	var names []string
	for i := range 30 {
		names = append(names, fmt.Sprintf("d/%d=a", i))
	}
	s.layout(names...)
	w := s.open(Options{NoSync: true})
	now, next := []byte("a"), []byte("b")
	versus(b, 1, func() error {
		for i := range names {
			if _, err := w.WriteFile(bg, s.p(fmt.Sprintf("d/%d", i)), now, WriteOptions{}); err != nil {
				return err
			}
		}
		return nil
	}, func() error {
		var list []FileChange
		for i := range names {
			list = append(list, FileChange{Path: s.p(fmt.Sprintf("d/%d", i)), Before: now, After: next})
		}
		now, next = next, now
		_, err := w.ChangeFiles(bg, fixed(list...))
		return err
	})
}

func BenchmarkCopyTree(b *testing.B) {
	s := newSite(b, false)
	for n := range 2000 {
		s.put(s.p(fmt.Sprintf("tree/%d/%d/f%d", n%20, n%7, n)), strings.Repeat("x", 1000+n*7%9000))
	}
	w := s.open(Options{NoSync: true})
	n := 0
	fresh := func() string { n++; return s.p(fmt.Sprintf("copy%d", n)) }
	versus(b, 1, func() error { return exec.Command("cp", "-r", s.p("tree"), fresh()).Run() },
		func() error { return failed(w.Copy(bg, s.p("tree"), fresh(), CopyOptions{Tree: true})) })
}

// BenchmarkEditLarge replaces a word near the end of 1 GB, and reports how much memory that needs.
func BenchmarkEditLarge(b *testing.B) {
	s := newSite(b, false)
	const size = 1 << 30
	line := []byte("some line of text that stands here again and again\n")
	block := bytes.Repeat(line, 1<<20/len(line))
	f, err := os.Create(s.p("f"))
	if err != nil {
		b.Fatal(err)
	}
	for n := 0; n < size; n += len(block) {
		f.Write(block)
	}
	f.WriteString("ZEBRA\n")
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	w := s.open(Options{})
	before := maxRSS()
	versus(b, 1, func() error { return exec.Command("sed", "-i", "0,/ZEBRA/s//ZEBRA/", s.p("f")).Run() },
		func() error { return failed(w.EditFile(bg, s.p("f"), WriteOptions{}, findWord)) })
	b.ReportMetric(float64(maxRSS()-before)/1024, "MB")
}

// findWord searches for the word through a small window.
func findWord(src io.ReaderAt, size int64) (Splice, error) {
	buf := make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(buf)) - 5 {
		n, err := src.ReadAt(buf, at)
		if i := bytes.Index(buf[:n], []byte("ZEBRA")); i >= 0 {
			return Splice{at + int64(i), 5, []byte("ZEBRA")}, nil
		}
		if err != nil && err != io.EOF {
			return Splice{}, err
		}
	}
	return Splice{}, os.ErrNotExist
}

func maxRSS() int64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return int64(u.Maxrss)
}

// BenchmarkJournal compares small writes with and without a journal, both flushed.
func BenchmarkJournal(b *testing.B) {
	data := []byte(strings.Repeat("x", 512))
	for _, noSync := range []bool{false, true} {
		b.Run(map[bool]string{true: "nosync", false: "durable"}[noSync], func(b *testing.B) {
			plain, kept := newSite(b, false), newSite(b, false)
			plain.layout("f")
			kept.layout("f")
			w, j := plain.open(Options{NoSync: noSync, Journal: Journal{Off: true}}),
				kept.open(Options{NoSync: noSync})
			versus(b, 50, func() error { return failed(w.WriteFile(bg, plain.p("f"), data, WriteOptions{})) },
				func() error { return failed(j.WriteFile(bg, kept.p("f"), data, WriteOptions{})) })
		})
	}
}
