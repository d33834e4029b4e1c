package project

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"
	"sync"
)

// goTests reads what go test -json prints.
type goTests struct {
	module string // the path of the module in whose folder the tests are run
	brief  bool   // leave out what tells of tests that go well

	sum     TestReport
	any     bool
	running map[[2]string]*goTest  // by package and name
	broken  map[string]int         // failures by package
	builds  map[string]TestFailure // the first error of a build that failed, by what was built; "" for any
}

// goTest is a test that has not ended.
type goTest struct {
	TestFailure
	inner bool // a test in it failed
}

type goEvent struct {
	Action, Package, Test, Output, ImportPath, FailedBuild string
}

var (
	goPlace = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*([^\s:]+\.go):(\d+):(?:\d+:)? (.*)`) })
	goStack = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\t(\S+_test\.go):(\d+) `) })
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

// output reads what a test printed.
func (g *goTests) output(e goEvent) []byte {
	text := strings.TrimRight(e.Output, "\n")
	if e.Test != "" {
		t := g.test(e)
		if at := goPlace().FindStringSubmatch(text); at != nil && t.Line == 0 {
			t.File, t.Line = g.file(e.Package, at[1]), lineNumber(at[2])
		} else if at := goStack().FindStringSubmatch(text); at != nil && t.Line == 0 {
			t.File, t.Line = g.file(e.Package, path.Base(at[1])), lineNumber(at[2])
		}
		if strings.HasPrefix(text, "    ") || strings.HasPrefix(text, "panic: ") {
			t.Message = longer(t.Message, strings.TrimSpace(text))
		}
	}
	if g.brief && tellsOfRunning(text) {
		return nil
	}
	return []byte(e.Output)
}

// tellsOfRunning finds lines that go test prints only when asked for more.
func tellsOfRunning(text string) bool {
	text = strings.TrimLeft(text, " ")
	for _, begin := range []string{"=== RUN ", "=== PAUSE ", "=== CONT ", "=== NAME ", "--- PASS: ", "PASS"} {
		if strings.HasPrefix(text, begin) {
			return true
		}
	}
	return false
}

// end counts a test, or a package that has no test to tell why it failed.
func (g *goTests) end(e goEvent) {
	g.any = true
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

// compiler reads a line that is of no test: the first error tells where a build failed.
func (g *goTests) compiler(built, text string) {
	at := goPlace().FindStringSubmatch(strings.TrimRight(text, "\n"))
	if at == nil || g.builds[built].Line > 0 {
		return
	}
	if g.builds == nil {
		g.builds = map[string]TestFailure{}
	}
	g.builds[built] = TestFailure{File: path.Clean(at[1]), Line: lineNumber(at[2]), Message: at[3]}
}

// file puts the folder of a package before the name that its test printed.
func (g *goTests) file(pkg, name string) string {
	dir, below := strings.CutPrefix(pkg, g.module)
	if !below || g.module == "" || path.IsAbs(name) {
		return name
	}
	return path.Join(strings.TrimPrefix(dir, "/"), name)
}

func (g *goTests) report() (TestReport, bool) { return g.sum, g.any }
