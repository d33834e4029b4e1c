package project

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"textskill/skill/internal/process"
)

// brief returns a report as one line for the counts and one for each failure.
func (r TestReport) brief() string {
	b := fmt.Sprintf("%d passed, %d failed, %d skipped", r.Passed, r.Failed, r.Skipped)
	for _, f := range r.Failures {
		b += fmt.Sprintf("\n%s at %s:%d: %s", f.Name, f.File, f.Line, strings.ReplaceAll(f.Message, "\n", " | "))
	}
	return b
}

// TestNoTestMatches has a runner count the tests that a name leaves out as skipped.
func TestNoTestMatches(t *testing.T) {
	for _, tt := range []struct {
		output      string
		skipsOthers bool
		none        bool
	}{
		{"Tests:       3 skipped, 3 total\n", true, true},
		{"Tests:       3 skipped, 3 total\n", false, false},
		{"Tests:       2 skipped, 1 passed, 3 total\n", true, false},
		{"      Tests  3 skipped (3)\n", true, true},
		{"# tests 3\n# pass 0\n# fail 0\n# skipped 3\n", true, true},
		{"  0 passing (1ms)\n", true, true},
	} {
		r := &runner{argv: []string{"npm"}, tests: new(scriptTests), countTests: true, skipsOthers: tt.skipsOthers}
		for line := range strings.Lines(tt.output) {
			r.tests.read([]byte(line))
		}
		if got := r.result(process.Executed{}, ""); got.Tests == nil || got.NoTests != tt.none {
			t.Errorf("%q, skipsOthers %t: %+v, NoTests %t", tt.output, tt.skipsOthers, got.Tests, got.NoTests)
		}
	}
}

// The files are the output of real test runs. They are read in writes of several sizes.
func TestReportsAreRead(t *testing.T) {
	tests := []struct {
		file  string
		read  func() testReader
		shown bool // the output must pass unchanged
		want  string
	}{
		{"go.json", func() testReader { return &goTests{module: "example.org/m"} }, false, `2 passed, 3 failed, 1 skipped
TestGroup/bad_one at a_test.go:10: a_test.go:10: got 1 | want 2 | a_test.go:11: and more
example.org/m/broken at broken/b.go:3: undefined: undefinedName
TestPanics at sub/s_test.go:7: panic: assignment to entry in nil map [recovered, repanicked]`},
		{"pytest.txt", func() testReader { return new(pytestTests) }, true, `2 passed, 4 failed, 2 skipped
tests/test_a.py::test_bad at tests/test_a.py:5: AssertionError: wrong sum
tests/test_a.py::TestGroup::test_in_class at tests/test_a.py:15: ValueError: boom - here
tests/test_a.py::TestGroup::test_p[2] at tests/test_a.py:19: assert 2 == 1
tests/test_a.py::test_setup at tests/test_a.py:31: RuntimeError: no fixture`},
		{"pytest-collect.txt", func() testReader { return new(pytestTests) }, true, `0 passed, 1 failed, 0 skipped
tests/test_c.py at tests/test_c.py:1: `},
		{"unittest.txt", func() testReader { return &unittestTests{dir: "/home/x/ut"} }, true, `1 passed, 2 failed, 1 skipped
test_error (test_u.T.test_error) at tests/test_u.py:15: ValueError: boom
test_bad (test_u.T.test_bad) at tests/test_u.py:12: AssertionError: 2 != 3`},
		{"jest.txt", func() testReader { return new(jestTests) }, true, `2 passed, 2 failed, 2 skipped
math › is wrong at src/a.test.js:4: expect(received).toBe(expected) // Object.is equality | Expected: 3 | Received: 2
throws at src/a.test.js:9: boom › here
Test suite failed to run at src/b.test.js:1: Cannot find module './missing' from 'src/b.test.js'`},
		{"vitest.txt", func() testReader { return new(jestTests) }, true, `1 passed, 2 failed, 1 skipped
math > is wrong at src/a.test.js:5: AssertionError: expected 2 to be 3 // Object.is equality | - Expected | + Received | - 3 | + 2
throws at src/a.test.js:10: Error: boom`},
		{"cargo.txt", func() testReader { return new(cargoTests) }, true, `1 passed, 1 failed, 1 skipped
tests::bad at src/lib.rs:6: assertion ` + "`left == right`" + ` failed: sum | left: 2 | right: 3`},
		{"cargo-build.txt", func() testReader { return new(cargoTests) }, true, `0 passed, 0 failed, 0 skipped
build at src/lib.rs:2: cannot find value ` + "`nope`" + ` in this scope
build at src/lib.rs:1: mismatched types`},
		{"nextest.txt", func() testReader { return new(cargoTests) }, true, `2 passed, 1 failed, 1 skipped
c tests::bad at src/lib.rs:6: assertion failed: no`},
		{"node-tap.txt", func() testReader { return new(scriptTests) }, true, `1 passed, 1 failed, 1 skipped
is wrong at /tmp/nt/a.test.js:3: 2 == 3`},
		{"node-spec.txt", func() testReader { return new(scriptTests) }, true, `1 passed, 1 failed, 1 skipped
is wrong at a.test.js:3: AssertionError [ERR_ASSERTION]: 2 == 3`},
		{"mocha.txt", func() testReader { return new(scriptTests) }, true, `2 passed, 1 failed, 1 skipped
math is wrong at test/a.js:6: AssertionError [ERR_ASSERTION]: Expected values to be strictly equal: | 2 !== 3 | + expected - actual | -2 | +3`},
	}
	for _, tt := range tests {
		data, err := os.ReadFile("testdata/" + tt.file)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{1, 7, 1000, len(data)} {
			var shown bytes.Buffer
			r := tt.read()
			w := filterFor(r)(&shown)
			for at := 0; at < len(data); at += size {
				w.Write(data[at:min(at+size, len(data))])
			}
			w.(io.Closer).Close()
			if got, ok := r.report(); !ok || got.brief() != tt.want {
				t.Fatalf("%s in writes of %d: %t\n got %s\nwant %s", tt.file, size, ok, got.brief(), tt.want)
			}
			if tt.shown && !bytes.Equal(shown.Bytes(), data) {
				t.Errorf("%s in writes of %d: output became\n%s", tt.file, size, shown.Bytes())
			}
		}
	}
}

func TestGoTestsAreShownAsTheyPrint(t *testing.T) {
	data, err := os.ReadFile("testdata/go.json")
	if err != nil {
		t.Fatal(err)
	}
	for brief, want := range map[bool][2]string{
		false: {"=== RUN   TestFine\n    a_test.go:5: all is well\n--- PASS: TestFine (0.00s)\n=== RUN   TestGroup\n", "FAIL\texample.org/m/sub\t0.008s\n"},
		true:  {"    a_test.go:5: all is well\n    a_test.go:10: got 1\n        want 2\n", "FAIL\texample.org/m/sub\t0.008s\n"},
	} {
		var b bytes.Buffer
		w := filterFor(&goTests{brief: brief})(&b)
		w.Write(data)
		_, body, _ := strings.Cut(b.String(), "undefined: undefinedName\n")
		if !strings.HasPrefix(body, want[0]) || !strings.HasSuffix(body, want[1]) {
			t.Errorf("brief = %t:\n%s", brief, body)
		}
	}
}

// Readers pass any output on unchanged, and never report impossible numbers.
func FuzzTestReaders(f *testing.F) {
	f.Add([]byte("Tests:       1 failed, 2 passed, 3 total\nnot all"))
	f.Add([]byte("{\"Action\":\"fail\",\"Test\":\"a/b\"}\n{\n"))
	f.Add([]byte("== 1 passed in 0.01s ==\n___ x ___\na.py:1: \nFAILED a.py::x - y\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for name, r := range map[string]testReader{"pytest": new(pytestTests), "unittest": new(unittestTests), "jest": new(jestTests), "go": &goTests{brief: true}} {
			var b bytes.Buffer
			w := filterFor(r)(&b)
			w.Write(text)
			w.(io.Closer).Close()
			if name != "go" && !bytes.Equal(b.Bytes(), text) {
				t.Fatalf("%s: %q became %q", name, text, b.Bytes())
			}
			got, _ := r.report()
			if len(got.Failures) > maxFailures || got.Passed < 0 {
				t.Fatalf("%s: %+v", name, got)
			}
		}
	})
}

func TestALongLineIsPassedOnUnread(t *testing.T) {
	var b bytes.Buffer
	r := new(pytestTests)
	w := filterFor(r)(&b)
	long := strings.Repeat("x", 3*maxTestLine)
	for at := 0; at < len(long); at += 64 << 10 {
		io.WriteString(w, long[at:at+64<<10])
	}
	io.WriteString(w, "\n1 passed in 0.1s\n")
	if got, ok := r.report(); b.String() != long+"\n1 passed in 0.1s\n" || !ok || got.Passed != 1 {
		t.Errorf("%d bytes, %+v, %t", b.Len(), got, ok)
	}
}
