package project

import (
	"testing"

	"textskill/skill/internal/process"
)

// A runner that exits with 0 is asked by its output whether a test ran.
func TestNoTestRan(t *testing.T) {
	for _, tt := range []struct {
		of     *summary
		output string
		none   bool
	}{
		{goSummary, "ok  \texample.org/m\t0.008s\n", false},
		{goSummary, "ok  \texample.org/m\t(cached)\n?   \texample.org/m/sub\t[no test files]\n", false},
		{goSummary, "?   \texample.org/m\t[no test files]\n", true},
		{goSummary, "ok  \texample.org/m\t0.008s [no tests to run]\n", true},
		{cargoSummary, "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n", false},
		{cargoSummary, "test result: ok. 0 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n", false},
		{cargoSummary, "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 3 filtered out\n", true},
		{unittestSummary, "\nRan 0 tests in 0.000s\n\nOK\n", true},
		{unittestSummary, "\nRan 1 test in 0.000s\n\nOK\n", false},
		{namedSummary, "Tests:       3 skipped, 3 total\n", true},
		{scriptSummary, "Tests:       3 skipped, 3 total\n", false},
		{namedSummary, "Tests:       2 skipped, 1 passed, 3 total\n", false},
		{namedSummary, "      Tests  3 skipped (3)\r\n", true},
		{scriptSummary, "      Tests  2 passed | 1 skipped (3)\n", false},
		{namedSummary, "# tests 3\n# pass 0\n# fail 0\n# skipped 3\n", true},
		{scriptSummary, "ℹ tests 3\nℹ pass 3\nℹ fail 0\n", false},
		{namedSummary, "  0 passing (1ms)\n", true},
		{scriptSummary, "  2 passing (1ms)\n  1 pending\n", false},
		{scriptSummary, "all is well\n", false},
	} {
		r := &runner{argv: []string{"npm"}, summary: tt.of}
		if got := r.result(process.Executed{Stdout: []byte(tt.output)}, ""); got.NoTests != tt.none {
			t.Errorf("%q: NoTests is %t", tt.output, got.NoTests)
		}
		if r.result(process.Executed{Stdout: []byte(tt.output), ExitCode: 1}, "").NoTests {
			t.Errorf("%q: a failure is not a lack of tests", tt.output)
		}
	}
}
