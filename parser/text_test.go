package parser_test

import (
	"regexp"
	"strings"
	"testing"

	"textskill/parser"
)

func TestText(t *testing.T) {
	tests := []struct {
		prompt string
		want   parser.Command
	}{
		{"", parser.Command{}},
		{"  \t ", parser.Command{}},
		{"readFile", parser.Command{Operation: "readFile"}},
		{"readFile ", parser.Command{Operation: "readFile"}},
		{"readFile a.txt", parser.Command{Operation: "readFile", Path: "a.txt"}},
		{"readFile a.txt b  c", parser.Command{Operation: "readFile", Path: "a.txt", Payload: "b  c"}},
		{"writeFile a.md # Title\nit's",
			parser.Command{Operation: "writeFile", Path: "a.md", Payload: "# Title\nit's"}},
		{"writeFile a.md\n\n  x\n\n", parser.Command{Operation: "writeFile", Path: "a.md", Payload: "x"}},
		{"writeFile a content: l1\r\nl2\r\n",
			parser.Command{Operation: "writeFile", Path: "a", Payload: "content: l1\r\nl2"}},
		{"writeFile content: hello",
			parser.Command{Operation: "writeFile", Path: "content:", Payload: "hello"}},

		// options: with one of its keys
		{"writeFile a options: content: x",
			parser.Command{Operation: "writeFile", Path: "a", Payload: "content: x", Options: true}},
		{"writeFile a\nOPTIONS :\r\nContent: x\n",
			parser.Command{Operation: "writeFile", Path: "a", Payload: "Content: x", Options: true}},
		{"writeFile a options: x content: y",
			parser.Command{Operation: "writeFile", Path: "a", Payload: "options: x content: y"}},
		{"writeFile a my options: content: y",
			parser.Command{Operation: "writeFile", Path: "a", Payload: "my options: content: y"}},
		{"writeFile a options: content: x dependsOn: b",
			parser.Command{Operation: "writeFile", Path: "a", Payload: "content: x", Options: true}},
		{"writeFile a options: content: x\n dependsOn: b c",
			parser.Command{Operation: "writeFile", Path: "a", Payload: "content: x", Options: true}},
		{"writeFile a options: content: dependsOn: b\nx", parser.Command{Operation: "writeFile", Path: "a",
			Payload: "content: dependsOn: b\nx", Options: true}},
		{"writeFile a x\ndependsOn: b",
			parser.Command{Operation: "writeFile", Path: "a", Payload: "x\ndependsOn: b"}},

		// content after content: and a line break keeps its bytes
		{"writeFile a content:\n  x:\n    y\n\n", parser.Command{Operation: "writeFile", Path: "a",
			Payload: "content:\n  x:\n    y\n\n"}},
		{"writeFile a\r\n content : \t\r\n\tx \r\n", parser.Command{Operation: "writeFile", Path: "a",
			Payload: "content : \t\r\n\tx \r\n"}},
		{"writeFile a content:\n", parser.Command{Operation: "writeFile", Path: "a", Payload: "content:\n"}},
		{"writeFile a options:\ncontent:\n  x\n dependsOn: b", parser.Command{Operation: "writeFile",
			Path: "a", Payload: "content:\n  x\n", Options: true}},
		{"writeFile a options: content: x\n dependsOn: b \n", parser.Command{Operation: "writeFile",
			Path: "a", Payload: "content: x", Options: true}},

		// the payload is what follows the second word, wherever its text occurs before
		{"writeFile File content: hi",
			parser.Command{Operation: "writeFile", Path: "File", Payload: "content: hi"}},
		{"writeFile e e e", parser.Command{Operation: "writeFile", Path: "e", Payload: "e e"}},

		// lines end at LF and CRLF only
		{"\nwriteFile a b", parser.Command{}},
		{"\r\nwriteFile a b", parser.Command{}},
		{" \t\nwriteFile a b", parser.Command{}},
		{"\rwriteFile a b", parser.Command{Operation: "writeFile", Path: "a", Payload: "b"}},
		{"writeFile\na b", parser.Command{Operation: "writeFile"}},
		{"writeFile\ra\rb", parser.Command{Operation: "writeFile", Path: "a", Payload: "b"}},
		{"writeFile\u2028a\vb", parser.Command{Operation: "writeFile", Path: "a", Payload: "b"}},

		// white space is JavaScript's
		{"\ufeffreadFile\u00a0a\u3000x\u2003",
			parser.Command{Operation: "readFile", Path: "a", Payload: "x"}},
		{"readFile a\u0085b \u200bx\u180e",
			parser.Command{Operation: "readFile", Path: "a\u0085b", Payload: "\u200bx\u180e"}},
		{"readFile a\x1cb \x1f", parser.Command{Operation: "readFile", Path: "a\x1cb", Payload: "\x1f"}},

		// bytes pass as they are
		{"writeFile \xff\x00 \x00\xe2\x80 \xa0",
			parser.Command{Operation: "writeFile", Path: "\xff\x00", Payload: "\x00\xe2\x80 \xa0"}},

		// a quoted path
		{`writeFile "a b.txt" content: "c d"`,
			parser.Command{Operation: "writeFile", Path: "a b.txt", Payload: `content: "c d"`}},
		{`writeFile 'a b.txt' it's`,
			parser.Command{Operation: "writeFile", Path: "a b.txt", Payload: "it's"}},
		{`readFile "a"b' c'`, parser.Command{Operation: "readFile", Path: "ab c"}},
		{`readFile "a\"b\\c" x`, parser.Command{Operation: "readFile", Path: `a"b\c`, Payload: "x"}},
		{`readFile 'a\' x`, parser.Command{Operation: "readFile", Path: `a\`, Payload: "x"}},
		{`readFile 'a'\ b x`, parser.Command{Operation: "readFile", Path: "a b", Payload: "x"}},
		{`readFile "a # b"#c # d`, parser.Command{Operation: "readFile", Path: "a # b#c", Payload: "# d"}},
		{"readFile 'a\u00a0 \u2028b'\u00a0x",
			parser.Command{Operation: "readFile", Path: "a\u00a0 \u2028b", Payload: "x"}},
		{"readFile 'a \xff\xc3\xa9\x00b' x",
			parser.Command{Operation: "readFile", Path: "a \xff\xc3\xa9\x00b", Payload: "x"}},
		{`readFile "" x`, parser.Command{Operation: "readFile", Payload: "x"}},
		{"readFile 'a'\r\nx", parser.Command{Operation: "readFile", Path: "a", Payload: "x"}},

		// a quote that does not close on the first line is a character
		{`readFile "a b`, parser.Command{Operation: "readFile", Path: `"a`, Payload: "b"}},
		{"readFile 'a\nb' c", parser.Command{Operation: "readFile", Path: "'a", Payload: "b' c"}},
		{`readFile "a\`, parser.Command{Operation: "readFile", Path: `"a\`}},
		{"readFile 'a'\\\r\nx", parser.Command{Operation: "readFile", Path: `'a'\`, Payload: "x"}},
		{`readFile a"b c"`, parser.Command{Operation: "readFile", Path: `a"b`, Payload: `c"`}},
		{`"readFile" a`, parser.Command{Operation: `"readFile"`, Path: "a"}},
		{"`a b` c", parser.Command{Operation: "`a", Path: "b`", Payload: "c"}},
	}
	for _, tt := range tests {
		if got := parser.Text(tt.prompt); got != tt.want {
			t.Errorf("Text(%q)\n got %#v\nwant %#v", tt.prompt, got, tt.want)
		}
	}
}

func TestContent(t *testing.T) {
	tests := []struct {
		payload, want string
		ok            bool
	}{
		{"", "", false},
		{"content", "", false},
		{"content:", "", true},
		{"content:x", "x", true},
		{"CoNtEnT\u00a0\n: \u2003x\ny", "x\ny", true},
		{"CoNtEnT\u00a0\n: \r\n\u2003x\ny", "\u2003x\ny", true},
		{"content:\n\n\tx\n", "\n\tx\n", true},
		{"content: \t\r\r\n", "", true},
		{"content: content: x", "content: x", true},
		{"contents: x", "", false},
		{"xcontent: x", "", false},
		{"content x: y", "", false},
		{"content：x", "", false},
		{"destination: x", "", false},
		{"content: destination: x", "destination: x", true},
		{`content: "x y"`, `"x y"`, true},
	}
	for _, tt := range tests {
		if got, ok := (parser.Command{Payload: tt.payload}).Content(); got != tt.want || ok != tt.ok {
			t.Errorf("Content of %q\n got %q %t\nwant %q %t", tt.payload, got, ok, tt.want, tt.ok)
		}
	}
}

func TestDestination(t *testing.T) {
	tests := []struct {
		payload, want string
		ok            bool
	}{
		{"", "", false},
		{"b", "", false},
		{"to b", "", false},
		{"destination:", "", true},
		{"destination: b c content: d", "b c content: d", true},
		{"DESTINATION :b\nc", "b\nc", true},
		{"de\u017ftination: b", "", false},
		{`destination: "b c"`, "b c", true},
		{`destination: 'b'"c"`, "bc", true},
		{"destination: 'b\nc'", "b\nc", true},
		{`destination: ""`, "", true},
		{`destination: "b" c`, `"b" c`, true},
		{`destination: "b`, `"b`, true},
		{`destination: b" c"`, `b" c"`, true},
		{"destination: '\xff '", "\xff ", true},
	}
	for _, tt := range tests {
		if got, ok := (parser.Command{Payload: tt.payload}).Destination(); got != tt.want || ok != tt.ok {
			t.Errorf("Destination of %q\n got %q %t\nwant %q %t", tt.payload, got, ok, tt.want, tt.ok)
		}
	}
}

const jsSpace = "\\t\\n\\v\\f\\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"

var (
	lineEnd  = regexp.MustCompile(`\r?\n`)
	twoWords = regexp.MustCompile("^[" + jsSpace + "]*([^" + jsSpace + "]+)(?:[" + jsSpace + "]+([^" +
		jsSpace + "]+))?")
	spaceBegin = regexp.MustCompile("^[" + jsSpace + "]+")
	spaceEnds  = regexp.MustCompile("^[" + jsSpace + "]+|[" + jsSpace + "]+$")

	// letter by letter, for (?i) folds more than ASCII
	contentPrefix = regexp.MustCompile("^[cC][oO][nN][tT][eE][nN][tT][" + jsSpace + "]*:[" +
		jsSpace + "]*")
	exactPrefix = regexp.MustCompile("^[cC][oO][nN][tT][eE][nN][tT][" + jsSpace + "]*:[" + jsSpace +
		"]*\n")
	destinationPrefix = regexp.MustCompile("^[dD][eE][sS][tT][iI][nN][aA][tT][iI][oO][nN][" + jsSpace +
		"]*:[" + jsSpace + "]*")
)

// reference is Text without the rule on quotes, by regular expressions.
func reference(prompt string) parser.Command {
	line := lineEnd.Split(prompt, 2)[0]
	m := twoWords.FindStringSubmatchIndex(line)
	if m == nil {
		return parser.Command{}
	}
	c := parser.Command{Operation: line[m[2]:m[3]]}
	if m[4] >= 0 {
		c.Path = line[m[4]:m[5]]
		c.Payload = spaceBegin.ReplaceAllString(prompt[m[5]:], "")
		if !exactPrefix.MatchString(c.Payload) {
			c.Payload = spaceEnds.ReplaceAllString(c.Payload, "")
		}
	}
	return c
}

func FuzzText(f *testing.F) {
	for _, prompt := range []string{
		"", "readFile a", "writeFile a.md content: # T\nit's\r\n", `copyFile "a b" destination: 'c d'`,
		"\ufeffx\u00a0y\u0085z", "a 'b\\' \"c\\\" d\" e", "a '\xff' b", "a \"b\nc\" d", "\xe2\x80 a \xa0",
	} {
		f.Add(prompt)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		c := parser.Text(prompt)
		want := reference(prompt)
		quoted := strings.HasPrefix(want.Path, `"`) || strings.HasPrefix(want.Path, "'")
		if !quoted && c != want {
			t.Errorf("Text(%q)\n got %#v\nwant %#v", prompt, c, want)
		}
		if c.Operation != want.Operation {
			t.Errorf("Text(%q): operation %q, want %q", prompt, c.Operation, want.Operation)
		}
		trimmed := spaceEnds.ReplaceAllString(prompt, "")
		if !strings.HasSuffix(trimmed, c.Payload) && !strings.HasSuffix(prompt, c.Payload) {
			t.Errorf("Text(%q): payload %q is no suffix", prompt, c.Payload)
		}
		if !strings.HasSuffix(want.Payload, c.Payload) {
			t.Errorf("Text(%q): payload %q begins before the second word ends", prompt, c.Payload)
		}
		if strings.Contains(c.Path, "\n") {
			t.Errorf("Text(%q): path %q spans lines", prompt, c.Path)
		}
		checkPrefixes(t, c)
	})
}

// checkPrefixes compares Content and Destination with regular expressions.
func checkPrefixes(t *testing.T, c parser.Command) {
	t.Helper()
	text, ok := c.Content()
	if loc := contentPrefix.FindStringIndex(c.Payload); ok != (loc != nil) || ok &&
		text != c.Payload[loc[1]:] {
		t.Errorf("Content of %q is %q %t", c.Payload, text, ok)
	}
	path, ok := c.Destination()
	loc := destinationPrefix.FindStringIndex(c.Payload)
	if ok != (loc != nil) {
		t.Fatalf("Destination of %q is %q %t", c.Payload, path, ok)
	}
	if !ok {
		return
	}
	rest := c.Payload[loc[1]:]
	unquoted := rest != "" && strings.ContainsAny(rest[:1], `"'`) && len(path) <= len(rest)-2
	if path != rest && !unquoted {
		t.Errorf("Destination of %q is %q", c.Payload, path)
	}
}

func TestTextAllocatesNothing(t *testing.T) {
	prompt := "writeFile notes/today.md content: " + strings.Repeat("one more line\n", 64)
	allocs := testing.AllocsPerRun(100, func() {
		c := parser.Text(prompt)
		if _, ok := c.Content(); !ok {
			t.Error("no content")
		}
		c.Destination()
	})
	if allocs != 0 {
		t.Errorf("Text, Content and Destination made %v allocations, want 0", allocs)
	}
}

func BenchmarkText(b *testing.B) {
	prompt := "writeFile notes/today.md content: " + strings.Repeat("one more line\n", 64)
	quoted := `writeFile "notes/to day.md" content: ` + strings.Repeat("one more line\n", 64)
	b.Run("unquoted", func(b *testing.B) {
		b.SetBytes(int64(len(prompt)))
		b.ReportAllocs()
		for b.Loop() {
			parser.Text(prompt).Content()
		}
	})
	b.Run("quoted", func(b *testing.B) {
		b.SetBytes(int64(len(quoted)))
		b.ReportAllocs()
		for b.Loop() {
			parser.Text(quoted).Content()
		}
	})
	b.Run("reference=regexp", func(b *testing.B) {
		b.SetBytes(int64(len(prompt)))
		b.ReportAllocs()
		for b.Loop() {
			reference(prompt)
		}
	})
	b.Run("reference=fields", func(b *testing.B) {
		b.SetBytes(int64(len(prompt)))
		b.ReportAllocs()
		for b.Loop() {
			strings.SplitN(strings.TrimSpace(prompt), " ", 3)
		}
	})
}

func TestOptions(t *testing.T) {
	tests := []struct{ prompt, content, destination, twice string }{
		{"writeFile a options: content: x", "x", "none", ""},
		{"writeFile a options:\ncontent: 1\n  content: 2\nb: 3", "1\n  content: 2\nb: 3", "none", ""},
		{"copyFile a options: destination: b.txt and more", "none", "b.txt", ""},
		{`copyFile a options: destination: "b \"c\".txt"`, "none", `b "c".txt`, ""},
		{"copyFile a options: destination: 'b", "none", "'b", ""},
		{"copyFile a options: content: x\n\ndestination: b.txt", "x", "b.txt", ""},
		{"writeFile a options: content:\ndestination: b", "", "b", ""},
		{"writeFile a options: content: x\ncontent: y", "x", "none", "content"},
		{"writeFile a content: options: content: x", "options: content: x", "none", ""},
	}
	for _, test := range tests {
		c := parser.Text(test.prompt)
		content, ok := c.Content()
		if !ok {
			content = "none"
		}
		destination, ok := c.Destination()
		if !ok {
			destination = "none"
		}
		if content != test.content || destination != test.destination || c.Twice() != test.twice {
			t.Errorf("%q: content %q, destination %q, twice %q", test.prompt, content, destination, c.Twice())
		}
	}
}
