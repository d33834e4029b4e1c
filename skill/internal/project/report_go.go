package project

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"textskill/skill/internal/words"
)

// goTests reads the output of go test -json.
type goTests struct {
	tally
	module string // path of the module in whose root the tests run
	brief  bool   // omit the lines about tests that pass

	running map[[2]string]*goTest  // by package and name
	broken  map[string]int         // failures by package
	builds  map[string]TestFailure // first error of each failed build, by import path; "" if unknown
}

// A goTest is a test that has not ended.
type goTest struct {
	TestFailure
	inner bool // a subtest failed
}

type goEvent struct {
	Action, Package, Test, Output, ImportPath, FailedBuild string
}

var (
	goLocation = words.Pattern(`^\s*([^\s:]+\.go):(\d+):(?:\d+:)? (.*)`)
	goStack    = words.Pattern(`^\t(\S+_test\.go):(\d+) `)
)

func (g *goTests) read(line []byte) []byte {
	var e goEvent
	if line[0] != '{' || json.Unmarshal(line, &e) != nil || e.Action == "" {
		g.compiler("", string(line))
		return line
	}
	switch e.Action {
	case "build-output":
		g.compiler(e.ImportPath, e.Output)
		return []byte(e.Output)
	case "output":
		return g.output(e)
	case "run":
		g.test(e)
	case "pass", "fail", "skip":
		g.end(e)
	}
	return nil
}

func (g *goTests) test(e goEvent) *goTest {
	key := [2]string{e.Package, e.Test}
	if g.running == nil {
		g.running, g.broken = map[[2]string]*goTest{}, map[string]int{}
	}
	t := g.running[key]
	if t == nil {
		t = &goTest{TestFailure: TestFailure{Name: e.Test}}
		g.running[key] = t
	}
	return t
}

// output reads a line that a test printed.
func (g *goTests) output(e goEvent) []byte {
	text := strings.TrimRight(e.Output, "\n")
	if e.Test != "" {
		t := g.test(e)
		if at := goLocation().FindStringSubmatch(text); at != nil && t.Line == 0 {
			t.File, t.Line = g.file(e.Package, at[1]), lineNumber(at[2])
		} else if at := goStack().FindStringSubmatch(text); at != nil && t.Line == 0 {
			t.File, t.Line = g.file(e.Package, path.Base(at[1])), lineNumber(at[2])
		}
		if strings.HasPrefix(text, "    ") || strings.HasPrefix(text, "panic: ") {
			t.Message = appendLine(t.Message, strings.TrimSpace(text))
		}
	}
	if g.brief && isProgressLine(text) {
		return nil
	}
	return []byte(e.Output)
}

// isProgressLine reports whether go test prints a line only with -v.
func isProgressLine(text string) bool {
	text = strings.TrimLeft(text, " ")
	return slices.ContainsFunc([]string{"=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME ", "--- PASS: ", "PASS"}, func(begin string) bool {
		return strings.HasPrefix(text, begin)
	})
}

// end counts a test that has ended, or adds a package that failed without a failed test.
func (g *goTests) end(e goEvent) {
	g.found = true
	if e.Test == "" {
		if e.Action == "fail" && g.broken[e.Package] == 0 {
			f := g.builds[e.FailedBuild]
			f.Name = e.Package
			g.sum.add(f)
		}
		return
	}
	t := g.test(e)
	delete(g.running, [2]string{e.Package, e.Test})
	switch e.Action {
	case "pass":
		g.sum.Passed++
	case "skip":
		g.sum.Skipped++
	case "fail":
		g.sum.Failed++
		g.broken[e.Package]++
		if outer := strings.LastIndexByte(e.Test, '/'); outer > 0 {
			g.test(goEvent{Package: e.Package, Test: e.Test[:outer]}).inner = true
		}
		if !t.inner {
			g.sum.add(t.TestFailure)
		}
	}
}

// compiler reads a line outside of tests: the first error of a build is its failure.
func (g *goTests) compiler(built, text string) {
	at := goLocation().FindStringSubmatch(strings.TrimRight(text, "\n"))
	if at == nil || g.builds[built].Line > 0 {
		return
	}
	if g.builds == nil {
		g.builds = map[string]TestFailure{}
	}
	g.builds[built] = TestFailure{File: path.Clean(at[1]), Line: lineNumber(at[2]), Message: at[3]}
}

// file returns the path of a file that a package's test named, relative to the module.
func (g *goTests) file(pkg, name string) string {
	dir, below := strings.CutPrefix(pkg, g.module)
	if !below || g.module == "" || path.IsAbs(name) {
		return name
	}
	return path.Join(strings.TrimPrefix(dir, "/"), name)
}
