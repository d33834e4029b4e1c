package project

import (
	"bytes"
	"regexp"

	"textskill/skill/internal/words"
)

// A summary finds out whether a runner that exits with 0 has run a test.
type summary struct {
	line func() *regexp.Regexp // the lines that say how many tests there were
	ran  func() *regexp.Regexp // among them, those that count at least one
}

var (
	// "[no test files]", "[no tests to run]"
	goSummary = &summary{words.Pattern(`^(ok|\?) `), words.Pattern(`^ok .*[^\]]$`)}

	cargoSummary = &summary{words.Pattern(`^test result: |^ *Summary `),
		words.Pattern(`[1-9]\d* (tests run|passed|failed|ignored)`)}

	unittestSummary = &summary{words.Pattern(`^Ran \d+ tests? `), words.Pattern(`^Ran [1-9]`)}

	// scriptSummary is of a package's test script: jest and vitest, node --test, or mocha.
	scriptSummary = &summary{words.Pattern(scriptCounts),
		words.Pattern(`[1-9]\d* (passed|failed|skipped|todo|passing|failing|pending)|(pass|fail|cancelled|skipped|todo) [1-9]`)}

	// namedSummary is scriptSummary where a name selects tests: the others are skipped.
	namedSummary = &summary{words.Pattern(scriptCounts),
		words.Pattern(`[1-9]\d* (passed|failed|passing|failing)|(pass|fail|cancelled) [1-9]`)}
)

const scriptCounts = `^ *Tests:? +.*\d|^(#|ℹ) (pass|fail|cancelled|skipped|todo) \d+$|^ +\d+ (passing|failing|pending)`

// empty reports whether the output says that no test ran. Output without counts says nothing.
func (s *summary) empty(outputs ...[]byte) bool {
	counted := false
	for _, out := range outputs {
		for line := range bytes.Lines(out) {
			line = bytes.ReplaceAll(bytes.TrimRight(line, "\r\n"), []byte("\t"), []byte(" "))
			if !s.line().Match(line) {
				continue
			}
			if s.ran().Match(line) {
				return false
			}
			counted = true
		}
	}
	return counted
}
