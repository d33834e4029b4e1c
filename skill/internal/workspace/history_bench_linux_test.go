package workspace

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"textskill/testdata/needs"
)

func (s *site) benched(b *testing.B, o Options) *Workspace {
	b.Helper()
	o.Dir = s.dir
	w, err := Open(o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { w.Close() })
	return w
}

// Writes of 4 KB per second, by several goroutines in one folder.
func BenchmarkHistoryWrites(b *testing.B) {
	text := strings.Repeat("x", 4096)
	for _, noSync := range []bool{false, true} {
		for _, flight := range []int{1, 8} {
			b.Run(fmt.Sprintf("noSync=%v/%d", noSync, flight), func(b *testing.B) {
				s := newSite(b, false)
				w := s.benched(b, Options{NoSync: noSync})
				const each = 50
				for b.Loop() {
					var all sync.WaitGroup
					for f := range flight {
						all.Go(func() {
							for i := range each {
								if _, err := w.WriteFile(bg, s.p(fmt.Sprint("f", f)),
									[]byte(fmt.Sprint(f, i, text)), WriteOptions{}); err != nil {
									b.Error(err)
								}
							}
						})
					}
					all.Wait()
				}
				b.ReportMetric(float64(b.N*each*flight)/b.Elapsed().Seconds(), "writes/s")
			})
		}
	}
}

// A durable write of 4 KB and its undo: undo/write says how many times a write an undo takes.
func BenchmarkHistoryUndo(b *testing.B) {
	s := newSite(b, false)
	w := s.benched(b, Options{})
	text := strings.Repeat("x", 4096)
	var write, undo time.Duration
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		if _, err := w.WriteFile(bg, s.p("f"), []byte(fmt.Sprint(i, text)), WriteOptions{}); err != nil {
			b.Fatal(err)
		}
		write += time.Since(start)
		if i == 0 {
			continue // the first one makes the file
		}
		start = time.Now()
		if _, err := w.Undo(bg, UndoOptions{}); err != nil {
			b.Fatal(err)
		}
		undo += time.Since(start)
	}
	b.ReportMetric(write.Seconds()*1000/float64(b.N), "write-ms")
	b.ReportMetric(undo.Seconds()*1000/float64(b.N), "undo-ms")
	b.ReportMetric(undo.Seconds()/write.Seconds(), "undo/write")
}

// A small edit of a file of 1 GB, or of 64 MB without SKILL_TEST_LONG.
func BenchmarkHistoryEdit(b *testing.B) {
	size := int64(64 << 20)
	if os.Getenv("SKILL_TEST_LONG") != "" {
		size = 1 << 30
	}
	s := newSite(b, false)
	f, err := os.Create(s.p("f"))
	if err != nil {
		b.Fatal(err)
	}
	block := []byte(strings.Repeat("0123456789abcde\n", 64<<10))
	for n := int64(0); n < size; n += int64(len(block)) {
		if _, err := f.Write(block); err != nil {
			b.Fatal(err)
		}
	}
	f.Close()
	w := s.benched(b, Options{})
	i := 0
	for b.Loop() {
		i++
		if _, err := w.EditFile(bg, s.p("f"), WriteOptions{}, at(size/2, fmt.Sprintf("%08d", i))); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(size>>20), "MB")
}

// many makes n files, a hundred in each folder.
func (s *site) many(b *testing.B, n int) {
	b.Helper()
	for i := range n {
		if i%100 == 0 {
			if err := os.MkdirAll(s.p(fmt.Sprint("d", i/100)), 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(s.p(fmt.Sprintf("d%d/%d", i/100, i)), fmt.Appendf(nil, "file %d\n", i), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

// A command that changes one of many files: the first command, which saves all files, and later ones. The
// time includes the walk of this test.
func BenchmarkHistoryCommand(b *testing.B) {
	counts := []int{1000, 10_000}
	if os.Getenv("SKILL_TEST_LONG") != "" {
		counts = append(counts, 100_000)
	}
	for _, n := range counts {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := newSite(b, false)
			s.many(b, n)
			w := s.benched(b, Options{})
			i := 0
			command := func() time.Duration {
				i++
				start := time.Now()
				run, err := w.Begin(bg, "true", 1<<30, s.walk)
				if err != nil {
					b.Fatal(err)
				}
				s.put(s.p("d0/0"), fmt.Sprint(i))
				if _, _, err := run.End(bg); err != nil {
					b.Fatal(err)
				}
				return time.Since(start)
			}
			first := command()
			for b.Loop() {
				command()
			}
			b.ReportMetric(first.Seconds()*1000, "first-ms")
		})
	}
}

// The first command in a workspace, which saves all files, beside git add: first/git says how many times the time it
// takes, and disk/workspace how many times the room of the workspace its history has.
func BenchmarkHistoryFirst(b *testing.B) {
	needs.Program(b, "git", "du")
	many := 20_000
	if os.Getenv("SKILL_TEST_LONG") != "" {
		many = 100_000
	}
	var first, git time.Duration
	var disk, files, room float64
	for b.Loop() {
		s := newSite(b, false)
		s.many(b, many)
		repository := b.TempDir()
		for _, args := range [][]string{{"init", "-q"}, {"--work-tree", s.dir, "add", "-A"}} {
			start := time.Now()
			cmd := exec.Command("git", append([]string{"--git-dir", repository}, args...)...)
			if out, err := cmd.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
			if len(args) > 2 {
				git += time.Since(start)
			}
		}
		w := s.benched(b, Options{})
		start := time.Now()
		run, err := w.Begin(bg, "true", 1<<30, s.walk)
		if err == nil {
			_, _, err = run.End(bg)
		}
		if err != nil {
			b.Fatal(err)
		}
		first += time.Since(start)
		for _, in := range []struct {
			folder string
			sum    *float64
		}{{s.dir, &room}, {filepath.Join(s.base, stateHome), &disk}} {
			out, err := exec.Command("du", "-s", in.folder).Output()
			if err != nil {
				b.Fatal(err)
			}
			fmt.Sscan(string(out), in.sum)
		}
		files = 0
		filepath.WalkDir(filepath.Join(s.base, stateHome), func(_ string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				files++
			}
			return err
		})
	}
	b.ReportMetric(first.Seconds()/git.Seconds(), "first/git")
	b.ReportMetric(disk/room, "disk/workspace")
	b.ReportMetric(files, "files")
}

// An edit of another agent, reported by two processes, and a write while a command is open, each in a workspace
// of many files in which a command was recorded: "large/small" says how many times the time they take as in one of
// 100 files.
func BenchmarkHistoryEditInMany(b *testing.B) {
	many := 20_000
	if os.Getenv("SKILL_TEST_LONG") != "" {
		many = 100_000
	}
	for _, how := range []string{"hooks", "write in a call"} {
		b.Run(how, func(b *testing.B) {
			var sites []*site
			for _, n := range []int{100, many} {
				s := newSite(b, false)
				s.many(b, n)
				w := s.benched(b, Options{NoSync: true})
				c := Call{Key: "c", Session: "s"}
				if err := w.BeginCall(bg, c, s.dir, nil, 1<<30, s.walk); err != nil {
					b.Fatal(err)
				}
				if how == "hooks" {
					if err := w.EndCall(bg, c, s.dir, nil, s.walk); err != nil {
						b.Fatal(err)
					}
				}
				w.Close()
				sites = append(sites, s)
			}
			times := make([]time.Duration, len(sites))
			for i := 0; b.Loop(); i++ {
				for at, s := range sites {
					start := time.Now()
					switch how {
					case "hooks":
						c := Call{Key: fmt.Sprint("e", i), Session: "s", Edit: true}
						for _, end := range []bool{false, true} {
							w, err := Open(Options{Dir: s.dir, NoSync: true})
							if err != nil {
								b.Fatal(err)
							}
							if !end {
								err = w.BeginCall(bg, c, s.dir, []string{"d0/0"}, 1<<30, s.walk)
								s.put(s.p("d0/0"), fmt.Sprint(i))
							} else {
								err = w.EndCall(bg, c, s.dir, []string{"d0/0"}, s.walk)
							}
							if w.Close(); err != nil {
								b.Fatal(err)
							}
						}
					default:
						w, err := Open(Options{Dir: s.dir, NoSync: true})
						if err != nil {
							b.Fatal(err)
						}
						if _, err := w.WriteFile(bg, s.p("d0/0"), []byte(fmt.Sprint(i)), WriteOptions{}); err != nil {
							b.Fatal(err)
						}
						w.Close()
					}
					times[at] += time.Since(start)
				}
			}
			b.ReportMetric(times[0].Seconds()*1000/float64(b.N), "small-ms")
			b.ReportMetric(times[1].Seconds()/times[0].Seconds(), "large/small")
		})
	}
}

// 1,500 writes of one process in a workspace of many files in which a command was recorded: the slowest as a multiple
// of the median, and the disk that the history takes after 5,000 changes as a multiple of that after 1,250.
func BenchmarkHistoryHousekeeping(b *testing.B) {
	many := 20_000
	if os.Getenv("SKILL_TEST_LONG") != "" {
		many = 100_000
	}
	for b.Loop() {
		s := newSite(b, false)
		s.many(b, many)
		w := s.benched(b, Options{NoSync: true})
		run, err := w.Begin(bg, "true", 1<<30, s.walk)
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := run.End(bg); err != nil {
			b.Fatal(err)
		}
		var times []time.Duration
		var disk []int64
		before := s.historySize(b)
		for i := range 5000 {
			start := time.Now()
			if _, err := w.WriteFile(bg, s.p("d0/0"), []byte(strings.Repeat(fmt.Sprint(i), 1000)), WriteOptions{}); err != nil {
				b.Fatal(err)
			}
			times = append(times, time.Since(start))
			if i == 1250 || i == 4999 {
				disk = append(disk, s.historySize(b)-before)
			}
		}
		times = times[1000:2500]
		slices.Sort(times)
		b.ReportMetric(times[len(times)-1].Seconds()/times[len(times)/2].Seconds(), "slowest/median")
		b.ReportMetric(float64(disk[1])/float64(disk[0]), "disk-5000/1250")
	}
}

// historySize returns the bytes of all histories of the test.
func (s *site) historySize(b *testing.B) (sum int64) {
	b.Helper()
	err := filepath.WalkDir(filepath.Join(s.base, stateHome), func(_ string, e fs.DirEntry, err error) error {
		if info, ierr := e.Info(); err == nil && ierr == nil {
			sum += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return sum
}

// A command that changes 5,000 files, or 50,000, and its undo.
func BenchmarkHistoryChange5000(b *testing.B) {
	n := 5000
	if os.Getenv("SKILL_TEST_LONG") != "" {
		n = 50_000
	}
	s := newSite(b, false)
	s.many(b, n)
	w := s.benched(b, Options{})
	var begin, end, undo time.Duration
	round := 0
	for b.Loop() {
		round++
		start := time.Now()
		run, err := w.Begin(bg, "true", 1<<30, s.walk)
		if err != nil {
			b.Fatal(err)
		}
		begin += time.Since(start)
		for i := range n {
			os.WriteFile(s.p(fmt.Sprintf("d%d/%d", i/100, i)),
				fmt.Appendf(nil, "round %d of %d\n", round, i), 0o644)
		}
		start = time.Now()
		c, _, err := run.End(bg)
		if err != nil {
			b.Fatal(err)
		}
		end += time.Since(start)
		start = time.Now()
		if _, err := w.Undo(bg, UndoOptions{ID: c.ID}); err != nil {
			b.Fatal(err)
		}
		undo += time.Since(start)
	}
	for name, d := range map[string]time.Duration{"begin-ms": begin, "end-ms": end, "undo-ms": undo} {
		b.ReportMetric(d.Seconds()*1000/float64(b.N), name)
	}
}

// A bare undo in a history of many changes, by a new process.
func BenchmarkHistoryBareUndo(b *testing.B) {
	inMemoryBench(b)
	counts := []int{2000}
	if os.Getenv("SKILL_TEST_LONG") != "" {
		counts = append(counts, 100_000)
	}
	for _, n := range counts {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := newSite(b, false)
			o := Options{Dir: s.dir, NoSync: true, Journal: Journal{Count: -1, Bytes: -1}}
			w, err := Open(o)
			if err != nil {
				b.Fatal(err)
			}
			for i := range n {
				if _, err := w.WriteFile(bg, s.p(fmt.Sprint("f", i%50)), fmt.Append(nil, i), WriteOptions{}); err != nil {
					b.Fatal(err)
				}
			}
			w.Close()
			for b.Loop() {
				w, err := Open(o)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := w.Undo(bg, UndoOptions{}); err != nil {
					b.Fatal(err)
				}
				w.Close()
			}
		})
	}
}

func inMemoryBench(b *testing.B) {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		b.Setenv("TMPDIR", "/dev/shm")
	}
}

// Bytes on disk of a history of 1,000 edits, each of one line of a text.
func BenchmarkHistoryBytes(b *testing.B) {
	for _, size := range []int{10 << 10, 200 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			var used int64
			for b.Loop() {
				s := newSite(b, false)
				var text strings.Builder
				for n := 0; text.Len() < size; n++ {
					fmt.Fprintf(&text, "this is line %08d of a text\n", n)
				}
				s.put(s.p("f"), text.String())
				w, err := Open(Options{Dir: s.dir, NoSync: true})
				if err != nil {
					b.Fatal(err)
				}
				for i := range 1000 {
					where := int64(i*7919%(size/40)) * 33
					if _, err := w.EditFile(bg, s.p("f"), WriteOptions{}, at(where, fmt.Sprintf("%08d", i))); err != nil {
						b.Fatal(err)
					}
				}
				w.Close()
				used = 0
				filepath.WalkDir(s.base+"/"+stateHome, func(_ string, e fs.DirEntry, err error) error {
					if err == nil {
						if info, err := e.Info(); err == nil {
							used += info.Sys().(*syscall.Stat_t).Blocks * 512
						}
					}
					return err
				})
			}
			b.ReportMetric(float64(used)/1e6, "MB")
		})
	}
}

// at returns a splice that replaces bytes at an offset.
func at(offset int64, text string) func(io.ReaderAt, int64) (Splice, error) {
	return func(io.ReaderAt, int64) (Splice, error) {
		return Splice{Offset: offset, Old: int64(len(text)), New: []byte(text)}, nil
	}
}
