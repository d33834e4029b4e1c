package search

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"textskill/skill/internal/workspace"
)

// forest makes a tree of empty files like a source tree: packages of a few files, some deep, some
// in folders that a .gitignore of 24 lines names.
func forest(b *testing.B, files int) *workspace.Workspace {
	b.Helper()
	dir := b.TempDir()
	kinds := []string{".py", ".py", ".py", ".go", ".js", ".md", ".json", ".pyc", ".txt"}
	ignore := "node_modules/\n__pycache__/\n*.pyc\n*.log\n/build/\n/dist\n.venv\n*.swp\n.DS_Store\n*.egg-info/\n.cache\ncoverage/\n" +
		"*.tmp\n!keep.tmp\n.idea/\n.vscode/\n*.so\n*.o\ntarget/\nThumbs.db\n*.class\nvendor/**/testdata\n/docs/_build/\n*~\n"
	plant(b, dir, ".gitignore="+ignore, ".git/HEAD=ref: refs/heads/main\n", ".git/objects/", ".git/refs/")
	for made := 0; made < files; {
		n := made / 40
		in := fmt.Sprintf("%s/group%02d/package%03d",
			[]string{"src", "lib", "tools", "node_modules"}[n%4], n/4%40, n)
		for _, sub := range []string{"", "core", "core/model", "tests", "tests/data", "docs"} {
			sub = filepath.Join(dir, in, sub)
			if err := os.MkdirAll(sub, 0o755); err != nil {
				b.Fatal(err)
			}
			for i := range 6 + n%3 {
				if made++; made > files {
					break
				}
				name := filepath.Join(sub, fmt.Sprintf("module_%d_%d%s", i, n, kinds[(n+i)%len(kinds)]))
				if err := os.WriteFile(name, nil, 0o644); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	w, err := workspace.Open(workspace.Options{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { w.Close() })
	return w
}

// program returns the first of the programs that is installed.
func program(b *testing.B, names ...string) string {
	b.Helper()
	for _, name := range names {
		if found, err := exec.LookPath(name); err == nil {
			return found
		}
	}
	b.Fatalf("%s is not installed; testdata/bench.sh installs it", names[0])
	return ""
}

// race runs a program and own in turn, and reports the ratio of their best times. Both must find
// the same number of names.
func race(b *testing.B, dir string, own func() int, args ...string) {
	b.Helper()
	best := [2]time.Duration{math.MaxInt64, math.MaxInt64}
	for rounds := 0; rounds < 15 || b.Loop(); rounds++ {
		start := time.Now()
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			b.Fatal(err)
		}
		theirs := bytes.Count(out, []byte("\n"))
		best[0] = min(best[0], time.Since(start))
		start = time.Now()
		ours := own()
		best[1] = min(best[1], time.Since(start))
		if ours != theirs {
			b.Fatalf("%d names, and %s finds %d", ours, args[0], theirs)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(best[0].Seconds()*1000, "ref-ms")
	b.ReportMetric(best[1].Seconds()*1000, "own-ms")
	b.ReportMetric(float64(best[1])/float64(best[0]), "x-ref")
}

// list writes the sorted paths of all files that a walk visits.
func list(b *testing.B, w *workspace.Workspace, o WalkOptions, out io.Writer) int {
	parts := make([][]string, Workers())
	_, err := Walk(b.Context(), w, w.Dir(), o, func(worker int, e *Entry) error {
		if e.Type.IsRegular() {
			parts[worker] = append(parts[worker], e.Path())
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	paths := slices.Concat(parts...)
	slices.Sort(paths)
	io.WriteString(out, strings.Join(paths, "\n"))
	return len(paths)
}

// BenchmarkTree compares with find, fd and rg on 100,000 files.
func BenchmarkTree(b *testing.B) {
	b.Setenv("HOME", b.TempDir())
	w := forest(b, 100_000)
	b.Run("walk", func(b *testing.B) {
		race(b, w.Dir(), func() int {
			var files atomic.Int64
			_, err := Walk(b.Context(), w, w.Dir(), WalkOptions{Git: true}, func(_ int, e *Entry) error {
				if e.Type.IsRegular() {
					files.Add(1)
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
			return int(files.Load())
		}, program(b, "find"), ".", "-type", "f")
	})
	b.Run("glob", func(b *testing.B) {
		g, err := ParseGlob("**/*.py")
		if err != nil {
			b.Fatal(err)
		}
		race(b, w.Dir(), func() int {
			found, err := Find(b.Context(), w, w.Dir(), g, FindOptions{Git: true})
			if err != nil {
				b.Fatal(err)
			}
			return len(found.Paths)
		}, program(b, "fd", "fdfind"), "-uu", "-t", "f", "-g", "**/*.py")
	})
	b.Run("list", func(b *testing.B) {
		race(b, w.Dir(), func() int { return list(b, w, WalkOptions{Ignore: true}, io.Discard) },
			program(b, "rg"), "--files", "--hidden", "--glob", "!.git")
	})
}
