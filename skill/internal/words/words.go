// Package words helps to write messages and to recognize texts.
package words

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// Count returns "1 file", "2 files".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Pattern returns a function that compiles a regular expression on its first call.
// Compiling all of them at the start of the program takes a millisecond.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// Size returns a number of bytes as people write it: "512 bytes", "1.5 MB".
func Size(n int64) string {
	if n < 1024 {
		return Count(int(n), "byte", "bytes")
	}
	size, unit := float64(n)/1024, 0
	for ; size >= 1024; unit++ {
		size /= 1024
	}
	return fmt.Sprintf("%.1f %cB", size, "KMGTPE"[unit])
}

// Strip removes white space at both ends as Python's str.strip does: also U+001C to U+001F.
func Strip(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f })
}
