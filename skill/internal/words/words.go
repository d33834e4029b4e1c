// Package words holds what messages are written with and texts are recognised by.
package words

import (
	"fmt"
	"regexp"
	"sync"
)

// Count returns "1 file", "2 files".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Pattern returns a regular expression that is compiled when it is first used:
// compiling them all takes a millisecond of a start.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
