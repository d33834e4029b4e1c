package parser_test

import (
	"strings"
	"testing"

	"textskill/parser"
)

// shellQuotes are the ways to write path as one shell word that begins with a
// quote. A backslash in double quotes escapes anything, as shlex has it.
func shellQuotes(path string) []string {
	double := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path)
	return []string{
		`'` + strings.ReplaceAll(path, `'`, `'\''`) + `'`,
		`'` + strings.ReplaceAll(path, `'`, `'"'"'`) + `'`,
		`"` + double + `"`,
		`""'` + strings.ReplaceAll(path, `'`, `'\''`) + `'`,
	}
}

// FuzzQuote: a path that is quoted for the shell arrives as it was, byte for byte,
// and so does what follows it.
func FuzzQuote(f *testing.F) {
	for _, path := range []string{"", "a b", "it's", `say "hi"`, `C:\dir\`, "a\u00a0b\u2028", "#x",
		"\xff \x00", "é'\xc3", "$HOME `id`", "a\rb"} {
		f.Add(path, "content: it's")
	}
	f.Fuzz(func(t *testing.T, path, rest string) {
		for _, quoted := range shellQuotes(path) {
			c := parser.Command{Payload: "destination: " + quoted}
			if got, ok := c.Destination(); got != path || !ok {
				t.Errorf("Destination of %q is %q %t, want %q", c.Payload, got, ok, path)
			}
			if strings.Contains(path, "\n") {
				continue
			}
			c = parser.Text("readFile " + quoted + " " + rest)
			if c.Path != path || c.Payload != spaceEnds.ReplaceAllString(rest, "") {
				t.Errorf("Text of path %q and %q is %+v", quoted, rest, c)
			}
		}
	})
}
