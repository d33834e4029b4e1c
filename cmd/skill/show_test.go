package main

import "testing"

// TestMarkdown colours what a model writes, however it is cut, and loses no character.
func TestMarkdown(t *testing.T) {
	const text = "# Done\nI ran `go test` and **all** of it *passed*: 2**3.\n```go\nx := \"**\"\n```\nan open ` ends\nwith its line"
	const want = "\x1b[1m# Done\x1b[0m\nI ran \x1b[36m`go test`\x1b[0m and \x1b[1m**all**\x1b[0m of it *passed*: 2\x1b[1m**3.\x1b[0m\n" +
		"\x1b[36m```go\x1b[0m\n\x1b[36mx := \"**\"\x1b[0m\n\x1b[36m```\x1b[0m\nan open \x1b[36m` ends\x1b[0m\nwith its line"
	for size := 1; size < len(text); size++ {
		m, got := &markdown{start: true}, ""
		for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
			got += m.add(rest[:min(size, len(rest))])
		}
		if got += m.end(); got != want {
			t.Fatalf("in pieces of %d: %q\nwant %q", size, got, want)
		}
	}
}
