package pack

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// treeOf makes a folder with n files of about 2 KB of text, ten in each folder.
func treeOf(b testing.TB, n int) string {
	dir := b.TempDir()
	rnd := rand.New(rand.NewPCG(1, 2))
	words := []string{"func", "return", "error", "folder", "the", "of", "(ctx", "nil)", "{\n", "}\n",
		":=", "range"}
	for i := range n {
		sub := filepath.Join(dir, fmt.Sprintf("pkg%d/part%d", i/100, i/10))
		if i%10 == 0 {
			if err := os.MkdirAll(sub, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		var text []byte
		for len(text) < 2000 {
			text = append(append(text, words[rnd.IntN(len(words))]...), ' ')
			text = fmt.Append(text, rnd.IntN(1000))
		}
		if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("file%d.go", i)), text, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

var sizes = []int{1000, 10_000, 20_000}

// BenchmarkFirst stores all files.
func BenchmarkFirst(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir := treeOf(b, n)
			for b.Loop() {
				m := newMemory()
				snapshot(b, open(b, Options{Blobs: m}, dir))
				b.ReportMetric(float64(m.bytes)/1e6, "MB")
				b.ReportMetric(float64(m.puts), "puts")
			}
		})
	}
}

// BenchmarkStep stores three changed files, with a hint or with a walk.
func BenchmarkStep(b *testing.B) {
	for _, n := range sizes {
		for _, walk := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/walk=%v", n, walk), func(b *testing.B) {
				dir := treeOf(b, n)
				m := newMemory()
				f := open(b, Options{Blobs: m}, dir)
				snapshot(b, f)
				m.puts, m.bytes = 0, 0
				i := 0
				for b.Loop() {
					b.StopTimer()
					var changed []string
					for _, k := range []int{3, n / 2, n - 1} {
						name := fmt.Sprintf("pkg%d/part%d/file%d.go", k/100, k/10, k)
						changed = append(changed, name)
						if err := os.WriteFile(filepath.Join(dir, name), fmt.Appendf(nil, "%d %d", k, i),
							0o644); err != nil {
							b.Fatal(err)
						}
					}
					i++
					b.StartTimer()
					if _, err := f.Snapshot(b.Context(), changed, walk); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(m.bytes)/float64(i), "bytes/step")
				b.ReportMetric(float64(m.puts)/float64(i), "puts/step")
			})
		}
	}
}

// BenchmarkRestore writes all files.
func BenchmarkRestore(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			o := Options{Blobs: newMemory()}
			manifest := snapshot(b, open(b, o, treeOf(b, n)))
			for b.Loop() {
				b.StopTimer()
				dir := b.TempDir()
				b.StartTimer()
				if _, err := Restore(b.Context(), o, manifest, dir); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				os.RemoveAll(dir)
				b.StartTimer()
			}
		})
	}
}
