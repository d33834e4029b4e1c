package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// A goldenTest is a call of skill test.
type goldenTest struct {
	goldenRunner
	update   bool
	verbose  bool // name each file that passes
	json     bool // results are lines of JSON
	annotate bool // also print failures as annotations of GitHub Actions
}

// A goldenResult is how one golden file did.
type goldenResult struct {
	File    string  `json:"file"`
	OK      bool    `json:"ok"`
	Diff    string  `json:"diff,omitempty"`  // what it printed instead
	Line    int     `json:"line,omitempty"`  // at which line of the file, from 1; 0 if it is not known
	Error   string  `json:"error,omitempty"` // why it could not be played
	Wrote   bool    `json:"wrote,omitempty"` // what it printed is in the file now
	Seconds float64 `json:"seconds"`
}

// madeFolders are temporary folders, made by several at a time, that are removed together.
type madeFolders struct {
	mu   sync.Mutex
	dirs []string
}

func (m *madeFolders) make(pattern string) (string, error) {
	dir, err := os.MkdirTemp("", pattern)
	if err != nil {
		return "", fmt.Errorf("no temporary folder can be made: %w; set TMPDIR, on Windows TMP, to a folder that you may write", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dirs = append(m.dirs, dir)
	return dir, nil
}

func (m *madeFolders) remove() {
	for _, dir := range m.dirs {
		os.RemoveAll(dir)
	}
}

// testFiles plays golden files, several at a time, and prints the results in their order.
func (c *cli) testFiles(ctx context.Context, t goldenTest, files []string) error {
	t.made = &madeFolders{}
	defer t.made.remove() // not after each file: ext4 passes over the inodes of the last five seconds' removals, one by one
	results := make([]goldenResult, len(files))
	done := make([]chan struct{}, len(files))
	for i := range done {
		done[i] = make(chan struct{})
	}
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		workers.Go(func() {
			for i := range next {
				results[i] = t.result(ctx, files[i])
				close(done[i])
			}
		})
	}
	go func() {
		for i := range files {
			next <- i
		}
		close(next)
	}()
	passed := 0
	for i := range results {
		<-done[i]
		if results[i].OK {
			passed++
		}
		if t.annotate && !results[i].OK {
			c.printAnnotated(t, results[i])
		} else {
			c.printResult(t, results[i])
		}
	}
	workers.Wait()
	if t.json {
		c.printJSON(struct {
			Passed int `json:"passed"`
			Failed int `json:"failed"`
			Left   int `json:"leftOut,omitempty"`
		}{passed, len(files) - passed, int(t.unasked.Load())})
	} else {
		left := ""
		if n := int(t.unasked.Load()); n > 0 {
			left = fmt.Sprintf("; questions to a model left out: %d (--live asks them)", n)
		}
		fmt.Fprintf(c.stdout, "%d passed, %d failed%s\n", passed, len(files)-passed, left)
	}
	if passed < len(files) || passed == 0 {
		return exit(exitFailed)
	}
	return nil
}

func (t goldenTest) result(ctx context.Context, name string) goldenResult {
	start := time.Now()
	diff, line, wrote, err := t.testFile(ctx, name, t.update)
	r := goldenResult{File: name, OK: err == nil && diff == "", Wrote: wrote, Diff: diff, Line: line, Seconds: time.Since(start).Seconds()}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

func (c *cli) printResult(t goldenTest, r goldenResult) {
	switch {
	case t.json:
		c.printJSON(r)
	case r.Error != "":
		fmt.Fprintf(c.stdout, "FAIL %s\n%s\n", r.File, r.Error)
	case !r.OK:
		fmt.Fprintf(c.stdout, "FAIL %s\n%s", r.File, r.Diff)
	case r.Wrote:
		fmt.Fprintf(c.stdout, "wrote %s\n", r.File)
	case t.verbose:
		fmt.Fprintf(c.stdout, "ok   %s (%.1f s)\n", r.File, r.Seconds)
	}
}

// printAnnotated prints a result for GitHub Actions, which takes lines that begin with :: as
// commands: those that a file prints must not be.
func (c *cli) printAnnotated(t goldenTest, r goldenResult) {
	token := rand.Text()
	fmt.Fprintf(c.stdout, "::stop-commands::%s\n", token)
	c.printResult(t, r)
	fmt.Fprintf(c.stdout, "\n::%s::\n%s\n", token, annotation(r))
}

// annotation returns the line by which GitHub Actions shows a failure at its place in a file.
func annotation(r goldenResult) string {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	what := cmp.Or(r.Error, "it prints something else\n"+r.Diff)
	return fmt.Sprintf("::error file=%s,line=%d,title=skill test::%s", property.Replace(filepath.ToSlash(r.File)), max(r.Line, 1), data.Replace(strings.TrimSuffix(what, "\n")))
}
