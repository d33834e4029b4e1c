package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"textskill/internal/usage"
	"textskill/skill"
)

const testLong = `test sends prompts and calls to the tools, as a model or an agent would. It compares the
output and the files with what you expect. In CI it shows whether a prompt, a set of flags
or another version of this program still does what it did.

A golden file is a txtar archive: a comment, files, and sections. test writes the files
into a temporary directory and plays the sections in order.

  -- flags --    command-line flags for the prompts that follow
  -- llm --      the model's answer to the next prompt, or its next answer in a run
  -- prompt --   a prompt, run in the directory
  -- mcp --      messages of an MCP client, a line of JSON-RPC each
  -- run --      an expert of perstack.toml, and the query for it
  -- model --    an expert and a query for a real model, then rules for what it does
  -- want --     the expected output, with errors and exit code
  -- mask --     regular expressions, one per line: test ignores the text that they match,
                 except in a group like (?<keep>…)
  -- tree --     the files of the directory at the end

A want holds the output of the prompt, mcp or run before it; --update writes it there.
$WORK stands for the directory. In the llm of a run, a line "TOOL {JSON}" is a call. test
ignores durations, times, random IDs, and the version and instructions of the MCP server.
It plays all .txtar files below a folder.

"skill test --record FILE PROMPT…" writes a golden file that plays these prompts,
"skill mcp --record FILE" one that plays the session of a client, and
"skill run --record FILE" one that plays a run. They mask words that change each time.

With --live, a section model asks the model that "skill run" would ask. Without --live,
test skips these sections. Write rules in any order; "not" before a rule reverses it:

  contains TEXT         the expert's report contains TEXT
  calls TOOL {JSON}     the expert calls TOOL with these arguments; {JSON} is optional
  json PATH VALUE       the report is JSON with VALUE at PATH, like items.0.name
  file NAME TEXT        the file NAME contains TEXT at the end

A golden file can come from a stranger. If a flag in it gives prompts more rights, it counts
only if you type it after "skill test" too. Commands run in the sandbox or not at all.
On GitHub Actions, test prints failures as annotations too. For other CI services, --junit
writes a report.`

// goldenFlags are the flags that a golden file may set itself, with the values that it
// may give, or none for any.
var goldenFlags = map[string][]string{
	"read-only": nil, "dry-run": nil, "fence": {string(skill.FenceRequire)},
	"network": {"false"}, "allow-private": {"false"}, "allow-config": {"false"}, "allow-hooks": {"false"},
	"no-sync": nil, "no-journal": nil,
	"fallback": nil, "llm": {"ask", "refuse"}, "skill-model": nil,
	"max-steps": nil, "max-tokens": nil, "max-retries": nil, "ask": nil, "continue": nil,
	"interactive-tool-call-result": nil,
	"tools":                        nil, "lines": nil, "json": nil, "verbose": nil, "help": nil,
	"version": nil,
	"limit":   nil, "since": nil, "force": nil, "perhaps": nil, "run": nil, "last": nil, "checkpoint": nil, "step": nil,
	"type": nil, "errors": nil,
}

// testOptions are the flags of skill test.
type testOptions struct {
	run, record, junit    string
	live, update, verbose bool
	json                  bool
	timeout               time.Duration
}

// addGiven adds the flags that a golden file may set where the command line gives them.
func addGiven(f *pflag.FlagSet) {
	var o promptOptions
	only(f, o.addWorkspace, "allow", "allow-config")
	o.addSandbox(f)
	o.addNetwork(f)
	only(f, o.addModel, "trust-llm", "llm")
}

func (c *cli) testCommand(*configuration) *cobra.Command {
	o := testOptions{timeout: 10 * time.Minute}
	cmd := &cobra.Command{
		Use:     "test [flags] PATH… | --record FILE PROMPT…",
		Short:   "Play golden files: prompts and the output that they must print",
		Long:    testLong,
		Example: "  skill test testdata\n  skill test --record write.txtar 'writeFile a.txt content: hi'\n  skill test -v -update -run delete testdata\n  skill test --network testdata",
		Annotations: map[string]string{
			usage.Elsewhere: "; a section flags of a golden file holds the flags of its prompts"},
		Args: func(cmd *cobra.Command, args []string) error {
			missing := "PATH: a golden file, or a directory of golden files"
			if o.record != "" {
				missing = "PROMPT: the text that the golden file plays, such as 'readFile a.txt'"
			}
			return usage.Arguments(1, math.MaxInt, missing)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, paths []string) error {
			re, err := regexp.Compile(o.run)
			if err != nil {
				return fmt.Errorf("--run: %w", err)
			}
			if o.record != "" {
				return c.failed(c.recordPrompts(cmd, o.record, paths))
			}
			files, err := goldenFiles(paths)
			if err != nil {
				return err
			}
			files = slices.DeleteFunc(files, func(name string) bool { return !re.MatchString(name) })
			t := goldenTest{
				goldenRunner: goldenRunner{helper: c.helper, given: cmd.Flags(), limit: o.timeout,
					unasked: new(atomic.Int64)},
				update: o.update, verbose: o.verbose, json: o.json, junit: o.junit,
				annotate: c.getenv("GITHUB_ACTIONS") == "true" && !o.json,
			}
			if o.live {
				t.live = c.getenv
			}
			if len(files) == 0 {
				c.sayf("there is no golden file (NAME.txtar) in %s, or none that --run matches; \"%s help test\" shows one", strings.Join(paths, ", "), c.program())
			}
			return c.testFiles(cmd.Context(), t, files)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.update, "update", false, "write the output of this program into the files")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "also print the files that pass")
	f.StringVar(&o.record, "record", "",
		"write the golden `FILE`, which plays the prompts that follow")
	f.BoolVar(&o.live, "live", false,
		"play the sections model too: the model's provider charges you for that")
	f.StringVar(&o.junit, "junit", "", "also write a report in the form of JUnit to `FILE`")
	f.StringVar(&o.run, "run", "", "play only files whose path matches `REGEXP`")
	f.Var(duration{&o.timeout}, "timeout", "give up on a file after this time (0s: never)")
	addGiven(f)
	addJSON(f, &o.json)
	return cmd
}

// goFlags lets -update and -run of skill test be written with one dash too, as
// the flags of go test are.
func goFlags(root *cobra.Command, args []string) []string {
	if !slices.Contains(args, "test") {
		return args
	}
	if cmd, _, err := root.Find(args); err != nil || cmd.Name() != "test" {
		return args
	}
	args = slices.Clone(args)
	for i, a := range args {
		if a == "-update" || a == "-run" || strings.HasPrefix(a, "-run=") {
			args[i] = "-" + a
		}
	}
	return args
}

// goldenFiles replaces the folders among paths by the .txtar files below them.
func goldenFiles(paths []string) (files []string, err error) {
	for _, p := range paths {
		info, err := os.Stat(p)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &fs.PathError{Op: "read", Path: p, Err: errors.New("there is no such file or folder")}
		}
		if err != nil {
			return nil, err
		}
		switch {
		case info.Mode().IsRegular():
			files = append(files, p)
			continue
		case !info.IsDir():
			return nil, fmt.Errorf("%s is not a regular file", p)
		}
		err = filepath.WalkDir(p, func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && filepath.Ext(name) == ".txtar" {
				files = append(files, name)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// A goldenTest is a call of skill test.
type goldenTest struct {
	goldenRunner
	update   bool
	verbose  bool   // name each file that passes
	json     bool   // results are lines of JSON
	junit    string // the file of a report; "" for none
	annotate bool   // also print failures as annotations of GitHub Actions
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
func (c *console) testFiles(ctx context.Context, t goldenTest, files []string) error {
	t.made = &madeFolders{}
	// not after each file: ext4 passes over the inodes of the last five seconds' removals, one by one
	defer t.made.remove()
	results := make([]chan goldenResult, len(files))
	for i := range results {
		results[i] = make(chan goldenResult, 1)
	}
	busy := make(chan struct{}, runtime.GOMAXPROCS(0))
	go func() { // it ends when the last file is played
		for i := range files {
			busy <- struct{}{}
			go func() {
				results[i] <- t.result(ctx, files[i])
				<-busy
			}()
		}
	}()
	passed := 0
	played := make([]goldenResult, len(files))
	for i := range results {
		r := <-results[i]
		played[i] = r
		if r.OK {
			passed++
		}
		if t.annotate && !r.OK {
			c.printAnnotated(t, r)
		} else {
			c.printResult(t, r)
		}
	}
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
	differs := func(r goldenResult) bool { return r.Diff != "" && !r.OK }
	if slices.ContainsFunc(played, differs) && !t.json {
		c.sayf("if that output is right, \"%s test --update FILE\" writes it into FILE", c.program())
	}
	if t.junit != "" {
		if err := writeJUnit(t.junit, played); err != nil {
			return err
		}
	}
	if passed < len(files) || passed == 0 {
		return exit(exitFailed)
	}
	return nil
}

func (t goldenTest) result(ctx context.Context, name string) goldenResult {
	start := time.Now()
	diff, line, wrote, err := t.testFile(ctx, name, t.update)
	r := goldenResult{File: name, OK: err == nil && diff == "", Wrote: wrote, Diff: diff, Line: line,
		Seconds: time.Since(start).Seconds()}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}

func (c *console) printResult(t goldenTest, r goldenResult) {
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
func (c *console) printAnnotated(t goldenTest, r goldenResult) {
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
	return fmt.Sprintf("::error file=%s,line=%d,title=skill test::%s",
		property.Replace(filepath.ToSlash(r.File)), max(r.Line, 1),
		data.Replace(strings.TrimSuffix(what, "\n")))
}
