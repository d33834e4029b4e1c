package search

import (
	"bytes"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// found returns the numbers of the lines that m finds in text.
func found(m *matcher, text []byte) (numbers []int) {
	m.begin()
	for at, from := 0, 0; ; {
		start, end, ok := m.next(text, from)
		if !ok {
			return numbers
		}
		at += bytes.Count(text[from:start], []byte("\n"))
		numbers = append(numbers, at)
		from = min(end+1, len(text))
		at++
	}
}

// expected returns the lines that package regexp matches, one line at a time.
func expected(re *regexp.Regexp, text []byte) (numbers []int) {
	lines := bytes.Split(text, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	for i, line := range lines {
		bare, cr := bytes.CutSuffix(line, []byte("\r"))
		if re.Match(line) || cr && re.Match(bare) {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// agree compares every way to search, and the automaton alone, with expected. One matcher searches
// all texts.
func agree(t *testing.T, expr string, texts ...[]byte) {
	t.Helper()
	p, err := Compile(expr, PatternOptions{})
	if err != nil {
		t.Fatalf("%q: %v", expr, err)
	}
	bare := *p
	bare.literals = literals{}
	slow := bare.matcher()
	ways := map[string]*matcher{"with literals": p.matcher(), "without literals": bare.matcher(),
		"without automaton": slow}
	re := regexp.MustCompile(asPython(expr))
	for _, text := range texts {
		want := expected(re, text)
		slow.automaton().thrash = true
		// package regexp has no Unicode word boundaries
		if strings.Contains(strings.ToLower(expr), `\b`) && !isASCII(text) {
			want = found(slow, text)
		}
		for way, m := range ways {
			same(t, expr+" "+way, text, found(m, text), want)
		}
	}
}

func isASCII(text []byte) bool {
	return !slices.ContainsFunc(text, func(b byte) bool { return b >= 0x80 })
}

// TestUnicodeClasses checks that classes match as in Python.
func TestUnicodeClasses(t *testing.T) {
	for _, tt := range []struct {
		expr, text string
		want       bool
	}{
		{`^\w+$`, "Straße_9", true}, {`^\w+$`, "日本語", true}, {`^\w+$`, "a-b", false}, {`^\w$`, "²", true},
		{`^\w$`, "́", false},
		{`^[\w-]+$`, "ä-ß", true}, {`^[\w.-]+$`, "ä.-", true}, {`^[^\W\d]+$`, "äß", true},
		{`^[^\W\d]+$`, "ä1", false}, {`^[\W]$`, "ä", false}, {`^\W$`, "€", true},
		{`^\d+$`, "१२३", true}, {`^\d$`, "²", false}, {`^\D$`, "١", false}, {`^[\D]$`, "x", true},
		{`^a\sb$`, "a\u00a0b", true}, {`^a\sb$`, "a\u3000b", true}, {`^a\sb$`, "a\x85b", false},
		{`^a\sb$`, "a\u0085b", true}, {`^a\sb$`, "a\x1cb", true}, {`^\S$`, "\u2028", false},
		{`^[\S]$`, "x", true},
		{`\bäh\b`, "so äh ja", true}, {`\bh\b`, "äh", false}, {`\bder\b`, "wieder", false},
		{`ß\b`, "Straße", false}, {`ß\b`, "Fuß.", true}, {`\Bh`, "äh", true}, {`\B`, "ä", false},
		{`^a{,2}$`, "", true}, {`^a{,2}$`, "aa", true}, {`^a{,2}$`, "aaa", false}, {`^ba{,}$`, "baaa", true},
		{`^a[{,2}]$`, "a,", true}, {`^a\{,2}$`, "a{,2}", true}, {`^\Qa{,2}\E$`, "a{,2}", true},
		{`^a{,x}$`, "a{,x}", true},
		{`^[\u4e00-\u9fff]+$`, "日本", true}, {`^\u00e4\U0001F600$`, "ä😀", true}, {`^\\u00e4$`, `\u00e4`, true},
		{`^\Q\u00e4\E$`, `\u00e4`, true},
		{`a\Z`, "ba", true}, {`a\Z`, "ab", false}, {`^a\\Z$`, `a\Z`, true},
		{`\Q\w\E`, `\w`, true}, {`\Q\w\E`, "w", false}, {`\\w`, `\w`, true}, {`[]\w]`, "]", true},
		{`[[:alpha:]\d]`, "٣", true}, {`[\]\w]x`, "äx", true},
	} {
		p, err := Compile(tt.expr, PatternOptions{})
		if err != nil {
			t.Fatalf("%q: %v", tt.expr, err)
		}
		m := p.matcher()
		if got := m.matches([]byte(tt.text), 0); got != tt.want {
			t.Errorf("%q in %q: %t", tt.expr, tt.text, got)
		}
		if got := m.matchLine([]byte(tt.text)); got != tt.want {
			t.Errorf("%q in %q without automaton: %t", tt.expr, tt.text, got)
		}
	}
}

func same(t *testing.T, what string, text []byte, got, want []int) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%q in %q: lines %v, want %v", what, text, got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%q in %q: lines %v, want %v", what, text, got, want)
		}
	}
}

func TestPatternAsRegexp(t *testing.T) {
	text := "one\n\ntwo words here\n\r\nCR at end\r\n\tdef  main():\n" +
		"été, straße, K (Kelvin) ſ\n\xff\xfe broken \xc3\nx = y[12]\nValueError VALUEERROR\nlast"
	for _, expr := range []string{
		"", "^", "$", "^$", "^\r$", "a*", ".", "..", "^.$", "one", "^one$", "end$", "end\r$", "end.$",
		"last$", `\bw`, `\Bw`, `\b$`,
		`def\s+\w+`, `\w+\s+=\s+\w+\[\d+\]`, "(?i)valueerror", "(?i)k", "(?i)s", "(?i)STRASSE",
		"(?i)straSSe|kelvin", "é", "[é]t", "[^a-z]$",
		`\x{fffd}`, "[^x]broken", `\pL+\(`, `\p{Greek}`, "one|two|last|words", "re|ret|x", "a\nb",
		"a|x\ny|last", `two\nw`, "(?s)e.e", "(?m)^last$",
		"(Value|Type)Error", "colou?r|wo?rds", "l{1}a{1,2}s", `(?i)\bvalue`, "(?U)a+", "^(?:one|two)",
		"x{0}", `\bst`, `\Btr`, `(?i)\brae|\Baße`, `(?:ße|traß)\b`, "[a-c]|[^\\x00-\\x{10FFFF}]",
		`\A\t`, `here\z`,
	} {
		agree(t, expr, []byte(text), []byte(text+"\n"))
	}
	agree(t, "$", nil)
}

// TestRandomPatternsAsRegexp draws patterns and texts from few letters, so that many match. With
// SKILL_TEST_LONG it draws many, with a new seed.
func TestRandomPatternsAsRegexp(t *testing.T) {
	count, seed := 3000, uint64(1)
	if os.Getenv("SKILL_TEST_LONG") != "" {
		count, seed = 100_000, rand.Uint64()
		t.Log("seed", seed)
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	for range count {
		expr := randomPattern(rng, 3)
		if _, err := regexp.Compile(expr); err != nil {
			continue // repeated too often
		}
		var texts [][]byte
		for range 5 {
			texts = append(texts, randomText(rng, rng.IntN(60)))
		}
		agree(t, expr, texts...)
	}
}

// TestRandomLiterals searches for one to five pieces of a text, with and without case.
func TestRandomLiterals(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 3000 {
		var text []byte
		for range 200 {
			text = append(text, pick(rng, "alpha", "Beta", "GAMMA", "delta_", "x", "q", "\n", "\n", " ",
				"\r\n", "{z}", "é", "K", "\u212a")...)
		}
		var pieces []string
		for range 1 + rng.IntN(5) {
			at := rng.IntN(len(text) - 12)
			piece := text[at : at+1+rng.IntN(12)]
			if rng.IntN(3) == 0 {
				piece = bytes.ToUpper(piece)
			}
			pieces = append(pieces, regexp.QuoteMeta(strings.ToValidUTF8(string(piece), "?")))
		}
		expr := pick(rng, "", "(?i)") + strings.Join(pieces, "|")
		agree(t, expr, text)
	}
}

func randomText(rng *rand.Rand, size int) []byte {
	var b []byte
	for range size {
		b = append(b, pick(rng, "a", "b", "c", "K", "k", "S", "\n", "\n", "\r\n", "\r", " ", "é", "ſ",
			"\u212a", "\xff", "_", "\ufffd", "\x00", "ab", "return")...)
	}
	return b
}

func randomPattern(rng *rand.Rand, depth int) string {
	if depth == 0 {
		return pick(rng, "a", "b", "c", "ab", "k", "s", "é", ".", "[ab]", "[^a]", `\w`, `\s`, `\d`, "^",
			"$", `\b`, `\B`, "", "return", "retur", `\n`, `\r`, `\x{fffd}`, `[^\n]`, `[kſ]`)
	}
	one := func() string { return randomPattern(rng, depth-1) }
	switch rng.IntN(9) {
	case 0:
		return one() + "|" + one()
	case 1:
		return "(?:" + one() + "|" + one() + "|" + one() + ")"
	case 2:
		return "(?:" + one() + ")" + pick(rng, "*", "+", "?", "{2}", "{1,2}", "*?")
	case 3:
		return "(?i:" + one() + ")"
	case 4:
		return "(" + one() + ")" + one()
	case 5:
		return one()
	}
	return one() + one()
}

func pick(rng *rand.Rand, from ...string) string { return from[rng.IntN(len(from))] }

func FuzzPatternAsRegexp(f *testing.F) {
	f.Add("a|b$", []byte("a\r\nb\n"))
	f.Add(`(?i)\bk[^é]{2}`, []byte("\u212a\xffx"))
	f.Add(`def\s+\w+`, []byte("def  x\n\ndef"))
	f.Fuzz(func(t *testing.T, expr string, text []byte) {
		if len(expr) > 100 || len(text) > 4000 {
			return
		}
		if _, err := regexp.Compile(expr); err != nil {
			return
		}
		agree(t, expr, text)
	})
}

func TestNeeded(t *testing.T) {
	for _, tt := range []struct{ expr, set string }{
		{"return", "return sure"},
		{"re|return", "re return sure"},
		{"import|return|raise|class", "class import raise return sure"},
		{"(Value|Type)Error", "TypeError ValueError sure"},
		{"colou?r", "color colour sure"},
		{`def\s+\w+`, "def"},
		{`\w+\s+=\s+\w+\[\d+\]`, "]"},
		{"x(foo)+qar", "fooqar"},
		{"^foo$", "foo"},
		{`\bfoo\b`, "foo"},
		{"(foo)+", "foo"},
		{"(foo){2,}x", "foofoo"},
		{"(?i)valueerror", "valueerror sure either"},
		{"(?i)class", "cla either"},
		{"(?i)ss", "- either"},
		{"a(?i)bc", "abc either"},
		{"(?i)é", "- either"},
		{"[ab]c", "ac bc sure"},
		{`\w+`, "-"},
		{"a|", "-"},
		{"x*", "-"},
		{`a\nb`, "nothing"},
		{`a\nb|c`, "c sure"},
		{`\x{fffd}x`, "-"},
		{"(?s).*needle.*", "needle"},
	} {
		p, err := Compile(tt.expr, PatternOptions{})
		if err != nil {
			t.Fatal(err)
		}
		lit := p.literals
		got := strings.Join(lit.set, " ")
		switch {
		case lit.set == nil:
			got = "-"
		case len(lit.set) == 0:
			got = "nothing"
		}
		if lit.sure && len(lit.set) > 0 {
			got += " sure"
		}
		if lit.fold {
			got += " either"
		}
		if got != tt.set {
			t.Errorf("%s: %s, want %s", tt.expr, got, tt.set)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	for _, tt := range []struct{ expr, want string }{
		{"(", "is not a regular expression in RE2 syntax: missing closing ): ("},
		{"foo(?=baz)", "is not a regular expression in RE2 syntax: invalid or unsupported Perl syntax: (?= (there is no lookaround)"},
		{"(?<!x)y", "is not a regular expression in RE2 syntax: invalid named capture: (?<!x)y (there is no lookaround)"},
		{`(\w)\1`, `is not a regular expression in RE2 syntax: invalid escape sequence: \1 (there are no backreferences)`},
		{`(?P<x>a)(?P=x)`, "is not a regular expression in RE2 syntax: invalid or unsupported Perl syntax: (?P (there are no backreferences)"},
		{"a++", "is not a regular expression in RE2 syntax: invalid nested repetition operator: ++ (there are no possessive repetitions and atomic groups)"},
		{"(?>a)", "is not a regular expression in RE2 syntax: invalid or unsupported Perl syntax: (?> (there are no possessive repetitions and atomic groups)"},
		{"{,2}", "is not a regular expression in RE2 syntax: missing argument to repetition operator: {0,2}"},
		{"a{1001}", "is not a regular expression in RE2 syntax: invalid repeat count: {1001}"},
		{"\xff", "is not a regular expression in RE2 syntax: invalid UTF-8: \xff"},
	} {
		for _, opts := range []PatternOptions{{}, {FoldCase: true}} {
			if _, err := Compile(tt.expr, opts); err == nil || err.Error() != tt.want {
				t.Errorf("%q: %v, want %s", tt.expr, err, tt.want)
			}
		}
	}
}

func TestCompileOptions(t *testing.T) {
	for _, tt := range []struct {
		expr  string
		opts  PatternOptions
		line  string
		match bool
	}{
		{"a.c", PatternOptions{}, "abc", true},
		{"a.c", PatternOptions{Literal: true}, "abc", false},
		{"(a.c", PatternOptions{Literal: true}, "x(a.c", true},
		{"(a.c", PatternOptions{Literal: true}, "(A.C", false},
		{"(a.c", PatternOptions{Literal: true, FoldCase: true}, "(A.C", true},
		{"a|B", PatternOptions{FoldCase: true}, "b", true},
		{"ß", PatternOptions{FoldCase: true}, "ẞ", true},
	} {
		p, err := Compile(tt.expr, tt.opts)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(found(p.matcher(), []byte(tt.line))) > 0; got != tt.match {
			t.Errorf("%s %+v in %s: %v", tt.expr, tt.opts, tt.line, got)
		}
	}
}

// TestStatesAreDropped checks the automaton's memory limit and its results with a pattern of very
// many states.
func TestStatesAreDropped(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	text := make([]byte, 200_000)
	for i := range text {
		text[i] = "ab"[rng.IntN(2)]
		if rng.IntN(400) == 0 {
			text[i] = '\n'
		}
	}
	for _, expr := range []string{"a[ab]{12}c", "a[ab]{200}b[ab]{150}a$"} {
		p, err := Compile(expr, PatternOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p.literals = literals{}
		m := p.matcher()
		same(t, expr, nil, found(m, text), expected(p.re, text))
		if got := len(m.dfa.moves) * 4; got > 2*maxStates {
			t.Errorf("%s: the automaton takes %d bytes", expr, got)
		}
	}
}
