package skill

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"textskill/skill/internal/process"
)

// BenchmarkTracked measures the cost of tracking a command that changes nothing in a
// directory of 20,000 files. The metric "find" is the ratio to the time of find -type f.
func BenchmarkTracked(b *testing.B) {
	dir := b.TempDir()
	for i := range 20_000 {
		name := filepath.Join(dir, fmt.Sprintf("d%02d/e%02d/f%d", i%40, i/40%25, i))
		if i < 1000 {
			if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(name, fmt.Append(nil, "content of ", i), 0o666); err != nil {
			b.Fatal(err)
		}
	}
	x := newExecutor(b, Config{Dir: dir, NoSync: true})
	nothing := func(x *Executor) {
		c, err := x.process.Track(b.Context(), "true", func(*process.Runner) error { return nil })
		if err != nil || c.Undo != "" || c.NotUndoable != nil {
			b.Fatal(c, err)
		}
	}
	find := func() {
		if err := exec.Command("find", dir, "-type", "f", "-fprint", os.DevNull).Run(); err != nil {
			b.Fatal(err)
		}
	}
	compare := func(b *testing.B, cover func()) {
		cover()
		find()
		var ours, theirs time.Duration
		for b.Loop() {
			begin := time.Now()
			cover()
			middle := time.Now()
			find()
			ours, theirs = ours+middle.Sub(begin), theirs+time.Since(middle)
		}
		b.ReportMetric(float64(ours)/float64(theirs), "×find")
		b.ReportMetric(float64(ours.Microseconds())/float64(b.N), "µs/cover")
	}
	time.Sleep(50 * time.Millisecond) // for the times of the files to be past
	b.Run("server", func(b *testing.B) { compare(b, func() { nothing(x) }) })
	b.Run("new process", func(b *testing.B) {
		compare(b, func() {
			x, err := New(Config{Dir: dir, NoSync: true})
			if err != nil {
				b.Fatal(err)
			}
			defer x.Close()
			nothing(x)
		})
	})
}
